/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/run.h"

#include <string.h>

#include "wire/opcode.h"
#include "wire/psn.h"

enum { RUN_KINDS = WIRE_ROLE_REQUEST | WIRE_ROLE_RESPONSE | WIRE_ROLE_SEND | WIRE_ROLE_WRITE | WIRE_ROLE_READ };

bool transport_run_is_coherent(const struct transport_run *run, uint32_t mtu)
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
	uint8_t middle = WIRE_RDMA_READ_RESPONSE_MIDDLE;

	if (op->role & WIRE_ROLE_SEND)
		middle = WIRE_SEND_MIDDLE;
	else if (op->role & WIRE_ROLE_WRITE)
		middle = WIRE_RDMA_WRITE_MIDDLE;
	return (uint8_t)WIRE_OPCODE(op->transport, middle);
}

static uint8_t opcode_at(const struct transport_run *run, uint32_t index)
{
	if (index == 0)
		return run->head.bth.opcode;
	return index == run->packets - 1u ? run->last_opcode : middle_of(run->head.op);
}

struct transport_run transport_run_slice(const struct transport_run *run, uint32_t skip, uint32_t count)
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

uint32_t transport_run_fit(uint32_t index, uint32_t total, uint64_t left, uint32_t mtu, uint32_t limit, size_t each_header,
			   size_t first_header, size_t last_header, const struct transport_room *room)
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
		one = WIRE_BTH_BYTES + each_header + (first ? first_header : 0) + (last ? last_header : 0);
		one += (((left < mtu ? (size_t)left : mtu) + 3) & ~(size_t)3) + WIRE_ICRC_BYTES;
		return n && one <= room->bytes;
	}
	if (last_header && n == total - index)
		n--;
	one = room->bytes / (WIRE_BTH_BYTES + each_header + mtu + WIRE_ICRC_BYTES);
	return n < one ? n : (uint32_t)one;
}

int transport_run_write(struct transport_run *run, const struct transport_source *source, uint64_t offset,
			const struct transport_room *room, size_t *used)
{
	struct wire_packet *head = &run->head;
	uint32_t left = head->payload_len;
	uint8_t *at = room->buf;
	struct wire_packet pkt;

	head->op = wire_opcode_find(head->bth.opcode);
	head->bth.pad = run->packets == 1 ? wire_packet_pad(left) : 0;
	head->payload = at;
	if (!room->framed) {
		*used = left;
		return left ? source->fetch(source->of, offset, at, left) : 0;
	}
	pkt = *head;
	for (uint32_t i = 0; i < run->packets; i++) {
		bool last = i == run->packets - 1u;
		uint32_t len = last ? left : run->mtu;
		int err = 0;

		pkt.bth.opcode = opcode_at(run, i);
		pkt.bth.psn = wire_psn_add(head->bth.psn, i);
		pkt.bth.ack_req = last && head->bth.ack_req;
		pkt.bth.solicited = last && head->bth.solicited;
		pkt.bth.pad = wire_packet_pad(len);
		at += wire_packet_encode_headers(at, &pkt);
		if (i == 0)
			head->payload = at;
		if (len)
			err = source->fetch(source->of, offset, at, len);
		if (err)
			return err;
		at += len;
		memset(at, 0, pkt.bth.pad);
		at += pkt.bth.pad + WIRE_ICRC_BYTES;
		offset += len;
		left -= len;
	}
	*used = (size_t)(at - room->buf);
	return 0;
}
