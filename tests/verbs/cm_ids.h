/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ids, channels and their events in few words, for the tests of connections by address. */
#ifndef TESTS_VERBS_CM_IDS_H
#define TESTS_VERBS_CM_IDS_H

#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>

/* A call of librdmacm that fails with -1. */
#define refused(call, number) \
	do { \
		errno = 0; \
		need_equal(call, -1); \
		need_equal(errno, number); \
	} while (0)

static inline struct sockaddr_in four(const char *text, uint16_t port)
{
	struct sockaddr_in out = { .sin_family = AF_INET, .sin_port = htons(port) };

	need_equal(inet_pton(AF_INET, text, &out.sin_addr), 1);
	return out;
}

static inline struct sockaddr_in6 six(const char *text, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 out = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope };

	need_equal(inet_pton(AF_INET6, text, &out.sin6_addr), 1);
	return out;
}

static inline struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *c = rdma_create_event_channel();

	need(c != NULL);
	return c;
}

static inline struct rdma_cm_id *id_of(struct rdma_event_channel *c, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	need_equal(rdma_create_id(c, &id, NULL, ps), 0);
	return id;
}

static inline int bind4(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_in address = four(text, port);

	return rdma_bind_addr(id, (struct sockaddr *)&address);
}

static inline int bind6(struct rdma_cm_id *id, const char *text, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 address = six(text, port, scope);

	return rdma_bind_addr(id, (struct sockaddr *)&address);
}

static inline int resolve4(struct rdma_cm_id *id, const char *from, const char *to, uint16_t port)
{
	struct sockaddr_in source = four(from != NULL ? from : "0.0.0.0", 0), target = four(to, port);

	return rdma_resolve_addr(id, from != NULL ? (struct sockaddr *)&source : NULL, (struct sockaddr *)&target, 1000);
}

/* The next event of the channel; acknowledged by the caller. */
static inline struct rdma_cm_event *event_take(struct rdma_event_channel *c, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	need_equal(rdma_get_cm_event(c, &event), 0);
	if (event->event != type || event->status != status)
		harness_fail(__FILE__, __LINE__, "%s, status %d, not %s, status %d", rdma_event_str(event->event), event->status,
			     rdma_event_str(type), status);
	return event;
}

/* The same, acknowledged here. */
static inline struct rdma_cm_id *event_of(struct rdma_event_channel *c, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event = event_take(c, type, status);
	struct rdma_cm_id *id = event->id;

	rdma_ack_cm_event(event);
	return id;
}

static inline struct rdma_cm_id *listener_of(struct rdma_event_channel *c, enum rdma_port_space ps, uint16_t *port)
{
	struct rdma_cm_id *id = id_of(c, ps);

	need_equal(bind4(id, "127.0.0.1", 0), 0);
	need_equal(rdma_listen(id, 8), 0);
	*port = ntohs(rdma_get_src_port(id));
	need(*port != 0);
	return id;
}

/* An id with a channel whose route is known. */
static inline struct rdma_cm_id *routed(struct rdma_event_channel *c, enum rdma_port_space ps, uint16_t port)
{
	struct rdma_cm_id *id = id_of(c, ps);

	need_equal(resolve4(id, NULL, "127.0.0.1", port), 0);
	event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	need_equal(rdma_resolve_route(id, 1000), 0);
	event_of(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

static inline struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){ .cap = { 8, 8, 1, 1, 16 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };
}

static inline void qp_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr();

	need_equal(rdma_create_qp(id, NULL, &attr), 0);
}

#endif
