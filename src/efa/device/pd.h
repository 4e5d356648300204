/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains: numbers that regions, queue pairs and address handles refer to. */
#ifndef EFA_DEVICE_PD_H
#define EFA_DEVICE_PD_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/device/ids.h"

struct efa_device;
struct efa_command;

struct efa_pd {
	uint32_t references;
	bool live;
};

struct efa_pd_table {
	struct efa_pd *entries;
	struct efa_ids ids;
	uint32_t count, live;
};

int efa_pd_table_init(struct efa_pd_table *table, uint32_t count);
void efa_pd_table_fini(struct efa_pd_table *table);
void efa_pd_table_reset(struct efa_pd_table *table);

uint8_t efa_pd_alloc(struct efa_device *device, struct efa_command *c);
uint8_t efa_pd_dealloc(struct efa_device *device, struct efa_command *c);
/* NULL: no such domain. */
struct efa_pd *efa_pd_find(struct efa_device *device, uint32_t pd);

#endif
