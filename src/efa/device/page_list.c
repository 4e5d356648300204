/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/page_list.h"

#include <stdbool.h>
#include <stdlib.h>

#include "efa/abi/bytes.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

enum { PAGES_AT = 8, ROOM_FIRST = 4 };

struct reader {
	struct efa_device *device;
	struct efa_page_list *list;
	uint64_t page_bytes, at;
	uint32_t left; /* pages still to come */
};

static uint8_t add(struct reader *r, uint64_t page)
{
	struct efa_page_list *list = r->list;
	struct efa_extent *last = list->count > 0 ? &list->extents[list->count - 1] : NULL, *extents;
	uint64_t at = r->at;

	if ((page & (r->page_bytes - 1)) != 0)
		return EFA_ADMIN_ILLEGAL;
	r->at += r->page_bytes;
	r->left--;
	if (last != NULL && last->bus + (at - last->at) == page)
		return EFA_ADMIN_OK;
	if (list->count == list->room) {
		uint32_t room = list->room == 0 ? ROOM_FIRST : list->room * 2;

		if (r->device->mrs.extents + list->count >= r->device->profile.max_extents)
			return EFA_ADMIN_NO_RESOURCE;
		extents = realloc(list->extents, room * sizeof(*extents));
		if (extents == NULL)
			return EFA_ADMIN_NO_RESOURCE;
		list->extents = extents;
		list->room = room;
	}
	list->extents[list->count++] = (struct efa_extent){ .at = at, .bus = page };
	return EFA_ADMIN_OK;
}

static uint8_t add_all(struct reader *r, const uint8_t *bytes, uint32_t pages)
{
	uint8_t status = EFA_ADMIN_OK;

	for (uint32_t i = 0; i < pages && status == EFA_ADMIN_OK; i++)
		status = add(r, efa_abi_le64_load(bytes + 8 * i));
	return status;
}

/* One run of addresses in the host. */
static uint8_t read_run(struct reader *r, uint64_t from, uint32_t pages)
{
	uint8_t bytes[EFA_LIST_PAGE_BYTES];
	uint8_t status = EFA_ADMIN_OK;

	while (pages > 0 && status == EFA_ADMIN_OK) {
		uint32_t some = pages < EFA_LIST_PAGE_ENTRIES ? pages : EFA_LIST_PAGE_ENTRIES;

		if (efa_device_read(r->device, from, bytes, some * 8) != 0)
			return EFA_ADMIN_ILLEGAL;
		status = add_all(r, bytes, some);
		from += some * 8;
		pages -= some;
	}
	return status;
}

/* Each turn takes pages off `left`, so that a chain without an end has one. */
static uint8_t read_chunks(struct reader *r, struct efa_abi_buffer chunk)
{
	uint8_t bytes[EFA_CHUNK_FULL_LENGTH];
	uint8_t status = EFA_ADMIN_OK;

	while (r->left > 0 && status == EFA_ADMIN_OK) {
		uint32_t pointers = (r->left + EFA_LIST_PAGE_ENTRIES - 1) / EFA_LIST_PAGE_ENTRIES;
		bool last = pointers <= EFA_CHUNK_POINTERS;

		pointers = last ? pointers : EFA_CHUNK_POINTERS;
		if (chunk.length != pointers * 8 + EFA_ABI_BUFFER_BYTES)
			return EFA_ADMIN_MALFORMED;
		if (efa_device_read(r->device, chunk.addr, bytes, chunk.length) != 0)
			return EFA_ADMIN_ILLEGAL;
		for (uint32_t i = 0; i < pointers && status == EFA_ADMIN_OK; i++)
			status = read_run(r, efa_abi_le64_load(bytes + 8 * i),
					  r->left < EFA_LIST_PAGE_ENTRIES ? r->left : EFA_LIST_PAGE_ENTRIES);
		if (!last)
			chunk = efa_abi_buffer_load(bytes + EFA_CHUNK_NEXT_AT);
	}
	return status;
}

uint8_t efa_page_list_read(struct efa_device *device, struct efa_command *c, struct efa_page_list *out)
{
	const struct efa_abi_reg_mr *in = &c->in.reg_mr;
	struct efa_page_list list = { .extents = NULL };
	struct reader r = { .device = device, .list = &list, .page_bytes = 1ull << (in->flags & EFA_MR_SHIFT_MASK),
			    .left = in->page_num };
	struct efa_abi_buffer buffer = efa_abi_buffer_load(in->pages);
	uint8_t status;

	if ((c->head.flags & EFA_AQ_FLAG_CTRL_DATA) == 0)
		status = in->page_num > EFA_MR_INLINE_PAGES || (c->head.flags & EFA_AQ_FLAG_CTRL_INDIRECT) != 0
				 ? EFA_ADMIN_MALFORMED
				 : add_all(&r, in->pages, in->page_num);
	else if ((c->head.flags & EFA_AQ_FLAG_CTRL_INDIRECT) != 0)
		status = read_chunks(&r, buffer);
	else
		status = buffer.length != (uint64_t)in->page_num * 8 ? EFA_ADMIN_MALFORMED : read_run(&r, buffer.addr, in->page_num);
	if (status != EFA_ADMIN_OK) {
		free(list.extents);
		return status == EFA_ADMIN_ILLEGAL ? efa_command_illegal(c, PAGES_AT) : status;
	}
	*out = list;
	return EFA_ADMIN_OK;
}
