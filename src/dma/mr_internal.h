/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of the region table. Read by dma/mr.c, dma/access.c and dma/window.c alone. */
#ifndef DMA_MR_INTERNAL_H
#define DMA_MR_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "dma/access.h"
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
/* The key that the entry had first: of a window, the upper 24 bits stay. */
uint32_t dma_table_entry_key(const struct dma_table *table, uint32_t index);
/* An entry for a window that is not bound. BASE_ERR_NOMEM. */
int dma_table_window(struct dma_table *table, uint32_t pd, enum dma_kind kind, uint32_t *index, uint32_t *key);
/* The entry of a key; NULL: unknown or stale. Holder of the progress lock. dma/access.c */
struct dma_entry *dma_view_find(struct dma_view *view, uint32_t key);

#endif
