/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A layout as data: which member of a plain host-order structure stands at which byte of an entry. Commands, results and feature
 * descriptors are tables of these, in the order of their bytes; one function stores all of them, one loads.
 *
 * The caller guarantees layout->bytes bytes. Pure functions; any thread.
 */
#ifndef EFA_ABI_FIELD_H
#define EFA_ABI_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct efa_abi_field {
	uint16_t member; /* offset in the plain structure */
	uint8_t at;      /* first byte in the entry */
	uint8_t unit;    /* bytes of one element: 1, 2, 4 or 8 */
	uint8_t count;   /* elements */
};

struct efa_abi_layout {
	const struct efa_abi_field *fields;
	uint8_t count;
	uint8_t bytes; /* of the whole entry */
};

#define EFA_ABI_FIELD(type, name, where) \
	{ .member = offsetof(type, name), .at = (where), .unit = sizeof(((type *)0)->name), .count = 1 }
#define EFA_ABI_ARRAY(type, name, where) \
	{ .member = offsetof(type, name), .at = (where), .unit = sizeof(((type *)0)->name[0]), \
	  .count = sizeof(((type *)0)->name) / sizeof(((type *)0)->name[0]) }

/* Writes the fields; other bytes are left alone. */
void efa_abi_store(const struct efa_abi_layout *layout, uint8_t *entry, const void *plain);
void efa_abi_load(const struct efa_abi_layout *layout, void *plain, const uint8_t *entry);
/* Are the bytes in [from, layout->bytes) that belong to no field zero? */
bool efa_abi_rest_is_zero(const struct efa_abi_layout *layout, const uint8_t *entry, uint32_t from);

#endif
