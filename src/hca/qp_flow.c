/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A QP as the engine's flow. Everything here runs under the progress lock.
 *
 * Order of publication: receive() places data and stages finished receives; the engine lets owed ACKs leave; publish() then
 * makes CQEs visible, and a CQE fires its event. Sends complete in publish() too, straight from the transport.
 *
 * Flush: when the transport enters its error state it finishes the send queue itself, in order. The receive queue is ours: the
 * receive in use came from the transport before, the rest follows here, also what is posted later (posting kicks the flow). An
 * SRQ is left alone.
 */
#include "hca/qp_internal.h"

#include <assert.h>
#include <stddef.h>

#include "base/err.h"

static struct hca_qp *qp_of(struct node_flow *flow)
{
	return (struct hca_qp *)(void *)((char *)flow - offsetof(struct hca_qp, flow));
}

static struct hca_rq *queue_of(struct hca_qp *qp)
{
	return qp->srq != NULL ? &qp->srq->rq : &qp->rq;
}

static int recv_take(void *host, struct transport_recv *out)
{
	struct hca_qp *qp = host;

	if (qp->taken_count == HCA_QP_TAKEN)
		return BASE_ERR_AGAIN;
	int err = qp->srq != NULL ? hca_srq_take(qp->srq, out) : hca_rq_take(&qp->rq, out, NULL);
	if (err == 0)
		qp->taken[qp->taken_count++] = out->index;
	return err;
}

const struct transport_recv_ops hca_qp_recv_ops = { .take = recv_take };

static void recv_give_back(struct hca_qp *qp, uint32_t index)
{
	for (uint32_t i = 0; i < qp->taken_count; i++)
		if (qp->taken[i] == index) {
			qp->taken[i] = qp->taken[--qp->taken_count];
			hca_rq_release(queue_of(qp), index);
			return;
		}
	assert(!"the transport completed a receive that it did not take");
}

void hca_qp_receives_forget(struct hca_qp *qp)
{
	for (uint32_t i = 0; i < qp->taken_count; i++)
		hca_rq_release(queue_of(qp), qp->taken[i]);
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
		},
		.qp = qp,
		.sq_index = done->index,
		.is_send = is_send,
		.solicited = !is_send && done->solicited,
	};

	if (!hca_cq_push(cq, &cqe) && rc_state_get(&qp->rc) != RC_ERROR) {
		rc_to_error(&qp->rc);
		hca_async_raise(&qp->source, HCA_ASYNC_QP_FATAL);
	}
}

static void push_staged(struct hca_qp *qp)
{
	for (uint32_t i = 0; i < qp->staged_count; i++)
		push(qp, qp->recv_cq, &qp->staged[i], false);
	qp->staged_count = 0;
}

/* Finished receives leave the transport at once (it can hold only a few), and wait here for publish(). */
static void stage_receives(struct hca_qp *qp)
{
	for (;;) {
		if (qp->staged_count == HCA_QP_STAGED)
			push_staged(qp); /* more than a round can bring: the ACK has had its chance in the rounds before */
		struct transport_completion *at = &qp->staged[qp->staged_count];
		if (rc_recv_completion_next(&qp->rc, at) == 0)
			return;
		recv_give_back(qp, at->index);
		qp->staged_count++;
	}
}

static bool is_from_peer(const struct hca_qp *qp, const struct link_rx *rx)
{
	const struct link_path *path = &qp->flow.path;

	return rx->kind == path->kind && rx->gid_type == path->gid_type && wire_gid_equal(&rx->sgid, &path->dgid) &&
	       wire_gid_equal(&rx->dgid, &path->sgid) && (rx->ifindex == 0 || rx->ifindex == path->ifindex) &&
	       (rx->kind != LINK_SHM || rx->source_slot == path->dest_qpn >> 16);
}

static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	static const enum hca_port_counter counters[RC_VERDICTS] = {
		[RC_TOOK] = HCA_PORT_TOOK_RUNS,
		[RC_DUPLICATE] = HCA_PORT_DUPLICATE,
		[RC_OUT_OF_ORDER] = HCA_PORT_OUT_OF_ORDER,
		[RC_RNR] = HCA_PORT_RNR,
		[RC_NAKED] = HCA_PORT_NAKED,
		[RC_DROPPED_STATE] = HCA_PORT_DROP_STATE,
		[RC_DROPPED_OPCODE] = HCA_PORT_DROP_OPCODE,
		[RC_DROPPED_PSN] = HCA_PORT_DROP_PSN,
		[RC_DROPPED_PKEY] = HCA_PORT_DROP_PKEY,
	};
	struct hca_qp *qp = qp_of(flow);
	struct hca_device *device = qp->context->device;

	hca_count(device, HCA_PORT_RECEIVED_PACKETS, rx->run.packets);
	hca_count(device, HCA_PORT_RECEIVED_BYTES, rx->run.head.payload_len);
	if (!is_from_peer(qp, rx)) {
		hca_count(device, HCA_PORT_DROP_ADDRESS, 1);
		return 0;
	}
	hca_count(device, counters[rc_receive(&qp->rc, now, &rx->run)], 1);
	stage_receives(qp);
	return 0;
}

static int flow_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out,
		     size_t *used)
{
	struct hca_qp *qp = qp_of(flow);
	int n = rc_next(&qp->rc, now, room, out, used);

	if (n > 0) {
		hca_count(qp->context->device, HCA_PORT_SENT_PACKETS, out->packets);
		hca_count(qp->context->device, HCA_PORT_SENT_BYTES, out->head.payload_len);
	}
	return n;
}

static bool flow_wants_room(struct node_flow *flow, uint64_t now)
{
	return rc_wants_room(&qp_of(flow)->rc, now);
}

static void flush_receives(struct hca_qp *qp)
{
	struct transport_recv recv;

	if (qp->srq != NULL) {
		if (!qp->last_wqe_raised && qp->taken_count == 0) {
			qp->last_wqe_raised = true;
			hca_async_raise(&qp->source, HCA_ASYNC_QP_LAST_WQE_REACHED);
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
		{ RC_EVENT_COMM_EST, HCA_ASYNC_COMM_EST },
		{ RC_EVENT_REQ_ERR, HCA_ASYNC_QP_REQ_ERR },
		{ RC_EVENT_ACCESS_ERR, HCA_ASYNC_QP_ACCESS_ERR },
		{ RC_EVENT_FATAL, HCA_ASYNC_QP_FATAL },
	};
	uint32_t bits = rc_events_take(&qp->rc);

	for (unsigned i = 0; bits != 0 && i < sizeof(events) / sizeof(events[0]); i++)
		if (bits & events[i].bit)
			hca_async_raise(&qp->source, events[i].type);
	if ((bits & RC_EVENT_SQ_DRAINED) && qp->notify_drained)
		hca_async_raise(&qp->source, HCA_ASYNC_SQ_DRAINED);
}

const char *const hca_qp_counter_names[EXPORT_QP_COUNTERS] = {
	"sent_packets", "sent_bytes", "received_packets", "received_bytes", "retransmitted_packets", "timeouts",
			"tail_probes", "acks_sent",
	"naks_sent", "rnr_naks_sent", "naks_received", "rnr_naks_received", "duplicates", "out_of_order", "window_shrinks",
	"", "", "", "", "", "", "", "", "",
};

static void export_follow(struct hca_qp *qp)
{
	const struct rc_stats *s = rc_stats_get(&qp->rc);
	const uint64_t values[] = {
		s->sent_packets, s->sent_bytes, s->received_packets, s->received_bytes, s->retransmitted_packets, s->timeouts,
				s->tail_probes,
		s->acks_sent, s->naks_sent, s->rnr_naks_sent, s->naks_received, s->rnr_naks_received, s->duplicates,
				s->out_of_order,
		s->window_shrinks,
	};
	_Static_assert(sizeof(values) / sizeof(values[0]) <= EXPORT_QP_COUNTERS, "they fit");

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		atomic_store_explicit(&qp->exported->counters[i], values[i], memory_order_relaxed);
	atomic_store_explicit(&qp->exported->rq_psn, rc_rq_psn(&qp->rc), memory_order_relaxed);
	atomic_store_explicit(&qp->exported->sq_psn, rc_sq_psn(&qp->rc), memory_order_relaxed);
}

void hca_qp_state_follow(struct hca_qp *qp)
{
	uint32_t state = (uint32_t)rc_state_get(&qp->rc);

	atomic_store_explicit(&qp->state, state, memory_order_release);
	atomic_store_explicit(&qp->exported->state, state, memory_order_relaxed);
}

static void flow_publish(struct node_flow *flow)
{
	struct hca_qp *qp = qp_of(flow);
	struct transport_completion done;

	/*
	 * Sends first: an answer follows the acknowledgement of what it answers, so a program that sees the answer may count on a
	 * free send slot (ib_send_lat -e does).
	 */
	stage_receives(qp);
	while (rc_send_completion_next(&qp->rc, &done) != 0)
		if (done.signaled)
			push(qp, qp->send_cq, &done, true);
	push_staged(qp);
	/* Before the flush: a receive posted meanwhile is either found by it, or its poster finds the state and kicks. */
	hca_qp_state_follow(qp);
	if (rc_state_get(&qp->rc) == RC_ERROR) {
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

static uint64_t flow_deadline(struct node_flow *flow)
{
	return rc_deadline(&qp_of(flow)->rc);
}

static void flow_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	rc_tick(&qp_of(flow)->rc, now, excused_ns);
}

static void flow_peer_gone(struct node_flow *flow, uint64_t now)
{
	rc_peer_gone(&qp_of(flow)->rc, now);
}

const struct node_flow_ops hca_qp_flow_ops = {
	.receive = flow_receive,
	.next = flow_next,
	.wants_room = flow_wants_room,
	.publish = flow_publish,
	.deadline = flow_deadline,
	.tick = flow_tick,
	.peer_gone = flow_peer_gone,
};
