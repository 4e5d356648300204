/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program's work request ids while the adapter has the request: completions come in any order and name a request by a small
 * number, which is an index here. Threads: the queue's lock.
 */
#ifndef EFA_DRIVER_WORK_IDS_H
#define EFA_DRIVER_WORK_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"

struct efa_work_ids {
	uint64_t *wr_ids;
	uint16_t *free;    /* a stack of the numbers that are free */
	bool *taken;
	uint32_t size, num_free;
};

static inline void efa_work_ids_fini(struct efa_work_ids *ids)
{
	free(ids->wr_ids);
	free(ids->free);
	free(ids->taken);
	*ids = (struct efa_work_ids){ .size = 0 };
}

static inline void efa_work_ids_clear(struct efa_work_ids *ids)
{
	ids->num_free = ids->size;
	for (uint32_t i = 0; i < ids->size; i++) {
		ids->free[i] = (uint16_t)(ids->size - 1 - i);
		ids->taken[i] = false;
	}
}

/* size: up to 65536; 0 is none. BASE_ERR_NOMEM. */
static inline int efa_work_ids_init(struct efa_work_ids *ids, uint32_t size)
{
	*ids = (struct efa_work_ids){ .size = size };
	if (size == 0)
		return 0;
	ids->wr_ids = calloc(size, sizeof(*ids->wr_ids));
	ids->free = calloc(size, sizeof(*ids->free));
	ids->taken = calloc(size, sizeof(*ids->taken));
	if (ids->wr_ids == NULL || ids->free == NULL || ids->taken == NULL) {
		efa_work_ids_fini(ids);
		return BASE_ERR_NOMEM;
	}
	efa_work_ids_clear(ids);
	return 0;
}

/* There is a free one. */
static inline uint16_t efa_work_ids_take(struct efa_work_ids *ids, uint64_t wr_id)
{
	uint16_t number = ids->free[--ids->num_free];

	ids->wr_ids[number] = wr_id;
	ids->taken[number] = true;
	return number;
}

/* False: no request has this number. The adapter's word is not taken on trust: a wrong one must not corrupt the stack. */
static inline bool efa_work_ids_give(struct efa_work_ids *ids, uint16_t number, uint64_t *wr_id)
{
	if (number >= ids->size || !ids->taken[number])
		return false;
	ids->taken[number] = false;
	ids->free[ids->num_free++] = number;
	*wr_id = ids->wr_ids[number];
	return true;
}

#endif
