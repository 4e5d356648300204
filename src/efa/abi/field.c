/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/field.h"

#include <string.h>

#include "efa/abi/bytes.h"

static void store_one(uint8_t *p, const uint8_t *member, uint8_t unit)
{
	uint16_t half;
	uint32_t word;
	uint64_t twice;

	switch (unit) {
	case 2:
		memcpy(&half, member, sizeof(half));
		efa_abi_le16_store(p, half);
		return;
	case 4:
		memcpy(&word, member, sizeof(word));
		efa_abi_le32_store(p, word);
		return;
	case 8:
		memcpy(&twice, member, sizeof(twice));
		efa_abi_le64_store(p, twice);
		return;
	default:
		*p = *member;
	}
}

static void load_one(uint8_t *member, const uint8_t *p, uint8_t unit)
{
	uint16_t half;
	uint32_t word;
	uint64_t twice;

	switch (unit) {
	case 2:
		half = efa_abi_le16_load(p);
		memcpy(member, &half, sizeof(half));
		return;
	case 4:
		word = efa_abi_le32_load(p);
		memcpy(member, &word, sizeof(word));
		return;
	case 8:
		twice = efa_abi_le64_load(p);
		memcpy(member, &twice, sizeof(twice));
		return;
	default:
		*member = *p;
	}
}

void efa_abi_store(const struct efa_abi_layout *layout, uint8_t *entry, const void *plain)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct efa_abi_field *f = &layout->fields[i];

		for (uint32_t k = 0; k < f->count; k++)
			store_one(entry + f->at + k * f->unit, (const uint8_t *)plain + f->member + k * f->unit, f->unit);
	}
}

void efa_abi_load(const struct efa_abi_layout *layout, void *plain, const uint8_t *entry)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct efa_abi_field *f = &layout->fields[i];

		for (uint32_t k = 0; k < f->count; k++)
			load_one((uint8_t *)plain + f->member + k * f->unit, entry + f->at + k * f->unit, f->unit);
	}
}

bool efa_abi_rest_is_zero(const struct efa_abi_layout *layout, const uint8_t *entry, uint32_t from)
{
	uint32_t at = from, i = 0;

	/* Fields are in the order of their bytes and do not overlap. */
	for (; i <= layout->count; i++) {
		uint32_t end = i < layout->count ? layout->fields[i].at : layout->bytes;

		for (; at < end; at++) {
			if (entry[at] != 0)
				return false;
		}
		if (i < layout->count && at < end + layout->fields[i].unit * layout->fields[i].count)
			at = end + layout->fields[i].unit * layout->fields[i].count;
	}
	return true;
}
