/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The time codes of the protocol, in nanoseconds. Every code is cut to its five bits, so that any byte is a legal argument. */
#ifndef WIRE_TIMER_H
#define WIRE_TIMER_H

#include <stdint.h>

#include "base/clock.h"

/* The wait that an RNR NAK with this timer code asks for: 10 us (code 1) to 655.36 ms (code 0). */
uint64_t wire_timer_rnr_ns(uint8_t code);

/* The local ACK timeout 4.096 us * 2^code; BASE_NEVER for code 0. */
static inline uint64_t wire_timer_ack_ns(uint8_t code)
{
	return (code & 0x1f) == 0 ? BASE_NEVER : 4096ull << (code & 0x1f);
}

/* The same code as connection management uses it, rounded to whole milliseconds: at least 1 ms. */
static inline uint64_t wire_timer_cm_ns(uint8_t code)
{
	return BASE_MSEC << ((code & 0x1f) > 8 ? (code & 0x1f) - 8 : 0);
}

#endif
