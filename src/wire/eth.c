/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/eth.h"

#include <assert.h>

#include "base/err.h"
#include "wire/bytes.h"

ssize_t wire_eth_decode(struct wire_eth *out, const uint8_t *buf, size_t len)
{
	size_t at = 2 * WIRE_MAC_BYTES;
	uint16_t type;

	if (len < WIRE_ETH_BYTES)
		return BASE_ERR_TRUNCATED;
	memcpy(out->dst, buf, WIRE_MAC_BYTES);
	memcpy(out->src, buf + WIRE_MAC_BYTES, WIRE_MAC_BYTES);
	out->vlan_count = 0;
	for (type = wire_be16_load(buf + at); type == WIRE_ETHERTYPE_VLAN || type == WIRE_ETHERTYPE_SERVICE_VLAN;
	     type = wire_be16_load(buf + at)) {
		if (out->vlan_count == WIRE_VLAN_MAX)
			break;
		if (len < at + WIRE_VLAN_BYTES + 2)
			return BASE_ERR_TRUNCATED;
		out->vlan[out->vlan_count].tpid = type;
		out->vlan[out->vlan_count].tci = wire_be16_load(buf + at + 2);
		out->vlan_count++;
		at += WIRE_VLAN_BYTES;
	}
	out->ethertype = type;
	return (ssize_t)at + 2;
}

size_t wire_eth_encode(uint8_t *buf, const struct wire_eth *in)
{
	size_t at = 2 * WIRE_MAC_BYTES;

	assert(in->vlan_count <= WIRE_VLAN_MAX);
	memcpy(buf, in->dst, WIRE_MAC_BYTES);
	memcpy(buf + WIRE_MAC_BYTES, in->src, WIRE_MAC_BYTES);
	for (int tag = 0; tag < in->vlan_count; tag++) {
		wire_be16_store(buf + at, in->vlan[tag].tpid);
		wire_be16_store(buf + at + 2, in->vlan[tag].tci);
		at += WIRE_VLAN_BYTES;
	}
	wire_be16_store(buf + at, in->ethertype);
	return at + 2;
}
