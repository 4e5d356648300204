/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The Ethernet header with up to two VLAN tags, outermost first. */
#ifndef WIRE_ETH_H
#define WIRE_ETH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/gid.h"

#define WIRE_ETH_BYTES 14
#define WIRE_VLAN_BYTES 4
#define WIRE_VLAN_MAX 2
#define WIRE_ETH_BYTES_MAX (WIRE_ETH_BYTES + WIRE_VLAN_MAX * WIRE_VLAN_BYTES)

enum wire_ethertype {
	WIRE_ETHERTYPE_IPV4 = 0x0800,
	WIRE_ETHERTYPE_VLAN = 0x8100,
	WIRE_ETHERTYPE_IPV6 = 0x86dd,
	WIRE_ETHERTYPE_SERVICE_VLAN = 0x88a8,
	WIRE_ETHERTYPE_ROCE_V1 = 0x8915
};

struct wire_vlan {
	uint16_t tpid; /* WIRE_ETHERTYPE_VLAN or WIRE_ETHERTYPE_SERVICE_VLAN */
	uint16_t tci;  /* priority 3, drop 1, id 12 */
};

struct wire_eth {
	uint8_t dst[WIRE_MAC_BYTES];
	uint8_t src[WIRE_MAC_BYTES];
	uint16_t ethertype; /* of what follows the tags; a third tag's own, if there is one */
	uint8_t vlan_count; /* 0..WIRE_VLAN_MAX; more in encode is our mistake (asserted) */
	struct wire_vlan vlan[WIRE_VLAN_MAX];
};

/* Bytes used, tags included, or BASE_ERR_TRUNCATED. */
ssize_t wire_eth_decode(struct wire_eth *out, const uint8_t *buf, size_t len);
/* Writes at most WIRE_ETH_BYTES_MAX; returns the bytes. */
size_t wire_eth_encode(uint8_t *buf, const struct wire_eth *in);

#endif
