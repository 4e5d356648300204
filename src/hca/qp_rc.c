/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable connections and their extended halves: transport/rc behind the adapter. */
#include "hca/qp_type.h"

#include "hca/limits.h"
#include "transport/rc.h"

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
		hca_qp_received(qp, rx, counters[rc_receive(&qp->transport, now, &rx->run)]);
	return 0;
}

const struct hca_qp_type_ops hca_qp_rc_ops = {
	.flow = { HCA_QP_FLOW_SHARED, .receive = flow_receive },
	.transport = &rc_ops,
	.is_reliable = true,
};

const struct hca_qp_type_ops hca_qp_xrc_send_ops = {
	.flow = { HCA_QP_FLOW_SHARED, .receive = flow_receive },
	.transport = &rc_xrc_ini_ops,
	.is_reliable = true,
};

const struct hca_qp_type_ops hca_qp_xrc_recv_ops = {
	.flow = { HCA_QP_FLOW_SHARED, .receive = flow_receive },
	.transport = &rc_xrc_tgt_ops,
	.is_reliable = true,
};
