/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The least that a reliable exchange in shared memory can cost: two processes, a single-producer ring each way, both
 * spinning. A message is a record with a header of 64 bytes and 8 bytes of payload; who takes one copies header and
 * payload out, puts an ACK record into the other ring, and then its own message, as ib_send_lat makes a transport do.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

#define RING_RECORDS 1024u
#define RING_HEADER  64u
#define RING_PAYLOAD 8u

enum record_kind { RECORD_MESSAGE = 1, RECORD_ACK = 2 };

struct record {
	uint32_t kind, psn;
	unsigned char header[RING_HEADER - 8];
	unsigned char payload[64];
};

struct ring {
	_Alignas(128) _Atomic uint64_t tail;
	_Alignas(128) _Atomic uint64_t head;
	_Alignas(128) struct record records[RING_RECORDS];
};

struct shared {
	struct ring ring[2];
	_Atomic uint32_t over;
};

struct end { /* one process's view: what it writes, what it reads, its private indexes */
	struct shared *shared;
	struct ring *out, *in;
	uint64_t tail, head;
	unsigned char memory[RING_PAYLOAD];
	struct record record;
};

static void put(struct end *end, enum record_kind kind, uint32_t psn, size_t payload)
{
	struct record *r = &end->out->records[end->tail % RING_RECORDS];

	r->kind = kind;
	r->psn = psn;
	memcpy(r->header, end->record.header, sizeof(r->header));
	memcpy(r->payload, end->memory, payload);
	atomic_store_explicit(&end->out->tail, ++end->tail, memory_order_release);
}

/* Takes records until one is a message; each message is acknowledged at once. False: the other end is done. */
static bool take_message(struct end *end)
{
	while (true) {
		unsigned spins = 0;

		while (atomic_load_explicit(&end->in->tail, memory_order_acquire) == end->head) {
			if (atomic_load_explicit(&end->shared->over, memory_order_relaxed) != 0)
				return false;
			if (++spins % 65536 == 0)
				sched_yield(); /* one CPU for both ends would never move otherwise */
		}
		const struct record *r = &end->in->records[end->head % RING_RECORDS];
		memcpy(&end->record, r, RING_HEADER);
		if (end->record.kind == RECORD_MESSAGE)
			memcpy(end->memory, r->payload, RING_PAYLOAD);
		atomic_store_explicit(&end->in->head, ++end->head, memory_order_release);
		if (end->record.kind == RECORD_MESSAGE) {
			put(end, RECORD_ACK, end->record.psn, 0);
			return true;
		}
	}
}

static bool answer(void *context)
{
	struct end end = {.shared = context};

	end.out = &end.shared->ring[1];
	end.in = &end.shared->ring[0];
	while (take_message(&end))
		put(&end, RECORD_MESSAGE, end.record.psn, RING_PAYLOAD);
	return true;
}

bool bench_base_ring(size_t unused, double *out)
{
	struct shared *shared = measure_shared(sizeof(*shared));
	uint64_t *rounds = calloc(MEASURE_ROUNDS, sizeof(*rounds));
	bool ok = false;

	if (shared == NULL || rounds == NULL)
		goto free_memory;
	pid_t child = measure_fork(answer, shared);
	if (child < 0)
		goto free_memory;
	struct end end = {.shared = shared, .out = &shared->ring[0], .in = &shared->ring[1]};

	for (uint32_t i = 0; i < MEASURE_WARM_UP + MEASURE_ROUNDS; i++) {
		uint64_t began = base_clock_now();

		put(&end, RECORD_MESSAGE, i, RING_PAYLOAD);
		take_message(&end);
		if (i >= MEASURE_WARM_UP)
			rounds[i - MEASURE_WARM_UP] = base_clock_now() - began;
	}
	atomic_store(&shared->over, 1);
	ok = measure_join(child, false);
	*out = measure_one_way(rounds, MEASURE_ROUNDS);
free_memory:
	free(rounds);
	measure_unshare(shared, sizeof(*shared));
	return ok;
}
