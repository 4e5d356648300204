/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "wire/frame.h"
#include "wire/icrc_reference.h"
#include "wire/test_vectors.h"

static struct wire_icrc_flow flow_of(const struct wire_frame *frame)
{
	struct wire_icrc_flow flow;

	if (frame->encap == WIRE_ENCAP_V1)
		wire_icrc_flow_grh(&flow, &frame->grh.sgid, &frame->grh.dgid);
	else if (frame->encap == WIRE_ENCAP_V2_IPV4)
		wire_icrc_flow_ipv4(&flow, frame->ipv4.src, frame->ipv4.dst, frame->udp.src_port, frame->udp.dst_port);
	else
		wire_icrc_flow_ipv6(&flow, frame->ipv6.src, frame->ipv6.dst, frame->udp.src_port, frame->udp.dst_port);
	return flow;
}

static void vectors(void **state)
{
	for (size_t i = 0; i < TEST_VECTOR_COUNT; i++) {
		const struct test_vector *v = &test_vectors[i];
		uint8_t buf[TEST_VECTOR_MAX], reference[4], stored[4];
		size_t len = test_vector_bytes(buf, v), covered = len - v->ib_at - 4, at;
		struct wire_frame frame;
		struct wire_icrc_flow flow;
		uint16_t id = 1;

		print_message("%s\n", v->name);
		assert_true(icrc_reference(buf, len, reference, &at));
		assert_int_equal(at, len - 4);
		assert_memory_equal(reference, buf + len - 4, 4);

		assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_OK);
		assert_true(wire_frame_icrc_is_good(&frame));
		flow = flow_of(&frame);
		wire_icrc_store(stored, wire_icrc_compute(&flow, v->ip_id, buf + v->ib_at, covered));
		assert_memory_equal(stored, buf + len - 4, 4);
		assert_int_equal(wire_icrc_verify(&flow, v->ip_id, buf + v->ib_at, covered + 4, NULL), WIRE_ICRC_GOOD);
		if (v->encap == WIRE_ENCAP_V2_IPV4 && v->ip_id != 0) {
			assert_int_equal(wire_icrc_verify(&flow, 0, buf + v->ib_at, covered + 4, &id), WIRE_ICRC_FOREIGN_ID);
			assert_int_equal(id, v->ip_id);
		} else {
			assert_int_equal(wire_icrc_verify(&flow, 0, buf + v->ib_at, covered + 4, &id), WIRE_ICRC_GOOD);
			assert_int_equal(id, 1);
		}
		for (size_t cut = 0; cut < WIRE_BTH_BYTES + WIRE_ICRC_BYTES; cut++) {
			uint8_t *copy = test_exact_copy(buf + v->ib_at, cut);

			assert_int_equal(wire_icrc_verify(&flow, v->ip_id, copy, cut, NULL), WIRE_ICRC_BAD);
			free(copy);
		}
	}
}

/* A random frame of this encapsulation with `len` random bytes from BTH to pad; returns the length with the ICRC. */
static size_t random_frame(struct base_random *r, uint8_t *buf, size_t room, enum wire_encap encap, size_t len, uint16_t id,
			   uint16_t fragment)
{
	static uint8_t ib[70000];
	struct wire_frame frame = {.encap = encap};
	ssize_t total;

	for (size_t i = 0; i < len; i++)
		ib[i] = (uint8_t)base_random_next(r);
	if (encap == WIRE_ENCAP_V1) {
		frame.grh = (struct wire_grh){.traffic_class = 7, .hop_limit = 9, .flow_label = 0x12345};
		for (int i = 0; i < 16; i++) {
			frame.grh.sgid.raw[i] = (uint8_t)base_random_next(r);
			frame.grh.dgid.raw[i] = (uint8_t)base_random_next(r);
		}
	} else if (encap == WIRE_ENCAP_V2_IPV4) {
		frame.ipv4 = (struct wire_ipv4){.tos = 3, .ttl = 5, .id = id, .fragment = fragment};
		wire_be32_store(frame.ipv4.src, (uint32_t)base_random_next(r));
		wire_be32_store(frame.ipv4.dst, (uint32_t)base_random_next(r));
	} else {
		frame.ipv6 = (struct wire_ipv6){.traffic_class = 7, .hop_limit = 9, .flow_label = 0x12345};
		for (int i = 0; i < 16; i++) {
			frame.ipv6.src[i] = (uint8_t)base_random_next(r);
			frame.ipv6.dst[i] = (uint8_t)base_random_next(r);
		}
	}
	frame.udp.src_port = (uint16_t)base_random_next(r);
	total = wire_frame_encode(buf, room, &frame, ib, len);
	assert_true(total > 0);
	return (size_t)total;
}

/* Random packets of all lengths: encoder, frame check, flow and the second implementation agree; so does every split. */
static void agrees_with_the_reference(void **state)
{
	static uint8_t buf[WIRE_FRAME_MAX_HEADERS + 4200];
	struct base_random r = {.state = 7};

	for (size_t len = WIRE_BTH_BYTES; len < 4150; len += len < 200 ? 1 : 1 + base_random_below(&r, 90)) {
		for (enum wire_encap encap = WIRE_ENCAP_V1; encap <= WIRE_ENCAP_V2_IPV6; encap++) {
			uint16_t id = (uint16_t)base_random_next(&r);
			size_t total = random_frame(&r, buf, sizeof(buf), encap, len, id, WIRE_IPV4_DF), at;
			size_t split = WIRE_BTH_BYTES + base_random_below(&r, len - WIRE_BTH_BYTES + 1);
			struct wire_frame frame;
			struct wire_icrc_flow flow;
			uint8_t reference[4];
			uint32_t icrc;

			assert_true(icrc_reference(buf, total, reference, &at));
			assert_int_equal(at, total - 4);
			assert_memory_equal(reference, buf + at, 4);
			assert_int_equal(wire_frame_decode(&frame, buf, total), BASE_OK);
			assert_int_equal(frame.ib_len, len + 4);
			assert_true(wire_frame_icrc_is_good(&frame));
			flow = flow_of(&frame);
			icrc = wire_icrc_compute(&flow, id, frame.ib, len);
			assert_int_equal(icrc, wire_icrc_load(buf + at));
			assert_int_equal(wire_icrc_continue(wire_icrc_begin(&flow, id, frame.ib, split, len), frame.ib + split, len - split),
					 icrc);
		}
	}
}

/* FECN, BECN, TOS, TTL, checksums may change on the way; a flip of any other bit is seen. */
static void each_bit_counts_or_is_masked(void **state)
{
	for (size_t i = 0; i < TEST_VECTOR_COUNT; i++) {
		uint8_t buf[TEST_VECTOR_MAX], reference[4];
		size_t len = test_vector_bytes(buf, &test_vectors[i]), l3, at;
		struct wire_frame frame, changed;

		assert_int_equal(wire_frame_decode(&frame, buf, len), BASE_OK);
		l3 = (size_t)(frame.l3 - buf);
		for (size_t bit = 8 * l3; bit < 8 * len; bit++) {
			bool good;

			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (wire_frame_decode(&changed, buf, len) == BASE_OK && icrc_reference(buf, len, reference, &at)) {
				good = memcmp(reference, buf + at, 4) == 0;
				assert_int_equal(wire_frame_icrc_is_good(&changed), good);
				if (bit / 8 >= test_vectors[i].ib_at)
					assert_int_equal(good, bit / 8 == test_vectors[i].ib_at + WIRE_BTH_VARIANT_BYTE);
			}
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

/* Whatever identification the sender's kernel chose, with DF and without it, at any length: found. */
static void foreign_ids_are_solved(void **state)
{
	static uint8_t buf[WIRE_FRAME_MAX_HEADERS + 65535];
	struct base_random r = {.state = 99};

	for (int round = 0; round < 3000; round++) {
		size_t most = round % 100 == 0 ? 65000 : round % 3 == 0 ? 4400 : 200;
		size_t len = WIRE_BTH_BYTES + base_random_below(&r, most), total;
		uint16_t id = (uint16_t)base_random_next(&r), expected = round % 2 ? 0 : (uint16_t)base_random_next(&r), found = 0;
		uint16_t fragment = round % 5 == 0 ? 0 : WIRE_IPV4_DF;
		struct wire_frame frame;
		struct wire_icrc_flow flow;
		enum wire_icrc_result result;

		total = random_frame(&r, buf, sizeof(buf), WIRE_ENCAP_V2_IPV4, len, id, fragment);
		assert_int_equal(wire_frame_decode(&frame, buf, total), BASE_OK);
		flow = flow_of(&frame);
		result = wire_icrc_verify(&flow, expected, frame.ib, frame.ib_len, &found);
		if (id == expected && fragment == WIRE_IPV4_DF) {
			assert_int_equal(result, WIRE_ICRC_GOOD);
		} else {
			assert_int_equal(result, WIRE_ICRC_FOREIGN_ID);
			assert_int_equal(found, id);
		}
	}
}

/* One wrong bit, in a packet whose identification is known or not: never accepted. Many wrong bits: hardly ever. */
static void damage_is_refused(void **state)
{
	static uint8_t buf[WIRE_FRAME_MAX_HEADERS + 4200];
	struct base_random r = {.state = 5};
	int accepted = 0;

	for (int round = 0; round < 4000; round++) {
		size_t len = WIRE_BTH_BYTES + base_random_below(&r, 1100), total, bit;
		uint16_t id = round % 2 ? 0 : (uint16_t)base_random_next(&r), found = 0;
		struct wire_frame frame;
		struct wire_icrc_flow flow;

		total = random_frame(&r, buf, sizeof(buf), WIRE_ENCAP_V2_IPV4, len, id, WIRE_IPV4_DF);
		assert_int_equal(wire_frame_decode(&frame, buf, total), BASE_OK);
		flow = flow_of(&frame);
		do
			bit = base_random_below(&r, 8 * frame.ib_len);
		while (bit / 8 == WIRE_BTH_VARIANT_BYTE);
		buf[(size_t)(frame.ib - buf) + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(wire_icrc_verify(&flow, 0, frame.ib, frame.ib_len, &found), WIRE_ICRC_BAD);
		assert_int_equal(found, 0);
		for (int i = 0; i < 8; i++)
			buf[(size_t)(frame.ib - buf) + base_random_below(&r, frame.ib_len)] ^= (uint8_t)base_random_next(&r);
		accepted += wire_icrc_verify(&flow, 0, frame.ib, frame.ib_len, NULL) != WIRE_ICRC_BAD;
	}
	assert_in_range(accepted, 0, 2);
}

/* Where the headers are known, the whole ICRC counts: no identification is solved for. */
static void ipv6_and_grh_are_exact(void **state)
{
	static uint8_t buf[WIRE_FRAME_MAX_HEADERS + 300];
	struct base_random r = {.state = 3};
	struct wire_frame frame;
	struct wire_icrc_flow flow;
	size_t total;

	for (enum wire_encap encap = WIRE_ENCAP_V1; encap <= WIRE_ENCAP_V2_IPV6; encap += WIRE_ENCAP_V2_IPV6 - WIRE_ENCAP_V1) {
		total = random_frame(&r, buf, sizeof(buf), encap, 100, 0, 0);
		assert_int_equal(wire_frame_decode(&frame, buf, total), BASE_OK);
		flow = flow_of(&frame);
		assert_int_equal(wire_icrc_verify(&flow, 77, frame.ib, frame.ib_len, NULL), WIRE_ICRC_GOOD);
		for (size_t bit = 0; bit < 32; bit++) {
			buf[total - 4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(wire_icrc_verify(&flow, 0, frame.ib, frame.ib_len, NULL), WIRE_ICRC_BAD);
			buf[total - 4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void flows_by_gid(void **state)
{
	static const uint8_t v4a[4] = {192, 0, 2, 1}, v4b[4] = {192, 0, 2, 2};
	struct wire_gid a = wire_gid_from_ipv4(v4a), b = wire_gid_from_ipv4(v4b), c = {{0x20, 1}};
	struct wire_icrc_flow by_gid, by_address;

	memset(&by_gid, 0, sizeof(by_gid));
	memset(&by_address, 0, sizeof(by_address));
	wire_icrc_flow_gids(&by_gid, &a, &b, 0xc000, 4791);
	wire_icrc_flow_ipv4(&by_address, v4a, v4b, 0xc000, 4791);
	assert_memory_equal(&by_gid, &by_address, sizeof(by_gid));
	wire_icrc_flow_gids(&by_gid, &a, &c, 0xc000, 4791);
	wire_icrc_flow_ipv6(&by_address, a.raw, c.raw, 0xc000, 4791);
	assert_memory_equal(&by_gid, &by_address, sizeof(by_gid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(agrees_with_the_reference),
		cmocka_unit_test(each_bit_counts_or_is_masked),
		cmocka_unit_test(foreign_ids_are_solved),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(ipv6_and_grh_are_exact),
		cmocka_unit_test(flows_by_gid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
