/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a thread that was created with every signal blocked (the mask is inherited, so it is set before pthread_create
 * and put back behind it) never runs a handler of the application, not even when it is the only thread that is awake, or
 * when all others block the signal too: then it stays pending. Signals that a CPU raises are left out of the mask, or a
 * fault would kill the process at once.
 * Without it: the application's SIGALRM or SIGCHLD handler would run on our progress thread, inside our locks and on our
 * stack, and a sigwait() of the application would miss signals. --wrong creates the thread with the mask it finds.
 */
#include "platform/probe.h"
#include "base/clock.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define STORM 200

static const int ordinary[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGIO, SIGHUP, SIGINT, SIGURG };
#define ORDINARY_COUNT ((int)(sizeof(ordinary) / sizeof(ordinary[0])))

static _Atomic int progress_tid;
static _Atomic uint32_t handled, handled_by_progress;
static atomic_bool over;
static sem_t started;

static void application_handler(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&handled, 1);
	if ((int)syscall(SYS_gettid) == atomic_load(&progress_tid))
		atomic_fetch_add(&handled_by_progress, 1);
}

static void *progress_run(void *unused)
{
	atomic_store(&progress_tid, (int)syscall(SYS_gettid));
	sem_post(&started);
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		sched_yield(); /* awake all the time: the kernel prefers it for every signal that it does not block */
	return unused;
}

static pthread_t progress_start(void)
{
	sigset_t block, before;
	pthread_t thread;

	sigfillset(&block);
	sigdelset(&block, SIGSEGV);
	sigdelset(&block, SIGBUS);
	sigdelset(&block, SIGFPE);
	sigdelset(&block, SIGILL);
	sigdelset(&block, SIGTRAP);
	sem_init(&started, 0, 0);
	if (!probe.wrong)
		SETUP(pthread_sigmask(SIG_SETMASK, &block, &before) == 0);
	SETUP(pthread_create(&thread, NULL, progress_run, NULL) == 0);
	if (!probe.wrong)
		SETUP(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	while (sem_wait(&started) != 0)
		SETUP(errno == EINTR);
	return thread;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = application_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	sigset_t all_ordinary, pending, now;
	pthread_t progress;
	uint64_t until;
	int storm;

	probe_begin(argc, argv);
	alarm(0); /* SIGALRM is the application's here */
	sigemptyset(&all_ordinary);
	for (int i = 0; i < ORDINARY_COUNT; i++) {
		SETUP(sigaction(ordinary[i], &action, NULL) == 0);
		sigaddset(&all_ordinary, ordinary[i]);
	}
	progress = progress_start();
	SETUP(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
	EXPECT(!sigismember(&now, SIGUSR1), "the application's own mask changed");

	/* Our thread is the only candidate that is left: the signals wait. */
	SETUP(pthread_sigmask(SIG_BLOCK, &all_ordinary, NULL) == 0);
	for (int i = 0; i < ORDINARY_COUNT; i++)
		SETUP(kill(getpid(), ordinary[i]) == 0);
	if (probe.wrong) /* they do not wait: our thread takes them, the first at its next turn */
		for (until = base_clock_now() + 2 * BASE_SEC; !atomic_load(&handled) && base_clock_now() < until;)
			sched_yield();
	SETUP(sigpending(&pending) == 0);
	for (int i = 0; i < ORDINARY_COUNT; i++)
		EXPECT(sigismember(&pending, ordinary[i]), "%s went to the progress thread", strsignal(ordinary[i]));
	EXPECT(atomic_load(&handled) == 0, "%u handlers ran though the application blocks the signals", atomic_load(&handled));
	SETUP(pthread_sigmask(SIG_UNBLOCK, &all_ordinary, NULL) == 0);
	EXPECT(atomic_load(&handled) == ORDINARY_COUNT, "%u of %d pending signals came", atomic_load(&handled), ORDINARY_COUNT);

	/* A storm, with a timer in it, while the application's thread sleeps and works by turns. */
	SETUP(setitimer(ITIMER_REAL, &often, NULL) == 0);
	storm = STORM * (probe.long_form ? 100 : 1);
	for (int i = 0; i < storm; i++) {
		SETUP(kill(getpid(), ordinary[i % ORDINARY_COUNT]) == 0);
		if (i % 4 == 0)
			pause(); /* the timer ends it */
	}
	SETUP(setitimer(ITIMER_REAL, &never, NULL) == 0);
	atomic_store(&over, true);
	pthread_join(progress, NULL);
	EXPECT(atomic_load(&handled) > (uint32_t)storm / 2, "only %u handlers ran: nothing was tried", atomic_load(&handled));
	EXPECT(atomic_load(&handled_by_progress) == 0, "%u handlers ran on the progress thread", atomic_load(&handled_by_progress));
	return PROBE_PASS;
}
