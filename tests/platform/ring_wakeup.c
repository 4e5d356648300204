/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a producer that stores its tail, executes a full fence, and then tests the receiver's bit for its ring (setting
 * it when clear) and the receiver's sleeping word, never leaves a sleeper asleep beside a full ring; the sleeper sets its
 * word, fences and looks at the bits again. The same dance the other way round wakes a producer that ran out of room. Over
 * eventfd and over futex, between processes and, with --threads, inside one (which the thread sanitizer judges).
 * Without it: a QP that waits for its timer, or for ever. Each side stores one word and loads the other's: without a fence
 * *between* the two, both loads may pass both stores. --wrong fences after the load; it hangs within seconds, on x86 too.
 */
#include "platform/probe.h"
#include "base/clock.h"
#include "base/random.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define RING 8
#define BIT (1ull << 5) /* of this producer in the receiver's word */
#define BOUND 3         /* entries that a receiver takes per look */
#define LOST_MS 400     /* a wake-up that did not come in this time does not come */

/* One party's way to be woken. */
struct waker {
	_Alignas(64) _Atomic uint32_t count; /* for futex */
	int event;                           /* for eventfd */
};

/* Each word on a line of its own, as in the real ring: what is stored next to what decides how often it goes wrong. */
struct shared {
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t bits;
	_Alignas(64) _Atomic uint32_t sleeping;
	_Alignas(64) _Atomic uint32_t want_room;
	_Alignas(64) atomic_bool over; /* set by either side: nothing more will come */
	_Atomic uint64_t received, slept, room_waits, lost_wakes, lost_rooms, corrupt;
	uint64_t entry[RING];
	struct waker consumer, producer;
};

static struct shared *sh;
static bool with_futex;
static uint64_t until;

static void waker_wake(struct waker *w)
{
	uint64_t one = 1;

	if (with_futex) {
		atomic_fetch_add(&w->count, 1);
		syscall(SYS_futex, &w->count, FUTEX_WAKE, 1, NULL, NULL, 0);
	} else {
		SETUP(write(w->event, &one, sizeof(one)) == sizeof(one));
	}
}

/* Sleeps until woken since `seen` was read. False when nobody did for LOST_MS. */
static bool waker_wait(struct waker *w, uint32_t seen)
{
	struct timespec timeout = { 0, LOST_MS * 1000000l };
	struct pollfd p = { w->event, POLLIN, 0 };
	uint64_t count;

	if (with_futex)
		return atomic_load(&w->count) != seen || syscall(SYS_futex, &w->count, FUTEX_WAIT, seen, &timeout, NULL, 0) == 0 ||
			errno != ETIMEDOUT;
	if (poll(&p, 1, LOST_MS) == 0)
		return false;
	SETUP(read(w->event, &count, sizeof(count)) == sizeof(count));
	return true;
}

static bool receiver_bit(void)
{
	return atomic_load_explicit(&sh->bits, memory_order_relaxed) & BIT;
}

static bool receiver_sleeps(void)
{
	return atomic_load_explicit(&sh->sleeping, memory_order_relaxed);
}

/* The producer's part of the contract, at every tail store. */
static void tail_publish(uint64_t tail)
{
	atomic_store_explicit(&sh->tail, tail, memory_order_release);
	probe_full_fence();
	if (!receiver_bit()) {
		atomic_fetch_or_explicit(&sh->bits, BIT, memory_order_acq_rel);
		probe_full_fence(); /* the bit is up before the sleeping word is read: x86 does that anyway, others do not */
	}
	if (receiver_sleeps())
		waker_wake(&sh->consumer);
}

/* All words read in one go, the fence behind them: looks thriftier. */
static void tail_publish_wrong(uint64_t tail)
{
	bool bit, asleep;

	atomic_store_explicit(&sh->tail, tail, memory_order_release);
	bit = receiver_bit();
	asleep = receiver_sleeps();
	probe_full_fence();
	if (!bit)
		atomic_fetch_or_explicit(&sh->bits, BIT, memory_order_acq_rel);
	if (asleep)
		waker_wake(&sh->consumer);
}

static void room_wait(uint64_t tail)
{
	while (tail - atomic_load_explicit(&sh->head, memory_order_acquire) == RING && !atomic_load(&sh->over)) {
		uint32_t seen = atomic_load(&sh->producer.count);

		atomic_store_explicit(&sh->want_room, 1, memory_order_relaxed);
		probe_full_fence();
		if (tail - atomic_load_explicit(&sh->head, memory_order_acquire) < RING)
			break;
		atomic_fetch_add_explicit(&sh->room_waits, 1, memory_order_relaxed);
		if (!waker_wait(&sh->producer, seen) && tail - atomic_load_explicit(&sh->head, memory_order_acquire) < RING)
			atomic_fetch_add(&sh->lost_rooms, 1);
	}
	atomic_store_explicit(&sh->want_room, 0, memory_order_relaxed);
}

static void *producer_run(void *unused)
{
	struct base_random random = { 7 };
	uint64_t tail = 0;

	while (base_clock_now() < until && !atomic_load(&sh->over)) {
		/* Mostly a few messages, with the receiver on its way to sleep; sometimes more than the ring holds. */
		uint64_t burst = base_random_below(&random, 16) == 0 ? 3 * RING : 1 + base_random_below(&random, 6);

		for (; burst > 0; burst--) {
			for (volatile uint64_t spin = base_random_below(&random, 150); spin > 0; spin--)
				;
			room_wait(tail);
			sh->entry[tail % RING] = tail * 3;
			tail++;
			if (probe.wrong)
				tail_publish_wrong(tail);
			else
				tail_publish(tail);
		}
		/* A lost wake-up must not be made good by the next message. */
		for (unsigned int i = 1; atomic_load_explicit(&sh->head, memory_order_acquire) != tail; i++) {
			if (atomic_load_explicit(&sh->over, memory_order_relaxed))
				break;
			if (i % 8192 == 0)
				sched_yield();
		}
	}
	atomic_store(&sh->over, true);
	waker_wake(&sh->consumer);
	return unused;
}

/* Takes at most BOUND entries; true when some are left. */
static bool ring_drain(void)
{
	uint64_t head = atomic_load_explicit(&sh->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&sh->tail, memory_order_acquire);
	bool wanted;
	int n;

	for (n = 0; head != tail && n < BOUND; n++, head++)
		if (sh->entry[head % RING] != head * 3)
			atomic_fetch_add(&sh->corrupt, 1);
	if (n == 0)
		return false;
	atomic_fetch_add_explicit(&sh->received, (uint64_t)n, memory_order_relaxed);
	atomic_store_explicit(&sh->head, head, memory_order_release);
	if (!probe.wrong)
		probe_full_fence();
	wanted = atomic_load_explicit(&sh->want_room, memory_order_relaxed);
	if (probe.wrong)
		probe_full_fence();
	if (wanted) {
		atomic_store_explicit(&sh->want_room, 0, memory_order_relaxed);
		waker_wake(&sh->producer);
	}
	return head != tail;
}

static void consumer_run(void)
{
	struct base_random random = { 11 };

	while (!atomic_load(&sh->over)) {
		uint32_t seen;

		/* Most sleeps are avoided: a wake-up takes as long as a hundred messages. */
		for (uint64_t look = base_random_below(&random, 3000); look > 0; look--) {
			if (!(atomic_load_explicit(&sh->bits, memory_order_relaxed) & BIT))
				continue;
			atomic_exchange_explicit(&sh->bits, 0, memory_order_acq_rel);
			probe_full_fence(); /* the bit is down before the tail is read */
			if (ring_drain())
				atomic_fetch_or_explicit(&sh->bits, BIT, memory_order_acq_rel);
		}
		seen = atomic_load(&sh->consumer.count);
		atomic_store_explicit(&sh->sleeping, 1, memory_order_relaxed);
		probe_full_fence();
		if (!atomic_load_explicit(&sh->bits, memory_order_acquire) && !atomic_load(&sh->over)) {
			atomic_fetch_add_explicit(&sh->slept, 1, memory_order_relaxed);
			if (!waker_wait(&sh->consumer, seen) &&
				atomic_load(&sh->tail) != atomic_load_explicit(&sh->head, memory_order_relaxed)) {
				atomic_fetch_add(&sh->lost_wakes, 1);
				atomic_store(&sh->over, true);
			}
		}
		atomic_store_explicit(&sh->sleeping, 0, memory_order_relaxed);
	}
	waker_wake(&sh->producer);
}

static void run(bool threads, bool futex, uint64_t length_ns)
{
	pthread_t thread;
	pid_t child = 0;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	SETUP(sh != MAP_FAILED);
	sh->consumer.event = eventfd(0, EFD_CLOEXEC);
	sh->producer.event = eventfd(0, EFD_CLOEXEC);
	SETUP(sh->consumer.event >= 0 && sh->producer.event >= 0);
	with_futex = futex;
	until = base_clock_now() + length_ns;
	if (threads) {
		SETUP(pthread_create(&thread, NULL, producer_run, NULL) == 0);
	} else {
		child = probe_fork();
		if (child == 0) {
			producer_run(NULL);
			_exit(PROBE_PASS);
		}
	}
	consumer_run();
	if (threads)
		pthread_join(thread, NULL);
	else
		probe_join(child);
	printf("%s, %s: %llu messages, slept %llu times, waited for room %llu times\n", threads ? "threads" : "processes",
		futex ? "futex" : "eventfd", (unsigned long long)sh->received, (unsigned long long)sh->slept,
		(unsigned long long)sh->room_waits);
	EXPECT(sh->corrupt == 0, "%llu entries arrived changed", (unsigned long long)sh->corrupt);
	EXPECT(sh->lost_wakes == 0, "the receiver slept on beside a message after %llu of them", (unsigned long long)sh->received);
	EXPECT(sh->lost_rooms == 0, "the producer slept on beside a ring with room");
	EXPECT(sh->slept > 0 && sh->room_waits > 0, "nobody ever slept: nothing was tried");
	close(sh->consumer.event);
	close(sh->producer.event);
	munmap(sh, sizeof(*sh));
}

int main(int argc, char **argv)
{
	uint64_t length;

	probe_begin(argc, argv);
	if (probe_cpus() < 2)
		SKIP("one CPU does not reorder");
	length = probe.long_form ? 60 * BASE_SEC : probe.wrong ? 2400 * BASE_MSEC : 700 * BASE_MSEC;
	for (int futex = 0; futex < 2; futex++)
		run(probe_has_arg("--threads"), futex, length);
	if (probe.wrong)
		SKIP("the wrong variant did not hang in its time");
	return PROBE_PASS;
}
