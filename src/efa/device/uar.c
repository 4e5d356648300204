/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/uar.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"
#include "efa/device/rq.h"
#include "efa/device/sq.h"

int efa_uar_table_init(struct efa_uar_table *table, uint32_t count)
{
	*table = (struct efa_uar_table){ .count = count };
	table->entries = calloc(count, sizeof(*table->entries));
	if (table->entries == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, 0);
}

static void uar_fini(struct efa_uar *uar)
{
	free(uar->slots);
	efa_ids_fini(&uar->slot_ids);
	memset(uar, 0, sizeof(*uar));
}

void efa_uar_table_fini(struct efa_uar_table *table)
{
	for (uint32_t i = 0; table->entries != NULL && i < table->count; i++)
		uar_fini(&table->entries[i]);
	free(table->entries);
	efa_ids_fini(&table->ids);
}

void efa_uar_table_reset(struct efa_uar_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		uar_fini(&table->entries[i]);
	table->live = 0;
	efa_ids_clear(&table->ids);
}

struct efa_uar *efa_uar_find(struct efa_device *device, uint32_t uar)
{
	return uar < device->uars.count && device->uars.entries[uar].live ? &device->uars.entries[uar] : NULL;
}

uint8_t efa_uar_alloc(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = efa_ids_take(&device->uars.ids, 0);
	struct efa_uar *uar;

	if (id == EFA_IDS_NONE)
		return EFA_ADMIN_NO_RESOURCE;
	uar = &device->uars.entries[id];
	uar->slots = calloc(EFA_UAR_SLOTS, sizeof(*uar->slots));
	if (uar->slots == NULL || efa_ids_init(&uar->slot_ids, EFA_UAR_SLOTS, 0) != 0) {
		uar_fini(uar);
		efa_ids_give(&device->uars.ids, id, 0);
		return EFA_ADMIN_NO_RESOURCE;
	}
	uar->live = true;
	device->uars.live++;
	c->out.uar.uar = (uint16_t)id;
	return EFA_ADMIN_OK;
}

uint8_t efa_uar_dealloc(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = c->in.uar.uar;
	struct efa_uar *uar = efa_uar_find(device, id);

	if (uar == NULL)
		return efa_command_illegal(c, 4);
	if (uar->references > 0)
		return EFA_ADMIN_BUSY;
	uar_fini(uar);
	device->uars.live--;
	efa_ids_give(&device->uars.ids, id, 0);
	/* Nobody maps what was his any more. */
	efa_ids_release(&device->qps.ids, id);
	efa_ids_release(&device->cqs.ids, id);
	return EFA_ADMIN_OK;
}

uint32_t efa_uar_slot_take(struct efa_uar *uar, enum efa_uar_slot_kind kind, uint16_t index)
{
	uint32_t slot = efa_ids_take(&uar->slot_ids, 0);

	if (slot != EFA_IDS_NONE)
		uar->slots[slot] = (struct efa_uar_slot){ .kind = kind, .index = index };
	return slot;
}

void efa_uar_slot_give(struct efa_uar *uar, uint32_t slot)
{
	uar->slots[slot].kind = EFA_SLOT_FREE;
	efa_ids_give(&uar->slot_ids, slot, 0);
}

static uint32_t base_of(const struct efa_device *device)
{
	return device->profile.device.db_bar == EFA_BAR_REGS ? EFA_UAR_BASE_IN_REGS : 0;
}

uint32_t efa_uar_slot_offset(const struct efa_device *device, uint32_t uar, uint32_t slot)
{
	return base_of(device) + uar * EFA_UAR_BYTES + slot * EFA_UAR_SLOT_BYTES;
}

void efa_uar_store(struct efa_device *device, uint64_t offset, uint32_t value)
{
	struct efa_uar *uar;
	struct efa_uar_slot slot;

	offset -= base_of(device);
	uar = efa_uar_find(device, (uint32_t)(offset / EFA_UAR_BYTES < UINT32_MAX ? offset / EFA_UAR_BYTES : UINT32_MAX));
	if (uar == NULL || offset % EFA_UAR_SLOT_BYTES != 0) {
		device->stats.stale_doorbells++;
		return;
	}
	slot = uar->slots[offset % EFA_UAR_BYTES / EFA_UAR_SLOT_BYTES];
	switch (slot.kind) {
	case EFA_SLOT_SQ:
		efa_sq_doorbell(device, &device->qps.entries[slot.index], (uint16_t)value);
		return;
	case EFA_SLOT_RQ:
		efa_rq_doorbell(device, &device->qps.entries[slot.index], (uint16_t)value);
		return;
	case EFA_SLOT_CQ:
		efa_cq_doorbell(device, &device->cqs.entries[slot.index], value);
		return;
	default:
		device->stats.stale_doorbells++;
	}
}
