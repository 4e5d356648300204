/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a pidfd that a process sends of itself becomes readable, in whoever holds it, when the whole process is dead
 * (before it is reaped, and not at the end of its first thread alone); exec leaves it unreadable, but closes CLOEXEC
 * sockets, so end-of-file covers exec.
 * Without it: the broker and peers could not tell death from life: a forked child keeps the dead one's sockets open, and
 * end-of-file does not come. --wrong waits for that end-of-file.
 */
#include "platform/probe_net.h"

#include <pthread.h>
#include <sys/syscall.h>

#define ABSENCE_MS 50 /* an event that must not come is waited for this long */
#define PRESENCE_MS 2000

static bool becomes_readable(int fd, int timeout_ms)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, timeout_ms) == 1 && (p.revents & (POLLIN | POLLHUP));
}

static int own_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0 && errno == ENOSYS)
		SKIP("this kernel has no pidfd_open");
	SETUP(fd >= 0);
	return fd;
}

/* The pid that a pidfd stands for, by fdinfo: it must be the one that SO_PEERCRED tells. */
static int pidfd_pid(int fd)
{
	char path[64], line[128];
	int pid = -2;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	SETUP(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	fclose(f);
	return pid;
}

static void client_hello(int channel)
{
	int fd = own_pidfd();

	SETUP(probe_fd_send(channel, "h", 1, fd) == 0);
	close(fd);
}

static int hello_take(int channel, pid_t client)
{
	int pidfd;
	char byte;

	SETUP(probe_fd_receive(channel, &byte, 1, 0, &pidfd) == 1 && pidfd >= 0);
	EXPECT(pidfd_pid(pidfd) == client, "the pidfd that came is of %d, not of %d", pidfd_pid(pidfd), client);
	EXPECT(!becomes_readable(pidfd, 0), "the pidfd of a living process is readable");
	return pidfd;
}

/* A client with a forked child dies; the child goes on. */
static void death_check(void)
{
	int channel[2], hold[2], pidfd;
	pid_t client;
	char byte;

	SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0 && pipe(hold) == 0);
	client = probe_fork();
	if (client == 0) {
		pid_t child;

		close(channel[0]);
		close(hold[1]);
		child = fork();
		SETUP(child >= 0);
		if (child == 0) { /* outlives its parent until the probe lets go of the pipe */
			SETUP(read(hold[0], &byte, 1) == 0);
			_exit(PROBE_PASS);
		}
		client_hello(channel[1]);
		for (;;)
			pause();
	}
	close(channel[1]);
	close(hold[0]);
	pidfd = hello_take(channel[0], client);
	SETUP(kill(client, SIGKILL) == 0);
	EXPECT(becomes_readable(probe.wrong ? channel[0] : pidfd, probe.wrong ? ABSENCE_MS : PRESENCE_MS), "%s",
		probe.wrong ? "no end-of-file though the client is dead" : "the pidfd does not tell of the death");
	EXPECT(!becomes_readable(channel[0], ABSENCE_MS), "end-of-file came though a child holds the socket");
	probe_reap(client);
	EXPECT(becomes_readable(pidfd, 0), "the pidfd is not readable any more once the process is reaped");
	close(hold[1]);
	EXPECT(becomes_readable(channel[0], PRESENCE_MS), "no end-of-file though the last holder is gone");
	close(pidfd);
	close(channel[0]);
}

static int thread_channel, thread_hold;

static void *thread_last(void *unused)
{
	char byte;

	pthread_join(*(pthread_t *)unused, NULL); /* the first thread has ended */
	SETUP(write(thread_channel, "t", 1) == 1);
	SETUP(read(thread_hold, &byte, 1) == 0);
	_exit(PROBE_PASS);
}

/* The first thread of a process ends by pthread_exit, another one goes on. */
static void leader_check(void)
{
	int channel[2], hold[2], pidfd;
	pid_t client;
	char byte;

	SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0 && pipe(hold) == 0);
	client = probe_fork();
	if (client == 0) {
		static pthread_t self;
		pthread_t thread;

		close(channel[0]);
		close(hold[1]);
		thread_channel = channel[1];
		thread_hold = hold[0];
		self = pthread_self();
		client_hello(channel[1]);
		SETUP(pthread_create(&thread, NULL, thread_last, &self) == 0);
		pthread_exit(NULL);
	}
	close(channel[1]);
	close(hold[0]);
	pidfd = hello_take(channel[0], client);
	SETUP(recv(channel[0], &byte, 1, 0) == 1);
	EXPECT(!becomes_readable(pidfd, ABSENCE_MS), "the end of the first thread counts as death");
	close(hold[1]);
	EXPECT(becomes_readable(pidfd, PRESENCE_MS), "the pidfd does not tell of the last thread's end");
	probe_reap(client);
	close(pidfd);
	close(channel[0]);
}

static void exec_check(void)
{
	int channel[2], hold[2], pidfd;
	char fd_text[16];
	pid_t client;

	SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0 && pipe(hold) == 0);
	client = probe_fork();
	if (client == 0) {
		close(channel[0]);
		close(hold[1]);
		client_hello(channel[1]);
		snprintf(fd_text, sizeof(fd_text), "%d", hold[0]);
		execl("/proc/self/exe", "probe", "--after-exec", fd_text, (char *)NULL);
		SETUP(!"exec");
	}
	close(channel[1]);
	close(hold[0]);
	pidfd = hello_take(channel[0], client);
	EXPECT(becomes_readable(channel[0], PRESENCE_MS), "exec does not close the client's socket");
	EXPECT(!becomes_readable(pidfd, ABSENCE_MS), "exec counts as death");
	close(hold[1]);
	probe_join(client);
	close(pidfd);
	close(channel[0]);
}

int main(int argc, char **argv)
{
	probe_begin(argc, argv);
	if (argc == 3 && strcmp(argv[1], "--after-exec") == 0)
		return read(atoi(argv[2]), &(char){ 0 }, 1) == 0 ? PROBE_PASS : PROBE_BROKEN;
	death_check();
	if (!PROBE_TSAN) /* which cannot follow a join of the first thread */
		leader_check();
	exec_check();
	return PROBE_PASS;
}
