/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole Ethernet frames: what captures hold and the raw link sends. RoCEv1 (GRH), RoCEv2 over IPv4 and over IPv6, each with
 * up to two VLAN tags. The end of the packet is found from the length fields, never from the frame's length: short frames are
 * padded by Ethernet. Pure functions: any thread.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/eth.h"
#include "wire/icrc.h"
#include "wire/ip.h"

/* The longest headers before the BTH. */
#define WIRE_FRAME_MAX_HEADERS (WIRE_ETH_BYTES_MAX + WIRE_IPV6_BYTES + WIRE_UDP_BYTES)

struct wire_frame {
	struct wire_eth eth;
	enum wire_encap encap;
	union {
		struct wire_grh grh;   /* WIRE_ENCAP_V1 */
		struct wire_ipv4 ipv4; /* WIRE_ENCAP_V2_IPV4 */
		struct wire_ipv6 ipv6; /* WIRE_ENCAP_V2_IPV6 */
	};
	struct wire_udp udp; /* v2 */
	/* Decode only; borrowed from the frame. */
	const uint8_t *l3; /* the GRH or IP header */
	const uint8_t *ib; /* BTH up to and including the ICRC: what wire_packet_decode() takes */
	size_t ib_len;     /* at least a BTH and an ICRC */
};

/*
 * Takes a frame without FCS apart down to the BTH. Errors, all of which mean "drop", with *out undefined:
 *   BASE_ERR_UNSUPPORTED  not RoCE: another Ethertype, protocol, UDP port, or a later fragment of something
 *   BASE_ERR_TRUNCATED    a header, or what a length field announces, goes beyond the frame; no room for BTH and ICRC
 *   BASE_ERR_MALFORMED    IP version or options, a fragment, lengths that contradict each other, a GRH before something else
 * IPv4 header checksum, UDP checksum and ICRC are not checked.
 */
int wire_frame_decode(struct wire_frame *out, const uint8_t *frame, size_t len) __attribute__((warn_unused_result));

/* Whether the ICRC of a decoded frame is right, all 32 bits. */
bool wire_frame_icrc_is_good(const struct wire_frame *frame);

/* Source and destination as GIDs (IPv4 in mapped form). */
struct wire_gid wire_frame_sgid(const struct wire_frame *frame);
struct wire_gid wire_frame_dgid(const struct wire_frame *frame);

/*
 * Writes all headers before a BTH, for a packet of ib_len bytes from the BTH up to and including the ICRC. Set by the function
 * itself: Ethertype, lengths, protocol, destination port 4791, UDP checksum 0, IPv4 checksum; all else is taken from *in. Needs
 * WIRE_FRAME_MAX_HEADERS of room. Returns the bytes written; BASE_ERR_RANGE if the length fields cannot tell ib_len.
 */
ssize_t wire_frame_encode_headers(uint8_t *buf, const struct wire_frame *in, size_t ib_len);

/*
 * Writes a whole frame: the headers as above, ib[0..len) from the BTH to the pad, and the ICRC. Returns the bytes written;
 * BASE_ERR_RANGE if they do not fit into `room` or the length fields, BASE_ERR_INVAL if len is less than a BTH.
 */
ssize_t wire_frame_encode(uint8_t *buf, size_t room, const struct wire_frame *in, const uint8_t *ib, size_t len);

#endif
