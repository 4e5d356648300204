/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How fast the shared-memory link is, beside a ring that does nothing but carry. Not installed. Two threads on two processors:
 *
 *   exchange   a record of 8 bytes, its ACK, the answer, its ACK; ns per round trip. "bare": 64-byte records in a
 *                   ring of two indexes
 *   stream     runs of 16 KiB, gathered into the ring and scattered out of it; GB/s. "memcpy": 1 MiB to 1 MiB, once
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "link/test_pair.h"

#define WINDOW_NS 500000000ull
#define WINDOWS 30  /* the best of which counts: other programs disturb, nothing makes it faster than it is */
#define SAMPLES 20000

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static _Atomic bool stop;

/* Times of a hundred round trips each; the tenth part that was disturbed least says what it costs. */
struct samples {
	uint64_t ns[SAMPLES];
	unsigned count;
};
static struct samples samples;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double samples_result(void)
{
	qsort(samples.ns, samples.count, sizeof(samples.ns[0]), by_value);
	return (double)samples.ns[samples.count / 10] / 100;
}

/* --- bare ---------------------------------------------------------------------------------------------------------------- */

struct bare {
	_Alignas(128) _Atomic uint64_t tail;
	_Alignas(128) uint8_t bytes[1 << 16];
};
static struct bare bare[2];

static void bare_put(struct bare *b, uint64_t *tail, uint64_t value)
{
	memcpy(b->bytes + (*tail & 0xffff), &value, 8);
	*tail += 64;
	atomic_store_explicit(&b->tail, *tail, memory_order_release);
}

static bool bare_get(struct bare *b, uint64_t *head, uint64_t *value)
{
	if (atomic_load_explicit(&b->tail, memory_order_acquire) == *head)
		return false;
	memcpy(value, b->bytes + (*head & 0xffff), 8);
	*head += 64;
	return true;
}

static void *bare_echo(void *unused)
{
	uint64_t head = 0, tail = 0, v;

	pin(1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (!bare_get(&bare[0], &head, &v) || v == 0)
			continue;
		bare_put(&bare[1], &tail, 0);
		bare_put(&bare[1], &tail, v);
	}
	return unused;
}

static double bare_exchange(void)
{
	uint64_t head = 0, tail = 0, v = 0, begin, n = 0;
	pthread_t thread;

	stop = false;
	bare[0].tail = bare[1].tail = 0;
	pthread_create(&thread, NULL, bare_echo, NULL);
	samples.count = 0;
	begin = base_clock_now();
	while (base_clock_now() - begin < WINDOW_NS && samples.count < SAMPLES) {
		uint64_t from = base_clock_now();

		for (int i = 0; i < 100; i++, n++) {
			bare_put(&bare[0], &tail, n + 1);
			do
				while (!bare_get(&bare[1], &head, &v))
					;
			while (v == 0);
			bare_put(&bare[0], &tail, 0);
		}
		samples.ns[samples.count++] = base_clock_now() - from;
	}
	stop = true;
	pthread_join(thread, NULL);
	return samples_result();
}

/* --- the link ------------------------------------------------------------------------------------------------------------ */

static struct test_pair pair;
static _Alignas(64) uint8_t user[2][1 << 20];

struct side {
	struct test_end *end;
	struct link_path path;
	uint64_t records, acks, bytes;
	uint64_t word;
	uint32_t psn;
};

static void send_record(struct side *side)
{
	struct transport_room room;
	struct transport_run run;

	while (link_reserve(side->end->link, &side->path, &room) != 0)
		;
	memcpy(room.buf, &side->word, 8);
	run = test_run(WIRE_RC_SEND_ONLY, room.buf, 8, side->psn++, side->path.dest_qpn);
	link_commit(side->end->link, &side->path, &run, 8);
	link_flush(side->end->link);
}

static void send_ack(struct side *side)
{
	struct transport_room room;
	struct transport_run run;

	while (link_reserve(side->end->link, &side->path, &room) != 0)
		;
	run = test_run(WIRE_RC_ACKNOWLEDGE, room.buf, 0, side->psn, side->path.dest_qpn);
	run.head.aeth = (struct wire_aeth){.syndrome = WIRE_ACK_UNLIMITED, .msn = side->psn};
	link_commit(side->end->link, &side->path, &run, 0);
	link_flush(side->end->link);
}

static void take(void *context, const struct link_rx *rx)
{
	struct side *side = context;

	if (rx->run.head.bth.opcode == WIRE_RC_ACKNOWLEDGE) {
		side->acks++;
		return;
	}
	memcpy(&side->word, rx->run.head.payload, 8);
	side->records++;
}

static struct side side_make(int which)
{
	return (struct side){.end = &pair.end[which], .path = test_path(pair.end[which].slot, pair.end[1 - which].slot)};
}

static void *link_echo(void *unused)
{
	struct side side = side_make(1);
	uint64_t seen = 0;

	pin(1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		link_receive(side.end->link, false, false, 64, take, &side);
		if (side.records == seen)
			continue;
		seen = side.records;
		send_ack(&side);
		send_record(&side);
	}
	return unused;
}

static double link_exchange(void)
{
	struct side side = side_make(0);
	uint64_t begin, n = 0;
	pthread_t thread;

	while (link_receive(pair.end[0].link, false, true, 64, take, &side) + link_receive(pair.end[1].link, false, true,
			64, take, &side) > 0)
		;
	side.records = 0;
	stop = false;
	pthread_create(&thread, NULL, link_echo, NULL);
	samples.count = 0;
	begin = base_clock_now();
	while (base_clock_now() - begin < WINDOW_NS && samples.count < SAMPLES) {
		uint64_t from = base_clock_now();

		for (int i = 0; i < 100; i++, n++) {
			send_record(&side);
			while (side.records == n)
				link_receive(side.end->link, false, false, 64, take, &side);
			send_ack(&side);
		}
		samples.ns[samples.count++] = base_clock_now() - from;
	}
	stop = true;
	pthread_join(thread, NULL);
	return samples_result();
}

static void *source(void *argument)
{
	struct side side = side_make(0);
	uint32_t chunk = *(uint32_t *)argument, offset = 0;
	struct transport_room room;
	struct transport_run run;

	pin(1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (link_reserve(side.end->link, &side.path, &room) != 0 || room.bytes < chunk)
			continue;
		memcpy(room.buf, user[0] + offset, chunk);
		offset = (offset + chunk) & ((1 << 20) - 1);
		run = test_run(chunk > 4096 ? WIRE_RC_SEND_MIDDLE : WIRE_RC_SEND_ONLY, room.buf, chunk, side.psn,
				side.path.dest_qpn);
		run.packets = (uint16_t)(chunk > 4096 ? chunk / 4096 : 1);
		side.psn += run.packets;
		link_commit(side.end->link, &side.path, &run, chunk);
		link_flush(side.end->link);
	}
	return NULL;
}

static void drain(void *context, const struct link_rx *rx)
{
	struct side *side = context;

	memcpy(user[1] + (side->bytes & ((1 << 20) - 1)), rx->run.head.payload, rx->run.head.payload_len);
	side->bytes += rx->run.head.payload_len;
	side->records++;
}

static double link_stream(uint32_t chunk, double *rate)
{
	struct side side = side_make(1);
	pthread_t thread;
	uint64_t begin;

	stop = false;
	pthread_create(&thread, NULL, source, &chunk);
	begin = base_clock_now();
	while (base_clock_now() - begin < WINDOW_NS / 50)
		for (int i = 0; i < 100; i++)
			link_receive(side.end->link, false, false, 64, drain, &side);
	begin = base_clock_now() - begin;
	stop = true;
	pthread_join(thread, NULL);
	while (link_receive(side.end->link, false, true, 64, drain, &side) > 0)
		;
	*rate = (double)side.records / (double)begin * 1e3;
	return (double)side.bytes / (double)begin;
}

static double copy_rate(void)
{
	uint64_t begin = base_clock_now(), bytes = 0;

	while (base_clock_now() - begin < WINDOW_NS / 10) {
		memcpy(user[1], user[0], 1 << 20);
		__asm__ volatile("" : : "r"(user[1]) : "memory");
		bytes += 1 << 20;
	}
	return (double)bytes / (double)(base_clock_now() - begin);
}

int main(void)
{
	static const uint32_t chunk[] = {8, 1024, 4096, 16384};
	double bare_ns, link_ns, rate, gbs;

	pin(0);
	test_pair_make(&pair, 3, 9);
	memset(user, 1, sizeof(user));
	bare_ns = bare_exchange();
	link_ns = link_exchange();
	printf("exchange  bare %.0f ns, link %.0f ns (%.2f times)\n", bare_ns, link_ns, link_ns / bare_ns);
	printf("memcpy    %.1f GB/s\n", copy_rate());
	for (unsigned i = 0; i < sizeof(chunk) / sizeof(chunk[0]); i++) {
		gbs = rate = 0;
		for (int k = 0; k < WINDOWS; k++) {
			double r, g = link_stream(chunk[i], &r);

			gbs = g > gbs ? g : gbs;
			rate = r > rate ? r : rate;
		}
		printf("stream    %5u bytes: %.2f GB/s, %.2f million runs/s\n", chunk[i], gbs, rate);
	}
	test_pair_free(&pair);
	return 0;
}
