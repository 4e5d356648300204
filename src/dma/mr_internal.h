/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of the region table. Read by dma/mr.c and dma/access.c alone. */
#ifndef DMA_MR_INTERNAL_H
#define DMA_MR_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "dma/key.h"
#include "dma/mr.h"

struct dma_table {
	struct dma_entry *entries;
	uint32_t count;
	struct dma_key_secret secret;
	pthread_mutex_t lock;
	/* lock: */
	uint32_t fresh; /* entries from here on were never used */
	uint32_t *free; /* ring of `count` */
	uint64_t free_head, free_tail;
	uint32_t used;
};

/* The entry that a key would be in; any key gives an index below DMA_ENTRIES_MAX. */
uint32_t dma_table_key_index(const struct dma_table *table, uint32_t key);

#endif
