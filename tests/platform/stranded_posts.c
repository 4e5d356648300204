/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a caller that flags its work, fences, tries the progress lock, and after each unlock fences and looks at the
 * flag again, leaves no work behind: either it runs it, or the holder sees the flag after unlocking. Both sides need the
 * full fence, since each stores one word and then loads the other's (an unlock is a release only).
 * Without it: a post whose try failed just as the holder found the queue empty would wait for the next call into the
 * library, which may never come. --wrong does not look again after the unlock.
 */
#include "platform/probe.h"
#include "base/clock.h"
#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>

#define POSTERS 2 /* the main thread is one */
#define BATCH 2   /* posts of each per round */

static pthread_mutex_t progress = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) _Atomic uint32_t posted; /* work that nobody has run yet */
static _Alignas(64) _Atomic uint32_t flagged;
static _Alignas(64) _Atomic uint64_t round_now, arrived;
static atomic_bool over;
static uint64_t run_total; /* guarded by progress */

static void work_run(void)
{
	atomic_exchange_explicit(&flagged, 0, memory_order_acq_rel); /* whose flag this takes down, his work is seen below */
	probe_full_fence();                                            /* and the flag is down before the work is looked for */
	run_total += atomic_exchange_explicit(&posted, 0, memory_order_acq_rel);
	for (volatile int i = 0; i < 60; i++) /* timers and flushing, as a progress call does after it found no more posts */
		;
}

static void post(void)
{
	atomic_fetch_add_explicit(&posted, 1, memory_order_release);
	atomic_store_explicit(&flagged, 1, memory_order_release);
	do {
		probe_full_fence();
		if (pthread_mutex_trylock(&progress) != 0)
			return; /* the holder looks again after its unlock */
		work_run();
		pthread_mutex_unlock(&progress);
		if (probe.wrong)
			return;
		probe_full_fence();
	} while (atomic_load_explicit(&flagged, memory_order_relaxed));
}

static void batch_post(struct base_random *random)
{
	for (int i = 0; i < BATCH; i++) {
		for (volatile uint64_t spin = base_random_below(random, 100); spin > 0; spin--)
			;
		post();
	}
	atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel);
}

/* Spins, and lets others run now and then: a machine may have less CPUs free than we have threads. */
static void wait_for(_Atomic uint64_t *word, uint64_t value)
{
	for (unsigned int i = 1; atomic_load_explicit(word, memory_order_acquire) < value; i++)
		if (i % 1024 == 0)
			sched_yield();
}

static void *poster_run(void *unused)
{
	struct base_random random = { 1 };

	for (uint64_t round = 1;; round++) {
		wait_for(&round_now, round);
		if (atomic_load_explicit(&over, memory_order_relaxed))
			return unused;
		batch_post(&random);
	}
}

int main(int argc, char **argv)
{
	uint64_t rounds = 0, stranded = 0, until;
	struct base_random random = { 2 };
	pthread_t thread;

	probe_begin(argc, argv);
	if (probe_cpus() < 2)
		SKIP("one CPU hardly shows the race");
	SETUP(pthread_create(&thread, NULL, poster_run, NULL) == 0);
	until = base_clock_now() + (probe.long_form ? 60 * BASE_SEC : BASE_SEC);
	for (; base_clock_now() < until; rounds++) {
		uint32_t left;

		atomic_store_explicit(&round_now, rounds + 1, memory_order_release);
		batch_post(&random);
		wait_for(&arrived, (rounds + 1) * POSTERS);
		/* Every call has returned: whatever is still posted waits for a call that may not come. */
		left = atomic_exchange(&posted, 0);
		stranded += left != 0;
		run_total += left;
	}
	atomic_store(&over, true);
	atomic_store(&round_now, rounds + 1);
	pthread_join(thread, NULL);
	SETUP(run_total == rounds * POSTERS * BATCH);
	EXPECT(stranded == 0, "work stranded in %llu of %llu rounds", (unsigned long long)stranded, (unsigned long long)rounds);
	printf("%llu rounds, nothing stranded\n", (unsigned long long)rounds);
	if (probe.wrong)
		SKIP("the wrong variant stranded nothing in its time");
	return PROBE_PASS;
}
