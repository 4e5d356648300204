/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/bench/measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/bench.h"

bool measure_failed(const char *what)
{
	fprintf(stderr, "softverbs bench: %s: %s\n", what, strerror(errno));
	return false;
}

pid_t measure_fork(bool (*body)(void *context), void *context)
{
	pid_t parent = getpid();

	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		measure_failed("fork");
	if (child != 0)
		return child;
	/* The child never outlives the measure, whatever happens to the parent. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(body(context) ? 0 : 1);
}

bool measure_join(pid_t child, bool kill_first)
{
	int status = 0;

	if (kill_first)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return kill_first ? true : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void *measure_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED) {
		measure_failed("shared memory");
		return NULL;
	}
	return memory;
}

void measure_unshare(void *memory, size_t bytes)
{
	if (memory != NULL)
		munmap(memory, bytes);
}

int measure_udp_socket(uint16_t *port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 2};
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &len) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) {
		measure_failed("UDP socket");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(name.sin_port);
	return fd;
}

bool measure_udp_send(int fd, uint16_t port, const void *data, size_t len)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};

	if (sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)len)
		return true;
	return measure_failed("UDP send");
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

double measure_one_way(uint64_t *rounds, size_t count)
{
	qsort(rounds, count, sizeof(*rounds), compare_u64);
	return (double)rounds[count / 2] / 2e3;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_double);
	return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

const char *bench_unit_text(enum bench_unit unit)
{
	static const char *const texts[] = {[BENCH_MIBS] = "MiB/s", [BENCH_USEC] = "us", [BENCH_MSGS] = "M msg/s"};

	return texts[unit];
}
