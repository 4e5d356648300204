/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ceiling of anything that moves bytes once: memcpy from one buffer to another of the same size, over and over, as
 * ib_write_bw does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

bool bench_base_memcpy(size_t bytes, double *out)
{
	unsigned char *from = aligned_alloc(4096, bytes), *to = aligned_alloc(4096, bytes);
	uint64_t copies = 0, began, now;

	if (from == NULL || to == NULL) {
		free(from);
		free(to);
		return measure_failed("memory");
	}
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	began = base_clock_now();
	do {
		for (int i = 0; i < 16; i++) {
			memcpy(to, from, bytes);
			__asm__ volatile("" : : "r"(to), "r"(from) : "memory"); /* the copy happens */
		}
		copies += 16;
		now = base_clock_now();
	} while (now - began < MEASURE_NS);
	*out = (double)copies * (double)bytes / BENCH_MIB / ((double)(now - began) / 1e9);
	free(from);
	free(to);
	return true;
}
