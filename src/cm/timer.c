/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/timer.h"

#include "cm/cm_internal.h"

static bool earlier(const struct cm *cm, uint32_t a, uint32_t b)
{
	return cm->ids[a].deadline < cm->ids[b].deadline;
}

static void place(struct cm *cm, uint32_t at, uint32_t slot)
{
	cm->heap[at] = slot;
	cm->ids[slot].timer_at = at;
}

static void rise(struct cm *cm, uint32_t at)
{
	uint32_t slot = cm->heap[at];

	for (; at && earlier(cm, slot, cm->heap[(at - 1) / 2]); at = (at - 1) / 2)
		place(cm, at, cm->heap[(at - 1) / 2]);
	place(cm, at, slot);
}

static void sink(struct cm *cm, uint32_t at)
{
	uint32_t slot = cm->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < cm->heap_count && earlier(cm, cm->heap[child + 1], cm->heap[child]))
			child++;
		if (child >= cm->heap_count || !earlier(cm, cm->heap[child], slot))
			break;
		place(cm, at, cm->heap[child]);
		at = child;
	}
	place(cm, at, slot);
}

void cm_timer_set(struct cm *cm, struct cm_id *id, uint64_t after_ns)
{
	id->deadline = cm->now + after_ns;
	if (id->timer_at == CM_NIL)
		place(cm, cm->heap_count++, cm_index(cm, id));
	rise(cm, id->timer_at);
	sink(cm, id->timer_at);
}

void cm_timer_clear(struct cm *cm, struct cm_id *id)
{
	uint32_t at = id->timer_at, last;

	if (at == CM_NIL)
		return;
	id->timer_at = CM_NIL;
	last = cm->heap[--cm->heap_count];
	if (at == cm->heap_count)
		return;
	place(cm, at, last);
	rise(cm, at);
	sink(cm, cm->ids[last].timer_at);
}

uint64_t cm_deadline(const struct cm *cm)
{
	return cm->heap_count ? cm->ids[cm->heap[0]].deadline : BASE_NEVER;
}

void cm_tick(struct cm *cm, uint64_t now)
{
	/* At most one round for each: a timer that is set anew lies in the future, but for an interval of 0. */
	uint32_t most = cm->heap_count;

	cm->now = now;
	while (most-- && cm->heap_count && cm->ids[cm->heap[0]].deadline <= now) {
		struct cm_id *id = &cm->ids[cm->heap[0]];

		cm_timer_clear(cm, id);
		cm_on_timer(cm, id);
	}
	cm_output_settle(cm);
}
