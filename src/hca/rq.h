/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of posted receives, inside of a QP or an SRQ. Slots are posted in order, taken in order by the holder of the progress
 * lock, and given back in any order (several QPs of an SRQ finish as they please).
 *
 * Errors: per function. Ownership: the memory is the queue's; a taken slot's SGEs stay valid until it is given back. Threads:
 * any; the queue's lock is a leaf.
 */
#ifndef HCA_RQ_H
#define HCA_RQ_H

#include <pthread.h>
#include <stdint.h>

#include "hca/buffer.h"
#include "transport/queue.h"

enum { HCA_RQ_CHUNKS = 18 }; /* each new one at least doubles the slots: enough from 1 to HCA_MAX_SRQ_WR */

struct hca_rq {
	struct hca_pd *pd; /* whose memory it uses */
	enum hca_resource kind;
	pthread_mutex_t lock;
	uint32_t max_sge;
	/* lock: */
	uint32_t max_wr;   /* what may be posted or taken at a time, at most `capacity` */
	uint32_t in_use;
	uint32_t capacity; /* slots there are */
	uint32_t stride;
	/* Slots never move: a transport reads those that it took, without the lock. */
	struct {
		struct hca_buffer memory;
		uint32_t first; /* number of its first slot */
	} chunks[HCA_RQ_CHUNKS];
	uint32_t chunk_count;
	uint32_t *posted;    /* ring of slot numbers, oldest first; `depth` is a power of two */
	uint32_t depth, head, tail;
	uint32_t *free;      /* stack of slot numbers */
	uint32_t free_count;
};

/* max_wr 0 is a queue that takes nothing. BASE_ERR_NOMEM. */
int hca_rq_init(struct hca_rq *rq, struct hca_pd *pd, enum hca_resource kind, uint32_t max_wr, uint32_t max_sge);
void hca_rq_fini(struct hca_rq *rq);
/* BASE_ERR_INVAL: num_sge below 0 or above max_sge; BASE_ERR_NOMEM: full. */
int hca_rq_post(struct hca_rq *rq, uint64_t wr_id, const struct transport_sge *sge, int num_sge);
/* BASE_ERR_AGAIN: empty. *left (NULL allowed) is how many remain. */
int hca_rq_take(struct hca_rq *rq, struct transport_recv *out, uint32_t *left);
void hca_rq_release(struct hca_rq *rq, uint32_t index);
/* Forgets everything, taken slots too. */
void hca_rq_clear(struct hca_rq *rq);
/* Posted and not taken. */
uint32_t hca_rq_waiting(struct hca_rq *rq);
uint32_t hca_rq_max_wr(struct hca_rq *rq);
/*
 * Posting and taking go on meanwhile; one resize at a time (the caller's lock). At most HCA_MAX_SRQ_WR. BASE_ERR_INVAL: below
 * what is posted or taken; BASE_ERR_NOMEM. On an error nothing changed.
 */
int hca_rq_resize(struct hca_rq *rq, uint32_t max_wr);

#endif
