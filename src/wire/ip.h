/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network headers around an IB packet: IPv4, IPv6, GRH (an IPv6 header by another name) and UDP. Decoders return the
 * bytes used; BASE_ERR_TRUNCATED if the header does not end within len, BASE_ERR_MALFORMED if version or header length rule
 * out that it is one. They do not hold the length fields against anything: wire/frame.h does. Encoders write WIRE_<name>_BYTES.
 */
#ifndef WIRE_IP_H
#define WIRE_IP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/gid.h"

#define WIRE_GRH_BYTES 40
#define WIRE_IPV4_BYTES 20
#define WIRE_IPV6_BYTES 40
#define WIRE_UDP_BYTES 8

#define WIRE_UDP_PORT_ROCE 4791
#define WIRE_PROTOCOL_UDP 17
#define WIRE_PROTOCOL_IBA 0x1b    /* next header of a GRH */
#define WIRE_IPV4_DF 0x4000       /* in wire_ipv4.fragment */
#define WIRE_IPV4_FRAGMENTED 0x3fff /* more fragments, or an offset: part of a datagram only */

struct wire_ipv4 {
	uint8_t tos;
	uint8_t ttl;
	uint8_t protocol;
	uint16_t total_len;
	uint16_t id;
	uint16_t fragment; /* flags and offset as they stand */
	uint16_t checksum; /* decode: as found; encode: not looked at, computed */
	uint8_t src[4];    /* network order */
	uint8_t dst[4];
};

/* Only headers without options (20 bytes) are RoCE: others are malformed. The checksum is not checked. */
ssize_t wire_ipv4_decode(struct wire_ipv4 *out, const uint8_t *buf, size_t len);
size_t wire_ipv4_encode(uint8_t *buf, const struct wire_ipv4 *in);
/* The ones' complement checksum over a 20-byte header whose checksum field counts as 0. */
uint16_t wire_ipv4_checksum(const uint8_t *header);

struct wire_ipv6 {
	uint8_t traffic_class;
	uint8_t next_header;
	uint8_t hop_limit;
	uint16_t payload_len;
	uint32_t flow_label; /* 20 bits */
	uint8_t src[16];
	uint8_t dst[16];
};

ssize_t wire_ipv6_decode(struct wire_ipv6 *out, const uint8_t *buf, size_t len);
size_t wire_ipv6_encode(uint8_t *buf, const struct wire_ipv6 *in);

struct wire_grh {
	uint8_t traffic_class;
	uint8_t next_header;
	uint8_t hop_limit;
	uint16_t payload_len; /* BTH up to and including the ICRC */
	uint32_t flow_label;  /* 20 bits */
	struct wire_gid sgid;
	struct wire_gid dgid;
};

ssize_t wire_grh_decode(struct wire_grh *out, const uint8_t *buf, size_t len);
size_t wire_grh_encode(uint8_t *buf, const struct wire_grh *in);

struct wire_udp {
	uint16_t src_port;
	uint16_t dst_port;
	uint16_t length;   /* header and payload */
	uint16_t checksum; /* 0: none */
};

ssize_t wire_udp_decode(struct wire_udp *out, const uint8_t *buf, size_t len);
size_t wire_udp_encode(uint8_t *buf, const struct wire_udp *in);

#endif
