/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A whole IB packet, from the BTH to the ICRC: what links hand to the transport and get from it. Which of the header fields
 * mean something is told by `op->has`; the others are left as they were. Pure functions: any thread.
 */
#ifndef WIRE_PACKET_H
#define WIRE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "wire/aeth.h"
#include "wire/bth.h"
#include "wire/exthdr.h"
#include "wire/opcode.h"

#define WIRE_ICRC_BYTES 4
#define WIRE_CNP_RESERVED_BYTES 16
/* The longest header: XRC COMPARE_SWAP. */
#define WIRE_PACKET_MAX_HEADERS (WIRE_BTH_BYTES + WIRE_XRCETH_BYTES + WIRE_ATOMICETH_BYTES)
/* The longest packet: the longest header that a full payload can have (XRC WRITE_ONLY_WITH_IMM), and the ICRC. */
#define WIRE_PACKET_MAX \
	(WIRE_BTH_BYTES + WIRE_XRCETH_BYTES + WIRE_RETH_BYTES + WIRE_IMMDT_BYTES + 4096 + WIRE_ICRC_BYTES)

struct wire_packet {
	struct wire_bth bth;
	struct wire_deth deth;
	struct wire_reth reth;
	struct wire_aeth aeth;
	struct wire_atomiceth atomic;
	uint64_t atomic_ack; /* AtomicAckETH: the value before */
	uint32_t imm;        /* ImmDt: the wire bytes, a __be32 value */
	uint32_t inv_rkey;   /* IETH */
	uint32_t xrc_srqn;   /* XRCETH */
	struct wire_feth feth;
	const uint8_t *payload; /* borrowed from the buffer that was decoded; not NULL even when payload_len is 0 */
	uint32_t payload_len;   /* without pad */
	const struct wire_opcode *op;
};

/*
 * Takes an IB packet apart. ib[0..len) is the BTH up to and including the ICRC, which is not looked at (wire/icrc.h is for
 * that). Refuses what is to be dropped for its form alone:
 *   BASE_ERR_TRUNCATED    shorter than its headers, pad and ICRC
 *   BASE_ERR_MALFORMED    transport version other than 0, unknown opcode
 * On error *out is undefined. Payload lengths are not held against the path MTU: wire_opcode_payload_fits() does, for those who
 * know it, and what the answer then is (a NAK, or nothing) is the transport's business. So are QP numbers.
 */
int wire_packet_decode(struct wire_packet *out, const uint8_t *ib, size_t len) __attribute__((warn_unused_result));

/*
 * Writes the BTH and the extended headers that pkt->bth.opcode calls for; pkt->op and the payload are not looked at. The
 * caller has WIRE_PACKET_MAX_HEADERS of room and puts payload, pad (bth.pad zero bytes) and ICRC behind. Returns the bytes
 * written; 0 for an opcode that is not in the table.
 */
size_t wire_packet_encode_headers(uint8_t *buf, const struct wire_packet *pkt);

/* The pad count that a payload of this length needs. */
static inline uint8_t wire_packet_pad(uint32_t payload_len)
{
	return (uint8_t)(-payload_len & 3);
}

#endif
