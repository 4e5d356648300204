/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on no kernel, but on a rule of arithmetic that the whole design keeps: receiving must not wait for room to send. Two
 * peers with bounded rings between them, each answering every request: when the receiver waits for room for its answer, and
 * both rings are full of requests, nobody takes anything out any more (a slot is free again when its packet is dealt with).
 * When the answer stays owed (a count in the QP) until there is room, all ends.
 * Without the rule: both directions saturated would hang two processes for ever. --wrong waits inside receive.
 * A model with a virtual scheduler: each seed is one interleaving, and a run without any possible step is a deadlock.
 */
#include "platform/probe.h"
#include "base/random.h"

#define RING_MAX 16
#define REQUESTS 200

enum packet { REQUEST, ACK };

struct ring {
	uint8_t packet[RING_MAX];
	uint32_t head, tail, room;
};

struct peer {
	struct ring *in, *out;
	uint32_t sent, acked, received; /* requests sent, answered by the other, received from the other */
	uint32_t owed;                  /* answers that wait for room */
	bool stuck;                     /* inside receive, waiting for room: does nothing else (the wrong variant) */
};

static bool ring_push(struct ring *r, enum packet packet)
{
	if (r->tail - r->head == r->room)
		return false;
	r->packet[r->tail++ % RING_MAX] = (uint8_t)packet;
	return true;
}

/* Each step is what one peer does without being interrupted; false when it can do nothing. */
static bool step_send(struct peer *p)
{
	if (p->stuck || p->sent == REQUESTS || !ring_push(p->out, REQUEST))
		return false;
	p->sent++;
	return true;
}

static bool step_receive(struct peer *p)
{
	if (p->stuck || p->in->head == p->in->tail)
		return false;
	if (p->in->packet[p->in->head % RING_MAX] == ACK) {
		p->acked++;
	} else {
		p->received++;
		p->owed++;
		p->stuck = probe.wrong;
	}
	p->in->head += !p->stuck;
	return true;
}

static bool step_answer(struct peer *p)
{
	if (p->owed == 0 || !ring_push(p->out, ACK))
		return false;
	p->owed--;
	p->in->head += p->stuck;
	p->stuck = false;
	return true;
}

static bool peer_is_done(const struct peer *p)
{
	return p->acked == REQUESTS && p->received == REQUESTS && p->owed == 0;
}

/* One run; the steps it took, or 0 for a deadlock. `most_owed` is raised to the largest debt seen. */
static uint64_t run(uint64_t seed, uint32_t *most_owed)
{
	static bool (*const step[])(struct peer *) = { step_send, step_receive, step_answer };
	struct base_random random = { seed };
	struct ring ring[2] = { 0 };
	struct peer peer[2] = { { &ring[0], &ring[1] }, { &ring[1], &ring[0] } };
	uint64_t steps = 0;

	for (int i = 0; i < 2; i++)
		ring[i].room = 1 + (uint32_t)base_random_below(&random, RING_MAX);
	while (!peer_is_done(&peer[0]) || !peer_is_done(&peer[1])) {
		uint32_t first = (uint32_t)base_random_below(&random, 6), i;

		for (i = 0; i < 6; i++) {
			struct peer *p = &peer[(first + i) % 2];

			if (step[(first + i) % 6 / 2](p)) {
				*most_owed = p->owed > *most_owed ? p->owed : *most_owed;
				break;
			}
		}
		if (i == 6)
			return 0;
		steps++;
	}
	return steps;
}

int main(int argc, char **argv)
{
	uint64_t runs, dead = 0, first_dead = 0;
	uint32_t most_owed = 0;

	probe_begin(argc, argv);
	runs = probe.long_form ? 1000000 : 5000;
	for (uint64_t seed = 0; seed < runs; seed++)
		if (run(seed, &most_owed) == 0 && dead++ == 0)
			first_dead = seed;
	EXPECT(dead == 0, "%llu of %llu runs deadlock, first with seed %llu", (unsigned long long)dead, (unsigned long long)runs,
		(unsigned long long)first_dead);
	printf("%llu runs end; at most %u answers owed at once (a QP acknowledges them with one ACK)\n", (unsigned long long)runs,
		most_owed);
	return PROBE_PASS;
}
