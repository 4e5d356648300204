/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UD QP that talks to itself over a fuzzed link: work requests, receives, rooms, packets of any shape and the state's ups and
 * downs come from the fuzzer. What is held is that each WR and each receive ends once and in order, and that packets decode.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/rc_input.h"
#include "sim/host.h"
#include "transport/ud.h"
#include "wire/opcode.h"

enum { RECVS = 256, SPACE = 8192, KEY = 1, DEPTH = 8 };

static uint8_t payload[65536], room_bytes[8192], grh[UD_GRH_BYTES];

struct state {
	struct transport_qp qp;
	struct transport_config config;
	struct sim_host host;
	uint32_t sent, received;
};

static void give(struct state *s, struct transport_run *run, bool give_up)
{
	uint32_t taken = s->host.recvs_taken;
	bool was_error = transport_qp_state(&s->qp) == TRANSPORT_ERROR;
	enum ud_verdict verdict = ud_receive(&s->qp, 1000, run, grh, give_up);

	assert((int)verdict >= 0 && verdict < UD_VERDICTS);
	assert(verdict != UD_NO_RECV || !give_up);
	if (verdict != UD_TOOK && verdict != UD_FAILED && verdict != UD_DROPPED_LENGTH)
		assert(taken == s->host.recvs_taken);
	assert((transport_qp_state(&s->qp) == TRANSPORT_ERROR) == (was_error || verdict == UD_FAILED));
}

static void receive(struct state *s, struct rc_input *in)
{
	struct transport_run run = { .mtu = s->config.mtu, .packets = in_u8(in) < 250 ? 1 : in_u8(in) };

	run.head.bth.opcode = in_u8(in) < 240 ? WIRE_UD_SEND_ONLY | (in_u8(in) & 1) : in_u8(in);
	run.last_opcode = in_u8(in) < 250 ? run.head.bth.opcode : in_u8(in);
	run.head.op = wire_opcode_find(run.head.bth.opcode);
	run.head.bth.pkey = in_u8(in) ? 0xffff : in_u16(in);
	run.head.bth.solicited = in_u8(in) & 1;
	run.head.deth.qkey = in_u8(in) < 240 ? s->config.qkey : in_u32(in);
	run.head.deth.src_qpn = in_u16(in);
	run.head.payload = payload;
	run.head.payload_len = in_u8(in) < 240 ? in_u16(in) % (s->config.mtu + 2) : in_u16(in);
	give(s, &run, in_u8(in) & 1);
}

static void post(struct state *s, struct rc_input *in)
{
	struct transport_sge sge[2] = {
		{ .addr = 0x1000 + in_u8(in), .length = in_u16(in) % 5000, .lkey = in_u8(in) < 250 ? KEY : 9 },
		{ .addr = 0x1000, .length = in_u8(in), .lkey = KEY },
	};
	struct transport_wqe wqe = {
		.wr_id = atomic_load(&s->host.sq.posted),
		.op = in_u8(in) < 240 ? TRANSPORT_OP_SEND + (in_u8(in) & 1) : in_u8(in),
		.flags = in_u8(in) & 7,
		.num_sge = 2,
		.length = sge[0].length + sge[1].length,
		.remote_qpn = in_u32(in),
		.remote_qkey = in_u8(in) & 1 ? s->config.qkey : in_u32(in),
		.ah = in_u8(in),
		.imm_or_inv = in_u32(in),
	};

	sim_host_post_send(&s->host, &wqe, sge, sizeof(sge));
}

static void emit(struct state *s, struct rc_input *in)
{
	uint8_t how = in_u8(in);
	struct transport_room room = { .buf = room_bytes, .bytes = how & 2 ? in_u16(in) % 64 : sizeof(room_bytes), .packets = 1 + (how >> 4),
				       .framed = how & 1 };
	bool wanted = ud_wants_room(&s->qp, 1000);
	struct transport_run out;
	struct wire_packet pkt;
	uint32_t ah = 0;
	size_t used = 0;
	int ready = ud_next_ah(&s->qp, &ah);

	assert(!ready || wanted);
	if (ready)
		assert(transport_sq_wqe(&s->host.sq, s->host.sq.next)->ah == ah);
	memset(&out, 0, sizeof(out));
	if (!ud_next(&s->qp, 1000, &room, &out, &used))
		return;
	assert(ready && out.packets == 1 && used <= room.bytes && out.head.payload_len <= s->config.mtu);
	if (room.framed) {
		assert(wire_packet_decode(&pkt, room_bytes, used) == 0);
		assert(pkt.bth.psn == out.head.bth.psn && pkt.deth.qkey == out.head.deth.qkey && pkt.payload_len == out.head.payload_len);
	}
	give(s, &out, how & 4);
}

static void completions(struct state *s, uint32_t most)
{
	struct transport_completion c;

	for (uint32_t i = 0; i < most && transport_qp_send_done(&s->qp, &c); i++) {
		assert(c.wr_id == s->sent);
		s->sent++;
	}
	for (uint32_t i = 0; i < most && transport_qp_recv_done(&s->qp, &c); i++) {
		assert(c.wr_id == s->received);
		s->received++;
		assert(c.status != TRANSPORT_SUCCESS || (c.byte_len >= UD_GRH_BYTES && (c.wc_flags & TRANSPORT_WC_GRH)));
	}
}

static void check(const struct state *s)
{
	const struct intake *in = &s->qp.intake;
	const struct transport_sq *sq = &s->host.sq;

	assert(in->count <= INTAKE_COMPLETIONS);
	assert(s->host.recvs_taken == s->received + in->count + in->held);
	assert(transport_qp_state(&s->qp) != TRANSPORT_ERROR || !in->held);
	assert(sq->next == sq->done && sq->done - sq->reaped <= DEPTH && sq->reaped == s->sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_input in = { data, size };
	struct state s = { .config = { .qpn = 1 + in_u8(&in) % 3, .mtu = 256u << (in_u8(&in) % 5), .pkey = 0xffff, .srq = in_u8(&in) & 1 } };

	s.config.qkey = s.config.qpn == 1 ? WIRE_QKEY_GSI : in_u32(&in);
	sim_host_init(&s.host, DEPTH, RECVS);
	sim_host_region(&s.host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE, KEY);
	transport_qp_init(&s.qp, &ud_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host }, &s.host.sq, &sim_host_recv_ops, &s.host);
	transport_qp_to_init(&s.qp);
	ud_to_rtr(&s.qp, &s.config);
	ud_to_rts(&s.qp, &s.config);
	while (in.left) {
		switch (in_u8(&in) % 8) {
		case 0:
			if (s.host.recvs_posted < RECVS) {
				struct transport_sge sge = { .addr = 0x1000 + in_u8(&in), .length = in_u16(&in) % 5000,
							     .lkey = in_u8(&in) < 250 ? KEY : 9 };

				sim_host_post_recv(&s.host, s.host.recvs_posted, &sge, in_u8(&in) & 1);
			}
			break;
		case 1:
			completions(&s, in_u8(&in) % 8);
			break;
		case 2:
		case 3:
			post(&s, &in);
			break;
		case 4:
		case 5:
			emit(&s, &in);
			break;
		case 6:
			if (in_u8(&in) < 20)
				ud_to_sqd(&s.qp);
			else if (transport_qp_state(&s.qp) == TRANSPORT_SQD || transport_qp_state(&s.qp) == TRANSPORT_SQE)
				ud_to_rts(&s.qp, &s.config);
			transport_qp_events_take(&s.qp);
			break;
		default:
			receive(&s, &in);
			break;
		}
		check(&s);
	}
	if (size & 1)
		ud_to_error(&s.qp);
	check(&s);
	completions(&s, UINT32_MAX);
	assert(transport_qp_state(&s.qp) != TRANSPORT_ERROR || s.sent == atomic_load(&s.host.sq.posted));
	sim_host_fini(&s.host);
	return 0;
}
