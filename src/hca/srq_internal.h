/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of shared receive queues. Read by hca/ alone. */
#ifndef HCA_SRQ_INTERNAL_H
#define HCA_SRQ_INTERNAL_H

#include "hca/device_internal.h"
#include "hca/rq.h"
#include "hca/srq.h"

struct hca_srq {
	struct hca_pd *pd;
	void *user;
	struct hca_rq rq;
	_Atomic uint32_t limit; /* 0: not armed */
	_Atomic uint32_t users; /* QPs */
	struct hca_async_source source;
};

/* As hca_rq_take(); raises the limit event when due. Progress lock held. */
int hca_srq_take(struct hca_srq *srq, struct transport_recv *out);

#endif
