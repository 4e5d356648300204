/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the platform probes share. A probe leans on the kernel and libc alone and ends with
 *   0   the behaviour is there,
 *   1   it is not (EXPECT): the design must change on this kernel,
 *   77  this machine cannot show it (SKIP), with the reason,
 *   99  the probe itself could not be set up (SETUP): says nothing about the behaviour.
 * `--wrong` runs the wrong variant through the same EXPECTs and is registered as a test that must end with 1; where the
 * wrong variant fails only by chance and did not within its time, it ends with 77. `--long` or SOFTVERBS_LONG=1 gives the
 * long form.
 * A child made by probe_fork() dies with its parent and passes its status on through probe_join().
 */
#ifndef PLATFORM_PROBE_H
#define PLATFORM_PROBE_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum probe_status { PROBE_PASS = 0, PROBE_FAIL = 1, PROBE_SKIP = 77, PROBE_BROKEN = 99 };

/* Set where the thread sanitizer watches: programs that race on purpose have nothing to tell it. */
#if defined(__SANITIZE_THREAD__)
#define PROBE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PROBE_TSAN 1
#endif
#endif
#ifndef PROBE_TSAN
#define PROBE_TSAN 0
#endif

#define PROBE_NOBODY 65534u /* an ordinary user on every Linux */

static struct {
	bool wrong, long_form;
	int argc;
	char **argv;
	pid_t main_pid;
} probe;

__attribute__((noreturn)) static inline void probe_end(int status)
{
	fflush(stdout);
	if (getpid() == probe.main_pid)
		exit(status);
	_exit(status);
}

__attribute__((noreturn, format(printf, 4, 5)))
static inline void probe_stop(int status, const char *file, int line, const char *format, ...)
{
	va_list ap;

	printf("%s %s:%d: ", status == PROBE_FAIL ? "FAIL" : status == PROBE_SKIP ? "SKIP" : "BROKEN", file, line);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	probe_end(status);
}

#define EXPECT(cond, ...) do { if (!(cond)) probe_stop(PROBE_FAIL, __FILE__, __LINE__, __VA_ARGS__); } while (0)
#define SKIP(...) probe_stop(PROBE_SKIP, __FILE__, __LINE__, __VA_ARGS__)
#define SETUP(cond) do { \
		if (!(cond)) \
			probe_stop(PROBE_BROKEN, __FILE__, __LINE__, "%s: %s", #cond, strerror(errno)); \
	} while (0)

static inline bool probe_has_arg(const char *arg)
{
	for (int i = 1; i < probe.argc; i++)
		if (strcmp(probe.argv[i], arg) == 0)
			return true;
	return false;
}

static inline void probe_begin(int argc, char **argv)
{
	const char *env = getenv("SOFTVERBS_LONG");

	setvbuf(stdout, NULL, _IOLBF, 0);
	probe.argc = argc;
	probe.argv = argv;
	probe.main_pid = getpid();
	probe.wrong = probe_has_arg("--wrong");
	probe.long_form = probe_has_arg("--long") || (env && strcmp(env, "1") == 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }); /* children that are meant to crash leave no files */
	alarm(probe.long_form ? 600 : 25); /* whoever runs a probe by hand gets his prompt back */
}

static inline pid_t probe_fork(void)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	SETUP(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(PROBE_BROKEN);
	}
	return pid;
}

/* The wait status of a child. */
static inline int probe_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		SETUP(errno == EINTR);
	return status;
}

/* A child that did not pass ends this process with the same status. Only a SKIP is given back (true: it passed). */
static inline bool probe_join(pid_t pid)
{
	int status = probe_reap(pid);

	if (WIFSIGNALED(status))
		probe_stop(PROBE_BROKEN, __FILE__, __LINE__, "child died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != PROBE_PASS && WEXITSTATUS(status) != PROBE_SKIP)
		probe_end(WEXITSTATUS(status));
	return WEXITSTATUS(status) == PROBE_PASS;
}

/*
 * Orders an earlier store before a later load. The thread sanitizer executes the fence but draws no conclusions from it, which
 * gcc warns of; the programs here need none: what they hand over goes by release and acquire.
 */
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void probe_full_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#pragma GCC diagnostic pop

static inline int probe_cpus(void)
{
	cpu_set_t set;

	SETUP(sched_getaffinity(0, sizeof(set), &set) == 0);
	return CPU_COUNT(&set);
}

#endif
