/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The Base Transport Header, first in every IB packet. Decoding tells what stands there and judges nothing (a version other
 * than 0 is for wire_packet_decode() to refuse); reserved bits are sent as 0 and ignored.
 */
#ifndef WIRE_BTH_H
#define WIRE_BTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/bytes.h"
#include "wire/psn.h"

#define WIRE_BTH_BYTES 12
#define WIRE_BTH_VARIANT_BYTE 4 /* FECN, BECN and reserved bits: routers may change it, the ICRC does not see it */
#define WIRE_QPN_MASK 0xffffffu
#define WIRE_QPN_GSI 1u
#define WIRE_QPN_MULTICAST 0xffffffu
#define WIRE_PKEY_DEFAULT 0xffffu

struct wire_bth {
	uint8_t opcode;
	bool solicited;
	bool migreq;
	bool ack_req;
	bool fecn;
	bool becn;
	uint8_t pad;  /* 0..3 bytes between the payload and the ICRC */
	uint8_t tver; /* 0 is the only version there is */
	uint16_t pkey;
	uint32_t dest_qpn; /* 24 bits */
	uint32_t psn;      /* 24 bits */
};

/* Bytes used, or BASE_ERR_TRUNCATED. */
static inline ssize_t wire_bth_decode(struct wire_bth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_BTH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->opcode = buf[0];
	out->solicited = buf[1] & 0x80;
	out->migreq = buf[1] & 0x40;
	out->pad = buf[1] >> 4 & 3;
	out->tver = buf[1] & 0xf;
	out->pkey = wire_be16_load(buf + 2);
	out->fecn = buf[4] & 0x80;
	out->becn = buf[4] & 0x40;
	out->dest_qpn = wire_be32_load(buf + 4) & WIRE_QPN_MASK;
	out->ack_req = buf[8] & 0x80;
	out->psn = wire_be32_load(buf + 8) & WIRE_PSN_MASK;
	return WIRE_BTH_BYTES;
}

/* Writes WIRE_BTH_BYTES, for which the caller has room. */
static inline size_t wire_bth_encode(uint8_t *buf, const struct wire_bth *in)
{
	buf[0] = in->opcode;
	buf[1] = (uint8_t)(in->solicited << 7 | in->migreq << 6 | (in->pad & 3) << 4 | (in->tver & 0xf));
	wire_be16_store(buf + 2, in->pkey);
	wire_be32_store(buf + 4, (uint32_t)in->fecn << 31 | (uint32_t)in->becn << 30 | (in->dest_qpn & WIRE_QPN_MASK));
	wire_be32_store(buf + 8, (uint32_t)in->ack_req << 31 | (in->psn & WIRE_PSN_MASK));
	return WIRE_BTH_BYTES;
}

#endif
