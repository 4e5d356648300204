/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User access regions: one page of doorbells each, in 8-byte slots. A slot belongs to one queue; a store to a slot that is nobody's
 * is ignored, since old mappings live on. A slot is used again only within its UAR.
 */
#ifndef EFA_DEVICE_UAR_H
#define EFA_DEVICE_UAR_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/device/ids.h"

struct efa_device;
struct efa_command;

enum { EFA_UAR_BYTES = 4096, EFA_UAR_SLOT_BYTES = 8, EFA_UAR_SLOTS = EFA_UAR_BYTES / EFA_UAR_SLOT_BYTES };
/* Where the first page begins: behind the registers and the vector table, when doorbells share their BAR. */
enum { EFA_UAR_BASE_IN_REGS = 0x4000 };

enum efa_uar_slot_kind { EFA_SLOT_FREE, EFA_SLOT_SQ, EFA_SLOT_RQ, EFA_SLOT_CQ };

struct efa_uar_slot {
	uint8_t kind;
	uint16_t index; /* of the queue pair or CQ */
};

struct efa_uar {
	bool live;
	uint32_t references; /* queue pairs and CQs */
	struct efa_uar_slot *slots;
	struct efa_ids slot_ids;
};

struct efa_uar_table {
	struct efa_uar *entries;
	struct efa_ids ids;
	uint32_t count, live;
};

int efa_uar_table_init(struct efa_uar_table *table, uint32_t count);
void efa_uar_table_fini(struct efa_uar_table *table);
void efa_uar_table_reset(struct efa_uar_table *table);

uint8_t efa_uar_alloc(struct efa_device *device, struct efa_command *c);
uint8_t efa_uar_dealloc(struct efa_device *device, struct efa_command *c);
/* NULL: no such region. */
struct efa_uar *efa_uar_find(struct efa_device *device, uint32_t uar);
/* A slot for a queue; EFA_IDS_NONE: all are taken. */
uint32_t efa_uar_slot_take(struct efa_uar *uar, enum efa_uar_slot_kind kind, uint16_t index);
void efa_uar_slot_give(struct efa_uar *uar, uint32_t slot);
/* Where the doorbell BAR has it. */
uint32_t efa_uar_slot_offset(const struct efa_device *device, uint32_t uar, uint32_t slot);
/* A store to the doorbell BAR. */
void efa_uar_store(struct efa_device *device, uint64_t offset, uint32_t value);

#endif
