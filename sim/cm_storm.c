/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Storm of connections: some hundred calls between hosts over a network that loses, doubles and delays, while programs die and
 * hosts restart. A checker holds both ends of each call to the same story:
 *   a server is ESTABLISHED only if its client said so; what each says of QPs, PSNs, ECE and private data is what the other sent;
 *   a client hears the refusal that a server spoke, and no other; every id that lives hears of its end; nothing is left behind.
 *
 *   cm_storm [--runs N] [--seed S]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cm/ip_header.h"
#include "sim/cm_net.h"
#include "sim/storm.h"

enum { HOSTS = 4, CALLS_MAX = 200, CHILDREN = 24, PORT = 4711, OWNERS = 3, SERVER_OWNER = 100, VENDOR = 0x02c903 };
enum role { CLIENT, SERVER };

struct end { /* one id of a call */
	struct call *call;
	enum role role;
	struct cm_net_host *host;
	struct cm_ref id;
	uint32_t life;      /* of the host: another one means that all is forgotten */
	uint64_t act_at;    /* what the program does next; BASE_NEVER */
	bool alive, accepted, established, said_rtu, over, killed;
	uint32_t nonce, qpn;
	uint16_t spoke;     /* reason of our own refusal */
	int heard;          /* status of REJECTED, or of UNREACHABLE */
};

struct call {
	struct storm *storm;
	struct end client, children[CHILDREN];
	uint32_t num_children, number;
	bool datagram, answered;
	uint64_t start_at;
};

struct storm {
	struct cm_net net;
	uint64_t seed;
	struct call calls[CALLS_MAX];
	uint32_t num_calls, life[HOSTS], next_nonce;
	struct cm_ref listeners[HOSTS][2];
	uint64_t deaths[4], quiet_at;
	bool bad;
};

static uint64_t total_calls, total_established, total_rejected, total_unreachable, total_killed, total_half, total_messages;

#define CHECK(s, condition, ...) \
	do { \
		if (!(condition) && !(s)->bad) { \
			(s)->bad = true; \
			fprintf(stderr, "seed %llu at %.3f ms: ", (unsigned long long)(s)->seed, (double)(s)->net.now / BASE_MSEC); \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr); \
		} \
	} while (0)

static uint64_t below(struct storm *s, uint64_t bound)
{
	return base_random_below(&s->net.random, bound);
}

static uint64_t soon(struct storm *s, uint64_t most_ms)
{
	return s->net.now + below(s, most_ms * BASE_MSEC + 1);
}

static void listen_all(struct storm *s, struct cm_net_host *host)
{
	struct cm_address any = { .ip.family = CM_IPV4, .port = PORT };

	for (int datagram = 0; datagram < 2; datagram++) {
		struct cm_ref *id = &s->listeners[host->port.number][datagram];
		enum cm_space space = datagram ? CM_PS_UDP : CM_PS_TCP;
		enum cm_qp_type type = datagram ? CM_QP_UD : CM_QP_RC;

		if (cm_id_create(host->cm, SERVER_OWNER, 0, space, type, id) || cm_bind(host->cm, *id, &any, 0) ||
		    cm_listen(host->cm, *id, 1 + (uint32_t)below(s, 64)))
			abort();
	}
}

static void put_u32(uint8_t *at, uint32_t v)
{
	wire_be32_store(at, v);
}

static void begin(struct call *c)
{
	struct storm *s = c->storm;
	struct end *e = &c->client;
	struct cm_net_host *to = &s->net.hosts[below(s, HOSTS)];
	struct cm_address destination = { to->ip, PORT };
	uint8_t data[CM_USER_ROOM_REQ] = { 0 };
	struct cm_connect param = {
		.conn = { .qpn = e->qpn, .responder_resources = 3, .initiator_depth = 5, .retry_count = 7, .rnr_retry_count = 7 },
		.ece = { VENDOR, c->number },
		.path = cm_net_path(e->host, to),
		.private_data = data,
		.private_len = sizeof(data),
	};
	uint32_t owner = 1 + c->number % OWNERS;

	put_u32(data, c->number);
	c->start_at = BASE_NEVER;
	e->life = s->life[e->host->port.number];
	if (cm_id_create(e->host->cm, owner, c->number, c->datagram ? CM_PS_UDP : CM_PS_TCP, c->datagram ? CM_QP_UD : CM_QP_RC, &e->id) ||
	    cm_resolve(e->host->cm, e->id, &e->host->ip, &destination) || cm_connect(e->host->cm, s->net.now, e->id, &param))
		abort();
	e->alive = true;
	cm_net_pump(e->host);
}

static struct end *end_of(struct storm *s, struct cm_net_host *host, struct cm_ref id)
{
	for (uint32_t i = 0; i < s->num_calls; i++) {
		struct call *c = &s->calls[i];

		for (uint32_t k = 0; k <= c->num_children; k++) {
			struct end *e = k ? &c->children[k - 1] : &c->client;

			if (e->alive && e->host == host && e->id.value == id.value && e->life == s->life[host->port.number])
				return e;
		}
	}
	return NULL;
}

static void finish(struct end *e)
{
	if (cm_id_destroy(e->host->cm, e->call->storm->net.now, e->id))
		abort();
	e->alive = false;
	e->act_at = BASE_NEVER;
}

static struct cm_info info_of(const struct end *e)
{
	struct cm_info info;

	if (cm_id_info(e->host->cm, e->id, &info))
		abort();
	return info;
}

/* What a program does when its time has come. */
static void act(struct end *e)
{
	struct storm *s = e->call->storm;
	struct cm_info info = info_of(e);
	uint8_t data[8] = { 0 };
	struct cm_accept param = {
		.conn = { .qpn = e->qpn, .qkey = 0x11 + e->nonce, .responder_resources = 5, .initiator_depth = 3, .rnr_retry_count = 6 },
		.ece = { VENDOR, e->nonce },
		.private_data = data,
		.private_len = sizeof(data),
	};

	e->act_at = BASE_NEVER;
	put_u32(data, e->nonce);
	put_u32(data + 4, e->call->number);
	switch (info.state) {
	case CM_MRA_REQ_SENT:
	case CM_SIDR_REQ_RCVD:
		if (below(s, 5) == 0) {
			e->spoke = below(s, 2) ? CM_REJ_CONSUMER : CM_REJ_VENDOR_OPTION;
			if (cm_reject(e->host->cm, s->net.now, e->id, e->spoke, data, 4))
				abort();
			finish(e);
			break;
		}
		if (cm_accept(e->host->cm, s->net.now, e->id, &param))
			abort();
		e->accepted = true;
		if (e->call->datagram)
			finish(e);
		break;
	case CM_MRA_REP_SENT:
		if (below(s, 8) == 0) {
			e->spoke = CM_REJ_CONSUMER;
			if (cm_reject(e->host->cm, s->net.now, e->id, e->spoke, NULL, 0))
				abort();
			finish(e);
			break;
		}
		if (cm_establish(e->host->cm, s->net.now, e->id))
			abort();
		e->established = e->said_rtu = true;
		e->act_at = soon(s, 500);
		break;
	case CM_ESTABLISHED:
	case CM_DREQ_RCVD:
		if (below(s, 4) == 0)
			finish(e);
		else if (cm_disconnect(e->host->cm, s->net.now, e->id))
			abort();
		else if (e->over)
			e->act_at = soon(s, 100);
		break;
	default: /* over: all that is left is to destroy it */
		if (e->over)
			finish(e);
		break;
	}
	cm_net_pump(e->host);
}

static void on_request(struct cm_net_host *host, const struct cm_event *event)
{
	struct storm *s = host->net->user;
	uint32_t number = wire_be32_load(event->private_data);
	struct call *c = &s->calls[number];
	struct end *e;

	CHECK(s, number < s->num_calls, "a request of nobody");
	if (s->bad)
		return;
	CHECK(s, c->num_children < CHILDREN, "call %u asked too often", number);
	if (!c->datagram) {
		CHECK(s, event->ece.vendor == VENDOR && event->ece.options == number, "call %u: ECE of its REQ", number);
		CHECK(s, event->conn.qpn == c->client.qpn && event->conn.initiator_depth == 3 && event->conn.responder_resources == 5,
		      "call %u: parameters of its REQ", number);
	}
	if (s->bad)
		return;
	e = &c->children[c->num_children++];
	*e = (struct end){ .call = c, .role = SERVER, .host = host, .id = event->id, .life = s->life[host->port.number], .alive = true,
			   .nonce = ++s->next_nonce, .qpn = 0x800000 + s->next_nonce, .act_at = soon(s, below(s, 4) ? 20 : 400) };
	cm_request_taken(host->cm, event->id);
}

/* The child whose answer this is. */
static void check_answer(struct end *e, const struct cm_event *event)
{
	struct storm *s = e->call->storm;
	uint32_t nonce = wire_be32_load(event->private_data);
	struct end *child = NULL;

	for (uint32_t i = 0; i < e->call->num_children; i++)
		if (e->call->children[i].nonce == nonce)
			child = &e->call->children[i];
	CHECK(s, child && child->accepted, "call %u: an answer that nobody gave", e->call->number);
	if (s->bad)
		return;
	CHECK(s, event->ece.vendor == VENDOR && event->ece.options == nonce, "call %u: ECE of the answer", e->call->number);
	CHECK(s, event->conn.qpn == child->qpn, "call %u: QP number of the answer", e->call->number);
	if (e->call->datagram)
		CHECK(s, event->conn.qkey == 0x11 + nonce, "call %u: Q_Key", e->call->number);
	if (!e->call->datagram && child->alive && child->life == s->life[child->host->port.number]) {
		struct cm_qp_attr a, b;

		if (cm_qp_attr(e->host->cm, e->id, CM_QP_RTR, &a) == 0 && cm_qp_attr(child->host->cm, child->id, CM_QP_RTS, &b) == 0)
			CHECK(s, a.rq_psn == b.sq_psn && a.dest_qpn == child->qpn, "call %u: PSN of the client", e->call->number);
		if (cm_qp_attr(e->host->cm, e->id, CM_QP_RTS, &a) == 0 && cm_qp_attr(child->host->cm, child->id, CM_QP_RTR, &b) == 0)
			CHECK(s, a.sq_psn == b.rq_psn && b.dest_qpn == e->qpn, "call %u: PSN of the server", e->call->number);
	}
}

static bool was_spoken(const struct end *e, int reason)
{
	const struct call *c = e->call;

	if (e->role == SERVER)
		return c->client.spoke == reason || c->client.killed;
	for (uint32_t i = 0; i < c->num_children; i++)
		if (c->children[i].spoke == reason || c->children[i].killed)
			return true;
	return false;
}

static void on_event(struct cm_net_host *host, const struct cm_event *event)
{
	struct storm *s = host->net->user;
	struct end *e;

	if (event->type == CM_EVENT_CONNECT_REQUEST) {
		on_request(host, event);
		return;
	}
	e = end_of(s, host, event->id);
	CHECK(s, e, "%s for nobody", cm_net_event_text(event));
	if (s->bad)
		return;
	CHECK(s, !e->over || event->type == CM_EVENT_TIMEWAIT_EXIT, "call %u: %s after its end", e->call->number, cm_net_event_text(event));
	switch (event->type) {
	case CM_EVENT_CONNECT_RESPONSE:
		check_answer(e, event);
		e->act_at = soon(s, below(s, 4) ? 5 : 300);
		break;
	case CM_EVENT_ESTABLISHED:
		if (e->role == CLIENT) {
			check_answer(e, event);
			e->over = true;
			e->act_at = soon(s, 50);
		} else {
			CHECK(s, e->call->client.said_rtu, "call %u: its server is connected, its client never was", e->call->number);
			e->act_at = soon(s, 500);
		}
		e->established = true;
		break;
	case CM_EVENT_REJECTED:
		if (event->status == CM_REJ_VENDOR_OPTION || (event->status == CM_REJ_CONSUMER && e->role == CLIENT))
			CHECK(s, was_spoken(e, event->status), "call %u: refusal %d that nobody spoke", e->call->number, event->status);
		/* fall through */
	case CM_EVENT_UNREACHABLE:
	case CM_EVENT_DISCONNECTED:
		e->over = true;
		e->heard = event->status;
		e->act_at = soon(s, 100);
		total_rejected += event->type == CM_EVENT_REJECTED;
		total_unreachable += event->type == CM_EVENT_UNREACHABLE;
		if (event->type == CM_EVENT_UNREACHABLE && e->role == SERVER && e->call->client.said_rtu)
			total_half++; /* all RTUs were lost: no protocol of messages can mend that */
		break;
	case CM_EVENT_TIMEWAIT_EXIT:
	case CM_EVENT_CONNECT_REQUEST:
		break;
	}
}

static void bury(struct storm *s, struct cm_net_host *host, uint32_t owner)
{
	for (uint32_t i = 0; i < s->num_calls; i++) {
		struct call *c = &s->calls[i];

		for (uint32_t k = 0; k <= c->num_children; k++) {
			struct end *e = k ? &c->children[k - 1] : &c->client;
			uint32_t its = k ? (uint32_t)SERVER_OWNER : 1 + c->number % OWNERS;

			if (!e->alive || e->host != host || (owner && its != owner))
				continue;
			e->alive = false;
			e->killed = true;
			e->act_at = BASE_NEVER;
			total_killed++;
		}
	}
}

static void disaster(struct storm *s)
{
	struct cm_net_host *host = &s->net.hosts[below(s, HOSTS)];
	uint32_t owner = below(s, 2) ? (uint32_t)SERVER_OWNER : 1 + (uint32_t)below(s, OWNERS);

	if (below(s, 3) == 0) {
		bury(s, host, 0);
		cm_net_host_restart(host);
		s->life[host->port.number]++;
		listen_all(s, host);
	} else {
		bury(s, host, owner);
		cm_owner_gone(host->cm, s->net.now, owner);
		if (owner == SERVER_OWNER)
			listen_all(s, host);
	}
	cm_net_pump(host);
}

static uint64_t next_act(struct storm *s, struct end **who, struct call **starts)
{
	uint64_t next = BASE_NEVER;

	for (uint32_t i = 0; i < s->num_calls; i++) {
		struct call *c = &s->calls[i];

		if (c->start_at < next) {
			next = c->start_at;
			*starts = c;
			*who = NULL;
		}
		for (uint32_t k = 0; k <= c->num_children; k++) {
			struct end *e = k ? &c->children[k - 1] : &c->client;

			if (e->alive && e->act_at < next) {
				next = e->act_at;
				*who = e;
				*starts = NULL;
			}
		}
	}
	return next;
}

static void plan(struct storm *s)
{
	static const uint32_t losses[] = { 0, 1000, 10000, 30000 };

	struct cm_config config = cm_config_fast;

	config.ids = config.ids_per_owner = 2048;
	config.backlog = 64;
	config.answers = 64;
	s->net.drop = losses[below(s, 4)];
	s->net.duplicate = losses[below(s, 4)];
	s->net.late = losses[below(s, 4)];
	s->net.late_ns = below(s, 300) * BASE_MSEC;
	for (int i = 0; i < HOSTS; i++)
		listen_all(s, cm_net_host_add(&s->net, (const char *[]){ "a", "b", "c", "d" }[i], &config));
	s->num_calls = 20 + (uint32_t)below(s, CALLS_MAX - 20);
	for (uint32_t i = 0; i < s->num_calls; i++) {
		struct call *c = &s->calls[i];

		c->storm = s;
		c->number = i;
		c->datagram = below(s, 5) == 0;
		c->start_at = soon(s, 2000);
		/* Now and then a QP number comes again, as after a restart. */
		c->client = (struct end){ .call = c, .role = CLIENT, .host = &s->net.hosts[below(s, HOSTS)], .act_at = BASE_NEVER,
					  .qpn = below(s, 10) ? 0x100 + i : 0x100 };
	}
	for (int i = 0; i < 4; i++)
		s->deaths[i] = below(s, 2) ? soon(s, 3000) : BASE_NEVER;
}

static void check_over(const struct end *e)
{
	struct storm *s = e->call->storm;

	CHECK(s, !e->alive, "call %u: the %s waits for ever in %s", e->call->number, e->role == CLIENT ? "client" : "server",
	      cm_state_text(info_of(e).state));
}

static void check_end(struct storm *s)
{
	for (uint32_t i = 0; i < s->num_calls; i++) {
		struct call *c = &s->calls[i];

		for (uint32_t k = 0; k <= c->num_children; k++)
			check_over(k ? &c->children[k - 1] : &c->client);
		total_established += c->client.established;
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct cm_net_host *host = &s->net.hosts[i];

		CHECK(s, cm_is_sound(host->cm), "host %u: not sound", i);
		CHECK(s, cm_stats_get(host->cm)->ids == 2, "host %u: %u ids are left", i, cm_stats_get(host->cm)->ids - 2);
		cm_owner_gone(host->cm, s->net.now, SERVER_OWNER);
		CHECK(s, cm_stats_get(host->cm)->ids == 0 && cm_deadline(host->cm) == BASE_NEVER, "host %u: leaks", i);
		total_messages += host->sent;
	}
	total_calls += s->num_calls;
}

static bool run(uint64_t seed)
{
	struct storm *s = calloc(1, sizeof(*s));
	uint64_t steps = 0;
	bool ok;

	if (s == NULL)
		abort();
	s->seed = seed;
	cm_net_init(&s->net, seed);
	s->net.user = s;
	s->net.on_event = on_event;
	plan(s);
	while (!s->bad) {
		struct end *who = NULL;
		struct call *starts = NULL;
		uint64_t at = next_act(s, &who, &starts), next = cm_net_next(&s->net);
		int death = 0;

		for (int i = 1; i < 4; i++)
			if (s->deaths[i] < s->deaths[death])
				death = i;
		if (s->deaths[death] != BASE_NEVER && s->deaths[death] <= at && s->deaths[death] <= next) {
			s->net.now = s->deaths[death];
			s->deaths[death] = BASE_NEVER;
			disaster(s);
		} else if (at <= next && at != BASE_NEVER) {
			s->net.now = at > s->net.now ? at : s->net.now;
			if (starts)
				begin(starts);
			else
				act(who);
		} else if (next != BASE_NEVER) {
			cm_net_step(&s->net);
		} else {
			break;
		}
		if (++steps % 512 == 0)
			CHECK(s, cm_is_sound(s->net.hosts[steps / 512 % HOSTS].cm), "not sound");
		CHECK(s, steps < 2000000, "no end");
	}
	if (!s->bad)
		check_end(s);
	ok = !s->bad;
	cm_net_fini(&s->net);
	free(s);
	return ok;
}

static void report(uint64_t runs, uint64_t seed)
{
	printf("%llu runs from seed %llu: %llu calls, %llu established, %llu rejected, %llu unreachable, %llu ends died, %llu half open, "
	       "%llu messages\n", (unsigned long long)runs, (unsigned long long)seed, (unsigned long long)total_calls,
	       (unsigned long long)total_established, (unsigned long long)total_rejected, (unsigned long long)total_unreachable,
	       (unsigned long long)total_killed, (unsigned long long)total_half, (unsigned long long)total_messages);
}

int main(int argc, char **argv)
{
	return storm_main(argc, argv, run, report);
}
