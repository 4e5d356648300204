/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/frame.h"

#include "base/err.h"
#include "wire/bytes.h"

#define IB_MIN (WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
#define IPV4_PROTOCOL_AT 9
#define IPV4_OFFSET 0x1fff

/* The last step of all three: ib_len bytes are announced at `ib`, of which `there` are in the frame. */
static int finish(struct wire_frame *out, const uint8_t *ib, size_t ib_len, size_t there)
{
	if (ib_len > there || ib_len < IB_MIN)
		return BASE_ERR_TRUNCATED;
	out->ib = ib;
	out->ib_len = ib_len;
	return BASE_OK;
}

static int decode_v1(struct wire_frame *out, const uint8_t *l3, size_t len)
{
	ssize_t used = wire_grh_decode(&out->grh, l3, len);

	if (used < 0)
		return (int)used;
	if (out->grh.next_header != WIRE_PROTOCOL_IBA)
		return BASE_ERR_MALFORMED;
	return finish(out, l3 + used, out->grh.payload_len, len - used);
}

/* UDP in a datagram whose IP header announces `datagram_len` bytes for it. `there` bytes are in the frame. */
static int decode_udp(struct wire_frame *out, const uint8_t *udp, size_t datagram_len, size_t there)
{
	ssize_t used = wire_udp_decode(&out->udp, udp, there);

	if (used < 0)
		return (int)used;
	if (out->udp.dst_port != WIRE_UDP_PORT_ROCE)
		return BASE_ERR_UNSUPPORTED;
	if (out->udp.length != datagram_len || out->udp.length < WIRE_UDP_BYTES)
		return BASE_ERR_MALFORMED;
	return finish(out, udp + used, datagram_len - used, there - used);
}

static int decode_ipv4(struct wire_frame *out, const uint8_t *l3, size_t len)
{
	ssize_t used;
	int err;

	if (len > IPV4_PROTOCOL_AT && l3[IPV4_PROTOCOL_AT] != WIRE_PROTOCOL_UDP)
		return BASE_ERR_UNSUPPORTED;
	used = wire_ipv4_decode(&out->ipv4, l3, len);
	if (used < 0)
		return (int)used;
	if (out->ipv4.fragment & IPV4_OFFSET)
		return BASE_ERR_UNSUPPORTED;
	if (out->ipv4.total_len < used)
		return BASE_ERR_MALFORMED;
	err = decode_udp(out, l3 + used, out->ipv4.total_len - used, len - used);
	return err == BASE_OK && out->ipv4.fragment & WIRE_IPV4_FRAGMENTED ? BASE_ERR_MALFORMED : err;
}

static int decode_ipv6(struct wire_frame *out, const uint8_t *l3, size_t len)
{
	ssize_t used = wire_ipv6_decode(&out->ipv6, l3, len);

	if (used < 0)
		return (int)used;
	if (out->ipv6.next_header != WIRE_PROTOCOL_UDP)
		return BASE_ERR_UNSUPPORTED;
	return decode_udp(out, l3 + used, out->ipv6.payload_len, len - used);
}

int wire_frame_decode(struct wire_frame *out, const uint8_t *frame, size_t len)
{
	ssize_t used = wire_eth_decode(&out->eth, frame, len);

	if (used < 0)
		return (int)used;
	out->l3 = frame + used;
	switch (out->eth.ethertype) {
	case WIRE_ETHERTYPE_ROCE_V1:
		out->encap = WIRE_ENCAP_V1;
		return decode_v1(out, out->l3, len - used);
	case WIRE_ETHERTYPE_IPV4:
		out->encap = WIRE_ENCAP_V2_IPV4;
		return decode_ipv4(out, out->l3, len - used);
	case WIRE_ETHERTYPE_IPV6:
		out->encap = WIRE_ENCAP_V2_IPV6;
		return decode_ipv6(out, out->l3, len - used);
	}
	return BASE_ERR_UNSUPPORTED;
}

bool wire_frame_icrc_is_good(const struct wire_frame *frame)
{
	size_t covered = frame->ib_len - WIRE_ICRC_BYTES;

	return wire_icrc_over_l3(frame->encap, frame->l3, frame->ib, covered) == wire_icrc_load(frame->ib + covered);
}

struct wire_gid wire_frame_sgid(const struct wire_frame *frame)
{
	switch (frame->encap) {
	case WIRE_ENCAP_V1:
		return frame->grh.sgid;
	case WIRE_ENCAP_V2_IPV4:
		return wire_gid_from_ipv4(frame->ipv4.src);
	case WIRE_ENCAP_V2_IPV6:
		return wire_gid_from_ipv6(frame->ipv6.src);
	}
	return (struct wire_gid){{0}};
}

struct wire_gid wire_frame_dgid(const struct wire_frame *frame)
{
	switch (frame->encap) {
	case WIRE_ENCAP_V1:
		return frame->grh.dgid;
	case WIRE_ENCAP_V2_IPV4:
		return wire_gid_from_ipv4(frame->ipv4.dst);
	case WIRE_ENCAP_V2_IPV6:
		return wire_gid_from_ipv6(frame->ipv6.dst);
	}
	return (struct wire_gid){{0}};
}

static size_t encode_udp(uint8_t *buf, const struct wire_frame *in, size_t ib_len)
{
	const struct wire_udp udp = {
		.src_port = in->udp.src_port,
		.dst_port = WIRE_UDP_PORT_ROCE,
		.length = (uint16_t)(WIRE_UDP_BYTES + ib_len),
	};

	return wire_udp_encode(buf, &udp);
}

ssize_t wire_frame_encode_headers(uint8_t *buf, const struct wire_frame *in, size_t ib_len)
{
	struct wire_eth eth = in->eth;
	uint8_t *at = buf;

	switch (in->encap) {
	case WIRE_ENCAP_V1: {
		struct wire_grh grh = in->grh;

		if (ib_len > UINT16_MAX)
			return BASE_ERR_RANGE;
		eth.ethertype = WIRE_ETHERTYPE_ROCE_V1;
		at += wire_eth_encode(at, &eth);
		grh.payload_len = (uint16_t)ib_len;
		grh.next_header = WIRE_PROTOCOL_IBA;
		at += wire_grh_encode(at, &grh);
		break;
	}
	case WIRE_ENCAP_V2_IPV4: {
		struct wire_ipv4 ip = in->ipv4;

		if (ib_len > UINT16_MAX - WIRE_IPV4_BYTES - WIRE_UDP_BYTES)
			return BASE_ERR_RANGE;
		eth.ethertype = WIRE_ETHERTYPE_IPV4;
		at += wire_eth_encode(at, &eth);
		ip.total_len = (uint16_t)(WIRE_IPV4_BYTES + WIRE_UDP_BYTES + ib_len);
		ip.protocol = WIRE_PROTOCOL_UDP;
		at += wire_ipv4_encode(at, &ip);
		at += encode_udp(at, in, ib_len);
		break;
	}
	case WIRE_ENCAP_V2_IPV6: {
		struct wire_ipv6 ip = in->ipv6;

		if (ib_len > UINT16_MAX - WIRE_UDP_BYTES)
			return BASE_ERR_RANGE;
		eth.ethertype = WIRE_ETHERTYPE_IPV6;
		at += wire_eth_encode(at, &eth);
		ip.payload_len = (uint16_t)(WIRE_UDP_BYTES + ib_len);
		ip.next_header = WIRE_PROTOCOL_UDP;
		at += wire_ipv6_encode(at, &ip);
		at += encode_udp(at, in, ib_len);
		break;
	}
	}
	return at - buf;
}

ssize_t wire_frame_encode(uint8_t *buf, size_t room, const struct wire_frame *in, const uint8_t *ib, size_t len)
{
	uint8_t head[WIRE_FRAME_MAX_HEADERS];
	size_t l2_len = WIRE_ETH_BYTES + (size_t)in->eth.vlan_count * WIRE_VLAN_BYTES;
	size_t total;
	ssize_t head_len;

	if (len < WIRE_BTH_BYTES)
		return BASE_ERR_INVAL;
	head_len = wire_frame_encode_headers(head, in, len + WIRE_ICRC_BYTES);
	if (head_len < 0)
		return head_len;
	total = head_len + len + WIRE_ICRC_BYTES;
	if (total > room)
		return BASE_ERR_RANGE;
	memcpy(buf, head, head_len);
	memcpy(buf + head_len, ib, len);
	wire_icrc_store(buf + head_len + len, wire_icrc_over_l3(in->encap, head + l2_len, ib, len));
	return (ssize_t)total;
}
