/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions. An lkey is a generation (bits 23:20, never 0) and an index (17:0); an rkey has 14 random bits above the index and
 * is compared as a whole. An access looks the key up each time: a region that is gone is not reached, whoever still names it.
 */
#ifndef EFA_DEVICE_MR_H
#define EFA_DEVICE_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/device/ids.h"
#include "efa/device/page_list.h"

struct efa_device;
struct efa_command;

struct efa_mr {
	bool live;
	uint8_t perms, generation;
	uint16_t pd;
	uint32_t lkey, rkey;
	uint64_t iova, length, first; /* first: where iova lies in the first page */
	struct efa_page_list pages;
};

struct efa_mr_table {
	struct efa_mr *entries;
	struct efa_ids ids;
	uint32_t count, live;
	uint32_t extents; /* of all together */
};

int efa_mr_table_init(struct efa_mr_table *table, uint32_t count);
void efa_mr_table_fini(struct efa_mr_table *table);
void efa_mr_table_reset(struct efa_mr_table *table);

uint8_t efa_mr_register(struct efa_device *device, struct efa_command *c);
uint8_t efa_mr_deregister(struct efa_device *device, struct efa_command *c);

/* The region that grants this to the domain (perms: EFA_MR_*, 0 to read locally); NULL: none does. */
struct efa_mr *efa_mr_by_lkey(struct efa_device *device, uint16_t pd, uint32_t lkey, uint64_t addr, uint64_t len, uint8_t perms);
struct efa_mr *efa_mr_by_rkey(struct efa_device *device, uint16_t pd, uint32_t rkey, uint64_t addr, uint64_t len, uint8_t perms);
/* The range has been checked. BASE_ERR_RANGE, BASE_ERR_FAULT: the host does not have it any more. */
int efa_mr_read(struct efa_device *device, const struct efa_mr *mr, uint64_t addr, void *dst, uint32_t len);
int efa_mr_write(struct efa_device *device, const struct efa_mr *mr, uint64_t addr, const void *src, uint32_t len);

#endif
