/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requester's clocks. The first three count from moments kept in struct rc_requester; none of them needs a wake-up of its
 * own.
 *
 * ACK timeout   4 T with T = 4.096 us << timeout, the longest that IBTA allows: a software peer on a busy host deserves it.
 *               Counts from the first emission after idle or after a retry, anew at each progress, and at each READ
 *               response, were it of no use. Expiry costs a retry and goes back to una; with none left the oldest WQE
 *               completes RETRY_EXC. After a retry it stands still until the link has taken a packet again.
 * Probe         lossy links: when nothing was sent and nothing came for max(2 srtt, 5 ms), the last packet goes out again
 *               with AckReq; a peer that saw a gap then reports it, one whose ACK was lost repeats it. If that is not
 *               answered in twice the time (the report itself may be lost, and is not repeated), all goes again from una.
 *               Then only the ACK timeout is left. Probes cost no retry, and the ACK timeout goes on counting through them.
 *               20 ms when a READ of several packets is the oldest: a peer that is asked for it twice may send it twice.
 * RNR pause     emission waits until it is over; nothing fires.
 * Hold          an ACK that waited for an answer leaves alone (rc_ack.h). The responder's, but it has no other clock.
 *
 * Excused time (this host was not scheduled, or the peer stood still) moves the first two, which measure a peer's silence.
 */
#include "transport/rc_internal.h"

#include "base/clock.h"
#include "transport/sq.h"
#include "wire/timer.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t ack_deadline(const struct transport_qp *qp)
{
	uint64_t t = wire_timer_ack_ns(qp->config.timeout);

	if (!qp->req.timer_runs || t == BASE_NEVER)
		return BASE_NEVER;
	return qp->req.timer_at + 4 * t;
}

static uint64_t probe_deadline(const struct transport_qp *qp)
{
	const struct rc_requester *q = &qp->req;
	uint64_t wait = 2 * q->srtt, least = RC_PROBE_MIN_NS;
	const struct transport_wqe *oldest;

	if (qp->config.lossless || q->probes >= RC_PROBES || q->probe_owed || q->una == q->next_psn)
		return BASE_NEVER;
	oldest = transport_sq_wqe(qp->sq, qp->sq->done);
	if (oldest->op == TRANSPORT_OP_RDMA_READ && oldest->first_psn != oldest->last_psn)
		least = RC_PROBE_READ_MIN_NS;
	return q->activity_at + ((wait > least ? wait : least) << q->probes);
}

/* When a held ACK leaves alone, and the hold has failed. */
static uint64_t hold_deadline(const struct transport_qp *qp)
{
	uint64_t owed_at = qp->resp.ack.owed_at;

	return rc_responder_holds_ack(qp, owed_at) ? owed_at + RC_ACK_HOLD_NS : BASE_NEVER;
}

static bool is_sending(const struct transport_qp *qp)
{
	return qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD;
}

uint64_t rc_timer_deadline(const struct transport_qp *qp)
{
	uint64_t hold;

	if (!is_sending(qp))
		return BASE_NEVER;
	hold = hold_deadline(qp);
	if (qp->req.paused_until)
		return earlier(qp->req.paused_until, hold);
	return earlier(earlier(earlier(ack_deadline(qp), probe_deadline(qp)), rc_selective_deadline(qp)), hold);
}

static uint64_t moved(uint64_t at, uint64_t by, uint64_t now)
{
	return by > now - at ? now : at + by;
}

static void on_silence(struct transport_qp *qp)
{
	qp->stats.window_shrinks += rc_window_timeout(&qp->req.window);
	rc_requester_rewind(qp);
}

void rc_timer_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns)
{
	struct rc_requester *q = &qp->req;

	if (!is_sending(qp))
		return;
	if (now >= hold_deadline(qp))
		rc_ack_failed(&qp->resp.ack);
	if (q->paused_until && now >= q->paused_until)
		q->paused_until = 0;
	if (q->timer_runs && q->timer_at < now)
		q->timer_at = moved(q->timer_at, excused_ns, now);
	if (q->activity_at < now)
		q->activity_at = moved(q->activity_at, excused_ns, now);

	if (now >= ack_deadline(qp)) {
		qp->stats.timeouts++;
		if (q->retry_left == 0) {
			rc_requester_fail(qp, TRANSPORT_RETRY_EXC_ERR, 0);
			return;
		}
		q->retry_left--;
		q->timer_runs = false;
		on_silence(qp);
		return;
	}
	rc_selective_tick(qp, now);
	if (now < probe_deadline(qp))
		return;
	/* A gap at una that was reported once is not reported again: a probe could not learn anything. */
	if (q->probes++ == 0 && !(q->rewound && q->rewound_psn == q->una))
		q->probe_owed = true;
	else
		on_silence(qp);
}
