/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the foreign identification is found. Let d be the difference (xor) of the ICRC in the packet and the one computed
 * for the expected header. If the packets differ in the four bytes w of identification and flags alone, then d is what a CRC
 * register gives that starts as w (first byte lowest) and is fed with n + 4 zero bytes, n being the covered bytes behind: w times
 * x^(8n + 32) modulo the polynomial. So w = d * x^-(8n + 32). The powers are in a table by n, made at first use. Any d has
 * some w: the check that is left is that w's flags half is one of the two values we allow.
 */
#include "wire/icrc.h"

#include <assert.h>
#include <pthread.h>

#include <isa-l/crc.h>

/* The CRC-32 polynomial, bit-reflected: bit 31 is x^0, bit 0 is x^31. */
#define POLYNOMIAL 0xedb88320u
#define X_TO_THE_0 0x80000000u
/* zlib's form of the register (complemented) after the eight bytes of ones that stand for the missing LRH. */
#define AFTER_LRH 0x2144df1cu

#define IPV4_LENGTH_AT 2
#define IPV4_ID_AT 4
#define IPV6_LENGTH_AT 4
#define UDP_LENGTH_AT 4
/* Packets up to this size go through one call of ISA-L together with their headers. */
#define SMALL_BYTES 64

/* Feeds bytes; both value and result are in zlib's form, which is the form that is sent. */
static uint32_t feed(uint32_t icrc, const uint8_t *bytes, size_t len)
{
	return crc32_gzip_refl(icrc, bytes, len);
}

static void mask_ipv4(uint8_t *ip)
{
	ip[1] = 0xff;
	ip[8] = 0xff;
	ip[10] = ip[11] = 0xff;
}

static void mask_ipv6(uint8_t *ip)
{
	ip[0] |= 0x0f;
	ip[1] = ip[2] = ip[3] = 0xff;
	ip[7] = 0xff;
}

static void mask_udp(uint8_t *udp)
{
	udp[6] = udp[7] = 0xff;
}

static void add_udp(struct wire_icrc_flow *flow, uint16_t src_port, uint16_t dst_port)
{
	const struct wire_udp udp = {.src_port = src_port, .dst_port = dst_port};

	wire_udp_encode(flow->head + flow->head_len, &udp);
	mask_udp(flow->head + flow->head_len);
	flow->head_len += WIRE_UDP_BYTES;
}

void wire_icrc_flow_ipv4(struct wire_icrc_flow *out, const uint8_t src[4], const uint8_t dst[4], uint16_t src_port,
			 uint16_t dst_port)
{
	struct wire_ipv4 ip = {.protocol = WIRE_PROTOCOL_UDP, .fragment = WIRE_IPV4_DF};

	memcpy(ip.src, src, sizeof(ip.src));
	memcpy(ip.dst, dst, sizeof(ip.dst));
	out->encap = WIRE_ENCAP_V2_IPV4;
	out->head_len = (uint8_t)wire_ipv4_encode(out->head, &ip);
	mask_ipv4(out->head);
	add_udp(out, src_port, dst_port);
}

static void start_ipv6(struct wire_icrc_flow *out, enum wire_encap encap, const uint8_t src[16], const uint8_t dst[16],
		       uint8_t next_header)
{
	struct wire_ipv6 ip = {.next_header = next_header};

	memcpy(ip.src, src, sizeof(ip.src));
	memcpy(ip.dst, dst, sizeof(ip.dst));
	out->encap = (uint8_t)encap;
	out->head_len = (uint8_t)wire_ipv6_encode(out->head, &ip);
	mask_ipv6(out->head);
}

void wire_icrc_flow_ipv6(struct wire_icrc_flow *out, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port,
			 uint16_t dst_port)
{
	start_ipv6(out, WIRE_ENCAP_V2_IPV6, src, dst, WIRE_PROTOCOL_UDP);
	add_udp(out, src_port, dst_port);
}

void wire_icrc_flow_grh(struct wire_icrc_flow *out, const struct wire_gid *sgid, const struct wire_gid *dgid)
{
	start_ipv6(out, WIRE_ENCAP_V1, sgid->raw, dgid->raw, WIRE_PROTOCOL_IBA);
}

void wire_icrc_flow_gids(struct wire_icrc_flow *out, const struct wire_gid *sgid, const struct wire_gid *dgid,
			 uint16_t src_port, uint16_t dst_port)
{
	if (wire_gid_is_ipv4_mapped(sgid) && wire_gid_is_ipv4_mapped(dgid))
		wire_icrc_flow_ipv4(out, sgid->raw + 12, dgid->raw + 12, src_port, dst_port);
	else
		wire_icrc_flow_ipv6(out, sgid->raw, dgid->raw, src_port, dst_port);
}

/* Writes the masked headers of one packet; returns their length. */
static size_t fill_head(uint8_t *head, const struct wire_icrc_flow *flow, uint16_t ip_id, size_t covered_len)
{
	uint16_t ib_len = (uint16_t)(covered_len + WIRE_ICRC_BYTES);

	memcpy(head, flow->head, WIRE_ICRC_L3L4_MAX);
	switch ((enum wire_encap)flow->encap) {
	case WIRE_ENCAP_V1:
		wire_be16_store(head + IPV6_LENGTH_AT, ib_len);
		return WIRE_GRH_BYTES;
	case WIRE_ENCAP_V2_IPV4:
		wire_be16_store(head + IPV4_LENGTH_AT, (uint16_t)(ib_len + WIRE_IPV4_BYTES + WIRE_UDP_BYTES));
		wire_be16_store(head + IPV4_ID_AT, ip_id);
		wire_be16_store(head + WIRE_IPV4_BYTES + UDP_LENGTH_AT, (uint16_t)(ib_len + WIRE_UDP_BYTES));
		return WIRE_IPV4_BYTES + WIRE_UDP_BYTES;
	case WIRE_ENCAP_V2_IPV6:
		wire_be16_store(head + IPV6_LENGTH_AT, (uint16_t)(ib_len + WIRE_UDP_BYTES));
		wire_be16_store(head + WIRE_IPV6_BYTES + UDP_LENGTH_AT, (uint16_t)(ib_len + WIRE_UDP_BYTES));
		return WIRE_IPV6_BYTES + WIRE_UDP_BYTES;
	}
	return 0;
}

/* Feeds masked headers, of which `head_len` bytes stand in a buffer with SMALL_BYTES of room behind, and the packet. */
static uint32_t feed_packet(uint8_t *head, size_t head_len, const uint8_t *ib, size_t len)
{
	size_t inside = len <= SMALL_BYTES ? len : WIRE_BTH_BYTES;
	uint32_t icrc;

	memcpy(head + head_len, ib, inside);
	head[head_len + WIRE_BTH_VARIANT_BYTE] = 0xff;
	icrc = feed(AFTER_LRH, head, head_len + inside);
	return inside == len ? icrc : feed(icrc, ib + inside, len - inside);
}

uint32_t wire_icrc_begin(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *headers, size_t headers_len,
			 size_t covered_len)
{
	uint8_t head[WIRE_ICRC_L3L4_MAX + SMALL_BYTES];

	assert(headers_len >= WIRE_BTH_BYTES);
	return feed_packet(head, fill_head(head, flow, ip_id, covered_len), headers, headers_len);
}

uint32_t wire_icrc_continue(uint32_t icrc, const uint8_t *bytes, size_t len)
{
	return feed(icrc, bytes, len);
}

uint32_t wire_icrc_compute(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *ib, size_t len)
{
	return wire_icrc_begin(flow, ip_id, ib, len, len);
}

uint32_t wire_icrc_over_l3(enum wire_encap encap, const uint8_t *l3, const uint8_t *ib, size_t len)
{
	uint8_t head[WIRE_ICRC_L3L4_MAX + SMALL_BYTES];
	size_t l3_len = encap == WIRE_ENCAP_V2_IPV4 ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES;
	size_t head_len = l3_len + (encap == WIRE_ENCAP_V1 ? 0 : WIRE_UDP_BYTES);

	assert(len >= WIRE_BTH_BYTES);
	memcpy(head, l3, head_len);
	if (encap == WIRE_ENCAP_V2_IPV4)
		mask_ipv4(head);
	else
		mask_ipv6(head);
	if (encap != WIRE_ENCAP_V1)
		mask_udp(head + l3_len);
	return feed_packet(head, head_len, ib, len);
}

/* a times b modulo the polynomial. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (int bit = 0; bit < 32; bit++) {
		product ^= b & -(a >> 31);
		a <<= 1;
		b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
	}
	return product;
}

/* Divides by x. */
static uint32_t step_back(uint32_t v)
{
	return v >> 31 ? (v ^ POLYNOMIAL) << 1 | 1 : v << 1;
}

/* Covered bytes behind the flags of the longest ordinary packet: the rest of IPv4, UDP, the packet without its ICRC. */
#define BEHIND_MAX (WIRE_IPV4_BYTES - 8 + WIRE_UDP_BYTES + WIRE_PACKET_MAX - WIRE_ICRC_BYTES)

static pthread_once_t powers_once = PTHREAD_ONCE_INIT;
static uint32_t powers[BEHIND_MAX + 1]; /* [n] = x^-(8n + 32); written once, under powers_once */

static void make_powers(void)
{
	uint32_t v = X_TO_THE_0;

	for (int bit = 0; bit < 32; bit++)
		v = step_back(v);
	for (size_t n = 0; n <= BEHIND_MAX; n++) {
		powers[n] = v;
		for (int bit = 0; bit < 8; bit++)
			v = step_back(v);
	}
}

/* The four bytes (first lowest) whose difference, n bytes before the end, makes this difference of ICRCs. */
static uint32_t solve(uint32_t difference, size_t behind)
{
	pthread_once(&powers_once, make_powers);
	/* Longer than any packet that we send: in strides of the table, whose every step divides by four bytes too many. */
	while (behind > BEHIND_MAX) {
		difference = multiply(difference, powers[BEHIND_MAX - 4]);
		behind -= BEHIND_MAX;
	}
	return multiply(difference, powers[behind]);
}

enum wire_icrc_result wire_icrc_verify(const struct wire_icrc_flow *flow, uint16_t ip_id, const uint8_t *ib, size_t len,
				       uint16_t *found_id)
{
	uint32_t difference, word;
	uint16_t flags;

	if (len < WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
		return WIRE_ICRC_BAD;
	len -= WIRE_ICRC_BYTES;
	difference = wire_icrc_compute(flow, ip_id, ib, len) ^ wire_icrc_load(ib + len);
	if (difference == 0)
		return WIRE_ICRC_GOOD;
	if (flow->encap != WIRE_ENCAP_V2_IPV4)
		return WIRE_ICRC_BAD;
	word = solve(difference, WIRE_IPV4_BYTES - 8 + WIRE_UDP_BYTES + len);
	flags = (uint16_t)((word >> 16 & 0xff) << 8 | word >> 24);
	if (flags != 0 && flags != WIRE_IPV4_DF)
		return WIRE_ICRC_BAD;
	if (found_id != NULL)
		*found_id = ip_id ^ (uint16_t)((word & 0xff) << 8 | (word >> 8 & 0xff));
	return WIRE_ICRC_FOREIGN_ID;
}
