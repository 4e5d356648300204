/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The small print of RC, one step function at a time: what a world with a clock and a network brings about too seldom to be
 * seen, or repairs so well that nobody notices.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "sim/rc_one.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/timer.h"

static void comm_est_once_and_in_rtr_only(void **state)
{
	struct one *o = open_qp(false);

	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, false), RC_TOOK);
	assert_int_equal(transport_qp_events_take(&o->qp), TRANSPORT_EVENT_COMM_EST);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 201, 4, false), RC_TOOK);
	assert_int_equal(transport_qp_events_take(&o->qp), 0);
	close_qp(o);
	o = open_rts(false);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, false), RC_TOOK);
	assert_int_equal(transport_qp_events_take(&o->qp), 0);
	close_qp(o);
}

static void every_gap_is_reported_once(void **state)
{
	struct one *o = open_rts(false);
	uint32_t psn = 0;

	for (uint32_t p = 200; p < 210; p += 3) {
		assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, p + 1, 4, true), RC_OUT_OF_ORDER);
		assert_int_equal(pull_answer(o, &psn), 0x60);
		assert_int_equal(psn, p);
		assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, p + 2, 4, true), RC_OUT_OF_ORDER);
		assert_int_equal(pull_answer(o, &psn), -1);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, p + i, 4, i == 2), RC_TOOK);
		assert_int_equal(pull_answer(o, &psn), 0x1f);
		assert_int_equal(psn, p + 2);
	}
	close_qp(o);
}

static void owed_answers_replace_each_other(void **state)
{
	struct one *o = open_rts(false);
	uint32_t psn = 0;

	/* ACK, then a gap: the report says both. A duplicate does not take it back. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, true), RC_TOOK);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 202, 4, true), RC_OUT_OF_ORDER);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 200, 4, true), RC_DUPLICATE);
	/* Progress before it left: it speaks of the new expected PSN. */
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 201, 4, true), RC_TOOK);
	assert_int_equal(pull_answer(o, &psn), 0x60);
	assert_int_equal(psn, 202);
	assert_int_equal(pull_answer(o, &psn), -1);
	/* An RNR NAK that has not left dies when its packet is taken. */
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 202, 4, true), RC_RNR);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 203, 4, true), RC_OUT_OF_ORDER);
	sim_host_post_recv(&o->host, 0, &(struct transport_sge){ .addr = 0x1000, .length = 16, .lkey = KEY }, 1);
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 202, 4, false), RC_TOOK);
	assert_int_equal(pull_answer(o, &psn), 0x1f);
	assert_int_equal(psn, 202);
	/* What is behind an RNR NAK is no gap. */
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 203, 4, true), RC_RNR);
	assert_int_equal(pull_answer(o, &psn), 0x2c);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 204, 4, true), RC_OUT_OF_ORDER);
	assert_int_equal(pull_answer(o, &psn), -1);
	close_qp(o);
}

static void fatal_nak_outlives_the_state(void **state)
{
	struct one *o = open_rts(false);
	uint32_t psn = 0;

	assert_int_equal(request(o, WIRE_RC_SEND_MIDDLE, 200, MTU, true), RC_NAKED);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_ERROR);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, 199, 4, true), RC_DROPPED_STATE);
	assert_true(rc_wants_room(&o->qp, o->now));
	assert_int_equal(pull_answer(o, &psn), 0x61);
	assert_int_equal(psn, 200);
	assert_false(rc_wants_room(&o->qp, o->now));
	transport_qp_reset(&o->qp);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_RESET);
	close_qp(o);
}

static void completions_left_lying_become_rnr(void **state)
{
	struct one *o = open_rts(true);
	struct transport_completion c;
	struct transport_sge sge = { .addr = 0x1000, .length = 16, .lkey = KEY };

	for (int i = 0; i < INTAKE_COMPLETIONS + 2; i++)
		sim_host_post_recv(&o->host, (uint64_t)i, &sge, 1);
	for (uint32_t i = 0; i < INTAKE_COMPLETIONS; i++)
		assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 200 + i, 4, false), RC_TOOK);
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 200 + INTAKE_COMPLETIONS, 4, false), RC_RNR);
	for (uint64_t i = 0; i < INTAKE_COMPLETIONS; i++) {
		assert_int_equal(transport_qp_recv_done(&o->qp, &c), 1);
		assert_int_equal(c.wr_id, i);
	}
	assert_int_equal(transport_qp_recv_done(&o->qp, &c), 0);
	assert_int_equal(request(o, WIRE_RC_SEND_ONLY, 200 + INTAKE_COMPLETIONS, 4, false), RC_TOOK);
	close_qp(o);
}

static void foreign_partitions_and_states_are_dropped(void **state)
{
	struct one *o = open_qp(false);
	struct transport_run run = { .packets = 1, .last_opcode = WIRE_RC_RDMA_WRITE_ONLY };

	run.head.bth.opcode = WIRE_RC_RDMA_WRITE_ONLY;
	run.head.bth.psn = 200;
	run.head.op = wire_opcode_find(WIRE_RC_RDMA_WRITE_ONLY);
	run.head.payload = buf;
	run.head.bth.pkey = 0x7ffe;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_DROPPED_PKEY);
	run.head.bth.pkey = 0;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_DROPPED_PKEY);
	run.head.bth.pkey = 0x7fff;
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_TOOK);
	assert_int_equal(answer(o, 100, 0x1f), RC_DROPPED_STATE);
	run.head.bth.opcode = run.last_opcode = WIRE_UC_RDMA_WRITE_ONLY;
	run.head.op = wire_opcode_find(WIRE_UC_RDMA_WRITE_ONLY);
	assert_int_equal(rc_receive(&o->qp, o->now, &run), RC_DROPPED_OPCODE);
	rc_to_rts(&o->qp, &o->config);
	assert_int_equal(answer(o, 100, 0x1f), RC_DROPPED_PSN);
	close_qp(o);
}

static void late_ack_overtakes_a_retry(void **state)
{
	struct one *o = open_rts(true);

	post(o, MTU, KEY);
	post(o, 2 * MTU, KEY);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pull(o), 100 + i);
	o->now += 4 * wire_timer_ack_ns(14);
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(transport_qp_stats(&o->qp)->timeouts, 1);
	assert_int_equal(answer(o, 101, 0x1f), RC_TOOK);
	assert_int_equal(done(o), 0);
	assert_int_equal(done(o), -1);
	assert_int_equal(pull(o), 102);
	assert_int_equal(answer(o, 102, 0x1f), RC_TOOK);
	assert_int_equal(done(o), 0);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 103);
	assert_int_equal(pull(o), -1);
	close_qp(o);
}

static void doubled_rnr_nak_costs_one_retry(void **state)
{
	struct one *o = open_rts(true);

	o->config.rnr_retry = 2;
	rc_update(&o->qp, &o->config);
	o->qp.req.rnr_left = 2;
	post(o, 4, KEY);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pull(o), 100);
		for (int k = 0; k < 5; k++)
			assert_int_equal(answer(o, 100, 0x2c), RC_TOOK);
		assert_int_equal(pull(o), -1); /* pausing */
		assert_int_equal(answer(o, 100, 0x60), RC_TOOK);
		assert_int_equal(pull(o), -1);
		assert_int_equal(rc_deadline(&o->qp), o->now + wire_timer_rnr_ns(12));
		o->now += wire_timer_rnr_ns(12);
		rc_tick(&o->qp, o->now, 0);
	}
	assert_int_equal(pull(o), 100);
	assert_int_equal(answer(o, 100, 0x2c), RC_TOOK);
	assert_int_equal(done(o), TRANSPORT_RNR_RETRY_EXC_ERR);
	close_qp(o);
}

static void echo_of_a_gap_report_costs_nothing(void **state)
{
	struct one *o = open_rts(false);

	post(o, 3 * MTU, KEY);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pull(o), 100 + i);
	assert_int_equal(answer(o, 100, 0x60), RC_TOOK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pull(o), 100 + i);
	for (int i = 0; i < 10; i++)
		assert_int_equal(answer(o, 100, 0x60), RC_TOOK);
	assert_int_equal(pull(o), -1); /* not again */
	assert_int_equal(transport_qp_stats(&o->qp)->window_shrinks, 1);
	/* Later it is a report of its own, and every one costs. */
	for (int i = 0; i < 7; i++) {
		assert_int_equal(done(o), -1);
		o->now += RC_REWIND_GUARD_NS;
		assert_int_equal(answer(o, 100, 0x60), RC_TOOK);
		if (i < 6)
			assert_int_equal(pull(o), 100);
	}
	assert_int_equal(done(o), TRANSPORT_RETRY_EXC_ERR);
	close_qp(o);
}

static void message_acknowledged_after_all_is_no_local_error(void **state)
{
	struct one *o = open_rts(true);

	post(o, 4, KEY);
	post(o, 4, KEY_GOING);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), 101);
	o->host.regions[1].revoked = true;
	o->now += 4 * wire_timer_ack_ns(14);
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(pull(o), 100);
	assert_int_equal(pull(o), -1); /* cannot be made again */
	assert_int_equal(answer(o, 101, 0x1f), RC_TOOK);
	assert_int_equal(done(o), 0);
	assert_int_equal(done(o), 0);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 102);
	/* The index comes round: an old stop must not meet it. */
	for (uint32_t i = 0; i < 200; i++) {
		answer(o, 102 + i, 0x1f);
		assert_int_equal(done(o), 0);
		post(o, 4, KEY);
		assert_int_equal(pull(o), 103 + i);
	}
	close_qp(o);
}

static void lossless_links_have_no_window(void **state)
{
	struct one *o = open_rts(true);

	post(o, 1000 * MTU, KEY);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pull(o), 100 + i);
	assert_int_equal(rc_deadline(&o->qp), o->now + 4 * wire_timer_ack_ns(14)); /* and no probe */
	close_qp(o);
	o = open_rts(false);
	post(o, 1000 * MTU, KEY);
	for (int i = 0; i < 64; i++)
		assert_int_equal(pull(o), 100 + i);
	assert_int_equal(pull(o), -1);
	assert_false(rc_wants_room(&o->qp, o->now));
	assert_int_equal(rc_deadline(&o->qp), o->now + RC_PROBE_MIN_NS);
	close_qp(o);
}

static void ack_timeout_is_four_t_and_excusable(void **state)
{
	struct one *o = open_rts(true);
	uint64_t t4 = 4 * wire_timer_ack_ns(14);

	o->config.retry_cnt = 0;
	rc_update(&o->qp, &o->config);
	post(o, 4, KEY);
	assert_int_equal(rc_deadline(&o->qp), BASE_NEVER);
	assert_int_equal(pull(o), 100);
	o->now += t4 - 1;
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(done(o), -1);
	o->now += 1000;
	rc_tick(&o->qp, o->now, 5000);
	assert_int_equal(done(o), -1);
	assert_int_equal(rc_deadline(&o->qp), T + t4 + 5000);
	rc_tick(&o->qp, o->now, UINT64_MAX); /* never into the future */
	assert_int_equal(rc_deadline(&o->qp), o->now + t4);
	o->now += t4;
	rc_tick(&o->qp, o->now, 0);
	assert_int_equal(done(o), TRANSPORT_RETRY_EXC_ERR);
	close_qp(o);
}

static void error_flushes_what_is_posted_later(void **state)
{
	struct one *o = open_rts(true);

	post(o, 4, KEY);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 100);
	rc_to_error(&o->qp);
	rc_to_error(&o->qp);
	assert_int_equal(transport_qp_events_take(&o->qp), TRANSPORT_EVENT_ENTERED_ERROR);
	assert_int_equal(done(o), TRANSPORT_WR_FLUSH_ERR);
	assert_int_equal(done(o), TRANSPORT_WR_FLUSH_ERR);
	assert_int_equal(done(o), -1);
	post(o, 4, KEY);
	assert_int_equal(done(o), TRANSPORT_WR_FLUSH_ERR);
	assert_int_equal(done(o), -1);
	assert_int_equal(pull(o), -1);
	close_qp(o);
}

static void reset_forgets_and_starts_anew(void **state)
{
	struct one *o = open_rts(true);

	post(o, 4, KEY);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 100);
	rc_to_error(&o->qp);
	transport_qp_reset(&o->qp);
	assert_int_equal(done(o), -1);
	assert_int_equal(transport_qp_events_take(&o->qp), 0);
	transport_qp_to_init(&o->qp);
	rc_to_rtr(&o->qp, &o->config);
	rc_to_rts(&o->qp, &o->config);
	assert_int_equal(pull(o), -1);
	post(o, 4, KEY);
	assert_int_equal(pull(o), 100);
	assert_int_equal(answer(o, 100, 0x1f), RC_TOOK);
	assert_int_equal(done(o), 0);
	close_qp(o);
}

static void peer_gone_spares_an_idle_qp(void **state)
{
	struct one *o = open_rts(true);

	rc_peer_gone(&o->qp, o->now);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_RTS);
	assert_int_equal(done(o), -1);
	post(o, 4, KEY);
	assert_true(rc_wants_room(&o->qp, o->now));
	assert_int_equal(done(o), TRANSPORT_RETRY_EXC_ERR);
	assert_int_equal(transport_qp_state(&o->qp), TRANSPORT_ERROR);
	close_qp(o);
}

static void oversized_message_is_a_local_error(void **state)
{
	struct one *o = open_rts(true);
	struct transport_sge sge[2] = { { .addr = 0x1000, .length = 1u << 31, .lkey = KEY }, { .addr = 0x1000, .length = 1, .lkey = KEY } };
	struct transport_wqe wqe = { .op = TRANSPORT_OP_SEND, .length = (1u << 31) + 1, .num_sge = 2 };

	assert_true(sim_host_post_send(&o->host, &wqe, sge, sizeof(sge)));
	assert_int_equal(pull(o), -1);
	assert_int_equal(done(o), TRANSPORT_LOC_LEN_ERR);
	close_qp(o);
}

static void longest_message_keeps_its_psns_apart(void **state)
{
	struct one *o = open_rts(true);
	struct transport_sge sge = { .addr = 0x1000, .length = 1u << 31, .lkey = KEY };
	struct transport_wqe wqe = { .op = TRANSPORT_OP_SEND, .length = 1u << 31, .num_sge = 1 };
	uint32_t una = 100;
	int64_t psn;

	o->host.regions[0].length = 1ull << 32; /* only looked up: the gather below is of the first bytes again and again */
	assert_true(sim_host_post_send(&o->host, &wqe, &sge, sizeof(sge)));
	for (uint32_t i = 0; i < 1 << 10; i++) {
		psn = pull(o);
		assert_int_equal(psn, (100 + i) & 0xffffff);
		if (i % 64 == 63) {
			assert_int_equal(answer(o, (uint32_t)psn, 0x1f), RC_TOOK);
			una = wire_psn_add((uint32_t)psn, 1);
		}
	}
	assert_int_equal(o->qp.req.una, una);
	assert_int_equal(transport_sq_wqe(&o->host.sq, 0)->last_psn, (100 + (1 << 23) - 1) & 0xffffff);
	assert_int_equal(done(o), -1);
	close_qp(o);
}

/* A SEND that finds a receive. */
static enum rc_verdict message(struct one *o, uint32_t *psn)
{
	struct transport_completion c;

	sim_host_post_recv(&o->host, 0, &(struct transport_sge){ .addr = 0x1000, .length = 16, .lkey = KEY }, 1);
	enum rc_verdict verdict = request(o, WIRE_RC_SEND_ONLY, (*psn)++, 4, true);
	while (transport_qp_recv_done(&o->qp, &c) != 0)
		;
	return verdict;
}

/* One turn of a ping-pong: a message at *psn, our answer `think` later. How many ACKs left before the answer, and with it. */
struct turn {
	int before, with;
};

static struct turn play(struct one *o, uint32_t *psn, uint64_t think)
{
	struct transport_run run;
	struct turn turn = { 0, 0 };
	bool answered = false;

	/* The peer took our last answer. */
	if (o->qp.req.una != o->qp.req.next_psn)
		assert_int_equal(answer(o, wire_psn_add(o->qp.req.next_psn, RC_PSN_MASK), 0x1f), RC_TOOK);
	assert_int_equal(message(o, psn), RC_TOOK);
	while (pull_run(o, &run))
		turn.before++;
	o->now += think;
	if (o->now >= rc_deadline(&o->qp))
		rc_tick(&o->qp, o->now, 0);
	while (pull_run(o, &run))
		turn.before++;
	post(o, 4, KEY);
	while (pull_run(o, &run)) {
		/* Our packet first: it is placed when the ACK is seen. */
		assert_int_equal(answered, run.head.bth.opcode == WIRE_RC_ACKNOWLEDGE);
		turn.with += answered;
		answered = true;
	}
	assert_true(answered);
	while (done(o) != -1)
		;
	return turn;
}

static void ack_waits_for_an_application_that_answers(void **state)
{
	struct one *o = open_rts(false);
	uint32_t psn = 200, acked;
	struct turn turn;

	for (int i = 0; i < RC_ACK_ANSWERS; i++) {
		turn = play(o, &psn, 1000);
		assert_int_equal(turn.before, 1);
	}
	for (int i = 0; i < 4; i++) {
		turn = play(o, &psn, 1000);
		assert_int_equal(turn.before, 0);
		assert_int_equal(turn.with, 1);
	}
	/* Nobody waits for longer than the hold, and a hold in vain makes it cautious: twice as many answers. */
	turn = play(o, &psn, RC_ACK_HOLD_NS);
	assert_int_equal(turn.before, 1);
	assert_int_equal(turn.with, 0);
	for (int i = 1; i < 2 * RC_ACK_ANSWERS; i++) { /* its answer was the first */
		turn = play(o, &psn, 1000);
		assert_int_equal(turn.before, 1);
	}
	turn = play(o, &psn, 1000);
	assert_int_equal(turn.before, 0);
	/* With packets of ours under way nothing is held: the peer may wait for the ACK before it takes them. */
	assert_int_equal(message(o, &psn), RC_TOOK);
	assert_int_equal(pull_answer(o, &acked), 0x1f);
	assert_int_equal(acked, psn - 1);
	/* A plain WRITE is acknowledged at once: who waits for it does not poll a CQ. */
	assert_int_equal(answer(o, wire_psn_add(o->qp.req.next_psn, RC_PSN_MASK), 0x1f), RC_TOOK);
	assert_int_equal(request(o, WIRE_RC_RDMA_WRITE_ONLY, psn++, 4, true), RC_TOOK);
	assert_int_equal(pull_answer(o, &acked), 0x1f);
	/* What is owed leaves at once when the QP is about to go, and when it went to error. */
	play(o, &psn, 1000);
	assert_int_equal(answer(o, wire_psn_add(o->qp.req.next_psn, RC_PSN_MASK), 0x1f), RC_TOOK);
	assert_int_equal(message(o, &psn), RC_TOOK);
	assert_false(rc_wants_room(&o->qp, o->now));
	assert_true(rc_wants_room(&o->qp, o->now + RC_ACK_HOLD_NS));
	rc_hurry(&o->qp);
	assert_true(rc_wants_room(&o->qp, o->now));
	assert_int_equal(pull_answer(o, &acked), 0x1f);
	close_qp(o);
}

static void ack_does_not_wait_for_one_that_does_not(void **state)
{
	struct one *o = open_rts(false);
	uint32_t psn = 200, acked;

	/* Answers that come late, or once in a while, teach nothing. */
	for (int i = 0; i < 2 * RC_ACK_ANSWERS; i++)
		assert_int_equal(play(o, &psn, RC_ACK_HOLD_NS).before, 1);
	for (int i = 0; i < RC_ACK_ANSWERS + 4; i++) {
		assert_int_equal(play(o, &psn, 1000).before, 1);
		assert_int_equal(answer(o, wire_psn_add(o->qp.req.next_psn, RC_PSN_MASK), 0x1f), RC_TOOK);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(message(o, &psn), RC_TOOK);
			assert_int_equal(pull_answer(o, &acked), 0x1f);
		}
	}
	close_qp(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comm_est_once_and_in_rtr_only),
		cmocka_unit_test(every_gap_is_reported_once),
		cmocka_unit_test(owed_answers_replace_each_other),
		cmocka_unit_test(fatal_nak_outlives_the_state),
		cmocka_unit_test(completions_left_lying_become_rnr),
		cmocka_unit_test(foreign_partitions_and_states_are_dropped),
		cmocka_unit_test(late_ack_overtakes_a_retry),
		cmocka_unit_test(doubled_rnr_nak_costs_one_retry),
		cmocka_unit_test(echo_of_a_gap_report_costs_nothing),
		cmocka_unit_test(message_acknowledged_after_all_is_no_local_error),
		cmocka_unit_test(lossless_links_have_no_window),
		cmocka_unit_test(ack_timeout_is_four_t_and_excusable),
		cmocka_unit_test(error_flushes_what_is_posted_later),
		cmocka_unit_test(reset_forgets_and_starts_anew),
		cmocka_unit_test(peer_gone_spares_an_idle_qp),
		cmocka_unit_test(oversized_message_is_a_local_error),
		cmocka_unit_test(longest_message_keeps_its_psns_apart),
		cmocka_unit_test(ack_waits_for_an_application_that_answers),
		cmocka_unit_test(ack_does_not_wait_for_one_that_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
