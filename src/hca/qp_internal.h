/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of queue pairs. Read by hca/qp*.c, and by hca/cq.c for the send slots that a poll frees. */
#ifndef HCA_QP_INTERNAL_H
#define HCA_QP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "dma/access.h"
#include "hca/cq_internal.h"
#include "hca/pd_internal.h"
#include "hca/qp.h"
#include "hca/rq.h"
#include "hca/srq_internal.h"
#include "transport/qp.h"

enum {
	HCA_QP_STAGED = 64,
			/* finished receives between receive() and publish(): a round takes no more runs than that off the links */
	HCA_QP_TAKEN = 16,  /* receives in the transport's hands */
	HCA_GROUP_SOURCES = 4, /* addresses of ours from which a QP sends to groups, the last ones */
};
#define HCA_QP_DRY_WAIT 1000000u /* ns for which a run waits for a receive, once in each time without any */

struct hca_qp_type_ops; /* hca/qp_type.h */

struct hca_qp {
	struct node_flow flow; /* progress lock */
	struct hca_context *context;
	struct hca_pd *pd;
	void *user;
	enum hca_qp_type type;
	const struct hca_qp_type_ops *ops;
	struct hca_cq *send_cq, *recv_cq;
	struct hca_srq *srq;
	struct hca_qp_cap cap;
	bool sq_sig_all;
	bool block_own_groups;
	struct wire_gid group_sources[HCA_GROUP_SOURCES]; /* with block_own_groups: what it sent to groups from; progress lock */
	unsigned group_source_next;
	struct hca_async_source source;
	struct export_qp *exported;
	struct hca_qp *device_next, *device_prev; /* all of a device; progress lock */

	/* Follows the transport's state; written with the progress lock held, read by anybody. */
	_Atomic uint32_t state;

	/* One modify at a time; taken before the progress lock. */
	pthread_mutex_t modify_lock;
	struct hca_qp_attr attr; /* as last set */
	bool ece_set;            /* ece_options were granted; hca/qp_ece.h */
	uint32_t ece_options;
	struct rc_selective *selective; /* the transport's from RTR on, or from RTS; NULL: not needed */

	/* Posting; taken under the progress lock only by a reset. */
	pthread_mutex_t sq_lock;
	uint32_t sq_staged;           /* posted, and what this begin..end added */
	_Atomic uint32_t sq_freed;    /* slots before it may be posted to again; written under the CQ's lock,
			at reset under both */
	struct transport_sq sq;
	struct hca_buffer sq_memory;
	struct link_path *paths; /* UD: where the work request of this slot goes; written before `posted` says that it is there */

	struct hca_rq rq;
	_Atomic bool dry; /* a run waits for a receive: the next one posted kicks */

	/* Progress lock. */
	struct transport_qp transport;
	struct transport_config config; /* as of the last modify */
	struct dma_view view;
	uint64_t dry_since; /* when the receive queue was first found empty by a run that can wait; 0: since then one was taken */
	uint64_t dry_drops;
	bool notify_drained;
	bool last_wqe_raised;
	uint32_t taken_count;
	struct {
		struct hca_srq *srq; /* NULL: its own queue */
		uint32_t index;      /* of the slot */
	} taken[HCA_QP_TAKEN];
	/* XRC targets: */
	struct hca_xrc_domain *xrc;
	struct hca_xrc_opener *xrc_openers;
	struct hca_qp *xrc_next;  /* of the domain */
	struct hca_srq *xrc_srq;  /* whose message it is; NULL: none was selected, or it is gone */
	uint32_t staged_count;
	struct transport_completion staged[HCA_QP_STAGED];
};

/* The send at this index of the SQ was seen: its slot and all before it are free. Called under the CQ's lock. */
static inline void hca_qp_sq_free(struct hca_qp *qp, uint32_t index)
{
	atomic_store_explicit(&qp->sq_freed, index + 1, memory_order_release);
}

extern const struct transport_memory_ops hca_qp_memory_ops;    /* qp_memory.c: host is the QP */
extern const struct transport_recv_ops hca_qp_recv_ops;        /* qp_flow.c: host is the QP */
extern const char *const hca_qp_counter_names[EXPORT_QP_COUNTERS];

/* The work of a type's transport; NULL: there is none for this type. */
const struct hca_qp_type_ops *hca_qp_type_ops_find(enum hca_qp_type type);

/* An XRC target no longer takes from this SRQ; in the middle of a message for it, it goes to error. Progress lock held. */
void hca_qp_srq_gone(struct hca_qp *qp, struct hca_srq *srq);
/*
 * Makes sure, before a move to RTR or from there to RTS, that there is memory for what was granted. BASE_ERR_NOMEM. modify_lock
 * held.
 */
int hca_qp_ece_prepare(struct hca_qp *qp, uint32_t to, uint32_t mtu, enum link_kind kind);
/* For transport_config.selective. modify_lock held. */
struct rc_selective *hca_qp_ece_selective(const struct hca_qp *qp);
/* Nothing is granted any more; the transport was reset or the flow is gone. */
void hca_qp_ece_forget(struct hca_qp *qp);
/* Gives back the receives that the transport forgot, and what was staged. Progress lock held, or the flow is gone. */
void hca_qp_receives_forget(struct hca_qp *qp);
/* Makes `state` and the export follow. Progress lock held. */
void hca_qp_state_follow(struct hca_qp *qp);
/* Its device is gone: to error, unless it was never used. Progress lock held. */
void hca_qp_lost(struct hca_qp *qp);
static inline struct hca_qp *hca_qp_device_next(const struct hca_qp *qp)
{
	return qp->device_next;
}

#endif
