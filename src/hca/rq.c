/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/rq.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct slot {
	uint64_t wr_id, length;
	uint32_t num_sge, reserved;
	struct transport_sge sge[];
};

static struct slot *slot_at(const struct hca_rq *rq, uint32_t index)
{
	return (struct slot *)(void *)(rq->slots + (uint64_t)index * rq->stride);
}

static void reset_free(struct hca_rq *rq)
{
	rq->head = rq->tail = 0;
	rq->free_count = rq->max_wr;
	for (uint32_t i = 0; i < rq->max_wr; i++)
		rq->free[i] = rq->max_wr - 1 - i; /* slot 0 first */
}

static int allocate(struct hca_rq *rq, uint32_t max_wr, uint32_t max_sge)
{
	uint32_t depth = 1;

	while (depth < max_wr)
		depth *= 2;
	rq->max_wr = max_wr;
	rq->max_sge = max_sge;
	rq->depth = depth;
	rq->stride = (uint32_t)(sizeof(struct slot) + max_sge * sizeof(struct transport_sge));
	rq->slots = calloc(max_wr + 1, rq->stride);
	rq->posted = calloc(depth, sizeof(*rq->posted));
	rq->free = calloc(max_wr + 1, sizeof(*rq->free));
	if (rq->slots == NULL || rq->posted == NULL || rq->free == NULL) {
		free(rq->slots);
		free(rq->posted);
		free(rq->free);
		return BASE_ERR_NOMEM;
	}
	reset_free(rq);
	return 0;
}

int hca_rq_init(struct hca_rq *rq, uint32_t max_wr, uint32_t max_sge)
{
	memset(rq, 0, sizeof(*rq));
	int err = allocate(rq, max_wr, max_sge);

	if (err == 0)
		pthread_mutex_init(&rq->lock, NULL);
	return err;
}

void hca_rq_fini(struct hca_rq *rq)
{
	if (rq->slots == NULL)
		return;
	free(rq->slots);
	free(rq->posted);
	free(rq->free);
	rq->slots = NULL;
	pthread_mutex_destroy(&rq->lock);
}

int hca_rq_post(struct hca_rq *rq, uint64_t wr_id, const struct transport_sge *sge, int num_sge)
{
	if (num_sge < 0 || (uint32_t)num_sge > rq->max_sge)
		return BASE_ERR_INVAL;
	pthread_mutex_lock(&rq->lock);
	if (rq->free_count == 0) {
		pthread_mutex_unlock(&rq->lock);
		return BASE_ERR_NOMEM;
	}
	uint32_t index = rq->free[--rq->free_count];
	struct slot *slot = slot_at(rq, index);
	slot->wr_id = wr_id;
	slot->num_sge = (uint32_t)num_sge;
	slot->length = 0;
	for (int i = 0; i < num_sge; i++) {
		slot->sge[i] = sge[i];
		slot->length += sge[i].length;
	}
	rq->posted[rq->tail++ & (rq->depth - 1)] = index;
	pthread_mutex_unlock(&rq->lock);
	return 0;
}

int hca_rq_take(struct hca_rq *rq, struct transport_recv *out, uint32_t *left)
{
	int err = BASE_ERR_AGAIN;

	pthread_mutex_lock(&rq->lock);
	if (rq->head != rq->tail) {
		uint32_t index = rq->posted[rq->head++ & (rq->depth - 1)];
		const struct slot *slot = slot_at(rq, index);

		*out = (struct transport_recv){
			.wr_id = slot->wr_id, .sge = slot->sge, .num_sge = slot->num_sge, .index = index, .length = slot->length,
		};
		if (left != NULL)
			*left = rq->tail - rq->head;
		err = 0;
	}
	pthread_mutex_unlock(&rq->lock);
	return err;
}

void hca_rq_release(struct hca_rq *rq, uint32_t index)
{
	pthread_mutex_lock(&rq->lock);
	rq->free[rq->free_count++] = index;
	pthread_mutex_unlock(&rq->lock);
}

void hca_rq_clear(struct hca_rq *rq)
{
	pthread_mutex_lock(&rq->lock);
	reset_free(rq);
	pthread_mutex_unlock(&rq->lock);
}

uint32_t hca_rq_waiting(struct hca_rq *rq)
{
	pthread_mutex_lock(&rq->lock);
	uint32_t waiting = rq->tail - rq->head;
	pthread_mutex_unlock(&rq->lock);
	return waiting;
}

int hca_rq_resize(struct hca_rq *rq, uint32_t max_wr)
{
	struct hca_rq bigger = { 0 };
	int err = allocate(&bigger, max_wr, rq->max_sge);

	if (err != 0)
		return err;
	pthread_mutex_lock(&rq->lock);
	uint32_t waiting = rq->tail - rq->head;
	/* A taken slot's SGEs are borrowed by a transport and its number comes back: neither survives a move. */
	if (rq->free_count + waiting != rq->max_wr)
		err = BASE_ERR_BUSY;
	else if (waiting > max_wr)
		err = BASE_ERR_INVAL;
	if (err == 0) {
		for (uint32_t i = 0; i < waiting; i++) {
			const struct slot *from = slot_at(rq, rq->posted[(rq->head + i) & (rq->depth - 1)]);
			uint32_t index = bigger.free[--bigger.free_count];

			memcpy(slot_at(&bigger, index), from, rq->stride);
			bigger.posted[bigger.tail++ & (bigger.depth - 1)] = index;
		}
	}
	struct hca_rq *unused = &bigger, old = *rq;
	if (err == 0) {
		rq->slots = bigger.slots;
		rq->posted = bigger.posted;
		rq->free = bigger.free;
		rq->depth = bigger.depth;
		rq->head = bigger.head;
		rq->tail = bigger.tail;
		rq->free_count = bigger.free_count;
		rq->max_wr = max_wr;
		unused = &old;
	}
	pthread_mutex_unlock(&rq->lock);
	free(unused->slots);
	free(unused->posted);
	free(unused->free);
	return err;
}
