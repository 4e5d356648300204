/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unreliable datagrams: transport/ud behind the adapter. */
#include "hca/qp_type.h"

#include "hca/grh.h"
#include "transport/ud.h"

_Static_assert((int)UD_GRH_BYTES == (int)HCA_GRH_BYTES, "one area");

/*
 * Anybody may send. That the destination is an address of this host is settled before: rings come from local processes, the
 * kernel gives a socket nothing else.
 */
uint64_t hca_qp_ud_deliver(struct hca_qp *qp, uint64_t now, const struct link_rx *rx, bool may_wait)
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
	uint8_t grh[HCA_GRH_BYTES];

	hca_grh_build(grh, rx);
	enum ud_verdict verdict = ud_receive(&qp->transport, now, &rx->run, grh, false);
	if (verdict == UD_NO_RECV) {
		uint64_t until = hca_qp_dry(qp, now, may_wait);

		verdict = ud_receive(&qp->transport, now, &rx->run, grh, until == 0);
		if (verdict == UD_NO_RECV)
			return until;
	}
	if (verdict == UD_DROPPED_NO_RECV)
		qp->dry_drops++;
	hca_qp_received(qp, rx, counters[verdict]);
	return 0;
}

/* A group is not addressed by the number of one of its QPs (hca/mcast.h). */
static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	struct hca_qp *qp = hca_qp_of(flow);

	if (!wire_gid_is_multicast(&rx->dgid))
		return hca_qp_ud_deliver(qp, now, rx, may_wait);
	hca_qp_received(qp, rx, HCA_PORT_DROP_ADDRESS);
	return 0;
}

static bool is_source(const struct hca_qp *qp, const struct wire_gid *gid)
{
	for (unsigned i = 0; i < HCA_GROUP_SOURCES; i++)
		if (wire_gid_equal(&qp->group_sources[i], gid))
			return true;
	return false;
}

static void remember_source(struct hca_qp *qp, const struct wire_gid *gid)
{
	if (!is_source(qp, gid))
		qp->group_sources[qp->group_source_next++ % HCA_GROUP_SOURCES] = *gid;
}

/* Numbers of queue pairs are a host's own, so that the address must be one that it sent from, too. */
bool hca_qp_ud_is_own(const struct hca_qp *qp, const struct link_rx *rx)
{
	return qp->block_own_groups && rx->run.head.deth.src_qpn == hca_qp_number(qp) && is_source(qp, &rx->sgid);
}

/* Each work request carries a copy of its address, in the place of its slot. */
static const struct link_path *flow_next_path(struct node_flow *flow, uint64_t now)
{
	struct hca_qp *qp = hca_qp_of(flow);
	const struct link_path *path;
	uint32_t ah;

	if (ud_next_ah(&qp->transport, &ah) == 0)
		return NULL;
	path = &qp->paths[ah & (qp->sq.depth - 1)];
	if (qp->block_own_groups && wire_gid_is_multicast(&path->dgid))
		remember_source(qp, &path->sgid);
	return path;
}

const struct hca_qp_type_ops hca_qp_ud_ops = {
	.flow = { HCA_QP_FLOW_SHARED, .receive = flow_receive, .next_path = flow_next_path, .lossy = true },
	.transport = &ud_ops,
	.is_datagram = true,
};
