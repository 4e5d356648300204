/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of XRC. Read by hca/xrc*.c, qp_flow.c and srq.c. */
#ifndef HCA_XRC_INTERNAL_H
#define HCA_XRC_INTERNAL_H

#include "hca/device_internal.h"
#include "hca/xrc.h"

enum { HCA_XRC_BUCKETS = 64 };

struct hca_xrc_domain {
	struct hca_device *device;
	struct hca_xrc_domain *next; /* of the device's list; its lock */
	struct hca_xrcd_key key;
	bool is_keyed;
	uint32_t references; /* the device's lock */
	/*
	 * Targets are nobody's, but a queue pair has a context, a protection domain and completion queues. These outlive every
	 * opener; no key is of that protection domain, and nothing is ever written to that queue.
	 */
	struct hca_context context;
	struct hca_pd *pd;
	struct hca_cq *cq;
	/* Progress lock: */
	struct hca_srq *srqs[HCA_XRC_BUCKETS];
	struct hca_qp *targets;
};

struct hca_xrcd {
	struct hca_context *context;
	struct hca_xrc_domain *domain;
	_Atomic uint32_t users;
};

struct hca_xrc_opener {
	struct hca_xrcd *xrcd;
	struct hca_qp *qp;
	struct hca_async_source source;
	struct hca_xrc_opener *next; /* progress lock */
};

/* NULL: there is none. Progress lock held. */
struct hca_srq *hca_xrc_srq_find(const struct hca_xrc_domain *domain, uint32_t number);
/* No target takes from this SRQ, or writes under it, any more. Takes the progress lock. */
void hca_xrc_srq_leave(struct hca_srq *srq);
/* The flow is removed: the target is in its domain no more. Takes the progress lock. */
void hca_xrc_target_leave(struct hca_qp *qp);
/* An event of a target goes to all openers. Progress lock held. */
void hca_xrc_target_raise(struct hca_qp *qp, enum hca_async_type type);

#endif
