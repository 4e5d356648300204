/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/rc_run.h"

#include <string.h>

#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { RUN_KINDS = WIRE_ROLE_REQUEST | WIRE_ROLE_RESPONSE | WIRE_ROLE_SEND | WIRE_ROLE_WRITE | WIRE_ROLE_READ };

bool rc_run_is_coherent(const struct transport_run *run, uint32_t mtu)
{
	const struct wire_opcode *first = run->head.op;
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint64_t before_last = (uint64_t)(run->packets - 1) * mtu;

	if (run->packets == 0 || run->head.bth.opcode != first->code)
		return false;
	if (run->packets == 1)
		return run->last_opcode == run->head.bth.opcode;
	if (run->mtu != mtu || last == NULL || last->transport != first->transport)
		return false;
	if (!(first->role & (WIRE_ROLE_FIRST | WIRE_ROLE_MIDDLE)) || !(last->role & (WIRE_ROLE_MIDDLE | WIRE_ROLE_LAST)))
		return false;
	if ((first->role & RUN_KINDS) != (last->role & RUN_KINDS))
		return false;
	return run->head.payload_len >= before_last && run->head.payload_len <= before_last + mtu;
}

static uint8_t middle_of(const struct wire_opcode *op)
{
	if (op->role & WIRE_ROLE_SEND)
		return WIRE_RC_SEND_MIDDLE;
	return op->role & WIRE_ROLE_WRITE ? WIRE_RC_RDMA_WRITE_MIDDLE : WIRE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

static uint8_t opcode_at(const struct transport_run *run, uint32_t index)
{
	if (index == 0)
		return run->head.bth.opcode;
	return index == run->packets - 1u ? run->last_opcode : middle_of(run->head.op);
}

struct transport_run rc_run_slice(const struct transport_run *run, uint32_t skip, uint32_t count)
{
	struct transport_run out = *run;
	bool has_last = skip + count == run->packets;

	out.packets = (uint16_t)count;
	out.last_opcode = opcode_at(run, skip + count - 1);
	out.head.bth.opcode = opcode_at(run, skip);
	out.head.op = wire_opcode_find(out.head.bth.opcode);
	out.head.bth.psn = wire_psn_add(run->head.bth.psn, skip);
	out.head.bth.ack_req = has_last && run->head.bth.ack_req;
	out.head.bth.solicited = has_last && run->head.bth.solicited;
	out.head.payload = run->head.payload + (uint64_t)skip * run->mtu;
	out.head.payload_len = has_last ? run->head.payload_len - skip * run->mtu : count * run->mtu;
	return out;
}

bool rc_run_write_ack(struct rc_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t msn, const struct transport_room *room,
		      struct transport_run *out, size_t *used)
{
	size_t need = room->framed ? WIRE_BTH_BYTES + WIRE_AETH_BYTES + WIRE_ICRC_BYTES : 0;

	if (room->bytes < need)
		return false;
	memset(&out->head, 0, sizeof(out->head));
	out->head.bth.opcode = WIRE_RC_ACKNOWLEDGE;
	out->head.bth.migreq = true;
	out->head.bth.pkey = qp->config.pkey;
	out->head.bth.dest_qpn = qp->config.dest_qpn;
	out->head.bth.psn = psn;
	out->head.aeth.syndrome = syndrome;
	out->head.aeth.msn = msn;
	out->head.op = wire_opcode_find(WIRE_RC_ACKNOWLEDGE);
	out->head.payload = room->buf;
	out->packets = 1;
	out->last_opcode = WIRE_RC_ACKNOWLEDGE;
	out->mtu = qp->config.mtu;
	if (room->framed)
		out->head.payload = room->buf + wire_packet_encode_headers(room->buf, &out->head);
	*used = need;
	return true;
}

uint32_t rc_run_fit(uint32_t index, uint32_t total, uint64_t left, uint32_t mtu, uint32_t limit, size_t first_header,
		    size_t last_header, const struct transport_room *room)
{
	bool first = index == 0, last = index == total - 1;
	uint32_t n = total - index;
	size_t one;

	if (limit > room->packets)
		limit = room->packets;
	if (n > limit)
		n = limit;
	if (!room->framed) {
		if (left <= room->bytes && n == total - index)
			return n;
		return n < room->bytes / mtu ? n : (uint32_t)(room->bytes / mtu);
	}
	if (first || last) {
		one = WIRE_BTH_BYTES + (first ? first_header : 0) + (last ? last_header : 0);
		one += (((left < mtu ? (size_t)left : mtu) + 3) & ~(size_t)3) + WIRE_ICRC_BYTES;
		return n && one <= room->bytes;
	}
	if (last_header && n == total - index)
		n--;
	one = room->bytes / (WIRE_BTH_BYTES + mtu + WIRE_ICRC_BYTES);
	return n < one ? n : (uint32_t)one;
}

uint8_t rc_run_opcode(uint8_t wr_op, uint32_t index, uint32_t total)
{
	static const uint8_t first[] = {
		[TRANSPORT_OP_RDMA_WRITE] = WIRE_RC_RDMA_WRITE_FIRST,
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = WIRE_RC_RDMA_WRITE_FIRST,
		[TRANSPORT_OP_SEND] = WIRE_RC_SEND_FIRST,
		[TRANSPORT_OP_SEND_WITH_IMM] = WIRE_RC_SEND_FIRST,
	};
	static const uint8_t last[] = {
		[TRANSPORT_OP_RDMA_WRITE] = WIRE_RC_RDMA_WRITE_LAST,
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = WIRE_RC_RDMA_WRITE_LAST_WITH_IMM,
		[TRANSPORT_OP_SEND] = WIRE_RC_SEND_LAST,
		[TRANSPORT_OP_SEND_WITH_IMM] = WIRE_RC_SEND_LAST_WITH_IMM,
	};
	static const uint8_t only[] = {
		[TRANSPORT_OP_RDMA_WRITE] = WIRE_RC_RDMA_WRITE_ONLY,
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = WIRE_RC_RDMA_WRITE_ONLY_WITH_IMM,
		[TRANSPORT_OP_SEND] = WIRE_RC_SEND_ONLY,
		[TRANSPORT_OP_SEND_WITH_IMM] = WIRE_RC_SEND_ONLY_WITH_IMM,
	};

	if (total == 1)
		return only[wr_op];
	if (index == 0)
		return first[wr_op];
	if (index == total - 1)
		return last[wr_op];
	return wr_op == TRANSPORT_OP_SEND || wr_op == TRANSPORT_OP_SEND_WITH_IMM ? WIRE_RC_SEND_MIDDLE : WIRE_RC_RDMA_WRITE_MIDDLE;
}
