/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/ip.h"

#include "base/err.h"
#include "wire/bytes.h"

ssize_t wire_ipv4_decode(struct wire_ipv4 *out, const uint8_t *buf, size_t len)
{
	if (len < 1)
		return BASE_ERR_TRUNCATED;
	if (buf[0] != 0x45)
		return BASE_ERR_MALFORMED;
	if (len < WIRE_IPV4_BYTES)
		return BASE_ERR_TRUNCATED;
	out->tos = buf[1];
	out->total_len = wire_be16_load(buf + 2);
	out->id = wire_be16_load(buf + 4);
	out->fragment = wire_be16_load(buf + 6);
	out->ttl = buf[8];
	out->protocol = buf[9];
	out->checksum = wire_be16_load(buf + 10);
	memcpy(out->src, buf + 12, 4);
	memcpy(out->dst, buf + 16, 4);
	return WIRE_IPV4_BYTES;
}

size_t wire_ipv4_encode(uint8_t *buf, const struct wire_ipv4 *in)
{
	buf[0] = 0x45;
	buf[1] = in->tos;
	wire_be16_store(buf + 2, in->total_len);
	wire_be16_store(buf + 4, in->id);
	wire_be16_store(buf + 6, in->fragment);
	buf[8] = in->ttl;
	buf[9] = in->protocol;
	memcpy(buf + 12, in->src, 4);
	memcpy(buf + 16, in->dst, 4);
	wire_be16_store(buf + 10, wire_ipv4_checksum(buf));
	return WIRE_IPV4_BYTES;
}

uint16_t wire_ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < WIRE_IPV4_BYTES; i += 2)
		sum += i == 10 ? 0 : wire_be16_load(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

ssize_t wire_ipv6_decode(struct wire_ipv6 *out, const uint8_t *buf, size_t len)
{
	uint32_t first;

	if (len < 1)
		return BASE_ERR_TRUNCATED;
	if (buf[0] >> 4 != 6)
		return BASE_ERR_MALFORMED;
	if (len < WIRE_IPV6_BYTES)
		return BASE_ERR_TRUNCATED;
	first = wire_be32_load(buf);
	out->traffic_class = (uint8_t)(first >> 20);
	out->flow_label = first & 0xfffff;
	out->payload_len = wire_be16_load(buf + 4);
	out->next_header = buf[6];
	out->hop_limit = buf[7];
	memcpy(out->src, buf + 8, 16);
	memcpy(out->dst, buf + 24, 16);
	return WIRE_IPV6_BYTES;
}

size_t wire_ipv6_encode(uint8_t *buf, const struct wire_ipv6 *in)
{
	wire_be32_store(buf, 6u << 28 | (uint32_t)in->traffic_class << 20 | (in->flow_label & 0xfffff));
	wire_be16_store(buf + 4, in->payload_len);
	buf[6] = in->next_header;
	buf[7] = in->hop_limit;
	memcpy(buf + 8, in->src, 16);
	memcpy(buf + 24, in->dst, 16);
	return WIRE_IPV6_BYTES;
}

ssize_t wire_grh_decode(struct wire_grh *out, const uint8_t *buf, size_t len)
{
	struct wire_ipv6 ip;
	ssize_t used = wire_ipv6_decode(&ip, buf, len);

	if (used < 0)
		return used;
	*out = (struct wire_grh){
		.traffic_class = ip.traffic_class,
		.next_header = ip.next_header,
		.hop_limit = ip.hop_limit,
		.payload_len = ip.payload_len,
		.flow_label = ip.flow_label,
		.sgid = wire_gid_from_ipv6(ip.src),
		.dgid = wire_gid_from_ipv6(ip.dst),
	};
	return used;
}

size_t wire_grh_encode(uint8_t *buf, const struct wire_grh *in)
{
	struct wire_ipv6 ip = {
		.traffic_class = in->traffic_class,
		.next_header = in->next_header,
		.hop_limit = in->hop_limit,
		.payload_len = in->payload_len,
		.flow_label = in->flow_label,
	};

	memcpy(ip.src, in->sgid.raw, sizeof(ip.src));
	memcpy(ip.dst, in->dgid.raw, sizeof(ip.dst));
	return wire_ipv6_encode(buf, &ip);
}

ssize_t wire_udp_decode(struct wire_udp *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_UDP_BYTES)
		return BASE_ERR_TRUNCATED;
	out->src_port = wire_be16_load(buf);
	out->dst_port = wire_be16_load(buf + 2);
	out->length = wire_be16_load(buf + 4);
	out->checksum = wire_be16_load(buf + 6);
	return WIRE_UDP_BYTES;
}

size_t wire_udp_encode(uint8_t *buf, const struct wire_udp *in)
{
	wire_be16_store(buf, in->src_port);
	wire_be16_store(buf + 2, in->dst_port);
	wire_be16_store(buf + 4, in->length);
	wire_be16_store(buf + 6, in->checksum);
	return WIRE_UDP_BYTES;
}
