/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/field.h"

#include <string.h>

/* Bits [bit, bit + width) as a number, byte by byte. */
static uint64_t bits_get(const uint8_t *bytes, uint32_t bit, uint32_t width)
{
	uint64_t value = 0;

	while (width) {
		uint32_t left = 8 - bit % 8, take = width < left ? width : left;

		value = value << take | (bytes[bit / 8] >> (left - take) & ((1u << take) - 1));
		bit += take;
		width -= take;
	}
	return value;
}

static void bits_put(uint8_t *bytes, uint32_t bit, uint32_t width, uint64_t value)
{
	while (width) {
		uint32_t left = 8 - bit % 8, take = width < left ? width : left;

		width -= take;
		bytes[bit / 8] |= (uint8_t)((value >> width & ((1u << take) - 1)) << (left - take));
		bit += take;
	}
}

static uint64_t member_get(const void *of, const struct cm_field *field)
{
	const char *at = (const char *)of + field->offset;

	switch (field->size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	}
	return *(const uint64_t *)at;
}

static void member_or(void *of, const struct cm_field *field, uint64_t value)
{
	char *at = (char *)of + field->offset;

	switch (field->size) {
	case 1:
		*(uint8_t *)at |= (uint8_t)value;
		return;
	case 2:
		*(uint16_t *)at |= (uint16_t)value;
		return;
	case 4:
		*(uint32_t *)at |= (uint32_t)value;
		return;
	}
	*(uint64_t *)at |= value;
}

void cm_field_decode(const struct cm_field *fields, size_t count, const uint8_t *bytes, void *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct cm_field *f = &fields[i];

		if (f->size)
			member_or(out, f, bits_get(bytes, f->bit, f->width) << f->shift);
		else
			memcpy((char *)out + f->offset, bytes + f->bit / 8, f->width / 8);
	}
}

void cm_field_encode(const struct cm_field *fields, size_t count, uint8_t *bytes, const void *in)
{
	for (size_t i = 0; i < count; i++) {
		const struct cm_field *f = &fields[i];

		if (f->size)
			bits_put(bytes, f->bit, f->width, member_get(in, f) >> f->shift);
		else
			memcpy(bytes + f->bit / 8, (const char *)in + f->offset, f->width / 8);
	}
}
