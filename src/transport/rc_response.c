/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What comes back to the requester: ACK, NAK and RNR NAK, READ responses and atomic acknowledgements.
 *
 * Progress halts at a READ or atomic whose answer is missing: when anything behind it is answered, its answer was lost, and
 * all goes again from there as after a gap report.
 *
 * Each of them names a PSN and acknowledges: an ACK up to and with it, a NAK everything before it. Only PSNs in [una, high)
 * can be answered, and a gap report may also name `high`; anything else is old, an echo or invented, and dropped.
 *
 *   ACK       progress: WQEs whose last PSN is covered are finished, retry counters are whole again, the window may grow
 *   NAK 0x60  progress, then go-back-N from its PSN; costs a retry unless it made progress; halves the window. The same
 *             report again within a round trip is an echo (a network may double packets) and changes nothing.
 *   RNR NAK   progress, then a pause, then go-back-N; costs an rnr_retry (7: never). While pausing, other reports for the
 *             same PSN say nothing new.
 *   data      progress up to its PSN, then it is placed and is progress itself
 *   NAK else  progress, then the WQE that owns its PSN completes with the error and the QP goes to error.
 */
#include "transport/rc_internal.h"

#include "base/clock.h"
#include "transport/run.h"
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

/* How far an answer for everything before upto goes: an unanswered READ or atomic is not answered by what came behind it. */
static uint32_t answered_upto(const struct transport_qp *qp, uint32_t upto)
{
	const struct rc_requester *q = &qp->req;
	uint32_t n = rc_psn_distance(q->una, upto);

	if (q->rd_out == 0 || n == 0)
		return upto;
	for (uint32_t i = qp->sq->done; i != q->started; i++) {
		const struct transport_wqe *wqe = transport_sq_wqe(qp->sq, i);

		if (i != qp->sq->done && rc_psn_distance(q->una, wqe->first_psn) >= n)
			break;
		if (rc_requester_is_rd(wqe))
			return i == qp->sq->done ? q->una : wqe->first_psn;
	}
	return upto;
}

/* Everything before upto, which lies in (una, high] when it is not una itself. True on progress. */
static bool acknowledge(struct transport_qp *qp, uint64_t now, uint32_t upto)
{
	struct rc_requester *q = &qp->req;
	struct transport_sq *sq = qp->sq;
	uint32_t n = rc_psn_distance(q->una, upto);
	uint32_t sent = rc_psn_distance(q->una, q->next_psn);

	if (n == 0)
		return false;
	rc_window_acked(&q->window, n, sent);
	rc_selective_acknowledged(qp, n);
	while (sq->done != q->started && rc_psn_distance(q->una, transport_sq_wqe(sq, sq->done)->last_psn) < n) {
		q->rd_out -= rc_requester_is_rd(transport_sq_wqe(sq, sq->done));
		sq->done++;
	}
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
static void settle(struct transport_qp *qp)
{
	struct rc_requester *q = &qp->req;

	if (q->stopped && qp->sq->done == q->stop_index) {
		q->stopped = false;
		rc_requester_fail(qp, q->stop_status, q->stop_vendor_err);
		return;
	}
	rc_requester_check_drained(qp);
}

static void on_gap(struct transport_qp *qp, uint64_t now, bool progress)
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

/* What was answered shows that an answer at una was lost. Everything that still flies shows it again: once is enough. */
static void on_lost_answer(struct transport_qp *qp, uint64_t now, bool progress)
{
	if (!qp->req.rewound || qp->req.rewound_psn != qp->req.una)
		on_gap(qp, now, progress);
}

/*
 * An answer to what was asked before, whether it is of use or not, is no silence: a responder ends the READs that it was asked
 * for, all of them, before it comes to the one that asks again. Of long ones to a slow host that takes longer than the ACK
 * timeout, and a retry makes it longer still.
 */
static void on_any_data(struct rc_requester *q, uint64_t now)
{
	q->timer_at = now;
	q->activity_at = now;
}

static void on_rnr(struct transport_qp *qp, uint64_t now, uint8_t syndrome)
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

static bool is_sending(const struct transport_qp *qp)
{
	return qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD;
}

/*
 * Something speaks of `upto`, and thus for all before it. True when nothing stands between: no answer on the way was lost, and
 * the QP still sends. *progress: whether anything was news.
 */
static bool advance(struct transport_qp *qp, uint64_t now, uint32_t upto, bool *progress)
{
	uint32_t reached = answered_upto(qp, upto);

	*progress = acknowledge(qp, now, reached);
	settle(qp);
	if (!is_sending(qp))
		return false;
	if (reached != upto)
		on_lost_answer(qp, now, *progress);
	return reached == upto;
}

/* An answer to the READ or atomic that owns una, at una. */
static enum rc_verdict on_data(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	struct rc_requester *q = &qp->req;
	struct transport_wqe *wqe = transport_sq_wqe(qp->sq, qp->sq->done);
	const struct wire_opcode *first = run->head.op, *last = wire_opcode_find(run->last_opcode);
	uint32_t mtu = qp->config.mtu, index = rc_psn_distance(wqe->first_psn, q->una);
	uint32_t total = rc_psn_distance(wqe->first_psn, wqe->last_psn) + 1, end = index + run->packets, len;
	uint64_t offset = (uint64_t)index * mtu;
	uint64_t bytes = end < total ? (uint64_t)end * mtu : wqe->length;
	const void *data = run->head.payload;
	bool good;

	if (first->role & WIRE_ROLE_READ) {
		good = wqe->op == TRANSPORT_OP_RDMA_READ && end <= total && offset + run->head.payload_len == bytes &&
		       (index != 0 || (first->role & WIRE_ROLE_STARTS)) && (end == total) == ((last->role & WIRE_ROLE_ENDS) != 0);
		len = run->head.payload_len;
		if (wqe->op == TRANSPORT_OP_FLUSH || wqe->op == TRANSPORT_OP_ATOMIC_WRITE)
			good = (first->role & WIRE_ROLE_ONLY) && len == 0;
	} else {
		good = wqe->op == TRANSPORT_OP_COMPARE_SWAP || wqe->op == TRANSPORT_OP_FETCH_ADD;
		data = &run->head.atomic_ack;
		len = 8;
	}
	if (!good) {
		rc_requester_fail(qp, TRANSPORT_BAD_RESP_ERR, run->head.bth.opcode);
		return RC_TOOK;
	}
	if (len && qp->memory.ops->scatter(qp->memory.host, wqe->sge, wqe->num_sge, offset, data, len) != 0) {
		rc_requester_fail(qp, TRANSPORT_LOC_PROT_ERR, 0);
		return RC_TOOK;
	}
	acknowledge(qp, now, wire_psn_add(q->una, run->packets));
	settle(qp);
	return RC_TOOK;
}

static enum rc_verdict receive_data(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	struct rc_requester *q = &qp->req;
	uint32_t psn = run->head.bth.psn & RC_PSN_MASK;
	uint32_t ahead = rc_psn_distance(q->una, psn), behind = rc_psn_distance(psn, q->una);
	uint32_t out = rc_psn_distance(q->una, q->high);
	struct transport_run rest;
	bool progress;

	if (behind != 0 && behind < run->packets) {
		/* Its front is old. */
		rest = transport_run_slice(run, behind, run->packets - behind);
		return receive_data(qp, now, &rest);
	}
	if (ahead >= out || run->packets > out - ahead)
		return RC_DROPPED_PSN;
	if (!advance(qp, now, psn, &progress))
		return is_sending(qp) ? RC_OUT_OF_ORDER : RC_TOOK;
	return on_data(qp, now, run);
}

enum rc_verdict rc_requester_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	struct rc_requester *q = &qp->req;
	uint8_t syndrome = run->head.aeth.syndrome;
	uint32_t psn = run->head.bth.psn & RC_PSN_MASK;
	uint32_t answered = rc_psn_distance(q->una, psn);
	uint32_t out = rc_psn_distance(q->una, q->high);
	bool progress;

	if (!(run->head.op->role & WIRE_ROLE_ACK)) {
		if (q->rd_out == 0)
			return RC_DROPPED_OPCODE;
		on_any_data(q, now);
		return receive_data(qp, now, run);
	}
	if (answered > out || (answered == out && syndrome != WIRE_NAK_PSN_SEQUENCE) || out == 0)
		return RC_DROPPED_PSN;
	switch (wire_syndrome_classify(syndrome)) {
	case WIRE_SYNDROME_ACK:
		advance(qp, now, wire_psn_add(psn, 1), &progress);
		return RC_TOOK;
	case WIRE_SYNDROME_RNR_NAK:
		qp->stats.rnr_naks_received++;
		/* It is not one whose answer was lost that meets no receive. */
		if (advance(qp, now, psn, &progress))
			on_rnr(qp, now, syndrome);
		return RC_TOOK;
	case WIRE_SYNDROME_NAK:
		qp->stats.naks_received++;
		if (!advance(qp, now, psn, &progress))
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

enum rc_verdict rc_requester_receive_sack(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	struct rc_requester *q = &qp->req;
	uint32_t psn = run->head.bth.psn & RC_PSN_MASK;
	uint32_t out = rc_psn_distance(q->una, q->high);
	bool progress;

	if (run->head.payload_len != WIRE_SACK_BYTES)
		return RC_DROPPED_OPCODE;
	if (out == 0 || rc_psn_distance(q->una, psn) > out)
		return RC_DROPPED_PSN;
	qp->stats.sacks_received++;
	if (advance(qp, now, psn, &progress))
		rc_selective_sack(qp, now, run->head.payload);
	return RC_TOOK;
}
