/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A limit on how fast a QP sends what was posted to it; answers to its peer are not held. A bucket that `burst` bytes fit into: what
 * is sent is paid for with time, and may be in debt by one burst.
 *
 * Nothing fails. All zeroes is no limit. One thread at a time: the holder of the node's progress lock.
 */
#ifndef TRANSPORT_PACE_H
#define TRANSPORT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "transport/run.h"

enum { TRANSPORT_PACE_OVERHEAD = 58 }; /* bytes of a packet on the wire beside its payload: Ethernet, IPv4, UDP, BTH, ICRC */

struct transport_pace {
	uint64_t rate;       /* bytes per second; 0: no limit */
	uint64_t burst;      /* bytes */
	uint64_t paid_until; /* the time that everything sent so far takes at this rate ends here */
	uint64_t wake_at;    /* somebody must look again then; 0: nothing was held since the last look */
};

static inline uint64_t transport_pace_time(const struct transport_pace *pace, uint64_t bytes)
{
	return bytes * BASE_SEC / pace->rate;
}

static inline bool transport_pace_holds(const struct transport_pace *pace, uint64_t now)
{
	return pace->rate != 0 && now + transport_pace_time(pace, pace->burst) < pace->paid_until;
}

/* The run goes out. */
static inline void transport_pace_charge(struct transport_pace *pace, uint64_t now, const struct transport_run *run)
{
	if (pace->rate == 0)
		return;
	uint64_t from = pace->paid_until > now ? pace->paid_until : now;

	pace->paid_until = from + transport_pace_time(pace, run->head.payload_len + (uint64_t)run->packets * TRANSPORT_PACE_OVERHEAD);
	pace->wake_at = pace->paid_until - transport_pace_time(pace, pace->burst);
}

#endif
