/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/access.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "dma/copy.h"
#include "dma/mr_internal.h"

void dma_view_init(struct dma_view *view, struct dma_table *table, uint32_t pd)
{
	*view = (struct dma_view){ .table = table, .pd = pd };
}

/* NULL: unknown or stale. The acquire load makes the plain fields of the entry those of this key. */
struct dma_entry *dma_view_find(struct dma_view *view, uint32_t key)
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

/* The key was seen: it does not change any more. */
static uint32_t kind_of(const struct dma_entry *entry)
{
	return atomic_load_explicit(&entry->kind, memory_order_relaxed);
}

/* May the holder of this view use the window? */
static bool window_is_for(const struct dma_entry *entry, uint32_t kind, const struct dma_view *view)
{
	switch ((enum dma_kind)kind) {
	case DMA_REGION:
	case DMA_NULL_REGION:
		break;
	case DMA_WINDOW_1:
		return entry->pd == view->pd;
	case DMA_WINDOW_2A:
		return entry->owner == view->owner;
	case DMA_WINDOW_2B:
		return entry->owner == view->owner && entry->pd == view->pd;
	case DMA_KINDS:
		break;
	}
	return false;
}

static int place(const struct dma_entry *entry, uint64_t va, uint64_t len, uintptr_t *out)
{
	uint64_t offset = va - entry->iova;
	if (va < entry->iova || offset > entry->length || len > entry->length - offset)
		return BASE_ERR_RANGE;
	*out = (uintptr_t)(entry->addr + offset);
	return 0;
}

/* Where [va, va + len) of an rkey lies in this process. len is not 0. */
static int locate(struct dma_view *view, uint32_t key, uint64_t va, uint64_t len, uint32_t access, uintptr_t *out)
{
	const struct dma_entry *entry = dma_view_find(view, key);

	if (entry == NULL || (entry->access & access) != access)
		return BASE_ERR_KEY;
	uint32_t kind = kind_of(entry);
	if (kind == DMA_REGION ? entry->pd != view->pd : !window_is_for(entry, kind, view))
		return BASE_ERR_KEY;
	return place(entry, va, len, out);
}

/* The same for an lkey. NOWHERE: in a null region. */
enum { NOWHERE = 1 };
static int locate_local(struct dma_view *view, uint32_t key, uint64_t va, uint64_t len, uint32_t access, uintptr_t *out)
{
	const struct dma_entry *entry = dma_view_find(view, key);

	if (entry == NULL || kind_of(entry) > DMA_NULL_REGION || entry->pd != view->pd || (entry->access & access) != access)
		return BASE_ERR_KEY;
	if (__builtin_expect(kind_of(entry) == DMA_REGION, 1))
		return place(entry, va, len, out);
	return NOWHERE;
}

int dma_local_range(struct dma_view *view, uint32_t lkey, uint64_t va, uint64_t len, struct dma_range *out)
{
	const struct dma_entry *entry = dma_view_find(view, lkey);
	uintptr_t at;

	if (entry == NULL)
		return BASE_ERR_KEY;
	if (kind_of(entry) != DMA_REGION)
		return BASE_ERR_INVAL;
	if (entry->pd != view->pd)
		return BASE_ERR_PERM;
	int err = place(entry, va, len, &at);
	if (err == 0)
		*out = (struct dma_range){ .addr = at, .access = entry->access };
	return err;
}

int dma_local_check(struct dma_view *view, const struct dma_sge *sge, uint32_t num_sge, uint32_t access)
{
	for (uint32_t i = 0; i < num_sge; i++) {
		uintptr_t at;
		int err = sge[i].length == 0 ? 0 : locate_local(view, sge[i].lkey, sge[i].addr, sge[i].length, access, &at);

		if (err < 0)
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
		int err = locate_local(view, sge[i].lkey, sge[i].addr + offset, part, out ? DMA_LOCAL_WRITE : 0, &at);
		if (err == NOWHERE) {
			err = 0;
			if (!out)
				memset(ours, 0, part);
		} else if (err == 0) {
			err = out ? dma_copy_out((void *)at, ours, part) : dma_copy_in(ours, (const void *)at, part);
		}
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

int dma_remote_atomic_write(struct dma_view *view, uint32_t rkey, uint64_t va, const void *src)
{
	uintptr_t at;
	int err = locate(view, rkey, va, sizeof(uint64_t), DMA_REMOTE_WRITE, &at);

	if (err == 0 && (at & 7) != 0)
		err = BASE_ERR_RANGE;
	/* The last aligned word is one store, and there is no other. */
	return err != 0 ? err : dma_copy_out((void *)at, src, sizeof(uint64_t));
}

int dma_remote_flush(struct dma_view *view, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, bool whole)
{
	struct dma_entry *entry = dma_view_find(view, rkey);
	uintptr_t at;

	if (whole && entry != NULL) {
		va = entry->iova;
		len = entry->length;
	}
	int err = locate(view, rkey, va, len, access, &at);
	if (err != 0)
		return err;
	atomic_thread_fence(memory_order_seq_cst);
	return access & DMA_FLUSH_PERSISTENT ? dma_copy_persist((void *)at, len) : 0;
}
