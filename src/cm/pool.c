/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slots: memory, references, freedom, and the rings of ids that belong to one owner. */
#include <string.h>

#include "cm/cm_internal.h"
#include "cm/queue.h"
#include "cm/timer.h"

/* A freed slot waits behind this many others, so that a late message or a stale reference finds nobody for long. */
enum { FREE_RESERVE = 1024 };

static uint32_t buckets(const struct cm_config *config)
{
	uint32_t n = 64;

	while (n < config->ids)
		n *= 2;
	return n;
}

struct plan { /* where the parts lie in the memory */
	size_t ids, answers, heap, heads, total;
};

static struct plan plan(const struct cm_config *config)
{
	struct plan p = { .ids = (sizeof(struct cm) + 63) & ~(size_t)63 };

	p.answers = p.ids + sizeof(struct cm_id) * config->ids;
	p.heap = p.answers + sizeof(struct cm_send) * config->answers;
	p.heads = p.heap + sizeof(uint32_t) * config->ids;
	p.total = p.heads + sizeof(uint32_t) * buckets(config) * CM_TABLES;
	return p;
}

size_t cm_bytes(const struct cm_config *config)
{
	return plan(config).total;
}

struct cm *cm_init(void *memory, const struct cm_config *config, const struct cm_ops *ops, void *host, uint64_t seed)
{
	struct plan p = plan(config);
	struct cm *cm = memory;
	char *base = memory;

	if (!cm_config_is_valid(config))
		return NULL;
	*cm = (struct cm){
		.config = *config,
		.host = host,
		.random = { seed },
		.free = CM_QUEUE_EMPTY,
		.wire = CM_QUEUE_EMPTY,
		.inside = CM_QUEUE_EMPTY,
		.events = CM_QUEUE_EMPTY,
		.ids = (struct cm_id *)(base + p.ids),
		.answers = (struct cm_send *)(base + p.answers),
		.heap = (uint32_t *)(base + p.heap),
	};
	if (ops)
		cm->ops = *ops;
	for (int i = 0; i < CM_TABLES; i++) {
		cm->tables[i].mask = buckets(config) - 1;
		cm->tables[i].heads = (uint32_t *)(base + p.heads) + (size_t)i * buckets(config);
		memset(cm->tables[i].heads, 0xff, sizeof(uint32_t) * buckets(config));
	}
	return cm;
}

struct cm_id *cm_id_find(const struct cm *cm, struct cm_ref ref)
{
	uint32_t index = ref.value & ((1u << CM_INDEX_BITS) - 1);
	struct cm_id *id;

	if (index >= cm->touched)
		return NULL;
	id = &cm->ids[index];
	return id->owned && id->generation == ref.value >> CM_INDEX_BITS ? id : NULL;
}

/* ---- owners ---- */

static struct cm_id *owner_first(const struct cm *cm, uint32_t owner)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_OWNER, owner);

	while (id && id->owner != owner)
		id = cm_table_next(cm, CM_BY_OWNER, id);
	return id;
}

static void owner_enter(struct cm *cm, struct cm_id *id, struct cm_id *first)
{
	uint32_t at = cm_index(cm, id);

	if (first == NULL) {
		id->owner_next = id->owner_prev = at;
		id->owner_count = 1;
		cm_table_add(cm, CM_BY_OWNER, id->owner, id);
		return;
	}
	id->owner_next = cm_index(cm, first);
	id->owner_prev = first->owner_prev;
	cm->ids[first->owner_prev].owner_next = at;
	first->owner_prev = at;
	first->owner_count++;
}

static void owner_leave(struct cm *cm, struct cm_id *id)
{
	struct cm_id *first = owner_first(cm, id->owner), *next = &cm->ids[id->owner_next];
	uint32_t left = first->owner_count - 1;

	next->owner_prev = id->owner_prev;
	cm->ids[id->owner_prev].owner_next = id->owner_next;
	if (first == id) {
		cm_table_remove(cm, CM_BY_OWNER, id);
		if (left == 0)
			return;
		first = next;
		cm_table_add(cm, CM_BY_OWNER, id->owner, first);
	}
	first->owner_count = left;
}

/* Ends the owner's listeners, or all its other ids. */
static uint32_t end_some(struct cm *cm, uint32_t owner, bool listeners)
{
	struct cm_id *id = owner_first(cm, owner);
	uint32_t left = id ? id->owner_count : 0, ended = 0;

	while (left--) {
		struct cm_id *next = &cm->ids[id->owner_next];

		if (id->owned && (id->state == CM_LISTEN) == listeners) {
			cm_id_end(cm, id);
			ended++;
		}
		id = next;
	}
	return ended;
}

uint32_t cm_owner_gone(struct cm *cm, uint64_t now, uint32_t owner)
{
	uint32_t ended;

	cm->now = now;
	/* The end of a listener is that of children, too; all others end alone, so that the walk is safe. */
	ended = end_some(cm, owner, false);
	ended += end_some(cm, owner, true);
	cm_output_settle(cm);
	return ended;
}

/* ---- slots ---- */

struct cm_id *cm_id_take(struct cm *cm, uint32_t owner)
{
	struct cm_id *first = owner_first(cm, owner), *id;
	bool fresh = cm->touched < cm->config.ids && cm->free_count < FREE_RESERVE;
	uint16_t generation;

	if ((first && first->owner_count >= cm->config.ids_per_owner) || (!fresh && cm->free_count == 0))
		return NULL;
	if (fresh) {
		id = &cm->ids[cm->touched++];
	} else {
		id = cm_queue_pop(cm, &cm->free, offsetof(struct cm_id, free_next));
		cm->free_count--;
	}
	generation = id->generation % CM_GENERATION_MAX + 1;
	memset(id, 0, sizeof(*id));
	id->generation = generation;
	id->taken = id->owned = true;
	id->owner = owner;
	id->timer_at = id->free_next = id->output_next = id->event_next = CM_NIL;
	for (int i = 0; i < CM_TABLES; i++)
		id->links[i] = (struct cm_link){ CM_NIL, CM_NIL, CM_NIL };
	owner_enter(cm, id, first);
	cm->stats.ids++;
	return id;
}

void cm_id_rest(struct cm *cm, struct cm_id *id)
{
	if (id->owned || id->state != CM_IDLE || id->in_output)
		return;
	cm_timer_clear(cm, id);
	for (int i = 0; i < CM_TABLES; i++)
		if (i != CM_BY_OWNER)
			cm_table_remove(cm, (enum cm_table_name)i, id);
	owner_leave(cm, id);
	id->taken = false;
	cm_queue_push(cm, &cm->free, offsetof(struct cm_id, free_next), id);
	cm->free_count++;
	cm->stats.ids--;
}
