/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/table.h"

#include <stddef.h>

#include "cm/cm_internal.h"

static uint32_t bucket_of(const struct cm *cm, enum cm_table_name table, uint64_t key)
{
	/* Keys hold numbers that a peer chooses: stirred, so that their low bits do not pick the chain. */
	struct base_random stirred = { key };

	return (uint32_t)base_random_next(&stirred) & cm->tables[table].mask;
}

static struct cm_id *slot(const struct cm *cm, uint32_t index)
{
	return index == CM_NIL ? NULL : &cm->ids[index];
}

struct cm_id *cm_table_first(const struct cm *cm, enum cm_table_name table, uint64_t key)
{
	return slot(cm, cm->tables[table].heads[bucket_of(cm, table, key)]);
}

struct cm_id *cm_table_next(const struct cm *cm, enum cm_table_name table, const struct cm_id *id)
{
	return slot(cm, id->links[table].next);
}

void cm_table_add(struct cm *cm, enum cm_table_name table, uint64_t key, struct cm_id *id)
{
	uint32_t bucket = bucket_of(cm, table, key), *head = &cm->tables[table].heads[bucket];

	assert(id->links[table].bucket == CM_NIL);
	id->links[table] = (struct cm_link){ .next = *head, .prev = CM_NIL, .bucket = bucket };
	if (*head != CM_NIL)
		cm->ids[*head].links[table].prev = cm_index(cm, id);
	*head = cm_index(cm, id);
}

void cm_table_remove(struct cm *cm, enum cm_table_name table, struct cm_id *id)
{
	struct cm_link *link = &id->links[table];

	if (link->bucket == CM_NIL)
		return;
	if (link->next != CM_NIL)
		cm->ids[link->next].links[table].prev = link->prev;
	if (link->prev != CM_NIL)
		cm->ids[link->prev].links[table].next = link->next;
	else
		cm->tables[table].heads[link->bucket] = link->next;
	link->bucket = CM_NIL;
}
