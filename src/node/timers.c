/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "node/timers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"

static void put(struct node_timers *t, uint32_t at, struct node_flow *flow)
{
	t->heap[at] = flow;
	flow->timer_index = (int32_t)at;
}

static void sift_up(struct node_timers *t, uint32_t at)
{
	struct node_flow *flow = t->heap[at];

	while (at > 0 && t->heap[(at - 1) / 2]->timer_at > flow->timer_at) {
		put(t, at, t->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(t, at, flow);
}

static void sift_down(struct node_timers *t, uint32_t at)
{
	struct node_flow *flow = t->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= t->count)
			break;
		if (child + 1 < t->count && t->heap[child + 1]->timer_at < t->heap[child]->timer_at)
			child++;
		if (t->heap[child]->timer_at >= flow->timer_at)
			break;
		put(t, at, t->heap[child]);
		at = child;
	}
	put(t, at, flow);
}

void node_timers_fini(struct node_timers *timers)
{
	free(timers->heap);
	*timers = (struct node_timers){ 0 };
}

int node_timers_grow(struct node_timers *timers, uint32_t flows)
{
	if (flows <= timers->capacity)
		return 0;
	uint32_t capacity = timers->capacity ? timers->capacity * 2 : 16;
	while (capacity < flows)
		capacity *= 2;
	struct node_flow **heap = realloc(timers->heap, capacity * sizeof(*heap));
	if (heap == NULL)
		return BASE_ERR_NOMEM;
	timers->heap = heap;
	timers->capacity = capacity;
	return 0;
}

void node_timers_set(struct node_timers *timers, struct node_flow *flow, uint64_t at)
{
	if (at == BASE_NEVER)
		return; /* lazy: if it is in the heap it will be asked once more */
	if (flow->timer_index >= 0) {
		if (at >= flow->timer_at)
			return;
		flow->timer_at = at;
		sift_up(timers, (uint32_t)flow->timer_index);
		return;
	}
	flow->timer_at = at;
	put(timers, timers->count, flow);
	sift_up(timers, timers->count++);
}

void node_timers_remove(struct node_timers *timers, struct node_flow *flow)
{
	if (flow->timer_index < 0)
		return;
	uint32_t at = (uint32_t)flow->timer_index;
	struct node_flow *last = timers->heap[--timers->count];

	flow->timer_index = -1;
	if (last == flow)
		return;
	put(timers, at, last);
	sift_up(timers, at);
	sift_down(timers, (uint32_t)last->timer_index);
}

struct node_flow *node_timers_take_due(struct node_timers *timers, uint64_t now)
{
	struct node_flow *first = timers->count > 0 ? timers->heap[0] : NULL;

	if (first == NULL || first->timer_at > now)
		return NULL;
	node_timers_remove(timers, first);
	return first;
}

uint64_t node_timers_next(const struct node_timers *timers)
{
	return timers->count > 0 ? timers->heap[0]->timer_at : BASE_NEVER;
}
