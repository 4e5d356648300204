/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/eq.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/abi/event.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

int efa_eq_table_init(struct efa_eq_table *table, uint32_t count)
{
	*table = (struct efa_eq_table){ .count = count };
	if (count == 0)
		return 0;
	table->entries = calloc(count, sizeof(*table->entries));
	if (table->entries == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, 0);
}

void efa_eq_table_fini(struct efa_eq_table *table)
{
	free(table->entries);
	efa_ids_fini(&table->ids);
}

void efa_eq_table_reset(struct efa_eq_table *table)
{
	if (table->count > 0)
		memset(table->entries, 0, table->count * sizeof(*table->entries));
	table->live = 0;
	efa_ids_clear(&table->ids);
}

struct efa_eq *efa_eq_find(struct efa_device *device, uint32_t eqn)
{
	struct efa_eq_table *table = &device->eqs;

	return eqn < table->count && table->entries[eqn].live ? &table->entries[eqn] : NULL;
}

uint8_t efa_eq_create(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_eq *in = &c->in.create_eq;
	uint32_t id;

	if (device->eqs.count == 0)
		return EFA_ADMIN_UNSUPPORTED;
	if (!efa_is_power(in->depth) || in->depth > device->profile.events.max_eq_depth)
		return efa_command_illegal(c, 4);
	if (in->vector == 0 || in->vector >= device->profile.vectors)
		return efa_command_illegal(c, 6);
	if ((in->caps & EFA_EQ_CAPS_WORDS) != EFA_EQ_ENTRY_WORDS)
		return efa_command_illegal(c, 7);
	if (in->base == 0)
		return efa_command_illegal(c, 8);
	if ((in->event_mask & ~device->profile.events.event_bitmask) != 0)
		return efa_command_illegal(c, 16);
	id = efa_ids_take(&device->eqs.ids, 0);
	if (id == EFA_IDS_NONE)
		return EFA_ADMIN_NO_RESOURCE;
	device->eqs.entries[id] = (struct efa_eq){ .base = in->base, .depth = in->depth, .vector = in->vector, .live = true };
	device->eqs.live++;
	c->out.eq.eqn = (uint16_t)id;
	return EFA_ADMIN_OK;
}

uint8_t efa_eq_destroy(struct efa_device *device, struct efa_command *c)
{
	struct efa_eq *eq = efa_eq_find(device, c->in.eq.eqn);

	if (device->eqs.count == 0)
		return EFA_ADMIN_UNSUPPORTED;
	if (eq == NULL)
		return efa_command_illegal(c, 4);
	if (eq->references > 0)
		return EFA_ADMIN_BUSY;
	eq->live = false;
	device->eqs.live--;
	efa_ids_give(&device->eqs.ids, c->in.eq.eqn, 0);
	return EFA_ADMIN_OK;
}

static void fire(struct efa_device *device, struct efa_eq *eq)
{
	eq->armed = false;
	eq->owes = false;
	device->host.ops->interrupt(device->host.context, eq->vector);
}

void efa_eq_doorbell(struct efa_device *device, uint32_t value)
{
	struct efa_eq *eq = efa_eq_find(device, value & 0xffff);

	if (eq == NULL || (value & EFA_EQ_DB_ARM) == 0) {
		device->stats.bad_stores++;
		return;
	}
	eq->armed = true;
	if (eq->owes)
		fire(device, eq);
}

void efa_eq_raise(struct efa_device *device, struct efa_eq *eq, uint16_t cqn)
{
	struct efa_abi_eqe event = { .type = EFA_EQE_COMPLETION, .cqn = cqn, .phase = (eq->tail / eq->depth & 1) == 0 };
	uint8_t entry[EFA_EQE_BYTES];

	efa_abi_eqe_store(entry, &event);
	if (efa_device_publish(device, eq->base + (uint64_t)(eq->tail & (eq->depth - 1u)) * sizeof(entry), entry, sizeof(entry), 0) != 0)
		return;
	eq->tail++;
	eq->owes = true;
	if (eq->armed)
		fire(device, eq);
}
