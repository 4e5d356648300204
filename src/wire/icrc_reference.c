/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/icrc_reference.h"

#include <string.h>

/*
 * Divides by x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, the lowest bit of a
 * byte first.
 */
static uint32_t shift_in(uint32_t reg, uint8_t byte)
{
	for (int bit = 0; bit < 8; bit++) {
		int out = (int)(reg >> 31) ^ (byte >> bit & 1);

		reg <<= 1;
		if (out)
			reg ^= 0x04c11db7u;
	}
	return reg;
}

static unsigned two(const uint8_t *p)
{
	return (unsigned)p[0] * 256 + p[1];
}

bool icrc_reference(const uint8_t *frame, size_t len, uint8_t expected[4], size_t *icrc_at)
{
	bool masked[128] = {false}; /* by offset from the start of L3 */
	size_t l3 = 12, bth, end;
	uint32_t reg = 0xffffffffu;

	while (len >= l3 + 6 && (two(frame + l3) == 0x8100 || two(frame + l3) == 0x88a8))
		l3 += 4;
	if (len < l3 + 2 + 44)
		return false;
	l3 += 2;
	if (two(frame + l3 - 2) == 0x0800 && frame[l3] == 0x45 && frame[l3 + 9] == 17) {
		masked[1] = masked[8] = masked[10] = masked[11] = true;
		masked[20 + 6] = masked[20 + 7] = true;
		bth = 28;
		end = two(frame + l3 + 2);
	} else if (two(frame + l3 - 2) == 0x86dd && frame[l3 + 6] == 17) {
		masked[1] = masked[2] = masked[3] = masked[7] = true;
		masked[40 + 6] = masked[40 + 7] = true;
		bth = 48;
		end = 40 + two(frame + l3 + 4);
	} else if (two(frame + l3 - 2) == 0x8915 && frame[l3 + 6] == 0x1b) {
		masked[1] = masked[2] = masked[3] = masked[7] = true;
		bth = 40;
		end = 40 + two(frame + l3 + 4);
	} else {
		return false;
	}
	masked[bth + 4] = true;
	if (end < bth + 16 || len - l3 < end)
		return false;
	if (bth != 40 && two(frame + l3 + bth - 6) != 0x12b7)
		return false;

	for (int i = 0; i < 8; i++)
		reg = shift_in(reg, 0xff);
	for (size_t i = 0; i < end - 4; i++) {
		uint8_t byte = frame[l3 + i];

		if (i < sizeof(masked) && masked[i])
			byte = 0xff;
		else if (i == 0 && byte >> 4 == 6)
			byte |= 0x0f;
		reg = shift_in(reg, byte);
	}
	/* The complement, x^31 first, filling each byte from its lowest bit. */
	memset(expected, 0, 4);
	for (int bit = 0; bit < 32; bit++) {
		if ((~reg >> (31 - bit) & 1) != 0)
			expected[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	*icrc_at = l3 + end - 4;
	return true;
}
