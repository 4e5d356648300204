/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The node with a real link (the private ring of a process to itself) and adapters that do nothing but count: nothing posted is
 * stranded, whoever posts, polls or sleeps; removed flows are never called again; the lock excludes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "ipc/pair.h"
#include "link/test_pair.h"
#include "node/lock.h"
#include "node/node.h"

enum { SLOT = 7, POSTERS = 3, POSTS = 20000 };

/* An adapter's QP that sends `posted` numbered packets to its destination, and counts what arrives. */
struct counting_flow {
	struct node_flow flow;
	_Atomic uint32_t posted;
	uint32_t sent;
	_Atomic uint32_t received, published;
	uint64_t deadline;
	_Atomic uint32_t ticks;
	bool gone;
	/* Receiving keeps the first run for so long, or until it is released. */
	uint64_t hold_ns, held_since;
	_Atomic bool released;
	_Atomic uint64_t held_ns;
	_Atomic uint32_t offers;
	/* Sending, with next_path: where each packet goes. */
	struct link_path to[4];
};

static struct counting_flow *counting(struct node_flow *flow)
{
	return (struct counting_flow *)(void *)flow;
}

static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	struct counting_flow *self = counting(flow);
	uint32_t number;

	atomic_fetch_add(&self->offers, 1);
	if (may_wait && self->hold_ns != 0) {
		if (self->held_since == 0)
			self->held_since = now;
		if (!atomic_load(&self->released) && now < self->held_since + self->hold_ns)
			return self->held_since + self->hold_ns;
		atomic_store(&self->held_ns, now - self->held_since);
	}
	assert(rx->run.head.payload_len == sizeof(number));
	memcpy(&number, rx->run.head.payload, sizeof(number));
	assert(number == atomic_load(&counting(flow)->received));
	atomic_fetch_add(&counting(flow)->received, 1);
	return 0;
}

static bool flow_wants_room(struct node_flow *flow, uint64_t now)
{
	return counting(flow)->sent != atomic_load_explicit(&counting(flow)->posted, memory_order_acquire);
}

static int flow_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct counting_flow *self = counting(flow);

	if (!flow_wants_room(flow, now))
		return 0;
	memcpy(room->buf, &self->sent, sizeof(self->sent));
	*out = (struct transport_run){
		.head = { .bth = { .opcode = WIRE_RC_SEND_ONLY, .pkey = 0xffff, .dest_qpn = flow->path.dest_qpn,
				   .psn = self->sent & 0xffffff },
			  .payload = room->buf, .payload_len = sizeof(self->sent), .op = wire_opcode_find(WIRE_RC_SEND_ONLY) },
		.packets = 1, .last_opcode = WIRE_RC_SEND_ONLY, .mtu = 1024,
	};
	*used = sizeof(self->sent);
	self->sent++;
	return 1;
}

static void flow_publish(struct node_flow *flow)
{
	atomic_store(&counting(flow)->published, atomic_load(&counting(flow)->received));
}

static uint64_t flow_deadline(struct node_flow *flow)
{
	return counting(flow)->deadline;
}

static void flow_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	atomic_fetch_add(&counting(flow)->ticks, 1);
	counting(flow)->deadline = BASE_NEVER;
}

static void flow_peer_gone(struct node_flow *flow, uint64_t now)
{
	counting(flow)->gone = true;
}

/* Only for the flow of next_path_waits_for_pairs(). */
static const struct link_path *flow_next_path(struct node_flow *flow, uint64_t now)
{
	struct counting_flow *self = counting(flow);

	if (!flow_wants_room(flow, now))
		return NULL;
	flow->path.dest_qpn = self->to[self->sent].dest_qpn; /* for flow_next() */
	return &self->to[self->sent];
}

static const struct node_flow_ops ops = { flow_receive, flow_next, flow_wants_room, flow_publish, flow_deadline, flow_tick,
					  flow_peer_gone, NULL, false };
static const struct node_flow_ops many_paths_ops = { flow_receive, flow_next, flow_wants_room, flow_publish, flow_deadline,
						     flow_tick, flow_peer_gone, flow_next_path, false };
static const struct node_flow_ops lossy_ops = { flow_receive, flow_next, flow_wants_room, flow_publish, flow_deadline, flow_tick,
						flow_peer_gone, NULL, true };

struct fixture {
	struct ipc_wake *wake;
	int wake_eventfd, control[2];
	struct link_counters counters;
	_Atomic uint64_t unknown_qpn;
	_Atomic uint32_t asked[256]; /* pair_ask() for this slot */
	struct node *node;
	struct counting_flow a, b;
};

static int control(void *context)
{
	struct fixture *f = context;
	char byte;

	if (read(f->control[0], &byte, 1) != 1)
		abort();
	return f->control[0];
}

static int pair_ask(void *context, uint8_t slot)
{
	struct fixture *f = context;

	atomic_fetch_add(&f->asked[slot], 1);
	return slot == 0 ? BASE_ERR_INVAL : 0;
}

static void connect_flows(struct fixture *f, struct counting_flow *from, struct counting_flow *to)
{
	const struct link_path path = { .kind = LINK_SHM, .gid_type = WIRE_GID_ROCE_V2, .dest_qpn = to->flow.qpn, .hop_limit = 64 };

	node_lock(f->node);
	node_flow_path(f->node, &from->flow, &path);
	node_unlock(f->node);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->wake = aligned_alloc(IPC_WAKE_BYTES, IPC_WAKE_BYTES);
	memset(f->wake, 0, IPC_WAKE_BYTES);
	f->wake->magic = IPC_WAKE_MAGIC;
	f->wake->version = IPC_WAKE_VERSION;
	f->wake_eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(pipe(f->control), 0);
	const struct link_config link_config = {
		.slot = SLOT, .udp_socket = -1, .wake_page = f->wake, .own_eventfd = f->wake_eventfd, .counters = &f->counters,
	};
	const struct node_config config = {
		.link = link_create(&link_config), .slot = SLOT, .udp_socket = -1, .wake_eventfd = f->wake_eventfd,
		.control_fd = f->control[0], .unknown_qpn = &f->unknown_qpn, .control = control, .control_context = f,
		.pair_ask = pair_ask, .pair_context = f,
	};
	assert_non_null(config.link);
	f->node = node_create(&config);
	assert_non_null(f->node);
	f->a = (struct counting_flow){ .flow = { .ops = &ops }, .deadline = BASE_NEVER };
	f->b = (struct counting_flow){ .flow = { .ops = &ops }, .deadline = BASE_NEVER };
	assert_int_equal(node_flow_add(f->node, &f->a.flow), 0);
	assert_int_equal(node_flow_add(f->node, &f->b.flow), 0);
	connect_flows(f, &f->a, &f->b);
	connect_flows(f, &f->b, &f->a);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	node_flow_remove(f->node, &f->a.flow, false);
	node_flow_remove(f->node, &f->b.flow, false);
	node_destroy(f->node);
	close(f->wake_eventfd);
	close(f->control[0]);
	close(f->control[1]);
	free(f->wake);
	free(f);
	return 0;
}

/* Waits for the thread alone to bring the count up; a stranded post shows as the time-out. */
static void await(_Atomic uint32_t *count, uint32_t wanted)
{
	uint64_t give_up = base_clock_now() + 20 * BASE_SEC;

	while (atomic_load(count) != wanted) {
		if (base_clock_now() > give_up)
			fail_msg("stranded: %u of %u", atomic_load(count), wanted);
		poll(NULL, 0, 1);
	}
}

static void qpns_carry_the_slot(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->a.flow.qpn >> 16, SLOT);
	assert_int_not_equal(f->a.flow.qpn, f->b.flow.qpn);
	node_lock(f->node);
	assert_ptr_equal(node_flow_find(f->node, f->a.flow.qpn), &f->a.flow);
	assert_null(node_flow_find(f->node, f->a.flow.qpn ^ 0x10000));
	node_unlock(f->node);
}

static void *post_many(void *argument)
{
	struct fixture *f = argument;

	for (int i = 0; i < POSTS; i++) {
		atomic_fetch_add_explicit(&f->a.posted, 1, memory_order_release);
		node_kick(f->node, &f->a.flow);
	}
	return NULL;
}

/* Several threads post at once, nobody polls: everything arrives, in order. */
static void posts_are_not_stranded(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[POSTERS];

	for (int i = 0; i < POSTERS; i++)
		pthread_create(&threads[i], NULL, post_many, f);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	await(&f->b.received, POSTERS * POSTS);
	await(&f->b.published, POSTERS * POSTS);
}

/* The same beside a poller, then alone again after the poller stopped: the thread takes over. */
static void thread_takes_over_from_a_poller(void **state)
{
	struct fixture *f = *state;
	pthread_t poster;

	pthread_create(&poster, NULL, post_many, f);
	for (int i = 0; i < 20000; i++)
		node_poll(f->node);
	pthread_join(poster, NULL);
	await(&f->b.received, POSTS);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 100; i++)
			node_poll(f->node);
		atomic_fetch_add(&f->a.posted, 1);
		node_kick(f->node, &f->a.flow);
		await(&f->b.received, POSTS + (uint32_t)round + 1);
	}
}

/* A deadline set through schedule() wakes the sleeping thread in time. */
static void timers_wake_the_thread(void **state)
{
	struct fixture *f = *state;

	for (uint32_t round = 1; round <= 20; round++) {
		node_lock(f->node);
		f->a.deadline = base_clock_now() + 2 * BASE_MSEC;
		node_schedule(f->node, &f->a.flow);
		node_unlock(f->node);
		await(&f->a.ticks, round);
	}
}

static void control_messages_reach_the_callback(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++)
		assert_int_equal(write(f->control[1], "x", 1), 1);
	struct pollfd left = { .fd = f->control[0], .events = POLLIN };
	uint64_t give_up = base_clock_now() + 10 * BASE_SEC;
	while (poll(&left, 1, 0) == 1 && base_clock_now() < give_up)
		poll(NULL, 0, 1);
	assert_int_equal(poll(&left, 1, 0), 0);
}

/* With linger the packets that were posted have left when remove returns. */
static void removal_lets_owed_packets_leave(void **state)
{
	struct fixture *f = *state;

	node_lock(f->node);
	atomic_fetch_add(&f->a.posted, 10);
	node_unlock(f->node);
	node_flow_remove(f->node, &f->a.flow, true);
	assert_int_equal(f->a.sent, 10);
	assert_int_equal(node_flow_add(f->node, &f->a.flow), 0);
}

static void unknown_qpns_are_counted(void **state)
{
	struct fixture *f = *state;
	const struct link_path path = { .kind = LINK_SHM, .gid_type = WIRE_GID_ROCE_V2,
					.dest_qpn = (uint32_t)SLOT << 16 | ((f->b.flow.qpn + 77) & 0xffff) };

	node_lock(f->node);
	node_flow_path(f->node, &f->a.flow, &path);
	atomic_fetch_add(&f->a.posted, 3);
	node_schedule(f->node, &f->a.flow);
	node_unlock(f->node);
	uint64_t give_up = base_clock_now() + 10 * BASE_SEC;
	while (atomic_load(&f->unknown_qpn) < 3 && base_clock_now() < give_up)
		node_poll(f->node);
	assert_int_equal(atomic_load(&f->unknown_qpn), 3);
}

static void post(struct fixture *f, uint32_t count)
{
	atomic_fetch_add(&f->a.posted, count);
	node_kick(f->node, &f->a.flow);
}

/*
 * A run that a flow cannot take yet waits, with what is behind it, until its time is over; the thread neither oversleeps
 * nor spins.
 */
static void kept_runs_wait_their_time(void **state)
{
	struct fixture *f = *state;

	f->b.hold_ns = 20 * BASE_MSEC;
	post(f, 5);
	await(&f->b.received, 5);
	uint64_t held = atomic_load(&f->b.held_ns);
	assert_true(held >= 20 * BASE_MSEC && held < 2 * BASE_SEC);
	assert_in_range(atomic_load(&f->b.offers), 6, 60);
}

/* Work for the flow ends the wait. */
static void kick_offers_a_kept_run_again(void **state)
{
	struct fixture *f = *state;

	f->b.hold_ns = 5 * BASE_SEC;
	post(f, 5);
	poll(NULL, 0, 2);
	assert_int_equal(atomic_load(&f->b.received), 0);
	atomic_store(&f->b.released, true);
	node_kick(f->node, &f->b.flow);
	await(&f->b.received, 5);
	assert_true(atomic_load(&f->b.held_ns) < 2 * BASE_SEC);
}

/* Each packet of a flow may go elsewhere: it waits for a pair that is asked for, and what nobody will take goes nowhere. */
static void next_path_waits_for_pairs(void **state)
{
	struct fixture *f = *state;
	const struct link_path own = { .kind = LINK_SHM, .gid_type = WIRE_GID_ROCE_V2, .dest_qpn = f->b.flow.qpn, .hop_limit = 64 };

	f->a.flow.ops = &many_paths_ops;
	for (int i = 0; i < 4; i++)
		f->a.to[i] = own;
	f->a.to[0].dest_qpn = 9 << 16 | 5;
	f->a.to[2].dest_qpn = 1; /* slot 0 */
	post(f, 1);
	assert_int_equal(atomic_load(&f->asked[9]), 1);
	assert_int_equal(f->a.sent, 0);
	post(f, 0);
	node_poll(f->node);
	assert_int_equal(atomic_load(&f->asked[9]), 1);
	node_pair_refused(f->node, 9);
	assert_int_equal(f->a.sent, 1);
	assert_int_equal(f->counters.drops[LINK_DROP_NOWHERE], 1);
	/* The receiving end counts from 0. */
	f->b.received = 1;
	post(f, 1);
	await(&f->b.received, 2);
	f->b.received = 3;
	post(f, 2);
	await(&f->b.received, 4);
	assert_int_equal(atomic_load(&f->asked[0]), 1);
	assert_int_equal(f->counters.drops[LINK_DROP_NOWHERE], 2);
	node_flow_remove(f->node, &f->a.flow, false);
	f->a.flow.ops = &ops;
	assert_int_equal(node_flow_add(f->node, &f->a.flow), 0);
}

/* A peer that stands still for a second gets no more of what may be lost, until it moves again. */
static void stalled_peer_gets_no_more(void **state)
{
	struct fixture *f = *state;
	const struct link_path path = { .kind = LINK_SHM, .gid_type = WIRE_GID_ROCE_V2, .dest_qpn = 9 << 16 | 5, .hop_limit = 64 };
	struct ipc_wake *wake = test_wake_make();
	enum { MORE_THAN_A_RING = 20000 };

	node_lock(f->node);
	assert_int_equal(link_shm_attach(node_link(f->node), 9, 77, test_header_make(SLOT, 9, 77), true, wake, -1), 0);
	f->a.flow.ops = &lossy_ops;
	node_flow_path(f->node, &f->a.flow, &path);
	node_unlock(f->node);
	uint64_t start = base_clock_now();
	post(f, MORE_THAN_A_RING);
	/* The thread does it alone. */
	while (base_clock_now() < start + 700 * BASE_MSEC)
		poll(NULL, 0, 10);
	node_lock(f->node);
	uint32_t fit = f->a.sent;
	assert_in_range(fit, 1000, MORE_THAN_A_RING - 1000);
	node_unlock(f->node);
	uint32_t sent = 0;
	while (sent < MORE_THAN_A_RING && base_clock_now() < start + 20 * BASE_SEC) {
		poll(NULL, 0, 10);
		node_lock(f->node);
		sent = f->a.sent;
		node_unlock(f->node);
	}
	assert_int_equal(sent, MORE_THAN_A_RING);
	assert_true(base_clock_now() - start >= BASE_SEC);
	assert_int_equal(atomic_load(&f->counters.drops[LINK_DROP_PEER_STALLED]), MORE_THAN_A_RING - fit);
	atomic_fetch_add(&wake->progress, 1);
	post(f, 1);
	node_poll(f->node);
	assert_int_equal(f->a.sent, MORE_THAN_A_RING);
	/* Its death ends the wait: then there is nobody. */
	node_peer_gone(f->node, 9);
	assert_int_equal(f->a.sent, MORE_THAN_A_RING + 1);
	assert_int_equal(atomic_load(&f->counters.drops[LINK_DROP_NOWHERE]), 1);
}

static struct node_lock shared_lock;
static uint64_t guarded;

static void *count_under_the_lock(void *argument)
{
	for (int i = 0; i < 100000; i++) {
		if (i % 3 != 0 || !node_lock_try(&shared_lock))
			node_lock_take(&shared_lock);
		guarded++;
		node_lock_give(&shared_lock);
	}
	return NULL;
}

static void lock_excludes(void **state)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count_under_the_lock, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(guarded, 400000);
	assert_int_equal(shared_lock.waiters, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_excludes),
		cmocka_unit_test_setup_teardown(qpns_carry_the_slot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(posts_are_not_stranded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(thread_takes_over_from_a_poller, set_up, tear_down),
		cmocka_unit_test_setup_teardown(timers_wake_the_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(control_messages_reach_the_callback, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removal_lets_owed_packets_leave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_qpns_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kept_runs_wait_their_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kick_offers_a_kept_run_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(next_path_waits_for_pairs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stalled_peer_gets_no_more, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
