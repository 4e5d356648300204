/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Storyboards of connection management: single cases between host a, the client, and host b, the server, told as the trace that
 * they must leave. A datagram takes 1 ms; times are in milliseconds, timeouts those of the fast profile. `x>` is a message that x
 * sends, `x:` what x's program hears or does.
 *
 *   cm_story [--print] [scene]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "sim/cm_net.h"

enum { CLIENT_OWNER = 7, SERVER_OWNER = 8, PORT = 4711 };
#define FOREVER UINT64_MAX

struct scene;

struct stage {
	struct cm_net net;
	struct cm_net_host *a, *b;
	const struct scene *scene;
	struct cm_ref client, listener, child;
	uint64_t lost[2]; /* bit n: message n of a, b is lost */
	uint32_t qpn;      /* of the client's next call */
	int moment;
	char text[8192];
	size_t used;
};

struct scene {
	const char *name, *goal;
	enum cm_qp_type qp_type;
	/* What the programs do by themselves. */
	bool listens, accepts, establishes, hangs_up;
	uint16_t rejects; /* the request, with this reason */
	bool local;       /* both on a */
	uint64_t lost_a, lost_b;
	/* Called at these times, in milliseconds; 0 ends. */
	uint64_t at[3];
	void (*then)(struct stage *s);
	const char *expected;
};

static void must(int err)
{
	if (err < 0) {
		fprintf(stderr, "a call failed: %s\n", base_err_text(err));
		abort();
	}
}

static void keep_line(struct cm_net *net, const char *line)
{
	struct stage *s = net->user;
	size_t len = strlen(line);

	if (s->used + len + 2 > sizeof(s->text))
		return;
	memcpy(s->text + s->used, line, len);
	s->used += len;
	s->text[s->used++] = '\n';
	s->text[s->used] = 0;
}

static bool lose(struct cm_net_host *host, uint64_t n)
{
	struct stage *s = host->net->user;
	uint64_t plan = s->lost[host != s->a];

	return plan == FOREVER || (n < 64 && (plan >> n & 1));
}

static enum cm_space space_of(const struct scene *scene)
{
	return scene->qp_type == CM_QP_UD ? CM_PS_UDP : CM_PS_TCP;
}

static void listen_on(struct stage *s, struct cm_net_host *host, uint32_t backlog)
{
	struct cm_address any = { .ip.family = CM_IPV4, .port = PORT };

	must(cm_id_create(host->cm, SERVER_OWNER, 0, space_of(s->scene), s->scene->qp_type, &s->listener));
	must(cm_bind(host->cm, s->listener, &any, 0));
	must(cm_listen(host->cm, s->listener, backlog));
}

static void call(struct stage *s)
{
	struct cm_net_host *to = s->scene->local ? s->a : s->b;
	struct cm_address destination = { to->ip, PORT };
	struct cm_connect param = {
		.conn = { .qpn = s->qpn, .responder_resources = 1, .initiator_depth = 2, .retry_count = 7, .rnr_retry_count = 7 },
		.ece = { 0x02c903, 0x01020304 },
		.path = cm_net_path(s->a, to),
	};

	must(cm_id_create(s->a->cm, CLIENT_OWNER, 0, space_of(s->scene), s->scene->qp_type, &s->client));
	must(cm_resolve(s->a->cm, s->client, &s->a->ip, &destination));
	must(cm_connect(s->a->cm, s->net.now, s->client, &param));
	cm_net_pump(s->a);
}

static void accept(struct stage *s, struct cm_net_host *host)
{
	struct cm_accept param = { .conn = { .qpn = 0x21, .responder_resources = 2, .initiator_depth = 1, .rnr_retry_count = 7 } };

	must(cm_accept(host->cm, s->net.now, s->child, &param));
	cm_net_pump(host);
}

static void on_event(struct cm_net_host *host, const struct cm_event *event)
{
	struct stage *s = host->net->user;
	const struct scene *scene = s->scene;
	uint64_t now = s->net.now;

	switch (event->type) {
	case CM_EVENT_CONNECT_REQUEST:
		s->child = event->id;
		if (scene->rejects)
			must(cm_reject(host->cm, now, s->child, scene->rejects, (const uint8_t *)"no", 3));
		else if (scene->accepts)
			accept(s, host);
		return;
	case CM_EVENT_CONNECT_RESPONSE:
		if (scene->establishes)
			must(cm_establish(host->cm, now, event->id));
		return;
	case CM_EVENT_DISCONNECTED:
		/* As programs do: no matter who began, they disconnect and destroy. */
		if (scene->hangs_up)
			cm_disconnect(host->cm, now, event->id);
		return;
	case CM_EVENT_UNREACHABLE:
	case CM_EVENT_REJECTED:
	case CM_EVENT_ESTABLISHED:
	case CM_EVENT_TIMEWAIT_EXIT:
		return;
	}
}

/* ---- what is done in the midst of scenes ---- */

static void disconnect_a(struct stage *s)
{
	must(cm_disconnect(s->a->cm, s->net.now, s->client));
	cm_net_pump(s->a);
}

static void disconnect_both(struct stage *s)
{
	must(cm_disconnect(s->b->cm, s->net.now, s->child));
	cm_net_pump(s->b);
	disconnect_a(s);
}

static void accept_then_disconnect(struct stage *s)
{
	if (s->moment == 1)
		accept(s, s->b);
	else
		disconnect_a(s);
}

static void establish_then_disconnect(struct stage *s)
{
	if (s->moment == 1)
		must(cm_establish(s->a->cm, s->net.now, s->client));
	else
		disconnect_a(s);
	cm_net_pump(s->a);
}

static void client_rejects(struct stage *s)
{
	must(cm_reject(s->a->cm, s->net.now, s->client, CM_REJ_VENDOR_OPTION, NULL, 0));
	cm_net_pump(s->a);
}

static void client_dies(struct stage *s)
{
	cm_net_say(&s->net, "a: the client dies, %u ids", cm_owner_gone(s->a->cm, s->net.now, CLIENT_OWNER));
	cm_net_pump(s->a);
}

static void server_dies(struct stage *s)
{
	cm_net_say(&s->net, "b: the server dies, %u ids", cm_owner_gone(s->b->cm, s->net.now, SERVER_OWNER));
	cm_net_pump(s->b);
}

static void restart_and_call(struct stage *s)
{
	if (s->moment == 1) {
		cm_net_say(&s->net, "a: restarts");
		cm_net_host_restart(s->a);
	}
	call(s);
}

static void notify_then(struct stage *s)
{
	if (s->moment == 2) {
		disconnect_a(s);
		return;
	}
	cm_net_say(&s->net, "b: data came");
	must(cm_notify(s->b->cm, s->net.now, s->child));
	cm_net_pump(s->b);
}

static void hang_up_and_call(struct stage *s)
{
	if (s->moment == 1)
		disconnect_a(s);
	else
		call(s);
}

static void accept_once(struct stage *s)
{
	accept(s, s->b);
}

static void many_call(struct stage *s)
{
	if (s->moment == 1) {
		listen_on(s, s->b, 1);
		s->qpn++;
		call(s);
		s->qpn++;
		call(s);
	} else {
		cm_net_say(&s->net, "b: takes the request");
		must(cm_request_taken(s->b->cm, s->child));
	}
}

static const struct scene scenes[] = {
#include "sim/cm_story_expected.h"
};

/* ---- playing them ---- */

static void play(struct stage *s, const struct scene *scene)
{
	struct cm_config config = cm_config_fast;

	memset(s, 0, sizeof(*s));
	config.ids = config.ids_per_owner = config.backlog = 64;
	s->scene = scene;
	s->qpn = 0x11;
	cm_net_init(&s->net, 1);
	s->net.user = s;
	s->net.line = keep_line;
	s->net.lose = lose;
	s->net.on_event = on_event;
	s->lost[0] = scene->lost_a;
	s->lost[1] = scene->lost_b;
	s->a = cm_net_host_add(&s->net, "a", &config);
	s->b = cm_net_host_add(&s->net, "b", &config);
	if (scene->listens)
		listen_on(s, scene->local ? s->a : s->b, 0);
	call(s);
	for (int i = 0; i < 3 && scene->at[i]; i++) {
		while (cm_net_next(&s->net) < scene->at[i] * BASE_MSEC)
			cm_net_step(&s->net);
		s->net.now = scene->at[i] * BASE_MSEC;
		s->moment++;
		scene->then(s);
	}
	while (cm_net_next(&s->net) != BASE_NEVER)
		cm_net_step(&s->net);
	if (!cm_is_sound(s->a->cm) || !cm_is_sound(s->b->cm))
		cm_net_say(&s->net, "an engine is not sound");
	cm_net_fini(&s->net);
}

static void show_difference(const char *name, const char *expected, const char *got)
{
	size_t line = 1, at = 0, start = 0;

	while (expected[at] && expected[at] == got[at]) {
		if (expected[at++] == '\n') {
			line++;
			start = at;
		}
	}
	fprintf(stderr, "%s, line %zu:\n  expected: %.*s\n  got:      %.*s\n", name, line, (int)strcspn(expected + start, "\n"),
		expected + start, (int)strcspn(got + start, "\n"), got + start);
}

int main(int argc, char **argv)
{
	bool print = argc > 1 && strcmp(argv[1], "--print") == 0;
	const char *only = argc > 1 + print ? argv[1 + print] : NULL;
	static struct stage s;
	int failures = 0;

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct scene *scene = &scenes[i];

		if (only && strcmp(only, scene->name))
			continue;
		play(&s, scene);
		if (print) {
			printf("== %s: %s\n%s", scene->name, scene->goal, s.text);
		} else if (strcmp(s.text, scene->expected)) {
			show_difference(scene->name, scene->expected, s.text);
			failures++;
		}
	}
	return failures ? 1 : 0;
}
