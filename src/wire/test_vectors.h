/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole Ethernet frames without FCS whose last four bytes are the ICRC. A to F were made from the definition and confirmed by
 * three implementations; H1 and H2 were sent by adapters. For tests only.
 */
#ifndef WIRE_TEST_VECTORS_H
#define WIRE_TEST_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/icrc.h"

struct test_vector {
	const char *name;
	enum wire_encap encap;
	size_t ib_at; /* where the BTH stands */
	uint8_t opcode;
	uint16_t ip_id; /* IPv4 only */
	const char *hex;
};

static const struct test_vector test_vectors[] = {
	{"A: RC SEND_ONLY, 5 bytes and 3 of pad", WIRE_ENCAP_V2_IPV4, 42, WIRE_RC_SEND_ONLY, 0x0000,
	 "020000000002020000000001080045000034000040004011b6b5c0000201c0000202c00012b70020000004b0ffff0000"
	 "00118001020368656c6c6f000000ecaf53b0"},
	{"B: A with identification 1", WIRE_ENCAP_V2_IPV4, 42, WIRE_RC_SEND_ONLY, 0x0001,
	 "020000000002020000000001080045000034000140004011b6b4c0000201c0000202c00012b70020000004b0ffff0000"
	 "00118001020368656c6c6f000000175940f7"},
	{"C: RC ACK", WIRE_ENCAP_V2_IPV4, 42, WIRE_RC_ACKNOWLEDGE, 0xbeef,
	 "020000000002020000000001080045020030beef40004011f7c7c0000202c0000201c1a512b7001c00001100ffff0000"
	 "0012000102031f00000112952b51"},
	{"D: UD SEND_ONLY_WITH_IMM over IPv6", WIRE_ENCAP_V2_IPV6, 62, WIRE_UD_SEND_ONLY_WITH_IMM, 0x0000,
	 "02000000000202000000000186dd66812345002c114020010db800000000000000000000000120010db8000000000000"
	 "000000000002d43112b7002c00006500ffff00000021000000071111111100000022deadbeef41424344454647483ac7"
	 "2dd2"},
	{"E: v1 RC WRITE_ONLY, link-local GIDs", WIRE_ENCAP_V1, 54, WIRE_RC_RDMA_WRITE_ONLY, 0x0000,
	 "02000000000202000000000189156000000000241b01fe80000000000000000000fffe000001fe800000000000000000"
	 "00fffe0000020a00ffff0000003180fffffe00007f0012345678000012340000000401020304250a565d"},
	{"F: v1 in a VLAN, RC COMPARE_SWAP", WIRE_ENCAP_V1, 58, WIRE_RC_COMPARE_SWAP, 0x0000,
	 "02000000000202000000000181006005891560000000002c1b4000000000000000000000ffffc0000201000000000000"
	 "00000000ffffc00002021300ffff000000318000000000007f0000001000000056781111111111111111222222222222"
	 "2222548d342b"},
	{"H1: congestion notification of an adapter", WIRE_ENCAP_V2_IPV4, 42, WIRE_CNP, 0x718c,
	 "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000"
	 "0118000000000000000000000000000000000000000082fd002a"},
	{"H2: UC SEND_ONLY of an adapter", WIRE_ENCAP_V2_IPV4, 42, WIRE_UC_SEND_ONLY, 0x0478,
	 "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff0000"
	 "00d300cf17104630818be28935d90e9a95505401be885e50000078f353f3"},
};

#define TEST_VECTOR_COUNT (sizeof(test_vectors) / sizeof(test_vectors[0]))
#define TEST_VECTOR_MAX 160

/* Fills buf and returns the length of the frame. */
static inline size_t test_vector_bytes(uint8_t buf[TEST_VECTOR_MAX], const struct test_vector *vector)
{
	size_t len = strlen(vector->hex) / 2;

	for (size_t i = 0; i < len && i < TEST_VECTOR_MAX; i++) {
		unsigned byte;

		if (sscanf(vector->hex + 2 * i, "%2x", &byte) != 1)
			abort();
		buf[i] = (uint8_t)byte;
	}
	return len;
}

/* A copy on the heap of exactly this size, so that a sanitizer sees the first byte read beyond. */
static inline uint8_t *test_exact_copy(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len);

	if (copy == NULL && len != 0)
		abort();
	if (len != 0)
		memcpy(copy, bytes, len);
	return copy;
}

#endif
