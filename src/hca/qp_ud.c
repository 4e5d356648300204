/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unreliable datagrams: transport/ud behind the adapter. */
#include "hca/qp_type.h"

#include "hca/grh.h"
#include "hca/limits.h"
#include "wire/mtu.h"

_Static_assert((int)UD_ERROR == HCA_QPS_ERR && (int)UD_SQE == HCA_QPS_SQE && (int)UD_RTS == HCA_QPS_RTS, "one set of states");
_Static_assert((int)UD_EVENT_FATAL == HCA_QP_EVENT_FATAL && (int)UD_EVENT_SQ_DRAINED == HCA_QP_EVENT_SQ_DRAINED,
	       "one set of events");
_Static_assert((int)UD_GRH_BYTES == (int)HCA_GRH_BYTES, "one area");

/*
 * Anybody may send. That the destination is an address of this host is settled before: rings come from local processes, the
 * kernel gives a socket nothing else. Groups are not joined here.
 */
static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	static const enum hca_port_counter counters[UD_VERDICTS] = {
		[UD_TOOK] = HCA_PORT_TOOK_RUNS,
		[UD_NO_RECV] = HCA_PORT_DROP_NO_RECV,
		[UD_DROPPED_NO_RECV] = HCA_PORT_DROP_NO_RECV,
		[UD_DROPPED_LENGTH] = HCA_PORT_DROP_LENGTH,
		[UD_FAILED] = HCA_PORT_RECV_FAILED,
		[UD_DROPPED_QKEY] = HCA_PORT_DROP_QKEY,
		[UD_DROPPED_PKEY] = HCA_PORT_DROP_PKEY,
		[UD_DROPPED_STATE] = HCA_PORT_DROP_STATE,
		[UD_DROPPED_OPCODE] = HCA_PORT_DROP_OPCODE,
	};
	struct hca_qp *qp = hca_qp_of(flow);
	uint8_t grh[HCA_GRH_BYTES];

	if (wire_gid_is_multicast(&rx->dgid)) {
		hca_qp_received(qp, rx, HCA_PORT_DROP_ADDRESS);
		return 0;
	}
	hca_grh_build(grh, rx);
	enum ud_verdict verdict = ud_receive(&qp->ud, now, &rx->run, grh, false);
	if (verdict == UD_NO_RECV) {
		uint64_t until = hca_qp_dry(qp, now, may_wait);

		verdict = ud_receive(&qp->ud, now, &rx->run, grh, until == 0);
		if (verdict == UD_NO_RECV)
			return until;
	}
	if (verdict == UD_DROPPED_NO_RECV)
		qp->dry_drops++;
	hca_qp_received(qp, rx, counters[verdict]);
	return 0;
}

/* Each work request carries a copy of its address, in the place of its slot. */
static const struct link_path *flow_next_path(struct node_flow *flow, uint64_t now)
{
	struct hca_qp *qp = hca_qp_of(flow);
	uint32_t ah;

	return ud_next_ah(&qp->ud, &ah) == 0 ? NULL : &qp->paths[ah & (qp->sq.depth - 1)];
}

static int flow_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out,
		     size_t *used)
{
	int n = ud_next(&hca_qp_of(flow)->ud, now, room, out, used);

	if (n > 0)
		hca_qp_sent(hca_qp_of(flow), out);
	return n;
}

static bool flow_wants_room(struct node_flow *flow, uint64_t now)
{
	return ud_wants_room(&hca_qp_of(flow)->ud, now);
}

static uint64_t flow_deadline(struct node_flow *flow)
{
	return ud_deadline(&hca_qp_of(flow)->ud);
}

static void flow_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	ud_tick(&hca_qp_of(flow)->ud, now, excused_ns);
}

/* There is no peer. */
static void flow_peer_gone(struct node_flow *flow, uint64_t now)
{
}

static void init(struct hca_qp *qp, struct transport_memory memory)
{
	ud_init(&qp->ud, memory, &qp->sq, &hca_qp_recv_ops, qp);
}

static void configure(struct hca_qp *qp, const struct hca_qp_attr *attr)
{
	qp->ud_config = (struct ud_config){
		.qpn = qp->flow.qpn,
		.mtu = wire_mtu_bytes(atomic_load_explicit(&qp->context->device->active_mtu, memory_order_relaxed)),
		.sq_psn = attr->sq_psn,
		.qkey = attr->qkey,
		.pkey = HCA_PKEY,
		.srq = qp->srq != NULL,
	};
}

static void to_init(struct hca_qp *qp)
{
	ud_to_init(&qp->ud);
}

static void to_rtr(struct hca_qp *qp)
{
	ud_to_rtr(&qp->ud, &qp->ud_config);
}

static void to_rts(struct hca_qp *qp)
{
	ud_to_rts(&qp->ud, &qp->ud_config);
}

static void update(struct hca_qp *qp)
{
	ud_update(&qp->ud, &qp->ud_config);
}

static void to_sqd(struct hca_qp *qp)
{
	ud_to_sqd(&qp->ud);
}

static void to_error(struct hca_qp *qp)
{
	ud_to_error(&qp->ud);
}

static void reset(struct hca_qp *qp)
{
	ud_reset(&qp->ud);
}

static enum hca_qp_state state(const struct hca_qp *qp)
{
	return (enum hca_qp_state)ud_state_get(&qp->ud);
}

/* No message is ever half sent. */
static bool is_draining(const struct hca_qp *qp)
{
	return false;
}

static uint32_t sq_psn(const struct hca_qp *qp)
{
	return ud_sq_psn(&qp->ud);
}

static int send_done(struct hca_qp *qp, struct transport_completion *out)
{
	return ud_send_completion_next(&qp->ud, out);
}

static int recv_done(struct hca_qp *qp, struct transport_completion *out)
{
	return ud_recv_completion_next(&qp->ud, out);
}

static uint32_t events_take(struct hca_qp *qp)
{
	return ud_events_take(&qp->ud);
}

static void count(const struct hca_qp *qp, uint64_t values[HCA_QP_COUNTERS])
{
	const struct ud_stats *s = ud_stats_get(&qp->ud);

	values[HCA_QP_SENT_PACKETS] = s->sent_packets;
	values[HCA_QP_SENT_BYTES] = s->sent_bytes;
	values[HCA_QP_RECEIVED_PACKETS] = s->received_packets;
	values[HCA_QP_RECEIVED_BYTES] = s->received_bytes;
	values[HCA_QP_OVERSIZED] = s->oversized;
	values[HCA_QP_DRY_DROPS] = qp->dry_drops;
}

const struct hca_qp_type_ops hca_qp_ud_ops = {
	.flow = {
		.receive = flow_receive,
		.next = flow_next,
		.wants_room = flow_wants_room,
		.publish = hca_qp_publish,
		.deadline = flow_deadline,
		.tick = flow_tick,
		.peer_gone = flow_peer_gone,
		.lossy = true,
		.next_path = flow_next_path,
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
	.send_done = send_done,
	.recv_done = recv_done,
	.events_take = events_take,
	.count = count,
};
