/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unreliable connections: transport/uc behind the adapter. */
#include "hca/qp_type.h"

#include "hca/limits.h"
#include "wire/mtu.h"

_Static_assert((int)UC_ERROR == HCA_QPS_ERR && (int)UC_SQE == HCA_QPS_SQE && (int)UC_RTS == HCA_QPS_RTS, "one set of states");
_Static_assert((int)UC_EVENT_COMM_EST == HCA_QP_EVENT_COMM_EST && (int)UC_EVENT_FATAL == HCA_QP_EVENT_FATAL &&
		       (int)UC_EVENT_SQ_DRAINED == HCA_QP_EVENT_SQ_DRAINED,
	       "one set of events");

static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	static const enum hca_port_counter counters[UC_VERDICTS] = {
		[UC_TOOK] = HCA_PORT_TOOK_RUNS,
		[UC_NO_RECV] = HCA_PORT_DROP_NO_RECV,
		[UC_DROPPED_NO_RECV] = HCA_PORT_DROP_NO_RECV,
		[UC_DROPPED_GAP] = HCA_PORT_DROP_GAP,
		[UC_DROPPED_OLD] = HCA_PORT_DUPLICATE,
		[UC_DROPPED_LENGTH] = HCA_PORT_DROP_LENGTH,
		[UC_DROPPED_ACCESS] = HCA_PORT_DROP_ACCESS,
		[UC_FAILED] = HCA_PORT_RECV_FAILED,
		[UC_DROPPED_STATE] = HCA_PORT_DROP_STATE,
		[UC_DROPPED_OPCODE] = HCA_PORT_DROP_OPCODE,
		[UC_DROPPED_PKEY] = HCA_PORT_DROP_PKEY,
	};
	struct hca_qp *qp = hca_qp_of(flow);

	if (!hca_qp_is_from_peer(qp, rx))
		return 0;
	enum uc_verdict verdict = uc_receive(&qp->uc, now, &rx->run, false);
	if (verdict == UC_NO_RECV) {
		uint64_t until = hca_qp_dry(qp, now, may_wait);

		verdict = uc_receive(&qp->uc, now, &rx->run, until == 0);
		if (verdict == UC_NO_RECV)
			return until;
	}
	if (verdict == UC_DROPPED_NO_RECV)
		qp->dry_drops++;
	hca_qp_received(qp, rx, counters[verdict]);
	return 0;
}

static int flow_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out,
		     size_t *used)
{
	int n = uc_next(&hca_qp_of(flow)->uc, now, room, out, used);

	if (n > 0)
		hca_qp_sent(hca_qp_of(flow), out);
	return n;
}

static bool flow_wants_room(struct node_flow *flow, uint64_t now)
{
	return uc_wants_room(&hca_qp_of(flow)->uc, now);
}

static uint64_t flow_deadline(struct node_flow *flow)
{
	return uc_deadline(&hca_qp_of(flow)->uc);
}

static void flow_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	uc_tick(&hca_qp_of(flow)->uc, now, excused_ns);
}

/* To a peer without acknowledgements its death is no news: what is sent goes nowhere. */
static void flow_peer_gone(struct node_flow *flow, uint64_t now)
{
}

static void init(struct hca_qp *qp, struct transport_memory memory)
{
	uc_init(&qp->uc, memory, &qp->sq, &hca_qp_recv_ops, qp);
}

static void configure(struct hca_qp *qp, const struct hca_qp_attr *attr)
{
	qp->uc_config = (struct uc_config){
		.qpn = qp->flow.qpn,
		.dest_qpn = attr->dest_qpn,
		.mtu = wire_mtu_bytes((int)attr->path_mtu),
		.sq_psn = attr->sq_psn,
		.rq_psn = attr->rq_psn,
		.access = attr->access,
		.pkey = HCA_PKEY,
		.srq = qp->srq != NULL,
	};
}

static void to_init(struct hca_qp *qp)
{
	uc_to_init(&qp->uc);
}

static void to_rtr(struct hca_qp *qp)
{
	uc_to_rtr(&qp->uc, &qp->uc_config);
}

static void to_rts(struct hca_qp *qp)
{
	uc_to_rts(&qp->uc, &qp->uc_config);
}

static void update(struct hca_qp *qp)
{
	uc_update(&qp->uc, &qp->uc_config);
}

static void to_sqd(struct hca_qp *qp)
{
	uc_to_sqd(&qp->uc);
}

static void to_error(struct hca_qp *qp)
{
	uc_to_error(&qp->uc);
}

static void reset(struct hca_qp *qp)
{
	uc_reset(&qp->uc);
}

static enum hca_qp_state state(const struct hca_qp *qp)
{
	return (enum hca_qp_state)uc_state_get(&qp->uc);
}

static bool is_draining(const struct hca_qp *qp)
{
	return uc_is_draining(&qp->uc);
}

static uint32_t sq_psn(const struct hca_qp *qp)
{
	return uc_sq_psn(&qp->uc);
}

static uint32_t rq_psn(const struct hca_qp *qp)
{
	return uc_rq_psn(&qp->uc);
}

static int send_done(struct hca_qp *qp, struct transport_completion *out)
{
	return uc_send_completion_next(&qp->uc, out);
}

static int recv_done(struct hca_qp *qp, struct transport_completion *out)
{
	return uc_recv_completion_next(&qp->uc, out);
}

static uint32_t events_take(struct hca_qp *qp)
{
	return uc_events_take(&qp->uc);
}

static void count(const struct hca_qp *qp, uint64_t values[HCA_QP_COUNTERS])
{
	const struct uc_stats *s = uc_stats_get(&qp->uc);

	values[HCA_QP_SENT_PACKETS] = s->sent_packets;
	values[HCA_QP_SENT_BYTES] = s->sent_bytes;
	values[HCA_QP_RECEIVED_PACKETS] = s->received_packets;
	values[HCA_QP_RECEIVED_BYTES] = s->received_bytes;
	values[HCA_QP_ABANDONED] = s->abandoned;
	values[HCA_QP_DRY_DROPS] = qp->dry_drops;
}

const struct hca_qp_type_ops hca_qp_uc_ops = {
	.flow = {
		.receive = flow_receive,
		.next = flow_next,
		.wants_room = flow_wants_room,
		.publish = hca_qp_publish,
		.deadline = flow_deadline,
		.tick = flow_tick,
		.peer_gone = flow_peer_gone,
		.lossy = true,
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
