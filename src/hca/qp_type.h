/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What differs between the types of queue pairs: one file and one table per type (qp_rc.c, qp_uc.c, qp_ud.c), which name a transport
 * and take what comes from the links. All the rest is qp_flow.c's and qp_modify.c's. Read by hca/qp*.c and device.c alone. All
 * calls need the progress lock; none fails.
 */
#ifndef HCA_QP_TYPE_H
#define HCA_QP_TYPE_H

#include "hca/qp_internal.h"

/* Counters of a QP in the export, in the order of hca_qp_counter_names. */
enum hca_qp_counter {
	HCA_QP_SENT_PACKETS,
	HCA_QP_SENT_BYTES,
	HCA_QP_RECEIVED_PACKETS,
	HCA_QP_RECEIVED_BYTES,
	HCA_QP_RETRANSMITTED_PACKETS,
	HCA_QP_TIMEOUTS,
	HCA_QP_TAIL_PROBES,
	HCA_QP_ACKS_SENT,
	HCA_QP_NAKS_SENT,
	HCA_QP_RNR_NAKS_SENT,
	HCA_QP_NAKS_RECEIVED,
	HCA_QP_RNR_NAKS_RECEIVED,
	HCA_QP_DUPLICATES,
	HCA_QP_OUT_OF_ORDER,
	HCA_QP_WINDOW_SHRINKS,
	HCA_QP_ABANDONED, /* UC: messages begun and not finished */
	HCA_QP_OVERSIZED, /* UD: sends longer than the MTU */
	HCA_QP_SACKS_SENT, /* RC with selective repeat; the next three, too */
	HCA_QP_SACKS_RECEIVED,
	HCA_QP_SELECTIVE_RETRANSMITS,
	HCA_QP_HELD_PACKETS,
	HCA_QP_DRY_DROPS, /* UC, UD: nothing was posted for them, waiting did not help */
	HCA_QP_COUNTERS
};

struct hca_qp_type_ops {
	struct node_flow_ops flow; /* HCA_QP_FLOW_SHARED and its own */
	const struct transport_ops *transport;
	bool is_reliable; /* owes its peer answers */
	bool is_datagram; /* each work request has an address of its own */
};

extern const struct hca_qp_type_ops hca_qp_rc_ops, hca_qp_uc_ops, hca_qp_ud_ops, hca_qp_xrc_send_ops, hca_qp_xrc_recv_ops;

/* qp_flow.c: what the types' flow ops share. */
static inline struct hca_qp *hca_qp_of(struct node_flow *flow)
{
	return (struct hca_qp *)(void *)((char *)flow - offsetof(struct hca_qp, flow));
}

/* The members of node_flow_ops that are the same for all types. */
#define HCA_QP_FLOW_SHARED \
	.next = hca_qp_next, .wants_room = hca_qp_wants_room, .publish = hca_qp_publish, .deadline = hca_qp_deadline, \
	.tick = hca_qp_tick, .peer_gone = hca_qp_peer_gone
int hca_qp_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
bool hca_qp_wants_room(struct node_flow *flow, uint64_t now);
void hca_qp_publish(struct node_flow *flow);
uint64_t hca_qp_deadline(struct node_flow *flow);
void hca_qp_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns);
void hca_qp_peer_gone(struct node_flow *flow, uint64_t now);
/* Did the run come from the peer of a connected QP? Counts those that did not. */
bool hca_qp_is_from_peer(struct hca_qp *qp, const struct link_rx *rx);
/* A run was dealt with: counted under this verdict, finished receives staged. */
void hca_qp_received(struct hca_qp *qp, const struct link_rx *rx, enum hca_port_counter verdict);
/* A datagram for this UD QP, addressed to it or to a group that it hears; as node_flow_ops.receive. */
uint64_t hca_qp_ud_deliver(struct hca_qp *qp, uint64_t now, const struct link_rx *rx, bool may_wait);
/* Did this QP, which blocks its own datagrams to groups, send this one? Progress lock. */
bool hca_qp_ud_is_own(const struct hca_qp *qp, const struct link_rx *rx);
/*
 * A run met an empty receive queue, and its type cannot tell the sender: until when it may wait, 0: no longer. The receive queue
 * must be looked at once more before waiting: who posts after that look knows that the QP waits.
 */
uint64_t hca_qp_dry(struct hca_qp *qp, uint64_t now, bool may_wait);

#endif
