/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What ib_write_lat asks of UDP: the application spins on its memory and makes no call that could receive, so a second
 * thread must sleep in epoll, be woken by the datagram, and store the payload. Two processes of two threads each; the
 * spinning one sends the answer.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

#define SLEEP_MESSAGE  44u /* BTH, RETH, 8 bytes, CRC */
#define SLEEP_ROUNDS   (MEASURE_ROUNDS / 4)
#define SLEEP_PATIENCE (2 * BASE_SEC)
#define SLEEP_OVER     UINT64_MAX

struct end {
	int fd;
	uint16_t peer;
	_Atomic uint64_t memory; /* what the sleeping thread stores: the number of the newest message */
};

static void *receiver(void *context)
{
	struct end *end = context;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	unsigned char packet[128];
	uint64_t number = 0;

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, end->fd, &event) != 0)
		number = SLEEP_OVER;
	while (number != SLEEP_OVER) {
		if (epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR)
			number = SLEEP_OVER;
		ssize_t got = recv(end->fd, packet, sizeof(packet), MSG_DONTWAIT);
		if (got == SLEEP_MESSAGE)
			memcpy(&number, packet, sizeof(number));
		else if (got >= 0)
			number = SLEEP_OVER;
		atomic_store_explicit(&end->memory, number, memory_order_release);
	}
	atomic_store(&end->memory, SLEEP_OVER);
	if (epoll >= 0)
		close(epoll);
	return NULL;
}

/* Spins until message `number` lies in memory. */
static bool spin(struct end *end, uint64_t number)
{
	uint64_t until = 0;

	for (unsigned spins = 1;; spins++) {
		uint64_t seen = atomic_load_explicit(&end->memory, memory_order_acquire);

		if (seen == SLEEP_OVER)
			return false;
		if (seen >= number)
			return true;
		if (spins % 65536 == 0) {
			uint64_t now = base_clock_now();

			if (until == 0)
				until = now + SLEEP_PATIENCE;
			if (now > until)
				return false;
		}
	}
}

static bool say(const struct end *end, uint64_t number)
{
	unsigned char message[SLEEP_MESSAGE] = {0};

	memcpy(message, &number, sizeof(number));
	return measure_udp_send(end->fd, end->peer, message, sizeof(message));
}

static bool answer(void *context)
{
	struct end *end = context;
	pthread_t thread;

	if (pthread_create(&thread, NULL, receiver, end) != 0)
		return measure_failed("thread");
	for (uint64_t number = 1; spin(end, number); number++)
		if (!say(end, number))
			return false;
	return true;
}

bool bench_base_udp_sleep(size_t unused, double *out)
{
	uint64_t *rounds = calloc(SLEEP_ROUNDS, sizeof(*rounds));
	static struct end ours, theirs;
	pthread_t thread;
	bool ok = false;

	if (rounds == NULL)
		return measure_failed("memory");
	ours = (struct end){.fd = measure_udp_socket(&theirs.peer)};
	theirs.fd = measure_udp_socket(&ours.peer);
	atomic_store(&theirs.memory, 0);
	if (ours.fd < 0 || theirs.fd < 0)
		goto close_sockets;
	pid_t child = measure_fork(answer, &theirs);
	if (child < 0)
		goto close_sockets;
	ok = pthread_create(&thread, NULL, receiver, &ours) == 0;
	if (!ok) {
		measure_failed("thread");
		measure_join(child, true);
		goto close_sockets;
	}
	for (uint64_t i = 0; ok && i < MEASURE_WARM_UP + SLEEP_ROUNDS; i++) {
		uint64_t began = base_clock_now();

		ok = say(&ours, i + 1) && spin(&ours, i + 1);
		if (i >= MEASURE_WARM_UP)
			rounds[i - MEASURE_WARM_UP] = base_clock_now() - began;
	}
	if (!ok)
		errno = ETIMEDOUT, measure_failed("the UDP pair with the sleeping receiver");
	/* An empty datagram ends a receiver: the child's, then our own. */
	if (!measure_udp_send(ours.fd, ours.peer, "", 0) || !measure_udp_send(theirs.fd, theirs.peer, "", 0))
		ok = false;
	pthread_join(thread, NULL);
	if (!measure_join(child, !ok))
		ok = false;
	if (ok)
		*out = measure_one_way(rounds, SLEEP_ROUNDS);
close_sockets:
	if (ours.fd >= 0)
		close(ours.fd);
	if (theirs.fd >= 0)
		close(theirs.fd);
	free(rounds);
	return ok;
}
