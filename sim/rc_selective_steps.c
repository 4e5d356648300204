/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selective repeat, packet by packet: what a SACK does, what it cannot do, and when one is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/rc_one.h"

static struct rc_selective *memory;

static struct one *open_selective(void)
{
	struct one *o = open_qp(false);

	memory = test_calloc(1, rc_selective_bytes(MTU));
	o->config.selective = memory;
	rc_to_rts(&o->qp, &o->config);
	return o;
}

static void close_selective(struct one *o)
{
	close_qp(o);
	test_free(memory);
}

static enum rc_verdict sack(struct one *o, uint32_t psn, uint32_t bits, uint32_t bytes)
{
	struct transport_run run = packet_of(WIRE_SACK, psn, bytes);

	memset(buf, 0, WIRE_SACK_BYTES);
	for (uint32_t i = 0; i < 32; i++)
		if (bits >> i & 1)
			wire_sack_set(buf, i);
	return rc_receive(&o->qp, o->now, &run);
}

static void only_what_is_missing_goes_again(void **state)
{
	struct one *o = open_selective();

	post(o, 8 * MTU, KEY);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pull(o), 100 + i);
	assert_int_equal(pull(o), -1);
	/* 102 and 104 did not arrive, 103 and 105 did; of 106 and 107 nothing is known. */
	assert_int_equal(sack(o, 102, 0x5, WIRE_SACK_BYTES), RC_TOOK);
	assert_true(rc_wants_room(&o->qp, o->now));
	assert_int_equal(pull(o), 102);
	assert_int_equal(pull(o), 104);
	assert_int_equal(pull(o), -1);
	/* Once per round trip. */
	assert_int_equal(sack(o, 102, 0x5, WIRE_SACK_BYTES), RC_TOOK);
	assert_int_equal(pull(o), -1);
	o->now += 2 * RC_REWIND_GUARD_NS;
	assert_int_equal(sack(o, 104, 0x1, WIRE_SACK_BYTES), RC_TOOK);
	assert_int_equal(pull(o), 104);
	assert_int_equal(pull(o), -1);
	/* And by the clock, when nothing comes. */
	assert_true(rc_deadline(&o->qp) <= o->now + 4 * RC_REWIND_GUARD_NS);
	o->now = rc_deadline(&o->qp);
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(pull(o), 104);
	assert_int_equal(pull(o), -1);
	/* A bit completes nothing. */
	assert_int_equal(done(o), -1);
	assert_int_equal(answer(o, 107, 0x1f), RC_TOOK);
	assert_int_equal(done(o), TRANSPORT_SUCCESS);
	assert_int_equal(transport_qp_stats(&o->qp)->selective_retransmits, 4);
	close_selective(o);
}

static void hostile_sacks_do_nothing(void **state)
{
	struct one *o = open_rts(false);

	post(o, 4 * MTU, KEY);
	while (pull(o) != -1)
		;
	assert_int_equal(sack(o, 101, 1, WIRE_SACK_BYTES), RC_DROPPED_OPCODE); /* not granted */
	close_qp(o);
	o = open_selective();
	assert_int_equal(sack(o, 100, 1, WIRE_SACK_BYTES), RC_DROPPED_PSN); /* nothing is out */
	post(o, 4 * MTU, KEY);
	while (pull(o) != -1)
		;
	assert_int_equal(sack(o, 101, 1, WIRE_SACK_BYTES - 1), RC_DROPPED_OPCODE);
	assert_int_equal(sack(o, 105, 1, WIRE_SACK_BYTES), RC_DROPPED_PSN);
	assert_int_equal(sack(o, 99, 1, WIRE_SACK_BYTES), RC_DROPPED_PSN);
	/* All that was never sent arrived, it says: what was sent before goes again, and no more. */
	assert_int_equal(sack(o, 100, 0x80000000, WIRE_SACK_BYTES), RC_TOOK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pull(o), 100 + i);
	assert_int_equal(pull(o), -1);
	close_selective(o);
}

static void early_packets_are_kept_and_told(void **state)
{
	struct one *o = open_selective();
	struct transport_run run;
	uint32_t psn;

	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 202, 4, true), RC_OUT_OF_ORDER);
	assert_true(pull_run(o, &run));
	assert_int_equal(run.head.bth.opcode, WIRE_SACK);
	assert_int_equal(run.head.bth.psn, 200);
	assert_int_equal(run.head.payload_len, WIRE_SACK_BYTES);
	assert_int_equal(run.head.payload[0], 2); /* 202 */
	/* Too far ahead to be kept. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200 + RC_SELECTIVE_WINDOW, 4, true), RC_OUT_OF_ORDER);
	assert_int_equal(memory->held_count, 1);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, false), RC_TOOK);
	assert_int_equal(rc_rq_psn(&o->qp), 201);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 201, 4, false), RC_TOOK);
	assert_int_equal(rc_rq_psn(&o->qp), 203);
	assert_int_equal(memory->held_count, 0);
	assert_int_equal(pull_answer(o, &psn), 0x1f);
	assert_int_equal(psn, 202);
	close_selective(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_missing_goes_again),
		cmocka_unit_test(hostile_sacks_do_nothing),
		cmocka_unit_test(early_packets_are_kept_and_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
