/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The small print of READ, atomics and invalidation, one step function at a time: both sides of "exactly once", of resuming a
 * READ, and of the order in which a send queue is executed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/rc_one.h"
#include "wire/opcode.h"
#include "wire/timer.h"

static uint64_t word(struct one *o)
{
	uint64_t value;

	memcpy(&value, sim_host_bytes(&o->host, KEY, 0x1000, 8), 8);
	return value;
}

/* ---- the responder ---- */

static enum rc_verdict add(struct one *o, uint32_t psn)
{
	struct transport_run run = packet_of(WIRE_RC_FETCH_ADD, psn, 0);

	return rc_receive(&o->qp, o->now, &run);
}

static enum rc_verdict read_(struct one *o, uint32_t psn, uint32_t offset, uint32_t length, uint32_t key)
{
	struct transport_run run = packet_of(WIRE_RC_RDMA_READ_REQUEST, psn, 0);

	run.head.reth = (struct wire_reth){ .va = 0x1000 + offset, .rkey = key, .length = length };
	return rc_receive(&o->qp, o->now, &run);
}

static void atomic_comes_again_and_is_not_executed(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	assert_int_equal(add(o, 200), RC_TOOK);
	assert_int_equal(add(o, 201), RC_TOOK);
	assert_int_equal(word(o), 2);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_ATOMIC_ACKNOWLEDGE);
	assert_int_equal(run.head.atomic_ack, 0);
	assert_int_equal(run.head.aeth.msn, 1);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.atomic_ack, 1);
	for (int i = 0; i < 3; i++) {
		/* The answers were lost: they come again as they were. */
		assert_int_equal(add(o, 200), RC_DUPLICATE);
		assert_int_equal(add(o, 201), RC_DUPLICATE);
		assert_int_equal(word(o), 2);
		assert_true(pull_run(o, &run));
		assert_int_equal(run.head.bth.psn, 200);
		assert_int_equal(run.head.atomic_ack, 0);
		assert_int_equal(run.head.aeth.msn, 1);
		assert_true(pull_run(o, &run));
		assert_int_equal(run.head.bth.psn, 201);
		assert_int_equal(run.head.atomic_ack, 1);
		assert_false(pull_run(o, &run));
	}
	/* One more is one too many to remember: the oldest is silent from now on, and still not executed. */
	assert_int_equal(add(o, 202), RC_TOOK);
	assert_true(pull_run(o, &run));
	assert_int_equal(add(o, 200), RC_DUPLICATE);
	assert_false(pull_run(o, &run));
	assert_int_equal(word(o), 3);
	close_qp(o);
}

static void unanswered_requests_beyond_the_limit_are_refused(void **state)
{
	struct one *o = open_rts(true);
	uint32_t psn = 0;

	assert_int_equal(add(o, 200), RC_TOOK);
	assert_int_equal(read_(o, 201, 0, 2 * MTU, KEY), RC_TOOK);
	assert_int_equal(add(o, 203), RC_NAKED);
	/* What was taken is answered before the refusal. */
	assert_int_equal(pull_answer(o, &psn), 0x1f);
	assert_int_equal(psn, 200);
	assert_int_equal(pull(o), 201);
	assert_int_equal(pull(o), 202);
	assert_int_equal(pull_answer(o, &psn), 0x61);
	assert_int_equal(psn, 203);
	assert_int_equal(word(o), 1);
	close_qp(o);
}

static void read_is_resumed_at_its_tail(void **state)
{
	struct one *o = open_rts(true);
	uint8_t *bytes = sim_host_bytes(&o->host, KEY, 0x1000, 1024);
	struct transport_run run;

	for (int i = 0; i < 1024; i++)
		bytes[i] = (uint8_t)(i * 7);
	assert_int_equal(read_(o, 200, 0, 900, KEY), RC_TOOK);
	assert_int_equal(rc_rq_psn(&o->qp), 204);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pull(o), 200 + i);
	/* From the third packet on. */
	assert_int_equal(read_(o, 202, 2 * MTU, 900 - 2 * MTU, KEY), RC_DUPLICATE);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_RDMA_READ_RESPONSE_FIRST);
	assert_int_equal(run.head.bth.psn, 202);
	assert_memory_equal(run.head.payload, bytes + 2 * MTU, MTU);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_RDMA_READ_RESPONSE_LAST);
	assert_int_equal(run.head.payload_len, 900 - 3 * MTU);
	assert_memory_equal(run.head.payload, bytes + 3 * MTU, 900 - 3 * MTU);
	/* The last packet alone is an ONLY. */
	assert_int_equal(read_(o, 203, 3 * MTU, 900 - 3 * MTU, KEY), RC_DUPLICATE);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_RDMA_READ_RESPONSE_ONLY);
	assert_int_equal(run.head.aeth.msn, 1);
	/* What is not a part of it gets no answer: other place, other key, longer, unknown PSN. */
	assert_int_equal(read_(o, 202, 0, 10, KEY), RC_DUPLICATE);
	assert_int_equal(read_(o, 202, 2 * MTU, 10, KEY_GOING), RC_DUPLICATE);
	assert_int_equal(read_(o, 202, 2 * MTU, 900, KEY), RC_DUPLICATE);
	assert_int_equal(read_(o, 199, 0, 900, KEY), RC_DUPLICATE);
	assert_int_equal(add(o, 200), RC_DUPLICATE);
	assert_false(pull_run(o, &run));
	close_qp(o);
}

static void memory_that_goes_ends_a_read(void **state)
{
	struct one *o = open_rts(true);
	uint32_t psn = 0;

	assert_int_equal(read_(o, 200, 0, 3 * MTU, KEY_GOING), RC_TOOK);
	assert_int_equal(pull(o), 200);
	o->host.regions[1].revoked = true;
	assert_int_equal(pull_answer(o, &psn), 0x62);
	assert_int_equal(psn, 201); /* in place of the response */
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_ERROR);
	assert_int_equal(transport_qp_events_take(&o->qp), TRANSPORT_EVENT_ENTERED_ERROR | TRANSPORT_EVENT_ACCESS_ERR);
	assert_int_equal(pull(o), -1);
	close_qp(o);
}

static void ack_waits_behind_responses(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	assert_int_equal(read_(o, 200, 0, 2 * MTU, KEY), RC_TOOK);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 202, 4, true), RC_TOOK);
	assert_int_equal(pull(o), 200);
	assert_int_equal(pull(o), 201);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_ACKNOWLEDGE);
	assert_int_equal(run.head.bth.psn, 202);
	close_qp(o);
}

static void expect_ack(struct one *o, uint32_t psn, uint32_t msn)
{
	struct transport_run run;

	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_ACKNOWLEDGE);
	assert_int_equal(run.head.bth.psn, psn);
	assert_int_equal(run.head.aeth.msn, msn);
	assert_int_equal(pull(o), -1);
}

/* A requester whose response was lost would take such an ACK for it: rxe completes the READ without its data. */
static void ack_names_no_psn_of_a_response(void **state)
{
	struct one *o = open_rts(true);

	/* The responses acknowledge what is before them, so that the ACK is no longer owed. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, true), RC_TOOK);
	assert_int_equal(read_(o, 201, 0, 2 * MTU, KEY), RC_TOOK);
	assert_int_equal(pull(o), 201);
	assert_int_equal(pull(o), 202);
	assert_int_equal(pull(o), -1);
	/* All was lost. The WRITE comes again and is acknowledged, the READ is not. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, true), RC_DUPLICATE);
	expect_ack(o, 200, 1);
	/* Nor are two in a row. */
	assert_int_equal(add(o, 203), RC_TOOK);
	assert_int_equal(pull(o), 203);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, true), RC_DUPLICATE);
	expect_ack(o, 200, 1);
	/* What comes behind them is. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 204, 4, true), RC_TOOK);
	expect_ack(o, 204, 4);
	assert_int_equal(read_(o, 201, 0, 2 * MTU, KEY), RC_DUPLICATE);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 204, 4, true), RC_DUPLICATE);
	assert_int_equal(pull(o), 201);
	assert_int_equal(pull(o), 202);
	expect_ack(o, 204, 4);
	close_qp(o);
}

/* ---- SEND with invalidate ---- */

static void post_recv(struct one *o)
{
	struct transport_sge sge = { .addr = 0x1000, .length = 64, .lkey = KEY };

	sim_host_post_recv(&o->host, o->host.recvs_posted, &sge, 1);
}

static enum rc_verdict send_inv(struct one *o, uint32_t psn, uint32_t rkey)
{
	struct transport_run run = packet_of(WIRE_RC_SEND_ONLY_WITH_INVALIDATE, psn, 4);

	run.head.inv_rkey = rkey;
	run.head.bth.ack_req = true;
	return rc_receive(&o->qp, o->now, &run);
}

static void peer_invalidates(void **state)
{
	struct one *o = open_rts(true);
	struct transport_completion c;
	uint32_t psn = 0;

	post_recv(o);
	assert_int_equal(send_inv(o, 200, KEY_GOING), RC_TOOK);
	assert_int_equal(transport_qp_recv_done(&o->qp, &c), 1);
	assert_int_equal(c.status, TRANSPORT_SUCCESS);
	assert_int_equal(c.wc_flags, TRANSPORT_WC_WITH_INV);
	assert_int_equal(c.imm_or_inv, KEY_GOING);
	assert_int_equal(c.opcode, TRANSPORT_WC_RECV);
	assert_int_equal(pull_answer(o, &psn), 0x1f);
	/* A duplicate does nothing; the key is gone for the peer. */
	assert_int_equal(send_inv(o, 200, KEY), RC_DUPLICATE);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_RTS);
	assert_int_equal(pull_answer(o, &psn), 0x1f);
	assert_int_equal(read_(o, 201, 0, 8, KEY_GOING), RC_NAKED);
	assert_int_equal(pull_answer(o, &psn), 0x62);
	close_qp(o);
}

static void peer_may_not_invalidate(void **state)
{
	static struct transport_memory_ops poor;

	for (int i = 0; i < 2; i++) {
		struct one *o = open_rts(true);
		struct transport_completion c;
		uint32_t psn = 0;

		poor = sim_host_memory_ops;
		poor.remote_invalidate = NULL;
		if (i)
			o->qp.memory.ops = &poor;
		post_recv(o);
		post_recv(o);
		assert_int_equal(send_inv(o, 200, i ? KEY_GOING : KEY), RC_TOOK);
		assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_ERROR);
		assert_int_equal(transport_qp_events_take(&o->qp), TRANSPORT_EVENT_ENTERED_ERROR);
		assert_int_equal(transport_qp_recv_done(&o->qp, &c), 1);
		assert_int_equal(c.status, TRANSPORT_REM_INV_REQ_ERR);
		assert_int_equal(transport_qp_recv_done(&o->qp, &c), 0); /* the other is the host's to flush */
		assert_int_equal(pull_answer(o, &psn), 0x1f); /* accepted all the same */
		assert_int_equal(psn, 200);
		close_qp(o);
	}
}

/* ---- the requester ---- */

static void send_with_invalidate_carries_its_key(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	post_op(o, TRANSPORT_OP_SEND_WITH_INV, TRANSPORT_WQE_SOLICITED, 2 * MTU, KEY, 0xabcd);
	post_op(o, TRANSPORT_OP_SEND_WITH_INV, 0, 3, KEY, 0xabce);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_SEND_FIRST);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_SEND_LAST_WITH_INVALIDATE);
	assert_int_equal(run.head.inv_rkey, 0xabcd);
	assert_true(run.head.bth.solicited);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_SEND_ONLY_WITH_INVALIDATE);
	assert_int_equal(run.head.inv_rkey, 0xabce);
	assert_false(run.head.bth.solicited);
	close_qp(o);
}

static void local_invalidate_waits_for_its_turn(void **state)
{
	struct one *o = open_rts(true);

	post(o, 4, KEY_GOING);
	post_op(o, TRANSPORT_OP_LOCAL_INV, 0, 0, 0, KEY_GOING);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), -1);
	assert_false(rc_wants_room(&o->qp, o->now));
	/* The WRITE must go again: its memory has to be there. */
	o->now += 4 * wire_timer_ack_ns(14);
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(pull(o), 100);
	assert_false(o->host.regions[1].revoked);
	assert_int_equal(answer(o, 100, 0x1f), RC_TOOK);
	assert_true(rc_wants_room(&o->qp, o->now));
	assert_int_equal(pull(o), 101);
	assert_true(o->host.regions[1].revoked);
	assert_int_equal(done(o), 0);
	assert_int_equal(done(o), 0);
	assert_int_equal(done(o), -1);
	assert_int_equal(answer(o, 101, 0x1f), RC_TOOK);
	assert_int_equal(done(o), 0);
	/* SQD starts none. */
	post_op(o, TRANSPORT_OP_LOCAL_INV, 0, 0, 0, 77);
	rc_to_sqd(&o->qp);
	assert_int_equal(pull(o), -1);
	assert_int_equal(done(o), -1);
	rc_to_rts(&o->qp, &o->config);
	/* No such key. */
	assert_int_equal(pull(o), -1);
	assert_int_equal(done(o), TRANSPORT_LOC_QP_OP_ERR);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_ERROR);
	close_qp(o);
}

static void no_credit_is_no_obstacle(void **state)
{
	struct one *o = open_rts(true);

	for (uint32_t i = 0; i < 32; i++) {
		post_op(o, TRANSPORT_OP_SEND, 0, 4, KEY, 0);
		assert_int_equal(pull(o), 100 + i);
		assert_int_equal(answer(o, 100 + i, (uint8_t)i), RC_TOOK); /* every credit code, 0 first */
		assert_int_equal(done(o), 0);
	}
	close_qp(o);
}

static void fence_waits_for_reads(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 2 * MTU, KEY, 0);
	post_op(o, TRANSPORT_OP_FETCH_ADD, 0, 8, KEY, 0);
	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 8, KEY, 0);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), 102);
	assert_int_equal(pull(o), -1); /* max_rd_atomic is 2 */
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_FIRST, 100, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(pull(o), -1);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_LAST, 101, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(done(o), 0);
	assert_int_equal(pull(o), 103);
	post_op(o, TRANSPORT_OP_SEND, TRANSPORT_WQE_FENCE, 4, KEY, 0);
	post_op(o, TRANSPORT_OP_SEND, 0, 4, KEY, 0);
	assert_int_equal(pull(o), -1);
	run = packet_of(WIRE_RC_ATOMIC_ACKNOWLEDGE, 102, 0);
	run.head.atomic_ack = 0x1122334455667788;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(word(o), 0x1122334455667788);
	assert_int_equal(pull(o), -1);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_ONLY, 103, 8);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(pull(o), 104);
	assert_int_equal(pull(o), 105);
	close_qp(o);
}

static void read_goes_on_where_it_stopped(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 900, KEY, 0);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.reth.length, 900);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_FIRST, 100, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	/* The second is lost, the third shows it: all from there, once. */
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, 102, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_OUT_OF_ORDER);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_OUT_OF_ORDER);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_RDMA_READ_REQUEST);
	assert_int_equal(run.head.bth.psn, 101);
	assert_int_equal(run.head.reth.va, 0x1000 + MTU);
	assert_int_equal(run.head.reth.length, 900 - MTU);
	assert_false(pull_run(o, &run));
	/* An ACK for what is behind says nothing about its data. */
	assert_int_equal(answer(o, 103, 0x1f), RC_TOOK);
	assert_int_equal(done(o), -1);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_FIRST, 101, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, 102, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_LAST, 103, 900 - 3 * MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(done(o), 0);
	/* An answer of the wrong shape. */
	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 900, KEY, 0);
	assert_true(pull_run(o, &run));
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_ONLY, 104, 4);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(done(o), TRANSPORT_BAD_RESP_ERR);
	close_qp(o);
}

/* The responder comes to what it was asked again once it has ended what it was at. */
static void what_still_flies_is_no_silence(void **state)
{
	struct one *o = open_rts(true);
	uint64_t t4 = 4 * wire_timer_ack_ns(14);
	struct transport_run run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, 101, MTU);

	o->config.retry_cnt = 1;
	rc_update(&o->qp, &o->config);
	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 32 * MTU, KEY, 0);
	assert_int_equal(pull(o), 100);
	/* The first is lost, the others come slowly. */
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_OUT_OF_ORDER);
	assert_int_equal(pull(o), 100);
	for (uint32_t psn = 102; psn < 132; psn++) {
		o->now += t4 - 1;
		run = packet_of(psn < 131 ? WIRE_RC_RDMA_READ_RESPONSE_MIDDLE : WIRE_RC_RDMA_READ_RESPONSE_LAST, psn, MTU);
		assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_OUT_OF_ORDER);
		assert_int_equal(rc_deadline(&o->qp), o->now + t4);
		rc_tick(&o->qp, o->now, 0);
		assert_int_equal(pull(o), -1);
	}
	/* Nor what is known. */
	o->now += t4 - 1;
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_LAST, 99, MTU);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_DROPPED_PSN);
	assert_int_equal(rc_deadline(&o->qp), o->now + t4);
	/* Then it is silence. (The report of the loss was the one retry.) */
	o->now += t4;
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(done(o), TRANSPORT_RETRY_EXC_ERR);
	close_qp(o);
}

/* rxe answers no part of a READ that lies before what it was asked for again: the last packet alone must not be. */
static void probe_of_a_read_asks_for_all_that_is_missing(void **state)
{
	struct one *o = open_rts(false);
	struct transport_run run;

	for (uint32_t have = 0; have < 3; have++) {
		if (have) {
			run = packet_of(have == 1 ? WIRE_RC_RDMA_READ_RESPONSE_FIRST : WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, 99 + have, MTU);
			assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
		} else {
			post_op(o, TRANSPORT_OP_RDMA_READ, 0, 900, KEY, 0);
			assert_int_equal(pull(o), 100);
		}
		assert_int_equal(pull(o), -1);
		o->now = rc_deadline(&o->qp);
		rc_tick(&o->qp, o->now, 0);
		assert_true(pull_run(o, &run));
		assert_int_equal(o->qp.stats.tail_probes, have + 1);
		assert_int_equal(run.head.bth.psn, 100 + have);
		assert_int_equal(run.head.reth.va, 0x1000 + have * MTU);
		assert_int_equal(run.head.reth.length, 900 - have * MTU);
	}
	close_qp(o);
	/* Behind something else it is asked for whole. */
	o = open_rts(false);
	post(o, 4, KEY);
	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 900, KEY, 0);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), 101);
	o->now = rc_deadline(&o->qp);
	rc_tick(&o->qp, o->now, 0);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.psn, 101);
	assert_int_equal(run.head.reth.length, 900);
	close_qp(o);
}

static void not_ready_is_not_the_fault_of_a_read(void **state)
{
	struct one *o = open_rts(true);
	struct transport_run run;

	o->config.rnr_retry = 0;
	rc_update(&o->qp, &o->config);
	post_op(o, TRANSPORT_OP_RDMA_READ, 0, 8, KEY, 0);
	post_op(o, TRANSPORT_OP_SEND, 0, 4, KEY, 0);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), 101);
	/* The response was lost; the NAK of what is behind it shows that, and no more. */
	assert_int_equal(answer(o, 101, 0x2c), RC_TOOK);
	assert_int_equal(done(o), -1);
	assert_int_equal(pull(o), 100);
	run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_ONLY, 100, 8);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(done(o), 0);
	assert_int_equal(pull(o), 101);
	assert_int_equal(answer(o, 101, 0x2c), RC_TOOK);
	assert_int_equal(done(o), TRANSPORT_RNR_RETRY_EXC_ERR);
	close_qp(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomic_comes_again_and_is_not_executed),
		cmocka_unit_test(unanswered_requests_beyond_the_limit_are_refused),
		cmocka_unit_test(read_is_resumed_at_its_tail),
		cmocka_unit_test(memory_that_goes_ends_a_read),
		cmocka_unit_test(ack_waits_behind_responses),
		cmocka_unit_test(ack_names_no_psn_of_a_response),
		cmocka_unit_test(peer_invalidates),
		cmocka_unit_test(peer_may_not_invalidate),
		cmocka_unit_test(send_with_invalidate_carries_its_key),
		cmocka_unit_test(local_invalidate_waits_for_its_turn),
		cmocka_unit_test(no_credit_is_no_obstacle),
		cmocka_unit_test(fence_waits_for_reads),
		cmocka_unit_test(read_goes_on_where_it_stopped),
		cmocka_unit_test(what_still_flies_is_no_silence),
		cmocka_unit_test(probe_of_a_read_asks_for_all_that_is_missing),
		cmocka_unit_test(not_ready_is_not_the_fault_of_a_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
