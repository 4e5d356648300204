/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What differs between the types of queue pairs, as tables: one file per type (qp_rc.c, qp_uc.c, qp_ud.c) ties a transport
 * to the adapter. Read by hca/qp*.c and device.c alone. All calls need the progress lock but init; none fails.
 */
#ifndef HCA_QP_TYPE_H
#define HCA_QP_TYPE_H

#include "hca/qp_internal.h"

/* Bits of events_take(); each transport has those that it knows under the same value. */
enum hca_qp_event {
	HCA_QP_EVENT_COMM_EST = 1 << 0,
	HCA_QP_EVENT_REQ_ERR = 1 << 1,
	HCA_QP_EVENT_ACCESS_ERR = 1 << 2,
	HCA_QP_EVENT_FATAL = 1 << 3,
	HCA_QP_EVENT_SQ_DRAINED = 1 << 4,
};

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
	HCA_QP_DRY_DROPS, /* UC, UD: nothing was posted for them, waiting did not help */
	HCA_QP_COUNTERS
};

struct hca_qp_type_ops {
	struct node_flow_ops flow;
	void (*init)(struct hca_qp *qp, struct transport_memory memory);
	/* What these attributes mean to the transport; the transitions below use it. flow.path is set. */
	void (*configure)(struct hca_qp *qp, const struct hca_qp_attr *attr);
	void (*to_init)(struct hca_qp *qp);
	void (*to_rtr)(struct hca_qp *qp);
	void (*to_rts)(struct hca_qp *qp);
	void (*update)(struct hca_qp *qp);
	void (*to_sqd)(struct hca_qp *qp);
	void (*to_error)(struct hca_qp *qp);
	void (*reset)(struct hca_qp *qp);
	enum hca_qp_state (*state)(const struct hca_qp *qp);
	bool (*is_draining)(const struct hca_qp *qp);
	uint32_t (*sq_psn)(const struct hca_qp *qp); /* next to send */
	uint32_t (*rq_psn)(const struct hca_qp *qp); /* next to expect; NULL: the type has none */
	/* 1: *out is the next finished send or receive, in order; 0: none. */
	int (*send_done)(struct hca_qp *qp, struct transport_completion *out);
	int (*recv_done)(struct hca_qp *qp, struct transport_completion *out);
	uint32_t (*events_take)(struct hca_qp *qp); /* enum hca_qp_event */
	/* Those counters that the type has. */
	void (*count)(const struct hca_qp *qp, uint64_t values[HCA_QP_COUNTERS]);
};

extern const struct hca_qp_type_ops hca_qp_rc_ops, hca_qp_uc_ops, hca_qp_ud_ops;

/* qp_flow.c: what the types' flow ops share. */
static inline struct hca_qp *hca_qp_of(struct node_flow *flow)
{
	return (struct hca_qp *)(void *)((char *)flow - offsetof(struct hca_qp, flow));
}

void hca_qp_publish(struct node_flow *flow);
/* Did the run come from the peer of a connected QP? Counts those that did not. */
bool hca_qp_is_from_peer(struct hca_qp *qp, const struct link_rx *rx);
/* A run was dealt with: counted under this verdict, finished receives staged. */
void hca_qp_received(struct hca_qp *qp, const struct link_rx *rx, enum hca_port_counter verdict);
void hca_qp_sent(struct hca_qp *qp, const struct transport_run *run);
/*
 * A run met an empty receive queue, and its type cannot tell the sender: until when it may wait, 0: no longer. The receive queue
 * must be looked at once more before waiting: who posts after that look knows that the QP waits.
 */
uint64_t hca_qp_dry(struct hca_qp *qp, uint64_t now, bool may_wait);

#endif
