/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requester of an RC QP: what it puts on the link. (rc_response.c has what comes back, rc_timer.c what happens when
 * nothing does.)
 *
 * PSNs. una <= next_psn <= high on the circle. [una, high) was sent and is not acknowledged. A retry moves next_psn back to
 * una (go-back-N) and everything from there goes out again, cut into whatever runs the room allows. A WQE owns
 * first_psn..last_psn from its first packet on (`started` counts those that do), so that the packet for any PSN can be made
 * again from the WQE alone; nothing that was sent is kept.
 *
 * Indexes. sq->done is the WQE that owns una, sq->next the one that owns next_psn (or would, if it is one past the end).
 *
 * With selective repeat (rc_selective.c) single packets in between go out again, before anything new and without moving a cursor;
 * go-back-N is then the last resort.
 *
 * What holds emission up, in this order: the state (SQD starts nothing new), an RNR pause, the window, a stopped WQE, an
 * empty queue.
 *
 * READ and atomics (and FLUSH and ATOMIC WRITE, which are answered like a READ of nothing). One request packet takes the PSNs of
 * its answer; a retry from the middle of a READ asks for the rest. At most
 * max_rd_atomic of them are started and unanswered, a fenced WQE waits for all; whatever is behind waits too.
 *
 * LOCAL_INV and BIND_MW own no PSN: they are executed, and done, when all before them are. (A bind could go earlier; but its
 * completion could not.)
 *
 * Local errors. A WQE that cannot be sent (bad lkey, unknown operation, too long) stops emission at its place. WQEs before it
 * go on being sent, repeated and acknowledged; when it is the oldest, it completes with its error and the QP goes to error.
 *
 * AckReq is set on the last packet of a message, at least every RC_ACK_REQ_EVERY packets or quarter of a window, and on a packet
 * that fills the window: so whenever emission halts, the last packet out asked for an answer.
 *
 * Runs are cut at message ends, at what room and window hold, on lossy links also at half a window (so that packets and ACKs
 * overlap), and when framed where packet sizes differ (run.h).
 */
#include "transport/rc_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "transport/message.h"
#include "transport/run.h"
#include "transport/sq.h"
#include "wire/opcode.h"
#include "wire/psn.h"

void rc_requester_start(struct transport_qp *qp, uint32_t psn)
{
	struct rc_requester *q = &qp->req;
	bool gone = q->peer_gone;

	memset(q, 0, sizeof(*q));
	q->peer_gone = gone;
	q->una = q->next_psn = q->high = psn & RC_PSN_MASK;
	q->started = qp->sq->next;
	q->retry_left = qp->config.retry_cnt;
	q->rnr_left = qp->config.rnr_retry;
	rc_window_init(&q->window, qp->config.mtu, qp->config.lossless);
}

void rc_requester_fail(struct transport_qp *qp, uint32_t status, uint32_t vendor_err)
{
	transport_sq_finish(qp->sq, status, vendor_err);
	rc_enter_error(qp);
}

void rc_requester_check_gone(struct transport_qp *qp)
{
	if (qp->req.peer_gone && (qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD) && transport_sq_has_work(qp->sq))
		rc_requester_fail(qp, TRANSPORT_RETRY_EXC_ERR, 0);
}

void rc_requester_check_drained(struct transport_qp *qp)
{
	if (qp->state == TRANSPORT_SQD && qp->req.draining && qp->sq->done == qp->req.started) {
		qp->req.draining = false;
		qp->events |= TRANSPORT_EVENT_SQ_DRAINED;
	}
}

void rc_requester_rewind(struct transport_qp *qp)
{
	qp->req.next_psn = qp->req.una;
	qp->sq->next = qp->sq->done;
	qp->req.since_ack_req = 0;
	qp->req.rtt_runs = false;
	qp->req.probe_owed = false;
	rc_selective_forget_sent(qp);
}

bool rc_requester_is_rd(const struct transport_wqe *wqe)
{
	return (wqe->op >= TRANSPORT_OP_RDMA_READ && wqe->op <= TRANSPORT_OP_FETCH_ADD) || wqe->op == TRANSPORT_OP_FLUSH ||
	       wqe->op == TRANSPORT_OP_ATOMIC_WRITE;
}

static uint32_t psns_of(const struct transport_wqe *wqe, uint32_t mtu)
{
	return wqe->op == TRANSPORT_OP_FLUSH ? 1 : message_packets(wqe->length, mtu);
}

static struct message_path path_of(const struct transport_qp *qp, const struct transport_wqe *wqe)
{
	return (struct message_path){ .memory = &qp->memory, .mtu = qp->config.mtu, .dest_qpn = qp->config.dest_qpn,
				      .pkey = qp->config.pkey, .transport = qp->ops->wire, .xrc_srqn = wqe->remote_qpn };
}

static void stop_at(struct transport_qp *qp, uint32_t index, uint32_t status, uint32_t vendor_err)
{
	struct rc_requester *q = &qp->req;

	q->stopped = true;
	q->stop_index = index;
	q->stop_status = (uint8_t)status;
	q->stop_vendor_err = vendor_err;
	if (index == qp->sq->done)
		rc_requester_fail(qp, status, vendor_err);
}

/* What keeps a WQE from being started: TRANSPORT_SUCCESS when nothing does. */
static uint32_t wqe_obstacle(struct transport_qp *qp, const struct message_path *path, struct transport_wqe *wqe, int *err)
{
	if (!rc_requester_is_rd(wqe))
		return message_obstacle(path, wqe, err);
	*err = 0;
	if (wqe->op == TRANSPORT_OP_FLUSH)
		return TRANSPORT_SUCCESS;
	if ((wqe->flags & TRANSPORT_WQE_INLINE) && wqe->op != TRANSPORT_OP_ATOMIC_WRITE)
		return TRANSPORT_LOC_QP_OP_ERR;
	if (wqe->length > WIRE_RETH_LENGTH_MAX || (wqe->op != TRANSPORT_OP_RDMA_READ && wqe->length != 8))
		return TRANSPORT_LOC_LEN_ERR;
	/* (What an ATOMIC WRITE sends is checked by its gather.) */
	if (wqe->length && wqe->op != TRANSPORT_OP_ATOMIC_WRITE)
		*err = qp->memory.ops->local_check(qp->memory.host, wqe->sge, wqe->num_sge, TRANSPORT_LOCAL_WRITE);
	return *err ? TRANSPORT_LOC_PROT_ERR : TRANSPORT_SUCCESS;
}

/* How many packets from `index` on, at most `limit`, form one run that fits the room. 0: not even one. */
static uint32_t run_packets(const struct message_path *path, const struct transport_wqe *wqe, uint32_t index, uint32_t total,
			    uint32_t limit, const struct transport_room *room)
{
	if (rc_requester_is_rd(wqe) && wqe->op != TRANSPORT_OP_ATOMIC_WRITE)
		return transport_run_fit(0, 1, 0, path->mtu, limit, message_each_header(path), WIRE_ATOMICETH_BYTES, 0, room);
	return message_fit(path, wqe, index, total, limit, room);
}

static uint8_t rd_operation(const struct transport_wqe *wqe)
{
	switch (wqe->op) {
	case TRANSPORT_OP_FETCH_ADD:
		return WIRE_FETCH_ADD;
	case TRANSPORT_OP_COMPARE_SWAP:
		return WIRE_COMPARE_SWAP;
	case TRANSPORT_OP_FLUSH:
		return WIRE_FLUSH;
	default:
		return WIRE_RDMA_READ_REQUEST;
	}
}

/* The request of a READ, from packet `index` of its answer on, of an atomic, or of a FLUSH. */
static void write_rd(const struct message_path *path, const struct transport_wqe *wqe, uint32_t index, uint32_t psn,
		     const struct transport_room *room, struct transport_run *out, size_t *used)
{
	uint64_t offset = (uint64_t)index * path->mtu;
	struct wire_packet *head = &out->head;

	message_head(path, psn, out);
	head->bth.opcode = (uint8_t)WIRE_OPCODE(path->transport, rd_operation(wqe));
	head->bth.ack_req = true;
	head->reth.va = wqe->remote_addr + offset;
	head->reth.rkey = wqe->rkey;
	head->reth.length = (uint32_t)(wqe->length - offset);
	head->atomic = (struct wire_atomiceth){ wqe->remote_addr, wqe->rkey, wqe->swap_or_add, wqe->compare };
	/* The bits of the placement stand in the order of those of the access flags. */
	head->feth.placement = (uint8_t)(wqe->imm_or_inv / TRANSPORT_FLUSH_GLOBAL & 3);
	head->feth.selector = wqe->flags & TRANSPORT_WQE_WHOLE ? 1 : 0;
	head->payload_len = 0;
	out->packets = 1;
	out->last_opcode = head->bth.opcode;
	(void)transport_run_write(out, NULL, 0, room, used);
}

/* Packets [index, index + n) of a WQE into the room. 0 or the error of the gather. */
static int write_run(const struct message_path *path, struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t n,
		     uint32_t psn, bool ack_req, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	if (!rc_requester_is_rd(wqe) || wqe->op == TRANSPORT_OP_ATOMIC_WRITE)
		return message_write(path, wqe, index, total, n, psn, ack_req, room, out, used);
	write_rd(path, wqe, index, psn, room, out, used);
	return 0;
}

static uint32_t in_flight(const struct rc_requester *q)
{
	return rc_psn_distance(q->una, q->next_psn);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The tail-loss probe: the packet before next_psn once more, asking for an answer. It changes no cursor. Something is out.
 * Of a READ that is its request, for all that is still missing: rxe serves no duplicate that begins before the one it served
 * last, so after a probe for the last packet alone the others could never be asked for again.
 */
static int emit_probe(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_requester *q = &qp->req;
	uint32_t psn = wire_psn_add(q->next_psn, RC_PSN_MASK);
	bool between = qp->sq->next == q->started || transport_sq_wqe(qp->sq, qp->sq->next)->first_psn == q->next_psn;
	uint32_t index = between ? qp->sq->next - 1 : qp->sq->next;
	struct transport_wqe *wqe = transport_sq_wqe(qp->sq, index);
	uint32_t total = psns_of(wqe, qp->config.mtu);
	uint32_t at;
	struct message_path path = path_of(qp, wqe);
	int err;

	if (rc_requester_is_rd(wqe))
		psn = index == qp->sq->done ? q->una : wqe->first_psn;
	at = rc_psn_distance(wqe->first_psn, psn);
	if (!run_packets(&path, wqe, at, total, 1, room))
		return 0;
	q->probe_owed = false;
	err = write_run(&path, wqe, at, total, 1, psn, true, room, out, used);
	if (err) {
		stop_at(qp, index, TRANSPORT_LOC_PROT_ERR, (uint32_t)-err);
		return 0;
	}
	q->activity_at = now;
	q->rtt_runs = false;
	qp->stats.tail_probes++;
	qp->stats.retransmitted_packets++;
	qp->stats.sent_packets++;
	qp->stats.sent_bytes += out->head.payload_len;
	return 1;
}

/* A run that takes n PSNs went out at next_psn. */
static void account(struct transport_qp *qp, uint64_t now, const struct transport_run *run, uint32_t n)
{
	struct rc_requester *q = &qp->req;
	uint32_t old = rc_psn_distance(q->next_psn, q->high);

	q->since_ack_req = run->head.bth.ack_req ? 0 : q->since_ack_req + n;
	qp->stats.retransmitted_packets += min_u32(run->packets, old);
	if (n > old) {
		q->high = wire_psn_add(q->next_psn, n);
		if (old == 0 && run->head.bth.ack_req && !q->rtt_runs) {
			q->rtt_runs = true;
			q->rtt_psn = wire_psn_add(q->high, RC_PSN_MASK);
			q->rtt_at = now;
		}
	}
	q->next_psn = wire_psn_add(q->next_psn, n);
	if (!q->timer_runs) {
		q->timer_runs = true;
		q->timer_at = now;
	}
	q->activity_at = now;
	qp->stats.sent_packets += run->packets;
	qp->stats.sent_bytes += run->head.payload_len;
	transport_pace_charge(&qp->pace, now, run);
}

/*
 * A new WQE that waits for earlier ones: READs and atomics by roce-wire 12, "READ+atomic limit", "Fence"; what is
 * executed here for all, since any of them may have to be answered by the memory that LOCAL_INV or a bind takes away.
 */
static bool must_wait(const struct transport_qp *qp, const struct transport_wqe *wqe)
{
	if (message_is_local(wqe))
		return qp->sq->next != qp->sq->done;
	if ((wqe->flags & TRANSPORT_WQE_FENCE) && qp->req.rd_out)
		return true;
	return rc_requester_is_rd(wqe) && qp->req.rd_out >= qp->config.max_rd_atomic;
}

/* Is there a packet, window and pauses apart? */
static bool has_packet(const struct transport_qp *qp)
{
	if (qp->sq->next != qp->req.started)
		return true;
	return qp->state == TRANSPORT_RTS && qp->sq->next != transport_sq_posted(qp->sq) &&
	       !must_wait(qp, transport_sq_wqe(qp->sq, qp->sq->next));
}

static bool may_send(const struct transport_qp *qp, uint64_t now)
{
	return (qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD) && now >= qp->req.paused_until &&
	       !transport_pace_holds(&qp->pace, now);
}

static bool may_emit(const struct transport_qp *qp, uint64_t now)
{
	const struct rc_requester *q = &qp->req;

	return may_send(qp, now) && in_flight(q) < rc_selective_window(qp) && !(q->stopped && qp->sq->next == q->stop_index);
}

/* Something is to be sent again, selectively. */
static bool has_due(const struct transport_qp *qp, uint64_t now)
{
	uint32_t psn;

	return rc_selective_due(qp, &psn) && may_send(qp, now);
}

/* LOCAL_INV and BIND_MW WQEs whose turn it is. They own no PSN. */
static void execute_local(struct transport_qp *qp)
{
	struct transport_sq *sq = qp->sq;

	while (qp->state == TRANSPORT_RTS && sq->next == qp->req.started && sq->next == sq->done && transport_sq_has_work(sq)) {
		const struct transport_wqe *wqe = transport_sq_wqe(sq, sq->next);
		uint32_t status;
		int err;

		if (!message_is_local(wqe))
			return;
		status = message_execute(&qp->memory, wqe, &err);
		if (status != TRANSPORT_SUCCESS) {
			rc_requester_fail(qp, status, (uint32_t)-err);
			return;
		}
		transport_sq_finish(sq, TRANSPORT_SUCCESS, 0);
		qp->req.started = sq->next;
	}
}

enum { DUE_WAS_NONE = -1 };

/* The WQE that owns a PSN in [una, next_psn). */
static uint32_t owner_of(const struct transport_qp *qp, uint32_t psn)
{
	uint32_t index = qp->sq->done;

	while (rc_psn_distance(qp->req.una, transport_sq_wqe(qp->sq, index)->last_psn) < rc_psn_distance(qp->req.una, psn))
		index++;
	return index;
}

/* The oldest packet that is missing. 1, 0: no room or an error; DUE_WAS_NONE: it was no packet. */
static int emit_due(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out,
		    size_t *used)
{
	struct rc_requester *q = &qp->req;
	uint32_t psn = q->una;

	(void)rc_selective_due(qp, &psn);
	uint32_t index = owner_of(qp, psn);
	struct transport_wqe *wqe = transport_sq_wqe(qp->sq, index);
	struct message_path path = path_of(qp, wqe);
	uint32_t at = rc_psn_distance(wqe->first_psn, psn), total = psns_of(wqe, qp->config.mtu);

	if ((rc_requester_is_rd(wqe) && at != 0) || (q->stopped && index == q->stop_index)) {
		rc_selective_skip(qp, psn);
		return DUE_WAS_NONE;
	}
	if (!run_packets(&path, wqe, at, total, 1, room))
		return 0;
	rc_selective_resent(qp, now, psn);
	int err = write_run(&path, wqe, at, total, 1, psn, true, room, out, used);
	if (err) {
		stop_at(qp, index, TRANSPORT_LOC_PROT_ERR, (uint32_t)-err);
		return 0;
	}
	q->activity_at = now;
	/* An answer could be to either. */
	q->rtt_runs = false;
	qp->stats.selective_retransmits++;
	qp->stats.retransmitted_packets++;
	qp->stats.sent_packets++;
	qp->stats.sent_bytes += out->head.payload_len;
	transport_pace_charge(&qp->pace, now, out);
	return 1;
}

int rc_requester_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_requester *q = &qp->req;
	uint32_t window = rc_selective_window(qp);
	struct message_path path;
	uint32_t index;
	struct transport_wqe *wqe;
	uint32_t total, at, n, limit, psn = q->next_psn;
	uint32_t psns;
	bool fresh, ack_req, rd;
	int err;

	if (q->probe_owed && (qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD))
		return emit_probe(qp, now, room, out, used);
	while (has_due(qp, now)) {
		int done = emit_due(qp, now, room, out, used);

		if (done != DUE_WAS_NONE)
			return done;
	}
	execute_local(qp);
	if (!may_emit(qp, now) || !has_packet(qp))
		return 0;
	index = qp->sq->next;
	fresh = index == q->started;
	wqe = transport_sq_wqe(qp->sq, index);
	path = path_of(qp, wqe);
	if (fresh) {
		uint32_t status = wqe_obstacle(qp, &path, wqe, &err);

		if (status != TRANSPORT_SUCCESS) {
			stop_at(qp, index, status, (uint32_t)-err);
			return 0;
		}
	}
	total = psns_of(wqe, qp->config.mtu);
	at = fresh ? 0 : rc_psn_distance(wqe->first_psn, psn);
	limit = window - in_flight(q);
	if (!q->window.lossless)
		limit = min_u32(limit, window / 2);
	limit = min_u32(limit, RC_ACK_REQ_EVERY);
	n = run_packets(&path, wqe, at, total, limit, room);
	if (n == 0)
		return 0;
	rd = rc_requester_is_rd(wqe);
	psns = rd ? total - at : n;
	/* Under a limit emission halts after any run. */
	ack_req = qp->pace.rate != 0 || at + n == total ||
		  q->since_ack_req + n >= min_u32(RC_ACK_REQ_EVERY, window / 4) || in_flight(q) + n >= window;
	err = write_run(&path, wqe, at, total, n, psn, ack_req, room, out, used);
	if (err) {
		stop_at(qp, index, TRANSPORT_LOC_PROT_ERR, (uint32_t)-err);
		return 0;
	}
	if (fresh) {
		wqe->first_psn = psn;
		wqe->last_psn = wire_psn_add(psn, total - 1);
		wqe->status = TRANSPORT_SUCCESS;
		wqe->vendor_err = 0;
		q->started++;
		q->rd_out += rd;
	}
	if (at + psns == total)
		qp->sq->next++;
	account(qp, now, out, psns);
	return 1;
}

bool rc_requester_wants_room(const struct transport_qp *qp, uint64_t now)
{
	const struct rc_requester *q = &qp->req;

	if (qp->state != TRANSPORT_RTS && qp->state != TRANSPORT_SQD)
		return false;
	if (q->probe_owed || (q->peer_gone && transport_sq_has_work(qp->sq)))
		return true;
	return has_due(qp, now) || (may_emit(qp, now) && has_packet(qp));
}
