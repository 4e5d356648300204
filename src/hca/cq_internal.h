/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of completion queues and channels. Read by hca/ alone. */
#ifndef HCA_CQ_INTERNAL_H
#define HCA_CQ_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

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

enum hca_cq_armed { HCA_CQ_NOT_ARMED, HCA_CQ_ARMED_SOLICITED, HCA_CQ_ARMED_ANY };

struct hca_cq {
	struct hca_context *context;
	void *user;
	struct hca_channel *channel;
	bool ignore_overrun;
	_Atomic uint32_t users; /* QPs (once per queue) and SRQs */
	struct hca_async_source source;

	pthread_mutex_t lock; /* of what follows, but for the atomic peeks at head and tail */
	struct hca_cqe *ring;
	uint32_t size;        /* a power of two */
	_Atomic uint32_t head, tail; /* free-running: entries are [head, tail) */
	enum hca_cq_armed armed;
	_Atomic bool overrun; /* also peeked at */

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

void hca_channel_attach(struct hca_channel *channel, struct hca_cq *cq);
/* Forgets the CQ's events and waits for acknowledgements. */
void hca_channel_detach(struct hca_channel *channel, struct hca_cq *cq);
void hca_channel_fire(struct hca_channel *channel, struct hca_cq *cq);

#endif
