/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ids: making, binding, resolving, listening, moving, ending. */
#include "rdmacm/id.h"
#include "rdmacm/marshal.h"
#include "rdmacm/symbol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int rdmacm_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type,
		  struct rdmacm_id **out)
{
	struct rdmacm_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return rdmacm_fail(ENOMEM);
	id->sync = channel == NULL;
	id->id.channel = channel != NULL ? channel : rdmacm_channel_new();
	if (id->id.channel == NULL) {
		free(id);
		return rdmacm_fail(ENOMEM);
	}
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	rdmacm_table_add(id);
	*out = id;
	return 0;
}

void rdmacm_id_free(struct rdmacm_id *id)
{
	pthread_mutex_lock(&rdmacm_lock);
	rdmacm_table_remove(id);
	if (id->id.channel != NULL)
		rdmacm_channel_move(rdmacm_channel_of(id->id.channel), id, NULL);
	while (id->delivered != 0)
		pthread_cond_wait(&rdmacm_acked, &rdmacm_lock);
	pthread_mutex_unlock(&rdmacm_lock);
	if (id->sync && id->id.channel != NULL)
		rdmacm_channel_free(rdmacm_channel_of(id->id.channel));
	rdmacm_groups_free(id);
	free(id->id.route.path_rec);
	free(id->qp_attr);
	free(id->connect_data);
	free(id);
}

static int create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type)
{
	struct rdmacm_id *id = NULL;

	if (rdmacm_start() != 0 || rdmacm_id_new(channel, context, ps, qp_type, &id) != 0)
		return -1;
	const struct rdma_ucm_create_id command = { .uid = id->uid, .ps = (uint16_t)ps, .qp_type = (uint8_t)qp_type };
	struct rdma_ucm_create_id_resp response;
	if (rdmacm_call(RDMA_USER_CM_CMD_CREATE_ID, &command, sizeof(command), &response, sizeof(response)) != 0) {
		int err = errno;

		rdmacm_id_free(id);
		return rdmacm_fail(err);
	}
	id->handle = response.id;
	*out = &id->id;
	return 0;
}

RDMACM_PUBLIC int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)
{
	if (id == NULL)
		return rdmacm_fail(EINVAL);
	return create(channel, id, context, ps, ps == RDMA_PS_IPOIB || ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
}

RDMACM_PUBLIC int rdma_destroy_id(struct rdma_cm_id *public)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_destroy_id_resp response;

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_destroy_id command = { .id = id->handle };
	/* Of an inherited id in a fork child, or after the broker refused us, only this side is left. */
	if (rdmacm_call(RDMA_USER_CM_CMD_DESTROY_ID, &command, sizeof(command), &response, sizeof(response)) != 0 &&
	    errno != ENODEV && errno != ENOENT)
		return -1;
	if (id->id.event != NULL) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	rdmacm_id_free(id);
	rdmacm_orphans_destroy();
	return 0;
}

/* --- what the broker knows --- */

size_t rdmacm_address_len(const struct sockaddr *address)
{
	return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

/*
 * A synchronous id that is bound to the loopback address, and to nobody yet. For the kernel that is no address of a device, and
 * libfabric reads it so: an id that has a device now makes it forget all other devices. Ids with a channel have it at once, for the
 * sake of programs that make their queue pair next (decision 0099).
 */
static bool is_loopback_only(const struct rdmacm_id *id)
{
	const struct rdma_addr *addr = &id->id.route.addr;

	if (!id->sync || addr->dst_addr.sa_family != AF_UNSPEC)
		return false;
	return addr->src_addr.sa_family == AF_INET ? ntohl(addr->src_sin.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET :
		addr->src_addr.sa_family == AF_INET6 && memcmp(&addr->src_sin6.sin6_addr, &in6addr_loopback, 16) == 0;
}

/* The first time that an id has a device it gets its context and protection domain. */
static int device_take(struct rdmacm_id *id, const struct rdma_ucm_query_route_resp *route)
{
	if (route->node_guid == 0 || id->device != NULL || is_loopback_only(id))
		return 0;
	if (rdmacm_device_get(route->ibdev_index, &id->device) != 0)
		return -1;
	id->id.verbs = id->device->verbs;
	id->id.port_num = route->port_num;
	if (id->id.pd == NULL)
		id->id.pd = id->device->pd;
	return 0;
}

int rdmacm_route_read(struct rdmacm_id *id)
{
	const struct rdma_ucm_query command = { .id = id->handle };
	struct rdma_ucm_query_route_resp response;
	struct rdma_route *route = &id->id.route;

	if (rdmacm_call(RDMA_USER_CM_CMD_QUERY_ROUTE, &command, sizeof(command), &response, sizeof(response)) != 0)
		return -1;
	memcpy(&route->addr.src_storage, &response.src_addr, sizeof(response.src_addr));
	memcpy(&route->addr.dst_storage, &response.dst_addr, sizeof(response.dst_addr));
	memcpy(route->addr.addr.ibaddr.sgid.raw, response.ib_route[0].sgid, 16);
	memcpy(route->addr.addr.ibaddr.dgid.raw, response.ib_route[0].dgid, 16);
	route->addr.addr.ibaddr.pkey = response.ib_route[0].pkey;
	if (response.num_paths > 0) {
		if (route->path_rec == NULL)
			route->path_rec = calloc(2, sizeof(*route->path_rec));
		if (route->path_rec == NULL)
			return rdmacm_fail(ENOMEM);
		ibv_copy_path_rec_from_kern(&route->path_rec[0], &response.ib_route[0]);
		route->num_paths = 1;
	}
	return device_take(id, &response);
}

int rdmacm_complete(struct rdmacm_id *id)
{
	struct rdma_cm_id *public = &id->id;

	if (!id->sync)
		return 0;
	if (public->event != NULL) {
		rdma_ack_cm_event(public->event);
		public->event = NULL;
	}
	if (rdma_get_cm_event(public->channel, &public->event) != 0)
		return -1;
	if (public->event->status == 0)
		return 0;
	if (public->event->event == RDMA_CM_EVENT_REJECTED)
		return rdmacm_fail(ECONNREFUSED);
	return rdmacm_fail(public->event->status < 0 ? -public->event->status : public->event->status);
}

/* --- addresses --- */

RDMACM_PUBLIC int rdma_bind_addr(struct rdma_cm_id *public, struct sockaddr *addr)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_bind command = { .id = public != NULL ? id->handle : 0 };

	if (public == NULL || addr == NULL)
		return rdmacm_fail(EINVAL);
	command.addr_size = (uint16_t)rdmacm_address_len(addr);
	if (command.addr_size == 0)
		return rdmacm_fail(EAFNOSUPPORT);
	memcpy(&command.addr, addr, command.addr_size);
	if (rdmacm_call(RDMA_USER_CM_CMD_BIND, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	return rdmacm_route_read(id);
}

RDMACM_PUBLIC int rdma_resolve_addr(struct rdma_cm_id *public, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_resolve_addr command = { .timeout_ms = (uint32_t)timeout_ms };

	if (public == NULL || dst_addr == NULL)
		return rdmacm_fail(EINVAL);
	command.id = id->handle;
	command.dst_size = (uint16_t)rdmacm_address_len(dst_addr);
	if (command.dst_size == 0)
		return rdmacm_fail(EAFNOSUPPORT);
	memcpy(&command.dst_addr, dst_addr, command.dst_size);
	if (src_addr != NULL) {
		command.src_size = (uint16_t)rdmacm_address_len(src_addr);
		memcpy(&command.src_addr, src_addr, command.src_size);
	}
	if (rdmacm_call(RDMA_USER_CM_CMD_RESOLVE_ADDR, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	memcpy(&id->id.route.addr.dst_storage, dst_addr, command.dst_size);
	return rdmacm_complete(id);
}

RDMACM_PUBLIC int rdma_resolve_route(struct rdma_cm_id *public, int timeout_ms)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_resolve_route command = { .id = id->handle, .timeout_ms = (uint32_t)timeout_ms };
	if (rdmacm_call(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	return rdmacm_complete(id);
}

RDMACM_PUBLIC int rdma_listen(struct rdma_cm_id *public, int backlog)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_listen command = { .id = id->handle, .backlog = backlog < 0 ? 0 : (uint32_t)backlog };
	if (rdmacm_call(RDMA_USER_CM_CMD_LISTEN, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	return rdmacm_route_read(id);
}

static __be16 port_of(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_port;
	return address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port : 0;
}

RDMACM_PUBLIC __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.src_storage);
}

RDMACM_PUBLIC __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.dst_storage);
}

/* --- options, moving --- */

RDMACM_PUBLIC int rdma_set_option(struct rdma_cm_id *public, int level, int optname, void *optval, size_t optlen)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL || optval == NULL || optlen == 0 || optlen > 512)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_set_option command = { .id = id->handle, .level = (uint32_t)level, .optname = (uint32_t)optname,
		.optlen = (uint32_t)optlen };
	return rdmacm_call_with(RDMA_USER_CM_CMD_SET_OPTION, &command, sizeof(command), optval, optlen);
}

RDMACM_PUBLIC int rdma_migrate_id(struct rdma_cm_id *public, struct rdma_event_channel *channel)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_event_channel *before, *own = NULL;
	bool was_sync;

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	was_sync = id->sync;
	if (was_sync && channel == NULL)
		return rdmacm_fail(EINVAL);
	if (channel == NULL) {
		own = rdmacm_channel_new();
		if (own == NULL)
			return rdmacm_fail(ENOMEM);
	}
	if (was_sync && public->event != NULL) {
		rdma_ack_cm_event(public->event);
		public->event = NULL;
	}
	before = public->channel;
	pthread_mutex_lock(&rdmacm_lock);
	/* The queued events move; those in the hands of the program come back first. */
	public->channel = channel != NULL ? channel : own;
	id->sync = own != NULL;
	if (before != NULL)
		rdmacm_channel_move(rdmacm_channel_of(before), id, rdmacm_channel_of(public->channel));
	while (id->delivered != 0)
		pthread_cond_wait(&rdmacm_acked, &rdmacm_lock);
	pthread_mutex_unlock(&rdmacm_lock);
	if (was_sync && before != NULL)
		rdmacm_channel_free(rdmacm_channel_of(before));
	return 0;
}

RDMACM_PUBLIC int rdma_notify(struct rdma_cm_id *public, enum ibv_event_type event)
{
	if (public == NULL)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_notify command = { .id = rdmacm_id_of(public)->handle, .event = (uint32_t)event };
	return rdmacm_call(RDMA_USER_CM_CMD_NOTIFY, &command, sizeof(command), NULL, 0);
}
