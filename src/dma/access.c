/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/access.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "dma/copy.h"
#include "dma/mr_internal.h"

void dma_view_init(struct dma_view *view, struct dma_table *table, uint32_t pd)
{
	*view = (struct dma_view){ .table = table, .pd = pd };
}

/* NULL: unknown or stale. The acquire load makes the plain fields of the entry those of this key. */
static struct dma_entry *find(struct dma_view *view, uint32_t key)
{
	struct dma_entry *entry = view->last;

	if (key == 0)
		return NULL;
	if (key != view->last_key) {
		uint32_t index = dma_table_key_index(view->table, key);

		if (index >= view->table->count)
			return NULL;
		entry = &view->table->entries[index];
	}
	if (atomic_load_explicit(&entry->key, memory_order_acquire) != key)
		return NULL;
	view->last_key = key;
	view->last = entry;
	return entry;
}

/* Where [va, va + len) lies in this process. len is not 0. */
static int locate(struct dma_view *view, uint32_t key, uint64_t va, uint64_t len, uint32_t access, uintptr_t *out)
{
	struct dma_entry *entry = find(view, key);

	if (entry == NULL || entry->pd != view->pd || (entry->access & access) != access)
		return BASE_ERR_KEY;
	uint64_t offset = va - entry->iova;
	if (va < entry->iova || offset > entry->length || len > entry->length - offset)
		return BASE_ERR_RANGE;
	*out = (uintptr_t)(entry->addr + offset);
	return 0;
}

int dma_local_check(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint32_t access)
{
	for (uint32_t i = 0; i < num_sge; i++) {
		uintptr_t at;
		int err = sge[i].length == 0 ? 0 : locate(view, sge[i].lkey, sge[i].addr, sge[i].length, access, &at);

		if (err != 0)
			return err;
	}
	return 0;
}

/* Walks the elements that [offset, offset + len) meets; `out` says which way the bytes go. */
static int walk(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint64_t offset, uint8_t *ours, uint32_t len,
		bool out)
{
	for (uint32_t i = 0; len > 0 && i < num_sge; i++) {
		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		uint32_t part = sge[i].length - (uint32_t)offset;
		uintptr_t at;

		if (part > len)
			part = len;
		int err = locate(view, sge[i].lkey, sge[i].addr + offset, part, out ? DMA_LOCAL_WRITE : 0, &at);
		if (err == 0)
			err = out ? dma_copy_out((void *)at, ours, part) : dma_copy_in(ours, (const void *)at, part);
		if (err != 0)
			return err;
		ours += part;
		len -= part;
		offset = 0;
	}
	return len == 0 ? 0 : BASE_ERR_RANGE;
}

int dma_gather(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint64_t offset, void *dst, uint32_t len)
{
	return walk(view, sge, num_sge, offset, dst, len, false);
}

int dma_scatter(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint64_t offset, const void *src,
		uint32_t len)
{
	return walk(view, sge, num_sge, offset, (uint8_t *)(uintptr_t)src, len, true);
}

int dma_remote_check(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access)
{
	uintptr_t at;

	return len == 0 ? 0 : locate(view, rkey, va, len, access, &at);
}

int dma_remote_write(struct dma_view *view, uint32_t rkey, uint64_t va, const void *src, uint32_t len)
{
	uintptr_t at;
	int err = len == 0 ? 0 : locate(view, rkey, va, len, DMA_REMOTE_WRITE, &at);

	return err != 0 || len == 0 ? err : dma_copy_out((void *)at, src, len);
}

int dma_remote_read(struct dma_view *view, uint32_t rkey, uint64_t va, void *dst, uint32_t len)
{
	uintptr_t at;
	int err = len == 0 ? 0 : locate(view, rkey, va, len, DMA_REMOTE_READ, &at);

	return err != 0 || len == 0 ? err : dma_copy_in(dst, (const void *)at, len);
}

static int locate_atomic(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t **out)
{
	uintptr_t at;
	int err = locate(view, rkey, va, sizeof(uint64_t), DMA_REMOTE_ATOMIC, &at);

	if (err == 0 && (at & 7) != 0)
		err = BASE_ERR_RANGE;
	if (err == 0)
		*out = (uint64_t *)at;
	return err;
}

int dma_remote_compare_swap(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *before)
{
	uint64_t *at;
	int err = locate_atomic(view, rkey, va, &at);

	return err != 0 ? err : dma_copy_compare_swap(at, compare, swap, before);
}

int dma_remote_fetch_add(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t add, uint64_t *before)
{
	uint64_t *at;
	int err = locate_atomic(view, rkey, va, &at);

	return err != 0 ? err : dma_copy_fetch_add(at, add, before);
}
