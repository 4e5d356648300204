/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the bases share: a second process, shared memory, sockets on loopback, and the way a latency is taken (as
 * perftest takes it: the time of each round trip, the median, halved).
 */
#ifndef CLI_BENCH_MEASURE_H
#define CLI_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEASURE_NS	400000000ull /* how long a throughput base runs */
#define MEASURE_WARM_UP 1000u	     /* round trips before the first that counts */
#define MEASURE_ROUNDS	20000u	     /* round trips that count */

/* Forks; the child runs body(context) and exits with 0 if that returned true. -1: said why. */
pid_t measure_fork(bool (*body)(void *context), void *context);
/* Waits for the child; kills it first when `kill_first`. True: it exited with 0, or was killed by us. */
bool measure_join(pid_t child, bool kill_first);

/* Shared, zeroed, anonymous memory; NULL: said why. */
void *measure_shared(size_t bytes);
void measure_unshare(void *memory, size_t bytes);

/* A UDP socket bound to 127.0.0.1 with a receive timeout of 2 s; *port is what it got. -1: said why. */
int measure_udp_socket(uint16_t *port);
/* sendto() 127.0.0.1:port of exactly len bytes. */
bool measure_udp_send(int fd, uint16_t port, const void *data, size_t len);

/* Half of the median of `count` round-trip times in ns, as microseconds; sorts them. */
double measure_one_way(uint64_t *rounds, size_t count);

/* "softverbs bench: WHAT: the errno text". Returns false. */
bool measure_failed(const char *what);

#endif
