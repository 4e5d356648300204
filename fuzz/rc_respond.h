/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RC and XRC responder under requests of any shape: opcodes, PSNs, lengths, keys, SRQs and run descriptions come from the
 * fuzzer, as do receives, rooms and the moments at which the host looks for answers and completions.
 */
#ifndef FUZZ_RC_RESPOND_H
#define FUZZ_RC_RESPOND_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/responder.h"
#include "transport/rc.h"
#include "transport/rc_selective.h"
#include "wire/psn.h"

static uint8_t room_bytes[16384];

struct state {
	struct transport_qp qp;
	struct sim_host host;
	uint32_t completed;
	bool seen[RECVS];
	uint32_t mtu;
	uint8_t base; /* of its opcodes */
	struct rc_selective *selective; /* NULL: it goes back N */
	uint64_t now;
};

static void receive(struct state *s, struct rc_input *in)
{
	struct transport_run run = { .packets = 0 };
	uint32_t before = rc_rq_psn(&s->qp), packets;
	bool was_error = transport_qp_state(&s->qp) == TRANSPORT_ERROR;
	enum rc_verdict verdict;

	run.packets = in_u8(in) & 1 ? 1 : in_u8(in) % 40;
	run.head.bth.opcode = s->base | (in_u8(in) & 0x1f);
	run.last_opcode = run.packets == 1 && in_u8(in) < 250 ? run.head.bth.opcode : s->base | (in_u8(in) & 0x1f);
	fuzz_run_fill(&run, in, s->mtu, before);
	if (run.head.bth.opcode == (s->base | WIRE_ATOMIC_WRITE) && in_u8(in) < 200) {
		run.head.reth.va &= ~7ull;
		run.head.reth.length = run.head.payload_len = 8;
	}
	run.head.atomic = (struct wire_atomiceth){ in_u8(in) ? 0x1000 + 8 * in_u8(in) : in_u16(in), KEY_WRITE, in_u16(in), in_u8(in) };
	run.head.feth = (struct wire_feth){ .placement = in_u8(in) & (in_u8(in) ? 1 : 15), .selector = in_u8(in) & (in_u8(in) ? 1 : 3) };
	run.head.xrc_srqn = in_u8(in) < 240 ? 1 + (in_u8(in) & 1) : in_u32(in);
	run.head.aeth.syndrome = in_u8(in);

	verdict = rc_receive(&s->qp, s->now, &run);
	packets = wire_psn_add(rc_rq_psn(&s->qp), -before & 0xffffff);
	assert((int)verdict >= 0 && verdict < RC_VERDICTS);
	if (run.head.op == NULL || !(run.head.op->role & WIRE_ROLE_READ))
		assert(packets <= run.packets + (s->selective ? RC_SELECTIVE_WINDOW : 0));
	if (s->selective) {
		/* What was kept is taken behind the run, and may be refused there. */
		assert(verdict != RC_NAKED || (transport_qp_state(&s->qp) == TRANSPORT_ERROR && !was_error));
		return;
	}
	if (verdict == RC_NAKED)
		assert(transport_qp_state(&s->qp) == TRANSPORT_ERROR && !was_error);
	else if (verdict == RC_TOOK)
		assert(packets > 0 || !(run.head.op->role & WIRE_ROLE_REQUEST));
	else
		assert(packets == 0);
	if (!was_error && verdict != RC_NAKED && transport_qp_state(&s->qp) == TRANSPORT_ERROR) {
		/* A bad answer, or class J: taken, but its rkey cannot be invalidated. */
		if (run.head.op->role & WIRE_ROLE_REQUEST)
			assert(verdict == RC_TOOK && (wire_opcode_find(run.last_opcode)->has & WIRE_HAS_IETH) &&
			       run.head.inv_rkey != KEY_INV);
	}
}

static void answer(struct state *s, struct rc_input *in)
{
	uint8_t how = in_u8(in);
	struct transport_room room = { .buf = room_bytes, .bytes = how & 2 ? in_u8(in) : sizeof(room_bytes), .packets = 1 + (how >> 4),
				       .framed = how & 1 };
	struct transport_run out;
	size_t used = 0;
	bool wanted = rc_wants_room(&s->qp, s->now);

	memset(&out, 0, sizeof(out));
	if (rc_next(&s->qp, s->now, &room, &out, &used)) {
		assert(wanted && out.packets >= 1 && out.packets <= room.packets && used <= room.bytes);
		if (room.framed) {
			struct wire_packet pkt;

			if (out.packets > 1)
				used = WIRE_BTH_BYTES + s->mtu + WIRE_ICRC_BYTES;
			assert(wire_packet_decode(&pkt, room_bytes, used) == 0);
			assert(pkt.bth.psn == out.head.bth.psn && pkt.bth.opcode == out.head.bth.opcode);
		}
	}
}

static void completions(struct state *s, uint32_t most)
{
	struct transport_completion c;

	for (uint32_t i = 0; i < most && transport_qp_recv_done(&s->qp, &c); i++) {
		/* With SRQs in the order of their messages. */
		assert(s->host.srqs ? c.wr_id < RECVS && !s->seen[c.wr_id] : c.wr_id == s->completed);
		s->seen[c.wr_id] = true;
		assert(c.status != TRANSPORT_SUCCESS || c.opcode == TRANSPORT_WC_RECV || c.opcode == TRANSPORT_WC_RECV_RDMA_WITH_IMM);
		s->completed++;
	}
}

/* What is kept is counted, and lies ahead of the expected PSN, which itself is not kept. */
static void check_held(const struct rc_selective *selective, uint32_t expected)
{
	uint32_t held = 0;

	for (uint32_t at = 0; at < RC_SELECTIVE_WINDOW; at++) {
		bool is_held = selective->held[at / 8] >> at % 8 & 1;

		held += is_held;
		if (is_held)
			assert(selective->heads[at].bth.psn % RC_SELECTIVE_WINDOW == at &&
			       wire_psn_add(selective->heads[at].bth.psn, -expected & 0xffffff) < RC_SELECTIVE_WINDOW);
	}
	assert(held == selective->held_count);
}

static void check(const struct state *s)
{
	const struct rc_responder *r = &s->qp.resp;

	if (s->selective)
		check_held(s->selective, r->expected);

	assert(s->host.recvs_taken == s->completed + s->qp.intake.count + s->qp.intake.held);
	assert(s->qp.intake.count <= INTAKE_COMPLETIONS);
	assert(transport_qp_state(&s->qp) != TRANSPORT_ERROR || !s->qp.intake.held);
	assert(r->expected <= 0xffffff && r->msn <= 0xffffff);
	assert(rc_deadline(&s->qp) == UINT64_MAX || transport_qp_state(&s->qp) == TRANSPORT_RTS);
}

static int fuzz_rc_respond(const uint8_t *data, size_t size, bool xrc)
{
	struct rc_input in = { data, size };
	struct state s = { .now = 1000, .mtu = 256u << (in_u8(&in) % 5) };
	struct transport_config config = { .qpn = 1, .dest_qpn = 2, .mtu = s.mtu, .pkey = 0xffff };

	fuzz_host_open(&s.host);
	s.host.srqs = xrc ? 2 : 0;
	s.base = (uint8_t)((xrc ? WIRE_TRANSPORT_XRC : WIRE_TRANSPORT_RC) << 5);
	transport_qp_init(&s.qp, xrc ? &rc_xrc_tgt_ops : &rc_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host },
			  &s.host.sq, &sim_host_recv_ops, &s.host);
	config.access = in_u8(&in) < 240 ? 15 | TRANSPORT_FLUSH_GLOBAL : in_u8(&in);
	config.max_dest_rd_atomic = in_u8(&in) % 17;
	config.min_rnr_timer = in_u8(&in) & 31;
	config.rq_psn = 0xffffff - in_u8(&in);
	const uint8_t kind = in_u8(&in);
	config.lossless = kind & 1;
	if (kind & 2)
		config.selective = s.selective = calloc(1, rc_selective_bytes(s.mtu));
	transport_qp_to_init(&s.qp);
	rc_to_rtr(&s.qp, &config);
	if (in_u8(&in) & 1)
		rc_to_rts(&s.qp, &config);
	while (in.left) {
		switch (in_u8(&in) % 8) {
		case 0:
			fuzz_post_recv(&s.host, &in);
			break;
		case 1:
			answer(&s, &in);
			break;
		case 2:
			completions(&s, in_u8(&in) % 8);
			break;
		case 3:
			s.now += in_u32(&in);
			if (s.now >= rc_deadline(&s.qp))
				rc_tick(&s.qp, s.now, in_u16(&in));
			transport_qp_events_take(&s.qp);
			break;
		default:
			receive(&s, &in);
			break;
		}
		check(&s);
	}
	if (size & 1)
		rc_to_error(&s.qp);
	check(&s);
	completions(&s, UINT32_MAX);
	assert(s.host.recvs_taken == s.completed + s.qp.intake.held);
	sim_host_fini(&s.host);
	free(s.selective);
	return 0;
}

#endif
