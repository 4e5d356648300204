/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager as hostile clients see it: commands, true ones and garbage, of three clients; kept bytes that come back
 * damaged; MADs; deaths, of clients and of the broker; time. After each step the engine is sound (broker/ucma_fake.h); at the
 * end, when all clients are gone and time has passed, nothing is left.
 */
#include <stdint.h>

#include "broker/ucma_fake.h"
#include "broker/gsi.h"
#include "cm/ip_header.h"
#include "rc_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IDS = 8 };

struct state {
	struct rc_input in;
	struct cm_config config;
	uint32_t ids[UCMA_FAKE_SLOTS][IDS]; /* that the client made or was told of */
	unsigned id_count[UCMA_FAKE_SLOTS];
};

static struct ucma_fake fake;

static uint8_t some_slot(struct state *s)
{
	return (uint8_t)(1 + in_u8(&s->in) % (UCMA_FAKE_SLOTS - 1));
}

static void id_note(struct state *s, uint8_t slot, uint32_t id)
{
	s->ids[slot][s->id_count[slot]++ % IDS] = id;
}

/* Mostly one of its own. */
static uint32_t some_id(struct state *s, uint8_t slot)
{
	uint8_t which = in_u8(&s->in);

	return which >= 250 ? in_u32(&s->in) : s->ids[slot][which % IDS];
}

/* What requests brought. */
static void events_read(struct state *s)
{
	for (uint8_t slot = 1; slot < UCMA_FAKE_SLOTS; slot++) {
		for (; fake.event_read[slot] < fake.event_count[slot]; fake.event_read[slot]++) {
			const struct rdma_ucm_event_resp *e = &fake.events[slot][fake.event_read[slot] % UCMA_FAKE_EVENTS];

			if (e->event == CM_EVENT_CONNECT_REQUEST)
				id_note(s, slot, e->id);
		}
	}
}

static int command(uint8_t slot, uint32_t cmd, const void *body, size_t len, uint16_t room)
{
	uint8_t bytes[IPC_CM_MAX];
	const struct rdma_ucm_cmd_hdr header = { .cmd = cmd, .in = (uint16_t)len, .out = room };

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), body, len);
	return ucma_fake_raw(&fake, slot, bytes, (uint32_t)(sizeof(header) + len));
}

static void create(struct state *s, uint8_t slot)
{
	static const uint16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, RDMA_PS_IPOIB };
	uint8_t how = in_u8(&s->in);
	const struct rdma_ucm_create_id in = { .uid = how & 0x0f, .ps = spaces[how >> 6], .qp_type = how >> 4 & 7 };

	if (command(slot, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(struct rdma_ucm_create_id_resp)) == 0)
		id_note(s, slot, ((const struct rdma_ucm_create_id_resp *)(const void *)fake.answer)->id);
}

static void address(struct state *s, void *out, uint16_t *len)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(7000 + in_u8(&s->in) % 4)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = four.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	uint8_t how = in_u8(&s->in);

	if (how & 1)
		four.sin_addr.s_addr = 0;
	if (how & 2)
		four.sin_port = 0;
	*len = how > 240 ? sizeof(six) : sizeof(four);
	memcpy(out, how > 240 ? (const void *)&six : &four, *len);
}

/* The way of a connection, or any piece of it. */
static void known(struct state *s, uint8_t slot)
{
	union {
		struct rdma_ucm_bind bind;
		struct rdma_ucm_resolve_addr resolve;
		struct rdma_ucm_resolve_route route;
		struct rdma_ucm_listen listen;
		struct rdma_ucm_connect connect;
		struct rdma_ucm_accept accept;
		struct rdma_ucm_reject reject;
		struct rdma_ucm_disconnect disconnect;
		struct rdma_ucm_destroy_id destroy;
		struct rdma_ucm_init_qp_attr attr;
		struct rdma_ucm_notify notify;
		struct rdma_ucm_query query;
	} c;
	const uint32_t id = some_id(s, slot);

	memset(&c, 0, sizeof(c));
	switch (in_u8(&s->in) % 14) {
	case 0:
		c.bind.id = id;
		address(s, &c.bind.addr, &c.bind.addr_size);
		command(slot, RDMA_USER_CM_CMD_BIND, &c, sizeof(c.bind), 0);
		break;
	case 1:
	case 2:
		c.resolve.id = id;
		address(s, &c.resolve.dst_addr, &c.resolve.dst_size);
		command(slot, RDMA_USER_CM_CMD_RESOLVE_ADDR, &c, sizeof(c.resolve), 0);
		c.route.id = id;
		c.route.timeout_ms = 1;
		command(slot, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &c, sizeof(c.route), 0);
		break;
	case 3:
		c.listen.id = id;
		c.listen.backlog = in_u8(&s->in) % 3;
		command(slot, RDMA_USER_CM_CMD_LISTEN, &c, sizeof(c.listen), 0);
		break;
	case 4:
	case 5:
		c.connect.id = id;
		c.connect.conn_param.valid = 1;
		c.connect.conn_param.qp_num = in_u8(&s->in);
		c.connect.conn_param.private_data_len = in_u8(&s->in) % 60;
		c.connect.ece.vendor_id = in_u8(&s->in);
		command(slot, RDMA_USER_CM_CMD_CONNECT, &c, sizeof(c.connect), 0);
		break;
	case 6:
	case 7:
		c.accept.id = id;
		c.accept.uid = in_u8(&s->in);
		c.accept.conn_param.valid = in_u8(&s->in) & 1;
		c.accept.conn_param.qp_num = in_u8(&s->in);
		c.accept.conn_param.private_data_len = in_u8(&s->in);
		command(slot, RDMA_USER_CM_CMD_ACCEPT, &c, sizeof(c.accept), 0);
		break;
	case 8:
		c.reject.id = id;
		c.reject.reason = in_u8(&s->in) & 1 ? 35 : 0;
		c.reject.private_data_len = in_u8(&s->in);
		command(slot, RDMA_USER_CM_CMD_REJECT, &c, sizeof(c.reject), 0);
		break;
	case 9:
		c.disconnect.id = id;
		command(slot, RDMA_USER_CM_CMD_DISCONNECT, &c, sizeof(c.disconnect), 0);
		break;
	case 10:
		c.destroy.id = id;
		command(slot, RDMA_USER_CM_CMD_DESTROY_ID, &c, sizeof(c.destroy), sizeof(struct rdma_ucm_destroy_id_resp));
		break;
	case 11:
		c.attr.id = id;
		c.attr.qp_state = in_u8(&s->in) % 5;
		command(slot, RDMA_USER_CM_CMD_INIT_QP_ATTR, &c, sizeof(c.attr), sizeof(struct ib_uverbs_qp_attr));
		break;
	case 12:
		c.notify.id = id;
		c.notify.event = 4;
		command(slot, RDMA_USER_CM_CMD_NOTIFY, &c, sizeof(c.notify), 0);
		break;
	default:
		c.query.id = id;
		c.query.option = in_u8(&s->in) % 4;
		command(slot, in_u8(&s->in) & 1 ? RDMA_USER_CM_CMD_QUERY : RDMA_USER_CM_CMD_QUERY_ROUTE, &c, sizeof(c.query), in_u16(&s->in));
		break;
	}
}

/* Any command, or what looks like one. */
static void garbage(struct state *s, uint8_t slot)
{
	uint8_t bytes[IPC_CM_MAX] = { 0 };
	struct rdma_ucm_cmd_hdr header = { .cmd = in_u8(&s->in) % 26, .in = in_u8(&s->in), .out = in_u16(&s->in) };
	uint32_t len = in_u8(&s->in), id = some_id(s, slot);

	header.in = header.in < 240 ? (uint16_t)len : in_u16(&s->in);
	memcpy(bytes, &header, sizeof(header));
	for (uint32_t i = 0; i < len && s->in.left > 0; i++)
		bytes[sizeof(header) + i] = in_u8(&s->in);
	if (in_u8(&s->in) & 3)
		memcpy(bytes + sizeof(header) + (in_u8(&s->in) & 1 ? 0 : 272), &id, sizeof(id));
	ucma_fake_raw(&fake, slot, bytes, in_u8(&s->in) > 250 ? len % 9 : len + (uint32_t)sizeof(header));
}

/* Of another host, or of nobody. */
static void mad(struct state *s)
{
	uint8_t bytes[CM_MAD_BYTES] = { 0 };
	struct cm_path from = { .port = broker_port_of(&fake.table, 0), .gid_type = WIRE_GID_ROCE_V2, .gsi_qpn = 1, .hop_limit = 64,
		.pkey = 0xffff, .mtu = 5, .life_time = 8, .sgid = fake.table.devices[0].gids[1].gid, .dgid = wire_gid_from_ipv4((const
		uint8_t[]){ 192, 0, 2, 1 }) };
	struct cm_message m;

	if (in_u8(&s->in) < 64) { /* back to where it came from, changed */
		memcpy(bytes, fake.last.mad, sizeof(bytes));
	} else {
		const struct cm_ip_header header = { { { .family = CM_IPV4, .bytes = { 192, 0, 2, 1 } }, 9 },
			{ .family = CM_IPV4, .bytes = { 127, 0, 0, 1 } } };

		memset(&m, 0, sizeof(m));
		m.kind = in_u8(&s->in) & 1 ? CM_REQ : CM_SIDR_REQ;
		m.tid = in_u8(&s->in);
		if (m.kind == CM_REQ) {
			m.req.local_id = in_u8(&s->in);
			m.req.ca_guid = 0x22;
			m.req.qpn = in_u8(&s->in);
			m.req.service_id = cm_service_id(CM_PS_TCP, (uint16_t)(7000 + in_u8(&s->in) % 4));
			m.req.mtu = 3;
			m.req.local_timeout = 10;
			m.req.max_cm_retries = 3;
			m.req.primary.local_gid = from.dgid;
			cm_ip_header_encode(m.req.private_data, &header);
		} else {
			m.sidr_req.request_id = in_u8(&s->in);
			m.sidr_req.service_id = cm_service_id(CM_PS_UDP, (uint16_t)(7000 + in_u8(&s->in) % 4));
			cm_ip_header_encode(m.sidr_req.private_data, &header);
		}
		cm_message_encode(bytes, &m);
	}
	for (uint8_t n = in_u8(&s->in) >> 5; n > 0; n--)
		bytes[in_u8(&s->in)] = in_u8(&s->in);
	broker_ucma_receive(fake.u, &from, bytes, in_u8(&s->in) > 250 ? in_u8(&s->in) : sizeof(bytes));
}

static void adopt(struct state *s)
{
	struct ucma_fake_kept kept = fake.kept[in_u8(&s->in) % UCMA_FAKE_KEPT];

	if (kept.len == 0)
		return;
	for (uint8_t n = in_u8(&s->in) >> 5; n > 0; n--)
		kept.bytes[in_u16(&s->in) % kept.len] = in_u8(&s->in);
	ucma_fake_adopt(&fake, in_u8(&s->in) & 1 ? kept.slot : some_slot(s), in_u8(&s->in) & 3 ? kept.id : in_u8(&s->in), kept.bytes,
			kept.len);
}

static void step(struct state *s)
{
	uint8_t slot = some_slot(s);

	switch (in_u8(&s->in) % 16) {
	case 0:
	case 1:
		create(s, slot);
		break;
	case 2:
		garbage(s, slot);
		break;
	case 3:
		mad(s);
		break;
	case 4:
		if (in_u8(&s->in) < 64) {
			/* The next hop becomes known, unknown, or there is no way. */
			fake.neighbour = (const int[]){ BASE_OK, BASE_ERR_AGAIN, BASE_ERR_UNREACH }[in_u8(&s->in) % 3];
			broker_ucma_neighbour_changed(fake.u, 0, &(struct wire_gid){ { 0 } });
			break;
		}
		ucma_fake_tick(&fake, in_u8(&s->in) & 1 ? 0 : in_u16(&s->in) * BASE_MSEC);
		break;
	case 5:
		if (in_u8(&s->in) < 64)
			broker_ucma_gone(fake.u, slot);
		else if (in_u8(&s->in) < 128)
			fake.table.devices[0].ifindex ^= 1, broker_ucma_netdev_changed(fake.u, 1);
		else
			adopt(s);
		break;
	case 6:
		if (in_u8(&s->in) < 32) {
			ucma_fake_restart(&fake, &s->config);
			if (in_u8(&s->in) & 1)
				ucma_fake_adopt_all(&fake);
		}
		break;
	default:
		known(s, slot);
		break;
	}
	ucma_fake_check(&fake);
	events_read(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s = { .in = { data, size }, .config = cm_config_fast };

	s.config.ids = 32;
	s.config.ids_per_owner = 16;
	s.config.backlog = 4;
	s.config.answers = 4;
	ucma_fake_start(&fake, &s.config);
	while (s.in.left > 0)
		step(&s);
	ucma_fake_stop(&fake);
	return 0;
}
