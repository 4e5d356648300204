/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address handles. One number per peer and adapter; references are counted here, per protection domain: two domains share the
 * number, not the right to it.
 */
#ifndef EFA_DEVICE_AH_H
#define EFA_DEVICE_AH_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/device/ids.h"

struct efa_device;
struct efa_command;

struct efa_ah_use {
	uint16_t pd;
	uint32_t count;
};

struct efa_ah {
	bool live;
	uint8_t gid[16];
	uint32_t next;         /* in its bucket */
	struct efa_ah_use *uses;
	uint32_t num_uses, room;
};

struct efa_ah_table {
	struct efa_ah *entries;
	uint32_t *buckets;
	struct efa_ids ids;
	uint32_t count, live;
};

int efa_ah_table_init(struct efa_ah_table *table, uint32_t count);
void efa_ah_table_fini(struct efa_ah_table *table);
void efa_ah_table_reset(struct efa_ah_table *table);

uint8_t efa_ah_create(struct efa_device *device, struct efa_command *c);
uint8_t efa_ah_destroy(struct efa_device *device, struct efa_command *c);
/* NULL: the domain has no such handle. */
const struct efa_ah *efa_ah_find(struct efa_device *device, uint16_t pd, uint16_t number);
/* The number of a peer's handle, if the domain has one; EFA_AH_UNKNOWN. */
uint16_t efa_ah_number(struct efa_device *device, uint16_t pd, const uint8_t gid[16]);

#endif
