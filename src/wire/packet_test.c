/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "wire/packet.h"
#include "wire/test_vectors.h"

/* A packet with every field random but in range. */
static struct wire_packet random_packet(struct base_random *r, uint8_t opcode)
{
	uint64_t bits = base_random_next(r);

	return (struct wire_packet){
		.bth = {
			.opcode = opcode,
			.solicited = bits & 1,
			.migreq = bits & 2,
			.ack_req = bits & 4,
			.fecn = bits & 8,
			.becn = bits & 16,
			.pad = bits >> 5 & 3,
			.pkey = (uint16_t)(bits >> 7),
			.dest_qpn = base_random_next(r) & 0xffffff,
			.psn = base_random_next(r) & 0xffffff,
		},
		.deth = {.qkey = (uint32_t)base_random_next(r), .src_qpn = base_random_next(r) & 0xffffff},
		.reth = {.va = base_random_next(r), .rkey = (uint32_t)base_random_next(r), .length = (uint32_t)base_random_next(r)},
		.aeth = {.syndrome = (uint8_t)base_random_next(r), .msn = base_random_next(r) & 0xffffff},
		.atomic = {.va = base_random_next(r), .rkey = (uint32_t)base_random_next(r),
			   .swap_or_add = base_random_next(r), .compare = base_random_next(r)},
		.atomic_ack = base_random_next(r),
		.imm = (uint32_t)base_random_next(r),
		.inv_rkey = (uint32_t)base_random_next(r),
		.xrc_srqn = base_random_next(r) & 0xffffff,
		.feth = {.placement = base_random_next(r) & 15, .selector = base_random_next(r) & 3},
	};
}

static void assert_same(const struct wire_packet *a, const struct wire_packet *b, uint16_t has)
{
	assert_int_equal(a->bth.opcode, b->bth.opcode);
	assert_int_equal(a->bth.solicited, b->bth.solicited);
	assert_int_equal(a->bth.migreq, b->bth.migreq);
	assert_int_equal(a->bth.ack_req, b->bth.ack_req);
	assert_int_equal(a->bth.fecn, b->bth.fecn);
	assert_int_equal(a->bth.becn, b->bth.becn);
	assert_int_equal(a->bth.pad, b->bth.pad);
	assert_int_equal(a->bth.tver, b->bth.tver);
	assert_int_equal(a->bth.pkey, b->bth.pkey);
	assert_int_equal(a->bth.dest_qpn, b->bth.dest_qpn);
	assert_int_equal(a->bth.psn, b->bth.psn);
	if (has & WIRE_HAS_DETH) {
		assert_int_equal(a->deth.qkey, b->deth.qkey);
		assert_int_equal(a->deth.src_qpn, b->deth.src_qpn);
	}
	if (has & WIRE_HAS_RETH) {
		assert_int_equal(a->reth.va, b->reth.va);
		assert_int_equal(a->reth.rkey, b->reth.rkey);
		assert_int_equal(a->reth.length, b->reth.length);
	}
	if (has & WIRE_HAS_AETH) {
		assert_int_equal(a->aeth.syndrome, b->aeth.syndrome);
		assert_int_equal(a->aeth.msn, b->aeth.msn);
	}
	if (has & WIRE_HAS_ATOMICETH) {
		assert_int_equal(a->atomic.va, b->atomic.va);
		assert_int_equal(a->atomic.rkey, b->atomic.rkey);
		assert_int_equal(a->atomic.swap_or_add, b->atomic.swap_or_add);
		assert_int_equal(a->atomic.compare, b->atomic.compare);
	}
	if (has & WIRE_HAS_FETH) {
		assert_int_equal(a->feth.placement, b->feth.placement);
		assert_int_equal(a->feth.selector, b->feth.selector);
	}
	assert_true(!(has & WIRE_HAS_ATOMICACKETH) || a->atomic_ack == b->atomic_ack);
	assert_true(!(has & WIRE_HAS_IMMDT) || a->imm == b->imm);
	assert_true(!(has & WIRE_HAS_IETH) || a->inv_rkey == b->inv_rkey);
	assert_true(!(has & WIRE_HAS_XRCETH) || a->xrc_srqn == b->xrc_srqn);
}

/* Every opcode, with random fields and every pad: out and back; and each length below the least is refused. */
static void every_opcode_comes_back(void **state)
{
	struct base_random r = {.state = 42};

	for (int code = 0; code < 256; code++) {
		const struct wire_opcode *op = wire_opcode_find((uint8_t)code);

		for (int round = 0; round < 16; round++) {
			struct wire_packet in = random_packet(&r, (uint8_t)code), out;
			uint8_t buf[WIRE_PACKET_MAX_HEADERS + 16 + 3 + WIRE_ICRC_BYTES], *copy;
			size_t len = wire_packet_encode_headers(buf, &in), least = len + in.bth.pad + WIRE_ICRC_BYTES;
			uint32_t payload_len = (uint32_t)round;

			if (op == NULL) {
				assert_int_equal(len, 0);
				wire_bth_encode(buf, &in.bth);
				memset(buf + WIRE_BTH_BYTES, 0, sizeof(buf) - WIRE_BTH_BYTES);
				assert_int_equal(wire_packet_decode(&out, buf, sizeof(buf)), BASE_ERR_MALFORMED);
				continue;
			}
			assert_int_equal(len, op->header_bytes);
			for (size_t shorter = 0; shorter < least; shorter++) {
				copy = test_exact_copy(buf, shorter);
				assert_int_equal(wire_packet_decode(&out, copy, shorter), BASE_ERR_TRUNCATED);
				free(copy);
			}
			copy = test_exact_copy(buf, least + payload_len);
			assert_int_equal(wire_packet_decode(&out, copy, least + payload_len), BASE_OK);
			assert_ptr_equal(out.op, op);
			assert_ptr_equal(out.payload, copy + len);
			assert_int_equal(out.payload_len, payload_len);
			assert_same(&in, &out, op->has);
			copy[1] |= (uint8_t)(1 << (round & 3));
			assert_int_equal(wire_packet_decode(&out, copy, least + payload_len), BASE_ERR_MALFORMED);
			free(copy);
		}
	}
}

/* The encoders cut what does not fit its field, so that neighbours stay whole. */
static void fields_do_not_spill(void **state)
{
	struct wire_packet in = {.bth = {.opcode = WIRE_UD_SEND_ONLY, .pad = 0xff, .tver = 0xf0, .dest_qpn = 0xff000001,
					 .psn = 0xff000002},
				 .deth = {.qkey = 1, .src_qpn = 0xff000003}};
	uint8_t buf[WIRE_PACKET_MAX_HEADERS];
	static const uint8_t expected[] = {0x64, 0x30, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3};

	assert_int_equal(wire_packet_encode_headers(buf, &in), sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
}

/* Reserved bits are ignored. */
static void reserved_bits_are_ignored(void **state)
{
	uint8_t buf[] = {0x64, 0, 0xff, 0xff, 0x3f, 0, 0, 9, 0x7f, 0, 0, 8, 0, 0, 0, 1, 0xff, 0, 0, 7, 0, 0, 0, 0};
	struct wire_packet out;

	assert_int_equal(wire_packet_decode(&out, buf, sizeof(buf)), BASE_OK);
	assert_int_equal(out.bth.dest_qpn, 9);
	assert_int_equal(out.bth.psn, 8);
	assert_false(out.bth.fecn || out.bth.becn || out.bth.ack_req);
	assert_int_equal(out.deth.src_qpn, 7);
}

static struct wire_packet decode_vector(size_t index, uint8_t buf[TEST_VECTOR_MAX])
{
	size_t len = test_vector_bytes(buf, &test_vectors[index]), at = test_vectors[index].ib_at;
	struct wire_packet packet;

	assert_int_equal(wire_packet_decode(&packet, buf + at, len - at), BASE_OK);
	assert_int_equal(packet.bth.opcode, test_vectors[index].opcode);
	assert_int_equal(packet.bth.pkey, 0xffff);
	return packet;
}

static void vectors_say_what_they_should(void **state)
{
	uint8_t buf[TEST_VECTOR_MAX];
	struct wire_packet p = decode_vector(0, buf);
	static const uint8_t deadbeef[] = {0xde, 0xad, 0xbe, 0xef};

	assert_true(p.bth.solicited && p.bth.ack_req && !p.bth.migreq);
	assert_int_equal(p.bth.pad, 3);
	assert_int_equal(p.bth.dest_qpn, 0x11);
	assert_int_equal(p.bth.psn, 0x10203);
	assert_int_equal(p.payload_len, 5);
	assert_memory_equal(p.payload, "hello", 5);

	p = decode_vector(2, buf);
	assert_int_equal(p.aeth.syndrome, 0x1f);
	assert_int_equal(p.aeth.msn, 1);
	assert_int_equal(p.payload_len, 0);

	p = decode_vector(3, buf);
	assert_int_equal(p.deth.qkey, 0x11111111);
	assert_int_equal(p.deth.src_qpn, 0x22);
	assert_memory_equal(&p.imm, deadbeef, 4);
	assert_memory_equal(p.payload, "ABCDEFGH", 8);
	assert_int_equal(p.payload_len, 8);

	p = decode_vector(4, buf);
	assert_int_equal(p.reth.va, 0x7f0012345678);
	assert_int_equal(p.reth.rkey, 0x1234);
	assert_int_equal(p.reth.length, 4);
	assert_int_equal(p.payload_len, 4);
	assert_int_equal(p.bth.psn, 0xfffffe);

	p = decode_vector(5, buf);
	assert_int_equal(p.atomic.va, 0x7f0000001000);
	assert_int_equal(p.atomic.rkey, 0x5678);
	assert_int_equal(p.atomic.swap_or_add, 0x1111111111111111);
	assert_int_equal(p.atomic.compare, 0x2222222222222222);
	assert_int_equal(p.payload_len, 0);

	p = decode_vector(6, buf);
	assert_true(p.bth.becn && !p.bth.fecn);
	assert_int_equal(p.op->role & WIRE_ROLE_CNP, WIRE_ROLE_CNP);

	p = decode_vector(7, buf);
	assert_true(p.bth.migreq);
	assert_int_equal(p.bth.pad, 2);
}

/* Pads as the standard has them: to a multiple of four. */
static void pads(void **state)
{
	for (uint32_t len = 0; len < 20; len++)
		assert_int_equal((len + wire_packet_pad(len)) % 4, 0);
	assert_int_equal(wire_packet_pad(4), 0);
	assert_int_equal(wire_packet_pad(5), 3);
}

/* The single codecs that packets do not go through, and what each refuses. */
static void single_headers(void **state)
{
	static const uint8_t bytes[] = {0xff, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde};
	struct wire_xrceth xrceth;
	struct wire_atomicacketh ack;
	struct wire_immdt immdt;
	struct wire_ieth ieth;
	uint8_t buf[8];

	for (size_t len = 0; len < 4; len++) {
		assert_int_equal(wire_xrceth_decode(&xrceth, bytes, len), BASE_ERR_TRUNCATED);
		assert_int_equal(wire_immdt_decode(&immdt, bytes, len), BASE_ERR_TRUNCATED);
		assert_int_equal(wire_ieth_decode(&ieth, bytes, len), BASE_ERR_TRUNCATED);
	}
	assert_int_equal(wire_atomicacketh_decode(&ack, bytes, 7), BASE_ERR_TRUNCATED);
	assert_int_equal(wire_xrceth_decode(&xrceth, bytes, 8), 4);
	assert_int_equal(xrceth.srqn, 0x123456);
	assert_int_equal(wire_immdt_decode(&immdt, bytes, 4), 4);
	assert_memory_equal(&immdt.imm, bytes, 4);
	assert_int_equal(wire_ieth_decode(&ieth, bytes, 4), 4);
	assert_int_equal(ieth.rkey, 0xff123456);
	assert_int_equal(wire_atomicacketh_decode(&ack, bytes, 8), 8);
	assert_int_equal(ack.original, 0xff123456789abcde);

	assert_int_equal(wire_xrceth_encode(buf, &xrceth), 4);
	assert_memory_equal(buf, "\0\x12\x34\x56", 4);
	assert_int_equal(wire_immdt_encode(buf, &immdt), 4);
	assert_memory_equal(buf, bytes, 4);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(wire_ieth_encode(buf, &ieth), 4);
	assert_memory_equal(buf, bytes, 4);
	assert_int_equal(wire_atomicacketh_encode(buf, &ack), 8);
	assert_memory_equal(buf, bytes, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_comes_back),
		cmocka_unit_test(fields_do_not_spill),
		cmocka_unit_test(reserved_bits_are_ignored),
		cmocka_unit_test(vectors_say_what_they_should),
		cmocka_unit_test(pads),
		cmocka_unit_test(single_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
