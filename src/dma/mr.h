/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of memory regions of a process: index-addressed entries in storage that the caller provides (the export's memfd, so
 * that the next step, direct access by a peer, finds them), and keys that nobody can guess.
 *
 * A key is 24 bits of a secret bijection of (index, low generation bits) and 8 bits of tag: never dense, different after each
 * reuse of an entry. Entries are reused oldest-freed-first. lkey and rkey are the same number.
 *
 * Threads: dma_table_reg() and dma_table_free() in any thread. Lookups (dma/access.h) run without a lock in the holder of the
 * progress lock. The protocol of taking a region away: dma_table_revoke() makes the key stale for every later lookup; the
 * caller then waits until lookups under way are over (taking and giving back the progress lock does that); then
 * dma_table_free() lets the entry be reused.
 */
#ifndef DMA_MR_H
#define DMA_MR_H

#include <stdatomic.h>
#include <stdint.h>

/* Values of enum ibv_access_flags. */
enum dma_access {
	DMA_LOCAL_WRITE = 1,
	DMA_REMOTE_WRITE = 2,
	DMA_REMOTE_READ = 4,
	DMA_REMOTE_ATOMIC = 8,
	DMA_MW_BIND = 0x10,
	DMA_ZERO_BASED = 0x20,
	DMA_ON_DEMAND = 0x40,          /* the memory need not be there before it is used */
	DMA_HUGETLB = 0x80,            /* with ON_DEMAND: the program says that its pages are huge */
	DMA_FLUSH_GLOBAL = 0x100,
	DMA_FLUSH_PERSISTENT = 0x200,
	DMA_SUPPORTED = 0x3ff,         /* of the flags that must be understood */
	DMA_OPTIONAL = 0x3ff << 20,    /* ignored when not understood */
};

enum { DMA_INDEX_BITS = 18, DMA_ENTRIES_MAX = 1 << DMA_INDEX_BITS };

/* What an entry is. A bound window of type 2 belongs to one queue pair; 2A looks at nothing else, 2B at the domain as well. */
enum dma_kind {
	DMA_REGION,
	DMA_NULL_REGION, /* reads as zeroes, swallows what is written; local only */
	DMA_WINDOW_1,
	DMA_WINDOW_2A,
	DMA_WINDOW_2B,
	DMA_KINDS
};

/* One entry, 64 bytes. Plain fields are published by the release store of `key`. */
struct dma_entry {
	_Atomic uint32_t key;    /* 0: nobody's, or a window that is not bound */
	uint32_t pd;
	uint32_t access;
	uint32_t generation;     /* counts the uses of this entry */
	uint64_t iova, length;   /* what SGEs and peers name */
	uint64_t addr;           /* where iova lies in this process */
	_Atomic uint64_t revocation; /* counts revocations; for accesses by other processes */
	_Atomic uint32_t kind;   /* enum dma_kind; written last, but for the key */
	uint32_t link;           /* region: how many windows are bound to it; bound window: the index of its region */
	uint64_t owner;          /* bound window of type 2: dma_view.owner of its queue pair */
};
_Static_assert(sizeof(struct dma_entry) == 64, "part of the export");

struct dma_table; /* opaque */

struct dma_region {
	uint64_t addr, length, iova;
	uint32_t pd, access;
};

/* `entries` is zeroed memory for `count` (at most DMA_ENTRIES_MAX), borrowed for the life of the table. NULL: out of memory. */
struct dma_table *dma_table_create(struct dma_entry *entries, uint32_t count);
void dma_table_destroy(struct dma_table *table);

/*
 * BASE_ERR_INVAL: access flags (a remote write or atomic right without LOCAL_WRITE, unknown flag), a range that wraps, or
 * HUGETLB with ON_DEMAND for pages that are not huge; BASE_ERR_FAULT: not mapped, or not writable with LOCAL_WRITE (ON_DEMAND:
 * not looked at); BASE_ERR_NOMEM: the table is full. Length 0 is allowed. *index and *key on success.
 */
int dma_table_reg(struct dma_table *table, const struct dma_region *region, uint32_t *index, uint32_t *key);
/* A region without memory behind it: any address is inside. BASE_ERR_NOMEM. */
int dma_table_reg_null(struct dma_table *table, uint32_t pd, uint32_t *index, uint32_t *key);
/* The checks of dma_table_reg() alone. Any thread. */
int dma_table_check(const struct dma_region *region);
/*
 * A registered region becomes another one under the same key; it was checked. Holder of the progress lock. No window may be bound
 * to it.
 */
void dma_table_change(struct dma_table *table, uint32_t index, const struct dma_region *region);
/* After this no lookup that begins succeeds. `index` must be a registered one of this table. */
void dma_table_revoke(struct dma_table *table, uint32_t index);
/* After dma_table_revoke() and after all lookups that began before it are over. */
void dma_table_free(struct dma_table *table, uint32_t index);
/* How many are registered. */
uint32_t dma_table_used(struct dma_table *table);

#endif
