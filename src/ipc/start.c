/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ipc/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "ipc/socket.h"

#define START_READY_MS 5000
#define START_PATIENCE 2 /* seconds that another starter is waited for */
#define START_ROUNDS 256
#define START_STACK 65536
#define START_READY_FD 3
#define START_ENVIRONMENT_MAX 4096

extern char **environ;

/* --- where it is --- */

static bool find_beside(const char *file, const char *between, char path[PATH_MAX])
{
	const char *slash = strrchr(file, '/');
	char joined[PATH_MAX];

	if (slash == NULL || snprintf(joined, sizeof(joined), "%.*s/%ssoftverbsd", (int)(slash - file), file, between) >= PATH_MAX)
		return false;
	/* Absolute, because the broker's working directory is not the application's. */
	return realpath(joined, path) != NULL && access(path, X_OK) == 0;
}

static bool find_in_path(char path[PATH_MAX])
{
	const char *at = secure_getenv("PATH");

	while (at != NULL && *at != '\0') {
		size_t len = strcspn(at, ":");

		if (len > 0 && at[0] == '/' && snprintf(path, PATH_MAX, "%.*s/softverbsd", (int)len, at) < PATH_MAX &&
			access(path, X_OK) == 0)
			return true;
		at += len;
		at += *at == ':';
	}
	return false;
}

int ipc_broker_find(const char *configured, char path[PATH_MAX])
{
	char self[PATH_MAX];
	Dl_info info;

	if (configured != NULL && configured[0] != '\0') {
		if (strlen(configured) >= PATH_MAX || access(configured, X_OK) != 0)
			return BASE_ERR_NOENT;
		strcpy(path, configured);
		return BASE_OK;
	}
	if (dladdr((void *)(uintptr_t)ipc_broker_find, &info) != 0 && info.dli_fname != NULL && find_beside(info.dli_fname, "", path))
		return BASE_OK;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len > 0) {
		self[len] = '\0';
		if (getauxval(AT_SECURE) == 0 && (find_beside(self, "", path) || find_beside(self, "lib/", path)))
			return BASE_OK;
	}
	return find_in_path(path) ? BASE_OK : BASE_ERR_NOENT;
}

/* --- the new process --- */

/*
 * The chain is caller -> middle -> broker. Both are made with clone(CLONE_VM | CLONE_VFORK), as posix_spawn does: nothing is
 * copied, no fork handler of the application runs. The middle has no exit signal, so the application sees neither a SIGCHLD nor a
 * child to wait for; its end makes the broker an orphan. Between clone and exec only system calls are made.
 */
struct launch {
	const char *path;
	char *const *arguments, *const *environment;
	int null_fd, ready_fd; /* ready_fd: a byte or the end of file says how it went */
	uint8_t *stack;
};

/* On a stack that the sanitizers do not know. */
#define START_PLAIN __attribute__((no_sanitize("address", "undefined", "thread")))
#if defined(__SANITIZE_THREAD__)
#define START_CLONE CLONE_VFORK /* its interceptor of clone cannot share memory with a child */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define START_CLONE CLONE_VFORK
#endif
#endif
#ifndef START_CLONE
#define START_CLONE (CLONE_VM | CLONE_VFORK)
#endif

START_PLAIN static int launch_broker(void *argument)
{
	const struct launch *l = argument;
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		if (s != SIGKILL && s != SIGSTOP)
			sigaction(s, &plain, NULL); /* refused for the two that libc keeps; exec resets those if they have handlers */
	setsid();
	/* Out of the way of 0, 1 and 3, then into place. */
	int ready = fcntl(l->ready_fd, F_DUPFD, START_READY_FD + 1), null = fcntl(l->null_fd, F_DUPFD, START_READY_FD + 1);
	if (ready < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(ready, START_READY_FD) < 0)
		_exit(126);
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		dup2(null, STDERR_FILENO);
	if (syscall(SYS_close_range, START_READY_FD + 1, ~0u, 0) != 0)
		for (int fd = START_READY_FD + 1; fd < 65536; fd++) /* kernels before 5.9 */
			close(fd);
	sigemptyset(&none);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	execve(l->path, l->arguments, l->environment);
	uint8_t why = (uint8_t)errno;
	ssize_t ignored = write(START_READY_FD, &why, 1);
	(void)ignored;
	_exit(127);
}

START_PLAIN static int launch_middle(void *argument)
{
	struct launch *l = argument;
	int pid = clone(launch_broker, l->stack + START_STACK, START_CLONE | SIGCHLD, l);

	_exit(pid > 0 ? 0 : 1);
}

/* The environment without what would load foreign code into the broker. */
static void environment_take(char *out[START_ENVIRONMENT_MAX])
{
	static const char *const dropped[] = { "LD_PRELOAD=", "LD_AUDIT=", "LD_DEBUG=" };
	size_t n = 0;

	for (char **e = environ; e != NULL && *e != NULL && n < START_ENVIRONMENT_MAX - 1; e++) {
		bool drop = false;

		for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
			drop = drop || strncmp(*e, dropped[i], strlen(dropped[i])) == 0;
		if (!drop)
			out[n++] = *e;
	}
	out[n] = NULL;
}

static int launch(const char *path, int null_fd, int ready_fd)
{
	char ready[] = "--ready-fd=3", name[] = "softverbsd";
	char *arguments[] = { name, ready, NULL };
	char **environment = calloc(START_ENVIRONMENT_MAX, sizeof(*environment));
	uint8_t *stacks = mmap(NULL, 2 * START_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;
	int cancel, err = BASE_ERR_NOMEM;

	if (environment == NULL || stacks == MAP_FAILED)
		goto out;
	environment_take(environment);
	struct launch l = { path, arguments, environment, null_fd, ready_fd, stacks + START_STACK };
	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int pid = clone(launch_middle, stacks + START_STACK, START_CLONE, &l);
	if (pid > 0) {
		int status = 0;

		err = BASE_OK;
		while (waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
			err = BASE_ERR_NOMEM;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
out:
	if (stacks != MAP_FAILED)
		munmap(stacks, 2 * START_STACK);
	free(environment);
	return err;
}

/* Waits for the byte that it sends when it listens. BASE_ERR_GONE: it ended without a word. */
static int readiness_wait(const char *path, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t answer = 0;
	int ready;

	while ((ready = poll(&p, 1, START_READY_MS)) < 0 && errno == EINTR)
		;
	if (ready == 0) {
		base_error("%s did not get ready in %d s", path, START_READY_MS / 1000);
		return BASE_ERR_NODEV;
	}
	if (ready != 1 || read(fd, &answer, 1) != 1)
		return BASE_ERR_GONE;
	if (answer == 0)
		return BASE_OK;
	base_error("%s cannot be started: %s", path, strerror(answer));
	return BASE_ERR_NODEV;
}

static int start_once(const char *path)
{
	int ends[2], null_fd, err;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return BASE_ERR_NOMEM;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	err = null_fd >= 0 ? launch(path, null_fd, ends[1]) : BASE_ERR_NOMEM;
	close(ends[1]);
	if (null_fd >= 0)
		close(null_fd);
	if (err == BASE_OK)
		err = readiness_wait(path, ends[0]);
	close(ends[0]);
	return err;
}

/* Starts it and waits until it listens or has ended. BASE_OK also when another broker turned out to be there. */
static int broker_start(const char *configured)
{
	char path[PATH_MAX];
	int err = ipc_broker_find(configured, path);

	if (err != BASE_OK) {
		if (configured != NULL && configured[0] != '\0')
			base_error("the broker cannot be started: %s is not an executable file; correct SOFTVERBS_BROKER", configured);
		else
			base_error("the broker cannot be started: there is no softverbsd beside this library or in PATH; install it there or "
				   "set SOFTVERBS_BROKER to its path");
		return BASE_ERR_NODEV;
	}
	/* Somebody may have killed it meanwhile: then once more. */
	err = start_once(path);
	if (err == BASE_ERR_GONE)
		err = start_once(path);
	if (err == BASE_ERR_GONE) {
		base_error("%s ended before it was ready; run it with --foreground to see why", path);
		err = BASE_ERR_NODEV;
	}
	return err;
}

/* --- reaching it --- */

static int complain(int err)
{
	char name[64];

	if (err == BASE_ERR_PERM) {
		ipc_name_text(IPC_NAME_BROKER, name, sizeof(name));
		base_error("the socket name %s is held by another user's process, not by a broker of yours; end that process", name);
	}
	return err;
}

int ipc_broker_connect_running(int *fd)
{
	return ipc_name_connect(IPC_NAME_BROKER, fd);
}

int ipc_broker_try(const char *configured, bool force, int *fd, int *wait_fd)
{
	int lock = -1, err = ipc_name_connect(IPC_NAME_BROKER, fd);

	if (err != BASE_ERR_NODEV)
		return complain(err);
	err = ipc_name_bind(IPC_NAME_START, true, &lock);
	if (err == BASE_ERR_EXISTS && !force) {
		err = ipc_name_connect(IPC_NAME_START, wait_fd);
		if (err == BASE_OK)
			return BASE_ERR_AGAIN;
		/* It went away meanwhile: whoever asks next gets it or finds a broker. */
		*wait_fd = -1;
		return err == BASE_ERR_NODEV ? BASE_ERR_AGAIN : complain(err);
	}
	if (err != BASE_OK && err != BASE_ERR_EXISTS)
		return err;
	/* With the name held: perhaps the last holder has just finished. */
	err = ipc_name_connect(IPC_NAME_BROKER, fd);
	if (err == BASE_ERR_NODEV) {
		err = broker_start(configured);
		if (err == BASE_OK)
			err = ipc_name_connect(IPC_NAME_BROKER, fd);
	}
	if (lock >= 0)
		close(lock);
	return complain(err);
}

int ipc_broker_connect(const char *configured, unsigned seconds, int *fd)
{
	unsigned waited = 0;

	/* A wait ends with the starter's, or after a second; the number of either is bounded, whoever comes and goes. */
	for (unsigned i = 0; i < START_ROUNDS && waited < seconds; i++) {
		int wait_fd = -1, err = ipc_broker_try(configured, waited >= START_PATIENCE, fd, &wait_fd);

		if (err != BASE_ERR_AGAIN)
			return err;
		if (wait_fd < 0)
			continue;
		struct pollfd p = { .fd = wait_fd, .events = POLLIN };
		waited += poll(&p, 1, 1000) == 0;
		close(wait_fd);
	}
	base_error("another process has been starting the broker for too long; end it, or start softverbsd yourself");
	return BASE_ERR_TIMEDOUT;
}
