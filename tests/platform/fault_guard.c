/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a handler of SIGSEGV and SIGBUS, installed with SA_NODEFER, may leave a copy of user memory by siglongjmp
 * without a saved mask, again and again, in any thread that does not block these two; faults that are not ours are handed to
 * the handler that was there before, or end the process as they would have without us.
 * Without it: memory that the program unmapped or truncated under a registration would end the process with a signal,
 * instead of the operation with an error; saving the mask instead costs two system calls a guard. And a runtime that lives
 * on its own SIGSEGV handler (Java, Go, a sanitizer) would lose it. --wrong blocks the two in the progress thread as well
 * ("all signals"): the kernel then kills the process.
 */
#include "platform/probe.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>

#define PAGE 4096
#define AGAIN 1000

static __thread sigjmp_buf *guard; /* of the copy that this thread is in, or NULL */
static struct sigaction older[2];
static volatile sig_atomic_t foreign_seen;

static struct sigaction *older_of(int signal_number)
{
	return &older[signal_number == SIGBUS];
}

static void guard_handler(int signal_number, siginfo_t *info, void *context)
{
	struct sigaction *old = older_of(signal_number);

	/* A signal that somebody sent (si_code <= 0) is never ours, even in the middle of a copy. */
	if (guard && info->si_code > 0)
		siglongjmp(*guard, 1);
	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(signal_number, info, context);
	} else if (old->sa_handler == SIG_DFL || (old->sa_handler == SIG_IGN && info->si_code > 0)) {
		struct sigaction end = { .sa_handler = SIG_DFL };

		sigaction(signal_number, &end, NULL); /* the same instruction faults again, now as without us */
		if (info->si_code <= 0)
			raise(signal_number);
	} else if (old->sa_handler != SIG_IGN) {
		old->sa_handler(signal_number);
	}
}

static void guard_install(void)
{
	struct sigaction action = { .sa_sigaction = guard_handler, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	SETUP(sigaction(SIGSEGV, &action, &older[0]) == 0);
	SETUP(sigaction(SIGBUS, &action, &older[1]) == 0);
}

/* 0, or -1 when the memory is not there. */
__attribute__((noinline)) static int guarded_copy(void *to, const void *from, size_t len)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0) != 0) {
		guard = NULL;
		return -1;
	}
	guard = &here;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(to, from, len);
	atomic_signal_fence(memory_order_seq_cst);
	guard = NULL;
	return 0;
}

static void copies_check(const char *where)
{
	static __thread uint8_t buffer[2 * PAGE];
	int fd = memfd_create("softverbs-probe", MFD_CLOEXEC);
	uint8_t *gone, *file, *fixed;
	sigset_t now;

	gone = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixed = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SETUP(gone != MAP_FAILED && fixed != MAP_FAILED && fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
	file = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	SETUP(file != MAP_FAILED);
	memset(gone, 5, 2 * PAGE);
	EXPECT(guarded_copy(buffer, gone, 2 * PAGE) == 0 && buffer[2 * PAGE - 1] == 5, "%s: a good copy fails", where);
	SETUP(munmap(gone + PAGE, PAGE) == 0 && ftruncate(fd, PAGE) == 0);
	for (int i = 0; i < AGAIN; i++) {
		EXPECT(guarded_copy(buffer, gone, 2 * PAGE) == -1, "%s: reading unmapped memory, round %d", where, i);
		EXPECT(guarded_copy(gone, buffer, 2 * PAGE) == -1, "%s: writing unmapped memory, round %d", where, i);
		EXPECT(guarded_copy(buffer, file, 2 * PAGE) == -1, "%s: reading a truncated file, round %d", where, i);
		EXPECT(guarded_copy(file, buffer, 2 * PAGE) == -1, "%s: writing a truncated file, round %d", where, i);
		EXPECT(guarded_copy(fixed, buffer, PAGE) == -1, "%s: writing read-only memory, round %d", where, i);
	}
	EXPECT(guarded_copy(buffer, gone, PAGE) == 0, "%s: a good copy fails afterwards", where);
	SETUP(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
	EXPECT(!sigismember(&now, SIGSEGV) && !sigismember(&now, SIGBUS), "%s: a handler left its signal blocked", where);
	munmap(gone, PAGE);
	munmap(file, 2 * PAGE);
	munmap(fixed, PAGE);
	close(fd);
}

static void *progress_run(void *unused)
{
	copies_check("progress thread");
	return unused;
}

static void threads_check(void)
{
	sigset_t block, before;
	pthread_t thread;

	copies_check("application thread");
	sigfillset(&block);
	if (!probe.wrong) {
		sigdelset(&block, SIGSEGV);
		sigdelset(&block, SIGBUS);
	}
	SETUP(pthread_sigmask(SIG_SETMASK, &block, &before) == 0);
	SETUP(pthread_create(&thread, NULL, progress_run, NULL) == 0);
	SETUP(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	pthread_join(thread, NULL);
}

static void *foreign_page;

static void runtime_handler(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (signal_number == SIGSEGV && info->si_addr == foreign_page) {
		foreign_seen++;
		mprotect(foreign_page, PAGE, PROT_READ | PROT_WRITE);
	}
}

/* A runtime that resolves its own faults was there first. */
static void chain_check(void)
{
	struct sigaction action = { .sa_sigaction = runtime_handler, .sa_flags = SA_SIGINFO };

	SETUP(sigaction(SIGSEGV, &action, NULL) == 0);
	guard_install();
	foreign_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SETUP(foreign_page != MAP_FAILED);
	*(volatile char *)foreign_page = 1;
	EXPECT(foreign_seen == 1, "the older handler ran %d times", (int)foreign_seen);
	SETUP(kill(getpid(), SIGSEGV) == 0);
	EXPECT(foreign_seen == 1, "a sent signal was taken for a fault");
}

/* Nobody was there: a foreign fault, or a signal sent from outside, ends the process as ever. */
static void default_check(bool sent)
{
	guard_install();
	if (sent)
		kill(getpid(), SIGSEGV);
	else
		*(volatile char *)mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}

/* Runs one part in a process of its own, without a sanitizer's handlers; gives back the signal that ended it, or 0. */
static int part_run(int part)
{
	pid_t pid = probe_fork();
	int status;

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		switch (part) {
		case 0:
			guard_install();
			threads_check();
			break;
		case 1:
			chain_check();
			break;
		default:
			default_check(part == 2);
		}
		probe_end(PROBE_PASS);
	}
	status = probe_reap(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) != PROBE_PASS)
		probe_end(WEXITSTATUS(status));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(int argc, char **argv)
{
	static const int expected[] = { 0, 0, SIGSEGV, SIGSEGV };

	probe_begin(argc, argv);
	if (PROBE_TSAN)
		SKIP("the thread sanitizer stands between a fault and its handler");
	for (int part = 0; part < 4; part++) {
		int ended = part_run(part);

		EXPECT(ended == expected[part], "part %d ended by signal %d, not %d", part, ended, expected[part]);
	}
	return PROBE_PASS;
}
