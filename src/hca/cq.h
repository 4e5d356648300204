/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues: a ring in process memory, filled by whoever holds the progress lock, emptied by the application.
 *
 * Errors: named per function. Ownership: the creator destroys; QPs and SRQs hold a reference. Threads: any; polling from
 * several threads gives each entry to one of them.
 */
#ifndef HCA_CQ_H
#define HCA_CQ_H

#include <stdbool.h>
#include <stdint.h>

struct hca_channel;
struct hca_context;
struct hca_cq; /* opaque */
struct hca_pd;

/* When a completion came to be, in nanoseconds. */
struct hca_stamp {
	uint64_t raw;  /* of the adapter's clock, which only moves forward */
	uint64_t wall; /* since 1970 */
};

/* A completion. The layout is that of struct ibv_wc, which the edge asserts, so that entries are copied once. */
struct hca_wc {
	uint64_t wr_id;
	uint32_t status;     /* enum transport_status */
	uint32_t opcode;     /* enum transport_wc_opcode, valid on errors too */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_or_inv; /* wire bytes of the immediate, or the invalidated rkey */
	uint32_t qp_num;     /* valid on errors too */
	uint32_t src_qp;
	uint32_t wc_flags;   /* enum transport_wc_flags */
	uint16_t pkey_index, slid;
	uint8_t sl, dlid_path_bits;
};

struct hca_cq_attr {
	void *user;
	uint32_t cqe;              /* at least this many; rewritten with what it got */
	struct hca_channel *channel; /* NULL: no events */
	uint32_t comp_vector;
	bool ignore_overrun;       /* the oldest entry is overwritten, silently */
	bool stamped;              /* keep stamps, for hca_cq_poll_stamped() */
	struct hca_pd *pd;         /* whose allocator gives the ring; NULL: none */
};

/* BASE_ERR_INVAL: cqe 0 or above HCA_MAX_CQE, comp_vector; BASE_ERR_NOMEM. */
int hca_cq_create(struct hca_context *context, struct hca_cq_attr *attr, struct hca_cq **out);
/* BASE_ERR_BUSY while QPs or SRQs use it. Waits until every event taken is acknowledged. Not a cancellation point. */
int hca_cq_destroy(struct hca_cq *cq);
/* BASE_ERR_INVAL: fewer than are waiting in it, 0, or above HCA_MAX_CQE. *cqe is rewritten. */
int hca_cq_resize(struct hca_cq *cq, uint32_t *cqe);
/*
 * Up to n completions into wc (borrowed until return; struct ibv_wc may be passed). Returns how many. Finding none it makes the
 * engine progress once and looks again. BASE_ERR_IO: the queue had an overrun and is empty now. Frees the send slots behind
 * what is polled.
 */
int hca_cq_poll(struct hca_cq *cq, int n, struct hca_wc *wc);
/* The same for one; *stamp is zero unless the queue was made with stamps. */
int hca_cq_poll_stamped(struct hca_cq *cq, struct hca_wc *wc, struct hca_stamp *stamp);
/*
 * From now on an armed queue fires when `count` completions have come since it was armed, or period_us after the first of them,
 * whichever is earlier. A count of 0 or 1, or a period of 0, turns that off: the first one fires. BASE_ERR_NOMEM.
 */
int hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t period_us);
/* Arms for one event. An armed "any" is never weakened to "solicited". Always 0. */
int hca_cq_req_notify(struct hca_cq *cq, bool solicited_only);
void hca_cq_events_ack(struct hca_cq *cq, uint32_t n);
uint32_t hca_cq_cqe(const struct hca_cq *cq);
void *hca_cq_user(const struct hca_cq *cq);
struct hca_channel *hca_cq_channel(const struct hca_cq *cq);
/* What hca_async_ack() takes for an event of this object: the same token as in its events. */
void *hca_cq_async_token(struct hca_cq *cq);

#endif
