/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Time in nanoseconds. Only node, process, broker, cli and tests may ask the clock; below them time is an argument. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define BASE_NEVER UINT64_MAX /* a deadline that does not come */
#define BASE_USEC 1000ull
#define BASE_MSEC 1000000ull
#define BASE_SEC 1000000000ull

/* CLOCK_MONOTONIC: the time base of every timer. A vDSO call, about 20 ns. */
static inline uint64_t base_clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BASE_SEC + (uint64_t)ts.tv_nsec;
}

/* CLOCK_REALTIME: what people call the time. It may be set back. */
static inline uint64_t base_clock_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * BASE_SEC + (uint64_t)ts.tv_nsec;
}

#endif
