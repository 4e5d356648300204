/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The least that a reliable exchange over UDP can cost when nobody sleeps: two processes spin on non-blocking sockets;
 * who gets a message sends an ACK datagram and then its own message. A message is 28 bytes: header, 8 bytes of payload,
 * CRC's place.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

#define BUSY_MESSAGE  28u
#define BUSY_ACK      20u
#define BUSY_PATIENCE (2 * BASE_SEC)

struct end {
	int fd;
	uint16_t peer;
};

/* Spins until a message came and acknowledges it. False: a farewell (empty datagram), an error, or silence. */
static bool take_message(const struct end *end)
{
	unsigned char packet[64], ack[BUSY_ACK] = {0};
	uint64_t until = 0;
	unsigned spins = 0;

	while (true) {
		ssize_t got = recv(end->fd, packet, sizeof(packet), MSG_DONTWAIT);

		if (got == BUSY_MESSAGE)
			return measure_udp_send(end->fd, end->peer, ack, sizeof(ack));
		if (got == 0)
			return false;
		if (got < 0 && errno != EAGAIN)
			return measure_failed("UDP receive");
		if (got < 0 && ++spins % 4096 == 0) {
			uint64_t now = base_clock_now();

			if (until == 0)
				until = now + BUSY_PATIENCE;
			if (now > until)
				return false;
			sched_yield();
		}
	}
}

static bool answer(void *context)
{
	const struct end *end = context;
	unsigned char message[BUSY_MESSAGE] = {0};

	while (take_message(end))
		if (!measure_udp_send(end->fd, end->peer, message, sizeof(message)))
			return false;
	return true;
}

bool bench_base_udp_busy(size_t unused, double *out)
{
	unsigned char message[BUSY_MESSAGE] = {0};
	uint64_t *rounds = calloc(MEASURE_ROUNDS, sizeof(*rounds));
	struct end ours = {.fd = -1}, theirs = {.fd = -1};
	bool ok = false;

	if (rounds == NULL)
		return measure_failed("memory");
	ours.fd = measure_udp_socket(&theirs.peer);
	theirs.fd = measure_udp_socket(&ours.peer);
	if (ours.fd < 0 || theirs.fd < 0)
		goto close_sockets;
	pid_t child = measure_fork(answer, &theirs);
	if (child < 0)
		goto close_sockets;
	ok = true;
	for (uint32_t i = 0; ok && i < MEASURE_WARM_UP + MEASURE_ROUNDS; i++) {
		uint64_t began = base_clock_now();

		ok = measure_udp_send(ours.fd, ours.peer, message, sizeof(message)) && take_message(&ours);
		if (i >= MEASURE_WARM_UP)
			rounds[i - MEASURE_WARM_UP] = base_clock_now() - began;
	}
	if (ok)
		ok = measure_udp_send(ours.fd, ours.peer, "", 0);
	if (!measure_join(child, !ok))
		ok = false;
	if (ok)
		*out = measure_one_way(rounds, MEASURE_ROUNDS);
close_sockets:
	if (ours.fd >= 0)
		close(ours.fd);
	if (theirs.fd >= 0)
		close(theirs.fd);
	free(rounds);
	return ok;
}
