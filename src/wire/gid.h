/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * GIDs: 16 bytes in wire order, which on RoCE are an IPv6 address, an IPv4-mapped one (::ffff:a.b.c.d) or the link-local
 * address made from the MAC. Pure functions of their arguments; none fails unless it says so.
 */
#ifndef WIRE_GID_H
#define WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/bytes.h"

#define WIRE_GID_BYTES 16
#define WIRE_MAC_BYTES 6
#define WIRE_GID_TEXT 48 /* room for either text form with its final 0 */

struct wire_gid {
	uint8_t raw[WIRE_GID_BYTES];
};

/* The numbers of ibv_gid_type. */
enum wire_gid_type { WIRE_GID_IB = 0, WIRE_GID_ROCE_V1 = 1, WIRE_GID_ROCE_V2 = 2 };

static inline bool wire_gid_equal(const struct wire_gid *a, const struct wire_gid *b)
{
	return memcmp(a->raw, b->raw, WIRE_GID_BYTES) == 0;
}

static inline bool wire_gid_is_zero(const struct wire_gid *gid)
{
	return (wire_be64_load(gid->raw) | wire_be64_load(gid->raw + 8)) == 0;
}

static inline bool wire_gid_is_ipv4_mapped(const struct wire_gid *gid)
{
	return wire_be64_load(gid->raw) == 0 && wire_be32_load(gid->raw + 8) == 0xffff;
}

/* An IPv6 group ff00::/8, or an IPv4 group 224/4 in mapped form. */
static inline bool wire_gid_is_multicast(const struct wire_gid *gid)
{
	return gid->raw[0] == 0xff || (wire_gid_is_ipv4_mapped(gid) && (gid->raw[12] & 0xf0) == 0xe0);
}

/* fe80::/64. */
static inline bool wire_gid_is_link_local(const struct wire_gid *gid)
{
	return wire_be64_load(gid->raw) == 0xfe80000000000000ull;
}

/* address: the four bytes in network order. */
static inline struct wire_gid wire_gid_from_ipv4(const uint8_t address[4])
{
	struct wire_gid gid = {{0}};

	gid.raw[10] = gid.raw[11] = 0xff;
	memcpy(gid.raw + 12, address, 4);
	return gid;
}

static inline struct wire_gid wire_gid_from_ipv6(const uint8_t address[16])
{
	struct wire_gid gid;

	memcpy(gid.raw, address, WIRE_GID_BYTES);
	return gid;
}

/* The EUI-64 of a MAC, with the universal bit turned as in an IPv6 interface id: node GUIDs and default GIDs. */
void wire_gid_eui64(uint8_t out[8], const uint8_t mac[WIRE_MAC_BYTES]);
/* The default GID of a port: fe80::/64 and the EUI-64 of its MAC. */
struct wire_gid wire_gid_from_mac(const uint8_t mac[WIRE_MAC_BYTES]);
/* The MAC inside of a link-local GID made from one. False, and nothing written, for any other GID. */
bool wire_gid_to_mac(uint8_t mac[WIRE_MAC_BYTES], const struct wire_gid *gid);
/* The Ethernet group address that carries a multicast GID. False, and nothing written, if it is not multicast. */
bool wire_gid_multicast_mac(uint8_t mac[WIRE_MAC_BYTES], const struct wire_gid *gid);
/* Eight groups of four hex digits, as in sysfs. Returns out. */
const char *wire_gid_to_text(char out[WIRE_GID_TEXT], const struct wire_gid *gid);
/* The shortest IPv6 text, as inet_ntop(3) writes it (::ffff:10.0.0.1). Returns out. */
const char *wire_gid_to_address(char out[WIRE_GID_TEXT], const struct wire_gid *gid);

#endif
