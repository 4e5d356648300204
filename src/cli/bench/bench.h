/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pieces of `softverbs bench`: bases (what this machine can do without us, one file each) and figures (what Debian's
 * perftest sees over our libraries). A measure returns one value in the unit of its row; the command takes medians and
 * sets them side by side.
 *
 * Every measure may fork; its children end before it returns, also when it fails. It prints why it failed on standard
 * error.
 */
#ifndef CLI_BENCH_BENCH_H
#define CLI_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_KIB      1024u
#define BENCH_MIB      (1024u * 1024u)
#define BENCH_RUNS_MAX 101

enum bench_unit {
	BENCH_MIBS, /* MiB per second, as perftest prints it; more is better */
	BENCH_USEC, /* microseconds for one way: half a round trip, the median; less is better */
	BENCH_MSGS  /* million messages per second; more is better */
};
const char *bench_unit_text(enum bench_unit unit);

/* Bases. False: could not be measured. */
bool bench_base_memcpy(size_t bytes, double *out);
/* One stream on loopback, `bytes` at a time, receiver in another process. */
bool bench_base_tcp(size_t bytes, double *out);
/*
 * Two processes, two rings in shared memory: every message is a record that is copied out, answered by an ACK record and
 * then by a message.
 */
bool bench_base_ring(size_t unused, double *out);
/*
 * UDP_SEGMENT to UDP_GRO on loopback: packets of `mtu` bytes of payload, CRC made and checked, payload copied out, a
 * window of ACKs.
 */
bool bench_base_gso(size_t mtu, double *out);
/* Two processes that both spin on their sockets; an ACK datagram goes before each answer. */
bool bench_base_udp_busy(size_t unused, double *out);
/*
 * Two processes, each with a thread that sleeps in epoll and stores what arrives, beside a thread that spins on the
 * memory and answers.
 */
bool bench_base_udp_sleep(size_t unused, double *out);

/* A run of a perftest program, server and client, over our libraries. */
struct bench_perftest {
	const char *program;
	const char *size;
	const char *iterations;
	const char *mtu; /* NULL: the program's choice */
	enum bench_unit unit;
	bool wire;
	const char *connection; /* NULL: RC */
};
/* Quotes what both ends said when they fail. */
bool bench_perftest_run(const struct bench_perftest *test, const char *device, double *out);

/*
 * The number in what a client printed, from the line that begins with the size: "#bytes #iterations peak average rate" of
 * the bandwidth programs, "#bytes #iterations t_min t_max t_typical ..." of the latency programs. False: there is none.
 */
bool bench_perftest_parse(const char *text, const char *size, enum bench_unit unit, double *out);

/* The median of count > 0 values; sorts them. */
double bench_median(double *values, size_t count);

#endif
