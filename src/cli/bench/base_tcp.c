/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program without RDMA gets: one TCP stream on loopback, blocking calls of the message size, default socket buffers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

struct stream {
	int listener;
	struct sockaddr_in name;
	size_t bytes;
};

static bool sender(void *context)
{
	const struct stream *s = context;
	unsigned char *data = aligned_alloc(4096, s->bytes);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (data == NULL || fd < 0 || connect(fd, (const struct sockaddr *)&s->name, sizeof(s->name)) != 0)
		return measure_failed("TCP connect");
	memset(data, 1, s->bytes);
	while (send(fd, data, s->bytes, MSG_NOSIGNAL) > 0)
		;
	return true; /* the receiver had enough */
}

static bool receive(int fd, size_t bytes, double *out)
{
	unsigned char *data = aligned_alloc(4096, bytes);
	uint64_t began = base_clock_now(), now = began, total = 0;
	bool warm = false;

	if (data == NULL)
		return measure_failed("memory");
	memset(data, 0, bytes);
	while (now - began < MEASURE_NS) {
		ssize_t got = recv(fd, data, bytes, MSG_WAITALL);

		if (got <= 0) {
			free(data);
			return measure_failed("TCP receive");
		}
		now = base_clock_now();
		total += (size_t)got;
		if (!warm && now - began > MEASURE_NS / 8) { /* past slow start and buffer tuning */
			warm = true;
			began = now;
			total = 0;
		}
	}
	free(data);
	*out = (double)total / BENCH_MIB / ((double)(now - began) / 1e9);
	return true;
}

bool bench_base_tcp(size_t bytes, double *out)
{
	struct stream s = {.name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, .bytes = bytes};
	socklen_t len = sizeof(s.name);

	s.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s.listener < 0 || bind(s.listener, (struct sockaddr *)&s.name, sizeof(s.name)) != 0 ||
	    listen(s.listener, 1) != 0 || getsockname(s.listener, (struct sockaddr *)&s.name, &len) != 0) {
		if (s.listener >= 0)
			close(s.listener);
		return measure_failed("TCP listen");
	}
	pid_t child = measure_fork(sender, &s);
	if (child < 0) {
		close(s.listener);
		return false;
	}
	int fd = accept(s.listener, NULL, NULL);
	bool ok = fd >= 0 ? receive(fd, bytes, out) : measure_failed("TCP accept");

	if (fd >= 0)
		close(fd);
	close(s.listener);
	measure_join(child, true);
	return ok;
}
