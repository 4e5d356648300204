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

int hca_cq_create(struct hca_context *context, struct hca_cq_attr *attr, struct hca_cq **out)
{
	if (attr->cqe == 0 || attr->cqe > HCA_MAX_CQE || attr->comp_vector >= HCA_COMP_VECTORS) {
		base_explain("CQ refused: %u entries (1 to %u), completion vector %u (below %u)", attr->cqe, HCA_MAX_CQE,
				attr->comp_vector,
			     HCA_COMP_VECTORS);
		return BASE_ERR_INVAL;
	}
	struct hca_cq *cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return BASE_ERR_NOMEM;
	cq->size = round_up(attr->cqe);
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	if (cq->ring == NULL) {
		free(cq);
		return BASE_ERR_NOMEM;
	}
	cq->context = context;
	cq->user = attr->user;
	cq->ignore_overrun = attr->ignore_overrun;
	pthread_mutex_init(&cq->lock, NULL);
	hca_async_source_init(&cq->source, context, attr->user);
	if (attr->channel != NULL)
		hca_channel_attach(attr->channel, cq);
	atomic_fetch_add(&context->objects, 1);
	attr->cqe = cq->size;
	*out = cq;
	return 0;
}

int hca_cq_destroy(struct hca_cq *cq)
{
	if (atomic_load(&cq->users) != 0)
		return BASE_ERR_BUSY;
	if (cq->channel != NULL)
		hca_channel_detach(cq->channel, cq);
	hca_async_source_fini(&cq->source);
	atomic_fetch_sub(&cq->context->objects, 1);
	pthread_mutex_destroy(&cq->lock);
	free(cq->ring);
	free(cq);
	return 0;
}

int hca_cq_resize(struct hca_cq *cq, uint32_t *cqe)
{
	if (*cqe == 0 || *cqe > HCA_MAX_CQE)
		return BASE_ERR_INVAL;
	uint32_t size = round_up(*cqe);
	struct hca_cqe *ring = calloc(size, sizeof(*ring)), *old = ring;
	int err = 0;

	if (ring == NULL)
		return BASE_ERR_NOMEM;
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	if (tail - head > *cqe) {
		err = BASE_ERR_INVAL;
	} else {
		for (uint32_t i = head; i != tail; i++)
			ring[i & (size - 1)] = cq->ring[i & (cq->size - 1)];
		old = cq->ring;
		cq->ring = ring;
		cq->size = size;
	}
	pthread_mutex_unlock(&cq->lock);
	free(old);
	if (err == 0)
		*cqe = size;
	return err;
}

/* A send slot may be posted to again when the completion at or behind it has been seen. */
static void seen(const struct hca_cqe *cqe)
{
	if (cqe->is_send)
		hca_qp_sq_free(cqe->qp, cqe->sq_index);
}

bool hca_cq_push(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	bool fire = false, overrun = false, first_overrun = false;

	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	if (tail - head == cq->size) {
		if (cq->ignore_overrun) {
			seen(&cq->ring[head & (cq->size - 1)]);
			atomic_store_explicit(&cq->head, head + 1, memory_order_relaxed);
		} else {
			overrun = true;
			first_overrun = !cq->overrun;
			cq->overrun = true;
		}
	}
	if (!overrun) {
		cq->ring[tail & (cq->size - 1)] = *cqe;
		atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
		fire = cq->armed == HCA_CQ_ARMED_ANY ||
		       (cq->armed == HCA_CQ_ARMED_SOLICITED && (cqe->solicited || cqe->wc.status != TRANSPORT_SUCCESS));
		if (fire)
			cq->armed = HCA_CQ_NOT_ARMED;
	}
	pthread_mutex_unlock(&cq->lock);
	if (fire && cq->channel != NULL)
		hca_channel_fire(cq->channel, cq);
	if (first_overrun) {
		hca_count(cq->context->device, HCA_PORT_CQ_OVERRUN, 1);
		hca_async_raise(&cq->source, HCA_ASYNC_CQ_ERR);
	}
	return !overrun;
}

void hca_cq_purge(struct hca_cq *cq, const struct hca_qp *qp)
{
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	uint32_t kept = head;
	for (uint32_t i = head; i != tail; i++) {
		const struct hca_cqe *cqe = &cq->ring[i & (cq->size - 1)];

		if (cqe->qp != qp)
			cq->ring[kept++ & (cq->size - 1)] = *cqe;
	}
	atomic_store_explicit(&cq->tail, kept, memory_order_release);
	pthread_mutex_unlock(&cq->lock);
}

static bool is_empty(const struct hca_cq *cq)
{
	return atomic_load_explicit(&cq->tail, memory_order_acquire) == atomic_load_explicit(&cq->head, memory_order_relaxed);
}

static int take(struct hca_cq *cq, int n, struct hca_wc *wc)
{
	int got = 0;

	if (is_empty(cq))
		return 0;
	pthread_mutex_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	for (; got < n && head != tail; head++, got++) {
		const struct hca_cqe *cqe = &cq->ring[head & (cq->size - 1)];

		wc[got] = cqe->wc;
		seen(cqe);
	}
	atomic_store_explicit(&cq->head, head, memory_order_relaxed);
	pthread_mutex_unlock(&cq->lock);
	return got;
}

int hca_cq_poll(struct hca_cq *cq, int n, struct hca_wc *wc)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);

	if (n <= 0)
		return n == 0 ? 0 : BASE_ERR_INVAL;
	int got = take(cq, n, wc);
	if (got == 0) {
		engine->ops->poll(engine->context);
		got = take(cq, n, wc);
	}
	if (got == 0 && atomic_load_explicit(&cq->overrun, memory_order_relaxed))
		return BASE_ERR_IO;
	return got;
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
	return cq->size;
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
