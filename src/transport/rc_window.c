/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The congestion window of a QP on a link that may lose packets.
 *
 * Goal. RoCE hardware leans on a network that does not drop; we run over UDP sockets whose buffers overflow silently (208 KiB
 * by default, and the kernel charges about twice the payload). go-back-N turns one lost packet into a window of repeated
 * ones, so the window is kept where loss is rare and takes its time to test the ceiling again.
 *
 * Rules, in packets of one path MTU:
 *   start      64 KiB worth, but 16..64 packets: half of a default socket buffer at MTU 4096, by the kernel's accounting.
 *   fast       below `threshold` each acknowledged packet adds one (doubles per round trip). No threshold before the first loss.
 *   slow       from there on, a window's worth of acknowledgements adds one.
 *   careful    within a quarter of the window that last lost, eight windows' worth add one: that ceiling is known.
 *   idle       a window that was not at least half used is no evidence: it does not grow.
 *   gap        (NAK 0x60) threshold = window = half, at least RC_WINDOW_MIN. Once per round: the packets out at that moment
 *              must be acknowledged before the next gap counts.
 *   silence    (timeout, unanswered probe) threshold = half, window = RC_WINDOW_MIN; fast growth leads back.
 *
 * A lossless link (shared memory: its ring is the limit) has no window but RC_WINDOW_NO_LIMIT, which bounds unacknowledged PSNs.
 */
#include "transport/rc_window.h"

#include <string.h>

void rc_window_init(struct rc_window *w, uint32_t mtu, bool lossless)
{
	uint32_t start = RC_WINDOW_START_BYTES / mtu;

	if (start < RC_WINDOW_START_MIN)
		start = RC_WINDOW_START_MIN;
	if (start > RC_WINDOW_START_MAX)
		start = RC_WINDOW_START_MAX;
	memset(w, 0, sizeof(*w));
	w->lossless = lossless;
	w->packets = lossless ? (uint32_t)RC_WINDOW_NO_LIMIT : start;
	w->threshold = RC_WINDOW_MAX;
}

void rc_window_acked(struct rc_window *w, uint32_t n, uint32_t in_flight)
{
	uint32_t per_packet;

	if (w->lossless)
		return;
	w->recover = w->recover > n ? w->recover - n : 0;
	if (in_flight * 2 < w->packets || w->packets >= RC_WINDOW_MAX)
		return;
	if (w->packets < w->threshold)
		per_packet = 1;
	else if (w->loss_at && w->packets >= w->loss_at - w->loss_at / 4)
		per_packet = 8 * w->packets;
	else
		per_packet = w->packets;
	w->credit += n < w->packets ? n : w->packets;
	if (w->credit < per_packet)
		return;
	w->packets += w->credit / per_packet;
	w->credit = 0;
	if (w->packets > RC_WINDOW_MAX)
		w->packets = RC_WINDOW_MAX;
}

bool rc_window_lost(struct rc_window *w, uint32_t in_flight)
{
	if (w->lossless || w->recover)
		return false;
	w->recover = in_flight;
	w->loss_at = w->packets;
	w->packets /= 2;
	if (w->packets < RC_WINDOW_MIN)
		w->packets = RC_WINDOW_MIN;
	w->threshold = w->packets;
	w->credit = 0;
	return true;
}

bool rc_window_timeout(struct rc_window *w)
{
	if (w->lossless || w->packets == RC_WINDOW_MIN)
		return false;
	w->threshold = w->packets / 2 > RC_WINDOW_MIN ? w->packets / 2 : (uint32_t)RC_WINDOW_MIN;
	w->loss_at = w->packets;
	w->packets = RC_WINDOW_MIN;
	w->credit = 0;
	w->recover = 0;
	return true;
}
