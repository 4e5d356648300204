/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/packet.h"

int wire_packet_decode(struct wire_packet *out, const uint8_t *ib, size_t len)
{
	const struct wire_opcode *op;
	const uint8_t *at = ib + WIRE_BTH_BYTES;
	size_t tail;
	uint16_t has;

	if (wire_bth_decode(&out->bth, ib, len) < 0)
		return BASE_ERR_TRUNCATED;
	if (out->bth.tver != 0)
		return BASE_ERR_MALFORMED;
	op = wire_opcode_find(out->bth.opcode);
	if (op == NULL)
		return BASE_ERR_MALFORMED;
	tail = (size_t)out->bth.pad + WIRE_ICRC_BYTES;
	if (len < op->header_bytes + tail)
		return BASE_ERR_TRUNCATED;
	if (len - op->header_bytes - tail > UINT32_MAX)
		return BASE_ERR_MALFORMED;

	/* The length check above covers all headers of the row: no decoder below can fail. */
	has = op->has;
	if (has & WIRE_HAS_DETH)
		at += wire_deth_decode(&out->deth, at, WIRE_DETH_BYTES);
	if (has & WIRE_HAS_XRCETH) {
		out->xrc_srqn = wire_be24_load(at + 1);
		at += WIRE_XRCETH_BYTES;
	}
	if (has & WIRE_HAS_FETH)
		at += wire_feth_decode(&out->feth, at, WIRE_FETH_BYTES);
	if (has & WIRE_HAS_RETH)
		at += wire_reth_decode(&out->reth, at, WIRE_RETH_BYTES);
	if (has & WIRE_HAS_ATOMICETH)
		at += wire_atomiceth_decode(&out->atomic, at, WIRE_ATOMICETH_BYTES);
	if (has & WIRE_HAS_AETH)
		at += wire_aeth_decode(&out->aeth, at, WIRE_AETH_BYTES);
	if (has & WIRE_HAS_ATOMICACKETH) {
		out->atomic_ack = wire_be64_load(at);
		at += WIRE_ATOMICACKETH_BYTES;
	}
	if (has & WIRE_HAS_IMMDT) {
		out->imm = wire_raw32_load(at);
		at += WIRE_IMMDT_BYTES;
	}
	if (has & WIRE_HAS_IETH) {
		out->inv_rkey = wire_be32_load(at);
		at += WIRE_IETH_BYTES;
	}
	out->payload = ib + op->header_bytes;
	out->payload_len = (uint32_t)(len - op->header_bytes - tail);
	out->op = op;
	return BASE_OK;
}

size_t wire_packet_encode_headers(uint8_t *buf, const struct wire_packet *pkt)
{
	const struct wire_opcode *op = wire_opcode_find(pkt->bth.opcode);
	uint8_t *at = buf;
	uint16_t has;

	if (op == NULL)
		return 0;
	has = op->has;
	at += wire_bth_encode(at, &pkt->bth);
	if (has & WIRE_HAS_DETH)
		at += wire_deth_encode(at, &pkt->deth);
	if (has & WIRE_HAS_XRCETH) {
		wire_be32_store(at, pkt->xrc_srqn & WIRE_QPN_MASK);
		at += WIRE_XRCETH_BYTES;
	}
	if (has & WIRE_HAS_FETH)
		at += wire_feth_encode(at, &pkt->feth);
	if (has & WIRE_HAS_RETH)
		at += wire_reth_encode(at, &pkt->reth);
	if (has & WIRE_HAS_ATOMICETH)
		at += wire_atomiceth_encode(at, &pkt->atomic);
	if (has & WIRE_HAS_AETH)
		at += wire_aeth_encode(at, &pkt->aeth);
	if (has & WIRE_HAS_ATOMICACKETH) {
		wire_be64_store(at, pkt->atomic_ack);
		at += WIRE_ATOMICACKETH_BYTES;
	}
	if (has & WIRE_HAS_IMMDT) {
		wire_raw32_store(at, pkt->imm);
		at += WIRE_IMMDT_BYTES;
	}
	if (has & WIRE_HAS_IETH) {
		wire_be32_store(at, pkt->inv_rkey);
		at += WIRE_IETH_BYTES;
	}
	if (has & WIRE_HAS_CNP_RESERVED) {
		memset(at, 0, WIRE_CNP_RESERVED_BYTES);
		at += WIRE_CNP_RESERVED_BYTES;
	}
	return (size_t)(at - buf);
}
