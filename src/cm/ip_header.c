/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/ip_header.h"

#include <string.h>

#include "base/err.h"
#include "wire/bytes.h"

enum { AT_VERSION = 0, AT_IP_VERSION = 1, AT_PORT = 2, AT_SOURCE = 4, AT_DESTINATION = 20, IPV4_SKIP = 12 };

static void ip_get(struct cm_ip *out, uint8_t family, const uint8_t *at)
{
	memset(out, 0, sizeof(*out));
	out->family = family;
	if (family == CM_IPV4)
		memcpy(out->bytes, at + IPV4_SKIP, 4);
	else
		memcpy(out->bytes, at, 16);
}

static void ip_put(uint8_t *at, const struct cm_ip *ip)
{
	if (ip->family == CM_IPV4)
		memcpy(at + IPV4_SKIP, ip->bytes, 4);
	else
		memcpy(at, ip->bytes, 16);
}

ssize_t cm_ip_header_decode(struct cm_ip_header *out, const uint8_t *buf, size_t len)
{
	uint8_t family;

	if (len < CM_IP_HEADER_BYTES)
		return BASE_ERR_TRUNCATED;
	if (buf[AT_VERSION] != 0)
		return BASE_ERR_UNSUPPORTED;
	family = buf[AT_IP_VERSION] >> 4;
	if (family != CM_IPV4 && family != CM_IPV6)
		return BASE_ERR_MALFORMED;
	ip_get(&out->source.ip, family, buf + AT_SOURCE);
	out->source.port = wire_be16_load(buf + AT_PORT);
	ip_get(&out->destination, family, buf + AT_DESTINATION);
	return CM_IP_HEADER_BYTES;
}

void cm_ip_header_encode(uint8_t *buf, const struct cm_ip_header *in)
{
	memset(buf, 0, CM_IP_HEADER_BYTES);
	buf[AT_IP_VERSION] = (uint8_t)(in->source.ip.family << 4);
	wire_be16_store(buf + AT_PORT, in->source.port);
	ip_put(buf + AT_SOURCE, &in->source.ip);
	ip_put(buf + AT_DESTINATION, &in->destination);
}
