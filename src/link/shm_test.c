/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "link/test_pair.h"

/* What a sink saw: runs must come numbered per sender. */
struct seen {
	uint64_t count, bytes, disorder, corrupt;
	uint32_t next_psn[IPC_SLOTS];
	struct link_rx last;
};

static void see(void *context, const struct link_rx *rx)
{
	struct seen *seen = context;
	const uint8_t *p = rx->run.head.payload;
	uint32_t *next = &seen->next_psn[rx->source_slot];

	seen->disorder += rx->run.head.bth.psn != *next;
	*next = wire_psn_add(*next, 1);
	if (rx->run.head.payload_len > 0)
		seen->corrupt += p[0] != (rx->run.head.bth.psn & 0xff) || p[rx->run.head.payload_len - 1] != p[0];
	seen->bytes += rx->run.head.payload_len;
	seen->count++;
	seen->last = *rx;
}

static int send_one(struct test_end *end, const struct link_path *path, uint32_t psn, uint32_t len)
{
	struct transport_room room;
	struct transport_run run;
	int err = link_reserve(end->link, path, &room);

	if (err != 0)
		return err;
	run = test_run(WIRE_RC_SEND_ONLY, room.buf, len, psn & WIRE_PSN_MASK, path->dest_qpn);
	memset(room.buf, (int)(psn & 0xff), len);
	link_commit(end->link, path, &run, len);
	return 0;
}

static bool doorbell_is_set(const struct test_end *end, uint8_t from)
{
	return atomic_load(&end->wake->doorbell[from / 64]) >> from % 64 & 1;
}

static void runs_cross_a_pair(void **state)
{
	struct test_pair pair;
	struct seen seen[2] = {0};
	struct link_path path[2];

	test_pair_make(&pair, 3, 200);
	path[0] = test_path(3, 200);
	path[1] = test_path(200, 3);
	for (int from = 0; from < 2; from++) {
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(send_one(&pair.end[from], &path[from], i, 100 + i), 0);
		link_flush(pair.end[from].link);
		assert_true(doorbell_is_set(&pair.end[1 - from], pair.end[from].slot));
		/* The budget bounds it, the bit stays. */
		assert_int_equal(link_receive(pair.end[1 - from].link, false, false, 2, see, &seen[from]), 2);
		assert_true(doorbell_is_set(&pair.end[1 - from], pair.end[from].slot));
		assert_int_equal(link_receive(pair.end[1 - from].link, false, false, 64, see, &seen[from]), 3);
		assert_true(seen[from].count == 5 && seen[from].bytes == 510 && seen[from].disorder == 0 &&
				seen[from].corrupt == 0);
		assert_int_equal(seen[from].last.kind, LINK_SHM);
		assert_int_equal(seen[from].last.source_slot, pair.end[from].slot);
		assert_int_equal(seen[from].last.ifindex, 2);
		assert_int_equal(pair.end[from].counters.sent_packets[LINK_SHM], 5);
		assert_int_equal(pair.end[from].counters.sent_bytes[LINK_SHM], 510);
		assert_int_equal(pair.end[1 - from].counters.received_runs[LINK_SHM], 5);
	}
	assert_true(link_shm_is_attached(pair.end[0].link, 200));
	assert_false(link_shm_is_attached(pair.end[0].link, 201));
	link_publish_progress(pair.end[1].link);
	assert_int_equal(link_shm_peer_progress(pair.end[0].link, 200), 1);
	assert_int_equal(link_shm_peer_progress(pair.end[0].link, 4), 0);
	test_pair_free(&pair);
}

/* The bit of a busy sender stays; after enough empty looks it goes, and the next flush sets it again. */
static void doorbell_is_cleared_when_idle(void **state)
{
	struct test_pair pair;
	struct seen seen = {0};
	struct link_path path = test_path(1, 2);

	test_pair_make(&pair, 1, 2);
	assert_int_equal(send_one(&pair.end[0], &path, 0, 8), 0);
	link_flush(pair.end[0].link);
	assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 1);
	for (unsigned i = 0; i < LINK_SHM_IDLE_LOOKS - 1; i++)
		assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 0);
	assert_true(doorbell_is_set(&pair.end[1], 1));
	assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 0);
	assert_false(doorbell_is_set(&pair.end[1], 1));
	assert_int_equal(send_one(&pair.end[0], &path, 1, 8), 0);
	link_flush(pair.end[0].link);
	assert_true(doorbell_is_set(&pair.end[1], 1));
	/* A bit that got lost is made good by a scan. */
	atomic_store(&pair.end[1].wake->doorbell[0], 0);
	assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 0);
	assert_int_equal(link_receive(pair.end[1].link, false, true, 8, see, &seen), 1);
	test_pair_free(&pair);
}

struct reluctant {
	struct link *link;
	unsigned keeps; /* how often the run at the head is still refused */
	unsigned offers;
	struct seen seen;
};

static void keep_some(void *context, const struct link_rx *rx)
{
	struct reluctant *r = context;

	r->offers++;
	if (r->keeps > 0) {
		r->keeps--;
		link_keep(r->link);
		return;
	}
	see(&r->seen, rx);
}

/* A run that the sink keeps is offered once per look, counted once, holds back what is behind it, and lets its owner sleep. */
static void kept_run_stays_at_the_head(void **state)
{
	struct test_pair pair;
	struct reluctant r = { .keeps = 3 };
	struct link_path path = test_path(1, 2);

	test_pair_make(&pair, 1, 2);
	r.link = pair.end[1].link;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(send_one(&pair.end[0], &path, i, 8 + i), 0);
	link_flush(pair.end[0].link);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(link_receive(r.link, false, false, 8, keep_some, &r), 0);
		assert_int_equal(r.offers, i);
		assert_int_equal(r.seen.count, 0);
		assert_int_equal(pair.end[1].counters.received_runs[LINK_SHM], 1);
		assert_true(link_sleep_begin(r.link));
		link_sleep_end(r.link);
	}
	/* Its doorbell may even be lost. */
	atomic_store(&pair.end[1].wake->doorbell[0], 0);
	assert_int_equal(link_receive(r.link, false, false, 8, keep_some, &r), 3);
	assert_true(r.seen.count == 3 && r.seen.bytes == 27 && r.seen.disorder == 0 && r.seen.corrupt == 0);
	assert_int_equal(pair.end[1].counters.received_runs[LINK_SHM], 3);
	assert_int_equal(send_one(&pair.end[0], &path, 3, 8), 0);
	link_flush(pair.end[0].link);
	assert_false(link_sleep_begin(r.link));
	test_pair_free(&pair);
}

static void process_reaches_itself(void **state)
{
	struct test_end end;
	struct seen seen = {0};
	struct link_path path = test_path(7, 7);
	uint64_t count;

	test_end_make(&end, 7, -1, (struct link_hooks){0});
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(send_one(&end, &path, i, 4096), 0);
		if (i % 3 == 0) {
			link_flush(end.link);
			while (link_receive(end.link, false, false, 8, see, &seen) > 0)
				;
		}
	}
	link_flush(end.link);
	while (link_receive(end.link, false, false, 8, see, &seen) > 0)
		;
	assert_true(seen.count == 1000 && seen.disorder == 0 && seen.corrupt == 0);
	/* Another thread of ours sends while the progress thread sleeps. */
	assert_true(link_sleep_begin(end.link));
	assert_int_equal(send_one(&end, &path, 1000, 1), 0);
	link_flush(end.link);
	assert_int_equal(read(end.eventfd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(link_receive(end.link, false, false, 8, see, &seen), 1);
	test_end_free(&end);
}

/* One sender pays for a sleeping receiver, and a receiver does not fall asleep over what is there. */
static void sleeping_is_seen(void **state)
{
	struct test_pair pair;
	struct seen seen = {0};
	struct link_path path = test_path(1, 2);
	uint64_t count;

	test_pair_make(&pair, 1, 2);
	assert_int_equal(fcntl(pair.end[1].eventfd, F_SETFL, O_NONBLOCK), 0);
	assert_true(link_sleep_begin(pair.end[1].link));
	assert_int_equal(send_one(&pair.end[0], &path, 0, 8), 0);
	link_flush(pair.end[0].link);
	assert_int_equal(read(pair.end[1].eventfd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(send_one(&pair.end[0], &path, 1, 8), 0);
	link_flush(pair.end[0].link);
	assert_int_equal(read(pair.end[1].eventfd, &count, sizeof(count)), -1);
	link_sleep_end(pair.end[1].link);
	assert_false(link_sleep_begin(pair.end[1].link));
	assert_int_equal(atomic_load(&pair.end[1].wake->sleeping), 0);
	assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 2);
	assert_true(link_sleep_begin(pair.end[1].link));
	link_sleep_end(pair.end[1].link);
	test_pair_free(&pair);
}

static void full_ring_wakes_its_producer(void **state)
{
	struct test_pair pair;
	struct seen seen = {0};
	struct link_path path = test_path(1, 2);
	uint64_t count, slots[4];
	uint32_t psn = 0;
	bool udp;

	test_pair_make(&pair, 1, 2);
	while (send_one(&pair.end[0], &path, psn, 4096) == 0)
		psn++;
	link_flush(pair.end[0].link);
	assert_false(link_room_take(pair.end[0].link, slots, &udp));
	link_want_room(pair.end[0].link, &path);
	assert_false(link_room_take(pair.end[0].link, slots, &udp));
	assert_true(link_sleep_begin(pair.end[0].link));
	/* A little is consumed: no news yet. Then more: the eventfd, once. */
	assert_int_equal(link_receive(pair.end[1].link, false, false, 1, see, &seen), 1);
	assert_int_equal(atomic_load(&pair.end[0].wake->sleeping), 1);
	link_receive(pair.end[1].link, false, false, 20, see, &seen);
	assert_int_equal(atomic_load(&pair.end[0].wake->sleeping), 0);
	assert_int_equal(read(pair.end[0].eventfd, &count, sizeof(count)), sizeof(count));
	assert_true(link_room_take(pair.end[0].link, slots, &udp));
	assert_int_equal(slots[0], 1 << 2);
	assert_false(link_room_take(pair.end[0].link, slots, &udp));
	assert_int_equal(send_one(&pair.end[0], &path, psn++, 4096), 0);
	link_flush(pair.end[0].link);
	while (link_receive(pair.end[1].link, false, false, 64, see, &seen) > 0)
		;
	assert_true(seen.count == psn && seen.disorder == 0 && seen.corrupt == 0);
	test_pair_free(&pair);
}

/* Eight senders, one of them flooding: a small budget reaches all of them in turn. */
static void budget_is_shared_fairly(void **state)
{
	struct test_end hub, spoke[8];
	struct seen seen = {0};

	test_end_make(&hub, 1, -1, (struct link_hooks){0});
	for (uint8_t i = 0; i < 8; i++) {
		uint8_t slot = (uint8_t)(10 + i);
		struct link_path path = test_path(slot, 1);
		struct ipc_pair_header *header = test_header_make(1, slot, i);

		test_end_make(&spoke[i], slot, -1, (struct link_hooks){0});
		assert_int_equal(link_shm_attach(hub.link, slot, i, header, true, spoke[i].wake, -1), 0);
		assert_int_equal(link_shm_attach(spoke[i].link, 1, i, header, false, hub.wake, -1), 0);
		for (uint32_t k = 0; k < (i == 0 ? 900 : 3); k++)
			assert_int_equal(send_one(&spoke[i], &path, k, 8), 0);
		link_flush(spoke[i].link);
	}
	/* Four quanta and the 21 runs of the small ones fit: nobody waits for the flood to end. */
	for (unsigned done = 0; done < 85;)
		done += link_receive(hub.link, false, false, 5, see, &seen);
	for (int i = 1; i < 8; i++)
		assert_int_equal(seen.next_psn[10 + i], 3);
	while (link_receive(hub.link, false, false, 64, see, &seen) > 0)
		;
	assert_true(seen.count == 900 + 21 && seen.disorder == 0);
	link_destroy(hub.link);
	for (int i = 0; i < 8; i++)
		link_destroy(spoke[i].link);
}

static void foreign_pairs_are_refused(void **state)
{
	struct test_end end;
	struct ipc_wake *wake;

	test_end_make(&end, 5, -1, (struct link_hooks){0});
	for (int fault = 0; fault < 8; fault++) {
		struct ipc_pair_header *header = test_header_make(5, 9, 11);
		int fd = eventfd(0, EFD_CLOEXEC);

		wake = test_wake_make();
		if (fault == 0)
			header->magic++;
		else if (fault == 1)
			header->version++;
		else if (fault == 2)
			header->generation++;
		else if (fault == 3)
			header->slot[0] = 4;
		else if (fault == 4)
			header->slot[1] = 10;
		else if (fault == 5)
			wake->magic = 0;
		assert_int_equal(link_shm_attach(end.link, fault == 6 ? 5 : 9, 11, header, fault != 7, wake, fd),
				BASE_ERR_MALFORMED);
		assert_false(link_shm_is_attached(end.link, 9));
		assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was ours to give, and is closed */
	}
	test_end_free(&end);
}

/* closed: nothing goes in any more, what is inside comes out; detach and a second pair to the same slot. */
static void closed_pair_drains(void **state)
{
	struct test_pair pair;
	struct seen seen = {0};
	struct link_path path = test_path(1, 2), nobody = test_path(1, 77);
	struct transport_room room;
	uint64_t slots[4];
	bool udp;

	test_pair_make(&pair, 1, 2);
	assert_int_equal(send_one(&pair.end[0], &path, 0, 8), 0);
	link_flush(pair.end[0].link);
	link_want_room(pair.end[0].link, &path);
	atomic_store(&pair.header->closed, 1);
	assert_int_equal(link_reserve(pair.end[0].link, &path, &room), BASE_ERR_GONE);
	assert_true(link_room_take(pair.end[0].link, slots, &udp)); /* so that it learns of it */
	assert_int_equal(link_receive(pair.end[1].link, false, false, 8, see, &seen), 1);
	assert_int_equal(link_reserve(pair.end[0].link, &nobody, &room), BASE_ERR_GONE);
	link_shm_detach(pair.end[1].link, 1);
	link_shm_detach(pair.end[1].link, 1);
	link_shm_detach(pair.end[1].link, 2);
	assert_false(link_shm_is_attached(pair.end[1].link, 1));
	assert_int_equal(link_receive(pair.end[1].link, false, true, 8, see, &seen), 0);
	test_pair_free(&pair);
}

static void broken_ring_closes_the_pair(void **state)
{
	struct test_pair pair;
	struct seen seen = {0};
	struct link_path path = test_path(1, 2), back = test_path(2, 1);
	struct transport_room room;

	test_pair_make(&pair, 1, 2);
	assert_int_equal(send_one(&pair.end[0], &path, 0, 8), 0);
	((uint8_t *)pair.header)[IPC_PAIR_RING_OFFSET(0) + 12] = 0xff;
	link_flush(pair.end[0].link);
	for (int i = 0; i < 3; i++)
		assert_int_equal(link_receive(pair.end[1].link, false, true, 8, see, &seen), 0);
	assert_int_equal(pair.end[1].counters.drops[LINK_DROP_RING], 1);
	assert_int_equal(link_reserve(pair.end[1].link, &back, &room), BASE_ERR_GONE);
	assert_int_equal(link_reserve(pair.end[0].link, &path, &room), BASE_ERR_GONE);
	assert_true(link_sleep_begin(pair.end[1].link)); /* a dead ring is no work */
	test_pair_free(&pair);
}

static void nowhere_takes_everything(void **state)
{
	struct test_end end;
	struct link_path path = test_path(1, 2);

	path.kind = LINK_NOWHERE;
	test_end_make(&end, 1, -1, (struct link_hooks){0});
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(send_one(&end, &path, i, 4096), 0);
	link_flush(end.link);
	assert_int_equal(end.counters.drops[LINK_DROP_NOWHERE], 100);
	test_end_free(&end);
}

/* --- hooks --------------------------------------------------------------------------------------------------------------- */

struct hooked {
	enum link_verdict verdict[2]; /* for in and out */
	unsigned observed[2];
	struct link_path path;
};

static enum link_verdict judge(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	struct hooked *hooked = context;

	hooked->path = *path;
	return hooked->verdict[outgoing];
}

static void observe(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	((struct hooked *)context)->observed[outgoing]++;
}

static void hooks_lose_and_double(void **state)
{
	static const struct { enum link_verdict out, in; unsigned observed_out, observed_in, seen, lost; } rows[] = {
		{LINK_PASS, LINK_PASS, 1, 1, 1, 0},  {LINK_LOSE, LINK_PASS, 0, 0, 0, 1}, {LINK_TWICE, LINK_PASS, 2, 2, 2, 0},
		{LINK_PASS, LINK_TWICE, 1, 2, 2, 0}, {LINK_PASS, LINK_LOSE, 1, 0, 0, 1}, {LINK_TWICE, LINK_TWICE, 2, 4, 4, 0},
	};
	struct link_path path = test_path(7, 7);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hooked hooked = {.verdict = {rows[i].in, rows[i].out}};
		struct seen seen = {0};
		struct test_end end;

		test_end_make(&end, 7, -1, (struct link_hooks){judge, observe, &hooked});
		assert_int_equal(send_one(&end, &path, 0, 300), 0);
		link_flush(end.link);
		link_receive(end.link, false, true, 64, see, &seen);
		assert_int_equal(seen.count, rows[i].seen);
		assert_int_equal(seen.corrupt, 0);
		assert_int_equal(hooked.observed[1], rows[i].observed_out);
		assert_int_equal(hooked.observed[0], rows[i].observed_in);
		assert_int_equal(end.counters.drops[LINK_DROP_FAULT], rows[i].lost);
		assert_true(wire_gid_equal(&hooked.path.sgid, &path.sgid) && hooked.path.dest_qpn == path.dest_qpn);
		test_end_free(&end);
	}
}

/* --- threads ------------------------------------------------------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__
#define THREAD_RUNS 20000u
#else
#define THREAD_RUNS 200000u
#endif

struct worker {
	struct test_pair *pair;
	int which;
	uint32_t runs;
	bool sleeps; /* waits on the eventfd when there is nothing to do, instead of polling */
	struct seen seen;
	uint64_t naps;
};

/* Sends `runs` of random sizes and receives as many, at once; stops when both are done. A lost wake-up hangs here. */
static void *work(void *argument)
{
	struct worker *w = argument;
	struct test_end *end = &w->pair->end[w->which];
	struct link_path path = test_path(end->slot, w->pair->end[1 - w->which].slot);
	struct base_random r = {.state = 99 + (uint64_t)w->which};
	uint32_t sent = 0;
	bool stuck = false;

	while (sent < w->runs || w->seen.count < w->runs) {
		uint64_t slots[4], count;
		unsigned got;
		bool udp, idle = true;

		for (unsigned i = 0; i < 20 && sent < w->runs && !stuck; i++) {
			if (send_one(end, &path, sent, (uint32_t)base_random_below(&r, base_random_below(&r, 4) ? 64 :
					4097)) != 0) {
				stuck = true;
				link_want_room(end->link, &path);
				break;
			}
			sent++;
			idle = false;
		}
		link_flush(end->link);
		got = link_receive(end->link, false, false, 16, see, &w->seen);
		if (stuck && link_room_take(end->link, slots, &udp))
			stuck = idle = false;
		if (got > 0 || !idle || !w->sleeps || !(stuck || sent == w->runs))
			continue;
		if (!link_sleep_begin(end->link)) {
			if (link_receive(end->link, false, true, 16, see, &w->seen) == 0 && !stuck)
				w->seen.disorder++; /* the rescan saw something and nothing is there */
			continue;
		}
		w->naps++;
		if (w->seen.count < w->runs || stuck)
			if (read(end->eventfd, &count, sizeof(count)) < 0)
				abort();
		link_sleep_end(end->link);
		link_receive(end->link, false, true, 16, see, &w->seen);
	}
	link_flush(end->link);
	return NULL;
}

static void run_threads(bool sleeps)
{
	static struct test_pair pair;
	struct worker w[2];
	pthread_t thread[2];

	test_pair_make(&pair, 64, 128);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct worker){.pair = &pair, .which = i, .runs = THREAD_RUNS, .sleeps = sleeps};
		assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w[i].seen.count, THREAD_RUNS);
		assert_int_equal(w[i].seen.disorder, 0);
		assert_int_equal(w[i].seen.corrupt, 0);
		assert_int_equal(pair.end[i].counters.drops[LINK_DROP_RING], 0);
	}
	if (sleeps)
		assert_true(w[0].naps + w[1].naps > 0);
	test_pair_free(&pair);
}

static void two_polling_threads(void **state)
{
	run_threads(false);
}

static void two_sleeping_threads(void **state)
{
	run_threads(true);
}

/* One message at a time to a peer that sleeps each time: every single wake-up counts. */
static void *echo(void *argument)
{
	struct worker *w = argument;
	struct test_end *end = &w->pair->end[w->which];
	struct link_path path = test_path(end->slot, w->pair->end[1 - w->which].slot);
	uint64_t count;
	uint32_t sent = 0;

	if (w->which == 0) {
		send_one(end, &path, sent++, 8);
		link_flush(end->link);
	}
	while (w->seen.count < w->runs) {
		while (link_receive(end->link, false, false, 4, see, &w->seen) == 0) {
			if (!link_sleep_begin(end->link))
				continue;
			if (read(end->eventfd, &count, sizeof(count)) < 0)
				abort();
			link_sleep_end(end->link);
		}
		if (sent < w->runs) {
			send_one(end, &path, sent++, 8);
			link_flush(end->link);
		}
	}
	return NULL;
}

static void no_wake_up_is_lost(void **state)
{
	static struct test_pair pair;
	struct worker w[2];
	pthread_t thread[2];

	test_pair_make(&pair, 2, 254);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct worker){.pair = &pair, .which = i, .runs = THREAD_RUNS / 4};
		assert_int_equal(pthread_create(&thread[i], NULL, echo, &w[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_true(w[0].seen.disorder == 0 && w[1].seen.disorder == 0 && w[0].seen.count == THREAD_RUNS / 4);
	test_pair_free(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_cross_a_pair),
		cmocka_unit_test(doorbell_is_cleared_when_idle),
		cmocka_unit_test(kept_run_stays_at_the_head),
		cmocka_unit_test(process_reaches_itself),
		cmocka_unit_test(sleeping_is_seen),
		cmocka_unit_test(full_ring_wakes_its_producer),
		cmocka_unit_test(budget_is_shared_fairly),
		cmocka_unit_test(foreign_pairs_are_refused),
		cmocka_unit_test(closed_pair_drains),
		cmocka_unit_test(broken_ring_closes_the_pair),
		cmocka_unit_test(nowhere_takes_everything),
		cmocka_unit_test(hooks_lose_and_double),
		cmocka_unit_test(two_polling_threads),
		cmocka_unit_test(two_sleeping_threads),
		cmocka_unit_test(no_wake_up_is_lost),
	};

	alarm(100); /* a hang is a failure */
	return cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
