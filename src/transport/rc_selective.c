/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Selective repeat. A lost packet costs itself, not the window behind it.
 *
 * Responder. A request ahead of the expected PSN is kept, up to RC_SELECTIVE_WINDOW - 1 packets ahead; whatever does not fit is
 * dropped and will be missing. While anything is kept each answer is a SACK. When the expected packet comes, what was kept
 * behind it climbs the ladder in PSN order, exactly as if it had just arrived: rights, receives, placement and completions
 * know nothing of the order on the wire. An RNR NAK drops everything kept, since the requester goes back for that.
 *
 * Requester. A SACK marks what arrived; what lies before the last of these and did not arrive is missing, and due. It goes out
 * before anything new, and is due once more when a SACK a round trip later still misses it, or when the clock says so: the
 * last packets of a window have nothing behind them whose SACK could tell. The clock stops after RC_SELECTIVE_RESENDS
 * without progress; then probes and the ACK timeout decide as ever, and they go back N, forgetting all marks. So a peer
 * that forgot what it reported, or lied, costs time and nothing else: an ACK alone completes anything.
 *
 * READs and atomics. Their request is a packet like others; the PSNs of a READ's answer are none and are never due. A lost
 * answer goes back N.
 *
 * Window. Packets that the peer keeps are not in flight: new ones may take their place, up to what the peer can keep. Losing few
 * packets of a window is what this is for, and no sign of congestion; more than 1/RC_SELECTIVE_LOSS_SHARE of it is one gap for
 * rc_window.c.
 */
#include "transport/rc_selective.h"

#include <string.h>

#include "base/clock.h"
#include "transport/rc_internal.h"
#include "transport/run.h"
#include "wire/aeth.h"
#include "wire/psn.h"

_Static_assert((RC_PSN_MASK + 1) % RC_SELECTIVE_WINDOW == 0, "slots go on over the end of the PSN circle");

static uint32_t slot_of(uint32_t psn)
{
	return psn % RC_SELECTIVE_WINDOW;
}

static struct rc_selective *of(const struct transport_qp *qp)
{
	return qp->config.selective;
}

size_t rc_selective_bytes(uint32_t mtu)
{
	return sizeof(struct rc_selective) + (size_t)RC_SELECTIVE_WINDOW * mtu;
}

/* ---- requester ---- */

static uint32_t in_flight(const struct transport_qp *qp)
{
	return rc_psn_distance(qp->req.una, qp->req.next_psn);
}

static uint64_t round_trip(const struct transport_qp *qp)
{
	uint64_t t = qp->req.srtt + qp->req.srtt / 4;

	return t > RC_REWIND_GUARD_NS ? t : RC_REWIND_GUARD_NS;
}

void rc_selective_forget_sent(struct transport_qp *qp)
{
	struct rc_selective *s = of(qp);

	if (s == NULL)
		return;
	memset(s->arrived, 0, sizeof(s->arrived));
	memset(s->due, 0, sizeof(s->due));
	memset(s->resent_at, 0, sizeof(s->resent_at));
	s->arrived_count = s->due_count = s->resent_count = s->resends = 0;
	s->in_round = false;
}

static void arrived_set(struct rc_selective *s, uint32_t slot, bool arrived)
{
	if (wire_sack_bit(s->arrived, slot) == arrived)
		return;
	if (arrived)
		wire_sack_set(s->arrived, slot);
	else
		wire_sack_clear(s->arrived, slot);
	s->arrived_count = arrived ? s->arrived_count + 1 : s->arrived_count - 1;
}

static void due_set(struct rc_selective *s, uint32_t slot, bool due)
{
	if (wire_sack_bit(s->due, slot) == due)
		return;
	if (due)
		wire_sack_set(s->due, slot);
	else
		wire_sack_clear(s->due, slot);
	s->due_count = due ? s->due_count + 1 : s->due_count - 1;
}

static void resent_set(struct rc_selective *s, uint32_t slot, uint64_t at)
{
	s->resent_count += (at != 0) - (s->resent_at[slot] != 0);
	s->resent_at[slot] = at;
}

void rc_selective_acknowledged(struct transport_qp *qp, uint32_t n)
{
	struct rc_selective *s = of(qp);

	if (s == NULL)
		return;
	for (uint32_t i = 0; i < n && i < RC_SELECTIVE_WINDOW; i++) {
		uint32_t slot = slot_of(wire_psn_add(qp->req.una, i));

		arrived_set(s, slot, false);
		due_set(s, slot, false);
		resent_set(s, slot, 0);
	}
	if (s->in_round && rc_psn_distance(qp->req.una, s->round_end) <= n)
		s->in_round = false;
	s->resends = 0;
}

uint32_t rc_selective_window(const struct transport_qp *qp)
{
	uint32_t window = qp->req.window.packets;

	if (of(qp) == NULL)
		return window;
	window += of(qp)->arrived_count;
	return window < RC_SELECTIVE_WINDOW ? window : (uint32_t)RC_SELECTIVE_WINDOW;
}

/* One more is missing. Whether that says anything about the network is seen in each window anew. */
static void count_loss(struct transport_qp *qp)
{
	struct rc_selective *s = of(qp);
	uint32_t share = qp->req.window.packets / RC_SELECTIVE_LOSS_SHARE;

	if (!s->in_round) {
		s->in_round = true;
		s->round_end = qp->req.next_psn;
		s->lost = 0;
	}
	if (++s->lost > (share > RC_SELECTIVE_LOSS_MIN ? share : RC_SELECTIVE_LOSS_MIN))
		qp->stats.window_shrinks += rc_window_lost(&qp->req.window, in_flight(qp));
}

void rc_selective_sack(struct transport_qp *qp, uint64_t now, const uint8_t *bitmap)
{
	struct rc_selective *s = of(qp);
	uint32_t out = in_flight(qp), end = WIRE_SACK_BITS;

	if (out > RC_SELECTIVE_WINDOW)
		out = RC_SELECTIVE_WINDOW;
	while (end != 0 && !wire_sack_bit(bitmap, end - 1))
		end--;
	/* Nothing is missing but what lies before something that arrived. */
	for (uint32_t i = 0; i <= end && end != 0 && i < out; i++) {
		uint32_t slot = slot_of(wire_psn_add(qp->req.una, i));

		if (i != 0 && wire_sack_bit(bitmap, i - 1)) {
			arrived_set(s, slot, true);
			due_set(s, slot, false);
			resent_set(s, slot, 0);
			continue;
		}
		arrived_set(s, slot, false);
		if (wire_sack_bit(s->due, slot))
			continue;
		due_set(s, slot, s->resent_at[slot] == 0 || now - s->resent_at[slot] >= round_trip(qp));
	}
}

bool rc_selective_due(const struct transport_qp *qp, uint32_t *psn)
{
	const struct rc_selective *s = of(qp);

	if (s == NULL || s->due_count == 0)
		return false;
	for (uint32_t i = 0; i < RC_SELECTIVE_WINDOW; i++) {
		*psn = wire_psn_add(qp->req.una, i);
		if (wire_sack_bit(s->due, slot_of(*psn)))
			return true;
	}
	return false;
}

void rc_selective_resent(struct transport_qp *qp, uint64_t now, uint32_t psn)
{
	struct rc_selective *s = of(qp);

	if (s->resent_at[slot_of(psn)] == 0)
		count_loss(qp);
	due_set(s, slot_of(psn), false);
	resent_set(s, slot_of(psn), now);
	s->last_resent_at = now;
}

void rc_selective_skip(struct transport_qp *qp, uint32_t psn)
{
	due_set(of(qp), slot_of(psn), false);
	resent_set(of(qp), slot_of(psn), 0);
}

uint64_t rc_selective_deadline(const struct transport_qp *qp)
{
	const struct rc_selective *s = of(qp);

	if (s == NULL || s->resent_count == 0 || s->due_count != 0 || s->resends >= RC_SELECTIVE_RESENDS)
		return BASE_NEVER;
	return s->last_resent_at + (2 * round_trip(qp) << s->resends);
}

void rc_selective_tick(struct transport_qp *qp, uint64_t now)
{
	struct rc_selective *s = of(qp);

	if (now < rc_selective_deadline(qp))
		return;
	s->resends++;
	for (uint32_t slot = 0; slot < RC_SELECTIVE_WINDOW; slot++)
		if (s->resent_at[slot] != 0)
			due_set(s, slot, true);
}

/* ---- responder ---- */

void rc_selective_forget_held(struct transport_qp *qp)
{
	struct rc_selective *s = of(qp);

	if (s == NULL || s->held_count == 0)
		return;
	memset(s->held, 0, sizeof(s->held));
	s->held_count = 0;
}

bool rc_selective_holds(const struct transport_qp *qp)
{
	return of(qp) != NULL && of(qp)->held_count != 0;
}

void rc_selective_hold(struct transport_qp *qp, const struct transport_run *run)
{
	struct rc_selective *s = of(qp);
	uint32_t ahead = rc_psn_distance(qp->resp.expected, run->head.bth.psn), mtu = qp->config.mtu;

	for (uint32_t i = 0; i < run->packets && ahead + i < RC_SELECTIVE_WINDOW; i++) {
		struct transport_run packet = transport_run_slice(run, i, 1);
		uint32_t slot = slot_of(packet.head.bth.psn);

		/* What is longer than a packet can be has its answer when its turn comes. */
		if (wire_sack_bit(s->held, slot) || packet.head.payload_len > mtu)
			continue;
		wire_sack_set(s->held, slot);
		s->held_count++;
		qp->stats.held_packets++;
		s->heads[slot] = packet.head;
		s->heads[slot].payload = s->payloads + (size_t)slot * mtu;
		if (packet.head.payload_len != 0)
			memcpy(s->payloads + (size_t)slot * mtu, packet.head.payload, packet.head.payload_len);
	}
}

bool rc_selective_take(struct transport_qp *qp, struct transport_run *out)
{
	struct rc_selective *s = of(qp);
	uint32_t slot = slot_of(qp->resp.expected);

	if (s == NULL || s->held_count == 0 || !wire_sack_bit(s->held, slot))
		return false;
	wire_sack_clear(s->held, slot);
	s->held_count--;
	*out = (struct transport_run){ .head = s->heads[slot], .packets = 1, .last_opcode = s->heads[slot].bth.opcode,
				       .mtu = qp->config.mtu };
	return true;
}

void rc_selective_passed(struct transport_qp *qp, uint32_t from, uint32_t n)
{
	struct rc_selective *s = of(qp);

	if (s == NULL)
		return;
	for (uint32_t i = 0; i < n && i < RC_SELECTIVE_WINDOW && s->held_count != 0; i++) {
		uint32_t slot = slot_of(wire_psn_add(from, i));

		if (wire_sack_bit(s->held, slot)) {
			wire_sack_clear(s->held, slot);
			s->held_count--;
		}
	}
}

static int fetch_bitmap(void *bitmap, uint64_t offset, uint8_t *dst, uint32_t len)
{
	memcpy(dst, (const uint8_t *)bitmap + offset, len);
	return 0;
}

int rc_selective_write(struct transport_qp *qp, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	const struct rc_selective *s = of(qp);
	uint8_t bitmap[WIRE_SACK_BYTES] = { 0 };
	struct transport_source source = { .fetch = fetch_bitmap, .of = bitmap };
	uint32_t psn = qp->resp.expected;

	if (!transport_run_fit(0, 1, sizeof(bitmap), qp->config.mtu, 1, 0, WIRE_AETH_BYTES, 0, room))
		return 0;
	for (uint32_t i = 0; i < RC_SELECTIVE_WINDOW - 1; i++)
		if (wire_sack_bit(s->held, slot_of(wire_psn_add(psn, 1 + i))))
			wire_sack_set(bitmap, i);
	memset(&out->head, 0, sizeof(out->head));
	rc_head(qp, psn, out);
	out->head.bth.opcode = out->last_opcode = WIRE_SACK;
	out->head.aeth.syndrome = WIRE_NAK_PSN_SEQUENCE;
	out->head.aeth.msn = qp->resp.msn;
	out->head.payload_len = sizeof(bitmap);
	out->packets = 1;
	qp->stats.sacks_sent++;
	return transport_run_write(out, &source, 0, room, used) == 0;
}
