/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable connections: transport/rc behind the adapter. */
#include "hca/qp_type.h"

#include "hca/limits.h"
#include "wire/mtu.h"

_Static_assert((int)RC_ERROR == HCA_QPS_ERR && (int)RC_SQE == HCA_QPS_SQE && (int)RC_RTS == HCA_QPS_RTS, "one set of states");
_Static_assert((int)RC_EVENT_COMM_EST == HCA_QP_EVENT_COMM_EST && (int)RC_EVENT_REQ_ERR == HCA_QP_EVENT_REQ_ERR &&
		       (int)RC_EVENT_ACCESS_ERR == HCA_QP_EVENT_ACCESS_ERR && (int)RC_EVENT_FATAL == HCA_QP_EVENT_FATAL &&
		       (int)RC_EVENT_SQ_DRAINED == HCA_QP_EVENT_SQ_DRAINED,
	       "one set of events");
_Static_assert((int)RC_RD_ATOMIC_MAX == HCA_MAX_RD_ATOM, "what the device promises");

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
	struct hca_qp *qp = hca_qp_of(flow);

	if (hca_qp_is_from_peer(qp, rx))
		hca_qp_received(qp, rx, counters[rc_receive(&qp->rc, now, &rx->run)]);
	return 0;
}

static int flow_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out,
		     size_t *used)
{
	int n = rc_next(&hca_qp_of(flow)->rc, now, room, out, used);

	if (n > 0)
		hca_qp_sent(hca_qp_of(flow), out);
	return n;
}

static bool flow_wants_room(struct node_flow *flow, uint64_t now)
{
	return rc_wants_room(&hca_qp_of(flow)->rc, now);
}

static uint64_t flow_deadline(struct node_flow *flow)
{
	return rc_deadline(&hca_qp_of(flow)->rc);
}

static void flow_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	rc_tick(&hca_qp_of(flow)->rc, now, excused_ns);
}

static void flow_peer_gone(struct node_flow *flow, uint64_t now)
{
	rc_peer_gone(&hca_qp_of(flow)->rc, now);
}

static void init(struct hca_qp *qp, struct transport_memory memory)
{
	rc_init(&qp->rc, memory, &qp->sq, &hca_qp_recv_ops, qp);
}

static void configure(struct hca_qp *qp, const struct hca_qp_attr *attr)
{
	qp->rc_config = (struct rc_config){
		.qpn = qp->flow.qpn,
		.dest_qpn = attr->dest_qpn,
		.mtu = wire_mtu_bytes((int)attr->path_mtu),
		.sq_psn = attr->sq_psn,
		.rq_psn = attr->rq_psn,
		.access = attr->access,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.lossless = qp->flow.path.kind == LINK_SHM,
		.pkey = HCA_PKEY,
	};
}

static void to_init(struct hca_qp *qp)
{
	rc_to_init(&qp->rc);
}

static void to_rtr(struct hca_qp *qp)
{
	rc_to_rtr(&qp->rc, &qp->rc_config);
}

static void to_rts(struct hca_qp *qp)
{
	rc_to_rts(&qp->rc, &qp->rc_config);
}

static void update(struct hca_qp *qp)
{
	rc_update(&qp->rc, &qp->rc_config);
}

static void to_sqd(struct hca_qp *qp)
{
	rc_to_sqd(&qp->rc);
}

static void to_error(struct hca_qp *qp)
{
	rc_to_error(&qp->rc);
}

static void reset(struct hca_qp *qp)
{
	rc_reset(&qp->rc);
}

static enum hca_qp_state state(const struct hca_qp *qp)
{
	return (enum hca_qp_state)rc_state_get(&qp->rc);
}

static bool is_draining(const struct hca_qp *qp)
{
	return rc_is_draining(&qp->rc);
}

static uint32_t sq_psn(const struct hca_qp *qp)
{
	return rc_sq_psn(&qp->rc);
}

static uint32_t rq_psn(const struct hca_qp *qp)
{
	return rc_rq_psn(&qp->rc);
}

static int send_done(struct hca_qp *qp, struct transport_completion *out)
{
	return rc_send_completion_next(&qp->rc, out);
}

static int recv_done(struct hca_qp *qp, struct transport_completion *out)
{
	return rc_recv_completion_next(&qp->rc, out);
}

static uint32_t events_take(struct hca_qp *qp)
{
	return rc_events_take(&qp->rc);
}

static void count(const struct hca_qp *qp, uint64_t values[HCA_QP_COUNTERS])
{
	const struct rc_stats *s = rc_stats_get(&qp->rc);

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
}

const struct hca_qp_type_ops hca_qp_rc_ops = {
	.flow = {
		.receive = flow_receive,
		.next = flow_next,
		.wants_room = flow_wants_room,
		.publish = hca_qp_publish,
		.deadline = flow_deadline,
		.tick = flow_tick,
		.peer_gone = flow_peer_gone,
	},
	.init = init,
	.configure = configure,
	.to_init = to_init,
	.to_rtr = to_rtr,
	.to_rts = to_rts,
	.update = update,
	.to_sqd = to_sqd,
	.to_error = to_error,
	.reset = reset,
	.state = state,
	.is_draining = is_draining,
	.sq_psn = sq_psn,
	.rq_psn = rq_psn,
	.send_done = send_done,
	.recv_done = recv_done,
	.events_take = events_take,
	.count = count,
};
