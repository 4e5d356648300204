/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of connection management: IP addresses and ports as applications name them, and the path that messages and the
 * connection take, as the host resolved it. Plain values.
 */
#ifndef CM_ADDRESS_H
#define CM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/gid.h"

enum cm_family { CM_NO_FAMILY = 0, CM_IPV4 = 4, CM_IPV6 = 6 };

struct cm_ip {
	uint8_t family;    /* enum cm_family */
	uint8_t bytes[16]; /* network order; IPv4: the first four, the rest is zero */
	uint32_t scope;    /* IPv6 link-local: the interface; else 0 */
};

struct cm_address {
	struct cm_ip ip;
	uint16_t port; /* host order */
};

/* A port of a device of this host. */
struct cm_port {
	uint32_t number;    /* the host's own; not looked at */
	uint64_t node_guid; /* of the device */
	uint8_t ack_delay;  /* ibv_device_attr.local_ca_ack_delay: 0..31; rxe and we: 15 */
};

/* How datagrams and the QPs travel, from here. */
struct cm_path {
	struct cm_port port;        /* ours */
	bool local;                 /* the peer is an id of this engine: messages are delivered inside, */
	struct cm_port peer;        /* and arrive at this port */
	uint8_t gid_type;           /* enum wire_gid_type */
	struct wire_gid sgid, dgid; /* ours, the peer's */
	uint8_t mac[WIRE_MAC_BYTES]; /* of the next hop; not looked at, comes back in cm_send */
	uint32_t gsi_qpn;           /* where the peer's CM is: 1 but for odd peers */
	uint32_t flow_label;        /* 20 bits */
	uint8_t traffic_class, hop_limit, sl;
	uint16_t pkey;              /* 0xffff */
	uint8_t mtu;                /* code, wire/mtu.h */
	uint8_t rate;               /* 0: the port's */
	uint8_t life_time;          /* code; 18 by default, or RDMA_OPTION_ID_ACK_TIMEOUT - 1 */
};

static inline bool cm_ip_equal(const struct cm_ip *a, const struct cm_ip *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0 && a->scope == b->scope;
}

/* All zeros: every address of the family. */
static inline bool cm_ip_is_any(const struct cm_ip *ip)
{
	return (wire_be64_load(ip->bytes) | wire_be64_load(ip->bytes + 8)) == 0;
}

/* IPv4 or IPv6, with nothing behind an IPv4 address. */
static inline bool cm_ip_is_valid(const struct cm_ip *ip)
{
	if (ip->family == CM_IPV4)
		return (wire_be32_load(ip->bytes + 4) | wire_be64_load(ip->bytes + 8)) == 0;
	return ip->family == CM_IPV6;
}

#endif
