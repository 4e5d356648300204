/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FLUSH and ATOMIC WRITE, one step function at a time: what they ask for, their answer, and that they come again without harm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/rc_one.h"
#include "wire/opcode.h"

enum { GLOBAL = 1, PERSISTENT = 2, RANGE = 0, WHOLE = 1, KEY_PLAIN = 21, KEY_GLOBAL = 22 };

static struct one *open_flush(void)
{
	struct one *o = open_rts(true);

	sim_host_region(&o->host, 0x1000, 4096, 15, KEY_PLAIN);
	sim_host_region(&o->host, 0x1000, 4096, 15 | TRANSPORT_FLUSH_GLOBAL, KEY_GLOBAL);
	return o;
}

static enum rc_verdict flush(struct one *o, uint32_t psn, uint32_t key, uint64_t va, uint32_t len, uint8_t placement, uint8_t selector)
{
	struct transport_run run = packet_of(WIRE_RC_FLUSH, psn, 0);

	run.head.reth = (struct wire_reth){ .va = va, .rkey = key, .length = len };
	run.head.feth = (struct wire_feth){ .placement = placement, .selector = selector };
	return rc_receive(&o->qp, o->now, &run);
}

static enum rc_verdict store(struct one *o, uint32_t psn, uint64_t va, uint32_t len, uint32_t length, uint32_t key)
{
	struct transport_run run = packet_of(WIRE_RC_ATOMIC_WRITE, psn, len);

	run.head.reth = (struct wire_reth){ .va = va, .rkey = key, .length = length };
	return rc_receive(&o->qp, o->now, &run);
}

static void expect_response(struct one *o, uint32_t psn, uint32_t msn)
{
	struct transport_run run;

	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_RDMA_READ_RESPONSE_ONLY);
	assert_int_equal(run.head.bth.psn, psn);
	assert_int_equal(run.head.aeth.syndrome, 0x1f);
	assert_int_equal(run.head.aeth.msn, msn);
	assert_int_equal(run.head.payload_len, 0);
}

static void expect_refusal(struct one *o, enum rc_verdict verdict, uint8_t syndrome)
{
	uint32_t psn;

	assert_int_equal(verdict, RC_NAKED);
	assert_int_equal(pull_answer(o, &psn), syndrome);
	close_qp(o);
}

static void flush_covers_what_came_before(void **state)
{
	struct one *o = open_flush();
	struct sim_region *r = &o->host.regions[0];

	memset(buf, 0x5a, 100);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 100, false), RC_TOOK);
	assert_int_equal(r->flushed[50], 0);
	assert_int_equal(flush(o, 201, KEY, 0x1000 + 40, 20, GLOBAL | PERSISTENT, RANGE), RC_TOOK);
	assert_int_equal(r->flushed[39], 0);
	assert_int_equal(r->flushed[40], 0x5a);
	assert_int_equal(r->flushed[59], 0x5a);
	assert_int_equal(r->flushed[60], 0);
	expect_response(o, 201, 2);
	/* The whole region: its range is not looked at. */
	assert_int_equal(flush(o, 202, KEY, 77, UINT32_MAX, GLOBAL, WHOLE), RC_TOOK);
	assert_int_equal(r->flushed[0], 0x5a);
	assert_int_equal(r->flushed[99], 0x5a);
	expect_response(o, 202, 3);
	close_qp(o);
}

static void answers_come_again_and_nothing_else(void **state)
{
	struct one *o = open_flush();
	uint64_t value = 0x0102030405060708, *at = (uint64_t *)(void *)sim_host_bytes(&o->host, KEY, 0x1008, 8);

	memcpy(buf, &value, 8);
	assert_int_equal(store(o, 200, 0x1008, 8, 8, KEY), RC_TOOK);
	assert_int_equal(*at, value);
	expect_response(o, 200, 1);
	assert_int_equal(flush(o, 201, KEY, 0x1000, 8, GLOBAL, RANGE), RC_TOOK);
	expect_response(o, 201, 2);
	*at = 5;
	o->host.regions[0].flushed[8] = 9;
	assert_int_equal(store(o, 200, 0x1008, 8, 8, KEY), RC_DUPLICATE);
	assert_int_equal(flush(o, 201, KEY, 0x1000, 16, GLOBAL, RANGE), RC_DUPLICATE);
	expect_response(o, 200, 1);
	expect_response(o, 201, 2);
	assert_int_equal(*at, 5);
	assert_int_equal(o->host.regions[0].flushed[8], 9);
	/* One is not answered for the other. */
	assert_int_equal(store(o, 201, 0x1008, 8, 8, KEY), RC_DUPLICATE);
	assert_int_equal(flush(o, 200, KEY, 0x1000, 8, GLOBAL, RANGE), RC_DUPLICATE);
	assert_int_equal(pull(o), -1);
	close_qp(o);
}

static void rights_of_qp_and_region(void **state)
{
	struct one *o = open_flush();

	/* Of the region: 0x62. */
	expect_refusal(o, flush(o, 200, KEY_PLAIN, 0x1000, 8, GLOBAL, RANGE), 0x62);
	o = open_flush();
	expect_refusal(o, flush(o, 200, KEY_GLOBAL, 0x1000, 8, GLOBAL | PERSISTENT, WHOLE), 0x62);
	o = open_flush();
	expect_refusal(o, flush(o, 200, KEY_GLOBAL, 0x1000, 4097, GLOBAL, RANGE), 0x62);
	o = open_flush();
	expect_refusal(o, flush(o, 200, 999, 0x1000, 0, GLOBAL, RANGE), 0x62);
	/* Of the queue pair: 0x61. */
	o = open_flush();
	o->qp.config.access = TRANSPORT_FLUSH_PERSISTENT;
	expect_refusal(o, flush(o, 200, KEY, 0x1000, 8, GLOBAL, RANGE), 0x61);
	o = open_flush();
	o->qp.config.access = TRANSPORT_FLUSH_GLOBAL;
	expect_refusal(o, flush(o, 200, KEY, 0x1000, 8, PERSISTENT, RANGE), 0x61);
	/* Reserved values. */
	o = open_flush();
	expect_refusal(o, flush(o, 200, KEY, 0x1000, 8, 4 | GLOBAL, RANGE), 0x61);
	o = open_flush();
	expect_refusal(o, flush(o, 200, KEY, 0x1000, 8, GLOBAL, 2), 0x61);
	o = open_flush();
	o->qp.config.max_dest_rd_atomic = 0;
	expect_refusal(o, flush(o, 200, KEY, 0x1000, 8, GLOBAL, RANGE), 0x61);
}

static void atomic_writes_that_are_none(void **state)
{
	struct one *o = open_flush();

	expect_refusal(o, store(o, 200, 0x1004, 8, 8, KEY), 0x61);
	o = open_flush();
	expect_refusal(o, store(o, 200, 0x1008, 4, 8, KEY), 0x61);
	o = open_flush();
	expect_refusal(o, store(o, 200, 0x1008, 8, 16, KEY), 0x61);
	o = open_flush();
	o->qp.config.access = TRANSPORT_REMOTE_ATOMIC;
	expect_refusal(o, store(o, 200, 0x1008, 8, 8, KEY), 0x61);
	o = open_flush();
	expect_refusal(o, store(o, 200, 0x1008, 8, 8, 999), 0x62);
}

/* ---- the requester ---- */

static void requests_as_they_are_asked_for(void **state)
{
	struct one *o = open_rts(true);
	struct transport_wqe wqe = { .op = TRANSPORT_OP_FLUSH, .flags = TRANSPORT_WQE_SIGNALED | TRANSPORT_WQE_WHOLE, .length = 5000,
				     .remote_addr = 0x7000, .rkey = 55, .imm_or_inv = TRANSPORT_FLUSH_PERSISTENT };
	uint64_t value = 77;
	struct transport_run run;

	assert_true(sim_host_post_send(&o->host, &wqe, NULL, 0));
	wqe.op = TRANSPORT_OP_ATOMIC_WRITE;
	wqe.flags = TRANSPORT_WQE_INLINE;
	wqe.length = 8;
	assert_true(sim_host_post_send(&o->host, &wqe, &value, 8));
	post(o, 10, KEY);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_FLUSH);
	assert_int_equal(run.head.bth.psn, 100);
	assert_true(run.head.bth.ack_req);
	assert_int_equal(run.head.reth.va, 0x7000);
	assert_int_equal(run.head.reth.rkey, 55);
	assert_int_equal(run.head.reth.length, 5000);
	assert_int_equal(run.head.feth.placement, PERSISTENT);
	assert_int_equal(run.head.feth.selector, WHOLE);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_RC_ATOMIC_WRITE);
	/* However long what it flushes, a FLUSH takes one PSN. */
	assert_int_equal(run.head.bth.psn, 101);
	assert_int_equal(run.head.reth.length, 8);
	assert_memory_equal(run.head.payload, &value, 8);
	assert_int_equal(pull(o), 102);
	/* An ACK behind them shows that their answers were lost; it does not stand for them. */
	answer(o, 102, 0x1f);
	assert_int_equal(done(o), -1);
	assert_int_equal(pull(o), 100);
	for (uint32_t psn = 100; psn < 102; psn++) {
		run = packet_of(WIRE_RC_RDMA_READ_RESPONSE_ONLY, psn, 0);
		run.head.aeth.syndrome = 0x1f;
		assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
		assert_int_equal(done(o), TRANSPORT_SUCCESS);
	}
	close_qp(o);
}

static void they_count_as_reads(void **state)
{
	struct one *o = open_rts(true);

	for (int i = 0; i < 3; i++)
		post_op(o, i == 1 ? TRANSPORT_OP_ATOMIC_WRITE : TRANSPORT_OP_FLUSH, 0, 8, KEY, TRANSPORT_FLUSH_GLOBAL);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), 101);
	assert_int_equal(pull(o), -1); /* max_rd_atomic is 2 */
	close_qp(o);
}

static void answers_with_data_are_bad(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct one *o = open_rts(true);
		struct transport_run run = packet_of(i ? WIRE_RC_RDMA_READ_RESPONSE_ONLY : WIRE_RC_RDMA_READ_RESPONSE_FIRST, 100, i ? 8 : MTU);

		post_op(o, TRANSPORT_OP_FLUSH, 0, 8, KEY, TRANSPORT_FLUSH_GLOBAL);
		assert_int_equal(pull(o), 100);
		rc_receive(&o->qp, o->now, &run);
		assert_int_equal(done(o), TRANSPORT_BAD_RESP_ERR);
		close_qp(o);
	}
}

static void what_cannot_be_sent(void **state)
{
	struct one *o = open_rts(true);

	post_op(o, TRANSPORT_OP_ATOMIC_WRITE, 0, 16, KEY, 0);
	assert_int_equal(pull(o), -1);
	assert_int_equal(done(o), TRANSPORT_LOC_LEN_ERR);
	close_qp(o);
	o = open_rts(true);
	post_op(o, TRANSPORT_OP_ATOMIC_WRITE, 0, 8, 999, 0);
	assert_int_equal(pull(o), -1);
	assert_int_equal(done(o), TRANSPORT_LOC_PROT_ERR);
	close_qp(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flush_covers_what_came_before),
		cmocka_unit_test(answers_come_again_and_nothing_else),
		cmocka_unit_test(rights_of_qp_and_region),
		cmocka_unit_test(atomic_writes_that_are_none),
		cmocka_unit_test(requests_as_they_are_asked_for),
		cmocka_unit_test(they_count_as_reads),
		cmocka_unit_test(answers_with_data_are_bad),
		cmocka_unit_test(what_cannot_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
