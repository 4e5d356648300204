/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/cq.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/abi/event.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

int efa_cq_table_init(struct efa_cq_table *table, uint32_t count, uint32_t uars)
{
	*table = (struct efa_cq_table){ .count = count };
	table->entries = calloc(count, sizeof(*table->entries));
	if (table->entries == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, uars);
}

void efa_cq_table_fini(struct efa_cq_table *table)
{
	free(table->entries);
	efa_ids_fini(&table->ids);
}

void efa_cq_table_reset(struct efa_cq_table *table)
{
	memset(table->entries, 0, table->count * sizeof(*table->entries));
	table->live = 0;
	efa_ids_clear(&table->ids);
}

struct efa_cq *efa_cq_find(struct efa_device *device, uint32_t index)
{
	return index < device->cqs.count && device->cqs.entries[index].live ? &device->cqs.entries[index] : NULL;
}

static uint8_t check(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_cq *in = &c->in.create_cq;
	uint32_t words = in->caps2 & EFA_CQ_CAPS_WORDS;

	if ((in->caps1 & ~EFA_CQ_CAPS_INTERRUPT) != 0)
		return efa_command_illegal(c, 4);
	if ((in->caps2 & ~(EFA_CQ_CAPS_WORDS | EFA_CQ_CAPS_SRC_ADDR)) != 0 ||
	    (words != EFA_CQE_WIDE_BYTES / 4 && (words != EFA_CQE_BYTES / 4 || (in->caps2 & EFA_CQ_CAPS_SRC_ADDR) != 0)))
		return efa_command_illegal(c, 5);
	if (!efa_is_power(in->sub_cq_depth) || in->sub_cq_depth > device->profile.queue.max_cq_depth)
		return efa_command_illegal(c, 6);
	if ((in->caps1 & EFA_CQ_CAPS_INTERRUPT) != 0 && efa_eq_find(device, in->eqn) == NULL)
		return efa_command_illegal(c, 8);
	if (in->base == 0)
		return efa_command_illegal(c, 12);
	if (in->num_sub_cqs != device->profile.queue.sub_cqs_per_cq)
		return efa_command_illegal(c, 24);
	if (efa_uar_find(device, in->uar) == NULL)
		return efa_command_illegal(c, 26);
	return EFA_ADMIN_OK;
}

uint8_t efa_cq_create(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_cq *in = &c->in.create_cq;
	struct efa_uar *uar;
	struct efa_cq *cq;
	uint32_t id, slot;
	uint8_t status = check(device, c);

	if (status != EFA_ADMIN_OK)
		return status;
	id = efa_ids_take(&device->cqs.ids, in->uar);
	if (id == EFA_IDS_NONE)
		return EFA_ADMIN_NO_RESOURCE;
	uar = efa_uar_find(device, in->uar);
	slot = efa_uar_slot_take(uar, EFA_SLOT_CQ, (uint16_t)id);
	if (slot == EFA_IDS_NONE) {
		efa_ids_return(&device->cqs.ids, id);
		return EFA_ADMIN_NO_RESOURCE;
	}
	cq = &device->cqs.entries[id];
	*cq = (struct efa_cq){ .live = true, .base = in->base, .depth = in->sub_cq_depth, .uar = in->uar, .slot = (uint16_t)slot,
			       .eqn = in->eqn, .entry_bytes = (uint8_t)((in->caps2 & EFA_CQ_CAPS_WORDS) * 4),
			       .num_sub = (uint8_t)in->num_sub_cqs, .wants_gid = (in->caps2 & EFA_CQ_CAPS_SRC_ADDR) != 0,
			       .has_events = (in->caps1 & EFA_CQ_CAPS_INTERRUPT) != 0 };
	uar->references++;
	if (cq->has_events)
		device->eqs.entries[cq->eqn].references++;
	device->cqs.live++;
	c->out.create_cq = (struct efa_abi_create_cq_result){ .cq_idx = (uint16_t)id, .actual_depth = in->sub_cq_depth,
							      .db_offset = efa_uar_slot_offset(device, in->uar, slot),
							      .flags = EFA_CQ_DB_VALID };
	return EFA_ADMIN_OK;
}

uint8_t efa_cq_destroy(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = c->in.cq.cq_idx;
	struct efa_cq *cq = efa_cq_find(device, id);

	if (cq == NULL)
		return efa_command_illegal(c, 4);
	if (cq->references > 0)
		return EFA_ADMIN_BUSY;
	cq->live = false;
	device->cqs.live--;
	if (cq->has_events)
		device->eqs.entries[cq->eqn].references--;
	device->uars.entries[cq->uar].references--;
	efa_uar_slot_give(&device->uars.entries[cq->uar], cq->slot);
	efa_ids_give(&device->cqs.ids, id, cq->uar);
	return EFA_ADMIN_OK;
}

static void fire(struct efa_device *device, struct efa_cq *cq)
{
	cq->armed = false;
	cq->has_fired = true;
	cq->fired_sn = cq->armed_sn;
	efa_eq_raise(device, &device->eqs.entries[cq->eqn], (uint16_t)(cq - device->cqs.entries));
}

void efa_cq_doorbell(struct efa_device *device, struct efa_cq *cq, uint32_t value)
{
	struct efa_abi_cq_db db = efa_abi_cq_db_unpack(value);

	if ((uint16_t)(db.consumer - cq->consumer) > (uint16_t)((uint16_t)cq->written - cq->consumer)) {
		device->stats.bad_doorbells++;
		return;
	}
	cq->consumer = db.consumer;
	cq->has_consumer = true;
	cq->overrun = false;
	/* The number counts events that were taken: to arm again under that of the last event is to ask for the same one. */
	if (!db.arm || !cq->has_events || (cq->has_fired && db.sn == cq->fired_sn))
		return;
	cq->armed = true;
	cq->armed_sn = db.sn;
	if ((uint16_t)cq->written != cq->consumer)
		fire(device, cq);
}

static void note_overrun(struct efa_device *device, struct efa_cq *cq)
{
	device->stats.cq_overruns++;
	if (!cq->overrun)
		efa_aenq_raise(device, EFA_AENQ_NOTIFICATION, 0);
	cq->overrun = true;
}

void efa_cq_push(struct efa_device *device, struct efa_cq *cq, uint32_t sub, struct efa_abi_cqe *cqe)
{
	uint8_t entry[EFA_CQE_WIDE_BYTES];
	uint32_t at = cq->tail[sub] & (cq->depth - 1u);

	cqe->phase = (cq->tail[sub] / cq->depth & 1) == 0;
	cqe->has_gid = cqe->has_gid && cq->wants_gid;
	efa_abi_cqe_store(entry, cqe, cq->entry_bytes);
	/* With one ring the count says how full it is; only a client that uses its doorbell can be judged. */
	if (cq->num_sub == 1 && cq->has_consumer && (uint16_t)((uint16_t)cq->written - cq->consumer) >= cq->depth)
		note_overrun(device, cq);
	cq->tail[sub]++;
	cq->written++;
	if (efa_device_publish(device, cq->base + ((uint64_t)sub * cq->depth + at) * cq->entry_bytes, entry, cq->entry_bytes,
			       EFA_CQE_FLAGS_AT) != 0)
		return;
	if (cq->armed)
		fire(device, cq);
}
