/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scenes of cm_story.c. A trace is what --print prints, after a person has read it. */
	{ .name = "plain",
	  .goal = "a connection and its end",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .at = { 50 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a> DREQ\n"
		"   51.000  b: DISCONNECTED\n"
		"   51.000  b> DREP\n"
		"   52.000  a: DISCONNECTED\n"
		"  115.000  b: TIMEWAIT_EXIT\n"
		"  116.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "lost REQ",
	  .goal = "the REQ is repeated",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_a = 1,
	  .at = { 150 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ lost\n"
		"   66.000  a> REQ\n"
		"   67.000  b: CONNECT_REQUEST\n"
		"   67.000  b> REP\n"
		"   68.000  a: CONNECT_RESPONSE\n"
		"   68.000  a> RTU\n"
		"   69.000  b: ESTABLISHED\n"
		"  150.000  a> DREQ\n"
		"  151.000  b: DISCONNECTED\n"
		"  151.000  b> DREP\n"
		"  152.000  a: DISCONNECTED\n"
		"  215.000  b: TIMEWAIT_EXIT\n"
		"  216.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "lost REP",
	  .goal = "the REP repeats itself, a repeated REQ is not answered",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_b = 1,
	  .at = { 250 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP lost\n"
		"   65.000  b> REP\n"
		"   66.000  a: CONNECT_RESPONSE\n"
		"   66.000  a> RTU\n"
		"   67.000  b: ESTABLISHED\n"
		"  250.000  a> DREQ\n"
		"  251.000  b: DISCONNECTED\n"
		"  251.000  b> DREP\n"
		"  252.000  a: DISCONNECTED\n"
		"  315.000  b: TIMEWAIT_EXIT\n"
		"  316.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "lost RTU",
	  .goal = "a repeated REP is answered by RTU",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_a = 2,
	  .at = { 250 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU lost\n"
		"   65.000  b> REP\n"
		"   66.000  a> RTU\n"
		"   67.000  b: ESTABLISHED\n"
		"  250.000  a> DREQ\n"
		"  251.000  b: DISCONNECTED\n"
		"  251.000  b> DREP\n"
		"  252.000  a: DISCONNECTED\n"
		"  315.000  b: TIMEWAIT_EXIT\n"
		"  316.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "data before RTU",
	  .goal = "data stand for the RTU",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_a = 2,
	  .at = { 20, 250 }, .then = notify_then,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU lost\n"
		"   20.000  b: data came\n"
		"   20.000  b: ESTABLISHED\n"
		"  250.000  a> DREQ\n"
		"  251.000  b: DISCONNECTED\n"
		"  251.000  b> DREP\n"
		"  252.000  a: DISCONNECTED\n"
		"  315.000  b: TIMEWAIT_EXIT\n"
		"  316.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "slow server",
	  .goal = "a repeated REQ is answered by MRA, which buys time",
	  .qp_type = CM_QP_RC,
	  .listens = true, .establishes = true, .hangs_up = true,
	  .at = { 300, 400 }, .then = accept_then_disconnect,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"   66.000  a> REQ\n"
		"   67.000  b> MRA (REQ)\n"
		"  300.000  b> REP\n"
		"  301.000  a: CONNECT_RESPONSE\n"
		"  301.000  a> RTU\n"
		"  302.000  b: ESTABLISHED\n"
		"  400.000  a> DREQ\n"
		"  401.000  b: DISCONNECTED\n"
		"  401.000  b> DREP\n"
		"  402.000  a: DISCONNECTED\n"
		"  465.000  b: TIMEWAIT_EXIT\n"
		"  466.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "slow client",
	  .goal = "a repeated REP is answered by MRA",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .hangs_up = true,
	  .at = { 150, 250 }, .then = establish_then_disconnect,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"   65.000  b> REP\n"
		"   66.000  a> MRA (REP)\n"
		"  150.000  a> RTU\n"
		"  151.000  b: ESTABLISHED\n"
		"  250.000  a> DREQ\n"
		"  251.000  b: DISCONNECTED\n"
		"  251.000  b> DREP\n"
		"  252.000  a: DISCONNECTED\n"
		"  315.000  b: TIMEWAIT_EXIT\n"
		"  316.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "nobody there",
	  .goal = "every REQ is lost",
	  .qp_type = CM_QP_RC,
	  .lost_a = FOREVER,
	  .expected =
		"    0.000  a> REQ lost\n"
		"   66.000  a> REQ lost\n"
		"  132.000  a> REQ lost\n"
		"  198.000  a> REQ lost\n"
		"  264.000  a> REQ lost\n"
		"  330.000  a> REQ lost\n"
		"  396.000  a> REQ lost\n"
		"  462.000  a> REQ lost\n"
		"  528.000  a: UNREACHABLE -13\n" },
	{ .name = "server hears nothing",
	  .goal = "every REP is lost: both give up",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true,
	  .lost_b = FOREVER,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP lost\n"
		"   65.000  b> REP lost\n"
		"   66.000  a> REQ\n"
		"  129.000  b> REP lost\n"
		"  132.000  a> REQ\n"
		"  193.000  b> REP lost\n"
		"  198.000  a> REQ\n"
		"  257.000  b> REP lost\n"
		"  264.000  a> REQ\n"
		"  321.000  b> REP lost\n"
		"  330.000  a> REQ\n"
		"  385.000  b> REP lost\n"
		"  396.000  a> REQ\n"
		"  449.000  b> REP lost\n"
		"  462.000  a> REQ\n"
		"  513.000  b: UNREACHABLE -13\n"
		"  528.000  a: UNREACHABLE -13\n" },
	{ .name = "no listener",
	  .goal = "REJ 8",
	  .qp_type = CM_QP_RC,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b> REJ 8 (REQ)\n"
		"    2.000  a: REJECTED 8\n" },
	{ .name = "refused",
	  .goal = "REJ 28 by the program, with private data",
	  .qp_type = CM_QP_RC,
	  .listens = true, .rejects = CM_REJ_CONSUMER,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REJ 28 (REQ)\n"
		"    2.000  a: REJECTED 28\n" },
	{ .name = "refused for ECE",
	  .goal = "REJ 35 by the program",
	  .qp_type = CM_QP_RC,
	  .listens = true, .rejects = CM_REJ_VENDOR_OPTION,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REJ 35 (REQ)\n"
		"    2.000  a: REJECTED 35\n" },
	{ .name = "lost REJ",
	  .goal = "a refusal is not repeated: the repeated REQ is a new one",
	  .qp_type = CM_QP_RC,
	  .listens = true, .rejects = CM_REJ_CONSUMER,
	  .lost_b = 1,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REJ 28 (REQ) lost\n"
		"   66.000  a> REQ\n"
		"   67.000  b: CONNECT_REQUEST\n"
		"   67.000  b> REJ 28 (REQ)\n"
		"   68.000  a: REJECTED 28\n" },
	{ .name = "client refuses the reply",
	  .goal = "REJ 35 of a REP",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true,
	  .at = { 50 }, .then = client_rejects,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"   50.000  a> REJ 35 (REP)\n"
		"   51.000  b: REJECTED 35\n" },
	{ .name = "client dies calling",
	  .goal = "REJ 4 to a server that thinks",
	  .qp_type = CM_QP_RC,
	  .listens = true,
	  .at = { 50 }, .then = client_dies,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"   50.000  a: the client dies, 1 ids\n"
		"   50.000  a> REJ 4 (other)\n"
		"   51.000  b: REJECTED 4\n" },
	{ .name = "server dies before it answers",
	  .goal = "REJ 28, and nobody listens any more",
	  .qp_type = CM_QP_RC,
	  .listens = true,
	  .at = { 50 }, .then = server_dies,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"   50.000  b: the server dies, 2 ids\n"
		"   50.000  b> REJ 28 (REQ)\n"
		"   51.000  a: REJECTED 28\n" },
	{ .name = "server dies after its reply",
	  .goal = "REJ 28, seen by a client that has the REP",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true,
	  .at = { 50 }, .then = server_dies,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"   50.000  b: the server dies, 2 ids\n"
		"   50.000  b> REJ 28 (other)\n"
		"   51.000  a: REJECTED 28\n"
		"  115.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "client dies connected",
	  .goal = "DREQ, repeated when lost",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_a = 4,
	  .at = { 50 }, .then = client_dies,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a: the client dies, 1 ids\n"
		"   50.000  a> DREQ lost\n"
		"  116.000  a> DREQ\n"
		"  117.000  b: DISCONNECTED\n"
		"  117.000  b> DREP\n"
		"  181.000  b: TIMEWAIT_EXIT\n" },
	{ .name = "server dies connected",
	  .goal = "DREQ",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .at = { 50 }, .then = server_dies,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  b: the server dies, 2 ids\n"
		"   50.000  b> DREQ\n"
		"   51.000  a: DISCONNECTED\n"
		"   51.000  a> DREP\n"
		"  115.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "lost DREP",
	  .goal = "a repeated DREQ is answered in timewait",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_b = 2,
	  .at = { 50 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a> DREQ\n"
		"   51.000  b: DISCONNECTED\n"
		"   51.000  b> DREP lost\n"
		"  115.000  b: TIMEWAIT_EXIT\n"
		"  116.000  a> DREQ\n"
		"  117.000  b> DREP\n"
		"  118.000  a: DISCONNECTED\n"
		"  182.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "DREQ unheard",
	  .goal = "the one who hangs up gives up",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .lost_a = 0xfffffffffffffffc,
	  .at = { 50 }, .then = disconnect_a,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a> DREQ lost\n"
		"  116.000  a> DREQ lost\n"
		"  182.000  a> DREQ lost\n"
		"  248.000  a> DREQ lost\n"
		"  314.000  a> DREQ lost\n"
		"  380.000  a> DREQ lost\n"
		"  446.000  a> DREQ lost\n"
		"  512.000  a> DREQ lost\n"
		"  578.000  a: DISCONNECTED -13\n"
		"  642.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "both hang up",
	  .goal = "crossing DREQs, both answered",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .at = { 50 }, .then = disconnect_both,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  b> DREQ\n"
		"   50.000  a> DREQ\n"
		"   51.000  b: DISCONNECTED\n"
		"   51.000  b> DREP\n"
		"   51.000  a: DISCONNECTED\n"
		"   51.000  a> DREP\n"
		"  115.000  a: TIMEWAIT_EXIT\n"
		"  115.000  b: TIMEWAIT_EXIT\n" },
	{ .name = "stale connection",
	  .goal = "a restarted host comes with the same QP: REJ 10, the old one is closed, then it works",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .at = { 50, 200 }, .then = restart_and_call,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a: restarts\n"
		"   50.000  a> REQ\n"
		"   51.000  b> REJ 10 (REQ)\n"
		"   51.000  b> DREQ\n"
		"   52.000  a> DREP\n"
		"   52.000  a: REJECTED 10\n"
		"   53.000  b: DISCONNECTED\n"
		"  116.000  a: TIMEWAIT_EXIT\n"
		"  117.000  b: TIMEWAIT_EXIT\n"
		"  200.000  a> REQ\n"
		"  201.000  b: CONNECT_REQUEST\n"
		"  201.000  b> REP\n"
		"  202.000  a: CONNECT_RESPONSE\n"
		"  202.000  a> RTU\n"
		"  203.000  b: ESTABLISHED\n" },
	{ .name = "again too soon",
	  .goal = "the same QP within the timewait of the peer",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true,
	  .at = { 50, 55, 300 }, .then = hang_up_and_call,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> REP\n"
		"    2.000  a: CONNECT_RESPONSE\n"
		"    2.000  a> RTU\n"
		"    3.000  b: ESTABLISHED\n"
		"   50.000  a> DREQ\n"
		"   51.000  b: DISCONNECTED\n"
		"   51.000  b> DREP\n"
		"   52.000  a: DISCONNECTED\n"
		"   55.000  a> REQ\n"
		"   56.000  b> REJ 10 (REQ)\n"
		"   57.000  a: REJECTED 10\n"
		"  115.000  b: TIMEWAIT_EXIT\n"
		"  116.000  a: TIMEWAIT_EXIT\n"
		"  121.000  a: TIMEWAIT_EXIT\n"
		"  300.000  a> REQ\n"
		"  301.000  b: CONNECT_REQUEST\n"
		"  301.000  b> REP\n"
		"  302.000  a: CONNECT_RESPONSE\n"
		"  302.000  a> RTU\n"
		"  303.000  b: ESTABLISHED\n" },
	{ .name = "backlog",
	  .goal = "room for one: of two requests the second is dropped until the first is taken",
	  .qp_type = CM_QP_RC,
	  .at = { 50, 90 }, .then = many_call,
	  .expected =
		"    0.000  a> REQ\n"
		"    1.000  b> REJ 8 (REQ)\n"
		"    2.000  a: REJECTED 8\n"
		"   50.000  a> REQ\n"
		"   50.000  a> REQ\n"
		"   51.000  b: CONNECT_REQUEST\n"
		"   90.000  b: takes the request\n"
		"  116.000  a> REQ\n"
		"  116.000  a> REQ\n"
		"  117.000  b> MRA (REQ)\n"
		"  117.000  b: CONNECT_REQUEST\n"
		"  182.000  a> REQ\n"
		"  183.000  b> MRA (REQ)\n"
		" 1270.000  a> REQ\n"
		" 1271.000  b> MRA (REQ)\n"
		" 1336.000  a> REQ\n"
		" 1337.000  b> MRA (REQ)\n"
		" 2422.000  a> REQ\n"
		" 2423.000  b> MRA (REQ)\n"
		" 2488.000  a> REQ\n"
		" 2489.000  b> MRA (REQ)\n"
		" 3574.000  a> REQ\n"
		" 3575.000  b> MRA (REQ)\n"
		" 3640.000  a> REQ\n"
		" 3641.000  b> MRA (REQ)\n"
		" 4726.000  a> REQ\n"
		" 4727.000  b> MRA (REQ)\n"
		" 4792.000  a> REQ\n"
		" 4793.000  b> MRA (REQ)\n"
		" 5878.000  a> REQ\n"
		" 5879.000  b> MRA (REQ)\n"
		" 5944.000  a> REQ\n"
		" 5945.000  b> MRA (REQ)\n"
		" 7030.000  a> REQ\n"
		" 7031.000  b> MRA (REQ)\n"
		" 7096.000  a: UNREACHABLE -13\n"
		" 8182.000  a: UNREACHABLE -13\n" },
	{ .name = "local",
	  .goal = "both on one host: nothing on the wire",
	  .qp_type = CM_QP_RC,
	  .listens = true, .accepts = true, .establishes = true, .hangs_up = true, .local = true,
	  .at = { 50 }, .then = disconnect_a,
	  .expected =
		"    0.000  a: CONNECT_REQUEST\n"
		"    0.000  a: CONNECT_RESPONSE\n"
		"    0.000  a: ESTABLISHED\n"
		"   50.000  a: DISCONNECTED\n"
		"   50.000  a: DISCONNECTED\n"
		"  114.000  a: TIMEWAIT_EXIT\n"
		"  114.000  a: TIMEWAIT_EXIT\n" },
	{ .name = "SIDR",
	  .goal = "datagrams: a question and an answer",
	  .qp_type = CM_QP_UD,
	  .listens = true, .accepts = true,
	  .expected =
		"    0.000  a> SIDR_REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> SIDR_REP 0\n"
		"    2.000  a: ESTABLISHED\n" },
	{ .name = "SIDR repeated",
	  .goal = "a lost answer: the question is a new one",
	  .qp_type = CM_QP_UD,
	  .listens = true, .accepts = true,
	  .lost_b = 1,
	  .expected =
		"    0.000  a> SIDR_REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> SIDR_REP 0 lost\n"
		"   64.000  a> SIDR_REQ\n"
		"   65.000  b: CONNECT_REQUEST\n"
		"   65.000  b> SIDR_REP 0\n"
		"   66.000  a: ESTABLISHED\n" },
	{ .name = "SIDR slow",
	  .goal = "a repeated question is dropped while the program thinks",
	  .qp_type = CM_QP_UD,
	  .listens = true,
	  .at = { 100 }, .then = accept_once,
	  .expected =
		"    0.000  a> SIDR_REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"   64.000  a> SIDR_REQ\n"
		"  100.000  b> SIDR_REP 0\n"
		"  101.000  a: ESTABLISHED\n" },
	{ .name = "SIDR no listener",
	  .goal = "status 1",
	  .qp_type = CM_QP_UD,
	  .expected =
		"    0.000  a> SIDR_REQ\n"
		"    1.000  b> SIDR_REP 1\n"
		"    2.000  a: UNREACHABLE 1\n" },
	{ .name = "SIDR refused",
	  .goal = "status 2",
	  .qp_type = CM_QP_UD,
	  .listens = true, .rejects = CM_REJ_CONSUMER,
	  .expected =
		"    0.000  a> SIDR_REQ\n"
		"    1.000  b: CONNECT_REQUEST\n"
		"    1.000  b> SIDR_REP 2\n"
		"    2.000  a: UNREACHABLE 2\n" },
	{ .name = "SIDR unheard",
	  .goal = "every question is lost",
	  .qp_type = CM_QP_UD,
	  .lost_a = FOREVER,
	  .expected =
		"    0.000  a> SIDR_REQ lost\n"
		"   64.000  a> SIDR_REQ lost\n"
		"  128.000  a> SIDR_REQ lost\n"
		"  192.000  a> SIDR_REQ lost\n"
		"  256.000  a> SIDR_REQ lost\n"
		"  320.000  a> SIDR_REQ lost\n"
		"  384.000  a> SIDR_REQ lost\n"
		"  448.000  a> SIDR_REQ lost\n"
		"  512.000  a: UNREACHABLE -13\n" },
