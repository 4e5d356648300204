/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The CM engine between a fuzzed program and a fuzzed network: calls in any state, messages that name ids it has or has not,
 * its own messages back to it, and time. After every step it must be sound; at the end, when all owners are gone and time has
 * passed, empty.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cm/cm.h"
#include "cm/ip_header.h"
#include "fuzz/rc_input.h"

enum { REFS = 16, KEPT = 8 };

struct state {
	struct cm *cm;
	uint64_t now;
	struct cm_ref refs[REFS];
	uint32_t num_refs;
	struct cm_send kept[KEPT];
	uint32_t num_kept;
	struct rc_input in;
};

static const struct cm_ip here = { .family = CM_IPV4, .bytes = { 192, 0, 2, 1 } };
static const struct cm_ip there = { .family = CM_IPV4, .bytes = { 192, 0, 2, 2 } };

static struct cm_path path(bool local)
{
	struct cm_path p = { .port = { 1, 0x11, 15 }, .local = local, .peer = { local ? 1 : 2, local ? 0x11 : 0x22, 15 }, .gid_type = 2,
			     .gsi_qpn = 1, .hop_limit = 64, .pkey = 0xffff, .mtu = 3, .life_time = 8 };

	p.sgid = wire_gid_from_ipv4(here.bytes);
	p.dgid = wire_gid_from_ipv4(local ? here.bytes : there.bytes);
	return p;
}

static void keep(struct state *s, struct cm_ref ref)
{
	s->refs[s->num_refs++ % REFS] = ref;
}

static struct cm_ref some(struct state *s)
{
	uint8_t which = in_u8(&s->in);

	return which == 255 ? (struct cm_ref){ in_u32(&s->in) } : s->refs[which % REFS];
}

static void pump(struct state *s)
{
	struct cm_event event;
	struct cm_send send;
	struct cm_message m;

	while (cm_message_next(s->cm, &send)) {
		assert(!send.path.local && cm_message_decode(&m, send.mad, sizeof(send.mad)) == 0);
		s->kept[s->num_kept++ % KEPT] = send;
	}
	while (cm_event_next(s->cm, &event)) {
		struct cm_info info;

		assert(event.private_len <= CM_PRIVATE_MAX && event.info_len <= CM_ARI_BYTES && event.owner);
		assert(cm_id_info(s->cm, event.id, &info) == 0 && info.owner == event.owner);
		if (event.type == CM_EVENT_CONNECT_REQUEST)
			keep(s, event.id);
	}
}

/* One of its own messages comes back, as sent or turned around, with bytes changed. */
static void echo(struct state *s)
{
	struct cm_send *send = &s->kept[in_u8(&s->in) % KEPT];
	uint8_t mad[CM_MAD_BYTES];
	struct cm_path from = path(false);
	uint8_t how = in_u8(&s->in);
	struct cm_message m;

	memcpy(mad, send->mad, sizeof(mad));
	if ((how & 1) && cm_message_decode(&m, mad, sizeof(mad)) == 0) {
		uint32_t local = m.rep.local_id;

		/* What the peer would say: its own id, and ours as the remote one. */
		m.kind = (enum cm_message_kind)(CM_REQ + in_u8(&s->in) % CM_MESSAGE_KINDS);
		if (m.kind != CM_REQ && m.kind != CM_SIDR_REQ && m.kind != CM_SIDR_REP) {
			m.rep.local_id = how & 2 ? m.rep.remote_id : in_u8(&s->in);
			m.rep.remote_id = local;
		}
		cm_message_encode(mad, &m);
	}
	for (uint8_t n = how >> 5; n; n--)
		mad[in_u8(&s->in)] = in_u8(&s->in);
	cm_receive(s->cm, s->now, &from, mad, sizeof(mad));
}

static void request(struct state *s)
{
	struct cm_ip_header header = { { there, in_u8(&s->in) }, here };
	struct cm_message m;
	struct cm_path from = path(false);
	uint8_t mad[CM_MAD_BYTES];

	memset(&m, 0, sizeof(m));
	m.kind = in_u8(&s->in) & 3 ? CM_REQ : CM_SIDR_REQ;
	m.tid = in_u8(&s->in);
	if (m.kind == CM_REQ) {
		m.req.local_id = in_u8(&s->in);
		m.req.ca_guid = 0x22;
		m.req.qpn = in_u8(&s->in);
		m.req.service_id = cm_service_id(CM_PS_TCP, 1 + in_u8(&s->in) % 4);
		m.req.mtu = in_u8(&s->in) < 250 ? 3 : 9;
		m.req.local_timeout = in_u8(&s->in);
		m.req.max_cm_retries = 3;
		m.req.primary.local_gid = from.dgid;
		m.req.primary.ack_timeout = in_u8(&s->in);
		m.req.transport = in_u8(&s->in) < 200 ? 0 : in_u8(&s->in);
		cm_ip_header_encode(m.req.private_data, &header);
	} else {
		m.sidr_req.request_id = in_u8(&s->in);
		m.sidr_req.service_id = cm_service_id(CM_PS_UDP, 1 + in_u8(&s->in) % 4);
		cm_ip_header_encode(m.sidr_req.private_data, &header);
	}
	cm_message_encode(mad, &m);
	cm_receive(s->cm, s->now, &from, mad, sizeof(mad));
}

static void create(struct state *s)
{
	uint8_t how = in_u8(&s->in);
	struct cm_ref ref;

	if (cm_id_create(s->cm, 1 + how % 3, how, how & 64 ? CM_PS_UDP : CM_PS_TCP, how & 64 ? CM_QP_UD : CM_QP_RC, &ref) == 0)
		keep(s, ref);
}

static void address(struct state *s)
{
	uint8_t how = in_u8(&s->in);
	struct cm_address a = { how & 1 ? here : (struct cm_ip){ .family = how & 2 ? CM_IPV4 : CM_IPV6 }, in_u8(&s->in) % 5 };
	struct cm_address to = { how & 4 ? here : there, 1 + in_u8(&s->in) % 4 };
	struct cm_ref ref = some(s);

	if (how & 8)
		cm_bind(s->cm, ref, &a, how >> 4);
	if (how & 16)
		cm_resolve(s->cm, ref, &here, &to);
	if (how & 32)
		cm_listen(s->cm, ref, how >> 6);
}

static void call(struct state *s)
{
	static const uint8_t data[CM_ROOM_REP + 1];
	struct cm_connect connect = { .conn.qpn = in_u8(&s->in), .ece = { in_u8(&s->in), 3 }, .path = path(in_u8(&s->in) & 1),
				      .private_data = data, .private_len = in_u8(&s->in) % 60 };
	struct cm_accept accept = { .conn.qpn = in_u8(&s->in), .private_data = data, .private_len = in_u8(&s->in) % sizeof(data) };
	struct cm_ref ref = some(s);
	struct cm_qp_attr attr;
	struct cm_saved saved;

	switch (in_u8(&s->in) % 10) {
	case 0:
	case 1:
		cm_connect(s->cm, s->now, ref, &connect);
		return;
	case 2:
	case 3:
		cm_accept(s->cm, s->now, ref, &accept);
		return;
	case 4:
		cm_establish(s->cm, s->now, ref);
		return;
	case 5:
		cm_reject(s->cm, s->now, ref, in_u8(&s->in), data, in_u8(&s->in));
		return;
	case 6:
		cm_disconnect(s->cm, s->now, ref);
		return;
	case 7:
		cm_notify(s->cm, s->now, ref);
		return;
	case 8:
		cm_qp_attr(s->cm, ref, (enum cm_qp_state)(in_u8(&s->in) % 5), &attr);
		cm_request_taken(s->cm, ref);
		return;
	case 9:
		if (cm_save(s->cm, ref, &saved) == 0) {
			assert(cm_adopt(s->cm, 2, 0, &saved, &ref) == BASE_ERR_EXISTS);
			cm_id_destroy(s->cm, s->now, ref);
			saved.local_id ^= in_u8(&s->in);
			saved.remote_id ^= in_u8(&s->in);
			saved.remote_qpn ^= in_u8(&s->in);
			if (cm_adopt(s->cm, 2, 0, &saved, &ref) == 0)
				keep(s, ref);
		}
		return;
	}
}

static void step(struct state *s)
{
	uint8_t nonsense[CM_MAD_BYTES + 8];
	struct cm_path from = path(false);

	switch (in_u8(&s->in) % 12) {
	case 0:
	case 1:
		create(s);
		break;
	case 2:
	case 3:
		address(s);
		break;
	case 4:
	case 5:
	case 6:
		call(s);
		break;
	case 7:
		request(s);
		break;
	case 8:
	case 9:
		echo(s);
		break;
	case 10:
		s->now = in_u8(&s->in) & 1 && cm_deadline(s->cm) != BASE_NEVER ? cm_deadline(s->cm) : s->now + in_u16(&s->in) * BASE_MSEC;
		cm_tick(s->cm, s->now);
		break;
	case 11:
		if (in_u8(&s->in) < 200) {
			cm_id_destroy(s->cm, s->now, some(s));
		} else if (in_u8(&s->in) < 128) {
			cm_owner_gone(s->cm, s->now, 1 + in_u8(&s->in) % 3);
		} else {
			for (size_t i = 0; i < sizeof(nonsense); i++)
				nonsense[i] = in_u8(&s->in);
			cm_receive(s->cm, s->now, &from, nonsense, in_u16(&s->in) % sizeof(nonsense));
		}
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cm_config config = cm_config_fast;
	struct state s = { .in = { data, size } };
	void *memory;

	config.ids = 24;
	config.ids_per_owner = 16;
	config.backlog = 4;
	config.answers = 4;
	memory = calloc(1, cm_bytes(&config));
	if (memory == NULL)
		abort();
	s.cm = cm_init(memory, &config, NULL, NULL, 1);
	while (s.in.left) {
		step(&s);
		assert(cm_is_sound(s.cm));
		if (in_u8(&s.in) & 3)
			pump(&s);
		assert(cm_is_sound(s.cm));
	}
	for (uint32_t owner = 1; owner <= 3; owner++)
		cm_owner_gone(s.cm, s.now, owner);
	pump(&s);
	for (int i = 0; i < 4000 && cm_deadline(s.cm) != BASE_NEVER; i++) {
		s.now = cm_deadline(s.cm) > s.now ? cm_deadline(s.cm) : s.now;
		cm_tick(s.cm, s.now);
		pump(&s);
	}
	assert(cm_stats_get(s.cm)->ids == 0 && cm_is_sound(s.cm));
	free(memory);
	return 0;
}
