/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Theory. One producer at a time (the holder of the progress lock), any number of consumers; both take the queue's lock, which
 * is held for copies of 64 bytes only. An empty queue is seen without it.
 *
 * Events. Arming and adding an entry happen under the same lock, so that an entry is either there for the poll after arming, or
 * fires. The channel is told after the lock is given back: the entry is visible before the event.
 */
#include "hca/cq.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/cq_internal.h"
#include "hca/limits.h"
#include "hca/qp_internal.h"

static uint32_t round_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static struct hca_cqe *entry(const struct hca_cq_ring *ring, uint32_t index)
{
	return &ring->cqe[index & (ring->size - 1)];
}

static int ring_init(struct hca_cq_ring *ring, struct hca_pd *pd, uint32_t size, bool stamped)
{
	size_t each = sizeof(*ring->cqe) + (stamped ? sizeof(*ring->stamps) : 0);
	int err = hca_buffer_alloc(&ring->memory, pd, HCA_RESOURCE_COMPLETION_QUEUE, size * each);

	if (err != 0)
		return err;
	ring->cqe = ring->memory.at;
	ring->stamps = stamped ? (struct hca_stamp *)(void *)(ring->cqe + size) : NULL;
	ring->size = size;
	return 0;
}

static void copy_entry(struct hca_cq_ring *to, uint32_t at, const struct hca_cq_ring *from, uint32_t index)
{
	*entry(to, at) = *entry(from, index);
	if (to->stamps != NULL)
		to->stamps[at & (to->size - 1)] = from->stamps[index & (from->size - 1)];
}

int hca_cq_create(struct hca_context *context, struct hca_cq_attr *attr, struct hca_cq **out)
{
	if (hca_device_is_lost(context->device))
		return BASE_ERR_IO;
	if (attr->cqe == 0 || attr->cqe > HCA_MAX_CQE || attr->comp_vector >= HCA_COMP_VECTORS) {
		base_explain("CQ refused: %u entries (1 to %u), completion vector %u (below %u)", attr->cqe, HCA_MAX_CQE,
			     attr->comp_vector, HCA_COMP_VECTORS);
		return BASE_ERR_INVAL;
	}
	struct hca_cq *cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return BASE_ERR_NOMEM;
	int err = ring_init(&cq->ring, attr->pd, round_up(attr->cqe), attr->stamped);
	if (err != 0) {
		free(cq);
		return err;
	}
	cq->context = context;
	cq->user = attr->user;
	cq->ignore_overrun = attr->ignore_overrun;
	cq->stamped = attr->stamped;
	cq->pd = attr->pd;
	pthread_mutex_init(&cq->lock, NULL);
	hca_cq_moderation_init(cq);
	hca_async_source_init(&cq->source, context, attr->user);
	if (attr->channel != NULL)
		hca_channel_attach(attr->channel, cq);
	if (cq->pd != NULL)
		hca_pd_get(cq->pd);
	atomic_fetch_add(&context->objects, 1);
	attr->cqe = cq->ring.size;
	*out = cq;
	return 0;
}

int hca_cq_destroy(struct hca_cq *cq)
{
	if (atomic_load(&cq->users) != 0)
		return BASE_ERR_BUSY;
	hca_cq_moderation_fini(cq);
	if (cq->channel != NULL)
		hca_channel_detach(cq->channel, cq);
	hca_async_source_fini(&cq->source);
	atomic_fetch_sub(&cq->context->objects, 1);
	pthread_mutex_destroy(&cq->lock);
	hca_buffer_free(&cq->ring.memory);
	if (cq->pd != NULL)
		hca_pd_put(cq->pd);
	free(cq);
	return 0;
}

int hca_cq_resize(struct hca_cq *cq, uint32_t *cqe)
{
	struct hca_cq_ring ring;

	if (*cqe == 0 || *cqe > HCA_MAX_CQE)
		return BASE_ERR_INVAL;
	int err = ring_init(&ring, cq->pd, round_up(*cqe), cq->stamped);
	if (err != 0)
		return err;
	uint32_t got = ring.size;
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	if (tail - head > *cqe) {
		err = BASE_ERR_INVAL;
	} else {
		struct hca_cq_ring old = cq->ring;

		for (uint32_t i = head; i != tail; i++)
			copy_entry(&ring, i, &old, i);
		cq->ring = ring;
		ring = old;
	}
	pthread_mutex_unlock(&cq->lock);
	hca_buffer_free(&ring.memory);
	if (err == 0)
		*cqe = got;
	return err;
}

/* A send slot may be posted to again when the completion at or behind it has been seen. */
static void seen(const struct hca_cqe *cqe)
{
	if (cqe->is_send)
		hca_qp_sq_free(cqe->qp, cqe->sq_index);
}

static bool fires_for(const struct hca_cq *cq, const struct hca_cqe *cqe)
{
	return cq->armed == HCA_CQ_ARMED_ANY ||
	       (cq->armed == HCA_CQ_ARMED_SOLICITED && (cqe->solicited || cqe->wc.status != TRANSPORT_SUCCESS));
}

/* Makes room for one more. False: there is none, now and from now on. CQ lock held. */
static bool make_room(struct hca_cq *cq, bool *first_overrun)
{
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);

	if (cq->overrun)
		return false;
	if (atomic_load_explicit(&cq->tail, memory_order_relaxed) - head < cq->ring.size)
		return true;
	if (cq->ignore_overrun) {
		seen(entry(&cq->ring, head));
		atomic_store_explicit(&cq->head, head + 1, memory_order_relaxed);
		return true;
	}
	cq->overrun = *first_overrun = true;
	return false;
}

bool hca_cq_push(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);
	bool fire = false, later = false, first_overrun = false;
	struct hca_stamp stamp = { 0 };

	pthread_mutex_lock(&cq->lock);
	bool fits = make_room(cq, &first_overrun);
	if (fits) {
		uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);

		if (cq->stamped || cq->moderation.count > 1)
			engine->ops->clock(engine->context, &stamp);
		*entry(&cq->ring, tail) = *cqe;
		if (cq->stamped)
			cq->ring.stamps[tail & (cq->ring.size - 1)] = stamp;
		atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
		fire = fires_for(cq, cqe) && hca_cq_moderation_passes(cq, stamp.raw, &later);
	}
	pthread_mutex_unlock(&cq->lock);
	if (later)
		engine->ops->timer_changed(engine->context, &cq->timer);
	if (fire && cq->channel != NULL)
		hca_channel_fire(cq->channel, cq);
	if (first_overrun) {
		hca_count(cq->context->device, HCA_PORT_CQ_OVERRUN, 1);
		hca_async_raise(&cq->source, HCA_ASYNC_CQ_ERR);
	}
	return fits;
}

void hca_cq_purge(struct hca_cq *cq, const struct hca_qp *qp)
{
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	uint32_t kept = head;
	for (uint32_t i = head; i != tail; i++)
		if (entry(&cq->ring, i)->qp != qp)
			copy_entry(&cq->ring, kept++, &cq->ring, i);
	atomic_store_explicit(&cq->tail, kept, memory_order_release);
	pthread_mutex_unlock(&cq->lock);
}

static bool is_empty(const struct hca_cq *cq)
{
	return atomic_load_explicit(&cq->tail, memory_order_acquire) == atomic_load_explicit(&cq->head, memory_order_relaxed);
}

/* With a stamp: one. */
static int take(struct hca_cq *cq, int n, struct hca_wc *wc, struct hca_stamp *stamp)
{
	int got = 0;

	if (is_empty(cq))
		return 0;
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	for (; got < n && head != tail; head++, got++) {
		const struct hca_cqe *cqe = entry(&cq->ring, head);

		wc[got] = cqe->wc;
		if (stamp != NULL && cq->stamped)
			*stamp = cq->ring.stamps[head & (cq->ring.size - 1)];
		seen(cqe);
	}
	atomic_store_explicit(&cq->head, head, memory_order_relaxed);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

static int poll(struct hca_cq *cq, int n, struct hca_wc *wc, struct hca_stamp *stamp)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);

	if (n <= 0)
		return n == 0 ? 0 : BASE_ERR_INVAL;
	int got = take(cq, n, wc, stamp);
	if (got == 0) {
		engine->ops->poll(engine->context);
		got = take(cq, n, wc, stamp);
	}
	if (got == 0 && atomic_load_explicit(&cq->overrun, memory_order_relaxed))
		return BASE_ERR_IO;
	return got;
}

int hca_cq_poll(struct hca_cq *cq, int n, struct hca_wc *wc)
{
	return poll(cq, n, wc, NULL);
}

int hca_cq_poll_stamped(struct hca_cq *cq, struct hca_wc *wc, struct hca_stamp *stamp)
{
	*stamp = (struct hca_stamp){ 0 };
	return poll(cq, 1, wc, stamp);
}

int hca_cq_req_notify(struct hca_cq *cq, bool solicited_only)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);
	enum hca_cq_armed wanted = solicited_only ? HCA_CQ_ARMED_SOLICITED : HCA_CQ_ARMED_ANY;

	pthread_mutex_lock(&cq->lock);
	if (cq->armed < wanted)
		cq->armed = wanted;
	pthread_mutex_unlock(&cq->lock);
	engine->ops->expect_wakeups(engine->context);
	return 0;
}

uint32_t hca_cq_cqe(const struct hca_cq *cq)
{
	return cq->ring.size;
}

void *hca_cq_user(const struct hca_cq *cq)
{
	return cq->user;
}

struct hca_channel *hca_cq_channel(const struct hca_cq *cq)
{
	return cq->channel;
}

void *hca_cq_async_token(struct hca_cq *cq)
{
	return &cq->source;
}
