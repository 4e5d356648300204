/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scenes of rc_story.c and what they must leave. */
{
	.name = "plain send",
	.goal = "a SEND each in one packet: one ACK each, receives in order",
	.begin = plain_send,
	.expected =
		"     0.000 a> SEND_ONLY 000010 len 100 ack?\n"
		"     0.000 a> SEND_ONLY 000011 len 0 ack?\n"
		"    10.000 b: recv 0 SUCCESS len 100\n"
		"    10.000 b> ACK 000010 msn 1\n"
		"    10.000 b: recv 1 SUCCESS len 0\n"
		"    10.000 b> ACK 000011 msn 2\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a: send 1 SUCCESS\n",
},
{
	.name = "lost middle",
	.goal = "one packet of a WRITE is lost: one NAK, go-back-N, no second NAK",
	.begin = lost_middle,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST 000010 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000011 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000012 len 256 lost\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000013 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000014 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000015 len 256 ack?\n"
		"    10.000 b: 000013 out of order\n"
		"    10.000 b> NAK PSN sequence 000012 msn 0\n"
		"    10.000 b: 000014 out of order\n"
		"    10.000 b: 000015 out of order\n"
		"    20.000 a> RDMA_WRITE_MIDDLE 000012 len 256\n"
		"    20.000 a> RDMA_WRITE_MIDDLE 000013 len 256\n"
		"    20.000 a> RDMA_WRITE_MIDDLE 000014 len 256\n"
		"    20.000 a> RDMA_WRITE_LAST 000015 len 256 ack?\n"
		"    30.000 b> ACK 000015 msn 1\n"
		"    40.000 a: send 0 SUCCESS\n",
},
{
	.name = "lost report",
	.goal = "the NAK is lost as well: the probe is met with silence, the second one starts over",
	.begin = lost_report,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST 000010 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000011 len 256 lost\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000012 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		"    10.000 b: 000012 out of order\n"
		"    10.000 b> NAK PSN sequence 000011 msn 0 lost\n"
		"    10.000 b: 000013 out of order\n"
		"  5000.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		"  5010.000 b: 000013 out of order\n"
		" 15000.000 a> RDMA_WRITE_FIRST 000010 len 256 ack?\n"
		" 15000.000 a> RDMA_WRITE_MIDDLE 000011 len 256 ack?\n"
		" 15010.000 b: 000010 duplicate\n"
		" 15010.000 b> ACK 000010 msn 0\n"
		" 15010.000 b> ACK 000011 msn 0\n"
		" 15020.000 a> RDMA_WRITE_MIDDLE 000012 len 256 ack?\n"
		" 15020.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		" 15030.000 b> ACK 000012 msn 0\n"
		" 15030.000 b> ACK 000013 msn 1\n"
		" 15040.000 a: send 0 SUCCESS\n",
},
{
	.name = "not ready",
	.goal = "no receive: RNR NAK, the pause, everything again; what was behind is no gap",
	.begin = not_ready,
	.at = { 100000 },
	.then = not_ready_then,
	.expected =
		"     0.000 a> SEND_FIRST 000010 len 256\n"
		"     0.000 a> SEND_LAST 000011 len 44 ack?\n"
		"     0.000 a> SEND_ONLY 000012 len 10 ack?\n"
		"    10.000 b: 000010 receiver not ready\n"
		"    10.000 b> RNR NAK 000010 msn 0\n"
		"    10.000 b: 000011 out of order\n"
		"    10.000 b: 000012 out of order\n"
		"   100.000 b posts two receives\n"
		"   140.000 a> SEND_FIRST 000010 len 256\n"
		"   140.000 a> SEND_LAST 000011 len 44 ack?\n"
		"   140.000 a> SEND_ONLY 000012 len 10 ack?\n"
		"   150.000 b: recv 0 SUCCESS len 300\n"
		"   150.000 b> ACK 000011 msn 1\n"
		"   150.000 b: recv 1 SUCCESS len 10\n"
		"   150.000 b> ACK 000012 msn 2\n"
		"   160.000 a: send 0 SUCCESS\n"
		"   160.000 a: send 1 SUCCESS\n",
},
{
	.name = "never ready",
	.goal = "rnr_retry 1: the second RNR NAK ends it, the rest is flushed",
	.begin = never_ready,
	.expected =
		"     0.000 a> SEND_ONLY 000010 len 10 ack?\n"
		"     0.000 a> SEND_ONLY 000011 len 20 ack?\n"
		"    10.000 b: 000010 receiver not ready\n"
		"    10.000 b> RNR NAK 000010 msn 0\n"
		"    10.000 b: 000011 out of order\n"
		"   140.000 a> SEND_ONLY 000010 len 10 ack?\n"
		"   140.000 a> SEND_ONLY 000011 len 20 ack?\n"
		"   150.000 b: 000010 receiver not ready\n"
		"   150.000 b> RNR NAK 000010 msn 0\n"
		"   150.000 b: 000011 out of order\n"
		"   160.000 a: send 0 RNR_RETRY_EXC_ERR\n"
		"   160.000 a: send 1 WR_FLUSH_ERR\n",
},
{
	.name = "lost twice",
	.goal = "the repeated packet is lost, too: the gap is not reported again, silence starts over",
	.begin = lost_twice,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST 000010 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000011 len 256 lost\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000012 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		"    10.000 b: 000012 out of order\n"
		"    10.000 b> NAK PSN sequence 000011 msn 0\n"
		"    10.000 b: 000013 out of order\n"
		"    20.000 a> RDMA_WRITE_MIDDLE 000011 len 256 lost\n"
		"    20.000 a> RDMA_WRITE_MIDDLE 000012 len 256\n"
		"    20.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		"    30.000 b: 000012 out of order\n"
		"    30.000 b: 000013 out of order\n"
		"  5020.000 a> RDMA_WRITE_MIDDLE 000011 len 256 ack?\n"
		"  5020.000 a> RDMA_WRITE_MIDDLE 000012 len 256 ack?\n"
		"  5030.000 b> ACK 000011 msn 0\n"
		"  5030.000 b> ACK 000012 msn 0\n"
		"  5040.000 a> RDMA_WRITE_LAST 000013 len 256 ack?\n"
		"  5050.000 b> ACK 000013 msn 1\n"
		"  5060.000 a: send 0 SUCCESS\n",
},
{
	.name = "lost tail",
	.goal = "the last packet is lost: the probe after 5 ms brings it, no retry is charged",
	.begin = lost_tail,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST 000010 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000011 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000012 len 256 ack? lost\n"
		"  5000.000 a> RDMA_WRITE_LAST 000012 len 256 ack?\n"
		"  5010.000 b> ACK 000012 msn 1\n"
		"  5020.000 a: send 0 SUCCESS\n",
},
{
	.name = "lost ack",
	.goal = "the ACK is lost: the probe is a duplicate, answered and not executed",
	.begin = lost_ack,
	.expected =
		"     0.000 a> SEND_ONLY 000010 len 256 ack?\n"
		"    10.000 b: recv 0 SUCCESS len 256\n"
		"    10.000 b> ACK 000010 msn 1 lost\n"
		"  5000.000 a> SEND_ONLY 000010 len 256 ack?\n"
		"  5010.000 b: 000010 duplicate\n"
		"  5010.000 b> ACK 000010 msn 1\n"
		"  5020.000 a: send 0 SUCCESS\n",
},
{
	.name = "nobody answers",
	.goal = "two probes (the second starts over), then 4 T three times, then RETRY_EXC",
	.begin = nobody_answers,
	.expected =
		"     0.000 a> RDMA_WRITE_ONLY 000010 len 10 ack? lost\n"
		"     0.000 a> RDMA_WRITE_ONLY 000011 len 10 ack? lost\n"
		"  5000.000 a> RDMA_WRITE_ONLY 000011 len 10 ack? lost\n"
		" 15000.000 a> RDMA_WRITE_ONLY 000010 len 10 ack? lost\n"
		" 15000.000 a> RDMA_WRITE_ONLY 000011 len 10 ack? lost\n"
		" 16777.216 a: timeout\n"
		" 16777.216 a> RDMA_WRITE_ONLY 000010 len 10 ack? lost\n"
		" 16777.216 a> RDMA_WRITE_ONLY 000011 len 10 ack? lost\n"
		" 33554.432 a: timeout\n"
		" 33554.432 a> RDMA_WRITE_ONLY 000010 len 10 ack? lost\n"
		" 33554.432 a> RDMA_WRITE_ONLY 000011 len 10 ack? lost\n"
		" 50331.648 a: timeout\n"
		" 50331.648 a: send 0 RETRY_EXC_ERR\n"
		" 50331.648 a: send 1 WR_FLUSH_ERR\n",
},
{
	.name = "psn wrap",
	.goal = "PSNs go round in the middle of a message, with a loss",
	.begin = psn_wrap,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST fffffe len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE ffffff len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000000 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000001 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000002 len 256 ack? lost\n"
		"     0.000 a> RDMA_WRITE_ONLY 000003 len 5 ack?\n"
		"    10.000 b: 000003 out of order\n"
		"    10.000 b> NAK PSN sequence 000002 msn 0\n"
		"    20.000 a> RDMA_WRITE_LAST 000002 len 256 ack?\n"
		"    20.000 a> RDMA_WRITE_ONLY 000003 len 5 ack?\n"
		"    30.000 b> ACK 000002 msn 1\n"
		"    30.000 b> ACK 000003 msn 2\n"
		"    40.000 a: send 0 SUCCESS\n"
		"    40.000 a: send 1 SUCCESS\n",
},
{
	.name = "wait for turn",
	.goal = "a bad lkey behind a lost WRITE: the WRITE is repeated and succeeds first",
	.begin = wait_for_turn,
	.expected =
		"     0.000 a> RDMA_WRITE_ONLY 000010 len 10 ack? lost\n"
		"  5000.000 a> RDMA_WRITE_ONLY 000010 len 10 ack?\n"
		"  5010.000 b> ACK 000010 msn 1\n"
		"  5020.000 a: send 0 SUCCESS\n"
		"  5020.000 a: send 1 LOC_PROT_ERR\n"
		"  5020.000 a: send 2 WR_FLUSH_ERR\n",
},
{
	.name = "refused",
	.goal = "WRITE to a region without the right: NAK 0x62, flush on both sides",
	.begin = refused,
	.expected =
		"     0.000 a> RDMA_WRITE_ONLY 000010 len 10 ack?\n"
		"     0.000 a> RDMA_WRITE_FIRST 000011 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000012 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000013 len 88 ack?\n"
		"     0.000 a> RDMA_WRITE_ONLY 000014 len 10 ack?\n"
		"    10.000 b> ACK 000010 msn 1\n"
		"    10.000 b: 000011 refused\n"
		"    10.000 b: recv 0 WR_FLUSH_ERR\n"
		"    10.000 b> NAK remote access 000011 msn 1\n"
		"    10.000 b: 000012 dropped: state\n"
		"    10.000 b: 000013 dropped: state\n"
		"    10.000 b: 000014 dropped: state\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a: send 1 REM_ACCESS_ERR\n"
		"    20.000 a: send 2 WR_FLUSH_ERR\n",
},
{
	.name = "too long",
	.goal = "SEND longer than its receive: LOC_LEN_ERR there, REM_INV_REQ_ERR here",
	.begin = too_long,
	.expected =
		"     0.000 a> SEND_FIRST 000010 len 256\n"
		"     0.000 a> SEND_MIDDLE 000011 len 256\n"
		"     0.000 a> SEND_MIDDLE 000012 len 256\n"
		"     0.000 a> SEND_LAST 000013 len 232 ack?\n"
		"    10.000 b: 000012 refused\n"
		"    10.000 b: recv 0 LOC_LEN_ERR len 0\n"
		"    10.000 b: recv 1 WR_FLUSH_ERR\n"
		"    10.000 b> NAK invalid request 000012 msn 0\n"
		"    10.000 b: 000013 dropped: state\n"
		"    20.000 a: send 0 REM_INV_REQ_ERR\n",
},
{
	.name = "drain",
	.goal = "SQD finishes what was started, holds the rest, RTS goes on",
	.begin = drain_queue,
	.at = { 5000, 100000 },
	.then = drain_queue_then,
	.expected =
		"     0.000 a> RDMA_WRITE_FIRST 000010 len 256\n"
		"     0.000 a> RDMA_WRITE_MIDDLE 000011 len 256\n"
		"     0.000 a> RDMA_WRITE_LAST 000012 len 256 ack?\n"
		"     0.000 a> RDMA_WRITE_ONLY 000013 len 10 ack?\n"
		"     5.000 a: to SQD\n"
		"    10.000 b> ACK 000012 msn 1\n"
		"    10.000 b> ACK 000013 msn 2\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a: send 1 SUCCESS\n"
		"   100.000 a: drained, to RTS\n"
		"   100.000 a> RDMA_WRITE_ONLY 000014 len 20 ack?\n"
		"   110.000 b> ACK 000014 msn 3\n"
		"   120.000 a: send 2 SUCCESS\n",
},
{
	.name = "peer gone",
	.goal = "what is in flight ends at once, so does what is posted later",
	.begin = gone,
	.at = { 5000, 50000 },
	.then = gone_then,
	.lossless = true,
	.expected =
		"     0.000 a> RDMA_WRITE_ONLY 000010 len 10 ack?\n"
		"     5.000 b dies\n"
		"    10.000 b: 000010 nobody there\n"
		"    10.000 a: send 0 RETRY_EXC_ERR\n"
		"    50.000 a: send 1 WR_FLUSH_ERR\n"
		"    50.000 a: send 2 WR_FLUSH_ERR\n",
},
{
	.name = "stopped peer",
	.goal = "60 ms without the peer, 4 T = 16.8 ms, no retries: excused, the answer counts",
	.begin = stopped_peer,
	.lossless = true,
	.expected =
		"     0.000 a> RDMA_WRITE_ONLY 000010 len 10 ack?\n"
		" 60000.000 b> ACK 000010 msn 1\n"
		" 60010.000 a: send 0 SUCCESS\n",
},
{
	.name = "read lost response",
	.goal = "a response is lost: the request goes again for the rest, and the WRITE behind it is not executed twice",
	.begin = read_lost_response,
	.expected =
		"     0.000 a> RDMA_READ_REQUEST 000010 for 1024\n"
		"     0.000 a> RDMA_WRITE_ONLY 000014 len 10 ack?\n"
		"    10.000 b> RDMA_READ_RESPONSE_FIRST 000010 len 256 msn 1\n"
		"    10.000 b> RDMA_READ_RESPONSE_MIDDLE 000011 len 256 lost\n"
		"    10.000 b> RDMA_READ_RESPONSE_MIDDLE 000012 len 256\n"
		"    10.000 b> RDMA_READ_RESPONSE_LAST 000013 len 256 msn 1\n"
		"    10.000 b> ACK 000014 msn 2\n"
		"    20.000 a: 000012 out of order\n"
		"    20.000 a> RDMA_READ_REQUEST 000011 for 768\n"
		"    20.000 a> RDMA_WRITE_ONLY 000014 len 10 ack?\n"
		"    20.000 a: 000013 out of order\n"
		"    30.000 b: 000011 duplicate\n"
		"    30.000 b> RDMA_READ_RESPONSE_FIRST 000011 len 256 msn 1\n"
		"    30.000 b> RDMA_READ_RESPONSE_MIDDLE 000012 len 256\n"
		"    30.000 b> RDMA_READ_RESPONSE_LAST 000013 len 256 msn 1\n"
		"    30.000 b: 000014 duplicate\n"
		"    30.000 b> ACK 000014 msn 2\n"
		"    40.000 a: send 0 SUCCESS\n"
		"    40.000 a: send 1 SUCCESS\n",
},
{
	.name = "read lost request",
	.goal = "the request is lost: the gap behind it says so",
	.begin = read_lost_request,
	.expected =
		"     0.000 a> RDMA_READ_REQUEST 000010 for 10 lost\n"
		"     0.000 a> RDMA_WRITE_ONLY 000011 len 10 ack?\n"
		"    10.000 b: 000011 out of order\n"
		"    10.000 b> NAK PSN sequence 000010 msn 0\n"
		"    20.000 a> RDMA_READ_REQUEST 000010 for 10\n"
		"    20.000 a> RDMA_WRITE_ONLY 000011 len 10 ack?\n"
		"    30.000 b> RDMA_READ_RESPONSE_ONLY 000010 len 10 msn 1\n"
		"    30.000 b> ACK 000011 msn 2\n"
		"    40.000 a: send 0 SUCCESS\n"
		"    40.000 a: send 1 SUCCESS\n",
},
{
	.name = "atomic lost answer",
	.goal = "the first answer is lost: both come again, nothing is added twice",
	.begin = atomic_lost_answer,
	.after = note_word,
	.expected =
		"     0.000 a> FETCH_ADD 000010 len 0 ack?\n"
		"     0.000 a> FETCH_ADD 000011 len 0 ack?\n"
		"    10.000 b> ATOMIC_ACKNOWLEDGE 000010 len 0 msn 1 lost\n"
		"    10.000 b> ATOMIC_ACKNOWLEDGE 000011 len 0 msn 2\n"
		"    20.000 a: 000011 out of order\n"
		"    20.000 a> FETCH_ADD 000010 len 0 ack?\n"
		"    20.000 a> FETCH_ADD 000011 len 0 ack?\n"
		"    30.000 b: 000010 duplicate\n"
		"    30.000 b> ATOMIC_ACKNOWLEDGE 000010 len 0 msn 1\n"
		"    30.000 b: 000011 duplicate\n"
		"    30.000 b> ATOMIC_ACKNOWLEDGE 000011 len 0 msn 2\n"
		"    40.000 a: send 0 SUCCESS\n"
		"    40.000 a: send 1 SUCCESS\n"
		"  5020.000 b's word is 2\n",
},
{
	.name = "atomic limit",
	.goal = "two may be unanswered: the third waits, and what is behind it waits with it",
	.begin = atomic_limit,
	.after = note_word,
	.expected =
		"     0.000 a> FETCH_ADD 000010 len 0 ack?\n"
		"     0.000 a> FETCH_ADD 000011 len 0 ack?\n"
		"    10.000 b> ATOMIC_ACKNOWLEDGE 000010 len 0 msn 1\n"
		"    10.000 b> ATOMIC_ACKNOWLEDGE 000011 len 0 msn 2\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a> FETCH_ADD 000012 len 0 ack?\n"
		"    20.000 a> RDMA_WRITE_ONLY 000013 len 10 ack?\n"
		"    20.000 a: send 1 SUCCESS\n"
		"    30.000 b> ATOMIC_ACKNOWLEDGE 000012 len 0 msn 3\n"
		"    30.000 b> ACK 000013 msn 4\n"
		"    40.000 a: send 2 SUCCESS\n"
		"    40.000 a: send 3 SUCCESS\n"
		"  5020.000 b's word is 3\n",
},
{
	.name = "fenced",
	.goal = "a fenced WRITE leaves when the READ before it is answered",
	.begin = fenced,
	.expected =
		"     0.000 a> RDMA_READ_REQUEST 000010 for 300\n"
		"    10.000 b> RDMA_READ_RESPONSE_FIRST 000010 len 256 msn 1\n"
		"    10.000 b> RDMA_READ_RESPONSE_LAST 000011 len 44 msn 1\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a> RDMA_WRITE_ONLY 000012 len 10 ack?\n"
		"    30.000 b> ACK 000012 msn 2\n"
		"    40.000 a: send 1 SUCCESS\n",
},
{
	.name = "invalidated",
	.goal = "SEND with invalidate takes the key that the atomic behind it would use",
	.begin = invalidated,
	.expected =
		"     0.000 a> SEND_ONLY_WITH_INVALIDATE 000010 len 10 ack?\n"
		"     0.000 a> FETCH_ADD 000011 len 0 ack?\n"
		"    10.000 b: recv 0 SUCCESS len 10\n"
		"    10.000 b> ACK 000010 msn 1\n"
		"    10.000 b: 000011 refused\n"
		"    10.000 b> NAK remote access 000011 msn 1\n"
		"    20.000 a: send 0 SUCCESS\n"
		"    20.000 a: send 1 REM_ACCESS_ERR\n",
},
{
	.name = "not to be invalidated",
	.goal = "class J: acknowledged, and the end of b",
	.begin = not_to_be_invalidated,
	.expected =
		"     0.000 a> SEND_ONLY_WITH_INVALIDATE 000010 len 10 ack?\n"
		"     0.000 a> SEND_ONLY 000011 len 20 ack?\n"
		"    10.000 b: recv 0 REM_INV_REQ_ERR len 0\n"
		"    10.000 b: recv 1 WR_FLUSH_ERR\n"
		"    10.000 b> ACK 000010 msn 1\n"
		"    10.000 b: 000011 dropped: state\n"
		"    20.000 a: send 0 SUCCESS\n"
		"  5020.000 a> SEND_ONLY 000011 len 20 ack?\n"
		"  5030.000 b: 000011 dropped: state\n"
		" 15020.000 a> SEND_ONLY 000011 len 20 ack?\n"
		" 15030.000 b: 000011 dropped: state\n"
		" 16797.216 a: timeout\n"
		" 16797.216 a: send 1 RETRY_EXC_ERR\n",
},
