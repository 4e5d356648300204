/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/pd.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

int efa_pd_table_init(struct efa_pd_table *table, uint32_t count)
{
	*table = (struct efa_pd_table){ .count = count };
	table->entries = calloc(count, sizeof(*table->entries));
	if (table->entries == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, 0);
}

void efa_pd_table_fini(struct efa_pd_table *table)
{
	free(table->entries);
	efa_ids_fini(&table->ids);
}

void efa_pd_table_reset(struct efa_pd_table *table)
{
	memset(table->entries, 0, table->count * sizeof(*table->entries));
	table->live = 0;
	efa_ids_clear(&table->ids);
}

struct efa_pd *efa_pd_find(struct efa_device *device, uint32_t pd)
{
	return pd < device->pds.count && device->pds.entries[pd].live ? &device->pds.entries[pd] : NULL;
}

uint8_t efa_pd_alloc(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = efa_ids_take(&device->pds.ids, 0);

	if (id == EFA_IDS_NONE)
		return EFA_ADMIN_NO_RESOURCE;
	device->pds.entries[id] = (struct efa_pd){ .live = true };
	device->pds.live++;
	c->out.pd.pd = (uint16_t)id;
	return EFA_ADMIN_OK;
}

uint8_t efa_pd_dealloc(struct efa_device *device, struct efa_command *c)
{
	struct efa_pd *pd = efa_pd_find(device, c->in.pd.pd);

	if (pd == NULL)
		return efa_command_illegal(c, 4);
	if (pd->references > 0)
		return EFA_ADMIN_BUSY;
	pd->live = false;
	device->pds.live--;
	efa_ids_give(&device->pds.ids, c->in.pd.pd, 0);
	return EFA_ADMIN_OK;
}
