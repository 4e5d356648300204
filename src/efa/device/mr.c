/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/mr.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

enum {
	INDEX_BITS = 18, INDEX_MASK = (1 << INDEX_BITS) - 1,
	GENERATION_SHIFT = 20, GENERATIONS = 15, /* 1 to 15: a key is never 0 */
	TAG_BITS = 14,
	MAX_PAGE_BYTES = 4096, /* what max_mr_pages counts */
};

int efa_mr_table_init(struct efa_mr_table *table, uint32_t count)
{
	*table = (struct efa_mr_table){ .count = count };
	table->entries = calloc(count, sizeof(*table->entries));
	if (table->entries == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, 0);
}

void efa_mr_table_fini(struct efa_mr_table *table)
{
	if (table->entries != NULL)
		efa_mr_table_reset(table);
	free(table->entries);
	efa_ids_fini(&table->ids);
}

void efa_mr_table_reset(struct efa_mr_table *table)
{
	/* Indexes are given out in order: beyond the fresh ones no entry was ever touched. Generations go on. */
	for (uint32_t i = 0; i < table->ids.fresh; i++) {
		free(table->entries[i].pages.extents);
		table->entries[i] = (struct efa_mr){ .generation = table->entries[i].generation };
	}
	table->live = table->extents = 0;
	efa_ids_clear(&table->ids);
}

static uint8_t check(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_reg_mr *in = &c->in.reg_mr;
	const struct efa_abi_queue_attr *limits = &device->profile.queue;
	uint32_t shift = in->flags & EFA_MR_SHIFT_MASK, caps = device->profile.device.device_caps;
	uint64_t first = in->iova & ((1ull << shift) - 1), span = first + in->length;

	if (efa_pd_find(device, in->pd) == NULL)
		return efa_command_illegal(c, 4);
	/* Physical mode would give the host's whole memory to one key. */
	if ((in->flags & ~EFA_MR_SHIFT_MASK) != 0 || (device->profile.device.page_size_cap >> shift & 1) == 0)
		return efa_command_illegal(c, 48);
	if ((in->perms & ~EFA_MR_PERMS) != 0 || ((in->perms & EFA_MR_REMOTE_READ) != 0 && (caps & EFA_CAP_RDMA_READ) == 0) ||
	    ((in->perms & EFA_MR_REMOTE_WRITE) != 0 && (caps & EFA_CAP_RDMA_WRITE) == 0))
		return efa_command_illegal(c, 49);
	if (in->length == 0 || in->length > (uint64_t)limits->max_mr_pages * MAX_PAGE_BYTES || in->iova + in->length < in->iova)
		return efa_command_illegal(c, 40);
	if (in->page_num != (span + (1ull << shift) - 1) >> shift)
		return efa_command_illegal(c, 52);
	return EFA_ADMIN_OK;
}

uint8_t efa_mr_register(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_reg_mr *in = &c->in.reg_mr;
	struct efa_page_list pages;
	struct efa_mr *mr;
	uint32_t index;
	uint8_t status = check(device, c);

	if (status == EFA_ADMIN_OK)
		status = efa_page_list_read(device, c, &pages);
	if (status != EFA_ADMIN_OK)
		return status;
	index = efa_ids_take(&device->mrs.ids, 0);
	if (index == EFA_IDS_NONE) {
		free(pages.extents);
		return EFA_ADMIN_NO_RESOURCE;
	}
	mr = &device->mrs.entries[index];
	*mr = (struct efa_mr){ .live = true, .perms = in->perms, .pd = in->pd, .iova = in->iova, .length = in->length,
			       .first = in->iova & ((1ull << (in->flags & EFA_MR_SHIFT_MASK)) - 1), .pages = pages,
			       .generation = (uint8_t)(mr->generation % GENERATIONS + 1) };
	mr->lkey = (uint32_t)mr->generation << GENERATION_SHIFT | index;
	mr->rkey = (uint32_t)base_random_below(&device->random, 1u << TAG_BITS) << INDEX_BITS | index;
	device->pds.entries[in->pd].references++;
	device->mrs.live++;
	device->mrs.extents += pages.count;
	c->out.reg_mr.lkey = mr->lkey;
	c->out.reg_mr.rkey = mr->rkey;
	return EFA_ADMIN_OK;
}

static struct efa_mr *find(struct efa_device *device, uint32_t key)
{
	uint32_t index = key & INDEX_MASK;

	return index < device->mrs.count && device->mrs.entries[index].live ? &device->mrs.entries[index] : NULL;
}

uint8_t efa_mr_deregister(struct efa_device *device, struct efa_command *c)
{
	struct efa_mr *mr = find(device, c->in.lkey.lkey);

	if (mr == NULL || mr->lkey != c->in.lkey.lkey)
		return efa_command_illegal(c, 4);
	mr->live = false;
	device->mrs.live--;
	device->mrs.extents -= mr->pages.count;
	device->pds.entries[mr->pd].references--;
	free(mr->pages.extents);
	mr->pages = (struct efa_page_list){ .extents = NULL };
	efa_ids_give(&device->mrs.ids, mr->lkey & INDEX_MASK, 0);
	return EFA_ADMIN_OK;
}

static bool grants(const struct efa_mr *mr, uint16_t pd, uint64_t addr, uint64_t len, uint8_t perms)
{
	return mr->pd == pd && (mr->perms & perms) == perms && addr >= mr->iova && addr - mr->iova <= mr->length &&
	       len <= mr->length - (addr - mr->iova);
}

struct efa_mr *efa_mr_by_lkey(struct efa_device *device, uint16_t pd, uint32_t lkey, uint64_t addr, uint64_t len, uint8_t perms)
{
	struct efa_mr *mr = find(device, lkey);

	return mr != NULL && mr->lkey == lkey && grants(mr, pd, addr, len, perms) ? mr : NULL;
}

struct efa_mr *efa_mr_by_rkey(struct efa_device *device, uint16_t pd, uint32_t rkey, uint64_t addr, uint64_t len, uint8_t perms)
{
	struct efa_mr *mr = find(device, rkey);

	return mr != NULL && mr->rkey == rkey && grants(mr, pd, addr, len, perms) ? mr : NULL;
}

/* The extent that holds this offset; the list is not empty, and begins at 0. */
static uint32_t extent_of(const struct efa_page_list *list, uint64_t offset)
{
	uint32_t low = 0, high = list->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (list->extents[middle].at <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* From addr on, as many bytes as lie together. */
static uint64_t piece(const struct efa_mr *mr, uint64_t addr, uint32_t *len)
{
	uint64_t offset = addr - mr->iova + mr->first;
	uint32_t i = extent_of(&mr->pages, offset);

	if (i + 1 < mr->pages.count && mr->pages.extents[i + 1].at - offset < *len)
		*len = (uint32_t)(mr->pages.extents[i + 1].at - offset);
	return mr->pages.extents[i].bus + (offset - mr->pages.extents[i].at);
}

int efa_mr_read(struct efa_device *device, const struct efa_mr *mr, uint64_t addr, void *dst, uint32_t len)
{
	uint8_t *out = dst;

	while (len > 0) {
		uint32_t some = len;
		uint64_t bus = piece(mr, addr, &some);
		int err = efa_device_read(device, bus, out, some);

		if (err != 0)
			return err;
		addr += some;
		out += some;
		len -= some;
	}
	return 0;
}

int efa_mr_write(struct efa_device *device, const struct efa_mr *mr, uint64_t addr, const void *src, uint32_t len)
{
	const uint8_t *in = src;

	while (len > 0) {
		uint32_t some = len;
		uint64_t bus = piece(mr, addr, &some);
		int err = efa_device_write(device, bus, in, some);

		if (err != 0)
			return err;
		addr += some;
		in += some;
		len -= some;
	}
	return 0;
}
