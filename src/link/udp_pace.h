/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pacing of what nobody acknowledges (UC, UD) towards one destination on a wire: how much may go out in one piece, and how long
 * the pause after it is. Why and what was measured: docs/decisions/0050-uc-ud-pacing.md.
 *
 * A burst is at most what half of a default receive buffer (208 KiB) holds, in the kernel's accounting. It begins with its
 * first packet and takes the time that the receiver is thought to need for it: PACE_FACTOR times what the sender itself spent on
 * it (both do the same work, on machines that are thought alike), at least PACE_NS_PER_KIB. Who posts slower than that never
 * meets a pause. Pure arithmetic on the caller's clock; cannot fail; one thread at a time.
 */
#ifndef LINK_UDP_PACE_H
#define LINK_UDP_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LINK_UDP_PACE_BURST = 104 << 10,
	LINK_UDP_PACE_PACKET = 768,       /* what the kernel charges for a packet beside its bytes */
	LINK_UDP_PACE_FACTOR = 2,
	LINK_UDP_PACE_NS_PER_KIB = 1000,  /* about 1 GB/s */
	LINK_UDP_PACE_ROOM_MIN = 8192,    /* more than a packet */
	LINK_UDP_PACE_COST_MAX = 1000000, /* ns: what takes longer was not work */
};

struct link_udp_pace {
	uint32_t charged;   /* of the burst */
	uint64_t cost_ns;   /* what the sender spent on it */
	uint64_t begun;     /* its time */
	bool closed;        /* it is full */
};

/* When the receiver is thought to be done with the burst. */
static inline uint64_t link_udp_pace_end(const struct link_udp_pace *pace)
{
	uint64_t least = (uint64_t)pace->charged * LINK_UDP_PACE_NS_PER_KIB >> 10;
	uint64_t like_us = LINK_UDP_PACE_FACTOR * pace->cost_ns;

	return pace->begun + (like_us > least ? like_us : least);
}

/* 0: a packet may go out now. Else the time at which the pause ends. */
static inline uint64_t link_udp_pace_open(struct link_udp_pace *pace, uint64_t now)
{
	if (pace->charged != 0 && now < link_udp_pace_end(pace))
		return pace->closed ? link_udp_pace_end(pace) : 0;
	*pace = (struct link_udp_pace){ .begun = now };
	return 0;
}

/* The bytes that may still join the burst, at most `most`; enough for a packet in any case. */
static inline uint32_t link_udp_pace_room(const struct link_udp_pace *pace, uint32_t most)
{
	uint32_t left = pace->charged < LINK_UDP_PACE_BURST ? LINK_UDP_PACE_BURST - pace->charged : 0;

	if (left < LINK_UDP_PACE_ROOM_MIN)
		left = LINK_UDP_PACE_ROOM_MIN;
	return left < most ? left : most;
}

/* Packets went into the queue, which took cost_ns. True: the burst is full; send it and close it. */
static inline bool link_udp_pace_charge(struct link_udp_pace *pace, uint32_t bytes, uint32_t packets, uint64_t cost_ns)
{
	pace->charged += bytes + packets * LINK_UDP_PACE_PACKET;
	pace->cost_ns += cost_ns < LINK_UDP_PACE_COST_MAX ? cost_ns : LINK_UDP_PACE_COST_MAX;
	return pace->charged >= LINK_UDP_PACE_BURST;
}

/* The full burst is sent, which took cost_ns more. */
static inline void link_udp_pace_close(struct link_udp_pace *pace, uint64_t cost_ns)
{
	pace->cost_ns += cost_ns < LINK_UDP_PACE_COST_MAX ? cost_ns : LINK_UDP_PACE_COST_MAX;
	pace->closed = true;
}

#endif
