/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection management and the network's neighbours, as a foreign program sees it: whom rdma_resolve_addr finds, whom it does not and
 * when it says so (spec: cm-ece 10), and ids whose interface goes.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(7471) };

	need_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	return address;
}

static int resolve(struct rdma_cm_id *id, const char *text, int timeout_ms)
{
	struct sockaddr_in to = address_of(text);

	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, timeout_ms);
}

static int event_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	int status;

	need(fd_is_readable(channel->fd, 10000));
	need_equal(rdma_get_cm_event(channel, &event), 0);
	need_equal(event->event, type);
	need(id == NULL || event->id == id);
	status = event->status;
	need_equal(rdma_ack_cm_event(event), 0);
	return status;
}

/* Devices of interfaces that are new come a moment later. */
static void await_resolved(struct rdma_event_channel *channel, struct rdma_cm_id *id, const char *text)
{
	uint64_t end = harness_now_ms() + 5000;

	while (resolve(id, text, 2000) != 0) {
		need_equal(errno, ENODEV);
		need(harness_now_ms() < end);
		usleep(5000);
	}
	need_equal(event_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id), 0);
}

static struct rdma_cm_id *id_make(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	need_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static void resolving(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = id_make(channel), *nobody = id_make(channel), *later = id_make(channel), *sync = id_make(NULL);

	harness_other_host_make();
	await_resolved(channel, id, "10.97.0.2");
	need_equal(rdma_resolve_route(id, 1000), 0);
	need_equal(event_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id), 0);

	/* Nobody answers: not before the time is over, though the kernel gives up earlier. Others are served meanwhile. */
	uint64_t before = harness_now_ms();
	need_equal(resolve(nobody, "10.97.0.77", 500), 0);
	need_equal(resolve(later, "10.97.0.2", 500), 0);
	need_equal(event_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, later), 0);
	need(!fd_is_readable(channel->fd, 200));
	need_equal(event_take(channel, RDMA_CM_EVENT_ADDR_ERROR, nobody), -ETIMEDOUT);
	need(harness_now_ms() - before >= 490);

	/* Somebody has it by now. */
	need_equal(resolve(nobody, "10.97.0.77", 10000), 0);
	need(!fd_is_readable(channel->fd, 50));
	harness_other_ip("addr add 10.97.0.77/24 dev svb");
	need_equal(event_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, nobody), 0);

	need_equal(resolve(sync, "10.97.0.78", 100), -1);
	need_equal(errno, ETIMEDOUT);
	need_equal(resolve(sync, "203.0.113.1", 100), -1);
	need_equal(errno, ENETUNREACH);
	/* Destroyed while it waits. */
	struct rdma_cm_id *gone = id_make(channel);
	need_equal(resolve(gone, "10.97.0.79", 5000), 0);
	need_equal(rdma_destroy_id(gone), 0);
	need(!fd_is_readable(channel->fd, 0));
	need(rdma_destroy_id(id) == 0 && rdma_destroy_id(nobody) == 0 && rdma_destroy_id(later) == 0 && rdma_destroy_id(sync) == 0);
	rdma_destroy_event_channel(channel);
}

/* Interfaces too small for the smallest path MTU are refused at once; what goes while an id stands on it is said. */
static void interfaces(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = id_make(channel), *asking = id_make(channel);

	harness_other_host_make();
	await_resolved(channel, id, "10.97.0.2");
	harness_ip("link set sva mtu 300");
	uint64_t end = harness_now_ms() + 5000;
	while (rdma_resolve_route(id, 1000) == 0) { /* the broker has not heard of it yet */
		event_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id);
		need(harness_now_ms() < end);
		need_equal(rdma_destroy_id(id), 0);
		id = id_make(channel);
		await_resolved(channel, id, "10.97.0.2");
	}
	need_equal(errno, EINVAL);
	need_equal(resolve(asking, "10.97.0.77", 1500), 0);
	harness_ip("link del sva");
	need_equal(event_take(channel, RDMA_CM_EVENT_DEVICE_REMOVAL, id), 0);
	need_equal(event_take(channel, RDMA_CM_EVENT_ADDR_ERROR, asking), -ETIMEDOUT);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(asking), 0);
	rdma_destroy_event_channel(channel);
}

#define CASE(name) static void case_##name(void) { harness_ip_can("link del sva 2> /dev/null"); name(); }
CASE(resolving)
CASE(interfaces)

static const struct harness_case cases[] = {
	{ "resolving", "neighbours that answer, do not, answer late; ADDR_ERROR with -ETIMEDOUT when the time is over", case_resolving },
	{ "interfaces", "an MTU of 300 bytes is EINVAL at once, a deleted interface DEVICE_REMOVAL", case_interfaces },
};

int main(int argc, char **argv)
{
	harness_wants_interfaces();
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
