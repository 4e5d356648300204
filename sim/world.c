/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/world.h"

#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* No clock starts at 0. */
#define SIM_START (1000 * BASE_SEC)

enum { ROOM_BYTES = 64 * (4096 + 64) };

struct sim_packet {
	struct sim_packet *next;
	struct sim_endpoint *from, *to;
	struct wire_packet head;
	uint8_t data[];
};

static uint8_t room_bytes[ROOM_BYTES];
static uint8_t merge_bytes[64 * 4096];

void sim_trace(struct sim_world *world, const char *format, ...)
{
	char line[256];
	int used;
	va_list ap;

	if (world->trace == NULL)
		return;
	used = snprintf(line, sizeof(line), "%10.3f ", (double)(world->now - SIM_START) / 1000);
	va_start(ap, format);
	vsnprintf(line + used, sizeof(line) - (size_t)used, format, ap);
	va_end(ap);
	world->trace(world, line);
}

bool sim_chance(struct sim_world *world, uint32_t per_100000)
{
	return per_100000 && base_random_below(&world->random, 100000) < per_100000;
}

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(struct sim_world *w, struct sim_event ev)
{
	uint32_t i;

	if (w->heap_count == w->heap_max) {
		w->heap_max = w->heap_max ? 2 * w->heap_max : 256;
		w->heap = realloc(w->heap, w->heap_max * sizeof(*w->heap));
		if (w->heap == NULL)
			abort();
	}
	ev.order = w->order++;
	for (i = w->heap_count++; i && earlier(&ev, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = ev;
}

static struct sim_event heap_pop(struct sim_world *w)
{
	struct sim_event top = w->heap[0], last = w->heap[--w->heap_count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < w->heap_count) {
		if (child + 1 < w->heap_count && earlier(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!earlier(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

void sim_world_init(struct sim_world *world, uint64_t seed)
{
	/* Packets come and go by the thousand; giving the memory back each time costs more than all the rest. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	memset(world, 0, sizeof(*world));
	world->random.state = seed;
	world->now = SIM_START;
}

void sim_world_fini(struct sim_world *world)
{
	for (uint32_t i = 0; i < world->heap_count; i++)
		free(world->heap[i].packet);
	free(world->heap);
	memset(world, 0, sizeof(*world));
}

void sim_endpoint_init(struct sim_endpoint *ep, struct sim_world *world, const char *name, uint32_t sq_depth, uint32_t recvs_max)
{
	sim_endpoint_init_kind(ep, world, name, sq_depth, recvs_max, &sim_rc);
}

void sim_endpoint_init_kind(struct sim_endpoint *ep, struct sim_world *world, const char *name, uint32_t sq_depth, uint32_t recvs_max,
			    const struct sim_kind *kind)
{
	memset(ep, 0, sizeof(*ep));
	ep->world = world;
	ep->name = name;
	ep->inbox_tail = &ep->inbox_head;
	ep->step_at = BASE_NEVER;
	sim_host_init(&ep->host, sq_depth, recvs_max);
	ep->kind = kind;
	kind->init(ep);
}

void sim_endpoint_fini(struct sim_endpoint *ep)
{
	struct sim_packet *p;

	while ((p = ep->inbox_head)) {
		ep->inbox_head = p->next;
		free(p);
	}
	free(ep->config.selective);
	sim_host_fini(&ep->host);
}

void sim_selective(struct sim_endpoint *ep)
{
	ep->config.selective = calloc(1, rc_selective_bytes(ep->config.mtu));
	if (ep->config.selective == NULL)
		abort();
}

void sim_connect(struct sim_endpoint *a, struct sim_endpoint *b)
{
	a->peer = b;
	b->peer = a;
	for (struct sim_endpoint *ep = a;; ep = b) {
		ep->kind->to_rts(ep);
		sim_wake(ep, ep->world->now);
		if (ep == b)
			break;
	}
}

void sim_wake(struct sim_endpoint *ep, uint64_t at)
{
	if (ep->dead || at >= ep->step_at)
		return;
	if (at < ep->asleep_until)
		at = ep->asleep_until;
	if (at < ep->world->now)
		at = ep->world->now;
	if (at >= ep->step_at)
		return;
	ep->step_at = at;
	heap_push(ep->world, (struct sim_event){ .at = at, .ep = ep });
}

static void consumed(struct sim_packet *p)
{
	if (--p->from->in_transit < p->from->link.capacity && p->from->link.lossless)
		sim_wake(p->from, p->from->world->now);
	free(p);
}

void sim_kill(struct sim_endpoint *ep)
{
	struct sim_packet *p;

	ep->dead = true;
	while ((p = ep->inbox_head)) {
		ep->inbox_head = p->next;
		ep->inbox_count--;
		consumed(p);
	}
	ep->inbox_tail = &ep->inbox_head;
}

/* ---- from the QP to the link ---- */

/* Without the transport's. */
static const char *name_of(const struct wire_opcode *op)
{
	return strchr(op->name, '_') + 1;
}

static void transmit(struct sim_endpoint *ep, struct sim_packet *p, bool again)
{
	struct sim_world *w = ep->world;
	const struct sim_faults *f = &ep->link.faults;
	const char *fate = "";
	uint64_t at;
	bool lost = false;

	if (w->lose && !again && w->lose(ep, ep->packets_sent))
		lost = true, fate = " lost";
	else if (sim_chance(w, f->drop))
		lost = true, fate = " lost";
	else if (sim_chance(w, f->corrupt))
		lost = true, fate = " corrupt";
	if (!again)
		ep->packets_sent++;
	if (p->head.op->role & WIRE_ROLE_ACK)
		sim_trace(w, "%s> %s %06x msn %u%s", ep->name, wire_syndrome_name(p->head.aeth.syndrome), p->head.bth.psn,
			  p->head.aeth.msn, fate);
	else if (p->head.op->has & WIRE_HAS_AETH)
		sim_trace(w, "%s> %s %06x len %u msn %u%s", ep->name, name_of(p->head.op), p->head.bth.psn, p->head.payload_len,
			  p->head.aeth.msn, fate);
	else if (p->head.op->role & WIRE_ROLE_READ && p->head.op->role & WIRE_ROLE_REQUEST)
		sim_trace(w, "%s> %s %06x for %u%s", ep->name, name_of(p->head.op), p->head.bth.psn, p->head.reth.length, fate);
	else
		sim_trace(w, "%s> %s %06x len %u%s%s", ep->name, name_of(p->head.op), p->head.bth.psn, p->head.payload_len,
			  p->head.bth.ack_req ? " ack?" : "", fate);
	if (!again && sim_chance(w, f->duplicate)) {
		struct sim_packet *copy = malloc(sizeof(*copy) + p->head.payload_len);

		if (copy == NULL)
			abort();
		memcpy(copy, p, sizeof(*copy) + p->head.payload_len);
		copy->head.payload = copy->data;
		ep->in_transit++;
		transmit(ep, copy, true);
	}
	if (lost) {
		consumed(p);
		return;
	}
	if (sim_chance(w, f->garbage)) {
		uint8_t *b = (uint8_t *)&p->head;
		uint64_t what = base_random_below(&w->random, 8);

		/* Not the borrowed pointers: what a decoder makes of wrong bytes. */
		if (what == 0)
			p->head.bth.opcode ^= (uint8_t)(1u << base_random_below(&w->random, 8));
		else if (what == 1)
			p->head.bth.psn ^= 1u << base_random_below(&w->random, 24);
		else if (what == 2 && p->head.payload_len)
			p->head.payload_len = (uint32_t)base_random_below(&w->random, p->head.payload_len);
		else if (what == 3)
			p->head.bth.ack_req = !p->head.bth.ack_req;
		else
			b[offsetof(struct wire_packet, reth) + base_random_below(&w->random, offsetof(struct wire_packet, imm) -
				offsetof(struct wire_packet, reth))] ^= (uint8_t)(1u << base_random_below(&w->random, 8));
		p->head.op = wire_opcode_find(p->head.bth.opcode);
		if (p->head.op == NULL) {
			consumed(p);
			return;
		}
	}
	at = w->now + f->delay_ns + base_random_below(&w->random, f->jitter_ns + 1);
	if (sim_chance(w, f->reorder))
		at += base_random_below(&w->random, f->reorder_ns + 1);
	else if (at < ep->last_arrival_at)
		at = ep->last_arrival_at;
	if (at > ep->last_arrival_at)
		ep->last_arrival_at = at;
	heap_push(w, (struct sim_event){ .at = at, .ep = p->to, .packet = p });
}

static struct sim_packet *packet_of(struct sim_endpoint *ep, struct sim_endpoint *to, const struct wire_packet *head,
				    const uint8_t *payload, uint32_t len)
{
	struct sim_packet *p = malloc(sizeof(*p) + len);

	if (p == NULL)
		abort();
	p->next = NULL;
	p->from = ep;
	p->to = to;
	p->head = *head;
	p->head.payload = p->data;
	p->head.payload_len = len;
	if (len)
		memcpy(p->data, payload, len);
	ep->in_transit++;
	return p;
}

/* Framed: the bytes must say what the description says. */
static void cut_framed(struct sim_endpoint *ep, struct sim_endpoint *to, const struct transport_run *run, const uint8_t *buf, size_t used)
{
	size_t first = (size_t)(run->head.payload - buf) + (run->packets == 1 ? run->head.payload_len : run->mtu), at = 0;
	size_t segment = ((first + 3) & ~(size_t)3) + WIRE_ICRC_BYTES;
	uint32_t bytes = 0;
	struct wire_packet pkt;

	for (uint32_t i = 0; i < run->packets; i++) {
		size_t len = i == run->packets - 1u ? used - at : segment;

		memset(&pkt, 0, sizeof(pkt));
		assert(at < used && len <= segment && len <= used - at);
		assert(wire_packet_decode(&pkt, buf + at, len) == BASE_OK);
		assert(pkt.bth.psn == wire_psn_add(run->head.bth.psn, i) && pkt.bth.dest_qpn == to->config.qpn);
		assert(pkt.bth.opcode == (i == 0 ? run->head.bth.opcode : i == run->packets - 1u ? run->last_opcode : pkt.bth.opcode));
		assert(pkt.bth.ack_req == (i == run->packets - 1u && run->head.bth.ack_req));
		assert(pkt.bth.solicited == (i == run->packets - 1u && run->head.bth.solicited));
		assert(pkt.payload_len % 4 == 0 ? pkt.bth.pad == 0 : pkt.bth.pad == 4 - pkt.payload_len % 4);
		assert(wire_opcode_payload_fits(pkt.op, pkt.payload_len, run->mtu));
		bytes += pkt.payload_len;
		at += len;
		transmit(ep, packet_of(ep, to, &pkt, pkt.payload, pkt.payload_len), false);
	}
	assert(at == used && bytes == run->head.payload_len);
}

static uint8_t middle_of(uint8_t opcode)
{
	uint8_t operation = opcode & 0x1f;

	return (uint8_t)((opcode & 0xe0) | (operation <= WIRE_SEND_ONLY_WITH_IMM ? WIRE_SEND_MIDDLE :
		operation <= WIRE_RDMA_WRITE_ONLY_WITH_IMM ? WIRE_RDMA_WRITE_MIDDLE : WIRE_RDMA_READ_RESPONSE_MIDDLE));
}

static void cut_bare(struct sim_endpoint *ep, struct sim_endpoint *to, const struct transport_run *run, const uint8_t *buf, size_t used)
{
	assert(used == run->head.payload_len);
	for (uint32_t i = 0; i < run->packets; i++) {
		bool last = i == run->packets - 1u;
		struct wire_packet pkt = run->head;
		uint32_t at = i * run->mtu;
		uint32_t len = last ? run->head.payload_len - at : run->mtu;

		pkt.bth.psn = wire_psn_add(pkt.bth.psn, i);
		pkt.bth.opcode = i == 0 ? run->head.bth.opcode : last ? run->last_opcode : middle_of(run->head.bth.opcode);
		pkt.bth.ack_req = last && run->head.bth.ack_req;
		pkt.bth.solicited = last && run->head.bth.solicited;
		pkt.op = wire_opcode_find(pkt.bth.opcode);
		assert(pkt.op && wire_opcode_payload_fits(pkt.op, len, run->mtu));
		/* What a packet does not carry must not help its receiver. */
		if (!(pkt.op->has & WIRE_HAS_RETH))
			memset(&pkt.reth, 0xa5, sizeof(pkt.reth));
		if (!(pkt.op->has & WIRE_HAS_IMMDT))
			pkt.imm = 0xa5a5a5a5;
		if (!(pkt.op->has & WIRE_HAS_IETH))
			pkt.inv_rkey = 0xa5a5a5a5;
		if (!(pkt.op->has & WIRE_HAS_DETH))
			memset(&pkt.deth, 0xa5, sizeof(pkt.deth));
		if (!(pkt.op->has & WIRE_HAS_XRCETH))
			pkt.xrc_srqn = 0xa5a5a5;
		if (!(pkt.op->has & WIRE_HAS_FETH))
			memset(&pkt.feth, 0xa5, sizeof(pkt.feth));
		transmit(ep, packet_of(ep, to, &pkt, buf + at, len), false);
	}
}

static void pull(struct sim_endpoint *ep)
{
	struct sim_world *w = ep->world;

	while (w->now >= ep->link_free_at && (!ep->link.lossless || ep->in_transit < ep->link.capacity)) {
		struct transport_room room = { .buf = room_bytes, .framed = ep->link.framed, .packets = ep->link.room_packets };
		struct transport_run run;
		bool wanted = ep->kind->wants_room(ep, w->now), self = false;
		struct sim_endpoint *to;
		size_t used = 0;
		int n;

		if (ep->link.vary)
			room.packets = (uint16_t)(1 + base_random_below(&w->random, ep->link.room_packets));
		if (ep->link.lossless && room.packets > ep->link.capacity - ep->in_transit)
			room.packets = (uint16_t)(ep->link.capacity - ep->in_transit);
		room.bytes = (size_t)room.packets * (ep->config.mtu + 48);
		if (ep->link.vary && sim_chance(w, 30000))
			room.bytes = ep->config.mtu + 48 + base_random_below(&w->random, room.bytes - ep->config.mtu - 47);
		memset(&run, 0x5a, sizeof(run));
		n = ep->kind->next(ep, w->now, &room, &run, &used, &self);
		if (n == 0)
			break;
		assert(wanted); /* the hint has no false negatives */
		assert(used <= room.bytes && run.packets >= 1 && run.packets <= room.packets);
		assert(run.head.op == wire_opcode_find(run.head.bth.opcode) && run.head.payload != NULL);
		assert(run.head.payload >= room.buf && run.head.payload <= room.buf + room.bytes);
		to = self ? ep : ep->peer;
		ep->link_free_at = w->now + run.packets * ep->link.packet_ns;
		if (room.framed)
			cut_framed(ep, to, &run, room.buf, used);
		else
			cut_bare(ep, to, &run, room.buf, used);
	}
	/* No room now: look again when there is (in_transit falling wakes too). */
	if (ep->kind->wants_room(ep, w->now) && w->now < ep->link_free_at)
		sim_wake(ep, ep->link_free_at);
}

/* ---- from the link to the QP ---- */

/* True when a send completed: its slot is free. */
static bool drain(struct sim_endpoint *ep)
{
	bool freed = false;
	static const char *const status[] = { "SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "?3", "LOC_PROT_ERR", "WR_FLUSH_ERR",
		"MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR",
		"RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR" };
	struct transport_completion c;
	uint64_t wr_id;
	uint32_t events;

	while (ep->kind->recv_completion_next(ep, &c)) {
		sim_trace(ep->world, "%s: recv %llu %s len %u", ep->name, (unsigned long long)c.wr_id, status[c.status], c.byte_len);
		if (ep->on_recv)
			ep->on_recv(ep, &c);
	}
	while (ep->kind->send_completion_next(ep, &c)) {
		sim_trace(ep->world, "%s: send %llu %s", ep->name, (unsigned long long)c.wr_id, status[c.status]);
		freed = true;
		if (ep->on_send)
			ep->on_send(ep, &c);
	}
	events = ep->kind->events_take(ep);
	ep->events |= events;
	if (!ep->kind->is_error(ep))
		return freed;
	while (sim_host_flush_recv(&ep->host, &wr_id)) {
		c = (struct transport_completion){ .wr_id = wr_id, .status = TRANSPORT_WR_FLUSH_ERR, .opcode = TRANSPORT_WC_RECV };
		sim_trace(ep->world, "%s: recv %llu %s", ep->name, (unsigned long long)c.wr_id, status[c.status]);
		if (ep->on_recv)
			ep->on_recv(ep, &c);
	}
	return freed;
}

/* May b follow a in one run? */
static bool joins(const struct wire_packet *a, const struct wire_packet *b, uint32_t mtu)
{
	uint32_t kinds = WIRE_ROLE_SEND | WIRE_ROLE_WRITE | WIRE_ROLE_READ | WIRE_ROLE_REQUEST | WIRE_ROLE_RESPONSE;

	return b->bth.psn == wire_psn_add(a->bth.psn, 1) && a->payload_len == mtu && b->payload_len <= mtu && !a->bth.ack_req &&
	       !a->bth.solicited && (a->op->role & kinds) == (b->op->role & kinds) && a->op->transport == b->op->transport &&
	       (a->op->role & (WIRE_ROLE_FIRST | WIRE_ROLE_MIDDLE)) && (b->op->role & (WIRE_ROLE_MIDDLE | WIRE_ROLE_LAST));
}

/* How a link that loses nothing treats a packet that meets an empty RQ: DESIGN 4. True while it waits. */
static bool waits(struct sim_endpoint *ep, bool consumed_it, bool took)
{
	if (consumed_it) {
		if (took)
			ep->dry = false;
		else if (ep->waits_since)
			ep->dry = true;
		ep->waits_since = 0;
		return false;
	}
	if (ep->waits_since == 0)
		ep->waits_since = ep->world->now;
	sim_wake(ep, ep->waits_since + SIM_PATIENCE_NS);
	return true;
}

/* One run to the QP. False when it stays at the head of the inbox. */
static bool receive(struct sim_endpoint *ep)
{
	struct sim_world *w = ep->world;
	uint32_t limit = 1;
	struct transport_run run = { .packets = 0 };
	struct sim_packet *p = ep->inbox_head, *end;
	const struct wire_packet *last;
	const char *text = NULL;
	bool give_up = !p->from->link.lossless || ep->dry || (ep->waits_since && w->now >= ep->waits_since + SIM_PATIENCE_NS);
	bool done;

	if (ep->link.merge_packets > 1)
		limit = 1 + (uint32_t)base_random_below(&w->random, ep->link.merge_packets);
	run.head = p->head;
	run.head.payload = merge_bytes;
	run.head.payload_len = 0;
	run.mtu = ep->config.mtu;
	do {
		last = &p->head;
		memcpy(merge_bytes + run.head.payload_len, p->data, p->head.payload_len);
		run.head.payload_len += p->head.payload_len;
		run.packets++;
		run.last_opcode = last->bth.opcode;
		p = p->next;
	} while (run.packets < limit && p && joins(last, &p->head, ep->config.mtu));
	end = p;
	if (run.packets > 1) {
		run.head.bth.ack_req = last->bth.ack_req;
		run.head.bth.solicited = last->bth.solicited;
		run.head.imm = last->imm;
		run.head.inv_rkey = last->inv_rkey;
	}
	done = ep->kind->receive(ep, w->now, &run, give_up, &text);
	assert(done || !give_up);
	if (text)
		sim_trace(w, "%s: %06x %s", ep->name, run.head.bth.psn, text);
	if (waits(ep, done, text == NULL))
		return false;
	while (ep->inbox_head != end) {
		p = ep->inbox_head;
		ep->inbox_head = p->next;
		ep->inbox_count--;
		consumed(p);
	}
	if (end == NULL)
		ep->inbox_tail = &ep->inbox_head;
	drain(ep);
	return true;
}

static uint64_t slept_by(const struct sim_endpoint *ep, uint64_t now)
{
	return ep->slept_total - (ep->asleep_until > now ? ep->asleep_until - now : 0);
}

static void step(struct sim_endpoint *ep)
{
	struct sim_world *w = ep->world;
	uint64_t next = BASE_NEVER, deadline, excused;

	ep->step_at = BASE_NEVER;
	if (ep->dead)
		return;
	if (sim_chance(w, ep->link.faults.sleep)) {
		uint64_t ns = 1 + base_random_below(&w->random, ep->link.faults.sleep_ns);

		ep->asleep_until = w->now + ns;
		ep->slept_total += ns;
		sim_wake(ep, ep->asleep_until);
		return;
	}
	for (int i = 0; i < 64 && ep->inbox_head; i++) {
		bool went_on = receive(ep);

		pull(ep);
		if (!went_on)
			break;
	}
	if (ep->inbox_head && ep->waits_since == 0)
		next = w->now + 1;
	excused = slept_by(ep, w->now) - ep->slept_charged;
	ep->slept_charged += excused;
	if (ep->link.lossless) {
		uint64_t peers = slept_by(ep->peer, w->now) - ep->peer_slept_charged;

		ep->peer_slept_charged += peers;
		excused += peers;
	}
	if ((excused || w->now >= ep->kind->deadline(ep)) && ep->kind->tick(ep, w->now, excused))
		sim_trace(w, "%s: timeout", ep->name);
	drain(ep);
	if (ep->app) {
		uint64_t at = ep->app(ep, w->now);

		if (at < next)
			next = at;
	}
	pull(ep);
	if (drain(ep))
		next = w->now + 1; /* the application may post again */
	deadline = ep->kind->deadline(ep);
	if (deadline < next)
		next = deadline > w->now ? deadline : w->now + 1;
	if (next != BASE_NEVER)
		sim_wake(ep, next);
}

bool sim_world_step(struct sim_world *world)
{
	struct sim_event ev;

	if (world->heap_count == 0)
		return false;
	ev = heap_pop(world);
	world->now = ev.at;
	world->events_done++;
	if (ev.packet == NULL) {
		if (ev.ep->step_at == ev.at)
			step(ev.ep);
		return true;
	}
	if (ev.ep->dead || (!ev.packet->from->link.lossless && ev.ep->inbox_count >= ev.packet->from->link.capacity)) {
		sim_trace(world, "%s: %06x %s", ev.ep->name, ev.packet->head.bth.psn, ev.ep->dead ? "nobody there" : "overflow");
		consumed(ev.packet);
		return true;
	}
	ev.packet->next = NULL;
	*ev.ep->inbox_tail = ev.packet;
	ev.ep->inbox_tail = &ev.packet->next;
	ev.ep->inbox_count++;
	sim_wake(ev.ep, world->now);
	return true;
}
