/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/ah.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/abi/bytes.h"
#include "efa/abi/cqe.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"
#include "efa/device/sq.h"

enum { BUCKETS = 1024, ROOM_FIRST = 2 };

int efa_ah_table_init(struct efa_ah_table *table, uint32_t count)
{
	*table = (struct efa_ah_table){ .count = count };
	table->entries = calloc(count, sizeof(*table->entries));
	table->buckets = malloc(BUCKETS * sizeof(*table->buckets));
	if (table->entries == NULL || table->buckets == NULL)
		return BASE_ERR_NOMEM;
	memset(table->buckets, 0xff, BUCKETS * sizeof(*table->buckets));
	return efa_ids_init(&table->ids, count, 0);
}

void efa_ah_table_fini(struct efa_ah_table *table)
{
	for (uint32_t i = 0; table->entries != NULL && i < table->count; i++)
		free(table->entries[i].uses);
	free(table->entries);
	free(table->buckets);
	efa_ids_fini(&table->ids);
}

void efa_ah_table_reset(struct efa_ah_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		free(table->entries[i].uses);
	memset(table->entries, 0, table->count * sizeof(*table->entries));
	memset(table->buckets, 0xff, BUCKETS * sizeof(*table->buckets));
	table->live = 0;
	efa_ids_clear(&table->ids);
}

static uint32_t *bucket_of(struct efa_ah_table *table, const uint8_t gid[16])
{
	uint64_t mixed = efa_abi_le64_load(gid) * 0x9e3779b97f4a7c15ull ^ efa_abi_le64_load(gid + 8) * 0xc2b2ae3d27d4eb4full;

	return &table->buckets[(mixed ^ mixed >> 32) % BUCKETS];
}

static struct efa_ah *by_gid(struct efa_ah_table *table, const uint8_t gid[16])
{
	for (uint32_t i = *bucket_of(table, gid); i != EFA_IDS_NONE; i = table->entries[i].next) {
		if (memcmp(table->entries[i].gid, gid, 16) == 0)
			return &table->entries[i];
	}
	return NULL;
}

static struct efa_ah_use *use_of(const struct efa_ah *ah, uint16_t pd)
{
	for (uint32_t i = 0; i < ah->num_uses; i++) {
		if (ah->uses[i].pd == pd)
			return &ah->uses[i];
	}
	return NULL;
}

/* NULL: out of memory. */
static struct efa_ah_use *use_add(struct efa_ah *ah, uint16_t pd)
{
	if (ah->num_uses == ah->room) {
		uint32_t room = ah->room == 0 ? ROOM_FIRST : ah->room * 2;
		struct efa_ah_use *uses = realloc(ah->uses, room * sizeof(*uses));

		if (uses == NULL)
			return NULL;
		ah->uses = uses;
		ah->room = room;
	}
	ah->uses[ah->num_uses] = (struct efa_ah_use){ .pd = pd };
	return &ah->uses[ah->num_uses++];
}

static void tell_engine(struct efa_device *device, const uint8_t gid[16], bool known)
{
	if (device->engine.ops != NULL && device->engine.ops->peer != NULL)
		device->engine.ops->peer(device->engine.context, gid, known);
}

/* NULL: the table is full. */
static struct efa_ah *add(struct efa_device *device, const uint8_t gid[16])
{
	struct efa_ah_table *table = &device->ahs;
	uint32_t id = efa_ids_take(&table->ids, 0), *bucket = bucket_of(table, gid);
	struct efa_ah *ah;

	if (id == EFA_IDS_NONE)
		return NULL;
	ah = &table->entries[id];
	*ah = (struct efa_ah){ .live = true, .next = *bucket };
	memcpy(ah->gid, gid, sizeof(ah->gid));
	*bucket = id;
	table->live++;
	tell_engine(device, gid, true);
	return ah;
}

static void drop(struct efa_device *device, struct efa_ah *ah)
{
	struct efa_ah_table *table = &device->ahs;
	uint32_t id = (uint32_t)(ah - table->entries), *link = bucket_of(table, ah->gid);

	while (*link != id)
		link = &table->entries[*link].next;
	*link = ah->next;
	tell_engine(device, ah->gid, false);
	free(ah->uses);
	memset(ah, 0, sizeof(*ah));
	table->live--;
	efa_ids_give(&table->ids, id, 0);
}

static bool is_peer(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return gid[0] != 0xff && memcmp(gid, zero, sizeof(zero)) != 0; /* not a group, not nobody */
}

uint8_t efa_ah_create(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_ah *in = &c->in.create_ah;
	struct efa_pd *pd = efa_pd_find(device, in->pd);
	struct efa_ah *ah;
	struct efa_ah_use *use;

	if (pd == NULL)
		return efa_command_illegal(c, 20);
	if (!is_peer(in->gid))
		return efa_command_illegal(c, 4);
	ah = by_gid(&device->ahs, in->gid);
	if (ah == NULL)
		ah = add(device, in->gid);
	if (ah == NULL)
		return EFA_ADMIN_NO_RESOURCE;
	use = use_of(ah, in->pd);
	if (use == NULL)
		use = use_add(ah, in->pd);
	if (use == NULL) {
		if (ah->num_uses == 0)
			drop(device, ah);
		return EFA_ADMIN_NO_RESOURCE;
	}
	use->count++;
	pd->references++;
	c->out.ah.ah = (uint16_t)(ah - device->ahs.entries);
	return EFA_ADMIN_OK;
}

uint8_t efa_ah_destroy(struct efa_device *device, struct efa_command *c)
{
	uint16_t number = c->in.ah.ah, pd = c->in.ah.pd;
	struct efa_ah *ah = number < device->ahs.count ? &device->ahs.entries[number] : NULL;
	struct efa_ah_use *use;

	if (ah == NULL || !ah->live)
		return efa_command_illegal(c, 4);
	use = use_of(ah, pd);
	if (use == NULL)
		return efa_command_illegal(c, 6);
	device->pds.entries[pd].references--;
	if (--use->count > 0)
		return EFA_ADMIN_OK;
	*use = ah->uses[--ah->num_uses];
	efa_sq_flush_ah(device, pd, number);
	if (ah->num_uses == 0)
		drop(device, ah);
	return EFA_ADMIN_OK;
}

const struct efa_ah *efa_ah_find(struct efa_device *device, uint16_t pd, uint16_t number)
{
	const struct efa_ah *ah = number < device->ahs.count ? &device->ahs.entries[number] : NULL;

	return ah != NULL && ah->live && use_of(ah, pd) != NULL ? ah : NULL;
}

uint16_t efa_ah_number(struct efa_device *device, uint16_t pd, const uint8_t gid[16])
{
	const struct efa_ah *ah = by_gid(&device->ahs, gid);

	return ah != NULL && use_of(ah, pd) != NULL ? (uint16_t)(ah - device->ahs.entries) : EFA_AH_UNKNOWN;
}
