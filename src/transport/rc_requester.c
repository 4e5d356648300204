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
 * What holds emission up, in this order: the state (SQD starts nothing new), an RNR pause, the window, a stopped WQE, an
 * empty queue.
 *
 * READ and atomics. One request packet takes the PSNs of its answer; a retry from the middle of a READ asks for the rest. At most
 * max_rd_atomic of them are started and unanswered, a fenced WQE waits for all; whatever is behind waits too.
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
#include "transport/rc.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "transport/rc_read.h"
#include "transport/rc_run.h"
#include "wire/opcode.h"
#include "wire/psn.h"

void rc_requester_start(struct rc_qp *qp, uint32_t psn)
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

static uint32_t sq_posted(const struct rc_qp *qp)
{
	return atomic_load_explicit(&qp->sq->posted, memory_order_acquire);
}

bool rc_requester_has_work(const struct rc_qp *qp)
{
	return qp->sq->done != sq_posted(qp);
}

void rc_requester_fail(struct rc_qp *qp, uint32_t status, uint32_t vendor_err)
{
	struct transport_wqe *wqe = transport_sq_wqe(qp->sq, qp->sq->done);

	wqe->status = (uint8_t)status;
	wqe->vendor_err = vendor_err;
	qp->sq->done++;
	qp->sq->next = qp->sq->done;
	rc_enter_error(qp);
}

void rc_requester_check_gone(struct rc_qp *qp)
{
	if (qp->req.peer_gone && (qp->state == RC_RTS || qp->state == RC_SQD) && rc_requester_has_work(qp))
		rc_requester_fail(qp, TRANSPORT_RETRY_EXC_ERR, 0);
}

void rc_requester_check_drained(struct rc_qp *qp)
{
	if (qp->state == RC_SQD && qp->req.draining && qp->sq->done == qp->req.started) {
		qp->req.draining = false;
		qp->events |= RC_EVENT_SQ_DRAINED;
	}
}

void rc_requester_rewind(struct rc_qp *qp)
{
	qp->req.next_psn = qp->req.una;
	qp->sq->next = qp->sq->done;
	qp->req.since_ack_req = 0;
	qp->req.rtt_runs = false;
	qp->req.probe_owed = false;
}

static bool has_imm(const struct transport_wqe *wqe)
{
	return wqe->op == TRANSPORT_OP_SEND_WITH_IMM || wqe->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
}

static bool is_write(const struct transport_wqe *wqe)
{
	return wqe->op == TRANSPORT_OP_RDMA_WRITE || wqe->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
}

bool rc_requester_is_rd(const struct transport_wqe *wqe)
{
	return wqe->op >= TRANSPORT_OP_RDMA_READ && wqe->op <= TRANSPORT_OP_FETCH_ADD;
}

/* PSNs of the message: its packets or, for a READ, those of the answer. (An atomic has 8 bytes.) */
static uint32_t wqe_packets(const struct transport_wqe *wqe, uint32_t mtu)
{
	return rc_read_psns(wqe->length, mtu);
}

static void stop_at(struct rc_qp *qp, uint32_t index, uint32_t status, uint32_t vendor_err)
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
static uint32_t wqe_obstacle(struct rc_qp *qp, struct transport_wqe *wqe, int *err)
{
	*err = 0;
	switch (wqe->op) {
	case TRANSPORT_OP_RDMA_READ:
	case TRANSPORT_OP_COMPARE_SWAP:
	case TRANSPORT_OP_FETCH_ADD:
		if (wqe->flags & TRANSPORT_WQE_INLINE)
			return TRANSPORT_LOC_QP_OP_ERR;
		if (wqe->length > RC_MAX_MESSAGE || (wqe->op != TRANSPORT_OP_RDMA_READ && wqe->length != 8))
			return TRANSPORT_LOC_LEN_ERR;
		if (wqe->length)
			*err = qp->memory.ops->local_check(qp->memory.host, wqe->sge, wqe->num_sge, TRANSPORT_LOCAL_WRITE);
		return *err ? TRANSPORT_LOC_PROT_ERR : TRANSPORT_SUCCESS;
	case TRANSPORT_OP_SEND:
	case TRANSPORT_OP_SEND_WITH_IMM:
	case TRANSPORT_OP_RDMA_WRITE:
	case TRANSPORT_OP_RDMA_WRITE_WITH_IMM:
		break;
	default:
		return TRANSPORT_LOC_QP_OP_ERR;
	}
	if (wqe->length > RC_MAX_MESSAGE)
		return TRANSPORT_LOC_LEN_ERR;
	/* A single packet is checked by its gather; a longer message must be good as a whole before its first packet leaves. */
	if (!(wqe->flags & TRANSPORT_WQE_INLINE) && wqe->length > qp->config.mtu)
		*err = qp->memory.ops->local_check(qp->memory.host, wqe->sge, wqe->num_sge, TRANSPORT_LOCAL_READ);
	return *err ? TRANSPORT_LOC_PROT_ERR : TRANSPORT_SUCCESS;
}

/* Bytes of message payload to dst. */
static int fetch(struct rc_qp *qp, struct transport_wqe *wqe, uint64_t offset, uint8_t *dst, uint32_t len)
{
	if (len == 0)
		return 0;
	if (wqe->flags & TRANSPORT_WQE_INLINE) {
		memcpy(dst, (const uint8_t *)transport_wqe_inline(wqe) + offset, len);
		return 0;
	}
	return qp->memory.ops->gather(qp->memory.host, wqe->sge, wqe->num_sge, offset, dst, len);
}

/* How many packets from `index` on, at most `limit`, form one run that fits the room. 0: not even one. */
static uint32_t run_packets(const struct rc_qp *qp, const struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t limit,
			    const struct transport_room *room)
{
	if (rc_requester_is_rd(wqe))
		return !room->framed || room->bytes >= WIRE_BTH_BYTES + WIRE_ATOMICETH_BYTES + WIRE_ICRC_BYTES;
	return rc_run_fit(index, total, wqe->length - (uint64_t)index * qp->config.mtu, qp->config.mtu, limit,
			  is_write(wqe) ? WIRE_RETH_BYTES : 0, has_imm(wqe) ? WIRE_IMMDT_BYTES : 0, room);
}

static int write_framed(struct rc_qp *qp, struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t n, uint8_t *buf,
			struct transport_run *out, size_t *used)
{
	uint32_t mtu = qp->config.mtu;
	struct wire_packet pkt = out->head;
	uint8_t *at = buf;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = (uint64_t)(index + i) * mtu;
		uint32_t len = index + i == total - 1 ? (uint32_t)(wqe->length - offset) : mtu;
		int err;

		pkt.bth.opcode = rc_run_opcode(wqe->op, index + i, total);
		pkt.bth.psn = wire_psn_add(out->head.bth.psn, i);
		pkt.bth.ack_req = i == n - 1 && out->head.bth.ack_req;
		pkt.bth.solicited = i == n - 1 && out->head.bth.solicited;
		pkt.bth.pad = wire_packet_pad(len);
		at += wire_packet_encode_headers(at, &pkt);
		if (i == 0)
			out->head.payload = at;
		err = fetch(qp, wqe, offset, at, len);
		if (err)
			return err;
		at += len;
		memset(at, 0, pkt.bth.pad);
		at += pkt.bth.pad + WIRE_ICRC_BYTES;
	}
	*used = (size_t)(at - buf);
	return 0;
}

/* The request of a READ, from packet `index` of its answer on, or of an atomic. */
static void write_rd(struct rc_qp *qp, const struct transport_wqe *wqe, uint32_t index, const struct transport_room *room,
		     struct transport_run *out, size_t *used)
{
	uint64_t offset = (uint64_t)index * qp->config.mtu;
	struct wire_packet *head = &out->head;

	head->bth.opcode = wqe->op == TRANSPORT_OP_RDMA_READ ? WIRE_RC_RDMA_READ_REQUEST :
			   wqe->op == TRANSPORT_OP_FETCH_ADD ? WIRE_RC_FETCH_ADD : WIRE_RC_COMPARE_SWAP;
	head->bth.ack_req = true;
	head->reth.va = wqe->remote_addr + offset;
	head->reth.rkey = wqe->rkey;
	head->reth.length = (uint32_t)(wqe->length - offset);
	head->atomic = (struct wire_atomiceth){ wqe->remote_addr, wqe->rkey, wqe->swap_or_add, wqe->compare };
	head->op = wire_opcode_find(head->bth.opcode);
	head->payload = room->buf;
	head->payload_len = 0;
	out->packets = 1;
	out->last_opcode = head->bth.opcode;
	out->mtu = qp->config.mtu;
	*used = 0;
	if (!room->framed)
		return;
	*used = wire_packet_encode_headers(room->buf, head);
	head->payload = room->buf + *used;
	*used += WIRE_ICRC_BYTES;
}

/* Packets [index, index + n) of a WQE into the room. 0 or the error of the gather. */
static int write_run(struct rc_qp *qp, struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t n, uint32_t psn,
		     bool ack_req, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	uint32_t mtu = qp->config.mtu;
	bool last = index + n == total;
	uint64_t offset = (uint64_t)index * mtu;
	uint32_t bytes = last ? (uint32_t)(wqe->length - offset) : n * mtu;
	struct wire_packet *head = &out->head;
	int err;

	memset(&head->bth, 0, sizeof(head->bth));
	head->bth.migreq = true;
	head->bth.pkey = qp->config.pkey;
	head->bth.dest_qpn = qp->config.dest_qpn;
	head->bth.psn = psn;
	if (rc_requester_is_rd(wqe)) {
		write_rd(qp, wqe, index, room, out, used);
		return 0;
	}
	head->bth.opcode = rc_run_opcode(wqe->op, index, total);
	head->bth.ack_req = ack_req;
	head->bth.solicited = last && (wqe->flags & TRANSPORT_WQE_SOLICITED) && (has_imm(wqe) || !is_write(wqe));
	head->bth.pad = n == 1 ? wire_packet_pad(bytes) : 0;
	head->reth.va = wqe->remote_addr;
	head->reth.rkey = wqe->rkey;
	head->reth.length = wqe->length;
	head->imm = wqe->imm_or_inv;
	head->op = wire_opcode_find(head->bth.opcode);
	head->payload = room->buf;
	head->payload_len = bytes;
	out->packets = (uint16_t)n;
	out->last_opcode = rc_run_opcode(wqe->op, index + n - 1, total);
	out->mtu = mtu;
	if (room->framed)
		return write_framed(qp, wqe, index, total, n, room->buf, out, used);
	err = fetch(qp, wqe, offset, room->buf, bytes);
	*used = bytes;
	return err;
}

static uint32_t in_flight(const struct rc_requester *q)
{
	return rc_psn_distance(q->una, q->next_psn);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The tail-loss probe: the packet before next_psn once more, asking for an answer. It changes no cursor. Something is out. */
static int emit_probe(struct rc_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_requester *q = &qp->req;
	uint32_t psn = wire_psn_add(q->next_psn, RC_PSN_MASK);
	bool between = qp->sq->next == q->started || transport_sq_wqe(qp->sq, qp->sq->next)->first_psn == q->next_psn;
	uint32_t index = between ? qp->sq->next - 1 : qp->sq->next;
	struct transport_wqe *wqe = transport_sq_wqe(qp->sq, index);
	uint32_t total = wqe_packets(wqe, qp->config.mtu);
	uint32_t at = rc_psn_distance(wqe->first_psn, psn);
	int err;

	if (!run_packets(qp, wqe, at, total, 1, room))
		return 0;
	q->probe_owed = false;
	err = write_run(qp, wqe, at, total, 1, psn, true, room, out, used);
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
static void account(struct rc_qp *qp, uint64_t now, const struct transport_run *run, uint32_t n)
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
}

/* A new WQE that waits for earlier READs and atomics: roce-wire 12, "READ+atomic limit", "Fence". */
static bool must_wait(const struct rc_qp *qp, const struct transport_wqe *wqe)
{
	if ((wqe->flags & TRANSPORT_WQE_FENCE) && qp->req.rd_out)
		return true;
	return rc_requester_is_rd(wqe) && qp->req.rd_out >= qp->config.max_rd_atomic;
}

/* Is there a packet, window and pauses apart? */
static bool has_packet(const struct rc_qp *qp)
{
	if (qp->sq->next != qp->req.started)
		return true;
	return qp->state == RC_RTS && qp->sq->next != sq_posted(qp) && !must_wait(qp, transport_sq_wqe(qp->sq, qp->sq->next));
}

static bool may_emit(const struct rc_qp *qp, uint64_t now)
{
	const struct rc_requester *q = &qp->req;

	if ((qp->state != RC_RTS && qp->state != RC_SQD) || now < q->paused_until)
		return false;
	return in_flight(q) < q->window.packets && !(q->stopped && qp->sq->next == q->stop_index);
}

int rc_requester_next(struct rc_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_requester *q = &qp->req;
	uint32_t window = q->window.packets;
	uint32_t index = qp->sq->next;
	struct transport_wqe *wqe;
	uint32_t total, at, n, limit, psn = q->next_psn;
	uint32_t psns;
	bool fresh, ack_req, rd;
	int err;

	if (q->probe_owed && (qp->state == RC_RTS || qp->state == RC_SQD))
		return emit_probe(qp, now, room, out, used);
	if (!may_emit(qp, now) || !has_packet(qp))
		return 0;
	fresh = index == q->started;

	wqe = transport_sq_wqe(qp->sq, index);
	if (fresh) {
		uint32_t status = wqe_obstacle(qp, wqe, &err);

		if (status != TRANSPORT_SUCCESS) {
			stop_at(qp, index, status, (uint32_t)-err);
			return 0;
		}
	}
	total = wqe_packets(wqe, qp->config.mtu);
	at = fresh ? 0 : rc_psn_distance(wqe->first_psn, psn);
	limit = window - in_flight(q);
	if (!q->window.lossless)
		limit = min_u32(limit, window / 2);
	limit = min_u32(limit, RC_ACK_REQ_EVERY);
	n = run_packets(qp, wqe, at, total, limit, room);
	if (n == 0)
		return 0;
	rd = rc_requester_is_rd(wqe);
	psns = rd ? total - at : n;
	ack_req = at + n == total || q->since_ack_req + n >= min_u32(RC_ACK_REQ_EVERY, window / 4) || in_flight(q) + n >= window;
	err = write_run(qp, wqe, at, total, n, psn, ack_req, room, out, used);
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

bool rc_requester_wants_room(const struct rc_qp *qp, uint64_t now)
{
	const struct rc_requester *q = &qp->req;

	if (qp->state != RC_RTS && qp->state != RC_SQD)
		return false;
	if (q->probe_owed || (q->peer_gone && rc_requester_has_work(qp)))
		return true;
	return may_emit(qp, now) && has_packet(qp);
}

int rc_requester_completion_next(struct rc_qp *qp, struct transport_completion *out)
{
	static const uint8_t opcodes[TRANSPORT_OP_COUNT] = {
		[TRANSPORT_OP_RDMA_WRITE] = TRANSPORT_WC_RDMA_WRITE,
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = TRANSPORT_WC_RDMA_WRITE,
		[TRANSPORT_OP_SEND] = TRANSPORT_WC_SEND,
		[TRANSPORT_OP_SEND_WITH_IMM] = TRANSPORT_WC_SEND,
		[TRANSPORT_OP_RDMA_READ] = TRANSPORT_WC_RDMA_READ,
		[TRANSPORT_OP_COMPARE_SWAP] = TRANSPORT_WC_COMPARE_SWAP,
		[TRANSPORT_OP_FETCH_ADD] = TRANSPORT_WC_FETCH_ADD,
		[TRANSPORT_OP_LOCAL_INV] = TRANSPORT_WC_LOCAL_INV,
		[TRANSPORT_OP_BIND_MW] = TRANSPORT_WC_BIND_MW,
		[TRANSPORT_OP_SEND_WITH_INV] = TRANSPORT_WC_SEND,
	};
	struct transport_sq *sq = qp->sq;
	struct transport_wqe *wqe;

	rc_requester_check_gone(qp);
	if (sq->reaped == sq->done) {
		if (qp->state != RC_ERROR || !rc_requester_has_work(qp))
			return 0;
		wqe = transport_sq_wqe(sq, sq->done);
		wqe->status = TRANSPORT_WR_FLUSH_ERR;
		wqe->vendor_err = 0;
		sq->done++;
		sq->next = sq->done;
	}
	wqe = transport_sq_wqe(sq, sq->reaped);
	memset(out, 0, sizeof(*out));
	out->wr_id = wqe->wr_id;
	out->status = wqe->status;
	out->opcode = wqe->op < TRANSPORT_OP_COUNT ? opcodes[wqe->op] : (uint8_t)TRANSPORT_WC_SEND;
	out->byte_len = wqe->length;
	out->vendor_err = wqe->vendor_err;
	out->index = sq->reaped;
	out->signaled = (wqe->flags & TRANSPORT_WQE_SIGNALED) || wqe->status != TRANSPORT_SUCCESS;
	sq->reaped++;
	return 1;
}
