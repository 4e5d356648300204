/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/window.h"

#include <assert.h>
#include <stddef.h>

#include "base/err.h"
#include "dma/mr_internal.h"

enum { LOW_BYTE = 0xff };
/* What a window may grant, and what programs pass along. */
enum {
	GRANTS = DMA_REMOTE_WRITE | DMA_REMOTE_READ | DMA_REMOTE_ATOMIC | DMA_FLUSH_GLOBAL | DMA_FLUSH_PERSISTENT,
	KNOWN = GRANTS | DMA_ZERO_BASED | DMA_LOCAL_WRITE,
};

/* Asked of entries that may be made into something at the same time, too. */
static bool is_window(const struct dma_entry *entry)
{
	return atomic_load_explicit(&entry->kind, memory_order_acquire) > DMA_NULL_REGION;
}

static bool is_bound(const struct dma_entry *entry)
{
	return atomic_load_explicit(&entry->key, memory_order_relaxed) != 0;
}

int dma_window_alloc(struct dma_table *table, uint32_t pd, enum dma_kind kind, uint32_t *index, uint32_t *rkey)
{
	return dma_table_window(table, pd, kind, index, rkey);
}

static void unbind(struct dma_table *table, struct dma_entry *window)
{
	struct dma_entry *region = &table->entries[window->link];

	assert(region->link > 0);
	dma_table_revoke(table, (uint32_t)(window - table->entries));
	region->link--;
	window->link = 0;
	window->owner = 0;
}

void dma_window_revoke(struct dma_table *table, uint32_t index)
{
	assert(index < table->count && is_window(&table->entries[index]));
	struct dma_entry *window = &table->entries[index];

	if (is_bound(window))
		unbind(table, window);
	window->kind = DMA_REGION; /* a bind that is posted still finds no window */
}

/* The window that a key names, bound or not. NULL: none. */
static struct dma_entry *named(const struct dma_view *view, uint32_t key)
{
	uint32_t index = dma_table_key_index(view->table, key);

	if (index >= view->table->count)
		return NULL;
	struct dma_entry *entry = &view->table->entries[index];
	/* An entry that was never used has no first key; its kind is that of a region. */
	if (!is_window(entry) || (dma_table_entry_key(view->table, index) ^ key) & ~(uint32_t)LOW_BYTE)
		return NULL;
	return entry;
}

/* May the window be what is asked for? */
static int bind_check(const struct dma_view *view, const struct dma_entry *window, const struct dma_bind *bind)
{
	bool is_1 = window->kind == DMA_WINDOW_1;

	if (window->pd != view->pd || (bind->window ^ bind->rkey) & ~(uint32_t)LOW_BYTE)
		return BASE_ERR_KEY;
	if (is_1 != bind->by_type_1)
		return BASE_ERR_INVAL;
	if (!is_1 && is_bound(window))
		return BASE_ERR_BUSY;
	if (!is_1 && (bind->length == 0 || view->owner == 0))
		return BASE_ERR_INVAL;
	return 0;
}

/* May this region be looked at through it? A region that begins at 0 may not: its addresses would be those of the window. */
static int region_check(const struct dma_view *view, const struct dma_entry *region, const struct dma_bind *bind)
{
	uint32_t access = region->access;
	uint64_t offset = bind->addr - region->iova;

	if (region->kind != DMA_REGION || region->pd != view->pd || !(access & DMA_MW_BIND))
		return BASE_ERR_KEY;
	if ((bind->access & ~(uint32_t)KNOWN) || (access & DMA_ZERO_BASED) ||
	    (bind->by_type_1 && (bind->access & DMA_ZERO_BASED)))
		return BASE_ERR_INVAL;
	if ((bind->access & (DMA_REMOTE_WRITE | DMA_REMOTE_ATOMIC)) && !(access & DMA_LOCAL_WRITE))
		return BASE_ERR_KEY;
	if (bind->access & ~access & (DMA_FLUSH_GLOBAL | DMA_FLUSH_PERSISTENT))
		return BASE_ERR_KEY;
	if (bind->addr < region->iova || offset > region->length || bind->length > region->length - offset)
		return BASE_ERR_RANGE;
	return 0;
}

int dma_window_bind(struct dma_view *view, const struct dma_bind *bind)
{
	struct dma_entry *window = named(view, bind->window), *region = NULL;
	int err = window == NULL ? BASE_ERR_KEY : bind_check(view, window, bind);

	if (err == 0 && bind->length > 0) {
		region = dma_view_find(view, bind->region);
		err = region == NULL ? BASE_ERR_KEY : region_check(view, region, bind);
	}
	if (err != 0)
		return err;
	if (is_bound(window))
		unbind(view->table, window);
	if (region == NULL)
		return 0;
	region->link++;
	window->link = (uint32_t)(region - view->table->entries);
	window->owner = bind->by_type_1 ? 0 : view->owner;
	window->access = bind->access & (GRANTS | DMA_ZERO_BASED);
	window->iova = bind->access & DMA_ZERO_BASED ? 0 : bind->addr;
	window->length = bind->length;
	window->addr = region->addr + (bind->addr - region->iova);
	atomic_store_explicit(&window->key, bind->rkey, memory_order_release);
	return 0;
}

int dma_window_invalidate(struct dma_view *view, uint32_t rkey, bool remote)
{
	struct dma_entry *window = dma_view_find(view, rkey);

	if (window == NULL || window->pd != view->pd)
		return BASE_ERR_KEY;
	if (window->kind != DMA_WINDOW_2A && window->kind != DMA_WINDOW_2B)
		return BASE_ERR_INVAL;
	if (remote && window->owner != view->owner)
		return BASE_ERR_KEY;
	unbind(view->table, window);
	return 0;
}

uint32_t dma_window_count(const struct dma_table *table, uint32_t region_index)
{
	assert(region_index < table->count);
	return table->entries[region_index].link;
}
