/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues (basic type).
 *
 * Errors: named per function. Threads: any.
 */
#ifndef HCA_SRQ_H
#define HCA_SRQ_H

#include <stdint.h>

#include "transport/memory.h"

struct hca_pd;
struct hca_srq; /* opaque */

struct hca_srq_attr {
	uint32_t max_wr, max_sge, limit;
};
/* Values of enum ibv_srq_attr_mask. */
enum hca_srq_mask { HCA_SRQ_MAX_WR = 1, HCA_SRQ_LIMIT = 2 };

/* BASE_ERR_INVAL: 0 or above the limits; BASE_ERR_NOMEM. attr is rewritten with what it got. */
int hca_srq_create(struct hca_pd *pd, struct hca_srq_attr *attr, void *user, struct hca_srq **out);
/* BASE_ERR_BUSY while QPs are attached. Waits for acknowledgements of its events. */
int hca_srq_destroy(struct hca_srq *srq);
/* BASE_ERR_INVAL: unknown mask bit, limit above max_wr, max_wr below what is outstanding or below the limit; BASE_ERR_NOMEM. */
int hca_srq_modify(struct hca_srq *srq, const struct hca_srq_attr *attr, uint32_t mask);
void hca_srq_query(struct hca_srq *srq, struct hca_srq_attr *out);
/* One receive. BASE_ERR_INVAL: too many elements; BASE_ERR_NOMEM: full. */
int hca_srq_post(struct hca_srq *srq, uint64_t wr_id, const struct transport_sge *sge, int num_sge);
void *hca_srq_user(const struct hca_srq *srq);
/* For hca_async_ack(), when only the object of an event is at hand. */
void *hca_srq_async_token(struct hca_srq *srq);
/* What hca_async_ack() takes for an event of this object: the same token as in its events. */
void *hca_srq_async_token(struct hca_srq *srq);

#endif
