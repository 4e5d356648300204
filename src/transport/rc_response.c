/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What comes back to the requester: ACK, NAK and RNR NAK.
 *
 * Each of them names a PSN and acknowledges: an ACK up to and with it, a NAK everything before it. Only PSNs in [una, high) can be
 * answered, and a gap report may also name `high`; anything else is old, an echo or invented, and dropped.
 *
 *   ACK       progress: WQEs whose last PSN is covered are finished, retry counters are whole again, the window may grow
 *   NAK 0x60  progress, then go-back-N from its PSN; costs a retry unless it made progress; halves the window. The same report again
 *             within a round trip is an echo (a network may double packets) and changes nothing.
 *   RNR NAK   progress, then a pause, then go-back-N; costs an rnr_retry (7: never). While pausing, other reports for the same PSN say
 *             nothing new.
 *   NAK else  progress, then the WQE that owns its PSN completes with the error and the QP goes to error.
 */
#include "transport/rc.h"

#include "base/clock.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/timer.h"

static void measure(struct rc_requester *q, uint64_t now)
{
	uint64_t sample = now > q->rtt_at ? now - q->rtt_at : 1;

	q->srtt = q->srtt ? q->srtt - q->srtt / 8 + sample / 8 : sample;
	q->rtt_runs = false;
}

/* Everything before upto, which lies in (una, high] when it is not una itself. True on progress. */
static bool acknowledge(struct rc_qp *qp, uint64_t now, uint32_t upto)
{
	struct rc_requester *q = &qp->req;
	struct transport_sq *sq = qp->sq;
	uint32_t n = rc_psn_distance(q->una, upto);
	uint32_t sent = rc_psn_distance(q->una, q->next_psn);

	if (n == 0)
		return false;
	rc_window_acked(&q->window, n, sent);
	while (sq->done != q->started && rc_psn_distance(q->una, transport_sq_wqe(sq, sq->done)->last_psn) < n)
		sq->done++;
	if (q->rtt_runs && rc_psn_distance(q->una, q->rtt_psn) < n)
		measure(q, now);
	q->una = upto;
	if (sent < n) {
		/* A retry had moved back behind what was taken after all. */
		q->next_psn = upto;
		sq->next = sq->done;
	}
	q->retry_left = qp->config.retry_cnt;
	q->rnr_left = qp->config.rnr_retry;
	q->probe_owed = false;
	q->probes = 0;
	q->paused_until = 0;
	q->timer_runs = q->una != q->next_psn;
	q->timer_at = now;
	q->activity_at = now;
	if (q->stopped && (int32_t)(sq->done - q->stop_index) > 0)
		q->stopped = false;
	return true;
}

/* After progress: an error that waited for its turn, a drained queue. */
static void settle(struct rc_qp *qp)
{
	struct rc_requester *q = &qp->req;

	if (q->stopped && qp->sq->done == q->stop_index) {
		q->stopped = false;
		rc_requester_fail(qp, q->stop_status, q->stop_vendor_err);
		return;
	}
	rc_requester_check_drained(qp);
}

static void on_gap(struct rc_qp *qp, uint64_t now, bool progress)
{
	struct rc_requester *q = &qp->req;
	uint64_t guard = q->srtt > RC_REWIND_GUARD_NS ? q->srtt : RC_REWIND_GUARD_NS;
	uint32_t out = rc_psn_distance(q->una, q->next_psn);

	if (out == 0 || (!progress && q->rewound && q->rewound_psn == q->una && now - q->rewound_at < guard))
		return;
	if (!progress) {
		if (q->retry_left == 0) {
			rc_requester_fail(qp, TRANSPORT_RETRY_EXC_ERR, WIRE_NAK_PSN_SEQUENCE);
			return;
		}
		q->retry_left--;
	}
	qp->stats.window_shrinks += rc_window_lost(&q->window, out);
	rc_requester_rewind(qp);
	q->timer_runs = false;
	q->rewound = true;
	q->rewound_psn = q->una;
	q->rewound_at = now;
}

static void on_rnr(struct rc_qp *qp, uint64_t now, uint8_t syndrome)
{
	struct rc_requester *q = &qp->req;

	if (q->una == q->next_psn)
		return; /* not sent again since the last report */
	if (qp->config.rnr_retry != RC_RNR_RETRY_FOREVER) {
		if (q->rnr_left == 0) {
			rc_requester_fail(qp, TRANSPORT_RNR_RETRY_EXC_ERR, syndrome);
			return;
		}
		q->rnr_left--;
	}
	rc_requester_rewind(qp);
	q->timer_runs = false;
	/* The peer is alive: silence has nothing to do with it. */
	q->retry_left = qp->config.retry_cnt;
	q->probes = 0;
	q->paused_until = now + wire_timer_rnr_ns(wire_syndrome_value(syndrome));
}

static uint32_t nak_status(uint8_t syndrome)
{
	switch (syndrome) {
	case WIRE_NAK_INVALID_REQUEST:
		return TRANSPORT_REM_INV_REQ_ERR;
	case WIRE_NAK_REMOTE_ACCESS:
		return TRANSPORT_REM_ACCESS_ERR;
	case WIRE_NAK_REMOTE_OPERATION:
		return TRANSPORT_REM_OP_ERR;
	default:
		return TRANSPORT_REM_INV_RD_REQ_ERR;
	}
}

enum rc_verdict rc_requester_receive(struct rc_qp *qp, uint64_t now, const struct transport_run *run)
{
	struct rc_requester *q = &qp->req;
	uint8_t syndrome = run->head.aeth.syndrome;
	uint32_t psn = run->head.bth.psn & RC_PSN_MASK;
	uint32_t answered = rc_psn_distance(q->una, psn);
	uint32_t out = rc_psn_distance(q->una, q->high);
	bool progress;

	if (!(run->head.op->role & WIRE_ROLE_ACK))
		return RC_DROPPED_OPCODE; /* no READ or atomic is under way */
	if (answered > out || (answered == out && syndrome != WIRE_NAK_PSN_SEQUENCE) || out == 0)
		return RC_DROPPED_PSN;
	switch (wire_syndrome_classify(syndrome)) {
	case WIRE_SYNDROME_ACK:
		acknowledge(qp, now, wire_psn_add(psn, 1));
		settle(qp);
		return RC_TOOK;
	case WIRE_SYNDROME_RNR_NAK:
		qp->stats.rnr_naks_received++;
		acknowledge(qp, now, psn);
		settle(qp);
		if (qp->state == RC_RTS || qp->state == RC_SQD)
			on_rnr(qp, now, syndrome);
		return RC_TOOK;
	case WIRE_SYNDROME_NAK:
		qp->stats.naks_received++;
		progress = acknowledge(qp, now, psn);
		settle(qp);
		if (qp->state != RC_RTS && qp->state != RC_SQD)
			return RC_TOOK;
		if (syndrome == WIRE_NAK_PSN_SEQUENCE)
			on_gap(qp, now, progress);
		else
			rc_requester_fail(qp, nak_status(syndrome), syndrome);
		return RC_TOOK;
	case WIRE_SYNDROME_RESERVED:
	case WIRE_SYNDROME_INVALID:
		break;
	}
	return RC_DROPPED_OPCODE;
}
