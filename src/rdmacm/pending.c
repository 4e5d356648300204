/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection management that is not built yet. Without devices there is nothing to make ids from, so everything that could
 * make one answers ENODEV, as on a machine without adapters; with no id in the world the rest is never reached in earnest. A
 * function leaves this file when its object gets one.
 */
#include "rdmacm/newer.h"
#include "rdmacm/symbol.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <errno.h>

static int no_device(void)
{
	errno = ENODEV;
	return -1;
}

RDMACM_PUBLIC int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	struct ibv_qp_init_attr *qp_init_attr)
{
	return no_device();
}

RDMACM_PUBLIC struct rdma_event_channel *rdma_create_event_channel(void)
{
	errno = ENODEV;
	return NULL;
}

RDMACM_PUBLIC int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	enum rdma_port_space ps)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	return no_device();
}

RDMACM_PUBLIC void rdma_destroy_ep(struct rdma_cm_id *id)
{
}

RDMACM_PUBLIC void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
}

RDMACM_PUBLIC int rdma_destroy_id(struct rdma_cm_id *id)
{
	return no_device();
}

RDMACM_PUBLIC void rdma_destroy_qp(struct rdma_cm_id *id)
{
}

RDMACM_PUBLIC int rdma_disconnect(struct rdma_cm_id *id)
{
	return no_device();
}

RDMACM_PUBLIC void rdma_free_devices(struct ibv_context **list)
{
}

RDMACM_PUBLIC void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
}

RDMACM_PUBLIC int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	return no_device();
}

RDMACM_PUBLIC struct ibv_context **rdma_get_devices(int *num_devices)
{
	if (num_devices != NULL)
		*num_devices = 0;
	errno = ENODEV;
	return NULL;
}

RDMACM_PUBLIC __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return 0;
}

RDMACM_PUBLIC int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	return no_device();
}

RDMACM_PUBLIC __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return 0;
}

RDMACM_PUBLIC int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
	struct rdma_addrinfo **res)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr, void *context)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_establish(struct rdma_cm_id *id)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return no_device();
}

RDMACM_PUBLIC int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	return no_device();
}

RDMACM_PUBLIC void rdma_destroy_srq(struct rdma_cm_id *id)
{
}
