/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of shared receive queues. Read by hca/ alone. */
#ifndef HCA_SRQ_INTERNAL_H
#define HCA_SRQ_INTERNAL_H

#include "hca/device_internal.h"
#include "hca/rq.h"
#include "hca/srq.h"

struct hca_qp;

struct hca_srq {
	struct hca_pd *pd;
	void *user;
	pthread_mutex_t modify_lock; /* one modify at a time */
	struct hca_rq rq;
	_Atomic uint32_t limit; /* 0: not armed */
	_Atomic uint32_t users; /* QPs */
	/* A QP with a run that waits for a receive: the next one posted makes a round. Written with the progress lock held. */
	_Atomic(struct hca_qp *) dry;
	struct hca_async_source source;
	/* XRC: */
	struct hca_xrcd *xrcd; /* else NULL */
	struct hca_cq *cq;
	uint32_t number;
	struct hca_srq *next; /* of a bucket of the domain; progress lock */
};

/* Makes progress for the QP that waits, if there is one. No lock held. */
void hca_srq_wet(struct hca_srq *srq);
/* The QP is about to go. Takes the progress lock. */
void hca_srq_forget_dry(struct hca_srq *srq, struct hca_qp *qp);
/* As hca_rq_take(); raises the limit event when due. Progress lock held. */
int hca_srq_take(struct hca_srq *srq, struct transport_recv *out);

#endif
