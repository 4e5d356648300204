/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "harness.h"

#include <errno.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 77, ORDINARY_USER = 65534, PEER_MS = 100000, PEERS_MAX = 32 };

static const char *running;
static pid_t case_pid;
static bool wants_interfaces;
static int admin_fd = -1;
static pid_t other_host;

void harness_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list args;
	const char *slash = strrchr(file, '/');

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "  %s%s: %s:%d: %s\n", running, getpid() == case_pid ? "" : " (peer)", slash == NULL ? file : slash +
			1, line, text);
	_exit(1);
}

void harness_skip(const char *why)
{
	fprintf(stderr, "  %s: skipped: %s\n", running, why);
	_exit(SKIPPED);
}

bool harness_is_wire(void)
{
	const char *value = getenv("SOFTVERBS_LOCAL");

	return value != NULL && strcmp(value, "wire") == 0;
}

bool harness_is_long(void)
{
	const char *value = getenv("SOFTVERBS_LONG");

	return value != NULL && strcmp(value, "1") == 0;
}

bool harness_is_full(void)
{
	const char *value = getenv("SOFTVERBS_CHECK");

	return harness_is_long() || (value != NULL && strcmp(value, "full") == 0);
}

uint64_t harness_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void harness_wants_interfaces(void)
{
	wants_interfaces = true;
}

/* Before the admin, whom it dies with if it is not killed before. */
static void other_start(int ends[2])
{
	char x = 0;

	other_host = fork();
	if (other_host < 0)
		abort();
	if (other_host == 0) {
		if (unshare(CLONE_NEWNET) != 0 || send(ends[1], &x, 1, 0) != 1)
			_exit(1);
		close(ends[0]);
		while (recv(ends[1], &x, 1, 0) > 0) /* until nobody has the other end */
			;
		_exit(0);
	}
	close(ends[1]);
	if (recv(ends[0], &x, 1, 0) != 1)
		abort();
}

/* Stays root, and ends with the last of those that could ask it. */
static void admin_start(void)
{
	int ends[2], status, other[2];
	char command[512];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, other) != 0)
		abort();
	other_start(other);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		abort();
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid > 0) {
		close(ends[1]);
		admin_fd = ends[0];
		return;
	}
	close(ends[0]);
	while ((n = recv(ends[1], command, sizeof(command) - 1, 0)) > 0) {
		command[n] = '\0';
		status = system(command);
		if (send(ends[1], &status, sizeof(status), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static int admin_run(char command[512], const char *prefix, const char *format, va_list args)
{
	int status;

	if (admin_fd < 0)
		harness_skip("changing interfaces needs root and a network namespace");
	int len = snprintf(command, 512, "%s", prefix);
	vsnprintf(command + len, (size_t)(512 - len), format, args);
	need(send(admin_fd, command, strlen(command), MSG_NOSIGNAL) > 0);
	need(recv(admin_fd, &status, sizeof(status), 0) == sizeof(status));
	return status;
}

void harness_ip(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	int status = admin_run(command, "ip ", format, args);
	va_end(args);
	if (status != 0)
		harness_fail(__FILE__, __LINE__, "%s: status %d", command, status);
}

void harness_other_ip(const char *format, ...)
{
	char command[512], prefix[64];
	va_list args;

	snprintf(prefix, sizeof(prefix), "nsenter --net=/proc/%d/ns/net ip ", (int)other_host);
	va_start(args, format);
	int status = admin_run(command, prefix, format, args);
	va_end(args);
	if (status != 0)
		harness_fail(__FILE__, __LINE__, "%s: status %d", command, status);
}

void harness_other_host_make(void)
{
	harness_ip("link add sva address 02:00:00:00:00:01 type veth peer name svb address 02:00:00:00:00:02 netns %d",
		   (int)other_host);
	harness_other_ip("addr add 10.97.0.2/24 dev svb");
	harness_other_ip("link set svb up");
	harness_ip("addr add 10.97.0.1/24 dev sva");
	harness_ip("link set sva up");
	/* Three questions, 50 ms apart, and not a second. */
	harness_ip("ntable change name arp_cache dev sva retrans 50");
}

bool harness_ip_can(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	int status = admin_run(command, "ip ", format, args);
	va_end(args);
	return status == 0;
}

/* A namespace of our own keeps other users of port 4791 out; without it the cases run where we are. */
static void leave_root(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (geteuid() != 0)
		return;
	if (unshare(CLONE_NEWNET) == 0) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
			perror("  the loopback interface does not come up");
		close(fd);
		if (wants_interfaces)
			admin_start();
	}
	if (setgroups(0, NULL) != 0 || setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0)
		abort();
	prctl(PR_SET_DUMPABLE, 1); /* /proc/self is ours again */
}

/* Exit code; the child and what it left behind in its process group are gone afterwards. */
static int run_case(const struct harness_case *c, int seconds)
{
	running = c->name;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		setpgid(0, 0);
		case_pid = getpid();
		c->run();
		exit(0);
	}
	setpgid(pid, pid);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool ended = poll(&p, 1, seconds * 1000) == 1;
	kill(-pid, SIGKILL);
	close(pidfd);
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ended) {
		fprintf(stderr, "  %s: still not done after %d s\n", c->name, seconds);
		return 1;
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "  %s: ended by signal %d (%s)\n", c->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
		return 1;
	}
	return WEXITSTATUS(status);
}

int harness_main(int argc, char **argv, const struct harness_case *cases, size_t count)
{
	int failed = 0, skipped = 0, ran = 0;
	const char *limit = getenv("SOFTVERBS_CASE_SECONDS");
	int seconds = limit != NULL ? atoi(limit) : 40;

	setvbuf(stdout, NULL, _IOLBF, 0);
	leave_root();
	for (size_t i = 0; i < count; i++) {
		bool wanted = argc == 1;

		for (int a = 1; a < argc; a++)
			wanted = wanted || strcmp(argv[a], cases[i].name) == 0;
		if (!wanted)
			continue;
		uint64_t start = harness_now_ms();
		int code = run_case(&cases[i], seconds);
		printf("%s %s (%llu ms): %s\n", code == 0 ? "ok  " : code == SKIPPED ? "skip" : "FAIL", cases[i].name,
		       (unsigned long long)(harness_now_ms() - start), cases[i].goal);
		ran++;
		skipped += code == SKIPPED;
		failed += code != 0 && code != SKIPPED;
	}
	if (ran == 0)
		return 2;
	return failed != 0 ? 1 : skipped == ran ? SKIPPED : 0;
}

/* --- other processes --- */

struct peer peer_start(void (*run)(struct peer *))
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		abort();
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		struct peer self = { 0, ends[1] };

		close(ends[0]);
		run(&self);
		exit(0);
	}
	close(ends[1]);
	return (struct peer){ pid, ends[0] };
}

void peer_send(const struct peer *peer, const void *data, size_t len)
{
	need(send(peer->fd, data, len, MSG_NOSIGNAL) == (ssize_t)len);
}

void peer_receive(const struct peer *peer, void *data, size_t len)
{
	need(fd_is_readable(peer->fd, PEER_MS));
	need(recv(peer->fd, data, len, 0) == (ssize_t)len);
}

void peer_tell(const struct peer *peer)
{
	peer_send(peer, "x", 1);
}

void peer_await(const struct peer *peer)
{
	char x;

	peer_receive(peer, &x, 1);
}

void peer_join(struct peer *peer)
{
	int status;

	while (waitpid(peer->pid, &status, 0) < 0)
		need(errno == EINTR);
	need_equal(status, 0);
	close(peer->fd);
}

void peer_kill(struct peer *peer)
{
	int status;

	kill(peer->pid, SIGKILL);
	while (waitpid(peer->pid, &status, 0) < 0)
		need(errno == EINTR);
	close(peer->fd);
}

bool fd_is_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n == 1 && (p.revents & POLLIN) != 0;
}
