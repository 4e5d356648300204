/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands, events and connections in few words, for the tests of ucma. Include once per program. */
#ifndef BROKER_UCMA_FAKE_CALLS_H
#define BROKER_UCMA_FAKE_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "broker/ucma_fake.h"

enum { ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR, REQUEST, RESPONSE, CONNECT_ERROR, UNREACHABLE, REJECTED, ESTABLISHED,
	DISCONNECTED, REMOVAL, TIMEWAIT_EXIT = 15 };

static struct ucma_fake fake;

static inline int start(void **state)
{
	ucma_fake_start(&fake, &cm_config_fast);
	return 0;
}

static inline int stop(void **state)
{
	ucma_fake_stop(&fake);
	return 0;
}

/* --- commands in few words --- */

static inline int call_with(uint8_t slot, uint32_t cmd, const void *in, size_t len, const void *more, size_t more_len, size_t room)
{
	_Alignas(8) uint8_t bytes[IPC_CM_MAX] = { 0 };
	const struct rdma_ucm_cmd_hdr header = { .cmd = cmd, .in = (uint16_t)(len + more_len), .out = (uint16_t)room };

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), in, len);
	if (more_len > 0)
		memcpy(bytes + sizeof(header) + len, more, more_len);
	return ucma_fake_raw(&fake, slot, bytes, (uint32_t)(sizeof(header) + len + more_len));
}

static inline int call(uint8_t slot, uint32_t cmd, const void *in, size_t len, size_t room)
{
	return call_with(slot, cmd, in, len, NULL, 0, room);
}

static inline int create_status(uint8_t slot, uint64_t uid, uint16_t ps, uint8_t type, uint32_t *id)
{
	const struct rdma_ucm_create_id in = { .uid = uid, .ps = ps, .qp_type = type };
	int err = call(slot, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(struct rdma_ucm_create_id_resp));

	if (err == 0)
		*id = ((struct rdma_ucm_create_id_resp *)(void *)fake.answer)->id;
	return err;
}

static inline uint32_t create(uint8_t slot, uint64_t uid, uint16_t ps)
{
	uint32_t id = 0;

	assert_int_equal(create_status(slot, uid, ps, 0, &id), 0);
	assert_int_not_equal(id, 0);
	return id;
}

static inline int destroy(uint8_t slot, uint32_t id)
{
	const struct rdma_ucm_destroy_id in = { .id = id };

	return call(slot, RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(struct rdma_ucm_destroy_id_resp));
}

static inline struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in out = { .sin_family = AF_INET, .sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, text, &out.sin_addr), 1);
	return out;
}

static inline int bind_raw(uint8_t slot, uint32_t id, const void *address, uint16_t size)
{
	struct rdma_ucm_bind in = { .id = id, .addr_size = size };

	memcpy(&in.addr, address, size);
	return call(slot, RDMA_USER_CM_CMD_BIND, &in, sizeof(in), 0);
}

static inline int bind_to(uint8_t slot, uint32_t id, const char *text, uint16_t port)
{
	const struct sockaddr_in address = address_of(text, port);

	return bind_raw(slot, id, &address, sizeof(address));
}

static inline int bind_to6(uint8_t slot, uint32_t id, const char *text, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope };

	assert_int_equal(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
	return bind_raw(slot, id, &address, sizeof(address));
}

static inline int resolve(uint8_t slot, uint32_t id, const char *text, uint16_t port)
{
	struct rdma_ucm_resolve_addr in = { .id = id, .timeout_ms = 1000, .dst_size = sizeof(struct sockaddr_in) };
	const struct sockaddr_in to = address_of(text, port);

	memcpy(&in.dst_addr, &to, sizeof(to));
	return call(slot, RDMA_USER_CM_CMD_RESOLVE_ADDR, &in, sizeof(in), 0);
}

static inline int route(uint8_t slot, uint32_t id, uint32_t timeout_ms)
{
	const struct rdma_ucm_resolve_route in = { .id = id, .timeout_ms = timeout_ms };

	return call(slot, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &in, sizeof(in), 0);
}

static inline int listen_on(uint8_t slot, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen in = { .id = id, .backlog = backlog };

	return call(slot, RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

static inline struct rdma_ucm_conn_param param(uint8_t private_len)
{
	struct rdma_ucm_conn_param out = { .valid = 1, .qp_num = 0x11, .private_data_len = private_len, .responder_resources = 3,
		.initiator_depth = 5, .retry_count = 7, .rnr_retry_count = 6 };

	memset(out.private_data, 0xab, private_len);
	return out;
}

static inline int connect_to(uint8_t slot, uint32_t id, uint8_t private_len)
{
	struct rdma_ucm_connect in = { .id = id, .conn_param = param(private_len), .ece = { 0x123456, 0x77 } };

	in.conn_param.qp_num = 0x1000 + id + slot * 0x100; /* two connections of one QP are a stale one */
	return call(slot, RDMA_USER_CM_CMD_CONNECT, &in, sizeof(in), 0);
}

static inline int accept_with(uint8_t slot, uint32_t id, uint64_t uid, uint8_t private_len)
{
	const struct rdma_ucm_accept in = { .id = id, .uid = uid, .conn_param = param(private_len), .ece = { 0x123456, 0x66 } };

	return call(slot, RDMA_USER_CM_CMD_ACCEPT, &in, sizeof(in), 0);
}

static inline int establish(uint8_t slot, uint32_t id)
{
	const struct rdma_ucm_accept in = { .id = id };

	return call(slot, RDMA_USER_CM_CMD_ACCEPT, &in, sizeof(in), 0);
}

static inline int reject(uint8_t slot, uint32_t id, uint8_t reason, uint8_t private_len)
{
	struct rdma_ucm_reject in = { .id = id, .reason = reason, .private_data_len = private_len };

	memset(in.private_data, 0xcd, private_len);
	return call(slot, RDMA_USER_CM_CMD_REJECT, &in, sizeof(in), 0);
}

static inline int disconnect(uint8_t slot, uint32_t id)
{
	const struct rdma_ucm_disconnect in = { .id = id };

	return call(slot, RDMA_USER_CM_CMD_DISCONNECT, &in, sizeof(in), 0);
}

static inline int qp_attr(uint8_t slot, uint32_t id, uint32_t qp_state)
{
	const struct rdma_ucm_init_qp_attr in = { .id = id, .qp_state = qp_state };

	return call(slot, RDMA_USER_CM_CMD_INIT_QP_ATTR, &in, sizeof(in), sizeof(struct ib_uverbs_qp_attr));
}

static inline int option(uint8_t slot, uint32_t id, uint32_t level, uint32_t name, const void *value, uint32_t len)
{
	const struct rdma_ucm_set_option in = { .id = id, .level = level, .optname = name, .optlen = len };

	return call_with(slot, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), value, len, 0);
}

static inline int query(uint8_t slot, uint32_t id, uint32_t what, size_t room)
{
	const struct rdma_ucm_query in = { .id = id, .option = what };

	return call(slot, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), room);
}

/* The oldest event of the slot that was not looked at; it must be this one. */
static inline struct rdma_ucm_event_resp event(uint8_t slot, uint32_t type, uint32_t id, int status)
{
	if (fake.event_read[slot] >= fake.event_count[slot])
		fail_msg("no event %u", type);
	const struct rdma_ucm_event_resp e = fake.events[slot][fake.event_read[slot]++ % UCMA_FAKE_EVENTS];

	assert_int_equal(e.event, type);
	if (id != 0)
		assert_int_equal(e.id, id);
	assert_int_equal((int)e.status, status);
	return e;
}

/* Time, until nobody waits for it. */
static inline void pass(void)
{
	while (broker_ucma_deadline(fake.u) != BASE_NEVER)
		ucma_fake_tick(&fake, 0);
}

static inline void no_event(uint8_t slot)
{
	assert_int_equal(fake.event_read[slot], fake.event_count[slot]);
}

/* --- connections in few words: slot 1 serves with uid 10, slot 2 asks with uid 20 --- */

static inline uint32_t server(uint16_t ps, uint16_t port, uint32_t backlog)
{
	uint32_t id = create(1, 10, ps);

	assert_int_equal(bind_to(1, id, "127.0.0.1", port), 0);
	assert_int_equal(listen_on(1, id, backlog), 0);
	return id;
}

static inline uint32_t routed(uint8_t slot, uint64_t uid, uint16_t ps, uint16_t port)
{
	uint32_t id = create(slot, uid, ps);

	assert_int_equal(resolve(slot, id, "127.0.0.1", port), 0);
	event(slot, ADDR_RESOLVED, id, 0);
	assert_int_equal(route(slot, id, 1000), 0);
	event(slot, ROUTE_RESOLVED, id, 0);
	return id;
}

struct pair {
	uint32_t listener, child, client;
};

static inline struct pair asked(uint16_t ps, uint16_t port)
{
	struct pair p = { .listener = server(ps, port, 0), .client = routed(2, 20, ps, port) };

	assert_int_equal(connect_to(2, p.client, 5), 0);
	p.child = event(1, REQUEST, 0, 0).id;
	return p;
}

static inline struct pair connected(uint16_t port)
{
	struct pair p = asked(RDMA_PS_TCP, port);

	assert_int_equal(accept_with(1, p.child, 11, 3), 0);
	event(2, RESPONSE, p.client, 0);
	assert_int_equal(establish(2, p.client), 0);
	event(1, ESTABLISHED, p.child, 0);
	return p;
}

#endif
