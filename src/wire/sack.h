/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SACK, the one packet of selective repeat: BTH, AETH, and a bitmap as its payload. docs/protocol/selective-repeat.md is the
 * description for others. Its opcode lies in the range that the specification leaves to manufacturers; it is sent only to a
 * peer that was granted the option when the connection was made.
 *
 * BTH.PSN is the oldest request that has not arrived, so everything before it has. Bit i of the bitmap (byte i / 8, its bit i % 8)
 * tells of PSN + 1 + i: 1, it arrived and is kept.
 */
#ifndef WIRE_SACK_H
#define WIRE_SACK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WIRE_SACK = 0xc0,
	WIRE_SACK_BYTES = 32,
	WIRE_SACK_BITS = 8 * WIRE_SACK_BYTES,
};

static inline bool wire_sack_bit(const uint8_t *bitmap, uint32_t i)
{
	return bitmap[i / 8] >> (i % 8) & 1;
}

static inline void wire_sack_set(uint8_t *bitmap, uint32_t i)
{
	bitmap[i / 8] = (uint8_t)(bitmap[i / 8] | 1u << (i % 8));
}

static inline void wire_sack_clear(uint8_t *bitmap, uint32_t i)
{
	bitmap[i / 8] = (uint8_t)(bitmap[i / 8] & ~(1u << (i % 8)));
}

#endif
