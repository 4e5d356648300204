/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The UC requester with a program and a link that do what the fuzzer says: posts of any kind, rooms of any size, pauses, resumes
 * and the end at any moment. What leaves is well formed and in PSN order; every WR completes once, in order, and when it is done.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/rc_input.h"
#include "sim/host.h"
#include "transport/uc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { DEPTH = 16, SPACE = 20000, KEY = 1, KEY_INV = 3 };

static uint8_t room_bytes[80000];

struct state {
	struct transport_qp qp;
	struct sim_host host;
	struct transport_config config;
	uint64_t completed, posted;
	uint32_t psn; /* next to leave */
};

static void post(struct state *s, struct rc_input *in)
{
	struct transport_wqe wqe = {
		.wr_id = s->posted,
		.op = in_u8(in) % TRANSPORT_OP_COUNT,
		.flags = in_u8(in) & 15,
		.remote_addr = in_u32(in),
		.imm_or_inv = in_u8(in) < 240 ? KEY_INV : in_u32(in),
	};
	struct transport_sge sge[SIM_SGE_MAX] = { { 0 } };
	uint8_t bytes[SIM_INLINE_MAX] = { 0 };
	bool is_inline = wqe.flags & TRANSPORT_WQE_INLINE;

	if (is_inline)
		wqe.length = in_u8(in) % (SIM_INLINE_MAX + 1);
	else
		wqe.num_sge = in_u8(in) % (SIM_SGE_MAX + 1);
	for (uint32_t i = 0; i < wqe.num_sge; i++) {
		sge[i] = (struct transport_sge){ .addr = 0x1000 + in_u8(in), .length = in_u16(in) % (SPACE - 300),
						 .lkey = in_u8(in) < 250 ? KEY : 2 };
		wqe.length += sge[i].length;
	}
	if (sim_host_post_send(&s->host, &wqe, is_inline ? (const void *)bytes : sge,
			       is_inline ? wqe.length : wqe.num_sge * (uint32_t)sizeof(sge[0])))
		s->posted++;
}

static void pull(struct state *s, struct rc_input *in)
{
	uint8_t how = in_u8(in);
	struct transport_room room = { .buf = room_bytes, .packets = 1 + in_u8(in) % 80, .framed = how & 1 };
	bool wanted = uc_wants_room(&s->qp, 1000);
	struct transport_run out;
	struct wire_packet pkt;
	size_t used = 0;

	room.bytes = how & 2 ? in_u16(in) : sizeof(room_bytes);
	memset(&out, 0, sizeof(out));
	if (!uc_next(&s->qp, 1000, &room, &out, &used))
		return;
	assert(wanted && out.packets >= 1 && out.packets <= room.packets && used <= room.bytes);
	assert(out.head.op == wire_opcode_find(out.head.bth.opcode) && out.head.op->transport == WIRE_TRANSPORT_UC);
	assert(out.head.bth.psn == s->psn && out.head.bth.dest_qpn == 2);
	s->psn = wire_psn_add(s->psn, out.packets);
	assert(uc_sq_psn(&s->qp) == s->psn);
	assert(wire_opcode_payload_fits(wire_opcode_find(out.last_opcode), out.head.payload_len - (out.packets - 1u) * s->config.mtu,
					s->config.mtu));
	if (!room.framed) {
		assert(used == out.head.payload_len);
		return;
	}
	assert(wire_packet_decode(&pkt, room_bytes, out.packets > 1 ? WIRE_BTH_BYTES + s->config.mtu + WIRE_ICRC_BYTES : used) == 0);
	assert(pkt.bth.psn == out.head.bth.psn);
}

static void completions(struct state *s, uint32_t most)
{
	struct transport_completion c;

	for (uint32_t i = 0; i < most && transport_qp_send_done(&s->qp, &c); i++) {
		assert(c.wr_id == s->completed && c.index == (uint32_t)s->completed);
		assert(c.signaled || c.status == TRANSPORT_SUCCESS);
		s->completed++;
	}
}

static void check(const struct state *s)
{
	const struct transport_sq *sq = &s->host.sq;
	uint32_t posted = atomic_load(&s->host.sq.posted);

	assert(sq->next == sq->done && posted - sq->reaped <= DEPTH && sq->done - sq->reaped <= posted - sq->reaped);
	assert(s->completed == sq->reaped);
}

static void turn(struct state *s, struct rc_input *in)
{
	if (in_u8(in) < 4)
		uc_to_error(&s->qp);
	else if (transport_qp_state(&s->qp) == TRANSPORT_RTS)
		uc_to_sqd(&s->qp);
	else if (transport_qp_state(&s->qp) == TRANSPORT_SQE ||
		 (transport_qp_state(&s->qp) == TRANSPORT_SQD && !uc_is_draining(&s->qp)))
		uc_to_rts(&s->qp, &s->config);
	transport_qp_events_take(&s->qp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_input in = { data, size };
	struct state s = { .config = { .qpn = 1, .dest_qpn = 2, .mtu = 256u << (in_u8(&in) % 5), .pkey = 0xffff } };
	struct sim_region *region;

	s.psn = s.config.sq_psn = 0xffffff - in_u8(&in);
	sim_host_init(&s.host, DEPTH, 1);
	sim_host_region(&s.host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE, KEY);
	region = sim_host_region(&s.host, 0x1000, 8, 0, KEY_INV);
	region->invalidatable = region->immortal = true;
	transport_qp_init(&s.qp, &uc_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host }, &s.host.sq, &sim_host_recv_ops,
			  &s.host);
	transport_qp_to_init(&s.qp);
	uc_to_rtr(&s.qp, &s.config);
	uc_to_rts(&s.qp, &s.config);
	while (in.left) {
		switch (in_u8(&in) % 8) {
		case 0:
		case 1:
			post(&s, &in);
			break;
		case 2:
			completions(&s, in_u8(&in) % 8);
			break;
		case 3:
			turn(&s, &in);
			break;
		default:
			pull(&s, &in);
			break;
		}
		check(&s);
	}
	uc_to_error(&s.qp);
	completions(&s, UINT32_MAX);
	check(&s);
	assert(s.completed == s.posted);
	sim_host_fini(&s.host);
	return 0;
}
