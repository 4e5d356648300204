/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The invariant CRC: a CRC-32 over the L3 and UDP headers with the fields that routers change set to ones, and over the packet
 * from the BTH (its fifth byte set to ones) to the pad. A `struct wire_icrc_flow` holds the masked headers of one direction of
 * one conversation, made once; per packet only lengths and the IPv4 identification are filled in. The arithmetic is ISA-L's.
 * No packet is modified. All functions are thread-safe; a flow is read only after its init.
 *
 * IPv4 identification, flags and fragment offset are under the ICRC, yet a receiver with a UDP socket does not see them. CRCs are
 * linear: the ICRCs of two packets that differ in these fields alone differ by a value from which the fields can be told.
 * wire_icrc_verify() does that: a packet with a foreign identification is accepted if the difference is one that the
 * identification (and the DF bit) can make, which leaves 15 bits of check out of 32. Over IPv6 and GRH all 32
 * bits count.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "wire/bth.h"
#include "wire/bytes.h"
#include "wire/gid.h"
#include "wire/ip.h"
#include "wire/packet.h"

#define WIRE_ICRC_L3L4_MAX 48 /* IPv6 and UDP */

enum wire_encap { WIRE_ENCAP_V1, WIRE_ENCAP_V2_IPV4, WIRE_ENCAP_V2_IPV6 };

struct wire_icrc_flow {
	uint8_t head[WIRE_ICRC_L3L4_MAX]; /* masked; lengths and identification 0 */
	uint8_t head_len;
	uint8_t encap; /* enum wire_encap */
};

enum wire_icrc_result {
	WIRE_ICRC_GOOD,       /* all 32 bits right */
	WIRE_ICRC_FOREIGN_ID, /* right for another IPv4 identification, or without DF */
	WIRE_ICRC_BAD         /* drop and count */
};

/* Addresses in network order, ports in host order. DF is set and the packet is not a fragment. */
void wire_icrc_flow_ipv4(struct wire_icrc_flow *out, const uint8_t src[4], const uint8_t dst[4], uint16_t src_port,
			 uint16_t dst_port);
void wire_icrc_flow_ipv6(struct wire_icrc_flow *out, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port,
			 uint16_t dst_port);
/* RoCEv1. */
void wire_icrc_flow_grh(struct wire_icrc_flow *out, const struct wire_gid *sgid, const struct wire_gid *dgid);
/*
 * RoCEv2 by GIDs: IPv4 if both are IPv4-mapped, IPv6 otherwise.
 */
void wire_icrc_flow_gids(struct wire_icrc_flow *out, const struct wire_gid *sgid, const struct wire_gid *dgid,
			 uint16_t src_port, uint16_t dst_port);

/*
 * The ICRC of a packet; ip_id counts over IPv4 only (0 for a datagram from a UDP socket, k for segment k of a UDP_SEGMENT send).
 * ib[0..len) is the BTH up to and including the pad, without the ICRC; len is at least WIRE_BTH_BYTES (asserted) and at most
 * what the 16-bit length fields can tell. Store the result with wire_icrc_store().
 */
uint32_t wire_icrc_compute(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *ib, size_t len);

/*
 * The same in pieces, for packets that are not contiguous: begin with the headers (at least the whole BTH) and the length of the
 * whole, from the BTH to the pad; go on with the rest in order. The value after the last piece is the ICRC.
 */
uint32_t wire_icrc_begin(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *headers, size_t headers_len,
			 size_t covered_len);
uint32_t wire_icrc_continue(uint32_t icrc, const uint8_t *bytes, size_t len);

/*
 * Checks a packet: ib[0..len) is the BTH up to and including the ICRC; a packet too short to have both is bad. ip_id is the
 * identification to expect (0, or k for segment k of what UDP_GRO merged). With WIRE_ICRC_FOREIGN_ID the one that the packet
 * was sent with goes to *found_id, unless found_id is NULL.
 */
enum wire_icrc_result wire_icrc_verify(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *ib, size_t len,
				       uint16_t *found_id) __attribute__((warn_unused_result));

/*
 * The ICRC over headers that are at hand: l3 is a complete GRH, IPv4 (20 bytes) or IPv6 header, followed by the UDP header if
 * it is v2; ib[0..len) is the BTH up to and including the pad, len at least WIRE_BTH_BYTES (asserted). What stands in the headers
 * counts, lengths too.
 */
uint32_t wire_icrc_over_l3(enum wire_encap encap, const uint8_t *l3, const uint8_t *ib, size_t len);

/* The ICRC in the last four bytes of a packet: the only little-endian field of the protocol. */
static inline void wire_icrc_store(uint8_t *p, uint32_t icrc)
{
	wire_le32_store(p, icrc);
}

static inline uint32_t wire_icrc_load(const uint8_t *p)
{
	return wire_le32_load(p);
}

#endif
