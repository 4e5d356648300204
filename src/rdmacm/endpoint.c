/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses by name, and endpoints: id and QP in one call. */
#include "rdmacm/id.h"
#include "rdmacm/symbol.h"

#include <rdma/rdma_verbs.h>

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVE_MS 2000

/* --- rdma_getaddrinfo --- */

static const struct rdma_addrinfo no_hints = { .ai_port_space = RDMA_PS_TCP };

static int errno_of_gai(int gai)
{
	switch (gai) {
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_SYSTEM:
		return errno;
	case EAI_FAMILY:
	case EAI_ADDRFAMILY:
		return EAFNOSUPPORT;
	case EAI_NONAME:
	case EAI_NODATA:
		return ENODATA;
	default:
		return EINVAL;
	}
}

static struct sockaddr *address_copy(const struct sockaddr *address, socklen_t len)
{
	struct sockaddr *copy = calloc(1, len);

	if (copy != NULL)
		memcpy(copy, address, len);
	return copy;
}

/* Source for a passive one, destination otherwise. */
static int address_fill(struct rdma_addrinfo *rai, const struct addrinfo *ai, bool passive)
{
	struct sockaddr *address = address_copy(ai->ai_addr, ai->ai_addrlen);
	char *name = ai->ai_canonname != NULL ? strdup(ai->ai_canonname) : NULL;

	if (address == NULL || (ai->ai_canonname != NULL && name == NULL)) {
		free(address);
		free(name);
		return rdmacm_fail(ENOMEM);
	}
	rai->ai_family = ai->ai_family;
	if (passive) {
		rai->ai_src_addr = address;
		rai->ai_src_len = ai->ai_addrlen;
		rai->ai_src_canonname = name;
	} else {
		rai->ai_dst_addr = address;
		rai->ai_dst_len = ai->ai_addrlen;
		rai->ai_dst_canonname = name;
	}
	return 0;
}

static void type_fill(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints)
{
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (rai->ai_qp_type == 0)
		rai->ai_qp_type = rai->ai_port_space == RDMA_PS_UDP || rai->ai_port_space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	if (rai->ai_port_space == 0)
		rai->ai_port_space = rai->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP :
				     rai->ai_qp_type == IBV_QPT_RC ? RDMA_PS_TCP : RDMA_PS_IB;
}

static int names_resolve(struct rdma_addrinfo *rai, const char *node, const char *service, const struct rdma_addrinfo *hints)
{
	const bool passive = (hints->ai_flags & RAI_PASSIVE) != 0;
	struct addrinfo want = { .ai_socktype = rai->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM }, *ai;
	int gai;

	want.ai_flags = (passive ? AI_PASSIVE : 0) | (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	if (hints->ai_flags & RAI_FAMILY)
		want.ai_family = hints->ai_family;
	gai = getaddrinfo(node, service, &want, &ai);
	if (gai != 0)
		return rdmacm_fail(errno_of_gai(gai));
	int result = address_fill(rai, ai, passive);
	freeaddrinfo(ai);
	return result;
}

RDMACM_PUBLIC int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai;
	int err;

	if (res == NULL || (node == NULL && service == NULL && hints == NULL))
		return rdmacm_fail(EINVAL);
	if (hints == NULL)
		hints = &no_hints;
	rai = calloc(1, sizeof(*rai));
	if (rai == NULL)
		return rdmacm_fail(ENOMEM);
	rai->ai_flags = hints->ai_flags;
	type_fill(rai, hints);
	if (node != NULL || service != NULL) {
		if (names_resolve(rai, node, service, hints) != 0)
			goto fail;
	} else {
		rai->ai_family = hints->ai_family;
	}
	if (rai->ai_src_addr == NULL && hints->ai_src_len > 0) {
		rai->ai_src_addr = address_copy(hints->ai_src_addr, hints->ai_src_len);
		rai->ai_src_len = hints->ai_src_len;
		if (rai->ai_src_addr == NULL)
			goto no_memory;
	}
	if (rai->ai_dst_addr == NULL && hints->ai_dst_len > 0 && !(hints->ai_flags & RAI_PASSIVE)) {
		rai->ai_dst_addr = address_copy(hints->ai_dst_addr, hints->ai_dst_len);
		rai->ai_dst_len = hints->ai_dst_len;
		if (rai->ai_dst_addr == NULL)
			goto no_memory;
	}
	*res = rai;
	return 0;
no_memory:
	errno = ENOMEM;
fail:
	err = errno;
	rdma_freeaddrinfo(rai);
	return rdmacm_fail(err);
}

RDMACM_PUBLIC void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res != NULL) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}

/* --- endpoints --- */

static int attr_keep(struct rdmacm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	id->qp_attr = calloc(1, sizeof(*id->qp_attr));
	if (id->qp_attr == NULL)
		return rdmacm_fail(ENOMEM);
	memcpy(id->qp_attr, attr, sizeof(*attr));
	id->qp_attr->qp_type = id->id.qp_type;
	id->qp_pd = pd;
	return 0;
}

static int connect_data_keep(struct rdmacm_id *id, const struct rdma_addrinfo *res)
{
	if (res->ai_connect_len == 0)
		return 0;
	if (res->ai_connect_len > UINT8_MAX)
		return rdmacm_fail(EINVAL);
	id->connect_data = malloc(res->ai_connect_len);
	if (id->connect_data == NULL)
		return rdmacm_fail(ENOMEM);
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_len = (uint8_t)res->ai_connect_len;
	return 0;
}

static int endpoint_active(struct rdma_cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS) != 0)
		return -1;
	if (res->ai_route_len > 0 ?
	    rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route, res->ai_route_len) != 0 ||
	    rdmacm_complete(rdmacm_id_of(id)) != 0 : rdma_resolve_route(id, RESOLVE_MS) != 0)
		return -1;
	if (attr != NULL) {
		attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (rdma_create_qp(id, pd, attr) != 0)
			return -1;
	}
	return connect_data_keep(rdmacm_id_of(id), res);
}

RDMACM_PUBLIC int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int result;

	if (out == NULL || res == NULL || ((res->ai_flags & RAI_PASSIVE) ? res->ai_src_addr : res->ai_dst_addr) == NULL)
		return rdmacm_fail(EINVAL);
	if (rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space) != 0)
		return -1;
	id->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	if (res->ai_flags & RAI_PASSIVE) {
		result = rdma_bind_addr(id, res->ai_src_addr);
		if (result == 0 && attr != NULL)
			result = attr_keep(rdmacm_id_of(id), pd, attr);
	} else {
		result = endpoint_active(id, res, pd, attr);
	}
	if (result != 0) {
		int err = errno;

		rdma_destroy_ep(id);
		return rdmacm_fail(err);
	}
	*out = id;
	return 0;
}

RDMACM_PUBLIC void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	if (id->srq != NULL)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* The QP of a request's id, as the listener's endpoint was made. */
static int request_qp(struct rdmacm_id *listener, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr;

	if (listener->qp_attr == NULL)
		return 0;
	memcpy(&attr, listener->qp_attr, sizeof(attr));
	return rdma_create_qp(id, listener->qp_pd, &attr);
}

RDMACM_PUBLIC int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct rdmacm_id *listener = rdmacm_id_of(listen);
	struct rdma_cm_event *event;
	int err;

	if (listen == NULL || id == NULL || !listener->sync)
		return rdmacm_fail(EINVAL);
	if (listen->event != NULL) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		err = event->status < 0 ? -event->status : EINVAL;
		rdma_ack_cm_event(event);
		return rdmacm_fail(err);
	}
	if (request_qp(listener, event->id) != 0) {
		struct rdma_cm_id *request = event->id;

		err = errno;
		rdma_ack_cm_event(event);
		rdma_destroy_ep(request);
		return rdmacm_fail(err);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
