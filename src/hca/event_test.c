/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues, channels and asynchronous events: arming, descriptors, acknowledgements, and all of it with threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hca/async.h"
#include "hca/cq_internal.h"
#include "hca/fake_engine.h"
#include "hca/limits.h"
#include "hca/srq_internal.h"

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool push(struct fake_world *w, struct hca_cq *cq, uint64_t wr_id, bool solicited, uint32_t status)
{
	const struct hca_cqe cqe = { .wc = { .wr_id = wr_id, .status = status }, .solicited = solicited };

	pthread_mutex_lock(&w->engine.lock);
	bool pushed = hca_cq_push(cq, &cqe);
	pthread_mutex_unlock(&w->engine.lock);
	return pushed;
}

struct fixture {
	struct fake_world *w;
	struct hca_channel *channel;
	struct hca_cq *cq;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->w = fake_world_create();
	if (hca_channel_create(f->w->context, &f->channel) != 0)
		return -1;
	fcntl(hca_channel_fd(f->channel), F_SETFL, O_NONBLOCK);
	fcntl(hca_async_fd(f->w->context), F_SETFL, O_NONBLOCK);
	f->cq = fake_cq(f->w, 16, f->channel);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int err = hca_cq_destroy(f->cq);

	err |= hca_channel_destroy(f->channel);
	fake_world_destroy(f->w);
	free(f);
	return err;
}

/* What each arming fires for: rows of (armed first, armed second, solicited, failed) -> fires. */
static void arming_rules(void **state)
{
	struct fixture *f = *state;
	enum { NONE, SOLICITED, ANY };
	struct hca_cq *got;
	struct hca_wc wc;

	for (int first = NONE; first <= ANY; first++)
		for (int second = NONE; second <= ANY; second++)
			for (int solicited = 0; solicited < 2; solicited++)
				for (int failed = 0; failed < 2; failed++) {
					int armed = first > second ? first : second;
					bool fires = armed == ANY || (armed == SOLICITED && (solicited || failed));

					if (first != NONE)
						hca_cq_req_notify(f->cq, first == SOLICITED);
					if (second != NONE)
						hca_cq_req_notify(f->cq, second == SOLICITED);
					push(f->w, f->cq, 1, solicited, failed ? TRANSPORT_WR_FLUSH_ERR : TRANSPORT_SUCCESS);
					assert_int_equal(readable(hca_channel_fd(f->channel)), fires);
					assert_int_equal(hca_channel_get(f->channel, &got), fires ? 0 : BASE_ERR_AGAIN);
					if (fires) {
						assert_true(got == f->cq);
						hca_cq_events_ack(got, 1);
					}
					/*
					 * Once: the next entry does not fire; if it was not fired, disarm by an entry that
					 * does.
					 */
					push(f->w, f->cq, 2, true, TRANSPORT_SUCCESS);
					assert_int_equal(hca_channel_get(f->channel, &got), armed == SOLICITED &&
							!fires ? 0 : BASE_ERR_AGAIN);
					if (armed == SOLICITED && !fires)
						hca_cq_events_ack(f->cq, 1);
					assert_int_equal(hca_cq_poll(f->cq, 1, &wc), 1);
					assert_int_equal(hca_cq_poll(f->cq, 1, &wc), 1);
				}
	/* An entry from before the arming does not fire. */
	push(f->w, f->cq, 1, true, TRANSPORT_SUCCESS);
	hca_cq_req_notify(f->cq, false);
	assert_false(readable(hca_channel_fd(f->channel)));
	assert_int_equal(hca_cq_poll(f->cq, 1, &wc), 1);
	assert_int_not_equal(f->w->engine.wakeups_expected, 0);
}

static void descriptor_is_readable_while_events_wait(void **state)
{
	struct fixture *f = *state;
	struct hca_cq *second = fake_cq(f->w, 4, f->channel), *got;
	int fd = hca_channel_fd(f->channel);

	for (int i = 0; i < 3; i++) {
		hca_cq_req_notify(f->cq, false);
		push(f->w, f->cq, 1, false, 0);
	}
	hca_cq_req_notify(second, false);
	push(f->w, second, 1, false, 0);
	assert_int_equal(hca_channel_destroy(f->channel), BASE_ERR_BUSY);
	unsigned of_first = 0, of_second = 0;
	for (int i = 0; i < 2; i++) {
		assert_true(readable(fd));
		assert_int_equal(hca_channel_get(f->channel, &got), 0);
		of_first += got == f->cq;
		of_second += got == second;
		hca_cq_events_ack(got, 1);
	}
	assert_int_equal(of_first, 1);
	assert_int_equal(of_second, 1);
	/* Two more wait for the first; they vanish with it. */
	assert_true(readable(fd));
	assert_int_equal(hca_cq_destroy(f->cq), 0);
	assert_false(readable(fd));
	assert_int_equal(hca_channel_get(f->channel, &got), BASE_ERR_AGAIN);
	f->cq = second;
}

struct destroyer {
	struct hca_cq *cq;
	_Atomic bool done;
};

static void *destroy_it(void *context)
{
	struct destroyer *d = context;

	if (hca_cq_destroy(d->cq) != 0)
		abort();
	atomic_store(&d->done, true);
	return NULL;
}

static void destroy_waits_for_acks(void **state)
{
	struct fixture *f = *state;
	struct destroyer d = { .cq = f->cq };
	struct hca_cq *got;
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		hca_cq_req_notify(f->cq, false);
		push(f->w, f->cq, 1, false, 0);
	}
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	pthread_create(&thread, NULL, destroy_it, &d);
	/* It takes back the second event before it waits: from then on it is at the place where it must not pass. */
	while (readable(hca_channel_fd(f->channel)))
		sched_yield();
	for (int i = 0; i < 100; i++)
		sched_yield();
	assert_false(atomic_load(&d.done));
	hca_cq_events_ack(d.cq, 1);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&d.done));
	f->cq = fake_cq(f->w, 4, f->channel);
}

static void lost_device(void **state)
{
	struct fixture *f = *state;
	struct hca_async_event event;
	struct hca_port_attr port;
	struct hca_pd *pd;

	hca_device_lost(f->w->device);
	hca_device_lost(f->w->device);
	assert_true(hca_device_is_lost(f->w->device));
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_DEVICE_FATAL);
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_PORT_ERR);
	assert_int_equal(hca_async_get(f->w->context, &event), BASE_ERR_AGAIN);
	hca_device_query_port(f->w->device, &port);
	assert_int_equal(port.state, HCA_PORT_DOWN);
	assert_int_equal(hca_pd_alloc(f->w->context, NULL, &pd), BASE_ERR_IO);
	assert_int_equal(hca_device_destroy(f->w->device), BASE_ERR_BUSY);
}

static void port_speeds(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} rows[] = { { 0, 1, 4 }, { 10, 1, 1 }, { 1000, 1, 1 }, { 2500, 1, 8 }, { 10000, 1, 8 }, { 25000, 1, 32 }, { 40000, 2, 8 },
		     { 100000, 2, 32 }, { 400000, 2, 32 } };
	struct fixture *f = *state;
	struct hca_port_attr port;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hca_device_port_set(f->w->device, true, 3, rows[i].mbps);
		hca_device_query_port(f->w->device, &port);
		assert_int_equal(port.active_width, rows[i].width);
		assert_int_equal(port.active_speed, rows[i].speed);
	}
}

static void async_events(void **state)
{
	struct fixture *f = *state;
	struct hca_async_event event;
	int fd = hca_async_fd(f->w->context);

	assert_int_equal(hca_async_get(f->w->context, &event), BASE_ERR_AGAIN);
	hca_device_port_set(f->w->device, true, 3, 0);
	assert_false(readable(fd));
	hca_device_port_set(f->w->device, false, 3, 0);
	hca_device_gids_changed(f->w->device);
	hca_device_gids_changed(f->w->device); /* once until taken */
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_PORT_ERR);
	assert_int_equal(event.port, 1);
	assert_true(event.user == f->w);
	assert_null(event.token);
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_GID_CHANGE);
	assert_false(readable(fd));
	hca_device_gids_changed(f->w->device);
	assert_true(readable(fd));
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	/* An event nobody took vanishes with its object. */
	hca_async_raise(&f->cq->source, HCA_ASYNC_CQ_ERR);
	assert_true(readable(fd));
	assert_int_equal(hca_cq_destroy(f->cq), 0);
	assert_false(readable(fd));
	f->cq = fake_cq(f->w, 4, f->channel);
}

static void resize_and_limits(void **state)
{
	struct fixture *f = *state;
	struct hca_cq_attr attr = { .cqe = 0 };
	struct hca_cq *cq;
	struct hca_wc wc[20];
	uint32_t cqe;

	assert_int_equal(hca_cq_create(f->w->context, &attr, &cq), BASE_ERR_INVAL);
	attr.cqe = (1 << 22) + 1;
	assert_int_equal(hca_cq_create(f->w->context, &attr, &cq), BASE_ERR_INVAL);
	attr = (struct hca_cq_attr){ .cqe = 4, .comp_vector = 8 };
	assert_int_equal(hca_cq_create(f->w->context, &attr, &cq), BASE_ERR_INVAL);
	for (int i = 0; i < 12; i++)
		assert_true(push(f->w, f->cq, i, false, 0));
	assert_int_equal(hca_cq_poll(f->cq, 5, wc), 5);
	cqe = 6;
	assert_int_equal(hca_cq_resize(f->cq, &cqe), BASE_ERR_INVAL);
	cqe = 0;
	assert_int_equal(hca_cq_resize(f->cq, &cqe), BASE_ERR_INVAL);
	cqe = 7;
	assert_int_equal(hca_cq_resize(f->cq, &cqe), 0);
	assert_int_equal(cqe, 8);
	assert_true(push(f->w, f->cq, 12, false, 0));
	assert_int_equal(hca_cq_poll(f->cq, 20, wc), 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(wc[i].wr_id, 5 + i);
	attr = (struct hca_cq_attr){ .cqe = 4, .ignore_overrun = true };
	assert_int_equal(hca_cq_create(f->w->context, &attr, &cq), 0);
	for (int i = 0; i < 6; i++)
		assert_true(push(f->w, cq, i, false, 0));
	assert_int_equal(hca_cq_poll(cq, 20, wc), 4);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(hca_cq_destroy(cq), 0);
}

/* With SRQs under it (rq.c) the same holds: nothing posted is lost, whatever is taken meanwhile. */
static void srq_resize_under_way(void **state)
{
	struct fixture *f = *state;
	struct hca_srq_attr attr = { .max_wr = 2, .max_sge = 1 }, now;
	struct transport_recv taken[2], next;
	struct hca_srq *srq;
	const struct transport_sge sge[2] = { { .length = 1 }, { .length = 2 } };

	assert_int_equal(hca_srq_create(f->w->pd, &attr, NULL, &srq), 0);
	assert_int_equal(hca_srq_post(srq, 0, &sge[0], 1), 0);
	assert_int_equal(hca_srq_post(srq, 1, &sge[1], 1), 0);
	assert_int_equal(hca_srq_post(srq, 2, &sge[1], 1), BASE_ERR_NOMEM);
	assert_int_equal(hca_srq_take(srq, &taken[0]), 0);
	for (uint32_t size = 3; size <= 40000; size = size * 3 / 2 + 1) {
		attr.max_wr = size;
		assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), 0);
		hca_srq_query(srq, &now);
		assert_int_equal(now.max_wr, size);
	}
	/* What was taken before is still what it was, and its number comes back. */
	assert_int_equal(taken[0].sge->length, 1);
	for (uint64_t id = 2; id < 100; id++)
		assert_int_equal(hca_srq_post(srq, id, &sge[id % 2], 1), 0);
	attr.max_wr = 99; /* 98 + 1 waiting, one taken */
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), BASE_ERR_INVAL);
	attr.max_wr = 100;
	attr.limit = 101;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR | HCA_SRQ_LIMIT), BASE_ERR_INVAL);
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), 0);
	assert_int_equal(hca_srq_post(srq, 100, sge, 1), BASE_ERR_NOMEM);
	hca_rq_release(&srq->rq, taken[0].index);
	assert_int_equal(hca_srq_post(srq, 100, sge, 1), 0);
	for (uint64_t id = 1; id <= 100; id++) {
		assert_int_equal(hca_srq_take(srq, &next), 0);
		assert_int_equal(next.wr_id, id);
		assert_int_equal(next.sge->length, id < 100 ? 1 + id % 2 : 1);
		hca_rq_release(&srq->rq, next.index);
	}
	assert_int_equal(hca_srq_take(srq, &next), BASE_ERR_AGAIN);
	attr.max_wr = HCA_MAX_SRQ_WR;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), 0);
	for (uint32_t id = 0; id < HCA_MAX_SRQ_WR; id++)
		assert_int_equal(hca_srq_post(srq, id, sge, 1), 0);
	assert_int_equal(hca_srq_post(srq, 0, sge, 1), BASE_ERR_NOMEM);
	attr.max_wr++;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), BASE_ERR_INVAL);
	assert_int_equal(hca_srq_destroy(srq), 0);
}

static void pass_time(struct fixture *f, uint64_t ns)
{
	fake_lock(&f->w->engine);
	f->w->engine.now += ns;
	fake_unlock(&f->w->engine);
}

static void moderation(void **state)
{
	struct fixture *f = *state;
	int fd = hca_channel_fd(f->channel);
	struct hca_cq *got;

	assert_int_equal(hca_cq_moderate(f->cq, 3, 100), 0);
	/* Unarmed: neither count nor time fires. */
	for (int i = 0; i < 3; i++)
		push(f->w, f->cq, i, false, 0);
	pass_time(f, 200000);
	assert_false(readable(fd));
	/* The count, from arming on. */
	hca_cq_req_notify(f->cq, false);
	push(f->w, f->cq, 3, false, 0);
	push(f->w, f->cq, 4, false, 0);
	assert_false(readable(fd));
	push(f->w, f->cq, 5, false, 0);
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	pass_time(f, 200000);
	assert_false(readable(fd)); /* one event, and the timer is off */
	/* The period, from the first entry after arming on. */
	hca_cq_req_notify(f->cq, false);
	pass_time(f, 200000);
	push(f->w, f->cq, 6, false, 0);
	pass_time(f, 90000);
	push(f->w, f->cq, 7, false, 0);
	assert_false(readable(fd));
	pass_time(f, 10000);
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	assert_false(readable(fd));
	/* Entries that the arming does not ask for do not count. */
	hca_cq_req_notify(f->cq, true);
	push(f->w, f->cq, 8, true, 0);
	push(f->w, f->cq, 9, false, 0);
	push(f->w, f->cq, 10, false, 0);
	assert_false(readable(fd));
	push(f->w, f->cq, 11, false, TRANSPORT_WR_FLUSH_ERR);
	assert_false(readable(fd));
	/* Turned off with something held back: told at once, and then each. */
	assert_int_equal(hca_cq_moderate(f->cq, 1, 1000), 0);
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	hca_cq_req_notify(f->cq, false);
	push(f->w, f->cq, 12, false, 0);
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	assert_int_equal(hca_cq_moderate(f->cq, 100, 0), 0);
	hca_cq_req_notify(f->cq, false);
	push(f->w, f->cq, 13, false, 0);
	assert_int_equal(hca_channel_get(f->channel, &got), 0);
	hca_cq_events_ack(f->cq, 5);
}

/* Stamps stay with their entries through polls, resizes and purges. */
static void stamps(void **state)
{
	struct fixture *f = *state;
	struct hca_cq_attr attr = { .cqe = 4, .stamped = true };
	struct hca_stamp stamp;
	struct hca_cq *cq;
	struct hca_qp *gone = (struct hca_qp *)(void *)f; /* never looked into: receives */
	struct hca_wc wc;
	uint64_t at[6];
	uint32_t cqe = 8;

	assert_int_equal(hca_cq_create(f->w->context, &attr, &cq), 0);
	for (int i = 0; i < 6; i++) {
		const struct hca_cqe entry = { .wc = { .wr_id = (uint64_t)i }, .qp = i == 2 ? gone : NULL };

		if (i == 4)
			assert_int_equal(hca_cq_resize(cq, &cqe), 0);
		f->w->engine.now += 1000;
		at[i] = f->w->engine.now;
		pthread_mutex_lock(&f->w->engine.lock);
		assert_true(hca_cq_push(cq, &entry));
		pthread_mutex_unlock(&f->w->engine.lock);
	}
	hca_cq_purge(cq, gone);
	for (int i = 0; i < 6; i++) {
		if (i == 2)
			continue;
		assert_int_equal(hca_cq_poll_stamped(cq, &wc, &stamp), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(stamp.raw, at[i]);
		assert_int_equal(stamp.wall, at[i] + FAKE_EPOCH);
	}
	assert_int_equal(hca_cq_poll_stamped(cq, &wc, &stamp), 0);
	assert_int_equal(hca_cq_destroy(cq), 0);
	push(f->w, f->cq, 1, false, 0);
	assert_int_equal(hca_cq_poll_stamped(f->cq, &wc, &stamp), 1);
	assert_int_equal(stamp.raw, 0);
}

/* Once it overran a queue takes nothing more, but gives what it has. */
static void overrun_is_for_good(void **state)
{
	struct fixture *f = *state;
	struct hca_async_event event;
	struct hca_wc wc[20];

	for (int i = 0; i < 16; i++)
		assert_true(push(f->w, f->cq, i, false, 0));
	assert_false(push(f->w, f->cq, 16, false, 0));
	assert_int_equal(hca_async_get(f->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_CQ_ERR);
	hca_async_ack(event.token);
	assert_int_equal(hca_cq_poll(f->cq, 10, wc), 10);
	assert_false(push(f->w, f->cq, 17, false, 0));
	assert_int_equal(hca_async_get(f->w->context, &event), BASE_ERR_AGAIN);
	assert_int_equal(hca_cq_poll(f->cq, 20, wc), 6);
	assert_int_equal(wc[5].wr_id, 15);
	assert_int_equal(hca_cq_poll(f->cq, 20, wc), BASE_ERR_IO);
}

static void empty_polls_make_progress(void **state)
{
	struct fixture *f = *state;
	struct hca_wc wc;
	unsigned before = f->w->engine.polls;

	for (int i = 0; i < 40; i++)
		assert_int_equal(hca_cq_poll(f->cq, 1, &wc), 0);
	assert_int_equal(f->w->engine.polls - before, 40);
	push(f->w, f->cq, 1, false, 0);
	assert_int_equal(hca_cq_poll(f->cq, 1, &wc), 1);
	assert_int_equal(f->w->engine.polls - before, 40); /* not when something is there */
	assert_int_equal(hca_cq_poll(f->cq, 0, &wc), 0);
	assert_int_equal(hca_cq_poll(f->cq, -1, &wc), BASE_ERR_INVAL);
}

/* Goal: the classic loop (arm, poll until empty, wait for the event) never sleeps on an entry. Also the race test for TSan. */
enum { RACE_ENTRIES = 20000 };
static void *race_producer(void *context)
{
	struct fixture *f = context;

	for (uint64_t i = 0; i < RACE_ENTRIES; i++)
		while (atomic_load(&f->cq->tail) - atomic_load(&f->cq->head) >= 16 || !push(f->w, f->cq, i, false, 0))
			sched_yield();
	return NULL;
}

static void arm_races(void **state)
{
	struct fixture *f = *state;
	struct pollfd p = { .fd = hca_channel_fd(f->channel), .events = POLLIN };
	uint64_t next = 0, events = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, race_producer, f);
	while (next < RACE_ENTRIES) {
		struct hca_wc wc[4];
		struct hca_cq *got;
		int n;

		hca_cq_req_notify(f->cq, false);
		while ((n = hca_cq_poll(f->cq, 4, wc)) > 0)
			for (int i = 0; i < n; i++)
				assert_int_equal(wc[i].wr_id, next++);
		assert_int_equal(n, 0);
		if (next == RACE_ENTRIES)
			break;
		/* The producer always has more, and we are armed: an event must come. */
		if (poll(&p, 1, 20000) != 1)
			fail_msg("no event after entry %llu", (unsigned long long)next);
		while (hca_channel_get(f->channel, &got) == 0) {
			assert_true(got == f->cq);
			hca_cq_events_ack(got, 1);
			events++;
		}
	}
	pthread_join(thread, NULL);
	assert_int_not_equal(events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(arming_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptor_is_readable_while_events_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(destroy_waits_for_acks, setup, teardown),
		cmocka_unit_test_setup_teardown(async_events, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_device, setup, teardown),
		cmocka_unit_test_setup_teardown(port_speeds, setup, teardown),
		cmocka_unit_test_setup_teardown(resize_and_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(srq_resize_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(moderation, setup, teardown),
		cmocka_unit_test_setup_teardown(stamps, setup, teardown),
		cmocka_unit_test_setup_teardown(overrun_is_for_good, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_polls_make_progress, setup, teardown),
		cmocka_unit_test_setup_teardown(arm_races, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
