/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RC responder under requests of any shape: opcodes, PSNs, lengths, keys and run descriptions come from the fuzzer, as do
 * receives, rooms and the moments at which the host looks for answers and completions.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/rc_input.h"
#include "sim/host.h"
#include "transport/rc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { RECVS = 256, SPACE = 8192, KEY_RECV = 1, KEY_WRITE = 2, KEY_INV = 3 };

static uint8_t payload[65536], room_bytes[16384];

struct state {
	struct transport_qp qp;
	struct sim_host host;
	uint32_t completed;
	uint32_t mtu;
	uint64_t now;
};

static void receive(struct state *s, struct rc_input *in)
{
	struct transport_run run = { .mtu = s->mtu };
	uint32_t before = rc_rq_psn(&s->qp), packets;
	bool was_error = transport_qp_state(&s->qp) == TRANSPORT_ERROR;
	enum rc_verdict verdict;

	run.packets = in_u8(in) & 1 ? 1 : in_u8(in) % 40;
	run.head.bth.opcode = in_u8(in) & 0x1f;
	run.last_opcode = run.packets == 1 && in_u8(in) < 250 ? run.head.bth.opcode : in_u8(in) & 0x1f;
	run.head.op = wire_opcode_find(run.head.bth.opcode);
	if (in_u8(in) < 3)
		run.mtu = in_u16(in);
	run.head.bth.psn = in_u8(in) < 200 ? before : in_u8(in) < 200 ? before + in_u8(in) - 128 : in_u32(in);
	run.head.bth.ack_req = in_u8(in) & 1;
	run.head.bth.solicited = in_u8(in) & 1;
	run.head.bth.pkey = in_u8(in) ? 0xffff : in_u16(in);
	run.head.payload = payload;
	if (run.packets > 0 && in_u8(in) < 220)
		run.head.payload_len = (run.packets - 1u) * s->mtu + (in_u8(in) & 1 ? s->mtu : in_u16(in) % (s->mtu + 1));
	else
		run.head.payload_len = in_u16(in);
	if (run.head.payload_len > sizeof(payload))
		run.head.payload_len = sizeof(payload);
	run.head.reth.va = in_u8(in) < 200 ? 0x1000 + in_u16(in) % SPACE : ~0ull - in_u16(in);
	run.head.reth.rkey = in_u8(in) < 230 ? KEY_WRITE : in_u8(in);
	run.head.reth.length = in_u8(in) < 200 ? run.head.payload_len + (in_u8(in) & 7 ? 0 : in_u16(in)) : in_u32(in);
	run.head.imm = in_u32(in);
	run.head.atomic = (struct wire_atomiceth){ in_u8(in) ? 0x1000 + 8 * in_u8(in) : in_u16(in), KEY_WRITE, in_u16(in), in_u8(in) };
	run.head.aeth.syndrome = in_u8(in);
	run.head.inv_rkey = in_u8(in) < 240 ? KEY_INV : in_u32(in);

	verdict = rc_receive(&s->qp, s->now, &run);
	packets = wire_psn_add(rc_rq_psn(&s->qp), -before & 0xffffff);
	assert((int)verdict >= 0 && verdict < RC_VERDICTS);
	if (run.head.op == NULL || !(run.head.op->role & WIRE_ROLE_READ))
		assert(packets <= run.packets);
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
		assert(c.wr_id == s->completed);
		assert(c.status != TRANSPORT_SUCCESS || c.opcode == TRANSPORT_WC_RECV || c.opcode == TRANSPORT_WC_RECV_RDMA_WITH_IMM);
		s->completed++;
	}
}

static void check(const struct state *s)
{
	const struct rc_responder *r = &s->qp.resp;

	assert(s->host.recvs_taken == s->completed + s->qp.intake.count + s->qp.intake.held);
	assert(s->qp.intake.count <= INTAKE_COMPLETIONS);
	assert(transport_qp_state(&s->qp) != TRANSPORT_ERROR || !s->qp.intake.held);
	assert(r->expected <= 0xffffff && r->msn <= 0xffffff);
	assert(rc_deadline(&s->qp) == UINT64_MAX || transport_qp_state(&s->qp) == TRANSPORT_RTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_input in = { data, size };
	struct state s = { .now = 1000, .mtu = 256u << (in_u8(&in) % 5) };
	struct sim_region *region;
	struct transport_config config = { .qpn = 1, .dest_qpn = 2, .mtu = s.mtu, .pkey = 0xffff };

	sim_host_init(&s.host, 2, RECVS);
	sim_host_region(&s.host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE, KEY_RECV);
	sim_host_region(&s.host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE | TRANSPORT_REMOTE_READ |
			TRANSPORT_REMOTE_ATOMIC, KEY_WRITE);
	region = sim_host_region(&s.host, 0x1000, 8, 0, KEY_INV);
	region->invalidatable = region->immortal = true;
	transport_qp_init(&s.qp, &rc_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host }, &s.host.sq, &sim_host_recv_ops, &s.host);
	config.access = in_u8(&in) < 240 ? 15 : in_u8(&in);
	config.max_dest_rd_atomic = in_u8(&in) % 17;
	config.min_rnr_timer = in_u8(&in) & 31;
	config.rq_psn = 0xffffff - in_u8(&in);
	config.lossless = in_u8(&in) & 1;
	transport_qp_to_init(&s.qp);
	rc_to_rtr(&s.qp, &config);
	if (in_u8(&in) & 1)
		rc_to_rts(&s.qp, &config);
	while (in.left) {
		switch (in_u8(&in) % 8) {
		case 0:
			if (s.host.recvs_posted < RECVS) {
				struct transport_sge sge[2] = {
					{ .addr = 0x1000 + in_u8(&in), .length = in_u16(&in) % SPACE, .lkey = in_u8(&in) < 250 ? KEY_RECV : 9 },
					{ .addr = 0x1000, .length = in_u8(&in), .lkey = KEY_RECV },
				};

				sim_host_post_recv(&s.host, s.host.recvs_posted, sge, in_u8(&in) % 3);
			}
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
	return 0;
}
