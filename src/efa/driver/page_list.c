/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/page_list.h"

#include <string.h>

#include "efa/abi/bytes.h"

enum { SHIFT_MIN = 12, SHIFT_MAX = 21 };

static uint32_t up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit;
}

/* Pointers to the pages of the list, 510 a chunk; each chunk but the last names the next. */
static int make_chunks(struct efa_pages *pages, const struct efa_bus_function *function, uint32_t list_pages,
		       struct efa_abi_buffer *first)
{
	uint32_t chunks = up(list_pages, EFA_CHUNK_POINTERS);
	int err = efa_driver_memory_init(&pages->chunks, function, (uint64_t)chunks * EFA_CHUNK_BYTES, EFA_BUS_TO_DEVICE);

	if (err != 0)
		return err;
	for (uint32_t i = 0; i < chunks; i++) {
		uint8_t *chunk = pages->chunks.bytes + (uint64_t)i * EFA_CHUNK_BYTES;
		uint32_t left = list_pages - i * EFA_CHUNK_POINTERS, here = left < EFA_CHUNK_POINTERS ? left : EFA_CHUNK_POINTERS;
		/* What leads to a chunk says how much of it is used. */
		struct efa_abi_buffer lead = { .length = here * 8 + EFA_ABI_BUFFER_BYTES,
					       .addr = pages->chunks.bus + (uint64_t)i * EFA_CHUNK_BYTES };

		for (uint32_t k = 0; k < here; k++)
			efa_abi_le64_store(chunk + 8 * k, pages->list.bus + (uint64_t)(i * EFA_CHUNK_POINTERS + k) *
								  EFA_LIST_PAGE_BYTES);
		if (i == 0)
			*first = lead;
		else
			efa_abi_buffer_store(chunk - EFA_CHUNK_BYTES + EFA_CHUNK_NEXT_AT, &lead);
	}
	return 0;
}

int efa_pages_init(struct efa_pages *pages, const struct efa_bus_function *function, uint32_t count,
		   uint64_t (*page_of)(const void *context, uint32_t i), const void *context, struct efa_abi_reg_mr *in,
		   uint8_t *flags)
{
	struct efa_abi_buffer buffer;
	int err;

	memset(pages, 0, sizeof(*pages));
	memset(in->pages, 0, sizeof(in->pages));
	in->page_num = count;
	*flags = 0;
	if (count <= EFA_MR_INLINE_PAGES) {
		for (uint32_t i = 0; i < count; i++)
			efa_abi_le64_store(in->pages + 8 * i, page_of(context, i));
		return 0;
	}
	err = efa_driver_memory_init(&pages->list, function, (uint64_t)count * 8, EFA_BUS_TO_DEVICE);
	if (err != 0)
		return err;
	for (uint32_t i = 0; i < count; i++)
		efa_abi_le64_store(pages->list.bytes + 8ull * i, page_of(context, i));
	if (count <= EFA_LIST_PAGE_ENTRIES) {
		buffer = (struct efa_abi_buffer){ .length = count * 8, .addr = pages->list.bus };
		*flags = EFA_AQ_FLAG_CTRL_DATA;
	} else {
		err = make_chunks(pages, function, up(count, EFA_LIST_PAGE_ENTRIES), &buffer);
		*flags = EFA_AQ_FLAG_CTRL_DATA | EFA_AQ_FLAG_CTRL_INDIRECT;
	}
	if (err != 0) {
		efa_pages_fini(pages, function);
		return err;
	}
	efa_abi_buffer_store(in->pages, &buffer);
	return 0;
}

void efa_pages_fini(struct efa_pages *pages, const struct efa_bus_function *function)
{
	efa_driver_memory_fini(&pages->chunks, function);
	efa_driver_memory_fini(&pages->list, function);
}

uint32_t efa_pages_shift(uint64_t cap, uint64_t length, uint64_t difference)
{
	for (uint32_t shift = SHIFT_MAX; shift >= SHIFT_MIN; shift--) {
		/* A page larger than what it holds brings nothing. The first may begin before the region: its start is not reached. */
		if ((cap >> shift & 1) != 0 && (length >= 1ull << shift || shift == SHIFT_MIN) &&
		    (difference & ((1ull << shift) - 1)) == 0)
			return shift;
	}
	return 0;
}
