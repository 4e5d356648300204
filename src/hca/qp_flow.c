/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A QP as the engine's flow, as far as its type makes no difference. Everything here runs under the progress lock.
 *
 * Order of publication: receive() places data and stages finished receives; the engine lets owed ACKs leave; publish() then
 * makes CQEs visible, and a CQE fires its event. Sends complete in publish() too, straight from the transport.
 *
 * Flush: when the transport enters its error state it finishes the send queue itself, in order. The receive queue is ours: the
 * receive in use came from the transport before, the rest follows here, also what is posted later (posting kicks the flow). An
 * SRQ is left alone.
 */
#include "hca/qp_type.h"

#include <assert.h>

#include "base/err.h"
#include "hca/xrc_internal.h"

_Static_assert((int)TRANSPORT_ERROR == HCA_QPS_ERR && (int)TRANSPORT_SQE == HCA_QPS_SQE && (int)TRANSPORT_RTS == HCA_QPS_RTS,
	       "one set of states");

static enum hca_qp_state state_of(const struct hca_qp *qp)
{
	return (enum hca_qp_state)transport_qp_state(&qp->transport);
}

static void slot_release(struct hca_qp *qp, struct hca_srq *srq, uint32_t index)
{
	hca_rq_release(srq != NULL ? &srq->rq : &qp->rq, index);
}

/* Events of a shared target are for all who opened it. */
static void raise(struct hca_qp *qp, enum hca_async_type type)
{
	if (qp->xrc != NULL)
		hca_xrc_target_raise(qp, type);
	else
		hca_async_raise(&qp->source, type);
}

static int recv_take(void *host, struct transport_recv *out)
{
	struct hca_qp *qp = host;

	if (qp->taken_count == HCA_QP_TAKEN)
		return BASE_ERR_AGAIN;
	struct hca_srq *srq = qp->xrc != NULL ? qp->xrc_srq : qp->srq;
	int err = srq != NULL ? hca_srq_take(srq, out) : hca_rq_take(&qp->rq, out, NULL);
	if (err == 0) {
		out->srqn = srq != NULL ? srq->number : 0;
		qp->taken[qp->taken_count].srq = srq;
		qp->taken[qp->taken_count++].index = out->index;
		qp->dry_since = 0;
	}
	return err;
}

static int recv_select(void *host, uint32_t srqn)
{
	struct hca_qp *qp = host;

	if (qp->xrc_srq != NULL && qp->xrc_srq->number == srqn)
		return 0;
	struct hca_srq *srq = hca_xrc_srq_find(qp->xrc, srqn);
	if (srq == NULL)
		return BASE_ERR_KEY;
	qp->xrc_srq = srq;
	dma_view_init(&qp->view, qp->view.table, srq->pd->number);
	return 0;
}

const struct transport_recv_ops hca_qp_recv_ops = { .take = recv_take, .select = recv_select };

static void recv_give_back(struct hca_qp *qp, const struct transport_completion *done)
{
	for (uint32_t i = 0; i < qp->taken_count; i++) {
		struct hca_srq *srq = qp->taken[i].srq;

		if (qp->taken[i].index == done->index && (srq != NULL ? srq->number : 0) == done->srqn) {
			qp->taken[i] = qp->taken[--qp->taken_count];
			slot_release(qp, srq, done->index);
			return;
		}
	}
	assert(!"the transport completed a receive that it did not take");
}

void hca_qp_receives_forget(struct hca_qp *qp)
{
	for (uint32_t i = 0; i < qp->taken_count; i++)
		slot_release(qp, qp->taken[i].srq, qp->taken[i].index);
	qp->taken_count = 0;
	qp->staged_count = 0;
}

/* A CQ that overran takes no more: the QP cannot report and is done. */
static void push(struct hca_qp *qp, struct hca_cq *cq, const struct transport_completion *done, bool is_send)
{
	struct hca_cqe cqe = {
		.wc = {
			.wr_id = done->wr_id,
			.status = done->status,
			.opcode = done->opcode,
			.vendor_err = done->vendor_err,
			.byte_len = done->byte_len,
			.imm_or_inv = done->imm_or_inv,
			.qp_num = qp->flow.qpn,
			.src_qp = done->src_qpn,
			.wc_flags = done->wc_flags,
			.sl = done->sl,
		},
		/* Receives of an XRC target are its SRQ's: they stay when it goes. */
		.qp = qp->xrc != NULL ? NULL : qp,
		.sq_index = done->index,
		.is_send = is_send,
		.solicited = !is_send && done->solicited,
	};

	if (!hca_cq_push(cq, &cqe) && state_of(qp) != HCA_QPS_ERR) {
		qp->ops->transport->to_error(&qp->transport);
		raise(qp, HCA_ASYNC_QP_FATAL);
	}
}

static void push_staged(struct hca_qp *qp)
{
	for (uint32_t i = 0; i < qp->staged_count; i++) {
		struct hca_cq *cq = qp->recv_cq;

		if (qp->xrc != NULL) {
			const struct hca_srq *srq = hca_xrc_srq_find(qp->xrc, qp->staged[i].srqn);

			if (srq == NULL)
				continue; /* destroyed since, and what it held with it */
			cq = srq->cq;
		}
		push(qp, cq, &qp->staged[i], false);
	}
	qp->staged_count = 0;
}

/* Finished receives leave the transport at once (it can hold only a few), and wait here for publish(). */
static void stage_receives(struct hca_qp *qp)
{
	for (;;) {
		if (qp->staged_count == HCA_QP_STAGED)
			push_staged(qp); /* more than a round can bring: the ACK has had its chance in the rounds before */
		struct transport_completion *at = &qp->staged[qp->staged_count];
		if (transport_qp_recv_done(&qp->transport, at) == 0)
			return;
		recv_give_back(qp, at);
		qp->staged_count++;
	}
}

void hca_qp_srq_gone(struct hca_qp *qp, struct hca_srq *srq)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	bool is_held = false;

	stage_receives(qp);
	for (uint32_t i = 0; i < qp->taken_count; i++)
		is_held |= qp->taken[i].srq == srq;
	if (is_held) {
		/* It ends what it holds, and the slot is given back while there is an SRQ to give it to. */
		qp->ops->transport->to_error(&qp->transport);
		stage_receives(qp);
		hca_qp_state_follow(qp);
		if (qp->xrc_openers != NULL)
			engine->ops->schedule(engine->context, &qp->flow);
	}
	push_staged(qp);
	if (qp->xrc_srq == srq)
		qp->xrc_srq = NULL;
}

bool hca_qp_is_from_peer(struct hca_qp *qp, const struct link_rx *rx)
{
	const struct link_path *path = &qp->flow.path;
	bool is_peer = rx->kind == path->kind && rx->gid_type == path->gid_type && wire_gid_equal(&rx->sgid, &path->dgid) &&
		       wire_gid_equal(&rx->dgid, &path->sgid) && (rx->ifindex == 0 || rx->ifindex == path->ifindex) &&
		       (rx->kind != LINK_SHM || rx->source_slot == path->dest_qpn >> 16);

	if (!is_peer)
		hca_qp_received(qp, rx, HCA_PORT_DROP_ADDRESS);
	return is_peer;
}

void hca_qp_received(struct hca_qp *qp, const struct link_rx *rx, enum hca_port_counter verdict)
{
	struct hca_device *device = qp->context->device;

	hca_count(device, HCA_PORT_RECEIVED_PACKETS, rx->run.packets);
	hca_count(device, HCA_PORT_RECEIVED_BYTES, rx->run.head.payload_len);
	hca_count(device, verdict, 1);
	stage_receives(qp);
}

int hca_qp_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct hca_qp *qp = hca_qp_of(flow);
	struct transport_room paced = *room;

	/* A piece is no longer than a burst may be. */
	if (qp->transport.pace.rate != 0 && qp->transport.pace.burst != 0) {
		uint64_t packets = qp->transport.pace.burst / (qp->transport.config.mtu + TRANSPORT_PACE_OVERHEAD);

		paced.packets = packets == 0 ? 1 : packets < paced.packets ? (uint16_t)packets : paced.packets;
	}
	int n = qp->ops->transport->next(&qp->transport, now, &paced, out, used);

	if (n > 0) {
		hca_count(qp->context->device, HCA_PORT_SENT_PACKETS, out->packets);
		hca_count(qp->context->device, HCA_PORT_SENT_BYTES, out->head.payload_len);
	}
	return n;
}

bool hca_qp_wants_room(struct node_flow *flow, uint64_t now)
{
	struct hca_qp *qp = hca_qp_of(flow);

	return qp->ops->transport->wants_room(&qp->transport, now);
}

uint64_t hca_qp_deadline(struct node_flow *flow)
{
	return transport_qp_deadline(&hca_qp_of(flow)->transport);
}

void hca_qp_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	transport_qp_tick(&hca_qp_of(flow)->transport, now, excused_ns);
}

void hca_qp_peer_gone(struct node_flow *flow, uint64_t now)
{
	transport_qp_peer_gone(&hca_qp_of(flow)->transport, now);
}

uint64_t hca_qp_dry(struct hca_qp *qp, uint64_t now, bool may_wait)
{
	if (!may_wait)
		return 0;
	if (qp->dry_since == 0)
		qp->dry_since = now;
	if (now - qp->dry_since >= HCA_QP_DRY_WAIT)
		return 0;
	if (qp->srq != NULL)
		atomic_store(&qp->srq->dry, qp);
	else
		atomic_store(&qp->dry, true);
	return qp->dry_since + HCA_QP_DRY_WAIT;
}

static void flush_receives(struct hca_qp *qp)
{
	struct transport_recv recv;

	if (qp->srq != NULL || qp->xrc != NULL) {
		if (!qp->last_wqe_raised && qp->taken_count == 0) {
			qp->last_wqe_raised = true;
			raise(qp, HCA_ASYNC_QP_LAST_WQE_REACHED);
		}
		return;
	}
	while (hca_rq_take(&qp->rq, &recv, NULL) == 0) {
		struct transport_completion done = {
			.wr_id = recv.wr_id, .status = TRANSPORT_WR_FLUSH_ERR, .opcode = TRANSPORT_WC_RECV, .index = recv.index,
		};

		hca_rq_release(&qp->rq, recv.index);
		push(qp, qp->recv_cq, &done, false);
	}
}

static void raise_events(struct hca_qp *qp)
{
	static const struct {
		uint32_t bit;
		enum hca_async_type type;
	} events[] = {
		{ TRANSPORT_EVENT_COMM_EST, HCA_ASYNC_COMM_EST },
		{ TRANSPORT_EVENT_REQ_ERR, HCA_ASYNC_QP_REQ_ERR },
		{ TRANSPORT_EVENT_ACCESS_ERR, HCA_ASYNC_QP_ACCESS_ERR },
		{ TRANSPORT_EVENT_FATAL, HCA_ASYNC_QP_FATAL },
	};
	uint32_t bits = transport_qp_events_take(&qp->transport);

	for (unsigned i = 0; bits != 0 && i < sizeof(events) / sizeof(events[0]); i++)
		if (bits & events[i].bit)
			raise(qp, events[i].type);
	if ((bits & TRANSPORT_EVENT_SQ_DRAINED) && qp->notify_drained)
		raise(qp, HCA_ASYNC_SQ_DRAINED);
}

const char *const hca_qp_counter_names[EXPORT_QP_COUNTERS] = {
	[HCA_QP_SENT_PACKETS] = "sent_packets",
	[HCA_QP_SENT_BYTES] = "sent_bytes",
	[HCA_QP_RECEIVED_PACKETS] = "received_packets",
	[HCA_QP_RECEIVED_BYTES] = "received_bytes",
	[HCA_QP_RETRANSMITTED_PACKETS] = "retransmitted_packets",
	[HCA_QP_TIMEOUTS] = "timeouts",
	[HCA_QP_TAIL_PROBES] = "tail_probes",
	[HCA_QP_ACKS_SENT] = "acks_sent",
	[HCA_QP_NAKS_SENT] = "naks_sent",
	[HCA_QP_RNR_NAKS_SENT] = "rnr_naks_sent",
	[HCA_QP_NAKS_RECEIVED] = "naks_received",
	[HCA_QP_RNR_NAKS_RECEIVED] = "rnr_naks_received",
	[HCA_QP_DUPLICATES] = "duplicates",
	[HCA_QP_OUT_OF_ORDER] = "out_of_order",
	[HCA_QP_WINDOW_SHRINKS] = "window_shrinks",
	[HCA_QP_ABANDONED] = "abandoned",
	[HCA_QP_OVERSIZED] = "oversized",
	[HCA_QP_SACKS_SENT] = "sacks_sent",
	[HCA_QP_SACKS_RECEIVED] = "sacks_received",
	[HCA_QP_SELECTIVE_RETRANSMITS] = "selective_retransmits",
	[HCA_QP_HELD_PACKETS] = "held_packets",
	[HCA_QP_DRY_DROPS] = "dry_drops",
};
_Static_assert((int)HCA_QP_COUNTERS <= (int)EXPORT_QP_COUNTERS, "they fit");

static void count(const struct hca_qp *qp, uint64_t values[HCA_QP_COUNTERS])
{
	const struct transport_stats *s = transport_qp_stats(&qp->transport);

	values[HCA_QP_SENT_PACKETS] = s->sent_packets;
	values[HCA_QP_SENT_BYTES] = s->sent_bytes;
	values[HCA_QP_RECEIVED_PACKETS] = s->received_packets;
	values[HCA_QP_RECEIVED_BYTES] = s->received_bytes;
	values[HCA_QP_RETRANSMITTED_PACKETS] = s->retransmitted_packets;
	values[HCA_QP_TIMEOUTS] = s->timeouts;
	values[HCA_QP_TAIL_PROBES] = s->tail_probes;
	values[HCA_QP_ACKS_SENT] = s->acks_sent;
	values[HCA_QP_NAKS_SENT] = s->naks_sent;
	values[HCA_QP_RNR_NAKS_SENT] = s->rnr_naks_sent;
	values[HCA_QP_NAKS_RECEIVED] = s->naks_received;
	values[HCA_QP_RNR_NAKS_RECEIVED] = s->rnr_naks_received;
	values[HCA_QP_DUPLICATES] = s->duplicates;
	values[HCA_QP_OUT_OF_ORDER] = s->out_of_order;
	values[HCA_QP_WINDOW_SHRINKS] = s->window_shrinks;
	values[HCA_QP_ABANDONED] = s->abandoned;
	values[HCA_QP_OVERSIZED] = s->oversized;
	values[HCA_QP_SACKS_SENT] = s->sacks_sent;
	values[HCA_QP_SACKS_RECEIVED] = s->sacks_received;
	values[HCA_QP_SELECTIVE_RETRANSMITS] = s->selective_retransmits;
	values[HCA_QP_HELD_PACKETS] = s->held_packets;
	values[HCA_QP_DRY_DROPS] = qp->dry_drops;
}

static void export_follow(struct hca_qp *qp)
{
	const struct transport_ops *transport = qp->ops->transport;
	uint64_t values[HCA_QP_COUNTERS];

	count(qp, values);
	for (unsigned i = 0; i < HCA_QP_COUNTERS; i++)
		atomic_store_explicit(&qp->exported->counters[i], values[i], memory_order_relaxed);
	if (transport->rq_psn != NULL)
		atomic_store_explicit(&qp->exported->rq_psn, transport->rq_psn(&qp->transport), memory_order_relaxed);
	atomic_store_explicit(&qp->exported->sq_psn, transport->sq_psn(&qp->transport), memory_order_relaxed);
}

void hca_qp_state_follow(struct hca_qp *qp)
{
	uint32_t state = (uint32_t)state_of(qp);

	atomic_store_explicit(&qp->state, state, memory_order_release);
	atomic_store_explicit(&qp->exported->state, state, memory_order_relaxed);
}

void hca_qp_publish(struct node_flow *flow)
{
	struct hca_qp *qp = hca_qp_of(flow);
	struct transport_completion done;

	/*
	 * Sends first: an answer follows the acknowledgement of what it answers, so a program that sees the answer may count on a
	 * free send slot (ib_send_lat -e does).
	 */
	stage_receives(qp);
	while (transport_qp_send_done(&qp->transport, &done) != 0)
		if (done.signaled)
			push(qp, qp->send_cq, &done, true);
	push_staged(qp);
	/* Before the flush: a receive posted meanwhile is either found by it, or its poster finds the state and kicks. */
	hca_qp_state_follow(qp);
	if (state_of(qp) == HCA_QPS_ERR) {
		/*
		 * The error may have come in this very loop, from a CQ without room: then the receive in use is finished by
		 * now.
		 */
		stage_receives(qp);
		push_staged(qp);
		flush_receives(qp);
		hca_qp_state_follow(qp);
	}
	raise_events(qp);
	export_follow(qp);
}
