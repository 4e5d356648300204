/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RC requester with a program, a link, a clock and a peer that all do what the fuzzer says: posts of any kind, rooms of
 * any size, answers for any PSN, time in jumps. However it goes: what leaves is well formed, indexes and PSNs keep their
 * order, every WR completes once and in order, and success needs an acknowledgement that covers it.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/rc_input.h"
#include "sim/host.h"
#include "transport/rc_internal.h"
#include "transport/rc.h"
#include "transport/rc_selective.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { DEPTH = 16, SPACE = 20000, KEY = 1, KEY_INV = 3 };

static uint8_t payload[4096], room_bytes[80000];

struct state {
	struct transport_qp qp;
	struct sim_host host;
	struct transport_config config;
	uint64_t now, completed, posted;
	bool failed;
};

static void post(struct state *s, struct rc_input *in)
{
	static const uint8_t ops[] = {
		TRANSPORT_OP_RDMA_WRITE, TRANSPORT_OP_RDMA_WRITE_WITH_IMM, TRANSPORT_OP_SEND, TRANSPORT_OP_SEND_WITH_IMM, TRANSPORT_OP_RDMA_READ,
		TRANSPORT_OP_COMPARE_SWAP, TRANSPORT_OP_FETCH_ADD, TRANSPORT_OP_LOCAL_INV, TRANSPORT_OP_SEND_WITH_INV,
	};
	struct transport_wqe wqe = {
		.wr_id = s->posted,
		.op = in_u8(in) < 240 ? ops[in_u8(in) % sizeof(ops)] : in_u8(in) % 16,
		.flags = in_u8(in) & 15,
		.remote_addr = in_u32(in),
		.imm_or_inv = in_u8(in) < 240 ? KEY_INV : in_u32(in),
	};
	struct transport_sge sge[SIM_SGE_MAX] = { { 0 } };
	uint8_t bytes[SIM_INLINE_MAX] = { 0 };

	if (wqe.flags & TRANSPORT_WQE_INLINE) {
		wqe.length = in_u8(in) % (SIM_INLINE_MAX + 1);
	} else {
		wqe.num_sge = in_u8(in) % (SIM_SGE_MAX + 1);
		for (uint32_t i = 0; i < wqe.num_sge; i++) {
			sge[i].addr = 0x1000 + in_u8(in);
			sge[i].length = in_u8(in) < 250 ? in_u16(in) % (SPACE - 300) : in_u32(in) >> (in_u8(in) % 32);
			sge[i].lkey = in_u8(in) < 250 ? KEY : 2;
			if ((uint64_t)wqe.length + sge[i].length > UINT32_MAX)
				sge[i].length = 0;
			wqe.length += sge[i].length;
		}
	}
	if (sim_host_post_send(&s->host, &wqe, wqe.flags & TRANSPORT_WQE_INLINE ? (const void *)bytes : sge,
			       wqe.flags & TRANSPORT_WQE_INLINE ? wqe.length : wqe.num_sge * (uint32_t)sizeof(sge[0])))
		s->posted++;
}

static void check_framed(const struct transport_run *out, size_t used, uint32_t mtu)
{
	size_t segment = used, at = 0;

	if (out->packets > 1)
		segment = WIRE_BTH_BYTES + mtu + WIRE_ICRC_BYTES;
	for (uint32_t i = 0; i < out->packets; i++) {
		size_t len = i == out->packets - 1u ? used - at : segment;
		struct wire_packet pkt;

		assert(at < used && len <= used - at);
		assert(wire_packet_decode(&pkt, room_bytes + at, len) == 0);
		assert(pkt.bth.psn == wire_psn_add(out->head.bth.psn, i));
		assert(wire_opcode_payload_fits(pkt.op, pkt.payload_len, mtu));
		at += len;
	}
	assert(at == used);
}

static void pull(struct state *s, struct rc_input *in)
{
	uint8_t how = in_u8(in);
	struct transport_room room = { .buf = room_bytes, .packets = 1 + in_u8(in) % 80, .framed = how & 1 };
	bool wanted = rc_wants_room(&s->qp, s->now);
	struct transport_run out;
	size_t used = 0;

	room.bytes = how & 2 ? in_u16(in) : sizeof(room_bytes);
	memset(&out, 0, sizeof(out));
	if (!rc_next(&s->qp, s->now, &room, &out, &used))
		return;
	assert(wanted && out.packets >= 1 && out.packets <= room.packets && used <= room.bytes);
	assert(out.head.op == wire_opcode_find(out.head.bth.opcode) && out.head.bth.dest_qpn == 2);
	if (room.framed)
		check_framed(&out, used, s->config.mtu);
	else
		assert(used == out.head.payload_len);
	if (!(out.head.op->role & WIRE_ROLE_READ))
		assert(wire_opcode_payload_fits(wire_opcode_find(out.last_opcode),
						out.head.payload_len - (out.packets - 1u) * s->config.mtu, s->config.mtu));
}

/* Marks are counted, and none is beyond what is in flight. */
static void check_marks(const struct state *s)
{
	const struct rc_selective *selective = s->config.selective;
	uint32_t flying = rc_psn_distance(s->qp.req.una, s->qp.req.next_psn), arrived = 0, due = 0;

	for (uint32_t i = 0; i < RC_SELECTIVE_WINDOW; i++) {
		uint32_t at = (s->qp.req.una + i) % RC_SELECTIVE_WINDOW;
		bool is_arrived = selective->arrived[at / 8] >> at % 8 & 1, is_due = selective->due[at / 8] >> at % 8 & 1;

		assert(i < flying || (!is_arrived && !is_due));
		assert(!(is_arrived && is_due));
		arrived += is_arrived;
		due += is_due;
	}
	assert(arrived == selective->arrived_count && due == selective->due_count);
}

/* A SACK of any bits, mostly for what is in flight. */
static void sack(struct state *s, struct rc_input *in)
{
	struct transport_run run = { .packets = 1, .mtu = s->config.mtu, .last_opcode = WIRE_SACK };
	uint8_t bitmap[WIRE_SACK_BYTES];

	for (size_t i = 0; i < sizeof(bitmap); i++)
		bitmap[i] = in_u8(in) & in_u8(in);
	run.head.bth.opcode = WIRE_SACK;
	run.head.op = wire_opcode_find(WIRE_SACK);
	run.head.bth.psn = (in_u8(in) < 240 ? s->qp.req.una + in_u8(in) % 64 - 2 : in_u32(in)) & 0xffffff;
	run.head.bth.pkey = 0xffff;
	run.head.aeth.syndrome = in_u8(in) < 240 ? 0x60 : in_u8(in);
	run.head.payload = bitmap;
	run.head.payload_len = in_u8(in) < 250 ? sizeof(bitmap) : in_u8(in) % sizeof(bitmap);
	rc_receive(&s->qp, s->now, &run);
}

static void answer(struct state *s, struct rc_input *in)
{
	static const uint8_t syndromes[] = { 0x1f, 0x1f, 0x1f, 0x60, 0x60, 0x25, 0x21, 0x61, 0x62, 0x63, 0x64, 0x00, 0x45, 0x80, 0x7f };
	struct transport_run run = { .packets = 1, .mtu = s->config.mtu };

	run.head.bth.opcode = in_u8(in) < 240 ? WIRE_RC_ACKNOWLEDGE : in_u8(in) & 0x1f;
	if (in_u8(in) == 0)
		run.packets = in_u8(in);
	run.head.op = wire_opcode_find(run.head.bth.opcode);
	run.last_opcode = in_u8(in) < 250 ? run.head.bth.opcode : in_u8(in) & 0x1f;
	run.head.bth.psn = in_u8(in) < 240 ? s->qp.req.una + in_u8(in) % 64 - 2 : in_u32(in);
	run.head.bth.pkey = 0xffff;
	run.head.aeth.syndrome = syndromes[in_u8(in) % sizeof(syndromes)];
	run.head.payload = payload;
	run.head.payload_len = in_u8(in) < 200 ? 0 : in_u16(in) % sizeof(payload);
	if (in_u8(in) & 1) {
		/* An answer to a READ or atomic that might be right. */
		run.head.bth.opcode = in_u8(in) & 1 ? WIRE_RC_ATOMIC_ACKNOWLEDGE : WIRE_RC_RDMA_READ_RESPONSE_FIRST + in_u8(in) % 4;
		run.last_opcode = run.head.bth.opcode;
		run.head.op = wire_opcode_find(run.head.bth.opcode);
		run.head.payload_len = s->config.mtu;
		if (s->qp.req.started != s->host.sq.done && in_u8(in) & 1) {
			const struct transport_wqe *wqe = transport_sq_wqe(&s->host.sq, s->host.sq.done);

			run.head.bth.psn = s->qp.req.una;
			if (s->qp.req.una == wqe->last_psn)
				run.head.payload_len = wqe->length % s->config.mtu;
		}
	}
	rc_receive(&s->qp, s->now, &run);
}

static void completions(struct state *s, uint32_t most)
{
	struct transport_completion c;

	for (uint32_t i = 0; i < most && transport_qp_send_done(&s->qp, &c); i++) {
		assert(c.wr_id == s->completed && c.index == (uint32_t)s->completed);
		s->completed++;
		if (c.status == TRANSPORT_SUCCESS) {
			const struct transport_wqe *wqe = transport_sq_wqe(&s->host.sq, c.index);

			assert(!s->failed);
			assert(wqe->op == TRANSPORT_OP_LOCAL_INV || wire_psn_before(wqe->last_psn, s->qp.req.una));
		} else {
			assert(c.signaled && (!s->failed || c.status == TRANSPORT_WR_FLUSH_ERR));
			assert(transport_qp_state(&s->qp) == TRANSPORT_ERROR);
			s->failed = true;
		}
	}
}

static void check(const struct state *s)
{
	const struct rc_requester *q = &s->qp.req;
	const struct transport_sq *sq = &s->host.sq;
	uint32_t posted = atomic_load(&s->host.sq.posted);
	uint32_t out = rc_psn_distance(q->una, q->high), flying = rc_psn_distance(q->una, q->next_psn);

	assert(flying <= out);
	if (s->config.selective)
		check_marks(s);
	assert(posted - sq->reaped <= DEPTH && sq->done - sq->reaped <= posted - sq->reaped);
	assert(sq->next - sq->done <= posted - sq->done);
	assert(s->completed == sq->reaped);
	if (transport_qp_state(&s->qp) == TRANSPORT_ERROR || transport_qp_state(&s->qp) == TRANSPORT_RTR)
		return;
	assert(q->started - sq->done <= posted - sq->done && sq->next - sq->done <= q->started - sq->done);
	assert(out == 0 || q->started != sq->done);
	assert(flying <= RC_WINDOW_NO_LIMIT + (1u << 23));
	assert(!q->timer_runs || out > 0);
	assert(!q->probe_owed || flying > 0);
	if (flying && s->config.timeout)
		assert(rc_deadline(&s->qp) != UINT64_MAX);
	if (out) {
		const struct transport_wqe *wqe = transport_sq_wqe(sq, sq->done);

		assert(rc_psn_distance(wqe->first_psn, q->una) <= rc_psn_distance(wqe->first_psn, wqe->last_psn));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_input in = { data, size };
	struct state s = { .now = 1000 };
	struct sim_region *region;

	sim_host_init(&s.host, DEPTH, 1);
	sim_host_region(&s.host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE, KEY);
	region = sim_host_region(&s.host, 0x1000, 8, 0, KEY_INV);
	region->invalidatable = region->immortal = true;
	transport_qp_init(&s.qp, &rc_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host }, &s.host.sq, &sim_host_recv_ops, &s.host);
	const uint8_t kind = in_u8(&in);
	s.config = (struct transport_config){
		.qpn = 1, .dest_qpn = 2, .mtu = 256u << (in_u8(&in) % 5), .sq_psn = 0xffffff - in_u8(&in), .pkey = 0xffff,
		.timeout = in_u8(&in) % 32, .retry_cnt = in_u8(&in) & 7, .rnr_retry = in_u8(&in) & 7, .lossless = kind & 1,
		.max_rd_atomic = in_u8(&in) % 17,
	};
	if (kind & 2)
		s.config.selective = calloc(1, rc_selective_bytes(s.config.mtu));
	transport_qp_to_init(&s.qp);
	rc_to_rtr(&s.qp, &s.config);
	rc_to_rts(&s.qp, &s.config);
	while (in.left) {
		switch (in_u8(&in) % 13) {
		case 0:
		case 1:
			post(&s, &in);
			break;
		case 2:
		case 3:
		case 4:
			pull(&s, &in);
			break;
		case 5:
		case 6:
		case 7:
			answer(&s, &in);
			break;
		case 12:
			/* To a QP without the option it is a packet of no use. */
			sack(&s, &in);
			break;
		case 8:
			completions(&s, in_u8(&in) % 8);
			break;
		case 9:
			s.now += in_u8(&in) & 1 ? in_u32(&in) : in_u8(&in);
			rc_tick(&s.qp, s.now, in_u8(&in) & 1 ? in_u16(&in) : 0);
			break;
		case 10:
			if (rc_deadline(&s.qp) != UINT64_MAX && rc_deadline(&s.qp) > s.now)
				s.now = rc_deadline(&s.qp);
			rc_tick(&s.qp, s.now, 0);
			break;
		case 11:
			switch (in_u8(&in) % 64) {
			case 0:
				rc_to_error(&s.qp);
				break;
			case 1:
				rc_peer_gone(&s.qp, s.now);
				break;
			default:
				if (transport_qp_state(&s.qp) == TRANSPORT_RTS)
					rc_to_sqd(&s.qp);
				else if (transport_qp_state(&s.qp) == TRANSPORT_SQD && !rc_is_draining(&s.qp))
					rc_to_rts(&s.qp, &s.config);
				break;
			}
			transport_qp_events_take(&s.qp);
			break;
		}
		check(&s);
	}
	rc_to_error(&s.qp);
	completions(&s, UINT32_MAX);
	check(&s);
	assert(s.completed == s.posted);
	sim_host_fini(&s.host);
	free(s.config.selective);
	return 0;
}
