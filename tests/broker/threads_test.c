/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * struct process under many threads: some ask for pairs, one plays the progress thread, one reads tables, and the broker is
 * killed again and again in between. Every request ends well, every pair arrives once, and (under TSan) nothing races. Four
 * more processes are the peers. Needs a network namespace of its own.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "ipc/socket.h"
#include "ipc/start.h"
#include "process/process.h"

#define PEERS 4
#define ASKERS 4
#define ROUNDS 3

static struct process *process;
static _Atomic bool stop;
static _Atomic unsigned arrived[IPC_SLOTS], restored, bad;
static uint8_t peers[PEERS];

static int on_pair(void *context, const struct process_pair *pair)
{
	atomic_fetch_add(&arrived[pair->slot], 1);
	munmap(pair->map, IPC_PAIR_BYTES);
	munmap(pair->peer_wake, IPC_WAKE_BYTES);
	close(pair->peer_eventfd);
	return BASE_OK;
}

static void on_restored(void *context)
{
	atomic_fetch_add(&restored, 1);
}

static const struct process_events events = { .pair_arrived = on_pair, .broker_restored = on_restored };

/* What the progress thread does. */
static void *progress(void *argument)
{
	struct pollfd p = { .fd = process_control_fd(process), .events = POLLIN };

	while (!atomic_load(&stop)) {
		poll(&p, 1, 20);
		process_control_handle(process);
	}
	return NULL;
}

static void *reader(void *argument)
{
	struct netdev_table *table = malloc(sizeof(*table));
	struct netdev_gid gid;

	while (!atomic_load(&stop)) {
		process_netdev_read(process, table);
		if (table->count < 1 || process_netdev_gid(process, 0, 0, &gid) != BASE_OK || !gid.valid)
			atomic_fetch_add(&bad, 1);
		sched_yield();
	}
	free(table);
	return NULL;
}

static void *asker(void *argument)
{
	for (unsigned i = 0; i < PEERS; i++) {
		uint8_t slot = peers[(i + (unsigned)(uintptr_t)argument) % PEERS];
		int err = process_pair_request(process, slot, 20 * BASE_SEC);

		if (err != BASE_OK || !process_pair_exists(process, slot)) {
			fprintf(stderr, "pair with %u: %s\n", slot, base_err_text(err));
			atomic_fetch_add(&bad, 1);
		}
	}
	return NULL;
}

/* The broker's pid, by its end of a connection. */
static void broker_kill(void)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd;

	if (ipc_broker_connect_running(&fd) != BASE_OK)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 1)
		kill(peer.pid, SIGKILL);
	close(fd);
}

/* A peer: serves its connection until its standard input, a pipe, ends. */
static void peer_run(int out, int in)
{
	struct process *mine;
	struct pollfd p[2] = { { .fd = in, .events = POLLIN }, { .events = POLLIN } };

	if (process_get(&mine) != BASE_OK)
		_exit(1);
	process_events_set(mine, &events, NULL);
	uint8_t slot = process_slot(mine);
	if (write(out, &slot, 1) != 1)
		_exit(1);
	p[1].fd = process_control_fd(mine);
	while (p[0].revents == 0) {
		poll(p, 2, -1);
		process_control_handle(mine);
	}
	_exit(0);
}

static bool namespace_make(void)
{
	unsigned uid = geteuid();
	char map[32];

	if (unshare(CLONE_NEWNET) == 0)
		return system("ip link set lo up") == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	int len = snprintf(map, sizeof(map), "0 %u 1", uid), fd = open("/proc/self/uid_map", O_WRONLY);
	bool mapped = fd >= 0 && write(fd, map, (size_t)len) == len;
	if (fd >= 0)
		close(fd);
	return mapped && system("ip link set lo up") == 0;
}

static bool round_run(void)
{
	pthread_t threads[ASKERS + 2];
	unsigned before = atomic_load(&restored);

	atomic_store(&stop, false);
	for (unsigned i = 0; i < IPC_SLOTS; i++)
		atomic_store(&arrived[i], 0);
	if (process_get(&process) != BASE_OK)
		return false;
	process_events_set(process, &events, NULL);
	pthread_create(&threads[0], NULL, progress, NULL);
	pthread_create(&threads[1], NULL, reader, NULL);
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_create(&threads[2 + i], NULL, asker, (void *)(uintptr_t)i);
	broker_kill();
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_join(threads[2 + i], NULL);
	broker_kill();
	for (unsigned i = 0; i < 2000 && atomic_load(&restored) == before; i++)
		poll(NULL, 0, 10); /* the event is counted by another thread */
	atomic_store(&stop, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	bool good = atomic_load(&bad) == 0 && atomic_load(&restored) > before;
	for (unsigned i = 0; i < PEERS; i++) {
		if (atomic_load(&arrived[peers[i]]) != 1) {
			fprintf(stderr, "the pair with %u arrived %u times\n", peers[i], atomic_load(&arrived[peers[i]]));
			good = false;
		}
	}
	process_put(process);
	return good;
}

int main(int argc, char **argv)
{
	int lives[2];
	char broker[PATH_MAX];
	bool good = true;

	if (argc != 2 || realpath(argv[1], broker) == NULL || pipe2(lives, O_CLOEXEC) != 0)
		return 2;
	if (!namespace_make()) {
		puts("skipped: no network namespace of its own can be made");
		return 77;
	}
	setenv("SOFTVERBS_BROKER", broker, 1);
	setenv("SOFTVERBS_IDLE_SECONDS", "1", 1);
	for (unsigned i = 0; i < PEERS; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) != 0)
			return 2;
		if (fork() == 0) {
			close(lives[1]);
			peer_run(ends[1], lives[0]);
		}
		close(ends[1]); /* a peer that fails is an end of file */
		if (read(ends[0], &peers[i], 1) != 1) {
			puts("a peer did not reach its broker");
			return 1;
		}
		close(ends[0]);
	}
	for (unsigned i = 0; i < ROUNDS && good; i++)
		good = round_run();
	close(lives[1]);
	for (unsigned i = 0; i < PEERS; i++) {
		int status;

		good = wait(&status) > 0 && status == 0 && good;
	}
	puts(good ? "ok" : "failed");
	return good ? 0 : 1;
}
