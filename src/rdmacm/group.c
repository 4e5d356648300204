/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups of ids. A group's events carry the group's own uid: the id's, with the group's number above bit 40. */
#include "rdmacm/id.h"
#include "rdmacm/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rdmacm_group *rdmacm_group_find(struct rdmacm_id *id, uint64_t uid)
{
	struct rdmacm_group *group = id->groups;

	while (group != NULL && group->uid != uid)
		group = group->next;
	return group;
}

int rdmacm_group_joined(struct rdmacm_group *group, const struct rdma_cm_event *event)
{
	struct ibv_qp *qp = group->id->id.qp;
	int err;

	group->mgid = event->param.ud.ah_attr.grh.dgid;
	group->mlid = event->param.ud.ah_attr.dlid;
	if (group->send_only || qp == NULL)
		return 0;
	err = ibv_attach_mcast(qp, &group->mgid, group->mlid);
	group->attached = err == 0;
	return err == 0 ? 0 : rdmacm_fail(err);
}

static void group_detach(struct rdmacm_group *group)
{
	if (group->attached && group->id->id.qp != NULL)
		ibv_detach_mcast(group->id->id.qp, &group->mgid, group->mlid);
	group->attached = false;
}

void rdmacm_groups_free(struct rdmacm_id *id)
{
	while (id->groups != NULL) {
		struct rdmacm_group *group = id->groups;

		id->groups = group->next;
		group_detach(group);
		free(group);
	}
}

static void group_unlink(struct rdmacm_group *group)
{
	struct rdmacm_group **at = &group->id->groups;

	pthread_mutex_lock(&rdmacm_lock);
	while (*at != NULL && *at != group)
		at = &(*at)->next;
	if (*at != NULL)
		*at = group->next;
	while (group->delivered != 0)
		pthread_cond_wait(&rdmacm_acked, &rdmacm_lock);
	pthread_mutex_unlock(&rdmacm_lock);
}

static int join(struct rdma_cm_id *public, const struct sockaddr *addr, uint16_t flags, void *context)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_create_id_resp response;
	struct rdma_ucm_join_mcast command = { .id = id->handle, .join_flags = flags };
	struct rdmacm_group *group;

	if (rdmacm_address_len(addr) == 0)
		return rdmacm_fail(EAFNOSUPPORT);
	group = calloc(1, sizeof(*group));
	if (group == NULL)
		return rdmacm_fail(ENOMEM);
	group->id = id;
	group->context = context;
	group->send_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	memcpy(&group->address, addr, rdmacm_address_len(addr));
	pthread_mutex_lock(&rdmacm_lock);
	group->uid = id->uid | (id->groups != NULL ? (id->groups->uid >> 40) + 1 : 1) << 40;
	group->next = id->groups;
	id->groups = group;
	pthread_mutex_unlock(&rdmacm_lock);
	command.uid = group->uid;
	command.addr_size = (uint16_t)rdmacm_address_len(addr);
	memcpy(&command.addr, addr, command.addr_size);
	if (rdmacm_call(RDMA_USER_CM_CMD_JOIN_MCAST, &command, sizeof(command), &response, sizeof(response)) != 0) {
		int err = errno;

		group_unlink(group);
		free(group);
		return rdmacm_fail(err);
	}
	group->handle = response.id;
	return rdmacm_complete(id);
}

RDMACM_PUBLIC int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	if (id == NULL || addr == NULL)
		return rdmacm_fail(EINVAL);
	return join(id, addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
}

RDMACM_PUBLIC int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (id == NULL || attr == NULL || attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return rdmacm_fail(id == NULL || attr == NULL ? EINVAL : ENOTSUP);
	if ((attr->comp_mask & needed) != needed || attr->addr == NULL)
		return rdmacm_fail(EINVAL);
	if (attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return rdmacm_fail(ENOTSUP);
	return join(id, attr->addr, (uint16_t)attr->join_flags, context);
}

RDMACM_PUBLIC int rdma_leave_multicast(struct rdma_cm_id *public, struct sockaddr *addr)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_destroy_id_resp response;
	struct rdmacm_group *group;

	if (public == NULL || addr == NULL || rdmacm_address_len(addr) == 0)
		return rdmacm_fail(EINVAL);
	for (group = id->groups; group != NULL; group = group->next)
		if (memcmp(&group->address, addr, rdmacm_address_len(addr)) == 0)
			break;
	if (group == NULL)
		return rdmacm_fail(EADDRNOTAVAIL);
	group_detach(group);
	const struct rdma_ucm_destroy_id command = { .id = group->handle };
	if (rdmacm_call(RDMA_USER_CM_CMD_LEAVE_MCAST, &command, sizeof(command), &response, sizeof(response)) != 0)
		return -1;
	group_unlink(group);
	free(group);
	return 0;
}
