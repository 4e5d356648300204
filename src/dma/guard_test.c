/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that went away after registration. Each case runs in a child of its own, because handlers belong to the process: the
 * child's exit status is the verdict, and a signal that gets through is a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "dma/copy.h"
#include "dma/guard.h"

#define NEED(condition) do { if (!(condition)) _exit((int)(__LINE__ % 250 + 1)); } while (0)

/* Exit code of a child that runs the function; 1000 + signal if one killed it. */
static int in_child(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		/* Not the handlers of the test runner. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static uint8_t *two_pages(void)
{
	uint8_t *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(at != MAP_FAILED);
	return at;
}

static void all_accesses_fail(uint8_t *gone)
{
	uint8_t ours[4096] = { 0 };
	uint64_t before;

	for (int i = 0; i < 3; i++) {
		NEED(dma_copy_in(ours, gone, 1) == BASE_ERR_FAULT);
		NEED(dma_copy_in(ours, gone, sizeof(ours)) == BASE_ERR_FAULT);
		NEED(dma_copy_out(gone, ours, 1) == BASE_ERR_FAULT);
		NEED(dma_copy_out(gone, ours, sizeof(ours)) == BASE_ERR_FAULT);
		NEED(dma_copy_out(gone - 100, ours, 200) == BASE_ERR_FAULT);
		NEED(dma_copy_fetch_add((uint64_t *)(void *)gone, 1, &before) == BASE_ERR_FAULT);
		NEED(dma_copy_compare_swap((uint64_t *)(void *)gone, 1, 2, &before) == BASE_ERR_FAULT);
	}
	/* What is still there still works. */
	NEED(dma_copy_out(gone - 100, "x", 1) == 0 && gone[-100] == 'x');
}

static void run_unmapped(void)
{
	uint8_t *at = two_pages();

	dma_guard_install();
	munmap(at + 4096, 4096);
	all_accesses_fail(at + 4096);
}

static void run_read_only(void)
{
	uint8_t *at = two_pages(), byte;

	dma_guard_install();
	mprotect(at, 8192, PROT_READ);
	NEED(dma_copy_in(&byte, at, 1) == 0);
	NEED(dma_copy_out(at, &byte, 1) == BASE_ERR_FAULT);
}

static void run_truncated_file(void)
{
	int fd = memfd_create("test", 0);

	NEED(fd >= 0 && ftruncate(fd, 8192) == 0);
	uint8_t *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(at != MAP_FAILED);
	dma_guard_install();
	NEED(ftruncate(fd, 4096) == 0); /* SIGBUS from here on */
	all_accesses_fail(at + 4096);
}

static void *blocked_thread(void *at)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	/* Here, not before: a new thread's stack may take the place. */
	munmap(at, 4096);
	all_accesses_fail(at);
	return NULL;
}

/* A thread with SIGSEGV blocked would be killed by the fault whatever the handler. */
static void run_signals_blocked(void)
{
	uint8_t *at = two_pages();
	pthread_t thread;

	dma_guard_install();
	pthread_create(&thread, NULL, blocked_thread, at + 4096);
	pthread_join(thread, NULL);
}

static volatile sig_atomic_t app_calls;
static uint8_t *app_page;

static void app_handler(int sig, siginfo_t *info, void *context)
{
	app_calls++;
	NEED((uint8_t *)info->si_addr == app_page + 5);
	mprotect(app_page, 4096, PROT_READ | PROT_WRITE); /* as a garbage collector would */
}

/* The application's own faults reach its handler, with theirs and ours mixed. */
static void run_chain(void)
{
	struct sigaction action = { .sa_sigaction = app_handler, .sa_flags = SA_SIGINFO };
	uint8_t *at = two_pages();

	sigaction(SIGSEGV, &action, NULL);
	dma_guard_install();
	munmap(at + 4096, 4096);
	app_page = two_pages();
	for (int i = 1; i <= 3; i++) {
		all_accesses_fail(at + 4096);
		mprotect(app_page, 4096, PROT_NONE);
		((volatile uint8_t *)app_page)[5] = 1;
		NEED(app_calls == i);
	}
}

static void run_foreign_fault(void)
{
	uint8_t *at = two_pages();

	dma_guard_install();
	munmap(at, 8192);
	*(volatile uint8_t *)at = 1;
}

static void run_foreign_kill(void)
{
	dma_guard_install();
	raise(SIGSEGV);
}

/* The application takes the place of our handler: found out in time, and nothing crashes. */
static void run_replaced(void)
{
	uint8_t *at = two_pages(), byte = 1;

	dma_guard_install();
	NEED(dma_copy_out(at, &byte, 1) == 0);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	for (int i = 0; i <= DMA_GUARD_RECHECK; i++)
		NEED(dma_copy_out(at, &byte, 1) == 0);
	munmap(at + 4096, 4096);
	all_accesses_fail(at + 4096);
	/* Ordered and whole this way too. */
	for (size_t len = 1; len < 40; len++) {
		uint8_t ours[40], back[40];

		memset(ours, (int)len, sizeof(ours));
		NEED(dma_copy_out(at + 3, ours, len) == 0 && dma_copy_in(back, at + 3, len) == 0 && memcmp(ours, back, len) == 0);
	}
}

/*
 * Ascending placement, without a race: the target runs into a page that cannot be written. Whatever lies before the page must
 * be there, and when the first page is the closed one, nothing of the second may have been touched. memcpy(3) stores last
 * vectors before the ones in between. (tests/platform/torn_tail.c has the race.)
 */
static void run_ascending(void)
{
	uint8_t *at = two_pages(), ours[600];

	dma_guard_install();
	memset(ours, 0x55, sizeof(ours));
	for (size_t len = 2; len < sizeof(ours); len += 1 + len / 8)
		for (size_t before = 1; before < len; before += 1 + len / 16) {
			uint8_t *to = at + 4096 - before;
			size_t whole = before & ~(size_t)15; /* the store that meets the border may be lost: 16 bytes at most */

			memset(at, 0, 8192);
			mprotect(at + 4096, 4096, PROT_READ);
			NEED(dma_copy_out(to, ours, len) == BASE_ERR_FAULT);
			NEED(memcmp(to, ours, whole) == 0);
			mprotect(at, 4096, PROT_READ);
			mprotect(at + 4096, 4096, PROT_READ | PROT_WRITE);
			NEED(dma_copy_out(to, ours, len) == BASE_ERR_FAULT);
			for (size_t i = 0; i < len - before; i++)
				NEED(at[4096 + i] == 0);
			mprotect(at, 4096, PROT_READ | PROT_WRITE);
		}
}

static void ends(void (*run)(void), int wanted)
{
	assert_int_equal(in_child(run), wanted);
}

static void unmapped(void **state) { ends(run_unmapped, 0); }
static void read_only(void **state) { ends(run_read_only, 0); }
static void truncated_file(void **state) { ends(run_truncated_file, 0); }
static void signals_blocked(void **state) { ends(run_signals_blocked, 0); }
static void ascending(void **state) { ends(run_ascending, 0); }
static void chain(void **state) { ends(run_chain, 0); }
static void replaced(void **state) { ends(run_replaced, 0); }

/* Without us these end in SIGSEGV: with us they must too. */
static void foreign_fault(void **state) { ends(run_foreign_fault, 1000 + SIGSEGV); }
static void foreign_kill(void **state) { ends(run_foreign_kill, 1000 + SIGSEGV); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmapped),
		cmocka_unit_test(read_only),
		cmocka_unit_test(truncated_file),
		cmocka_unit_test(signals_blocked),
		cmocka_unit_test(ascending),
		cmocka_unit_test(chain),
		cmocka_unit_test(foreign_fault),
		cmocka_unit_test(foreign_kill),
		cmocka_unit_test(replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
