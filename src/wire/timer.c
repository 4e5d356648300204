/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/timer.h"

uint64_t wire_timer_rnr_ns(uint8_t code)
{
	/* In units of 10 us. The codes go up by halves of a power of two, but for code 0: 65536, the longest. */
	static const uint16_t units[] = {
		0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
		1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	_Static_assert(sizeof(units) / sizeof(units[0]) == 32, "one wait per code");
	code &= 0x1f;
	return (code == 0 ? 65536ull : units[code]) * 10 * BASE_USEC;
}
