/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int efa_ids_init(struct efa_ids *ids, uint32_t limit, uint32_t owners)
{
	*ids = (struct efa_ids){ .limit = limit, .owners = owners };
	ids->next = calloc(limit, sizeof(*ids->next));
	if (owners > 0)
		ids->kept = calloc(owners, sizeof(*ids->kept));
	if (ids->next == NULL || (owners > 0 && ids->kept == NULL)) {
		efa_ids_fini(ids);
		return BASE_ERR_NOMEM;
	}
	return 0;
}

void efa_ids_fini(struct efa_ids *ids)
{
	free(ids->next);
	free(ids->kept);
	memset(ids, 0, sizeof(*ids));
}

void efa_ids_clear(struct efa_ids *ids)
{
	ids->fresh = 0;
	ids->free = (struct efa_ids_list){ .count = 0 };
	if (ids->kept != NULL)
		memset(ids->kept, 0, ids->owners * sizeof(*ids->kept));
}

static void push(struct efa_ids *ids, struct efa_ids_list *list, uint32_t id)
{
	if (list->count++ == 0)
		list->head = id;
	else
		ids->next[list->tail] = id;
	list->tail = id;
}

static uint32_t pop(struct efa_ids *ids, struct efa_ids_list *list)
{
	uint32_t id = list->head;

	list->count--;
	list->head = ids->next[id];
	return id;
}

uint32_t efa_ids_take(struct efa_ids *ids, uint32_t owner)
{
	struct efa_ids_list *kept = ids->kept != NULL ? &ids->kept[owner] : NULL;

	if (kept != NULL && kept->count >= EFA_IDS_KEPT)
		return pop(ids, kept);
	if (ids->fresh < ids->limit)
		return ids->fresh++;
	if (ids->free.count > 0)
		return pop(ids, &ids->free);
	return kept != NULL && kept->count > 0 ? pop(ids, kept) : EFA_IDS_NONE;
}

void efa_ids_give(struct efa_ids *ids, uint32_t id, uint32_t owner)
{
	push(ids, ids->kept != NULL ? &ids->kept[owner] : &ids->free, id);
}

void efa_ids_return(struct efa_ids *ids, uint32_t id)
{
	push(ids, &ids->free, id);
}

void efa_ids_release(struct efa_ids *ids, uint32_t owner)
{
	while (ids->kept[owner].count > 0)
		push(ids, &ids->free, pop(ids, &ids->kept[owner]));
}
