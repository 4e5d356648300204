/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packet sequence numbers: 24 bits, going round. Two numbers are compared by the sign of their difference read as a signed
 * 24-bit number, so each PSN has 2^23 numbers behind it and 2^23 - 1 ahead. Arguments may have rubbish above bit 23; results
 * of wire_psn_add() do not. MSNs obey the same arithmetic.
 */
#ifndef WIRE_PSN_H
#define WIRE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_PSN_MASK 0xffffffu

static inline uint32_t wire_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & WIRE_PSN_MASK;
}

/* a - b, from -2^23 to 2^23 - 1. */
static inline int32_t wire_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline bool wire_psn_before(uint32_t a, uint32_t b)
{
	return wire_psn_diff(a, b) < 0;
}

#endif
