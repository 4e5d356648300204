/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/mr.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/random.h"
#include "dma/guard.h"
#include "dma/maps.h"
#include "dma/mr_internal.h"

enum { GENERATION_LOW_BITS = 24 - DMA_INDEX_BITS };

struct dma_table *dma_table_create(struct dma_entry *entries, uint32_t count)
{
	struct dma_table *table = calloc(1, sizeof(*table));

	assert(count > 0 && count <= DMA_ENTRIES_MAX);
	if (table == NULL)
		return NULL;
	table->free = calloc(count, sizeof(*table->free));
	if (table->free == NULL) {
		free(table);
		return NULL;
	}
	table->entries = entries;
	table->count = count;
	base_random_bytes(&table->secret, sizeof(table->secret));
	pthread_mutex_init(&table->lock, NULL);
	return table;
}

void dma_table_destroy(struct dma_table *table)
{
	if (table == NULL)
		return;
	pthread_mutex_destroy(&table->lock);
	free(table->free);
	free(table);
}

static uint32_t key_make(const struct dma_table *table, uint32_t index, uint32_t generation)
{
	uint32_t low = generation & ((1u << GENERATION_LOW_BITS) - 1);
	uint32_t tag = (generation >> GENERATION_LOW_BITS) + (((index ^ table->secret.tag) * 0x85ebca6bu) >> 24);

	return dma_key_mix(&table->secret, low << DMA_INDEX_BITS | index) << 8 | (tag & 0xff);
}

uint32_t dma_table_key_index(const struct dma_table *table, uint32_t key)
{
	return dma_key_unmix(&table->secret, key >> 8) & (DMA_ENTRIES_MAX - 1);
}

uint32_t dma_table_entry_key(const struct dma_table *table, uint32_t index)
{
	return key_make(table, index, table->entries[index].generation - 1);
}

/* What is not known to be small passes: the flag is a promise, not a request. The implicit region has no pages of its own. */
static int huge_check(const struct dma_region *region)
{
	bool is_whole = region->addr == 0 && region->length == UINT64_MAX;

	if (!(region->access & DMA_HUGETLB))
		return 0;
	uint64_t page = is_whole ? 0 : dma_maps_page_size(region->addr);
	if (is_whole || (page != 0 && page <= (uint64_t)sysconf(_SC_PAGESIZE))) {
		base_explain("memory registration refused: HUGETLB for pages that are not huge");
		return BASE_ERR_INVAL;
	}
	return 0;
}

int dma_table_check(const struct dma_region *region)
{
	uint32_t must = region->access & ~(uint32_t)DMA_OPTIONAL;

	if (must & ~(uint32_t)DMA_SUPPORTED) {
		base_explain("memory registration refused: access flags 0x%x are not known", must & ~(uint32_t)DMA_SUPPORTED);
		return BASE_ERR_INVAL;
	}
	if ((must & (DMA_REMOTE_WRITE | DMA_REMOTE_ATOMIC)) && !(must & DMA_LOCAL_WRITE)) {
		base_explain("memory registration refused: remote write or atomic needs local write");
		return BASE_ERR_INVAL;
	}
	if (region->addr + region->length < region->addr || region->iova + region->length < region->iova) {
		base_explain("memory registration refused: the range wraps around");
		return BASE_ERR_INVAL;
	}
	if (must & DMA_ON_DEMAND)
		return huge_check(region);
	if (dma_maps_check(region->addr, region->length, must & DMA_LOCAL_WRITE) != 0) {
		base_explain("memory registration refused: %#llx + %#llx is not mapped%s", (unsigned long long)region->addr,
			     (unsigned long long)region->length, must & DMA_LOCAL_WRITE ? " writable" : "");
		return BASE_ERR_FAULT;
	}
	return 0;
}

/* Oldest-freed-first, after every entry had its first use. */
static bool take_index(struct dma_table *table, uint32_t *index)
{
	if (table->fresh < table->count) {
		*index = table->fresh++;
		return true;
	}
	if (table->free_head == table->free_tail)
		return false;
	*index = table->free[table->free_head++ % table->count];
	return true;
}

/* An entry that no key leads to, and the key that it will have. */
static int entry_take(struct dma_table *table, uint32_t *index, uint32_t *key)
{
	dma_guard_install();
	pthread_mutex_lock(&table->lock);
	bool found = take_index(table, index);
	if (found)
		table->used++;
	pthread_mutex_unlock(&table->lock);
	if (!found)
		return BASE_ERR_NOMEM;
	struct dma_entry *entry = &table->entries[*index];
	/* Of a window the low byte is the program's: the others must not be 0 by themselves. */
	do
		*key = key_make(table, *index, entry->generation++);
	while (*key >> 8 == 0);
	return 0;
}

static void entry_fill(struct dma_entry *entry, const struct dma_region *region)
{
	entry->pd = region->pd;
	entry->access = region->access & DMA_SUPPORTED;
	entry->iova = region->iova;
	entry->length = region->length;
	entry->addr = region->addr;
}

static int entry_make(struct dma_table *table, const struct dma_region *region, enum dma_kind kind, uint32_t *index,
		      uint32_t *key)
{
	uint32_t at, fresh_key;
	int err = entry_take(table, &at, &fresh_key);

	if (err != 0)
		return err;
	struct dma_entry *entry = &table->entries[at];
	entry_fill(entry, region);
	entry->link = 0;
	entry->owner = 0;
	atomic_store_explicit(&entry->kind, kind, memory_order_release);
	if (kind <= DMA_NULL_REGION)
		atomic_store_explicit(&entry->key, fresh_key, memory_order_release);
	*index = at;
	*key = fresh_key;
	return 0;
}

int dma_table_reg(struct dma_table *table, const struct dma_region *region, uint32_t *index, uint32_t *key)
{
	int err = dma_table_check(region);

	return err != 0 ? err : entry_make(table, region, DMA_REGION, index, key);
}

int dma_table_reg_null(struct dma_table *table, uint32_t pd, uint32_t *index, uint32_t *key)
{
	const struct dma_region all = { .length = UINT64_MAX, .pd = pd, .access = DMA_LOCAL_WRITE };

	return entry_make(table, &all, DMA_NULL_REGION, index, key);
}

int dma_table_window(struct dma_table *table, uint32_t pd, enum dma_kind kind, uint32_t *index, uint32_t *key)
{
	const struct dma_region none = { .pd = pd };

	assert(kind > DMA_NULL_REGION && kind < DMA_KINDS);
	return entry_make(table, &none, kind, index, key);
}

void dma_table_change(struct dma_table *table, uint32_t index, const struct dma_region *region)
{
	assert(index < table->count);
	struct dma_entry *entry = &table->entries[index];
	uint32_t key = atomic_load(&entry->key);

	assert(key != 0 && entry->kind == DMA_REGION && entry->link == 0);
	dma_table_revoke(table, index);
	entry_fill(entry, region);
	atomic_store_explicit(&entry->key, key, memory_order_release);
}

void dma_table_revoke(struct dma_table *table, uint32_t index)
{
	assert(index < table->count);
	struct dma_entry *entry = &table->entries[index];

	atomic_store_explicit(&entry->key, 0, memory_order_seq_cst);
	atomic_fetch_add_explicit(&entry->revocation, 1, memory_order_seq_cst);
}

void dma_table_free(struct dma_table *table, uint32_t index)
{
	assert(index < table->count && atomic_load(&table->entries[index].key) == 0);
	pthread_mutex_lock(&table->lock);
	table->free[table->free_tail++ % table->count] = index;
	table->used--;
	pthread_mutex_unlock(&table->lock);
}

uint32_t dma_table_used(struct dma_table *table)
{
	pthread_mutex_lock(&table->lock);
	uint32_t used = table->used;
	pthread_mutex_unlock(&table->lock);
	return used;
}
