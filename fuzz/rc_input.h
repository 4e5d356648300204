/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fuzzer's bytes, one after the other; zeros when they are used up. */
#ifndef FUZZ_RC_INPUT_H
#define FUZZ_RC_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct rc_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t in_u8(struct rc_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t in_u16(struct rc_input *in)
{
	uint16_t high = in_u8(in);

	return (uint16_t)(high << 8 | in_u8(in));
}

static inline uint32_t in_u32(struct rc_input *in)
{
	uint32_t high = in_u16(in);

	return high << 16 | in_u16(in);
}

#endif
