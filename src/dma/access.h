/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Access to user memory through keys: checks, stable reads, ordered placement, atomics. The only code of the project that
 * touches it.
 *
 * A view is one object's eye on the table: its protection domain, and the last entry it used. Errors: BASE_ERR_KEY (unknown,
 * stale, foreign PD, right missing, a window's key for local memory), BASE_ERR_RANGE (outside the region), BASE_ERR_FAULT (memory
 * behind a valid key went away).
 * Threads: the holder of the progress lock (see dma/mr.h). Signals: a fault inside never reaches the application.
 */
#ifndef DMA_ACCESS_H
#define DMA_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "dma/mr.h"

/* The layout of struct ibv_sge. */
struct dma_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct dma_view {
	struct dma_table *table;
	uint32_t pd;
	uint32_t last_key; /* 0: none */
	uint64_t owner;    /* whose view it is, never the same for two; 0: of none that a window of type 2 could be bound to */
	struct dma_entry *last;
};

void dma_view_init(struct dma_view *view, struct dma_table *table, uint32_t pd);

/* access: 0 to read, DMA_LOCAL_WRITE to write. Elements of length 0 are not looked at. */
int dma_local_check(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint32_t access);
/*
 * Where a part of a region lies, and what the region grants. BASE_ERR_INVAL: windows and null regions have no place;
 * BASE_ERR_PERM: another domain's.
 */
struct dma_range {
	uintptr_t addr;
	uint32_t access;
};
int dma_local_range(struct dma_view *view, uint32_t lkey, uint64_t va, uint64_t len, struct dma_range *out);
/* [offset, offset + len) of the concatenated elements. BASE_ERR_RANGE: they are shorter. */
int dma_gather(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint64_t offset, void *dst, uint32_t len);
int dma_scatter(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint64_t offset, const void *src,
		uint32_t len);
/* access: enum dma_access, all of the bits are needed. Zero length is 0. */
int dma_remote_check(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access);
int dma_remote_write(struct dma_view *view, uint32_t rkey, uint64_t va, const void *src, uint32_t len);
int dma_remote_read(struct dma_view *view, uint32_t rkey, uint64_t va, void *dst, uint32_t len);
/* BASE_ERR_RANGE: not 8-byte aligned in this process. *before on success only. */
int dma_remote_compare_swap(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *before);
int dma_remote_fetch_add(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t add, uint64_t *before);
/* 8 bytes of `src` by one release store. BASE_ERR_RANGE: not 8-byte aligned in this process. Needs DMA_REMOTE_WRITE. */
int dma_remote_atomic_write(struct dma_view *view, uint32_t rkey, uint64_t va, const void *src);
/*
 * access: DMA_FLUSH_GLOBAL (what was placed before is visible to every processor when this returns), DMA_FLUSH_PERSISTENT (and is
 * where a file behind the memory keeps it; takes as long as that storage does), both or none. whole: of the region, va and len
 * are not looked at.
 */
int dma_remote_flush(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, bool whole);

#endif
