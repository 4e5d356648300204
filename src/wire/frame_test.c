/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ethernet, IP, UDP and whole frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "wire/frame.h"
#include "wire/test_vectors.h"

/* Every vector decodes with any Ethernet padding behind it; each of its truncations is refused, reading nothing beyond. */
static void vectors_decode_and_their_truncations_do_not(void **state)
{
	for (size_t i = 0; i < TEST_VECTOR_COUNT; i++) {
		const struct test_vector *v = &test_vectors[i];
		uint8_t buf[TEST_VECTOR_MAX] = {0};
		size_t len = test_vector_bytes(buf, v);
		struct wire_frame frame;
		struct wire_packet packet;

		for (size_t padding = 0; padding < 8; padding++) {
			memset(buf + len, 0xa5, padding);
			assert_int_equal(wire_frame_decode(&frame, buf, len + padding), BASE_OK);
			assert_int_equal(frame.encap, v->encap);
			assert_ptr_equal(frame.ib, buf + v->ib_at);
			assert_int_equal(frame.ib_len, len - v->ib_at);
			assert_int_equal(frame.eth.dst[0] | frame.eth.src[0], buf[0] | buf[6]);
			if (v->encap != WIRE_ENCAP_V1)
				assert_int_equal(frame.udp.dst_port, 4791);
			if (v->encap == WIRE_ENCAP_V2_IPV4)
				assert_int_equal(frame.ipv4.id, v->ip_id);
			assert_int_equal(wire_packet_decode(&packet, frame.ib, frame.ib_len), BASE_OK);
			assert_int_equal(packet.bth.opcode, v->opcode);
		}
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *copy = test_exact_copy(buf, cut);

			assert_int_equal(wire_frame_decode(&frame, copy, cut), BASE_ERR_TRUNCATED);
			free(copy);
		}
	}
}

/* What a decoded frame says, written again, is the frame, but for a UDP checksum. */
static void vectors_come_back(void **state)
{
	for (size_t i = 0; i < TEST_VECTOR_COUNT; i++) {
		uint8_t buf[TEST_VECTOR_MAX], again[TEST_VECTOR_MAX];
		size_t len = test_vector_bytes(buf, &test_vectors[i]);
		struct wire_frame frame, bare;

		assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_OK);
		if (frame.encap != WIRE_ENCAP_V1)
			wire_be16_store(buf + test_vectors[i].ib_at - 2, 0);
		bare = frame;
		bare.eth.ethertype = 0;
		assert_int_equal(wire_frame_encode(again, sizeof(again), &bare, frame.ib, frame.ib_len - 4), len);
		assert_memory_equal(again, buf, len);
		assert_int_equal(wire_frame_encode(again, len, &bare, frame.ib, frame.ib_len - 4), len);
		assert_int_equal(wire_frame_encode(again, len - 1, &bare, frame.ib, frame.ib_len - 4), BASE_ERR_RANGE);
		assert_int_equal(wire_frame_encode(again, sizeof(again), &bare, frame.ib, 11), BASE_ERR_INVAL);
		assert_int_equal(wire_frame_encode_headers(again, &bare, 70000), BASE_ERR_RANGE);
		assert_int_equal(wire_frame_encode_headers(again, &bare, 65536), BASE_ERR_RANGE);
		assert_true(wire_frame_encode_headers(again, &bare, 65535 - 28) > 0);
	}
}

/* One byte changed in a vector, and the verdict. Offsets are from the start of the frame. */
static void form_errors_are_told_apart(void **state)
{
	static const struct {
		const char *what;
		char vector;
		size_t at;
		uint8_t byte;
		int verdict;
	} rows[] = {
		{"another Ethertype", 'A', 13, 0x06, BASE_ERR_UNSUPPORTED},
		{"IPv4 says version 6", 'A', 14, 0x65, BASE_ERR_MALFORMED},
		{"IPv4 with options", 'A', 14, 0x46, BASE_ERR_MALFORMED},
		{"TCP", 'A', 23, 6, BASE_ERR_UNSUPPORTED},
		{"total length too long for the frame", 'A', 17, 0x35, BASE_ERR_MALFORMED},
		{"total length less than a header", 'A', 17, 19, BASE_ERR_MALFORMED},
		{"first fragment", 'A', 20, 0x20, BASE_ERR_MALFORMED},
		{"later fragment", 'A', 21, 1, BASE_ERR_UNSUPPORTED},
		{"no DF", 'A', 20, 0, BASE_OK},
		{"another port", 'A', 37, 0xb8, BASE_ERR_UNSUPPORTED},
		{"UDP length one less", 'A', 39, 0x1f, BASE_ERR_MALFORMED},
		{"UDP length one more", 'A', 39, 0x21, BASE_ERR_MALFORMED},
		{"UDP checksum", 'A', 40, 1, BASE_OK},
		{"IPv6 says version 4", 'D', 14, 0x46, BASE_ERR_MALFORMED},
		{"IPv6 extension header", 'D', 20, 0, BASE_ERR_UNSUPPORTED},
		{"IPv6 payload length one more", 'D', 19, 0x2d, BASE_ERR_MALFORMED},
		{"IPv6 payload length 0", 'D', 19, 0, BASE_ERR_MALFORMED},
		{"GRH before a raw packet", 'E', 20, 0x1c, BASE_ERR_MALFORMED},
		{"GRH of version 4", 'E', 14, 0x46, BASE_ERR_MALFORMED},
		{"GRH length one more", 'E', 19, 0x25, BASE_ERR_TRUNCATED},
		{"GRH length less than a packet", 'E', 19, 15, BASE_ERR_TRUNCATED},
		{"GRH length of the least packet", 'E', 19, 16, BASE_OK},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t buf[TEST_VECTOR_MAX];
		size_t len = test_vector_bytes(buf, &test_vectors[rows[i].vector - 'A']);
		struct wire_frame frame;

		print_message("%s\n", rows[i].what);
		assert_int_not_equal(buf[rows[i].at], rows[i].byte);
		buf[rows[i].at] = rows[i].byte;
		assert_int_equal(wire_frame_decode(&frame, buf, len), rows[i].verdict);
	}
}

/* Both lengths agree with each other and not with the frame; or are too short for a packet. */
static void lengths_that_agree_but_lie(void **state)
{
	uint8_t buf[TEST_VECTOR_MAX];
	size_t len = test_vector_bytes(buf, &test_vectors[0]);
	struct wire_frame frame;

	buf[17] += 1;
	buf[39] += 1;
	assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_ERR_TRUNCATED);
	assert_int_equal(wire_frame_decode(&frame, buf, len + 1), BASE_OK);
	buf[17] = 28 + 15;
	buf[39] = 8 + 15;
	assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_ERR_TRUNCATED);
	buf[17] = 28 + 16;
	buf[39] = 8 + 16;
	assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_OK);
	assert_int_equal(frame.ib_len, 16);
	buf[17] = 20 + 7;
	buf[39] = 7;
	assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_ERR_MALFORMED);
}

static void tags(void **state)
{
	struct wire_eth in = {.dst = {1, 2, 3, 4, 5, 6}, .src = {7, 8, 9, 10, 11, 12}, .ethertype = 0x8915, .vlan_count = 2,
			      .vlan = {{WIRE_ETHERTYPE_SERVICE_VLAN, 0x6005}, {WIRE_ETHERTYPE_VLAN, 0x0fff}}}, out;
	static const uint8_t expected[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
					   0x88, 0xa8, 0x60, 5, 0x81, 0, 0xf, 0xff, 0x89, 0x15};
	uint8_t buf[WIRE_ETH_BYTES_MAX + 4];

	assert_int_equal(wire_eth_encode(buf, &in), sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
	for (size_t cut = 0; cut < sizeof(expected); cut++)
		assert_int_equal(wire_eth_decode(&out, buf, cut), BASE_ERR_TRUNCATED);
	assert_int_equal(wire_eth_decode(&out, buf, sizeof(expected)), sizeof(expected));
	assert_int_equal(out.vlan_count, 2);
	assert_int_equal(out.vlan[0].tpid, 0x88a8);
	assert_int_equal(out.vlan[0].tci, 0x6005);
	assert_int_equal(out.vlan[1].tci, 0x0fff);
	assert_int_equal(out.ethertype, 0x8915);
	/* A third tag is not taken off: the frame is none of ours. */
	wire_be16_store(buf + 20, WIRE_ETHERTYPE_VLAN);
	assert_int_equal(wire_eth_decode(&out, buf, sizeof(buf)), sizeof(expected));
	assert_int_equal(out.ethertype, WIRE_ETHERTYPE_VLAN);
}

static void ip_headers(void **state)
{
	uint8_t buf[TEST_VECTOR_MAX], again[48];
	struct wire_ipv4 ip4;
	struct wire_ipv6 ip6;
	struct wire_grh grh;
	struct wire_udp udp;

	test_vector_bytes(buf, &test_vectors[2]);
	assert_int_equal(wire_ipv4_checksum(buf + 14), 0xf7c7);
	assert_int_equal(wire_ipv4_decode(&ip4, buf + 14, 20), 20);
	assert_int_equal(ip4.tos, 2);
	assert_int_equal(ip4.total_len, 48);
	assert_int_equal(ip4.id, 0xbeef);
	assert_int_equal(ip4.fragment, 0x4000);
	assert_int_equal(ip4.ttl, 64);
	assert_int_equal(ip4.protocol, 17);
	assert_int_equal(ip4.checksum, 0xf7c7);
	ip4.checksum = 0;
	assert_int_equal(wire_ipv4_encode(again, &ip4), 20);
	assert_memory_equal(again, buf + 14, 20);

	test_vector_bytes(buf, &test_vectors[3]);
	assert_int_equal(wire_ipv6_decode(&ip6, buf + 14, 40), 40);
	assert_int_equal(ip6.traffic_class, 0x68);
	assert_int_equal(ip6.flow_label, 0x12345);
	assert_int_equal(ip6.payload_len, 44);
	assert_int_equal(ip6.next_header, 17);
	assert_int_equal(ip6.hop_limit, 64);
	assert_int_equal(wire_ipv6_encode(again, &ip6), 40);
	assert_memory_equal(again, buf + 14, 40);
	assert_int_equal(wire_udp_decode(&udp, buf + 54, 8), 8);
	assert_int_equal(udp.length, 44);
	assert_int_equal(wire_udp_encode(again, &udp), 8);
	assert_memory_equal(again, buf + 54, 8);

	test_vector_bytes(buf, &test_vectors[4]);
	assert_int_equal(wire_grh_decode(&grh, buf + 14, 40), 40);
	assert_int_equal(grh.next_header, 0x1b);
	assert_true(wire_gid_is_link_local(&grh.sgid) && wire_gid_is_link_local(&grh.dgid));
	assert_false(wire_gid_equal(&grh.sgid, &grh.dgid));
	assert_int_equal(wire_grh_encode(again, &grh), 40);
	assert_memory_equal(again, buf + 14, 40);
}

static void ends_are_gids(void **state)
{
	static const struct {
		char vector;
		const char *sgid, *dgid;
	} rows[] = {
		{'A', "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
		{'D', "2001:db8::1", "2001:db8::2"},
		{'E', "fe80::ff:fe00:1", "fe80::ff:fe00:2"},
		{'F', "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t buf[TEST_VECTOR_MAX];
		size_t len = test_vector_bytes(buf, &test_vectors[rows[i].vector - 'A']);
		struct wire_frame frame;
		struct wire_gid gid;
		char text[WIRE_GID_TEXT];

		assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_OK);
		gid = wire_frame_sgid(&frame);
		assert_string_equal(wire_gid_to_address(text, &gid), rows[i].sgid);
		gid = wire_frame_dgid(&frame);
		assert_string_equal(wire_gid_to_address(text, &gid), rows[i].dgid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_decode_and_their_truncations_do_not),
		cmocka_unit_test(vectors_come_back),
		cmocka_unit_test(form_errors_are_told_apart),
		cmocka_unit_test(lengths_that_agree_but_lie),
		cmocka_unit_test(tags),
		cmocka_unit_test(ip_headers),
		cmocka_unit_test(ends_are_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
