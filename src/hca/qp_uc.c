/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unreliable connections: transport/uc behind the adapter. */
#include "hca/qp_type.h"

#include "transport/uc.h"

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
	enum uc_verdict verdict = uc_receive(&qp->transport, now, &rx->run, false);
	if (verdict == UC_NO_RECV) {
		uint64_t until = hca_qp_dry(qp, now, may_wait);

		verdict = uc_receive(&qp->transport, now, &rx->run, until == 0);
		if (verdict == UC_NO_RECV)
			return until;
	}
	if (verdict == UC_DROPPED_NO_RECV)
		qp->dry_drops++;
	hca_qp_received(qp, rx, counters[verdict]);
	return 0;
}

const struct hca_qp_type_ops hca_qp_uc_ops = {
	.flow = { HCA_QP_FLOW_SHARED, .receive = flow_receive, .lossy = true },
	.transport = &uc_ops,
};
