/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many connections: set up and torn down between two processes, many at once, with the rate; and clients that are killed in the
 * midst of it. After both nothing is left in the broker, which says so itself (softverbs stat --json), and nothing in
 * the client that made them. The long form has 10,000 connections, 1,000 at once, and 100 killed clients.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned total(void) { return harness_is_full() ? 10000 : 400; }
static unsigned at_once(void) { return harness_is_full() ? 1000 : 100; }
static unsigned victims(void) { return harness_is_full() ? 100 : 8; }

enum { LEAST_LEAK = 16 }; /* bytes per connection: nothing that is forgotten is smaller */

static struct rdma_event_channel *channel;

static struct rdma_cm_event *take(void)
{
	struct rdma_cm_event *event;

	need_equal(rdma_get_cm_event(channel, &event), 0);
	return event;
}

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* What the broker counts under this name in its "cm". */
static long counted(const char *name)
{
	const char *softverbs = getenv("SOFTVERBS_COMMAND");
	char command[512], text[16384], key[64];

	snprintf(command, sizeof(command), "'%s' stat --json", softverbs);
	FILE *f = popen(command, "r");
	need(f != NULL);
	size_t len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	pclose(f);
	snprintf(key, sizeof(key), "\"%s\": ", name);
	const char *at = strstr(text, "\"cm\":");
	at = at != NULL ? strstr(at, key) : NULL;
	return at != NULL ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* Within a while it is so: timewaits end, deaths are noticed. */
static void becomes(const char *name, long value)
{
	const uint64_t end = harness_now_ms() + 10000;

	if (getenv("SOFTVERBS_COMMAND") == NULL)
		return;
	while (counted(name) != value)
		if (harness_now_ms() > end)
			harness_fail(__FILE__, __LINE__, "the broker still counts %ld %s, not %ld", counted(name), name, value);
}

/* --- the server --- */

static struct rdma_cm_id *listen_somewhere(const struct peer *peer)
{
	struct sockaddr_in address = local(0);
	struct rdma_cm_id *listener;

	channel = rdma_create_event_channel();
	need(channel != NULL);
	need_equal(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	need_equal(rdma_bind_addr(listener, (struct sockaddr *)&address), 0);
	need_equal(rdma_listen(listener, 1024), 0);
	uint16_t port = ntohs(rdma_get_src_port(listener));
	peer_send(peer, &port, sizeof(port));
	return listener;
}

/* Ids have no QPs: what is measured is connecting. */
static void accept_one(struct rdma_cm_id *id)
{
	static uint32_t qpn = 0x100;
	struct rdma_conn_param param = { .qp_num = qpn++ & 0xffffff };

	need_equal(rdma_accept(id, &param), 0);
}

/* Serves until `ends` connections have ended, whatever way they went. */
static void serve(unsigned ends)
{
	while (ends > 0) {
		struct rdma_cm_event *event = take();
		struct rdma_cm_id *id = event->id;
		const enum rdma_cm_event_type type = event->event;

		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			accept_one(id);
		} else if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE) {
			if (type == RDMA_CM_EVENT_DISCONNECTED)
				rdma_disconnect(id);
			need_equal(rdma_destroy_id(id), 0);
			ends--;
		}
	}
}

static void serve_all(struct peer *peer)
{
	struct rdma_cm_id *listener = listen_somewhere(peer);

	serve(total());
	peer_tell(peer);
	peer_await(peer);
	need_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
}

/* --- the client --- */

static void begin(uint16_t port)
{
	struct sockaddr_in to = local(port);
	struct rdma_cm_id *id;

	need_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	need_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), 0);
}

/* One event further. True: the connection stands. */
static bool advance(uint32_t base)
{
	static uint32_t qpn;
	struct rdma_cm_event *event = take();
	struct rdma_cm_id *id = event->id;
	struct rdma_conn_param param = { .qp_num = (base + qpn++) & 0xffffff };
	const enum rdma_cm_event_type type = event->event;

	if (type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED && type != RDMA_CM_EVENT_CONNECT_RESPONSE &&
	    type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		harness_fail(__FILE__, __LINE__, "%s, status %d", rdma_event_str(type), event->status);
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
		need_equal(rdma_resolve_route(id, 2000), 0);
	else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED)
		need_equal(rdma_connect(id, &param), 0);
	else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE)
		need_equal(rdma_establish(id), 0);
	return type == RDMA_CM_EVENT_CONNECT_RESPONSE;
}

/*
 * What this process holds: descriptors, and bytes of the heap. These are exact without the allocator's caches (GLIBC_TUNABLES, as
 * tests/verbs/meson.build has it); with them, chunks of threads stray between caches.
 */
static struct held {
	unsigned fds;
	size_t bytes;
} held_now(void)
{
	struct held held = { .bytes = mallinfo2().uordblks };
	DIR *fds = opendir("/proc/self/fd");

	need(fds != NULL);
	while (readdir(fds) != NULL)
		held.fds++;
	closedir(fds);
	return held;
}

static void rounds(void)
{
	struct peer server = peer_start(serve_all);
	struct rdma_cm_id **ids = calloc(at_once(), sizeof(*ids));
	uint16_t port;

	peer_receive(&server, &port, sizeof(port));
	channel = rdma_create_event_channel();
	need(channel != NULL && ids != NULL);
	struct held first = { 0 };
	const uint64_t start = harness_now_ms();
	for (unsigned done = 0; done < total(); done += at_once()) {
		struct sockaddr_in to = local(port);
		unsigned stand = 0, parted = 0;

		for (unsigned i = 0; i < at_once(); i++) {
			need_equal(rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP), 0);
			need_equal(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&to, 2000), 0);
		}
		while (stand < at_once())
			stand += advance(0x100000 + done);
		if (done == 0)
			becomes("connections", 2 * (long)at_once());
		for (unsigned i = 0; i < at_once(); i++)
			need_equal(rdma_disconnect(ids[i]), 0);
		while (parted < at_once()) {
			struct rdma_cm_event *event = take();

			parted += event->event == RDMA_CM_EVENT_DISCONNECTED;
			rdma_ack_cm_event(event);
		}
		for (unsigned i = 0; i < at_once(); i++)
			need_equal(rdma_destroy_id(ids[i]), 0);
		if (done == 0)
			first = held_now();
	}
	const uint64_t ms = harness_now_ms() - start;
	printf("%u connections, %u at once: %.0f per second\n", total(), at_once(), 1000.0 * total() / (double)(ms + 1));
	const struct held last = held_now();
	need_equal(last.fds, first.fds);
	if (getenv("GLIBC_TUNABLES") != NULL && last.bytes > first.bytes + LEAST_LEAK * (total() - at_once()))
		harness_fail(__FILE__, __LINE__, "the heap grew from %zu to %zu bytes", first.bytes, last.bytes);
	peer_await(&server);
	becomes("ids", 1 /* the listener */);
	peer_tell(&server);
	peer_join(&server);
	becomes("ids", 0);
	rdma_destroy_event_channel(channel);
	free(ids);
}

/* --- deaths --- */

static void serve_victims(struct peer *peer)
{
	struct rdma_cm_id *listener = listen_somewhere(peer);

	serve(victims() * 4);
	peer_tell(peer);
	peer_await(peer);
	need_equal(rdma_destroy_id(listener), 0);
}

/* Four connections that stand, four ids on the way; then it is killed. */
static void be_killed(struct peer *peer)
{
	unsigned stand = 0;
	uint16_t port;

	peer_receive(peer, &port, sizeof(port));
	channel = rdma_create_event_channel();
	need(channel != NULL);
	for (int i = 0; i < 4; i++)
		begin(port);
	while (stand < 4)
		stand += advance(0x200000 + (uint32_t)(getpid() % 4096) * 16);
	for (int i = 0; i < 4; i++)
		begin(port);
	peer_tell(peer);
	for (;;)
		pause();
}

static void deaths(void)
{
	struct peer server = peer_start(serve_victims), *clients = calloc(victims(), sizeof(*clients));
	uint16_t port;

	need(clients != NULL);
	peer_receive(&server, &port, sizeof(port));
	for (unsigned i = 0; i < victims(); i++) {
		clients[i] = peer_start(be_killed);
		peer_send(&clients[i], &port, sizeof(port));
	}
	for (unsigned i = 0; i < victims(); i++)
		peer_await(&clients[i]);
	becomes("connections", 8 * (long)victims());
	for (unsigned i = 0; i < victims(); i++)
		peer_kill(&clients[i]);
	peer_await(&server); /* it has heard of each */
	becomes("ids", 1);
	becomes("connections", 0);
	peer_tell(&server);
	peer_join(&server);
	becomes("ids", 0);
	free(clients);
}

static const struct harness_case cases[] = {
	{ "rounds", "connections set up and torn down, many at once", rounds },
	{ "deaths", "nothing is left of killed clients", deaths },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
