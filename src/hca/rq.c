/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/rq.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hca/limits.h"

_Static_assert(HCA_MAX_SRQ_WR <= 1 << (HCA_RQ_CHUNKS - 2), "doubling gets there");

struct slot {
	uint64_t wr_id, length;
	uint32_t num_sge, reserved;
	struct transport_sge sge[];
};

static struct slot *slot_at(const struct hca_rq *rq, uint32_t index)
{
	uint32_t chunk = rq->chunk_count - 1;

	while (index < rq->chunks[chunk].first)
		chunk--;
	return (struct slot *)(void *)((uint8_t *)rq->chunks[chunk].memory.at +
				       (uint64_t)(index - rq->chunks[chunk].first) * rq->stride);
}

static void reset_free(struct hca_rq *rq)
{
	rq->head = rq->tail = rq->in_use = 0;
	rq->free_count = rq->capacity;
	for (uint32_t i = 0; i < rq->capacity; i++)
		rq->free[i] = rq->capacity - 1 - i; /* slot 0 first */
}

/* What a queue of this many slots needs beside them. */
struct indexes {
	uint32_t *posted, *free;
	uint32_t depth;
};

static int indexes_alloc(struct indexes *out, uint32_t capacity)
{
	uint32_t depth = 1;

	while (depth < capacity)
		depth *= 2;
	*out = (struct indexes){ calloc(depth, sizeof(*out->posted)), calloc((size_t)capacity + 1, sizeof(*out->free)), depth };
	if (out->posted != NULL && out->free != NULL)
		return 0;
	free(out->posted);
	free(out->free);
	return BASE_ERR_NOMEM;
}

int hca_rq_init(struct hca_rq *rq, struct hca_pd *pd, enum hca_resource kind, uint32_t max_wr, uint32_t max_sge)
{
	struct indexes indexes;

	memset(rq, 0, sizeof(*rq));
	int err = indexes_alloc(&indexes, max_wr);
	if (err != 0)
		return err;
	rq->stride = (uint32_t)(sizeof(struct slot) + max_sge * sizeof(struct transport_sge));
	err = hca_buffer_alloc(&rq->chunks[0].memory, pd, kind, (size_t)max_wr * rq->stride);
	if (err != 0) {
		free(indexes.posted);
		free(indexes.free);
		return err;
	}
	rq->pd = pd;
	rq->kind = kind;
	rq->max_wr = rq->capacity = max_wr;
	rq->max_sge = max_sge;
	rq->chunk_count = 1;
	rq->posted = indexes.posted;
	rq->free = indexes.free;
	rq->depth = indexes.depth;
	reset_free(rq);
	pthread_mutex_init(&rq->lock, NULL);
	return 0;
}

void hca_rq_fini(struct hca_rq *rq)
{
	if (rq->chunk_count == 0)
		return;
	for (uint32_t i = 0; i < rq->chunk_count; i++)
		hca_buffer_free(&rq->chunks[i].memory);
	free(rq->posted);
	free(rq->free);
	rq->chunk_count = 0;
	pthread_mutex_destroy(&rq->lock);
}

int hca_rq_post(struct hca_rq *rq, uint64_t wr_id, const struct transport_sge *sge, int num_sge)
{
	if (num_sge < 0 || (uint32_t)num_sge > rq->max_sge)
		return BASE_ERR_INVAL;
	pthread_mutex_lock(&rq->lock);
	if (rq->in_use >= rq->max_wr) {
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
	rq->in_use++;
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
	rq->in_use--;
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

uint32_t hca_rq_max_wr(struct hca_rq *rq)
{
	pthread_mutex_lock(&rq->lock);
	uint32_t max_wr = rq->max_wr;
	pthread_mutex_unlock(&rq->lock);
	return max_wr;
}

/* Below the capacity only the bound moves; memory is not given back. */
static int set_bound(struct hca_rq *rq, uint32_t max_wr)
{
	int err = BASE_ERR_INVAL;

	pthread_mutex_lock(&rq->lock);
	if (rq->in_use <= max_wr) {
		rq->max_wr = max_wr;
		err = 0;
	}
	pthread_mutex_unlock(&rq->lock);
	return err;
}

/* The new slots and indexes become the queue's; *indexes gets the old ones. */
static void extend(struct hca_rq *rq, struct hca_buffer *memory, uint32_t more, uint32_t max_wr, struct indexes *indexes)
{
	struct indexes old = { rq->posted, rq->free, rq->depth };
	uint32_t waiting = rq->tail - rq->head;

	for (uint32_t i = 0; i < waiting; i++)
		indexes->posted[i] = rq->posted[(rq->head + i) & (rq->depth - 1)];
	for (uint32_t i = 0; i < more; i++)
		indexes->free[i] = rq->capacity + more - 1 - i;
	memcpy(indexes->free + more, rq->free, rq->free_count * sizeof(*rq->free));
	rq->posted = indexes->posted;
	rq->free = indexes->free;
	rq->depth = indexes->depth;
	rq->head = 0;
	rq->tail = waiting;
	rq->free_count += more;
	rq->chunks[rq->chunk_count].memory = *memory;
	rq->chunks[rq->chunk_count++].first = rq->capacity;
	rq->capacity += more;
	rq->max_wr = max_wr;
	*indexes = old;
}

int hca_rq_resize(struct hca_rq *rq, uint32_t max_wr)
{
	uint32_t most = HCA_MAX_SRQ_WR - rq->capacity; /* only we change it */
	struct indexes indexes;
	struct hca_buffer memory;

	if (max_wr <= rq->capacity)
		return set_bound(rq, max_wr);
	uint32_t more = max_wr - rq->capacity > rq->capacity ? max_wr - rq->capacity : rq->capacity;
	more = more < most ? more : most;
	int err = indexes_alloc(&indexes, rq->capacity + more);
	if (err != 0)
		return err;
	err = hca_buffer_alloc(&memory, rq->pd, rq->kind, (size_t)more * rq->stride);
	if (err == 0) {
		pthread_mutex_lock(&rq->lock);
		extend(rq, &memory, more, max_wr, &indexes);
		pthread_mutex_unlock(&rq->lock);
	}
	free(indexes.posted);
	free(indexes.free);
	return err;
}
