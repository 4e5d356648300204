/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows: keys of their own for a part of a region, with rights of their own, that queue pairs give and take away in the
 * order of their work requests.
 *
 * A window is an entry of the region table (dma/mr.h) whose upper 24 key bits stay while it lives; the low byte is told anew by
 * each bind. Its key leads to it only while it is bound. Type 1 is for all queue pairs of its domain and may be bound over and
 * over; type 2 belongs to the queue pair that bound it (2B: and to the domain), and must be invalidated before it is bound again.
 * A region counts the windows that are bound to it: with one it must not go.
 *
 * Errors: those of dma/access.h; BASE_ERR_INVAL (not such a window, rights or a length that it cannot have), BASE_ERR_BUSY (a
 * type 2 that is bound). Threads: dma_window_alloc() and dma_table_free() any; all others the holder of the progress lock.
 * Clauses: IBTA 10.6.7, 11.2.10.
 */
#ifndef DMA_WINDOW_H
#define DMA_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "dma/access.h"
#include "dma/mr.h"

struct dma_bind {
	uint32_t window;   /* any key of it: the upper 24 bits name it */
	uint32_t rkey;     /* the new one: the same upper 24 bits */
	uint32_t region;   /* its key */
	uint32_t access;   /* DMA_REMOTE_*, DMA_FLUSH_*, DMA_ZERO_BASED; LOCAL_WRITE is tolerated and grants nothing */
	uint64_t addr, length; /* in the addresses of the region; length 0: type 1 is unbound, type 2 refused */
	bool by_type_1;    /* which of the two types the caller means */
};

/* kind: one of DMA_WINDOW_*. BASE_ERR_NOMEM: the table is full. *rkey is what it starts from; it leads nowhere before a bind. */
int dma_window_alloc(struct dma_table *table, uint32_t pd, enum dma_kind kind, uint32_t *index, uint32_t *rkey);
/* Unbinds; nothing leads to it any more, its own binds included. dma_table_free() then lets the entry be reused. */
void dma_window_revoke(struct dma_table *table, uint32_t index);
/* On an error nothing changed. The view is that of the queue pair that binds. */
int dma_window_bind(struct dma_view *view, const struct dma_bind *bind);
/* Type 2 that is bound, under this very key, of the view's domain. remote: asked for by the peer: of this queue pair as well. */
int dma_window_invalidate(struct dma_view *view, uint32_t rkey, bool remote);
/* Windows that are bound to this region. */
uint32_t dma_window_count(const struct dma_table *table, uint32_t region_index);

#endif
