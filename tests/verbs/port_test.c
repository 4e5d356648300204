/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ports and the interfaces behind them, as a foreign program sees them: what changes there arrives as events, the port's attributes
 * and GIDs follow, and an interface that goes takes its device with it. Interfaces sva and svb are the ends of a veth pair.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVENT_MS = 5000, LATE_MS = 10000 };

static void pair_make(void)
{
	harness_ip("link add sva mtu 1500 type veth peer name svb mtu 1500");
	harness_ip("addr add 10.97.0.1/24 dev sva");
	harness_ip("link set svb up");
	harness_ip("link set sva up");
}

static bool is_listed(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;

	need(list != NULL);
	for (int i = 0; list[i] != NULL; i++)
		found = found || strcmp(ibv_get_device_name(list[i]), name) == 0;
	ibv_free_device_list(list);
	return found;
}

/* What no event tells. */
static void await(bool (*condition)(const void *argument), const void *argument, const char *words)
{
	uint64_t end = harness_now_ms() + EVENT_MS;
	struct timespec moment = { 0, 2000000 };

	while (!condition(argument)) {
		if (harness_now_ms() > end)
			harness_fail(__FILE__, __LINE__, "%s", words);
		nanosleep(&moment, NULL);
	}
}

static bool listed(const void *name) { return is_listed(name); }
static bool unlisted(const void *name) { return !is_listed(name); }

static struct ibv_context *port_open(void)
{
	uint64_t end = harness_now_ms() + EVENT_MS;

	/* Coming up is a change, too, that must not be told to those who wait for another one. */
	for (;;) {
		struct ibv_port_attr port;

		await(listed, "sv_sva", "sv_sva is not listed");
		struct ibv_context *context = rc_device_open_named("sv_sva");
		if (ibv_query_port(context, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE && !fd_is_readable(context->async_fd, 0))
			return context;
		if (harness_now_ms() >= end)
			harness_fail(__FILE__, __LINE__, "sv_sva: state %d, %s", port.state,
				     fd_is_readable(context->async_fd, 0) ? "an event" : "no event");
		need_equal(ibv_close_device(context), 0);
	}
}

static enum ibv_event_type event_take(struct ibv_context *context)
{
	struct ibv_async_event event;

	need(fd_is_readable(context->async_fd, EVENT_MS));
	need_equal(ibv_get_async_event(context, &event), 0);
	need(event.event_type == IBV_EVENT_DEVICE_FATAL || event.element.port_num == 1);
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* An interface that is deleted goes down first, which may be seen or not, and loses its addresses. PORT_ERR is told once. */
static void fatal_await(struct ibv_context *context)
{
	unsigned errors = 0;
	enum ibv_event_type type;

	while ((type = event_take(context)) != IBV_EVENT_DEVICE_FATAL) {
		need(type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_GID_CHANGE);
		errors += type == IBV_EVENT_PORT_ERR;
	}
	while (fd_is_readable(context->async_fd, 0)) {
		need_equal(event_take(context), IBV_EVENT_PORT_ERR);
		errors++;
	}
	need_equal(errors, 1);
}

static struct ibv_port_attr port_of(struct ibv_context *context)
{
	struct ibv_port_attr port;

	need_equal(ibv_query_port(context, 1, &port), 0);
	return port;
}

struct mtu_wish {
	struct ibv_context *context;
	enum ibv_mtu mtu;
};

static bool has_mtu(const void *wish)
{
	const struct mtu_wish *w = wish;

	return port_of(w->context).active_mtu == w->mtu;
}

/* An interface that goes down, or whose other end does, and comes up again. */
static void link_events(void)
{
	static const char *const ends[] = { "sva", "svb" };

	pair_make();
	struct ibv_context *first = port_open(), *second = port_open();
	struct ibv_port_attr port = port_of(first);

	need(port.state == IBV_PORT_ACTIVE && port.phys_state == 5 && port.link_layer == IBV_LINK_LAYER_ETHERNET);
	need(port.lid == 0 && port.sm_lid == 0 && port.lmc == 0);
	need_equal(port.active_speed, 8); /* veth says 10 Gb/s */
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		harness_ip("link set %s down", ends[i]);
		need_equal(event_take(first), IBV_EVENT_PORT_ERR);
		port = port_of(first);
		need(port.state == IBV_PORT_DOWN && port.phys_state == 3);
		harness_ip("link set %s up", ends[i]);
		need_equal(event_take(first), IBV_EVENT_PORT_ACTIVE);
		need_equal(port_of(first).state, IBV_PORT_ACTIVE);
		/* Every context has its own. */
		need_equal(event_take(second), IBV_EVENT_PORT_ACTIVE);
		need_equal(event_take(second), IBV_EVENT_PORT_ERR); /* the same source: the lower number first */
	}
	/* sv_lo is another port. */
	struct ibv_context *lo = rc_device_open();
	harness_ip("link set sva down");
	need_equal(event_take(first), IBV_EVENT_PORT_ERR);
	need(!fd_is_readable(lo->async_fd, 50));
	need(!fd_is_readable(first->async_fd, 0));
	need(ibv_close_device(lo) == 0 && ibv_close_device(second) == 0 && ibv_close_device(first) == 0);
}

static void mtu_follows(void)
{
	static const struct {
		unsigned bytes;
		enum ibv_mtu mtu;
	} rows[] = { { 9000, IBV_MTU_4096 }, { 600, IBV_MTU_512 }, { 300, IBV_MTU_256 }, { 2300, IBV_MTU_2048 } };

	pair_make();
	struct ibv_context *context = port_open();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mtu_wish wish = { context, rows[i].mtu };

		harness_ip("link set svb mtu %u", rows[i].bytes);
		harness_ip("link set sva mtu %u", rows[i].bytes);
		await(has_mtu, &wish, "the MTU does not follow");
	}
	/* Below 1280 bytes there is no IPv6, whose addresses may have been a change. Nothing else is an event. */
	while (fd_is_readable(context->async_fd, 100))
		need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need_equal(ibv_close_device(context), 0);
}

static int gid_index(struct ibv_context *context, const char *address, enum ibv_gid_type type)
{
	struct ibv_gid_entry entries[128];
	ssize_t count = ibv_query_gid_table(context, entries, 128, 0);
	union ibv_gid gid;

	need(count > 0 && inet_pton(AF_INET6, address, gid.raw) == 1);
	for (ssize_t i = 0; i < count; i++)
		if ((enum ibv_gid_type)entries[i].gid_type == type && memcmp(entries[i].gid.raw, gid.raw, 16) == 0)
			return (int)entries[i].gid_index;
	return -1;
}

static void address_events(void)
{
	union ibv_gid gid;
	static const union ibv_gid zero;

	pair_make();
	struct ibv_context *context = port_open();
	need_equal(gid_index(context, "::ffff:10.97.0.1", IBV_GID_TYPE_ROCE_V1), 2);
	need_equal(gid_index(context, "::ffff:10.97.0.1", IBV_GID_TYPE_ROCE_V2), 3);
	harness_ip("addr add 10.97.0.7/24 dev sva");
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need_equal(gid_index(context, "::ffff:10.97.0.7", IBV_GID_TYPE_ROCE_V1), 4);
	need_equal(gid_index(context, "::ffff:10.97.0.7", IBV_GID_TYPE_ROCE_V2), 5);
	harness_ip("addr add fd97::1/64 dev sva nodad");
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need_equal(gid_index(context, "fd97::1", IBV_GID_TYPE_ROCE_V2), 7);
	harness_ip("addr del 10.97.0.7/24 dev sva");
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need_equal(ibv_query_gid(context, 1, 5, &gid), 0);
	need(memcmp(&gid, &zero, sizeof(gid)) == 0);
	need_equal(gid_index(context, "fd97::1", IBV_GID_TYPE_ROCE_V2), 7);
	/* The hole is taken by the next one. */
	harness_ip("addr add 10.97.0.9/24 dev sva");
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need_equal(gid_index(context, "::ffff:10.97.0.9", IBV_GID_TYPE_ROCE_V1), 4);
	need(!fd_is_readable(context->async_fd, 100));
	need_equal(ibv_close_device(context), 0);
}

/* The addresses of a VLAN are in the table of the interface below, with the VLAN's number; the VLAN is a device, too. */
static void vlan_entries(void)
{
	struct ibv_gid_entry entry;

	pair_make();
	if (!harness_ip_can("link add link sva name sva.7 type vlan id 7 2> /dev/null"))
		harness_skip("this kernel has no VLANs");
	struct ibv_context *context = port_open();
	harness_ip("addr add 10.97.7.1/24 dev sva.7");
	harness_ip("link set sva.7 up");
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	int at = gid_index(context, "::ffff:10.97.7.1", IBV_GID_TYPE_ROCE_V2);
	need_equal(at, 5);
	await(listed, "sv_sva.7", "the VLAN is no device");
	struct ibv_context *vlan = rc_device_open_named("sv_sva.7");
	need_equal(gid_index(vlan, "::ffff:10.97.7.1", IBV_GID_TYPE_ROCE_V2), 3);
	uint32_t below, above;
	need_equal(ibv_query_gid_ex(context, 1, 3, &entry, 0), 0);
	below = entry.ndev_ifindex;
	need_equal(ibv_query_gid_ex(context, 1, (uint32_t)at, &entry, 0), 0);
	above = entry.ndev_ifindex;
	need(below != above);
	need_equal(ibv_query_gid_ex(vlan, 1, 3, &entry, 0), 0);
	need_equal(entry.ndev_ifindex, above);
	harness_ip("link del sva.7");
	fatal_await(vlan);
	while (gid_index(context, "::ffff:10.97.7.1", IBV_GID_TYPE_ROCE_V2) >= 0)
		need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	need(ibv_close_device(vlan) == 0 && ibv_close_device(context) == 0);
}

static void flushed(struct rc *rc, uint64_t id)
{
	struct ibv_wc wc = cq_wait(rc->recv_cq);

	need_equal(wc.wr_id, id);
	need_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
}

static void removal(void)
{
	struct rc a, b;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	union ibv_gid gid;

	pair_make();
	struct ibv_context *context = port_open();
	rc_pair(&a, &b, &(struct rc_options){ .context = context }, NULL);
	need_equal(rc_receive(&a, 1, 0, 100), 0);
	need_equal(rc_receive(&a, 2, 0, 100), 0);
	harness_ip("link del sva");
	fatal_await(context);
	/* What waited comes back, and what is posted from now on as well. */
	flushed(&a, 1);
	flushed(&a, 2);
	need_equal(rc_post(&a, 3, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	struct ibv_wc wc = cq_wait(a.send_cq);
	need(wc.wr_id == 3 && wc.status == IBV_WC_WR_FLUSH_ERR);
	need_equal(ibv_query_port(context, 1, &port), EIO);
	need_equal(ibv_query_gid(context, 1, 0, &gid), -1);
	need_equal(errno, EIO);
	need_errno(ibv_alloc_pd(context), EIO);
	need_errno(ibv_create_cq(context, 1, NULL, NULL, 0), EIO);
	need_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EIO);
	await(unlisted, "sv_sva", "a device without an interface is listed");

	/* One of that name comes: another device, which the lost context has no part in. */
	pair_make();
	struct ibv_context *again = port_open();
	need_equal(port_of(again).state, IBV_PORT_ACTIVE);
	need_equal(ibv_query_port(context, 1, &port), EIO);
	need(!fd_is_readable(context->async_fd, 0));
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(context), 0);
	rc_pair(&a, &b, &(struct rc_options){ .context = again }, NULL);
	need_equal(rc_receive(&b, 1, 0, 100), 0);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_SEND);
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(again), 0);
}

/* Deleted and made again before anybody looked: still another device. */
static void replacement(void)
{
	pair_make();
	struct ibv_context *context = port_open();

	harness_ip("link del sva");
	pair_make();
	fatal_await(context);
	struct ibv_context *again = port_open();
	need_equal(port_of(again).state, IBV_PORT_ACTIVE);
	need(ibv_close_device(context) == 0 && ibv_close_device(again) == 0);
}

/* Posts WRITEs as fast as they end, until one fails; what status that was. */
static enum ibv_wc_status write_until_it_fails(struct rc *rc, const struct rc_address *to, unsigned *good)
{
	uint64_t end = harness_now_ms() + LATE_MS;
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	unsigned posted = 0, done = 0;

	*good = 0;
	while (status == IBV_WC_SUCCESS || done < posted) {
		struct ibv_wc wc[16];

		while (status == IBV_WC_SUCCESS && posted - done < 32 &&
		       rc_post(rc, posted, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 4096, to, 0) == 0)
			posted++;
		int n = ibv_poll_cq(rc->send_cq, 16, wc);
		need(n >= 0 && harness_now_ms() < end);
		for (int i = 0; i < n; i++) {
			need_equal(wc[i].wr_id, done++);
			if (status == IBV_WC_SUCCESS)
				status = wc[i].status;
			else
				need_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
			*good += wc[i].status == IBV_WC_SUCCESS;
		}
	}
	return status;
}

static void *delete_soon(void *unused)
{
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL); /* in the middle of it */
	harness_ip("link del sva");
	return NULL;
}

static void removal_under_traffic(void)
{
	struct rc a, b;
	pthread_t thread;
	unsigned good;

	pair_make();
	struct ibv_context *context = port_open();
	rc_pair(&a, &b, &(struct rc_options){ .context = context, .timeout = 8, .retry = 2 }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(pthread_create(&thread, NULL, delete_soon, NULL), 0);
	enum ibv_wc_status status = write_until_it_fails(&a, &to_b, &good);
	/* Over the wire its packets may have had no way for longer than it takes to give up. */
	need(status == IBV_WC_WR_FLUSH_ERR || (harness_is_wire() && status == IBV_WC_RETRY_EXC_ERR));
	need(good > 0);
	pthread_join(thread, NULL);
	fatal_await(context);
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(context), 0);
}

static void *forget_address(void *unused)
{
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL); /* in the middle of it */
	harness_ip("addr del 10.97.0.1/24 dev sva");
	return NULL;
}

/* Its packets cannot leave any more: they are repeated, and given up. Shared memory needs no address. */
static void address_goes_under_traffic(void)
{
	struct rc a, b;
	pthread_t thread;
	unsigned good;

	if (!harness_is_wire())
		harness_skip("over the wire only");
	pair_make();
	struct ibv_context *context = port_open();
	rc_pair(&a, &b, &(struct rc_options){ .context = context, .timeout = 8, .retry = 2 }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(pthread_create(&thread, NULL, forget_address, NULL), 0);
	need_equal(write_until_it_fails(&a, &to_b, &good), IBV_WC_RETRY_EXC_ERR);
	need(good > 0);
	pthread_join(thread, NULL);
	need_equal(event_take(context), IBV_EVENT_GID_CHANGE);
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(context), 0);
}

/* --- other hosts: svb is theirs --- */

static struct ibv_ah_attr to_address(int sgid_index, const char *address)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = (uint8_t)sgid_index, .hop_limit = 64 } };

	need_equal(inet_pton(AF_INET6, address, attr.grh.dgid.raw), 1);
	return attr;
}

static int to_rtr(struct rc *rc, const char *address)
{
	struct rc_address remote = { .qpn = 0x123456, .psn = 1 };

	need_equal(inet_pton(AF_INET6, address, remote.gid.raw), 1);
	return rc_to_rtr(rc, &remote);
}

/* Asked for at RTR and for each handle, and the answer is theirs. */
static void neighbours(void)
{
	struct rc rc;
	uint8_t mac[6];
	uint16_t vid;

	harness_other_host_make();
	struct ibv_context *context = port_open();
	rc_open(&rc, &(struct rc_options){ .context = context });
	struct ibv_ah_attr there = to_address(rc.gid_index, "::ffff:10.97.0.2"), nobody = to_address(rc.gid_index, "::ffff:10.97.0.77"),
		beyond = to_address(rc.gid_index, "::ffff:203.0.113.1"), here = to_address(rc.gid_index, "::ffff:10.97.0.1");

	struct ibv_ah *ah = ibv_create_ah(rc.pd, &there);
	need(ah != NULL);
	need_equal(ibv_destroy_ah(ah), 0);
	there.dlid = 0xbeef; /* nobody looks */
	there.src_path_bits = 7;
	ah = ibv_create_ah(rc.pd, &there);
	need(ah != NULL);
	need_equal(ibv_destroy_ah(ah), 0);
	need_errno(ibv_create_ah(rc.pd, &nobody), ETIMEDOUT);
	need_errno(ibv_create_ah(rc.pd, &beyond), EHOSTUNREACH);

	need_equal(rc_to_init(&rc), 0);
	need_equal(to_rtr(&rc, "::ffff:10.97.0.77"), ETIMEDOUT);
	need_equal(to_rtr(&rc, "::ffff:203.0.113.1"), EHOSTUNREACH);
	harness_ip("neigh flush dev sva");
	need_equal(to_rtr(&rc, "::ffff:10.97.0.2"), 0);

	need_equal(ibv_resolve_eth_l2_from_gid(context, &there, mac, &vid), 0);
	need(memcmp(mac, (const uint8_t[]){ 2, 0, 0, 0, 0, 2 }, 6) == 0 && vid == 0xffff);
	need_equal(ibv_resolve_eth_l2_from_gid(context, &here, mac, &vid), 0);
	need(memcmp(mac, (const uint8_t[]){ 2, 0, 0, 0, 0, 1 }, 6) == 0);
	need_equal(ibv_resolve_eth_l2_from_gid(context, &nobody, mac, &vid), ETIMEDOUT);
	struct ibv_ah_attr group = to_address(rc.gid_index, "::ffff:224.1.2.3"), made = to_address(rc.gid_index - 1, "fe80::ff:fe00:55");
	need_equal(ibv_resolve_eth_l2_from_gid(context, &group, mac, &vid), 0);
	need(memcmp(mac, (const uint8_t[]){ 1, 0, 0x5e, 1, 2, 3 }, 6) == 0);
	need_equal(ibv_resolve_eth_l2_from_gid(context, &made, mac, &vid), 0); /* RoCEv1: it is in the GID */
	need(memcmp(mac, (const uint8_t[]){ 2, 0, 0, 0, 0, 0x55 }, 6) == 0);
	there.is_global = 0;
	need_equal(ibv_resolve_eth_l2_from_gid(context, &there, mac, &vid), EINVAL);
	there.is_global = 1;
	there.grh.sgid_index = 99;
	need_equal(ibv_resolve_eth_l2_from_gid(context, &there, mac, &vid), EINVAL);
	rc_close(&rc);
	need_equal(ibv_close_device(context), 0);
}

static _Atomic bool asked;

static void *ask_nobody(void *rc)
{
	need_equal(to_rtr(rc, "::ffff:10.97.0.77"), ETIMEDOUT);
	asked = true;
	return NULL;
}

/* Others go on while one waits for an answer. */
static void asking_blocks_nobody(void)
{
	struct rc waits, a, b;
	pthread_t thread;
	unsigned exchanged = 0;

	harness_other_host_make();
	harness_ip("ntable change name arp_cache dev sva retrans 200");
	struct ibv_context *context = port_open();
	rc_open(&waits, &(struct rc_options){ .context = context });
	need_equal(rc_to_init(&waits), 0);
	rc_pair(&a, &b, &(struct rc_options){ .context = context }, NULL);
	need_equal(pthread_create(&thread, NULL, ask_nobody, &waits), 0);
	while (!asked) {
		uint64_t before = harness_now_ms();

		need_equal(rc_receive(&b, exchanged, 0, 100), 0);
		need_equal(rc_post(&a, exchanged, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
		cq_expect(a.send_cq, exchanged, IBV_WC_SUCCESS, IBV_WC_SEND);
		cq_expect(b.recv_cq, exchanged++, IBV_WC_SUCCESS, IBV_WC_RECV);
		need(harness_now_ms() - before < 400); /* a question takes 600 */
	}
	need(exchanged > 10);
	pthread_join(thread, NULL);
	rc_pair_close(&a, &b);
	rc_close(&waits);
	need_equal(ibv_close_device(context), 0);
}

/* An interface whose packets are too short for the shortest payload, one without an address, one address on two interfaces. */
static void odd_interfaces(void)
{
	struct rc rc, a, b;

	harness_other_host_make();
	harness_ip("link set sva mtu 300");
	struct ibv_context *context = port_open();
	rc_open(&rc, &(struct rc_options){ .context = context, .mtu = IBV_MTU_256 });
	need_equal(rc_to_init(&rc), 0);
	await(has_mtu, &(struct mtu_wish){ context, IBV_MTU_256 }, "the MTU does not follow");
	need_equal(to_rtr(&rc, "::ffff:10.97.0.2"), EINVAL);
	harness_ip("link set sva mtu 600");
	await(has_mtu, &(struct mtu_wish){ context, IBV_MTU_512 }, "the MTU does not follow");
	need_equal(to_rtr(&rc, "::ffff:10.97.0.2"), 0);
	rc_close(&rc);

	/* The same address twice on this host: each reaches itself. Over the wire the kernel takes one of the two for all packets. */
	if (harness_is_wire())
		return;
	harness_ip("link add svc type veth peer name svd");
	harness_ip("link set svd up");
	harness_ip("addr add 10.97.0.1/24 dev svc");
	harness_ip("link set svc up");
	await(listed, "sv_svc", "sv_svc is not listed");
	struct ibv_context *twice = rc_device_open_named("sv_svc");
	const struct rc_options short_packets = { .context = twice, .mtu = IBV_MTU_256 };
	rc_pair(&a, &b, &short_packets, &short_packets);
	need_equal(rc_receive(&b, 1, 0, 100), 0);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_SEND);
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(twice), 0);

	/* None at all: the two entries that are made from the MAC. */
	harness_ip("link del svc");
	harness_ip("link add svc type veth peer name svd");
	harness_ip("link set svd up");
	harness_ip("link set svc up");
	harness_ip("addr flush dev svc");
	await(listed, "sv_svc", "sv_svc is not listed");
	twice = rc_device_open_named("sv_svc");
	struct ibv_gid_entry entries[8];
	need_equal(ibv_query_gid_table(twice, entries, 8, 0), 2);
	need(entries[0].gid_type == IBV_GID_TYPE_ROCE_V1 && entries[1].gid_type == IBV_GID_TYPE_ROCE_V2);
	need(ibv_close_device(twice) == 0 && ibv_close_device(context) == 0);
	harness_ip("link del svc");
}

/* A peer that speaks of itself by RoCEv1's entry is not the one that a v2 queue pair was connected to: what it sends is dropped. */
static void types_do_not_mix(void)
{
	struct rc a, b;

	if (harness_is_wire())
		harness_skip("over shared memory, where both types go");
	pair_make();
	struct ibv_context *context = port_open();
	rc_open(&a, &(struct rc_options){ .context = context, .timeout = 8, .retry = 1 });
	rc_open(&b, &(struct rc_options){ .context = context });
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	a.gid_index--; /* the same address as v1 */
	rc_connect(&a, &to_b);
	rc_connect(&b, &to_a);
	need_equal(rc_receive(&b, 1, 0, 100), 0);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	need_equal(cq_wait(a.send_cq).status, IBV_WC_RETRY_EXC_ERR);
	cq_expect_none(b.recv_cq, 20);
	rc_pair_close(&a, &b);
	need_equal(ibv_close_device(context), 0);
}

/* --- closing while it changes --- */

static _Atomic bool churn_ends;

static void *open_and_close(void *unused)
{
	while (!churn_ends) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		need(list != NULL);
		for (int i = 0; list[i] != NULL; i++) {
			if (strcmp(ibv_get_device_name(list[i]), "sv_sva") != 0)
				continue;
			struct ibv_context *context = ibv_open_device(list[i]);
			struct ibv_async_event event;

			if (context == NULL) {
				need(errno == ENODEV || errno == EIO);
				continue;
			}
			need_equal(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
			struct ibv_pd *pd = ibv_alloc_pd(context);
			while (ibv_get_async_event(context, &event) == 0)
				ibv_ack_async_event(&event);
			need(pd == NULL || ibv_dealloc_pd(pd) == 0);
			need_equal(ibv_close_device(context), 0);
		}
		ibv_free_device_list(list);
	}
	return NULL;
}

static void churn(void)
{
	pthread_t threads[2];
	unsigned rounds = harness_is_long() ? 100 : 2;

	pair_make();
	for (unsigned i = 0; i < 2; i++)
		need_equal(pthread_create(&threads[i], NULL, open_and_close, NULL), 0);
	for (unsigned i = 0; i < rounds; i++) {
		harness_ip("addr add 10.97.0.%u/24 dev sva", 20 + i % 100);
		harness_ip("link set sva down");
		harness_ip("link set sva up");
		harness_ip("addr del 10.97.0.%u/24 dev sva", 20 + i % 100);
		if (i % 2 == 1) {
			harness_ip("link del sva");
			pair_make();
		}
	}
	churn_ends = true;
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void cleaned(void (*run)(void))
{
	harness_ip_can("link del sva 2> /dev/null"); /* an earlier case's; skips without root */
	harness_ip_can("link del svc 2> /dev/null");
	run();
}

#define CASE(name) static void case_##name(void) { cleaned(name); }
CASE(link_events)
CASE(mtu_follows)
CASE(address_events)
CASE(vlan_entries)
CASE(removal)
CASE(replacement)
CASE(removal_under_traffic)
CASE(address_goes_under_traffic)
CASE(neighbours)
CASE(asking_blocks_nobody)
CASE(odd_interfaces)
CASE(types_do_not_mix)
CASE(churn)

static const struct harness_case cases[] = {
	{ "link_events", "down and up, of either end: PORT_ERR and PORT_ACTIVE, once, in each context of that port alone", case_link_events },
	{ "mtu_follows", "the active MTU follows the interface's", case_mtu_follows },
	{ "address_events", "GID_CHANGE for addresses that come and go; entries keep their place, holes are filled", case_address_events },
	{ "vlan_entries", "a VLAN's addresses are in the table of the interface below", case_vlan_entries },
	{ "removal", "DEVICE_FATAL; work is flushed; EIO from then on; a new interface of that name is a new device", case_removal },
	{ "replacement", "an interface deleted and made again is another device", case_replacement },
	{ "removal_under_traffic", "everything posted ends, in order", case_removal_under_traffic },
	{ "address_goes_under_traffic", "RETRY_EXC", case_address_goes_under_traffic },
	{ "neighbours", "asked for at RTR and for handles: ETIMEDOUT, EHOSTUNREACH; ibv_resolve_eth_l2_from_gid", case_neighbours },
	{ "asking_blocks_nobody", "others go on while a QP waits for the answer", case_asking_blocks_nobody },
	{ "odd_interfaces", "an MTU of 300 bytes, an address on two interfaces, none at all", case_odd_interfaces },
	{ "types_do_not_mix", "a v1 peer of a v2 queue pair is not heard", case_types_do_not_mix },
	{ "churn", "opening and closing while the interface changes and goes", case_churn },
};

int main(int argc, char **argv)
{
	harness_wants_interfaces();
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
