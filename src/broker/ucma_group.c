/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Joining groups, as cma.c does it on Ethernet ports: there is no subnet administration to ask, so the record of the group is made
 * here, and the join ends, a moment later, with MULTICAST_JOIN (cm-ece 11). What is joined is the IP group, by the socket of the
 * client's slot: once for all its ids, left with the last of them, with its id, and with the process. RoCEv1 has no IP group: its
 * Ethernet group is joined by the process, when it attaches a queue pair.
 *
 * What a group keeps at its client lets the next broker know it: the socket itself has not left.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "broker/gsi.h"
#include "broker/ucma_internal.h"
#include "wire/bth.h"
#include "wire/mtu.h"

#define KEPT_MAGIC 0x47765373u /* "sSvG" */
#define GROUP_HOPS 64
#define EVENT_JOIN 12 /* RDMA_CM_EVENT_MULTICAST_JOIN */
enum { GROUPS_MAX = 4096 }; /* of one client */

struct kept_group {
	uint32_t magic, id, ifindex, member;
	uint64_t uid;
	struct wire_gid mgid;
};
_Static_assert(sizeof(struct kept_group) == 40, "no padding");

static bool same_place(const struct ucma_group *a, const struct ucma_group *b)
{
	return a->slot == b->slot && a->member && b->member && a->ifindex == b->ifindex && wire_gid_equal(&a->mgid, &b->mgid);
}

/* Is another one of this client in the same group? */
static bool is_shared(const struct broker_ucma *u, const struct ucma_group *group)
{
	for (const struct ucma_group *g = u->groups; g != NULL; g = g->next)
		if (g != group && same_place(g, group))
			return true;
	return false;
}

static int enter(struct broker_ucma *u, const struct ucma_group *group)
{
	if (!group->member || is_shared(u, group))
		return 0;
	return u->ops->member == NULL ? ENODEV : u->ops->member(u->context, group->slot, &group->mgid, group->ifindex, true);
}

static void keep(struct broker_ucma *u, const struct ucma_group *group, bool there)
{
	const struct kept_group k = { KEPT_MAGIC, group->id, group->ifindex, group->member, group->uid, group->mgid };
	const struct ipc_message m = { .type = IPC_CM_KEEP, .cm = { .id = group->number, .len = there ? sizeof(k) : 0,
		.bytes = there ? (const uint8_t *)&k : NULL } };

	u->ops->send(u->context, group->slot, &m);
}

/* *at leaves the list, and the group if it was the last there. */
static void leave(struct broker_ucma *u, struct ucma_group **at)
{
	struct ucma_group *group = *at;

	*at = group->next;
	if (group->member && !is_shared(u, group) && u->ops->member != NULL)
		u->ops->member(u->context, group->slot, &group->mgid, group->ifindex, false);
	free(group);
}

static bool has_room(const struct broker_ucma *u, uint8_t slot)
{
	unsigned count = 0;

	for (const struct ucma_group *g = u->groups; g != NULL; g = g->next)
		count += g->slot == slot;
	return count < GROUPS_MAX;
}

bool ucma_group_is(const struct broker_ucma *u, uint8_t slot, uint32_t number)
{
	const struct ucma_group *g = u->groups;

	while (g != NULL && (g->number != number || g->slot != slot))
		g = g->next;
	return g != NULL;
}

/* The group's GID. RoCEv1 knows no mapped addresses of groups: cma.c puts IPv4 into a global IPv6 group (roce-wire 20). */
static struct wire_gid group_gid(const struct broker_ucma *u, const struct cm_ip *ip)
{
	struct wire_gid gid = ucma_gid_of(ip);

	if (u->begins == WIRE_GID_ROCE_V1 && wire_gid_is_ipv4_mapped(&gid)) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	}
	return gid;
}

/* Checks in cma.c's order. */
static int join(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *address, uint64_t uid, bool member,
		struct ucma_answer *out)
{
	struct rdma_ucm_create_id_resp *response = (void *)out->bytes;
	const struct netdev_device *device;
	struct wire_gid mgid = ucma_gid_of(&address->ip);
	struct ucma_group *group;
	int err;

	if (id->device < 0 || (id->stage != UCMA_BOUND && id->stage != UCMA_ADDR_RESOLVED) || id->qp_type != CM_QP_UD)
		return EINVAL;
	if (!wire_gid_is_multicast(&mgid) || address->ip.family != id->source.ip.family)
		return EINVAL;
	if ((uint32_t)id->device >= u->table->count || u->table->devices[id->device].ifindex == 0)
		return ENODEV;
	device = &u->table->devices[id->device];
	if (wire_mtu_cm(device->mtu) == 0)
		return EINVAL;
	group = has_room(u, id->slot) ? calloc(1, sizeof(*group)) : NULL;
	if (group == NULL)
		return ENOMEM;
	*group = (struct ucma_group){ .id = id->id, .slot = id->slot, .uid = uid, .mgid = group_gid(u, &address->ip),
		.ifindex = device->ifindex, .member = member && u->begins == WIRE_GID_ROCE_V2, .untold = true };
	err = enter(u, group);
	if (err != 0) {
		free(group);
		return err;
	}
	group->number = ucma_number_take(u, id->slot);
	group->next = u->groups;
	u->groups = group;
	response->id = group->number;
	keep(u, group, true);
	return 0;
}

int ucma_join_ip(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_join_ip_mcast *command = in;
	struct cm_address address;
	int err = ucma_address_load(&address, &command->addr, sizeof(command->addr));

	return err != 0 ? err : join(u, id, &address, command->uid, true, out);
}

int ucma_join(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_join_mcast *command = in;
	struct cm_address address;
	int err;

	if (command->addr_size > sizeof(command->addr) || command->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return EINVAL;
	err = ucma_address_load(&address, &command->addr, command->addr_size);
	return err != 0 ? err : join(u, id, &address, command->uid, command->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER, out);
}

int ucma_leave(struct broker_ucma *u, uint8_t slot, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_destroy_id *command = in;
	struct rdma_ucm_destroy_id_resp *response = (void *)out->bytes;

	for (struct ucma_group **at = &u->groups; *at != NULL; at = &(*at)->next) {
		if ((*at)->number != command->id || (*at)->slot != slot)
			continue;
		response->events_reported = (*at)->events;
		keep(u, *at, false);
		leave(u, at);
		return 0;
	}
	return ENOENT;
}

static void tell(struct broker_ucma *u, struct ucma_group *group, const struct ucma_id *id)
{
	const struct cm_path path = { .port = broker_port_of(u->table, id->device), .gid_type = (uint8_t)u->begins,
		.sgid = ucma_gid_of(&id->source.ip), .dgid = group->mgid,
		.hop_limit = u->begins == WIRE_GID_ROCE_V1 ? 1 : GROUP_HOPS, .traffic_class = id->tos };
	struct rdma_ucm_event_resp event = { .uid = group->uid, .id = group->number, .event = EVENT_JOIN };
	const struct ipc_message m = { .type = IPC_CM_EVENT, .cm = { .len = sizeof(event), .bytes = (const uint8_t *)&event } };

	event.param.ud.qp_num = WIRE_QPN_MULTICAST;
	event.param.ud.qkey = id->qkey != 0 ? id->qkey : UCMA_QKEY;
	ucma_ah_attr_store(u, &event.param.ud.ah_attr, &path);
	group->events++;
	u->ops->send(u->context, group->slot, &m);
}

void ucma_groups_tell(struct broker_ucma *u)
{
	/* Those that nobody was told of are the newest. */
	for (struct ucma_group *g = u->groups; g != NULL && g->untold; g = g->next) {
		const struct ucma_id *id = ucma_find(u, g->slot, g->id);

		g->untold = false;
		if (id != NULL)
			tell(u, g, id);
	}
}

void ucma_groups_leave(struct broker_ucma *u, const struct ucma_id *id)
{
	struct ucma_group **at = &u->groups;

	while (*at != NULL) {
		if ((*at)->id != id->id || (*at)->slot != id->slot) {
			at = &(*at)->next;
			continue;
		}
		keep(u, *at, false);
		leave(u, at);
	}
}

void ucma_groups_gone(struct broker_ucma *u, uint8_t slot)
{
	struct ucma_group **at = &u->groups;

	while (*at != NULL) {
		if ((*at)->slot == slot)
			leave(u, at);
		else
			at = &(*at)->next;
	}
}

bool ucma_group_adopt(struct broker_ucma *u, uint8_t slot, const struct ipc_cm *kept)
{
	struct ucma_group *group;
	struct kept_group k;

	if (kept->len != sizeof(k))
		return false;
	memcpy(&k, kept->bytes, sizeof(k));
	if (k.magic != KEPT_MAGIC || k.member > 1 || !wire_gid_is_multicast(&k.mgid))
		return false;
	group = has_room(u, slot) && !ucma_group_is(u, slot, kept->id) ? calloc(1, sizeof(*group)) : NULL;
	if (group == NULL)
		return true;
	if (kept->id > u->last_id[slot])
		u->last_id[slot] = kept->id;
	*group = (struct ucma_group){ .number = kept->id, .id = k.id, .slot = slot, .uid = k.uid, .mgid = k.mgid, .ifindex = k.ifindex,
		.member = k.member != 0 };
	/* The socket is in already, unless this is a new vault. */
	if (enter(u, group) != 0)
		group->member = false;
	group->next = u->groups;
	u->groups = group;
	return true;
}

void ucma_groups_free(struct broker_ucma *u)
{
	while (u->groups != NULL) {
		struct ucma_group *group = u->groups;

		u->groups = group->next;
		free(group);
	}
}
