/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/gid.h"

#include <arpa/inet.h>
#include <stdio.h>

void wire_gid_eui64(uint8_t out[8], const uint8_t mac[WIRE_MAC_BYTES])
{
	out[0] = mac[0] ^ 2;
	out[1] = mac[1];
	out[2] = mac[2];
	out[3] = 0xff;
	out[4] = 0xfe;
	memcpy(out + 5, mac + 3, 3);
}

struct wire_gid wire_gid_from_mac(const uint8_t mac[WIRE_MAC_BYTES])
{
	struct wire_gid gid = {{0xfe, 0x80}};

	wire_gid_eui64(gid.raw + 8, mac);
	return gid;
}

bool wire_gid_to_mac(uint8_t mac[WIRE_MAC_BYTES], const struct wire_gid *gid)
{
	if (!wire_gid_is_link_local(gid) || gid->raw[11] != 0xff || gid->raw[12] != 0xfe)
		return false;
	mac[0] = gid->raw[8] ^ 2;
	mac[1] = gid->raw[9];
	mac[2] = gid->raw[10];
	memcpy(mac + 3, gid->raw + 13, 3);
	return true;
}

bool wire_gid_multicast_mac(uint8_t mac[WIRE_MAC_BYTES], const struct wire_gid *gid)
{
	if (!wire_gid_is_multicast(gid))
		return false;
	if (gid->raw[0] == 0xff) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid->raw + 12, 4);
	} else {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = gid->raw[13] & 0x7f;
		memcpy(mac + 4, gid->raw + 14, 2);
	}
	return true;
}

const char *wire_gid_to_text(char out[WIRE_GID_TEXT], const struct wire_gid *gid)
{
	char *at = out;

	for (int group = 0; group < 8; group++)
		at += snprintf(at, 6, group == 0 ? "%04x" : ":%04x", (unsigned)wire_be16_load(gid->raw + 2 * group));
	return out;
}

const char *wire_gid_to_address(char out[WIRE_GID_TEXT], const struct wire_gid *gid)
{
	_Static_assert(WIRE_GID_TEXT >= INET6_ADDRSTRLEN, "any IPv6 address has room");
	return inet_ntop(AF_INET6, gid->raw, out, WIRE_GID_TEXT);
}
