/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of completion queues and channels. Read by hca/ alone. */
#ifndef HCA_CQ_INTERNAL_H
#define HCA_CQ_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "hca/buffer.h"
#include "hca/channel.h"
#include "hca/cq.h"
#include "hca/device_internal.h"

struct hca_qp;

struct hca_cqe {
	struct hca_wc wc;
	struct hca_qp *qp;   /* lives as long as the entry: entries are purged when it dies */
	uint32_t sq_index;   /* sends: where in the SQ it was */
	bool is_send;
	bool solicited;      /* a receive whose message asked for an event */
};
_Static_assert(sizeof(struct hca_wc) == 48 && sizeof(struct hca_cqe) == 64, "an entry is one cache line");

struct hca_cq_ring {
	struct hca_buffer memory;
	struct hca_cqe *cqe;
	struct hca_stamp *stamps; /* as many, or NULL */
	uint32_t size;            /* a power of two */
};

/* An event is held back until `count` completions are there that it is due to, or until fire_at. */
struct hca_cq_moderation {
	uint32_t count; /* 0 or 1: off */
	uint64_t period_ns;
	uint32_t held;    /* completions since arming */
	uint64_t fire_at; /* BASE_NEVER: none is held back */
};

enum hca_cq_armed { HCA_CQ_NOT_ARMED, HCA_CQ_ARMED_SOLICITED, HCA_CQ_ARMED_ANY };

struct hca_cq {
	struct hca_context *context;
	void *user;
	struct hca_channel *channel;
	bool ignore_overrun;
	_Atomic uint32_t users; /* QPs (once per queue) and SRQs */
	struct hca_async_source source;

	struct hca_pd *pd; /* whose memory the ring is; NULL: nobody's */
	bool stamped;
	struct node_flow timer; /* cq_moderation.c; progress lock */
	bool has_timer;         /* moderation_lock */
	pthread_mutex_t moderation_lock; /* one hca_cq_moderate() at a time; taken before the progress lock */

	pthread_mutex_t lock; /* of what follows, but for the atomic peeks at head and tail */
	struct hca_cq_ring ring;
	_Atomic uint32_t head, tail; /* free-running: entries are [head, tail) */
	enum hca_cq_armed armed;
	_Atomic bool overrun; /* also peeked at */
	struct hca_cq_moderation moderation;

	/* The channel's lock. */
	struct hca_cq *next, *prev;
	uint32_t events, taken, acked; /* queued; taken by the program; acknowledged */
};

struct hca_channel {
	struct hca_context *context;
	int fd;
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t acked;
	struct hca_cq *first, *last; /* with events queued */
	uint32_t users;              /* CQs */
};

/*
 * Adds an entry; fires the event if armed for it. False: no room, the entry is lost; CQ_ERR was raised the first time. Progress
 * lock held.
 */
bool hca_cq_push(struct hca_cq *cq, const struct hca_cqe *cqe);
/* Takes out every entry of the QP. */
void hca_cq_purge(struct hca_cq *cq, const struct hca_qp *qp);

/* cq_moderation.c: */
void hca_cq_moderation_init(struct hca_cq *cq);
/* Nothing pushes any more. Takes the progress lock. */
void hca_cq_moderation_fini(struct hca_cq *cq);
/* A completion came that an armed queue fires for. True: now; else *later says whether the timer is to be told. CQ lock held. */
bool hca_cq_moderation_passes(struct hca_cq *cq, uint64_t now, bool *later);

void hca_channel_attach(struct hca_channel *channel, struct hca_cq *cq);
/* Forgets the CQ's events and waits for acknowledgements. */
void hca_channel_detach(struct hca_channel *channel, struct hca_cq *cq);
void hca_channel_fire(struct hca_channel *channel, struct hca_cq *cq);

#endif
