/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of slots, linked through the member of struct cm_id at `next`. For the files of src/cm alone. */
#ifndef CM_QUEUE_H
#define CM_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "cm/cm_internal.h"

#define CM_QUEUE_EMPTY { CM_NIL, CM_NIL }

static inline uint32_t *cm_queue_next(struct cm_id *id, size_t next)
{
	return (uint32_t *)(void *)((char *)id + next);
}

static inline void cm_queue_push(struct cm *cm, struct cm_queue *queue, size_t next, struct cm_id *id)
{
	uint32_t at = cm_index(cm, id);

	*cm_queue_next(id, next) = CM_NIL;
	if (queue->tail == CM_NIL)
		queue->head = at;
	else
		*cm_queue_next(&cm->ids[queue->tail], next) = at;
	queue->tail = at;
}

/* NULL: it is empty. */
static inline struct cm_id *cm_queue_pop(struct cm *cm, struct cm_queue *queue, size_t next)
{
	struct cm_id *id = queue->head == CM_NIL ? NULL : &cm->ids[queue->head];

	if (id == NULL)
		return NULL;
	queue->head = *cm_queue_next(id, next);
	if (queue->head == CM_NIL)
		queue->tail = CM_NIL;
	*cm_queue_next(id, next) = CM_NIL;
	return id;
}

#endif
