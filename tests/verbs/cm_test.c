/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections by address as programs see them: what each call refuses and with which errno, synchronous ids, endpoints, channels,
 * and QPs that the program makes itself.
 */
#include "cm_ids.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- refusals --- */

static void creates(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id;

	refused(rdma_create_id(c, NULL, NULL, RDMA_PS_TCP), EINVAL);
	refused(rdma_create_id(c, &id, NULL, (enum rdma_port_space)0x100), EPROTONOSUPPORT);
	refused(rdma_destroy_id(NULL), EINVAL);
	rdma_destroy_event_channel(c);
}

static void binds(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id = id_of(c, RDMA_PS_TCP), *other = id_of(c, RDMA_PS_TCP);
	struct sockaddr wrong = { .sa_family = AF_UNIX };

	refused(rdma_bind_addr(id, &wrong), EAFNOSUPPORT);
	refused(rdma_bind_addr(NULL, &wrong), EINVAL);
	refused(rdma_bind_addr(id, NULL), EINVAL);
	refused(bind4(id, "192.0.2.77", 0), EADDRNOTAVAIL);
	refused(bind6(id, "fe80::1", 0, 0), EINVAL);
	if (geteuid() != 0)
		refused(bind4(id, "127.0.0.1", 80), EACCES);
	need_equal(bind4(id, "127.0.0.1", 0), 0);
	need(id->verbs != NULL && id->port_num == 1);
	struct rdma_cm_id *alone;
	need_equal(rdma_create_id(NULL, &alone, NULL, RDMA_PS_TCP), 0);
	need_equal(bind4(alone, "127.0.0.1", 0), 0);
	need(alone->verbs == NULL);
	need_equal(rdma_destroy_id(alone), 0);
	uint16_t port = ntohs(rdma_get_src_port(id));
	need(port != 0);
	refused(bind4(id, "127.0.0.1", 0), EINVAL);
	refused(bind4(other, "127.0.0.1", port), EADDRINUSE);
	refused(bind4(other, "0.0.0.0", port), EADDRNOTAVAIL);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(bind4(other, "0.0.0.0", port), 0);
	need(other->verbs == NULL);
	need_equal(rdma_listen(other, 1), 0);
	refused(rdma_listen(other, 1), EINVAL);
	need_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(c);
}

static void resolves(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id = id_of(c, RDMA_PS_TCP);
	struct sockaddr wrong = { .sa_family = AF_UNIX };
	struct sockaddr_in to = four("127.0.0.1", 7000);
	struct sockaddr_in6 link = six("fe80::1", 7000, 0), from = six("::1", 0, 0);

	refused(rdma_resolve_addr(id, NULL, NULL, 1000), EINVAL);
	refused(rdma_resolve_addr(id, NULL, &wrong, 1000), EAFNOSUPPORT);
	refused(rdma_resolve_addr(id, NULL, (struct sockaddr *)&link, 1000), EINVAL);
	refused(rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, 1000), EINVAL);
	refused(resolve4(id, "192.0.2.77", "127.0.0.1", 7000), EADDRNOTAVAIL);
	/* Only where the world has no more than its loopback there is no route. */
	errno = 0;
	if (resolve4(id, NULL, "192.0.2.1", 7000) == 0)
		event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0), rdma_destroy_id(id), id = id_of(c, RDMA_PS_TCP);
	else
		need_equal(errno, ENETUNREACH);
	refused(rdma_resolve_route(id, 1000), EINVAL);
	need_equal(resolve4(id, "127.0.0.1", "127.0.0.1", 7000), 0);
	event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	refused(resolve4(id, NULL, "127.0.0.1", 7000), EINVAL);
	refused(rdma_resolve_route(id, 0), EINVAL);
	need_equal(rdma_resolve_route(id, 1000), 0);
	event_of(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	refused(rdma_resolve_route(id, 1000), EINVAL);
	need_equal(id->route.num_paths, 1);
	need_equal(id->route.path_rec->packet_life_time, 18);
	refused(rdma_listen(id, 1), EINVAL);
	need_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(c);
}

static void connects(void)
{
	uint8_t data[256] = { 1 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 57 };
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *fresh = id_of(c, RDMA_PS_TCP), *id = routed(c, RDMA_PS_TCP, 7999);

	refused(rdma_connect(NULL, &param), EINVAL);
	param.private_data_len = 0;
	refused(rdma_connect(fresh, &param), EINVAL);
	refused(rdma_accept(fresh, &param), EINVAL);
	refused(rdma_reject(fresh, NULL, 0), EINVAL);
	refused(rdma_disconnect(fresh), EINVAL);
	refused(rdma_notify(fresh, IBV_EVENT_COMM_EST), EINVAL);
	qp_of(id);
	param.private_data_len = 57;
	refused(rdma_connect(id, &param), EINVAL);
	param.private_data_len = 0;
	param.initiator_depth = 200;
	refused(rdma_connect(id, &param), EINVAL);
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	need_equal(rdma_connect(id, &param), 0);
	event_of(c, RDMA_CM_EVENT_REJECTED, 8); /* nobody listens */
	refused(rdma_connect(id, &param), EINVAL);
	rdma_destroy_qp(id);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(fresh), 0);
	rdma_destroy_event_channel(c);
}

static void accepts(void)
{
	uint8_t data[256] = { 0 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 197, .qp_num = 0x20 };
	struct rdma_event_channel *cs = channel(), *cc = channel();
	uint16_t port;
	struct rdma_cm_id *listener = listener_of(cs, RDMA_PS_TCP, &port), *client = routed(cc, RDMA_PS_TCP, port), *child;
	struct rdma_conn_param ask = { .qp_num = 0x10 };
	struct rdma_cm_event *event;

	need_equal(rdma_connect(client, &ask), 0);
	child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	refused(rdma_reject(child, data, 149), EINVAL);
	refused(rdma_accept(child, &param), EINVAL);
	need_equal(rdma_reject(child, "no", 2), 0);
	event = event_take(cc, RDMA_CM_EVENT_REJECTED, 28);
	need(event->param.conn.private_data_len == 148 && memcmp(event->param.conn.private_data, "no", 2) == 0);
	rdma_ack_cm_event(event);
	param.private_data_len = 0;
	refused(rdma_accept(child, &param), EINVAL);
	refused(rdma_reject(child, NULL, 0), EINVAL);
	need_equal(rdma_destroy_id(child), 0);
	need_equal(rdma_destroy_id(client), 0);
	client = routed(cc, RDMA_PS_TCP, port);
	need_equal(rdma_connect(client, &ask), 0);
	child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	need_equal(rdma_reject_ece(child, NULL, 0), 0);
	event_of(cc, RDMA_CM_EVENT_REJECTED, 35);
	need_equal(rdma_destroy_id(child), 0);
	need_equal(rdma_destroy_id(client), 0);
	need_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(cs);
	rdma_destroy_event_channel(cc);
}

static void options(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id = id_of(c, RDMA_PS_TCP), *other = id_of(c, RDMA_PS_TCP);
	uint8_t tos = 0x20, timeout = 14;
	int on = 1;

	refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1), EINVAL);
	refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, sizeof(on)), EINVAL);
	refused(rdma_set_option(id, RDMA_OPTION_ID, 99, &tos, 1), ENOSYS);
	refused(rdma_set_option(id, 99, 0, &tos, 1), ENOSYS);
	need_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	need_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	need_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	need_equal(rdma_set_option(other, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	need_equal(bind4(id, "127.0.0.1", 0), 0);
	uint16_t port = ntohs(rdma_get_src_port(id));
	need_equal(bind4(other, "127.0.0.1", port), 0);
	refused(rdma_listen(other, 1), EADDRINUSE);
	need_equal(resolve4(id, NULL, "127.0.0.1", 7000), 0);
	event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	need(id->verbs != NULL && id->port_num == 1);
	need_equal(ntohs(rdma_get_src_port(id)), port);
	need_equal(rdma_resolve_route(id, 1000), 0);
	event_of(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	need_equal(id->route.path_rec->traffic_class, tos);
	need_equal(id->route.path_rec->packet_life_time, timeout - 1);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(c);
}

/* --- channels --- */

static void nonblocking(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = id_of(c, RDMA_PS_TCP);

	need_equal(fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK), 0);
	refused(rdma_get_cm_event(c, &event), EAGAIN);
	need(!fd_is_readable(c->fd, 0));
	need_equal(resolve4(id, NULL, "127.0.0.1", 7000), 0);
	need(fd_is_readable(c->fd, 5000));
	event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	need(!fd_is_readable(c->fd, 0));
	refused(rdma_get_cm_event(c, &event), EAGAIN);
	need_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(c);
}

static void migrates(void)
{
	struct rdma_event_channel *a = channel(), *b = channel();
	struct rdma_cm_id *id = id_of(a, RDMA_PS_TCP), *stays = id_of(a, RDMA_PS_TCP);
	uint16_t port;
	struct rdma_cm_id *listener = listener_of(a, RDMA_PS_TCP, &port), *client = routed(b, RDMA_PS_TCP, port);
	struct rdma_conn_param ask = { .qp_num = 0x10 };

	need_equal(resolve4(id, NULL, "127.0.0.1", 7000), 0);
	need_equal(resolve4(stays, NULL, "127.0.0.1", 7000), 0);
	need(fd_is_readable(a->fd, 5000));
	need_equal(rdma_migrate_id(id, b), 0);
	need(id->channel == b);
	need(event_of(b, RDMA_CM_EVENT_ADDR_RESOLVED, 0) == id);
	need(event_of(a, RDMA_CM_EVENT_ADDR_RESOLVED, 0) == stays);
	need(!fd_is_readable(a->fd, 0) && !fd_is_readable(b->fd, 0));
	/* A listener takes the requests that wait with it, and their ids are on the new channel. */
	need_equal(rdma_connect(client, &ask), 0);
	need(fd_is_readable(a->fd, 5000));
	need_equal(rdma_migrate_id(listener, b), 0);
	need(!fd_is_readable(a->fd, 0));
	struct rdma_cm_id *child = event_of(b, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	need(child->channel == b);
	/* To a synchronous one, and back. */
	need_equal(rdma_migrate_id(stays, NULL), 0);
	refused(rdma_migrate_id(stays, NULL), EINVAL);
	need_equal(rdma_resolve_route(stays, 1000), 0);
	need(stays->event != NULL && stays->event->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
	need_equal(rdma_migrate_id(stays, a), 0);
	need(stays->event == NULL);
	need_equal(rdma_destroy_id(child), 0);
	event_of(b, RDMA_CM_EVENT_REJECTED, 28);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(stays), 0);
	need_equal(rdma_destroy_id(listener), 0);
	need_equal(rdma_destroy_id(client), 0);
	rdma_destroy_event_channel(a);
	rdma_destroy_event_channel(b);
}

static int destroyed; /* by release and acquire */

static void *destroy_in_thread(void *id)
{
	need_equal(rdma_destroy_id(id), 0);
	__atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void destroy_waits_for_acks(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id = id_of(c, RDMA_PS_TCP), *other = id_of(c, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	pthread_t thread;

	need_equal(resolve4(id, NULL, "127.0.0.1", 7000), 0);
	event = event_take(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	need_equal(pthread_create(&thread, NULL, destroy_in_thread, id), 0);
	/* Other ids go on meanwhile; this is also the time that a wrong destroy would need. */
	for (int i = 0; i < 20; i++) {
		need_equal(resolve4(other, NULL, "127.0.0.1", 7000), 0);
		event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		need_equal(rdma_destroy_id(other), 0);
		other = id_of(c, RDMA_PS_TCP);
	}
	need_equal(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE), 0);
	rdma_ack_cm_event(event);
	need_equal(pthread_join(thread, NULL), 0);
	need_equal(destroyed, 1);
	need_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(c);
}

static void listener_with_requests_dies(void)
{
	struct rdma_event_channel *cs = channel(), *cc = channel();
	uint16_t port;
	struct rdma_cm_id *listener = listener_of(cs, RDMA_PS_TCP, &port), *clients[4];
	struct rdma_conn_param ask = { 0 };

	for (int i = 0; i < 4; i++) {
		clients[i] = routed(cc, RDMA_PS_TCP, port);
		ask.qp_num = 0x10 + (uint32_t)i;
		need_equal(rdma_connect(clients[i], &ask), 0);
	}
	/* One in the hands of the program, three that nobody took. */
	struct rdma_cm_id *child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	need_equal(rdma_destroy_id(listener), 0);
	for (int i = 0; i < 3; i++)
		event_of(cc, RDMA_CM_EVENT_REJECTED, 28);
	need_equal(rdma_destroy_id(child), 0);
	event_of(cc, RDMA_CM_EVENT_REJECTED, 28);
	for (int i = 0; i < 4; i++)
		need_equal(rdma_destroy_id(clients[i]), 0);
	rdma_destroy_event_channel(cs);
	rdma_destroy_event_channel(cc);
}

/* The channel goes first, with requests in it: their clients hear of it, and what comes later finds nobody, not freed memory. */
static void channel_with_requests_dies(void)
{
	struct rdma_event_channel *cs = channel(), *cc = channel();
	uint16_t port;
	struct rdma_cm_id *listener = listener_of(cs, RDMA_PS_TCP, &port), *clients[4];
	struct rdma_conn_param ask = { 0 };

	for (int i = 0; i < 4; i++)
		clients[i] = routed(cc, RDMA_PS_TCP, port);
	for (int i = 0; i < 3; i++) {
		ask.qp_num = 0x10 + (uint32_t)i;
		need_equal(rdma_connect(clients[i], &ask), 0);
	}
	/* One in the hands of the program, and two that nobody took. */
	struct rdma_cm_id *child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	rdma_destroy_event_channel(cs);
	for (int i = 0; i < 2; i++)
		event_of(cc, RDMA_CM_EVENT_REJECTED, 28);
	/* The listener stands, but has no channel: its request is given back when anything is called. */
	ask.qp_num = 0x20;
	need_equal(rdma_connect(clients[3], &ask), 0);
	need_equal(rdma_destroy_id(child), 0);
	event_of(cc, RDMA_CM_EVENT_REJECTED, 28);
	need_equal(rdma_destroy_id(listener), 0);
	event_of(cc, RDMA_CM_EVENT_REJECTED, 28);
	for (int i = 0; i < 4; i++)
		need_equal(rdma_destroy_id(clients[i]), 0);
	rdma_destroy_event_channel(cc);
}

/* --- synchronous ids and endpoints --- */

static struct rdma_addrinfo *info_of(const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;

	need_equal(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
	return info;
}

static void serve_one(struct peer *peer)
{
	struct rdma_addrinfo *info = info_of("0", RAI_PASSIVE);
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *listener, *id;
	struct ibv_wc wc;
	char text[16] = { 0 };

	need_equal(rdma_create_ep(&listener, info, NULL, &attr), 0);
	need_equal(rdma_listen(listener, 0), 0);
	uint16_t port = ntohs(rdma_get_src_port(listener));
	peer_send(peer, &port, sizeof(port));
	need_equal(rdma_get_request(listener, &id), 0);
	need(id->qp != NULL && id->event != NULL && id->channel != listener->channel);
	need_equal(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
	need(mr != NULL);
	need_equal(rdma_post_recv(id, NULL, text, sizeof(text), mr), 0);
	need_equal(rdma_accept(id, NULL), 0); /* synchronous, as its listener: ends with ESTABLISHED */
	need_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	need_equal(rdma_get_recv_comp(id, &wc), 1);
	need(wc.status == IBV_WC_SUCCESS && strcmp(text, "hello") == 0);
	need_equal(rdma_disconnect(id), 0);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	/* A second one is refused. */
	need_equal(rdma_get_request(listener, &id), 0);
	need_equal(rdma_reject(id, NULL, 0), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(info);
	peer_await(peer);
}

static void endpoints(void)
{
	struct peer server = peer_start(serve_one);
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;
	char text[16] = "hello", service[8];
	struct ibv_wc wc;
	uint16_t port;

	peer_receive(&server, &port, sizeof(port));
	snprintf(service, sizeof(service), "%u", port);
	struct rdma_addrinfo *info = info_of(service, 0);
	need_equal(rdma_create_ep(&id, info, NULL, &attr), 0);
	refused(rdma_get_request(id, NULL), EINVAL);
	need_equal(rdma_connect(id, NULL), 0);
	need_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	need_equal(rdma_post_send(id, NULL, text, sizeof(text), NULL, IBV_SEND_INLINE), 0);
	need_equal(rdma_get_send_comp(id, &wc), 1);
	need_equal(rdma_disconnect(id), 0);
	rdma_destroy_ep(id);
	attr = qp_attr();
	need_equal(rdma_create_ep(&id, info, NULL, &attr), 0);
	refused(rdma_connect(id, NULL), ECONNREFUSED);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
	peer_tell(&server);
	peer_join(&server);
}

/* Errors of synchronous calls are those of their events. */
static void synchronous_errors(void)
{
	struct rdma_cm_id *id = id_of(NULL, RDMA_PS_TCP), *ud = id_of(NULL, RDMA_PS_UDP);
	struct rdma_conn_param ask = { .qp_num = 0x10 };

	need_equal(resolve4(id, NULL, "127.0.0.1", 7999), 0);
	need_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	need_equal(rdma_resolve_route(id, 1000), 0);
	refused(rdma_connect(id, &ask), ECONNREFUSED);
	need_equal(id->event->status, 8);
	need_equal(resolve4(ud, NULL, "127.0.0.1", 7999), 0);
	need_equal(rdma_resolve_route(ud, 1000), 0);
	refused(rdma_connect(ud, &ask), 1); /* the SIDR status: no such service */
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(ud), 0);
}

/* --- QPs of the program --- */

static struct ibv_qp *external_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = qp_attr();

	attr.send_cq = attr.recv_cq = cq;
	struct ibv_qp *qp = ibv_create_qp(id->pd, &attr);
	need(qp != NULL);
	return qp;
}

static void modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	need_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	need_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

static void external(void)
{
	struct rdma_event_channel *cs = channel(), *cc = channel();
	uint16_t port;
	struct rdma_cm_id *listener = listener_of(cs, RDMA_PS_TCP, &port), *client = routed(cc, RDMA_PS_TCP, port), *child;
	struct ibv_cq *cq = ibv_create_cq(client->verbs, 8, NULL, NULL, 0), *cq2;
	struct ibv_qp *qp = external_qp(client, cq), *qp2;
	struct rdma_conn_param param = { .qp_num = qp->qp_num, .initiator_depth = 1, .responder_resources = 1, .retry_count = 7 };
	struct ibv_ece ece = { .vendor_id = 0x123456, .options = 5 }, got;

	refused(rdma_establish(client), EINVAL);
	need_equal(rdma_set_local_ece(client, &ece), 0);
	need_equal(rdma_connect(client, &param), 0);
	child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	need_equal(rdma_get_remote_ece(child, &got), 0);
	need(got.vendor_id == ece.vendor_id && got.options == ece.options);
	cq2 = ibv_create_cq(child->verbs, 8, NULL, NULL, 0);
	qp2 = external_qp(child, cq2);
	modify(child, qp2, IBV_QPS_INIT);
	modify(child, qp2, IBV_QPS_RTR);
	modify(child, qp2, IBV_QPS_RTS);
	ece.options = 4;
	need_equal(rdma_set_local_ece(child, &ece), 0);
	param.qp_num = qp2->qp_num;
	need_equal(rdma_accept(child, &param), 0);
	event_of(cc, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	need_equal(rdma_get_remote_ece(client, &got), 0);
	need_equal(got.options, 4);
	modify(client, qp, IBV_QPS_INIT);
	modify(client, qp, IBV_QPS_RTR);
	modify(client, qp, IBV_QPS_RTS);
	need_equal(rdma_establish(client), 0);
	refused(rdma_establish(client), EINVAL);
	event_of(cs, RDMA_CM_EVENT_ESTABLISHED, 0);
	/* The two are connected: an empty message goes over. */
	struct ibv_recv_wr receive = { .wr_id = 2 }, *bad_receive;
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	need_equal(ibv_post_recv(qp2, &receive, &bad_receive), 0);
	need_equal(ibv_post_send(qp, &send, &bad_send), 0);
	cq_expect(cq2, 2, IBV_WC_SUCCESS, IBV_WC_RECV);
	cq_expect(cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	need_equal(rdma_disconnect(client), 0);
	event_of(cs, RDMA_CM_EVENT_DISCONNECTED, 0);
	need_equal(rdma_disconnect(child), 0);
	event_of(cc, RDMA_CM_EVENT_DISCONNECTED, 0);
	need_equal(ibv_destroy_qp(qp), 0);
	need_equal(ibv_destroy_qp(qp2), 0);
	need_equal(ibv_destroy_cq(cq), 0);
	need_equal(ibv_destroy_cq(cq2), 0);
	need_equal(rdma_destroy_id(child), 0);
	need_equal(rdma_destroy_id(client), 0);
	need_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(cs);
	rdma_destroy_event_channel(cc);
}

static void ece_arguments(void)
{
	struct rdma_event_channel *c = channel();
	struct rdma_cm_id *id = routed(c, RDMA_PS_TCP, 7999);
	struct ibv_ece ece = { .vendor_id = 0, .options = 1 };

	refused(rdma_set_local_ece(NULL, &ece), EINVAL);
	refused(rdma_set_local_ece(id, NULL), EINVAL);
	refused(rdma_set_local_ece(id, &ece), EINVAL);
	ece.vendor_id = 1;
	ece.comp_mask = 1;
	refused(rdma_set_local_ece(id, &ece), EINVAL);
	refused(rdma_get_remote_ece(id, NULL), EINVAL);
	need_equal(rdma_get_remote_ece(id, &ece), 0);
	need(ece.vendor_id == 0 && ece.options == 0 && ece.comp_mask == 0);
	qp_of(id);
	ece.vendor_id = 1;
	refused(rdma_set_local_ece(id, &ece), EINVAL);
	refused(rdma_get_remote_ece(id, &ece), EINVAL);
	rdma_destroy_qp(id);
	need_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(c);
}

static const struct harness_case cases[] = {
	{ "creates", "what rdma_create_id and rdma_destroy_id refuse", creates },
	{ "binds", "what rdma_bind_addr and rdma_listen refuse", binds },
	{ "resolves", "what resolving refuses", resolves },
	{ "connects", "what rdma_connect refuses, and calls in the wrong state", connects },
	{ "accepts", "what accept and reject refuse, and the reasons that arrive", accepts },
	{ "options", "options of ids", options },
	{ "nonblocking", "a channel without events", nonblocking },
	{ "migrates", "ids move between channels with what is queued", migrates },
	{ "destroy-waits", "rdma_destroy_id waits for acknowledgements", destroy_waits_for_acks },
	{ "listener-dies", "requests that nobody took end with their listener", listener_with_requests_dies },
	{ "channel-dies", "requests that nobody took end with their channel", channel_with_requests_dies },
	{ "endpoints", "rdma_create_ep, rdma_get_request", endpoints },
	{ "synchronous-errors", "errors of ids without a channel", synchronous_errors },
	{ "external", "QPs of the program, and their ECE", external },
	{ "ece-arguments", "what the calls of ECE refuse", ece_arguments },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
