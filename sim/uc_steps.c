/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The small print of UC and UD, one step function at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "sim/host.h"
#include "transport/uc.h"
#include "transport/ud.h"
#include "wire/opcode.h"

enum { MTU = 256, KEY = 1, KEY_GOING = 2, NOW = 1000000, QKEY = 0x777, CONTROLLED = 0x80000000 };

static uint8_t buf[64 * 1024], grh[UD_GRH_BYTES];

struct one {
	struct transport_qp uc;
	struct transport_qp ud;
	struct sim_host host;
	struct transport_config uc_config;
	struct transport_config ud_config;
};

static struct one *open_host(void)
{
	static struct one o;

	memset(&o, 0, sizeof(o));
	sim_host_init(&o.host, 16, 64);
	sim_host_region(&o.host, 0x1000, 1 << 16, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE, KEY);
	sim_host_region(&o.host, 0x1000, 1 << 16, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE, KEY_GOING)->invalidatable = true;
	return &o;
}

static struct one *open_uc(bool srq, bool rts)
{
	struct one *o = open_host();

	o->uc_config = (struct transport_config){ .qpn = 1, .dest_qpn = 2, .mtu = MTU, .sq_psn = 0xfffffe, .rq_psn = 200,
					   .access = TRANSPORT_REMOTE_WRITE, .pkey = 0xffff, .srq = srq };
	transport_qp_init(&o->uc, &uc_ops, (struct transport_memory){ &sim_host_memory_ops, &o->host }, &o->host.sq,
			  &sim_host_recv_ops, &o->host);
	transport_qp_to_init(&o->uc);
	uc_to_rtr(&o->uc, &o->uc_config);
	if (rts)
		uc_to_rts(&o->uc, &o->uc_config);
	return o;
}

static struct one *open_ud(uint32_t qpn, bool srq)
{
	struct one *o = open_host();

	o->ud_config = (struct transport_config){ .qpn = qpn, .mtu = 1024, .sq_psn = 5, .qkey = QKEY, .pkey = 0xffff, .srq = srq };
	transport_qp_init(&o->ud, &ud_ops, (struct transport_memory){ &sim_host_memory_ops, &o->host }, &o->host.sq,
			  &sim_host_recv_ops, &o->host);
	transport_qp_to_init(&o->ud);
	ud_to_rtr(&o->ud, &o->ud_config);
	ud_to_rts(&o->ud, &o->ud_config);
	return o;
}

static void close_qp(struct one *o)
{
	sim_host_fini(&o->host);
}

static void post(struct one *o, uint8_t op, uint32_t length, uint32_t key, uint32_t imm_or_inv)
{
	uint32_t n = atomic_load(&o->host.sq.posted);
	struct transport_sge sge = { .addr = 0x1000, .length = length, .lkey = key };
	struct transport_wqe wqe = { .wr_id = n, .op = op, .length = length, .num_sge = 1, .rkey = KEY, .remote_addr = 0x1000,
				     .imm_or_inv = imm_or_inv, .remote_qpn = 9, .remote_qkey = QKEY, .ah = 40 + n };

	assert_true(sim_host_post_send(&o->host, &wqe, &sge, sizeof(sge)));
}

static void post_recv(struct one *o, uint32_t length, uint32_t key)
{
	struct transport_sge sge = { .addr = 0x1000, .length = length, .lkey = key };

	sim_host_post_recv(&o->host, o->host.recvs_posted, &sge, 1);
}

static struct transport_run packet(uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct transport_run run = { .packets = 1, .last_opcode = opcode, .mtu = MTU };

	run.head.bth.opcode = opcode;
	run.head.bth.psn = psn;
	run.head.bth.pkey = 0xffff;
	run.head.reth = (struct wire_reth){ .va = 0x1000, .rkey = KEY, .length = len };
	run.head.deth = (struct wire_deth){ .qkey = QKEY, .src_qpn = 0x123 };
	run.head.op = wire_opcode_find(opcode);
	run.head.payload = buf;
	run.head.payload_len = len;
	run.head.imm = 0xabcd;
	return run;
}

/* ---- UC ---- */

static enum uc_verdict give(struct one *o, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct transport_run run = packet(opcode, psn, len);

	return uc_receive(&o->uc, NOW, &run, false);
}

static bool pull_some(struct one *o, struct transport_run *run, uint16_t packets)
{
	struct transport_room room = { .buf = buf, .bytes = sizeof(buf), .packets = packets };
	size_t used;

	return uc_next(&o->uc, NOW, &room, run, &used);
}

static int sent(struct one *o)
{
	struct transport_completion c;

	return transport_qp_send_done(&o->uc, &c) ? (int)c.status : -1;
}

/* wr_id * 100 + status, -1 when there is none. */
static int received(struct one *o)
{
	struct transport_completion c;

	return transport_qp_recv_done(&o->uc, &c) ? (int)(c.wr_id * 100 + c.status) : -1;
}

static void uc_send_is_done_when_it_has_left(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post(o, TRANSPORT_OP_SEND_WITH_IMM, 3 * MTU, KEY, 7);
	assert_true(pull_some(o, &run, 2));
	assert_int_equal(run.head.bth.opcode, WIRE_UC_SEND_FIRST);
	assert_int_equal(run.last_opcode, WIRE_UC_SEND_MIDDLE);
	assert_int_equal(run.head.bth.psn, 0xfffffe);
	assert_int_equal(sent(o), -1);
	assert_true(pull_some(o, &run, 2));
	assert_int_equal(run.head.bth.opcode, WIRE_UC_SEND_LAST_WITH_IMM);
	assert_int_equal(run.head.bth.psn, 0);
	assert_int_equal(run.head.imm, 7);
	assert_false(run.head.bth.ack_req);
	assert_int_equal(sent(o), 0);
	assert_int_equal(uc_sq_psn(&o->uc), 1);
	assert_false(uc_wants_room(&o->uc, NOW));
	assert_int_equal(transport_qp_deadline(&o->uc), BASE_NEVER);
	close_qp(o);
}

static void uc_send_error_spares_the_receiver(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post_recv(o, 64, KEY);
	post(o, TRANSPORT_OP_SEND_WITH_INV, 4, KEY, 1); /* UC has no such packet */
	post(o, TRANSPORT_OP_SEND, 4, KEY, 0);
	assert_false(pull_some(o, &run, 1));
	assert_int_equal(transport_qp_state(&o->uc), TRANSPORT_SQE);
	assert_int_equal(transport_qp_events_take(&o->uc), TRANSPORT_EVENT_ENTERED_SQE);
	assert_int_equal(sent(o), TRANSPORT_LOC_QP_OP_ERR);
	assert_int_equal(sent(o), TRANSPORT_WR_FLUSH_ERR);
	post(o, TRANSPORT_OP_SEND, 4, KEY, 0);
	assert_int_equal(sent(o), TRANSPORT_WR_FLUSH_ERR);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 200, 4), UC_TOOK);
	assert_int_equal(received(o), 0);
	uc_to_rts(&o->uc, &o->uc_config);
	assert_int_equal(uc_sq_psn(&o->uc), 0xfffffe); /* goes on, does not start again */
	post(o, TRANSPORT_OP_SEND, 4, KEY, 0);
	assert_true(pull_some(o, &run, 1));
	assert_int_equal(sent(o), 0);
	close_qp(o);
}

static void uc_memory_that_goes_half_way(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post(o, TRANSPORT_OP_SEND, 3 * MTU, KEY_GOING, 0);
	assert_true(pull_some(o, &run, 1));
	uc_to_sqd(&o->uc);
	assert_true(uc_is_draining(&o->uc));
	o->host.regions[1].revoked = true;
	assert_false(pull_some(o, &run, 1));
	/* SQD has no way to SQE. */
	assert_int_equal(transport_qp_state(&o->uc), TRANSPORT_ERROR);
	assert_int_equal(sent(o), TRANSPORT_LOC_PROT_ERR);
	close_qp(o);
}

static void uc_drains_at_a_message_end(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post(o, TRANSPORT_OP_SEND, 2 * MTU, KEY, 0);
	post(o, TRANSPORT_OP_SEND, 2, KEY, 0);
	assert_true(pull_some(o, &run, 1));
	uc_to_sqd(&o->uc);
	assert_int_equal(transport_qp_events_take(&o->uc), 0);
	assert_true(pull_some(o, &run, 1));
	assert_int_equal(transport_qp_events_take(&o->uc), TRANSPORT_EVENT_SQ_DRAINED);
	assert_false(pull_some(o, &run, 1));
	uc_to_rts(&o->uc, &o->uc_config);
	assert_true(pull_some(o, &run, 1));
	assert_int_equal(run.head.bth.psn, 0);
	close_qp(o);
}

static void uc_local_invalidate(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post(o, TRANSPORT_OP_LOCAL_INV, 0, 0, KEY_GOING);
	post(o, TRANSPORT_OP_SEND, 4, KEY_GOING, 0);
	assert_false(pull_some(o, &run, 1));
	assert_true(o->host.regions[1].revoked);
	assert_int_equal(sent(o), 0);
	assert_int_equal(sent(o), TRANSPORT_LOC_PROT_ERR);
	close_qp(o);
}

static void uc_gap_costs_the_message(void **state)
{
	struct one *o = open_uc(false, false);

	post_recv(o, 4 * MTU, KEY);
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 200, MTU), UC_TOOK);
	assert_int_equal(transport_qp_events_take(&o->uc), TRANSPORT_EVENT_COMM_EST);
	assert_int_equal(give(o, WIRE_UC_SEND_LAST, 202, MTU), UC_DROPPED_GAP);
	assert_int_equal(give(o, WIRE_UC_SEND_MIDDLE, 201, MTU), UC_DROPPED_OLD);
	assert_int_equal(give(o, WIRE_UC_SEND_LAST, 203, MTU), UC_DROPPED_GAP);
	assert_int_equal(received(o), -1);
	/* A WRITE in between does not take the receive that is left, with its immediate it does. */
	assert_int_equal(give(o, WIRE_UC_RDMA_WRITE_ONLY, 204, 4), UC_TOOK);
	assert_int_equal(received(o), -1);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 210, 4), UC_TOOK);
	assert_int_equal(received(o), 0);
	assert_int_equal(o->host.recvs_taken, 1);
	assert_int_equal(transport_qp_stats(&o->uc)->abandoned, 1);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 210, 4), UC_DROPPED_OLD);
	/* So far behind can only be ahead. */
	post_recv(o, 4, KEY);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, (210 - 100000) & 0xffffff, 4), UC_TOOK);
	assert_int_equal(received(o), 100);
	close_qp(o);
}

static void uc_message_begins_within_another(void **state)
{
	struct one *o = open_uc(false, true);

	post_recv(o, 4 * MTU, KEY);
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 200, MTU), UC_TOOK);
	assert_int_equal(give(o, WIRE_UC_RDMA_WRITE_LAST, 201, MTU), UC_DROPPED_GAP);
	assert_int_equal(give(o, WIRE_UC_SEND_LAST, 202, MTU), UC_DROPPED_GAP);
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 203, MTU), UC_TOOK);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 204, 4), UC_TOOK);
	assert_int_equal(received(o), 0);
	assert_int_equal(received(o), -1);
	assert_int_equal(transport_qp_stats(&o->uc)->abandoned, 2);
	close_qp(o);
}

static void uc_waits_for_a_receive_and_gives_up(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run = packet(WIRE_UC_RDMA_WRITE_ONLY_WITH_IMM, 200, 4);

	memset(buf, 0x33, 8);
	for (int i = 0; i < 3; i++)
		assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_NO_RECV);
	assert_int_equal(uc_rq_psn(&o->uc), 200);
	assert_int_equal(sim_host_bytes(&o->host, KEY, 0x1000, 1)[0], 0);
	assert_int_equal(uc_receive(&o->uc, NOW, &run, true), UC_DROPPED_NO_RECV);
	assert_int_equal(uc_rq_psn(&o->uc), 201);
	assert_int_equal(sim_host_bytes(&o->host, KEY, 0x1000, 1)[0], 0);
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 201, MTU), UC_NO_RECV);
	post_recv(o, 4 * MTU, KEY);
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 201, MTU), UC_TOOK);
	assert_int_equal(give(o, WIRE_UC_SEND_LAST, 202, 1), UC_TOOK);
	assert_int_equal(received(o), 0);
	close_qp(o);
}

static void uc_refuses_in_silence(void **state)
{
	struct one *o = open_uc(false, true);
	struct transport_run run;

	post_recv(o, MTU + 10, KEY);
	/* Too long for its receive. */
	assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 200, MTU), UC_TOOK);
	assert_int_equal(give(o, WIRE_UC_SEND_LAST, 201, 11), UC_DROPPED_LENGTH);
	/* Against its RETH: too long, too short, absurd. */
	for (uint32_t i = 0; i < 3; i++) {
		run = packet(WIRE_UC_RDMA_WRITE_ONLY, 202 + i, 4);
		run.head.reth.length = (uint32_t[]){ 3, 5, 0x80000001 }[i];
		assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_DROPPED_LENGTH);
	}
	run = packet(WIRE_UC_RDMA_WRITE_FIRST, 205, MTU);
	assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_DROPPED_LENGTH); /* nothing is left for LAST */
	/* Not whole. */
	run = packet(WIRE_UC_SEND_FIRST, 206, MTU - 1);
	assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_DROPPED_LENGTH);
	/* Keys, ranges, rights. */
	run = packet(WIRE_UC_RDMA_WRITE_ONLY, 207, 4);
	run.head.reth.rkey = 99;
	assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_DROPPED_ACCESS);
	run = packet(WIRE_UC_RDMA_WRITE_ONLY, 208, 0);
	run.head.reth.rkey = 99;
	assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_TOOK); /* of nothing */
	o->uc_config.access = 0;
	uc_update(&o->uc, &o->uc_config);
	assert_int_equal(give(o, WIRE_UC_RDMA_WRITE_ONLY, 209, 4), UC_DROPPED_ACCESS);
	/* Others. */
	run = packet(WIRE_UC_SEND_ONLY, 210, 4);
	run.head.bth.pkey = 0x7ffe;
	assert_int_equal(uc_receive(&o->uc, NOW, &run, false), UC_DROPPED_PKEY);
	assert_int_equal(give(o, WIRE_RC_SEND_ONLY, 210, 4), UC_DROPPED_OPCODE);
	assert_int_equal(received(o), -1);
	assert_int_equal(transport_qp_state(&o->uc), TRANSPORT_RTS);
	assert_int_equal(transport_qp_events_take(&o->uc), 0);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 210, 4), UC_TOOK);
	assert_int_equal(received(o), 0); /* the one of the beginning */
	uc_to_error(&o->uc);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 211, 4), UC_DROPPED_STATE);
	close_qp(o);
}

static void uc_own_bad_receive_is_an_error(void **state)
{
	struct one *o = open_uc(false, true);

	post_recv(o, 64, 99);
	assert_int_equal(give(o, WIRE_UC_SEND_ONLY, 200, 4), UC_FAILED);
	assert_int_equal(received(o), TRANSPORT_LOC_PROT_ERR);
	assert_int_equal(transport_qp_state(&o->uc), TRANSPORT_ERROR);
	assert_int_equal(transport_qp_events_take(&o->uc), TRANSPORT_EVENT_ENTERED_ERROR);
	close_qp(o);
}

static void uc_held_receive_when_the_qp_leaves(void **state)
{
	for (int i = 0; i < 4; i++) {
		bool srq = i & 1, under_way = i & 2;
		struct one *o = open_uc(srq, true);

		post_recv(o, 4 * MTU, KEY);
		assert_int_equal(give(o, WIRE_UC_SEND_FIRST, 200, MTU), UC_TOOK);
		if (!under_way)
			assert_int_equal(give(o, WIRE_UC_SEND_MIDDLE, 205, MTU), UC_DROPPED_GAP);
		uc_to_error(&o->uc);
		uc_to_error(&o->uc);
		assert_int_equal(received(o), srq && !under_way ? TRANSPORT_REM_INV_REQ_ERR : TRANSPORT_WR_FLUSH_ERR);
		assert_int_equal(received(o), -1);
		transport_qp_reset(&o->uc);
		assert_int_equal(transport_qp_state(&o->uc), TRANSPORT_RESET);
		close_qp(o);
	}
}

/* ---- UD ---- */

static enum ud_verdict deliver(struct one *o, const struct transport_run *run)
{
	return ud_receive(&o->ud, NOW, run, grh, false);
}

static int ud_received(struct one *o, struct transport_completion *c)
{
	memset(c, 0, sizeof(*c));
	return transport_qp_recv_done(&o->ud, c) ? (int)(c->wr_id * 100 + c->status) : -1;
}

static bool ud_pull(struct one *o, struct transport_run *run, size_t bytes)
{
	struct transport_room room = { .buf = buf, .bytes = bytes, .packets = 4, .framed = true };
	size_t used;

	return ud_next(&o->ud, NOW, &room, run, &used);
}

static int ud_sent(struct one *o)
{
	struct transport_completion c;

	return transport_qp_send_done(&o->ud, &c) ? (int)c.status : -1;
}

static void ud_goes_where_each_wqe_says(void **state)
{
	struct one *o = open_ud(3, false);
	struct transport_run run;
	struct wire_packet pkt;
	uint32_t ah = 0;

	post(o, TRANSPORT_OP_SEND, 5, KEY, 0);
	post(o, TRANSPORT_OP_SEND, 1025, KEY, 0); /* too long for the port */
	post(o, TRANSPORT_OP_SEND_WITH_IMM, 1024, KEY, 0x99);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 1);
	assert_int_equal(ah, 40);
	assert_false(ud_pull(o, &run, 20));
	assert_true(ud_pull(o, &run, 4096));
	assert_int_equal(wire_packet_decode(&pkt, buf, 20 + 8 + 4), 0);
	assert_int_equal(pkt.bth.opcode, WIRE_UD_SEND_ONLY);
	assert_int_equal(pkt.bth.dest_qpn, 9);
	assert_int_equal(pkt.bth.psn, 5);
	assert_int_equal(pkt.deth.qkey, QKEY);
	assert_int_equal(pkt.deth.src_qpn, 3);
	assert_int_equal(pkt.payload_len, 5);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 1);
	assert_int_equal(ah, 42);
	assert_int_equal(transport_qp_stats(&o->ud)->oversized, 1);
	assert_int_equal(ud_sent(o), 0);
	assert_int_equal(ud_sent(o), 0); /* nothing went out and nobody is told */
	assert_true(ud_pull(o, &run, 4096));
	assert_int_equal(run.head.bth.psn, 6);
	assert_int_equal(run.head.imm, 0x99);
	assert_int_equal(ud_sent(o), 0);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 0);
	assert_int_equal(ah, 42);
	close_qp(o);
}

static void ud_controlled_qkeys(void **state)
{
	for (uint32_t qpn = 1; qpn < 3; qpn++) {
		struct one *o = open_ud(qpn, false);
		struct transport_run run;
		uint32_t ah;

		post(o, TRANSPORT_OP_SEND, 5, KEY, 0);
		transport_sq_wqe(&o->host.sq, 0)->remote_qkey = CONTROLLED + 17;
		assert_int_equal(ud_next_ah(&o->ud, &ah), 1);
		assert_true(ud_pull(o, &run, 4096));
		assert_int_equal(run.head.deth.qkey, qpn == 1 ? 0x80010000 : QKEY);
		/* And QP 1 hears the well-known one alone. */
		post_recv(o, 64, KEY);
		run = packet(WIRE_UD_SEND_ONLY, 0, 4);
		assert_int_equal(deliver(o, &run), qpn == 1 ? UD_DROPPED_QKEY : UD_TOOK);
		run.head.deth.qkey = 0x80010000;
		post_recv(o, 64, KEY);
		assert_int_equal(deliver(o, &run), qpn == 1 ? UD_TOOK : UD_DROPPED_QKEY);
		close_qp(o);
	}
}

static void ud_receive_begins_with_the_grh(void **state)
{
	struct one *o = open_ud(3, false);
	struct transport_run run = packet(WIRE_UD_SEND_ONLY_WITH_IMM, 77, 100);
	uint8_t *at = sim_host_bytes(&o->host, KEY, 0x1000, 256);
	struct transport_completion c;

	for (uint32_t i = 0; i < 100; i++)
		buf[i] = (uint8_t)(i + 1);
	for (uint32_t i = 0; i < UD_GRH_BYTES; i++)
		grh[i] = (uint8_t)(200 - i);
	run.head.bth.solicited = true;
	assert_int_equal(deliver(o, &run), UD_NO_RECV);
	post_recv(o, 140, KEY);
	assert_int_equal(deliver(o, &run), UD_TOOK);
	assert_int_equal(ud_received(o, &c), 0);
	assert_int_equal(c.byte_len, 140);
	assert_int_equal(c.wc_flags, TRANSPORT_WC_GRH | TRANSPORT_WC_WITH_IMM);
	assert_int_equal(c.imm_or_inv, 0xabcd);
	assert_int_equal(c.src_qpn, 0x123);
	assert_true(c.solicited);
	assert_memory_equal(at, grh, UD_GRH_BYTES);
	assert_memory_equal(at + UD_GRH_BYTES, buf, 100);
	/* The receiver's room is what the whole takes. What does not fit waits for the next one. */
	post_recv(o, 139, KEY);
	assert_int_equal(deliver(o, &run), UD_DROPPED_LENGTH);
	assert_int_equal(deliver(o, &run), UD_DROPPED_LENGTH);
	assert_int_equal(ud_received(o, &c), -1);
	run = packet(WIRE_UD_SEND_ONLY, 1, 99);
	assert_int_equal(deliver(o, &run), UD_TOOK);
	assert_int_equal(ud_received(o, &c), 100);
	assert_int_equal(c.wc_flags, TRANSPORT_WC_GRH);
	/* What it came under is told from the area: a GRH, IPv6, IPv4 (whatever stands in the half that is not IPv4's), nothing. */
	static const struct {
		uint8_t at0, at6, at20, sl;
	} areas[] = { { 0x60, 0x1b, 0, 0 }, { 0x6f, 17, 0x45, 9 }, { 0, 17, 0x45, 10 }, { 0, 0, 0, 0 } };

	for (unsigned int i = 0; i < sizeof(areas) / sizeof(*areas); i++) {
		memset(grh, 0, sizeof(grh));
		grh[0] = areas[i].at0, grh[6] = areas[i].at6, grh[20] = areas[i].at20;
		post_recv(o, 139, KEY);
		assert_int_equal(deliver(o, &run), UD_TOOK);
		assert_int_equal(ud_received(o, &c), 200 + 100 * (int)i);
		assert_int_equal(c.sl, areas[i].sl);
	}
	/* Nothing at all is a message, too. */
	post_recv(o, 40, KEY);
	run = packet(WIRE_UD_SEND_ONLY, 1, 0);
	assert_int_equal(deliver(o, &run), UD_TOOK);
	assert_int_equal(ud_received(o, &c), 600);
	assert_int_equal(c.byte_len, 40);
	close_qp(o);
}

static void ud_drops_what_is_not_for_it(void **state)
{
	struct one *o = open_ud(3, true);
	struct transport_run run = packet(WIRE_UD_SEND_ONLY, 1, 4);
	struct transport_completion c;

	assert_int_equal(ud_receive(&o->ud, NOW, &run, grh, true), UD_DROPPED_NO_RECV);
	post_recv(o, 64, KEY);
	run.head.deth.qkey++;
	assert_int_equal(deliver(o, &run), UD_DROPPED_QKEY);
	run.head.deth.qkey--;
	run.head.bth.pkey = 0x1234;
	assert_int_equal(deliver(o, &run), UD_DROPPED_PKEY);
	run = packet(WIRE_UD_SEND_ONLY, 1, 1025);
	assert_int_equal(deliver(o, &run), UD_DROPPED_LENGTH);
	run = packet(WIRE_UC_SEND_ONLY, 1, 4);
	assert_int_equal(deliver(o, &run), UD_DROPPED_OPCODE);
	run = packet(WIRE_UD_SEND_ONLY, 1, 8);
	run.packets = 2;
	assert_int_equal(deliver(o, &run), UD_DROPPED_OPCODE);
	assert_int_equal(o->host.recvs_taken, 0);
	/* Too small a receive of an SRQ ends at once, the QP does not. */
	run = packet(WIRE_UD_SEND_ONLY, 1, 25);
	assert_int_equal(deliver(o, &run), UD_DROPPED_LENGTH);
	assert_int_equal(ud_received(o, &c), TRANSPORT_LOC_LEN_ERR);
	assert_int_equal(transport_qp_state(&o->ud), TRANSPORT_RTS);
	ud_to_error(&o->ud);
	assert_int_equal(deliver(o, &run), UD_DROPPED_STATE);
	close_qp(o);
}

static void ud_send_error_spares_the_receiver(void **state)
{
	struct one *o = open_ud(3, false);
	struct transport_run run = packet(WIRE_UD_SEND_ONLY, 1, 4);
	uint32_t ah;

	post_recv(o, 64, KEY);
	post_recv(o, 64, 99);
	post(o, TRANSPORT_OP_SEND, 5, 99, 0);
	post(o, TRANSPORT_OP_SEND, 5, KEY, 0);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 1);
	assert_false(ud_pull(o, &run, 4096));
	assert_int_equal(transport_qp_state(&o->ud), TRANSPORT_SQE);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 0);
	assert_int_equal(ud_sent(o), TRANSPORT_LOC_PROT_ERR);
	assert_int_equal(ud_sent(o), TRANSPORT_WR_FLUSH_ERR);
	run = packet(WIRE_UD_SEND_ONLY, 1, 4);
	assert_int_equal(deliver(o, &run), UD_TOOK);
	ud_to_rts(&o->ud, &o->ud_config);
	post(o, TRANSPORT_OP_RDMA_WRITE, 4, KEY, 0);
	assert_int_equal(ud_next_ah(&o->ud, &ah), 0);
	assert_int_equal(ud_sent(o), TRANSPORT_LOC_QP_OP_ERR);
	assert_int_equal(transport_qp_events_take(&o->ud), TRANSPORT_EVENT_ENTERED_SQE);
	assert_int_equal(deliver(o, &run), UD_FAILED);
	assert_int_equal(transport_qp_state(&o->ud), TRANSPORT_ERROR);
	close_qp(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_send_is_done_when_it_has_left),
		cmocka_unit_test(uc_send_error_spares_the_receiver),
		cmocka_unit_test(uc_memory_that_goes_half_way),
		cmocka_unit_test(uc_drains_at_a_message_end),
		cmocka_unit_test(uc_local_invalidate),
		cmocka_unit_test(uc_gap_costs_the_message),
		cmocka_unit_test(uc_message_begins_within_another),
		cmocka_unit_test(uc_waits_for_a_receive_and_gives_up),
		cmocka_unit_test(uc_refuses_in_silence),
		cmocka_unit_test(uc_own_bad_receive_is_an_error),
		cmocka_unit_test(uc_held_receive_when_the_qp_leaves),
		cmocka_unit_test(ud_goes_where_each_wqe_says),
		cmocka_unit_test(ud_controlled_qkeys),
		cmocka_unit_test(ud_receive_begins_with_the_grh),
		cmocka_unit_test(ud_drops_what_is_not_for_it),
		cmocka_unit_test(ud_send_error_spares_the_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
