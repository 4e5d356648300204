/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/cm_net.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void cm_net_init(struct cm_net *net, uint64_t seed)
{
	memset(net, 0, sizeof(*net));
	net->random.state = seed;
	net->delay_ns = BASE_MSEC;
}

void cm_net_fini(struct cm_net *net)
{
	for (uint32_t i = 0; i < net->num_hosts; i++)
		free(net->hosts[i].memory);
	free(net->heap);
}

static void start(struct cm_net_host *host)
{
	memset(host->memory, 0, cm_bytes(&host->config));
	host->cm = cm_init(host->memory, &host->config, NULL, NULL, base_random_next(&host->net->random));
	if (host->cm == NULL)
		abort();
}

struct cm_net_host *cm_net_host_add(struct cm_net *net, const char *name, const struct cm_config *config)
{
	uint32_t number = net->num_hosts++;
	struct cm_net_host *host = &net->hosts[number];

	*host = (struct cm_net_host){ .net = net, .name = name, .config = *config, .memory = malloc(cm_bytes(config)) };
	if (host->memory == NULL)
		abort();
	host->port = (struct cm_port){ .number = number, .node_guid = 0x0200000000000000ull + number, .ack_delay = 15 };
	host->ip = (struct cm_ip){ .family = CM_IPV4, .bytes = { 192, 0, 2, (uint8_t)(1 + number) } };
	host->gid = wire_gid_from_ipv4(host->ip.bytes);
	start(host);
	return host;
}

void cm_net_host_restart(struct cm_net_host *host)
{
	start(host);
}

struct cm_path cm_net_path(const struct cm_net_host *from, const struct cm_net_host *to)
{
	return (struct cm_path){
		.port = from->port,
		.local = from == to,
		.peer = to->port,
		.gid_type = WIRE_GID_ROCE_V2,
		.sgid = from->gid,
		.dgid = to->gid,
		.gsi_qpn = 1,
		.hop_limit = 64,
		.pkey = 0xffff,
		.mtu = 3,
		.life_time = 8,
	};
}

void cm_net_say(struct cm_net *net, const char *format, ...)
{
	char text[256];
	va_list args;
	int len;

	if (net->line == NULL)
		return;
	len = snprintf(text, sizeof(text), "%9.3f  ", (double)net->now / BASE_MSEC);
	va_start(args, format);
	vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
	va_end(args);
	net->line(net, text);
}

const char *cm_net_event_text(const struct cm_event *event)
{
	switch (event->type) {
	case CM_EVENT_CONNECT_REQUEST:
		return "CONNECT_REQUEST";
	case CM_EVENT_CONNECT_RESPONSE:
		return "CONNECT_RESPONSE";
	case CM_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case CM_EVENT_REJECTED:
		return "REJECTED";
	case CM_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case CM_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case CM_EVENT_TIMEWAIT_EXIT:
		return "TIMEWAIT_EXIT";
	}
	return "?";
}

/* ---- the wire ---- */

static bool before(const struct cm_net_packet *a, const struct cm_net_packet *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void push(struct cm_net *net, const struct cm_net_packet *packet)
{
	uint32_t at = net->heap_count++;

	if (net->heap_count > net->heap_max) {
		net->heap_max = net->heap_max ? 2 * net->heap_max : 64;
		net->heap = realloc(net->heap, net->heap_max * sizeof(net->heap[0]));
		if (net->heap == NULL)
			abort();
	}
	for (; at && before(packet, &net->heap[(at - 1) / 2]); at = (at - 1) / 2)
		net->heap[at] = net->heap[(at - 1) / 2];
	net->heap[at] = *packet;
	net->heap[at].order = net->order++;
}

static struct cm_net_packet pop(struct cm_net *net)
{
	struct cm_net_packet first = net->heap[0], *last = &net->heap[--net->heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < net->heap_count && before(&net->heap[child + 1], &net->heap[child]))
			child++;
		if (child >= net->heap_count || !before(&net->heap[child], last))
			break;
		net->heap[at] = net->heap[child];
		at = child;
	}
	net->heap[at] = *last;
	return first;
}

static bool chance(struct cm_net *net, uint32_t per_100000)
{
	return per_100000 && base_random_below(&net->random, 100000) < per_100000;
}

static const char *describe(const uint8_t *mad, char *room, size_t size)
{
	struct cm_message m;

	if (cm_message_decode(&m, mad, CM_MAD_BYTES))
		return "nonsense";
	if (m.kind == CM_REJ)
		snprintf(room, size, "REJ %u (%s)", m.rej.reason, m.rej.about == CM_ABOUT_REQ ? "REQ" : m.rej.about == CM_ABOUT_REP ? "REP" :
			 "other");
	else if (m.kind == CM_MRA)
		snprintf(room, size, "MRA (%s)", m.mra.about == CM_ABOUT_REQ ? "REQ" : "REP");
	else if (m.kind == CM_SIDR_REP)
		snprintf(room, size, "SIDR_REP %u", m.sidr_rep.status);
	else
		return cm_message_name(m.kind);
	return room;
}

static struct cm_net_host *host_of(struct cm_net *net, const struct wire_gid *gid)
{
	for (uint32_t i = 0; i < net->num_hosts; i++)
		if (wire_gid_equal(&net->hosts[i].gid, gid))
			return &net->hosts[i];
	return NULL;
}

static void transmit(struct cm_net_host *host, const struct cm_send *send)
{
	struct cm_net *net = host->net;
	struct cm_net_host *to = host_of(net, &send->path.dgid);
	struct cm_net_packet packet = { .at = net->now + net->delay_ns, .from = (uint32_t)(host - net->hosts) };
	bool lost = (net->lose && net->lose(host, host->sent)) || chance(net, net->drop) || to == NULL;
	char room[32];

	host->sent++;
	cm_net_say(net, "%s> %s%s", host->name, describe(send->mad, room, sizeof(room)), lost ? " lost" : "");
	if (lost)
		return;
	packet.to = (uint32_t)(to - net->hosts);
	memcpy(packet.mad, send->mad, CM_MAD_BYTES);
	if (chance(net, net->corrupt))
		packet.mad[base_random_below(&net->random, CM_MAD_BYTES)] ^= (uint8_t)(1 + base_random_below(&net->random, 255));
	if (chance(net, net->late))
		packet.at += base_random_below(&net->random, net->late_ns);
	push(net, &packet);
	if (chance(net, net->duplicate)) {
		packet.at += base_random_below(&net->random, net->late_ns + 1);
		push(net, &packet);
	}
}

void cm_net_pump(struct cm_net_host *host)
{
	struct cm_net *net = host->net;
	struct cm_event event;
	struct cm_send send;

	do {
		while (cm_message_next(host->cm, &send))
			transmit(host, &send);
		if (!cm_event_next(host->cm, &event))
			return;
		if (event.status)
			cm_net_say(net, "%s: %s %d", host->name, cm_net_event_text(&event), event.status);
		else
			cm_net_say(net, "%s: %s", host->name, cm_net_event_text(&event));
		if (net->on_event)
			net->on_event(host, &event);
	} while (true);
}

uint64_t cm_net_next(const struct cm_net *net)
{
	uint64_t next = net->heap_count ? net->heap[0].at : BASE_NEVER;

	for (uint32_t i = 0; i < net->num_hosts; i++)
		if (cm_deadline(net->hosts[i].cm) < next)
			next = cm_deadline(net->hosts[i].cm);
	return next;
}

static void arrive(struct cm_net *net, const struct cm_net_packet *packet)
{
	struct cm_net_host *to = &net->hosts[packet->to];
	struct cm_path from = cm_net_path(to, &net->hosts[packet->from]);

	from.mtu = 0; /* a datagram knows nothing of that */
	cm_receive(to->cm, net->now, &from, packet->mad, CM_MAD_BYTES);
	cm_net_pump(to);
}

void cm_net_step(struct cm_net *net)
{
	uint64_t next = cm_net_next(net);

	if (next == BASE_NEVER)
		return;
	if (next > net->now)
		net->now = next;
	if (net->heap_count && net->heap[0].at <= net->now) {
		struct cm_net_packet packet = pop(net);

		arrive(net, &packet);
		return;
	}
	for (uint32_t i = 0; i < net->num_hosts; i++) {
		struct cm_net_host *host = &net->hosts[i];

		if (cm_deadline(host->cm) > net->now)
			continue;
		cm_tick(host->cm, net->now);
		cm_net_pump(host);
	}
}
