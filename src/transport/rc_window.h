/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many request packets of one QP may be unacknowledged at once. Pure arithmetic on the caller's storage: no clock, cannot
 * fail. The rules are told at the top of rc_window.c.
 */
#ifndef TRANSPORT_RC_WINDOW_H
#define TRANSPORT_RC_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RC_WINDOW_MIN = 2,
	RC_WINDOW_START_BYTES = 64 * 1024,
	RC_WINDOW_START_MIN = 16,
	RC_WINDOW_START_MAX = 64,
	RC_WINDOW_MAX = 1024,
	RC_WINDOW_NO_LIMIT = 1 << 21, /* lossless links; keeps every unacknowledged PSN within a quarter of the PSN circle */
};

struct rc_window {
	bool lossless;
	uint32_t packets;   /* the window */
	uint32_t threshold; /* below it growth is fast */
	uint32_t loss_at;   /* window at the last loss, 0 before the first */
	uint32_t credit;    /* acknowledged packets that have not become growth yet */
	uint32_t recover;   /* packets still to be acknowledged before another loss may shrink again */
};

void rc_window_init(struct rc_window *w, uint32_t mtu, bool lossless);
/* n packets were newly acknowledged while in_flight (n included) were out. */
void rc_window_acked(struct rc_window *w, uint32_t n, uint32_t in_flight);
/* The peer reported a gap (a sequence NAK) with in_flight packets out. True when the window shrank. */
bool rc_window_lost(struct rc_window *w, uint32_t in_flight);
/* Nothing came back for a whole timeout. True when the window shrank. */
bool rc_window_timeout(struct rc_window *w);

#endif
