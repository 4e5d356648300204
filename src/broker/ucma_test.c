/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/ucma.h"

#include "broker/ucma_fake_calls.h"

#define NOBODY 99u /* an id that nobody has */

/* --- the form of commands --- */

static const struct {
	uint32_t cmd;
	size_t in, id_at, out;
} forms[] = {
#define FORM(name, type, out) { RDMA_USER_CM_CMD_##name, sizeof(struct rdma_ucm_##type), offsetof(struct rdma_ucm_##type, id), out }
	FORM(DESTROY_ID, destroy_id, sizeof(struct rdma_ucm_destroy_id_resp)),
	FORM(BIND_IP, bind_ip, 0),
	FORM(RESOLVE_IP, resolve_ip, 0),
	FORM(RESOLVE_ROUTE, resolve_route, 0),
	FORM(CONNECT, connect, 0),
	FORM(LISTEN, listen, 0),
	FORM(ACCEPT, accept, 0),
	FORM(REJECT, reject, 0),
	FORM(DISCONNECT, disconnect, 0),
	FORM(INIT_QP_ATTR, init_qp_attr, sizeof(struct ib_uverbs_qp_attr)),
	FORM(NOTIFY, notify, 0),
	FORM(QUERY, query, sizeof(struct rdma_ucm_query_addr_resp)),
	FORM(BIND, bind, 0),
	FORM(RESOLVE_ADDR, resolve_addr, 0),
#undef FORM
};

static void test_commands_have_their_length(void **state)
{
	uint8_t in[IPC_CM_MAX] = { 0 };
	uint32_t id = create(1, 10, RDMA_PS_TCP);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint32_t number = NOBODY;

		memset(in, 0, sizeof(in));
		memcpy(in + forms[i].id_at, &number, sizeof(number));
		assert_int_equal(call(1, forms[i].cmd, in, 3, forms[i].out), EINVAL);
		assert_int_equal(call(1, forms[i].cmd, in, forms[i].in, forms[i].out), ENOENT);
		/* A longer one, if it says nothing there. */
		assert_int_equal(call(1, forms[i].cmd, in, forms[i].in + 8, forms[i].out), ENOENT);
		in[forms[i].in + 7] = 1;
		assert_int_equal(call(1, forms[i].cmd, in, forms[i].in + 8, forms[i].out), EINVAL);
		in[forms[i].in + 7] = 0;
		/* Another client's id is none. */
		memcpy(in + forms[i].id_at, &id, sizeof(id));
		assert_int_equal(call(2, forms[i].cmd, in, forms[i].in, forms[i].out), ENOENT);
		if (forms[i].out > 0)
			assert_int_equal(call(1, forms[i].cmd, in, forms[i].in, forms[i].out - 1), ENOSPC);
	}
	assert_int_equal(destroy(1, id), 0);
	assert_int_equal(destroy(1, id), ENOENT);
}

static void test_short_forms_of_old_programs(void **state)
{
	struct pair p = { .listener = server(RDMA_PS_TCP, 7000, 0), .client = routed(2, 20, RDMA_PS_TCP, 7000) };
	struct rdma_ucm_connect in = { .id = p.client, .conn_param = param(0) };

	in.conn_param.qp_num = 0x22;
	/* Without ECE. */
	assert_int_equal(call(2, RDMA_USER_CM_CMD_CONNECT, &in, offsetof(struct rdma_ucm_connect, ece) - 4, 0), EINVAL);
	assert_int_equal(call(2, RDMA_USER_CM_CMD_CONNECT, &in, offsetof(struct rdma_ucm_connect, ece), 0), 0);
	const struct rdma_ucm_event_resp e = event(1, REQUEST, 0, 0);
	assert_int_equal(e.ece.vendor_id, 0);
	const struct rdma_ucm_accept accept = { .id = e.id, .uid = 11, .conn_param = param(0) };
	assert_int_equal(call(1, RDMA_USER_CM_CMD_ACCEPT, &accept, offsetof(struct rdma_ucm_accept, ece), 0), 0);
	assert_int_equal(event(2, RESPONSE, p.client, 0).ece.vendor_id, 0);
}

static void test_headers(void **state)
{
	const struct rdma_ucm_cmd_hdr unknown = { .cmd = 1000 }, none = { .cmd = RDMA_USER_CM_CMD_GET_EVENT },
		long_one = { .cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = 24, .out = 8 };
	const struct rdma_ucm_create_id make = { .ps = RDMA_PS_TCP };

	assert_int_equal(ucma_fake_raw(&fake, 1, &unknown, 7), EINVAL);
	assert_int_equal(ucma_fake_raw(&fake, 1, &unknown, 8), EINVAL);
	assert_int_equal(ucma_fake_raw(&fake, 1, &none, 8), ENOSYS);
	assert_int_equal(ucma_fake_raw(&fake, 1, &long_one, 8), EINVAL); /* says more than there is */
	/* No room for the answer: nothing is made that nobody knows. */
	assert_int_equal(call(1, RDMA_USER_CM_CMD_CREATE_ID, &make, sizeof(make), 0), ENOSPC);
	assert_int_equal(call(1, RDMA_USER_CM_CMD_CREATE_ID, &make, sizeof(make) - 4, 4), EINVAL);
	assert_int_equal(fake.u->count, 0);
}

static void test_port_spaces(void **state)
{
	uint32_t id;

	assert_int_equal(create_status(1, 1, 0x100, 0, &id), EPROTONOSUPPORT);
	assert_int_equal(create_status(1, 1, RDMA_PS_IB, 77, &id), EINVAL);
	assert_int_equal(create_status(1, 1, RDMA_PS_IB, CM_QP_UC, &id), 0);
	assert_int_equal(create_status(1, 1, RDMA_PS_UDP, 0, &id), 0);
}

/* --- addresses --- */

static void test_bind_errors(void **state)
{
	const struct sockaddr_in four = address_of("127.0.0.1", 7000);
	const struct sockaddr other = { .sa_family = AF_UNIX };
	uint32_t id = create(1, 1, RDMA_PS_TCP), second = create(1, 2, RDMA_PS_TCP), any = create(1, 3, RDMA_PS_TCP);
	struct rdma_ucm_bind in = { .id = id, .reserved = 1, .addr_size = sizeof(four) };

	assert_int_equal(bind_raw(1, id, &other, sizeof(other)), EAFNOSUPPORT);
	assert_int_equal(bind_raw(1, id, &four, sizeof(four) - 1), EINVAL);
	assert_int_equal(bind_raw(1, id, &four, 0), EINVAL);
	memcpy(&in.addr, &four, sizeof(four));
	assert_int_equal(call(1, RDMA_USER_CM_CMD_BIND, &in, sizeof(in), 0), EINVAL);
	in.reserved = 0;
	in.addr_size = sizeof(in.addr) + 1;
	assert_int_equal(call(1, RDMA_USER_CM_CMD_BIND, &in, sizeof(in), 0), EINVAL);
	assert_int_equal(bind_to(1, id, "192.0.2.77", 7000), EADDRNOTAVAIL);
	assert_int_equal(bind_to6(1, id, "fe80::1", 7000, 0), EINVAL);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 80), EACCES);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 7001), EINVAL);
	assert_int_equal(bind_to(1, second, "127.0.0.1", 7000), EADDRINUSE);
	assert_int_equal(bind_to(1, any, "0.0.0.0", 7000), EADDRNOTAVAIL);
	assert_int_equal(bind_to(1, any, "0.0.0.0", 0), 0);
	assert_int_equal(destroy(1, id), 0);
	assert_int_equal(bind_to(1, second, "127.0.0.1", 7000), 0);
}

static void test_wrong_states(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP);

	assert_int_equal(route(1, id, 1000), EINVAL);
	assert_int_equal(connect_to(1, id, 0), EINVAL);
	assert_int_equal(accept_with(1, id, 1, 0), EINVAL);
	assert_int_equal(establish(1, id), EINVAL);
	assert_int_equal(reject(1, id, 0, 0), EINVAL);
	assert_int_equal(disconnect(1, id), EINVAL);
	assert_int_equal(qp_attr(1, id, CM_QP_INIT), EINVAL);
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), EINVAL);
	assert_int_equal(listen_on(1, id, 1), EINVAL);
	assert_int_equal(connect_to(1, id, 0), EINVAL);
	assert_int_equal(qp_attr(1, id, 99), EINVAL);
	assert_int_equal(route(1, id, 0), EINVAL);
	assert_int_equal(route(1, id, 1000), 0);
	assert_int_equal(route(1, id, 1000), EINVAL);
}

static void test_resolve_errors(void **state)
{
	struct rdma_ucm_resolve_addr in = { .id = create(1, 1, RDMA_PS_TCP), .dst_size = sizeof(struct sockaddr_in),
		.src_size = sizeof(struct sockaddr_in6) };
	const struct sockaddr_in to = address_of("127.0.0.1", 7000);
	const struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	memcpy(&in.dst_addr, &to, sizeof(to));
	memcpy(&in.src_addr, &from, sizeof(from));
	assert_int_equal(call(1, RDMA_USER_CM_CMD_RESOLVE_ADDR, &in, sizeof(in), 0), EINVAL); /* families differ */
	in.src_size = 0;
	in.dst_size = 0;
	assert_int_equal(call(1, RDMA_USER_CM_CMD_RESOLVE_ADDR, &in, sizeof(in), 0), EINVAL);
	in.dst_size = sizeof(struct sockaddr_in);
	in.dst_addr.ss_family = AF_UNIX;
	assert_int_equal(call(1, RDMA_USER_CM_CMD_RESOLVE_ADDR, &in, sizeof(in), 0), EAFNOSUPPORT);
	/* The address has no device. */
	fake.table.devices[0].ifindex = 0;
	assert_int_equal(resolve(1, in.id, "127.0.0.1", 7000), ENODEV);
	no_event(1);
}

static void test_route_errors(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP);

	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	fake.table.devices[0].mtu = 100;
	assert_int_equal(route(1, id, 1000), EINVAL);
	fake.table.devices[0].mtu = 1500;
	fake.table.devices[0].ifindex = 0;
	assert_int_equal(route(1, id, 1000), ENODEV);
	fake.table.devices[0].ifindex = 1;
	assert_int_equal(route(1, id, 1000), 0);
}

/* --- connections --- */

static void test_connection(void **state)
{
	struct pair p = { .listener = server(RDMA_PS_TCP, 7000, 0), .client = routed(2, 20, RDMA_PS_TCP, 7000) };
	struct rdma_ucm_event_resp e;

	assert_int_equal(connect_to(2, p.client, 5), 0);
	assert_int_equal(connect_to(2, p.client, 5), EINVAL);
	e = event(1, REQUEST, 0, 0);
	assert_int_equal(e.uid, 10);
	assert_int_equal(e.ece.vendor_id, 0x123456);
	assert_int_equal(e.ece.attr_mod, 0x77);
	assert_int_equal(e.param.conn.private_data_len, 56);
	assert_int_equal(e.param.conn.private_data[4], 0xab);
	assert_int_equal(e.param.conn.private_data[5], 0);
	/* In the receiver's point of view. */
	assert_int_equal(e.param.conn.responder_resources, 5);
	assert_int_equal(e.param.conn.initiator_depth, 3);
	p.child = e.id;
	assert_int_equal(qp_attr(1, p.child, CM_QP_RTR), 0);
	assert_int_equal(accept_with(1, p.child, 11, 3), 0);
	e = event(2, RESPONSE, p.client, 0);
	assert_int_equal(e.uid, 20);
	assert_int_equal(e.ece.attr_mod, 0x66);
	assert_int_equal(e.param.conn.private_data_len, 196);
	assert_int_equal(qp_attr(2, p.client, CM_QP_RTR), 0);
	const struct ib_uverbs_qp_attr *attr = (const void *)fake.answer;
	assert_int_equal(attr->dest_qp_num, 0x11); /* the server's */
	assert_int_equal(attr->path_mtu, 5);
	assert_int_equal(attr->ah_attr.grh.sgid_index, 1);
	/* The owner's timeout is the queue pair's, on both sides, whatever path and peer say. */
	const uint8_t timeout = 21;
	assert_int_equal(option(2, p.client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(qp_attr(2, p.client, CM_QP_RTS), 0);
	assert_int_equal(attr->timeout, 21);
	assert_int_equal(qp_attr(1, p.child, CM_QP_RTS), 0);
	assert_int_not_equal(attr->timeout, 21);
	assert_int_equal(option(1, p.child, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(qp_attr(1, p.child, CM_QP_RTS), 0);
	assert_int_equal(attr->timeout, 21);
	assert_int_equal(establish(2, p.client), 0);
	assert_int_equal(event(1, ESTABLISHED, p.child, 0).uid, 11);
	assert_int_equal(disconnect(2, p.client), 0);
	event(1, DISCONNECTED, p.child, 0);
	assert_int_equal(disconnect(1, p.child), 0);
	event(2, DISCONNECTED, p.client, 0);
	assert_int_equal(disconnect(1, p.child), 0); /* nothing left to end */
	for (int i = 0; i < 4; i++)
		ucma_fake_tick(&fake, 0);
	event(1, TIMEWAIT_EXIT, p.child, 0);
	event(2, TIMEWAIT_EXIT, p.client, 0);
	assert_int_equal(fake.transmitted, 0); /* all inside of one host */
}

static void test_private_data_limits(void **state)
{
	struct pair p = { .listener = server(RDMA_PS_TCP, 7000, 0), .client = routed(2, 20, RDMA_PS_TCP, 7000) };

	assert_int_equal(connect_to(2, p.client, 57), EINVAL);
	assert_int_equal(connect_to(2, p.client, 56), 0);
	p.child = event(1, REQUEST, 0, 0).id;
	assert_int_equal(reject(1, p.child, 0, 149), EINVAL);
	assert_int_equal(accept_with(1, p.child, 11, 197), EINVAL);
	assert_int_equal(accept_with(1, p.child, 11, 196), 0);
	event(2, RESPONSE, p.client, 0);
	assert_int_equal(reject(2, p.client, 0, 148), 0);
	const struct rdma_ucm_event_resp e = event(1, REJECTED, p.child, 28);
	assert_int_equal(e.param.conn.private_data_len, 148);
	assert_int_equal(e.param.conn.private_data[147], 0xcd);
}

static void test_datagrams(void **state)
{
	struct pair p = { .listener = server(RDMA_PS_UDP, 7000, 0), .client = routed(2, 20, RDMA_PS_UDP, 7000) };
	struct rdma_ucm_event_resp e;

	assert_int_equal(connect_to(2, p.client, 181), EINVAL);
	assert_int_equal(connect_to(2, p.client, 180), 0);
	e = event(1, REQUEST, 0, 0);
	assert_int_equal(e.param.ud.private_data_len, 180);
	assert_int_equal(accept_with(1, e.id, 11, 137), EINVAL);
	assert_int_equal(accept_with(1, e.id, 11, 136), 0);
	e = event(2, ESTABLISHED, p.client, 0);
	assert_int_equal(e.param.ud.qp_num, 0x11);
	assert_int_equal(e.param.ud.qkey, 0x01234567);
	assert_int_equal(e.param.ud.private_data_len, 136);
	assert_int_equal(disconnect(2, p.client), EINVAL);
	no_event(1);
	/* A rejected one shows as unreachable. */
	p.client = routed(2, 21, RDMA_PS_UDP, 7000);
	assert_int_equal(connect_to(2, p.client, 0), 0);
	assert_int_equal(reject(1, event(1, REQUEST, 0, 0).id, 0, 0), 0);
	event(2, UNREACHABLE, p.client, 2);
}

static void test_reject_reasons(void **state)
{
	struct pair p = asked(RDMA_PS_TCP, 7000);

	assert_int_equal(reject(1, p.child, 4, 0), EINVAL);
	assert_int_equal(reject(1, p.child, 35, 2), 0);
	event(2, REJECTED, p.client, 35);
	assert_int_equal(accept_with(1, p.child, 11, 0), EINVAL);
	uint32_t second = routed(2, 21, RDMA_PS_TCP, 7000);
	assert_int_equal(connect_to(2, second, 0), 0);
	assert_int_equal(reject(1, event(1, REQUEST, 0, 0).id, 0, 0), 0);
	event(2, REJECTED, second, 28);
	/* Nobody listens. */
	uint32_t third = routed(2, 22, RDMA_PS_TCP, 7999);
	assert_int_equal(connect_to(2, third, 0), 0);
	event(2, REJECTED, third, 8);
}

static void test_options(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP), second = create(1, 2, RDMA_PS_TCP), ud = create(1, 3, RDMA_PS_UDP);
	const int on = 1;
	const uint8_t tos = 0x20, timeout = 15, wrong = 32;
	const uint8_t path[sizeof(struct ib_path_rec_data)] = { 0 };

	assert_int_equal(option(1, NOBODY, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), ENOENT);
	assert_int_equal(option(1, id, 7, 0, &tos, 1), ENOSYS);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, 77, &tos, 1), ENOSYS);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, sizeof(on)), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 0), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &wrong, 1), EINVAL);
	assert_int_equal(option(1, ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &tos, 1), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(option(1, second, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(bind_to(1, second, "127.0.0.1", 7000), 0);
	/* Shared, so nobody can listen. */
	assert_int_equal(listen_on(1, id, 1), EADDRINUSE);
	assert_int_equal(resolve(1, id, "127.0.0.1", 7001), 0);
	event(1, ADDR_RESOLVED, id, 0);
	assert_int_equal(option(1, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path) - 1), EINVAL);
	assert_int_equal(option(1, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, sizeof(path)), 0);
	event(1, ROUTE_RESOLVED, id, 0);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_PATH, IPC_CM_MAX), 0);
	const struct rdma_ucm_query_path_resp *paths = (const void *)fake.answer;
	assert_int_equal(paths->num_paths, 1);
	assert_int_equal(((const uint8_t *)paths->path_data[0].path_rec)[48], 0x20); /* traffic class */
	assert_int_equal(((const uint8_t *)paths->path_data[0].path_rec)[56] & 0x3f, 14); /* life time: the timeout is twice it */
}

static void test_queries(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP);
	const struct rdma_ucm_query_addr_resp *addresses = (const void *)fake.answer;
	const struct rdma_ucm_query_route_resp *routes = (const void *)fake.answer;
	const struct rdma_ucm_query_path_resp *paths = (const void *)fake.answer;
	const struct rdma_ucm_query route_query = { .id = id };
	struct sockaddr_in to;

	assert_int_equal(query(1, id, 77, IPC_CM_MAX), ENOSYS);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_ADDR, sizeof(*addresses) - 1), ENOSPC);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_PATH, sizeof(*paths) - 1), ENOSPC);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_ADDR, sizeof(*addresses)), 0);
	assert_int_equal(addresses->node_guid, 0);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_PATH, sizeof(*paths)), 0);
	assert_int_equal(paths->num_paths, 0);
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_ADDR, sizeof(*addresses)), 0);
	assert_int_not_equal(addresses->node_guid, 0);
	memcpy(&to, &addresses->dst_addr, sizeof(to));
	assert_int_equal(to.sin_family, AF_INET);
	assert_int_equal(ntohs(to.sin_port), 7000);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_GID, sizeof(*addresses)), 0);
	assert_int_equal(((const uint8_t *)&addresses->dst_addr)[8 + 15], 1); /* ::ffff:127.0.0.1 */
	/* Before there is a path: the addresses as GIDs, and the default P_Key (in network order). */
	assert_int_equal(call(1, RDMA_USER_CM_CMD_QUERY_ROUTE, &route_query, 12, sizeof(*routes)), 0);
	assert_int_equal(routes->num_paths, 0);
	assert_int_equal(routes->ib_route[0].pkey, 0xffff);
	assert_int_equal(routes->ib_route[0].dgid[15], 1);
	assert_int_equal(route(1, id, 1), 0);
	assert_int_equal(call(1, RDMA_USER_CM_CMD_QUERY_ROUTE, &route_query, 12, sizeof(*routes)), 0);
	assert_int_equal(routes->num_paths, 1);
	assert_int_equal(routes->ib_route[0].packet_life_time, 18);
	assert_int_equal(routes->ib_route[0].rate, 0);
	assert_int_equal(query(1, id, RDMA_USER_CM_QUERY_PATH, sizeof(*paths)), 0);
	assert_int_equal(paths->num_paths, 1);
	assert_int_equal(fake.answer_len, sizeof(*paths)); /* no room for it */
}

static void test_notify(void **state)
{
	struct pair p = asked(RDMA_PS_TCP, 7000);
	struct rdma_ucm_notify in = { .id = p.child, .event = 3 };

	assert_int_equal(call(1, RDMA_USER_CM_CMD_NOTIFY, &in, sizeof(in), 0), EINVAL);
	assert_int_equal(accept_with(1, p.child, 11, 0), 0);
	in.event = 4; /* a packet came before the RTU did */
	assert_int_equal(call(1, RDMA_USER_CM_CMD_NOTIFY, &in, sizeof(in), 0), 0);
	event(1, ESTABLISHED, p.child, 0);
}

/* --- listeners --- */

static void test_backlog(void **state)
{
	uint32_t listener = server(RDMA_PS_TCP, 7000, 1), first = routed(2, 20, RDMA_PS_TCP, 7000),
		second = routed(2, 21, RDMA_PS_TCP, 7000);

	assert_int_equal(connect_to(2, first, 0), 0);
	assert_int_equal(connect_to(2, second, 0), 0);
	uint32_t child = event(1, REQUEST, 0, 0).id;
	ucma_fake_tick(&fake, 0); /* repeated, and dropped again: that the request was told is not that it was taken */
	no_event(1);
	assert_int_equal(query(1, child, RDMA_USER_CM_QUERY_ADDR, sizeof(struct rdma_ucm_query_addr_resp)), 0);
	for (int i = 0; i < 4 && fake.event_read[1] == fake.event_count[1]; i++)
		ucma_fake_tick(&fake, 0);
	event(1, REQUEST, 0, 0);
	assert_int_equal(destroy(1, listener), 0);
}

static void test_listener_ends(void **state)
{
	struct pair p = asked(RDMA_PS_TCP, 7000);
	uint32_t second = routed(2, 21, RDMA_PS_TCP, 7000);

	/* The first request is in the program's hands, the second one is not. */
	assert_int_equal(query(1, p.child, RDMA_USER_CM_QUERY_ADDR, sizeof(struct rdma_ucm_query_addr_resp)), 0);
	assert_int_equal(connect_to(2, second, 0), 0);
	uint32_t untaken = event(1, REQUEST, 0, 0).id, before = fake.u->count;
	assert_int_equal(destroy(1, p.listener), 0);
	event(2, REJECTED, second, 28);
	assert_int_equal(fake.u->count, before - 2);
	assert_int_equal(destroy(1, untaken), ENOENT);
	assert_int_equal(accept_with(1, p.child, 11, 0), 0);
	event(2, RESPONSE, p.client, 0);
}

/* --- ends --- */

static void test_removal(void **state)
{
	struct pair p = connected(7000);
	uint32_t unbound = create(3, 30, RDMA_PS_TCP);

	broker_ucma_netdev_changed(fake.u, ~0ull); /* still there */
	no_event(1);
	fake.table.devices[0].ifindex = 0;
	broker_ucma_netdev_changed(fake.u, 2);
	no_event(1);
	broker_ucma_netdev_changed(fake.u, 1);
	event(2, REMOVAL, p.client, 0);
	no_event(2);
	assert_int_equal(fake.event_count[1] - fake.event_read[1], 2); /* listener and child */
	no_event(3);
	broker_ucma_netdev_changed(fake.u, 1); /* told once */
	no_event(2);
	assert_int_equal(bind_to(3, unbound, "127.0.0.1", 0), EADDRNOTAVAIL);
}

static void test_death(void **state)
{
	struct pair p = connected(7000);
	uint32_t waiting = routed(2, 21, RDMA_PS_TCP, 7000);

	assert_int_equal(connect_to(2, waiting, 0), 0);
	assert_false(broker_ucma_is_idle(fake.u));
	broker_ucma_gone(fake.u, 1);
	/* Slot 2 hears of both, and its ids are its own still. */
	unsigned told = 0;
	while (fake.event_read[2] < fake.event_count[2]) {
		const struct rdma_ucm_event_resp *e = &fake.events[2][fake.event_read[2]++ % UCMA_FAKE_EVENTS];

		told += (e->id == p.client && e->event == DISCONNECTED) || (e->id == waiting && e->event == REJECTED);
	}
	assert_int_equal(told, 2);
	assert_int_equal(fake.u->count, 2);
	assert_int_equal(destroy(2, p.client), 0);
	assert_int_equal(destroy(2, waiting), 0);
	assert_true(broker_ucma_is_idle(fake.u));
}

/* A peer on another host that does not answer is owed its DREQ: the broker stays for it. */
static void test_owed_dreq(void **state)
{
	struct pair p = connected(7000);
	struct cm_saved saved;
	struct cm_ref ref;

	assert_int_equal(cm_save(fake.u->cm, ucma_find(fake.u, 2, p.client)->ref, &saved), 0);
	broker_ucma_gone(fake.u, 2);
	broker_ucma_gone(fake.u, 1);
	pass();
	saved.path.local = false;
	assert_int_equal(cm_adopt(fake.u->cm, 3, 0, &saved, &ref), 0);
	broker_ucma_gone(fake.u, 3);
	assert_true(fake.transmitted > 0);
	assert_false(broker_ucma_is_idle(fake.u));
	unsigned before = fake.transmitted;
	ucma_fake_tick(&fake, 0);
	assert_int_equal(fake.transmitted, before + 1);
}

static void test_limits_of_one_client(void **state)
{
	struct cm_config config = cm_config_fast;
	uint32_t id;

	ucma_fake_stop(&fake);
	config.ids = 8;
	config.ids_per_owner = 5;
	config.backlog = 4;
	ucma_fake_start(&fake, &config);
	for (int i = 0; i < 5; i++)
		assert_int_equal(create_status(1, 1, RDMA_PS_TCP, 0, &id), 0);
	assert_int_equal(create_status(1, 1, RDMA_PS_TCP, 0, &id), ENOMEM);
	assert_int_equal(create_status(2, 1, RDMA_PS_TCP, 0, &id), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_commands_have_their_length), TEST(test_short_forms_of_old_programs), TEST(test_headers),
		TEST(test_port_spaces), TEST(test_bind_errors), TEST(test_wrong_states), TEST(test_resolve_errors),
		TEST(test_route_errors), TEST(test_connection), TEST(test_private_data_limits), TEST(test_datagrams),
		TEST(test_reject_reasons), TEST(test_options), TEST(test_queries), TEST(test_notify), TEST(test_backlog),
		TEST(test_listener_ends), TEST(test_removal), TEST(test_death), TEST(test_owed_dreq),
		TEST(test_limits_of_one_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
