/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XRC, one step function at a time: the SRQ that each message names, whose protection domain counts, and the halves: an initiator
 * answers nothing, a target asks nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/rc_one.h"
#include "wire/opcode.h"

enum { KEY_OF_1 = 11, KEY_OF_2 = 12 };

static struct one *open_target(void)
{
	struct one *o = open_as(&rc_xrc_tgt_ops, true);

	o->host.srqs = 2;
	sim_host_region(&o->host, 0x1000, 4096, 15, KEY_OF_1)->srqn = 1;
	sim_host_region(&o->host, 0x1000, 4096, 15, KEY_OF_2)->srqn = 2;
	return o;
}

static void post_recv(struct one *o, uint32_t srqn, uint64_t wr_id, uint32_t length)
{
	struct transport_sge sge = { .addr = 0x1000, .length = length, .lkey = KEY };

	sim_host_post_srq_recv(&o->host, srqn, wr_id, &sge, 1);
}

static enum rc_verdict ask(struct one *o, uint8_t opcode, uint32_t srqn, uint32_t psn, uint32_t len, uint32_t key)
{
	struct transport_run run = packet_of(opcode, psn, len);

	run.head.xrc_srqn = srqn;
	run.head.reth.rkey = run.head.atomic.rkey = key;
	run.head.bth.ack_req = true;
	return rc_receive(&o->qp, o->now, &run);
}

/* wr_id of the next finished receive, -1: none. */
static int64_t received(struct one *o, uint32_t status, uint32_t srqn)
{
	struct transport_completion c;

	if (!transport_qp_recv_done(&o->qp, &c))
		return -1;
	assert_int_equal(c.status, status);
	assert_int_equal(c.srqn, srqn);
	return (int64_t)c.wr_id;
}

static void expect_answer(struct one *o, int syndrome, uint32_t psn)
{
	struct transport_run run;

	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_XRC_ACKNOWLEDGE);
	assert_int_equal(run.head.aeth.syndrome, syndrome);
	assert_int_equal(run.head.bth.psn, psn);
}

static void each_message_takes_from_its_srq(void **state)
{
	struct one *o = open_target();

	post_recv(o, 1, 10, 100);
	post_recv(o, 2, 20, 1000);
	post_recv(o, 1, 11, 100);
	assert_int_equal(ask(o, WIRE_XRC_SEND_ONLY, 2, 200, 5, KEY), RC_TOOK);
	assert_int_equal(received(o, TRANSPORT_SUCCESS, 2), 20);
	expect_answer(o, 0x1f, 200);
	assert_int_equal(ask(o, WIRE_XRC_SEND_ONLY, 1, 201, 5, KEY), RC_TOOK);
	assert_int_equal(received(o, TRANSPORT_SUCCESS, 1), 10);
	expect_answer(o, 0x1f, 201);
	/* The one that is dry makes its sender wait, whatever the other one has. */
	assert_int_equal(ask(o, WIRE_XRC_SEND_ONLY, 2, 202, 5, KEY), RC_RNR);
	expect_answer(o, 0x2c, 202);
	post_recv(o, 2, 21, 100);
	assert_int_equal(ask(o, WIRE_XRC_SEND_ONLY, 2, 202, 5, KEY), RC_TOOK);
	assert_int_equal(received(o, TRANSPORT_SUCCESS, 2), 21);
	/* An immediate with a WRITE, too. */
	assert_int_equal(ask(o, WIRE_XRC_RDMA_WRITE_ONLY_WITH_IMM, 1, 203, 5, KEY_OF_1), RC_TOOK);
	assert_int_equal(received(o, TRANSPORT_SUCCESS, 1), 11);
	close_qp(o);
}

static void an_unknown_srq_is_refused(void **state)
{
	for (uint32_t srqn = 0; srqn <= 3; srqn += 3) {
		struct one *o = open_target();

		assert_int_equal(ask(o, WIRE_XRC_RDMA_WRITE_ONLY, srqn, 200, 5, KEY), RC_NAKED);
		expect_answer(o, 0x61, 200);
		assert_int_equal(transport_qp_events_take(&o->qp) & TRANSPORT_EVENT_REQ_ERR, TRANSPORT_EVENT_REQ_ERR);
		close_qp(o);
	}
}

static void a_message_keeps_its_srq(void **state)
{
	struct one *o = open_target();

	post_recv(o, 1, 10, 1000);
	assert_int_equal(ask(o, WIRE_XRC_SEND_FIRST, 1, 200, MTU, KEY), RC_TOOK);
	expect_answer(o, 0x1f, 200);
	assert_int_equal(ask(o, WIRE_XRC_SEND_LAST, 2, 201, 5, KEY), RC_NAKED);
	expect_answer(o, 0x61, 201);
	assert_int_equal(received(o, TRANSPORT_REM_INV_REQ_ERR, 1), 10);
	close_qp(o);
}

static void an_srq_that_goes_ends_its_message(void **state)
{
	struct one *o = open_target();

	post_recv(o, 1, 10, 1000);
	assert_int_equal(ask(o, WIRE_XRC_SEND_FIRST, 1, 200, MTU, KEY), RC_TOOK);
	o->host.srqs = 0;
	assert_int_equal(ask(o, WIRE_XRC_SEND_LAST, 1, 201, 5, KEY), RC_NAKED);
	close_qp(o);
}

/* READ, WRITE and atomics as well: under the SRQ that the request names, and under no other. */
static void its_protection_domain_counts(void **state)
{
	static const uint8_t opcodes[] = { WIRE_XRC_RDMA_WRITE_ONLY, WIRE_XRC_RDMA_READ_REQUEST, WIRE_XRC_FETCH_ADD,
					   WIRE_XRC_COMPARE_SWAP, WIRE_XRC_ATOMIC_WRITE, WIRE_XRC_FLUSH };

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct one *o = open_target();
		uint32_t len = opcodes[i] == WIRE_XRC_RDMA_WRITE_ONLY || opcodes[i] == WIRE_XRC_ATOMIC_WRITE ? 8 : 0;
		struct transport_run run = packet_of(opcodes[i], 200, len);

		run.head.reth.length = 8;
		run.head.reth.rkey = run.head.atomic.rkey = KEY_OF_1;
		run.head.xrc_srqn = 1;
		run.head.bth.ack_req = true;
		assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
		assert_true(pull_run(o, &run));
		assert_int_equal(run.head.aeth.syndrome, 0x1f);
		assert_int_equal(run.head.op->transport, WIRE_TRANSPORT_XRC);
		run = packet_of(opcodes[i], 201, len);
		run.head.reth.length = 8;
		run.head.reth.rkey = run.head.atomic.rkey = KEY_OF_1;
		run.head.xrc_srqn = 2;
		assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_NAKED);
		expect_answer(o, 0x62, 201);
		close_qp(o);
	}
}

/* The answer of a READ leaves when another SRQ's messages have come since. */
static void a_read_is_answered_under_its_own(void **state)
{
	struct one *o = open_target();
	struct transport_run run = packet_of(WIRE_XRC_RDMA_READ_REQUEST, 200, 0);

	memset(sim_host_bytes(&o->host, KEY_OF_1, 0x1000, 4), 0x77, 4);
	run.head.reth = (struct wire_reth){ .va = 0x1000, .rkey = KEY_OF_1, .length = 4 };
	run.head.xrc_srqn = 1;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	post_recv(o, 2, 20, 100);
	assert_int_equal(ask(o, WIRE_XRC_SEND_ONLY, 2, 201, 5, KEY), RC_TOOK);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_XRC_RDMA_READ_RESPONSE_ONLY);
	assert_int_equal(run.head.payload[3], 0x77);
	expect_answer(o, 0x1f, 201);
	/* And not at all when its SRQ went in between. */
	run = packet_of(WIRE_XRC_RDMA_READ_REQUEST, 202, 0);
	run.head.reth = (struct wire_reth){ .va = 0x1000, .rkey = KEY_OF_2, .length = 4 };
	run.head.xrc_srqn = 2;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	o->host.srqs = 1;
	expect_answer(o, 0x62, 202);
	close_qp(o);
}

static void halves_stay_halves(void **state)
{
	struct one *o = open_target();
	struct transport_run run = packet_of(WIRE_XRC_ACKNOWLEDGE, 100, 0);

	rc_to_rts(&o->qp, &o->config);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_DROPPED_OPCODE);
	/* Nor is RC XRC. */
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 200, 5, true), RC_DROPPED_OPCODE);
	close_qp(o);
	o = open_as(&rc_xrc_ini_ops, true);
	rc_to_rts(&o->qp, &o->config);
	assert_int_equal(ask(o, WIRE_XRC_RDMA_WRITE_ONLY, 1, 200, 5, KEY), RC_DROPPED_OPCODE);
	assert_false(pull_run(o, &run));
	close_qp(o);
	o = open_rts(true);
	assert_int_equal(ask(o, WIRE_XRC_RDMA_WRITE_ONLY, 1, 200, 5, KEY), RC_DROPPED_OPCODE);
	close_qp(o);
}

/* Every packet of a message says where it goes, framed or not, and fits its room. */
static void requests_name_their_srq(void **state)
{
	struct one *o = open_as(&rc_xrc_ini_ops, true);
	struct transport_sge sge = { .addr = 0x1000, .length = 3 * MTU, .lkey = KEY };
	struct transport_wqe wqe = { .op = TRANSPORT_OP_SEND_WITH_IMM, .length = 3 * MTU, .num_sge = 1, .remote_qpn = 0x123456 };
	struct transport_room room = { .buf = buf, .packets = 8, .framed = true };
	struct transport_run run;
	struct wire_packet packet;
	size_t used, segment = WIRE_BTH_BYTES + WIRE_XRCETH_BYTES + MTU + WIRE_ICRC_BYTES;

	rc_to_rts(&o->qp, &o->config);
	assert_true(sim_host_post_send(&o->host, &wqe, &sge, sizeof(sge)));
	room.bytes = segment - 1;
	assert_int_equal(rc_next(&o->qp, o->now, &room, &run, &used), 0);
	for (int i = 0; i < 3; i++) {
		room.bytes = segment + (i == 2 ? WIRE_IMMDT_BYTES : 0);
		assert_int_equal(rc_next(&o->qp, o->now, &room, &run, &used), 1);
		assert_int_equal(used, room.bytes);
		assert_int_equal(wire_packet_decode(&packet, buf, used), 0);
		assert_int_equal(packet.xrc_srqn, 0x123456);
		assert_int_equal(packet.op->transport, WIRE_TRANSPORT_XRC);
	}
	close_qp(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_takes_from_its_srq),
		cmocka_unit_test(an_unknown_srq_is_refused),
		cmocka_unit_test(a_message_keeps_its_srq),
		cmocka_unit_test(an_srq_that_goes_ends_its_message),
		cmocka_unit_test(its_protection_domain_counts),
		cmocka_unit_test(a_read_is_answered_under_its_own),
		cmocka_unit_test(halves_stay_halves),
		cmocka_unit_test(requests_name_their_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
