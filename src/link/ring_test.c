/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "link/test_pair.h"

struct fixture {
	struct ipc_pair_ring words;
	uint8_t *bytes;
	struct link_ring_producer p;
	struct link_ring_consumer c;
};

static struct link_ring_words words_of(struct ipc_pair_ring *ring)
{
	return (struct link_ring_words){&ring->producer.index, &ring->producer.want_room, &ring->consumer.index};
}

static void fixture_init(struct fixture *f, uint64_t start)
{
	memset(&f->words, 0, sizeof(f->words));
	f->words.producer.index = f->words.consumer.index = start;
	f->bytes = aligned_alloc(LINK_RING_LINE, LINK_RING_BYTES);
	memset(f->bytes, 0xee, LINK_RING_BYTES);
	link_ring_producer_init(&f->p, f->bytes, words_of(&f->words), start);
	link_ring_consumer_init(&f->c, f->bytes, words_of(&f->words), start);
}

static void fixture_fini(struct fixture *f)
{
	free(f->bytes);
}

static uint8_t random_opcode(struct base_random *r)
{
	uint8_t opcode;

	do
		opcode = (uint8_t)base_random_next(r);
	while (wire_opcode_find(opcode) == NULL);
	return opcode;
}

/* Any run that the format allows, with all the header fields that its opcodes have. */
static void random_run(struct base_random *r, struct transport_run *run)
{
	static const uint8_t first[] = {WIRE_RC_SEND_FIRST, WIRE_RC_RDMA_WRITE_FIRST, WIRE_RC_RDMA_READ_RESPONSE_FIRST,
			WIRE_RC_SEND_MIDDLE};
	static const uint8_t last[] = {WIRE_RC_SEND_LAST_WITH_INVALIDATE, WIRE_RC_RDMA_WRITE_LAST_WITH_IMM,
				       WIRE_RC_RDMA_READ_RESPONSE_LAST, WIRE_RC_SEND_MIDDLE};
	struct wire_packet *h = &run->head;

	memset(run, 0, sizeof(*run));
	run->mtu = 256u << base_random_below(r, 5);
	run->packets = (uint16_t)(1 + base_random_below(r, LINK_RING_PAYLOAD_MAX / run->mtu));
	if (run->packets == 1) {
		h->bth.opcode = run->last_opcode = random_opcode(r);
		h->payload_len = (uint32_t)base_random_below(r, base_random_below(r, 2) ? 65 : run->mtu + 1);
	} else {
		unsigned kind = (unsigned)base_random_below(r, 4);

		h->bth.opcode = first[kind];
		run->last_opcode = last[kind];
		h->payload_len = kind == 3 ? run->packets * run->mtu :
					     (run->packets - 1u) * run->mtu + 1 + (uint32_t)base_random_below(r, run->mtu);
	}
	h->bth.pkey = (uint16_t)base_random_next(r);
	h->bth.psn = base_random_next(r) & WIRE_PSN_MASK;
	h->bth.dest_qpn = base_random_next(r) & WIRE_QPN_MASK;
	h->bth.ack_req = base_random_next(r) & 1;
	h->bth.solicited = base_random_next(r) & 1;
	h->deth = (struct wire_deth){(uint32_t)base_random_next(r), base_random_next(r) & 0xffffff};
	h->reth = (struct wire_reth){base_random_next(r), (uint32_t)base_random_next(r), (uint32_t)base_random_next(r)};
	h->aeth = (struct wire_aeth){(uint8_t)base_random_next(r), base_random_next(r) & 0xffffff};
	h->atomic = (struct wire_atomiceth){base_random_next(r), (uint32_t)base_random_next(r), base_random_next(r),
			base_random_next(r)};
	h->atomic_ack = base_random_next(r);
	h->imm = (uint32_t)base_random_next(r);
	h->inv_rkey = (uint32_t)base_random_next(r);
	h->xrc_srqn = base_random_next(r) & 0xffffff;
	h->feth = (struct wire_feth){base_random_next(r) & 15, base_random_next(r) & 3};
}

static void random_path(struct base_random *r, struct link_path *path)
{
	memset(path, 0, sizeof(*path));
	path->gid_type = (enum wire_gid_type)base_random_below(r, 3);
	path->ifindex = (uint32_t)base_random_next(r);
	path->dest_ifindex = (uint32_t)base_random_next(r);
	path->traffic_class = (uint8_t)base_random_next(r);
	path->hop_limit = (uint8_t)base_random_next(r);
	for (int i = 0; i < WIRE_GID_BYTES; i++) {
		path->sgid.raw[i] = (uint8_t)base_random_next(r);
		path->dgid.raw[i] = (uint8_t)base_random_next(r);
	}
}

static void assert_same(const struct transport_run *sent, const struct link_path *path, const struct link_rx *got)
{
	uint32_t has = wire_opcode_find(sent->head.bth.opcode)->has | wire_opcode_find(sent->last_opcode)->has;
	const struct wire_packet *a = &sent->head, *b = &got->run.head;

	assert_int_equal(got->run.packets, sent->packets);
	assert_int_equal(got->run.last_opcode, sent->last_opcode);
	assert_int_equal(got->run.mtu, sent->mtu);
	assert_ptr_equal(b->op, wire_opcode_find(a->bth.opcode));
	assert_memory_equal(&b->bth, &a->bth, sizeof(a->bth));
	assert_int_equal(b->payload_len, a->payload_len);
	if (has & WIRE_HAS_DETH)
		assert_memory_equal(&b->deth, &a->deth, sizeof(a->deth));
	if (has & WIRE_HAS_RETH)
		assert_memory_equal(&b->reth, &a->reth, sizeof(a->reth));
	if (has & WIRE_HAS_AETH)
		assert_true(b->aeth.syndrome == a->aeth.syndrome && b->aeth.msn == a->aeth.msn);
	if (has & WIRE_HAS_ATOMICETH)
		assert_true(b->atomic.va == a->atomic.va && b->atomic.rkey == a->atomic.rkey &&
				b->atomic.swap_or_add == a->atomic.swap_or_add &&
			    b->atomic.compare == a->atomic.compare);
	if (has & WIRE_HAS_ATOMICACKETH)
		assert_int_equal(b->atomic_ack, a->atomic_ack);
	if (has & WIRE_HAS_IMMDT)
		assert_int_equal(b->imm, a->imm);
	if (has & WIRE_HAS_IETH)
		assert_int_equal(b->inv_rkey, a->inv_rkey);
	if (has & WIRE_HAS_XRCETH)
		assert_int_equal(b->xrc_srqn, a->xrc_srqn);
	if (has & WIRE_HAS_FETH)
		assert_memory_equal(&b->feth, &a->feth, sizeof(a->feth));
	assert_int_equal(got->gid_type, path->gid_type);
	assert_int_equal(got->ifindex, path->dest_ifindex);
	assert_int_equal(got->traffic_class, path->traffic_class);
	assert_int_equal(got->hop_limit, path->hop_limit);
	assert_true(wire_gid_equal(&got->sgid, &path->sgid) && wire_gid_equal(&got->dgid, &path->dgid));
}

#define MODEL 8192 /* more entries than a ring can hold */
struct model {
	struct transport_run run[MODEL];
	struct link_path path[MODEL];
	unsigned in, out;
};

/*
 * Random runs in, random bursts out, against a queue of the same runs: everything arrives as it was sent, in order,
 * no matter where it wraps.
 */
static void random_runs_match_a_model(void **state)
{
	struct base_random r = {.state = 20260101};
	struct model *m = calloc(1, sizeof(*m));
	struct fixture f;
	unsigned refused = 0, lap_entries = 0;

	/* The start lies before the end of the ring, so that the first wrap comes at once. */
	fixture_init(&f, LINK_RING_BYTES * 5ull - 4 * LINK_RING_LINE);
	for (unsigned step = 0; step < 60000; step++) {
		unsigned burst = (unsigned)base_random_below(&r, 40);

		if (base_random_below(&r, 2)) {
			for (unsigned i = 0; i < burst; i++) {
				struct transport_run *run = &m->run[m->in % MODEL];
				struct transport_room room;

				if (link_ring_reserve(&f.p, &room) == BASE_ERR_AGAIN) {
					refused++;
					break;
				}
				assert_true(room.bytes >= LINK_RING_PAYLOAD_MIN && room.bytes <= LINK_RING_PAYLOAD_MAX);
				assert_true(room.buf >= f.bytes);
				assert_true(room.buf + room.bytes + LINK_RING_TRAILER_MAX <= f.bytes + LINK_RING_BYTES);
				assert_int_equal((uintptr_t)room.buf % LINK_RING_LINE, 0);
				random_run(&r, run);
				if (run->head.payload_len > room.bytes)
					break; /* a reservation is no promise */
				/* Often the same way as before, as one busy QP has it. */
				if (m->in == 0 || base_random_below(&r, 3) == 0)
					random_path(&r, &m->path[m->in % MODEL]);
				else
					m->path[m->in % MODEL] = m->path[(m->in - 1) % MODEL];
				memset(room.buf, (int)(m->in & 0xff), run->head.payload_len);
				run->head.payload = room.buf;
				assert_true(link_ring_commit(&f.p, &m->path[m->in % MODEL], run));
				m->in++;
			}
			if (base_random_below(&r, 4))
				link_ring_publish(&f.p);
		} else {
			for (unsigned i = 0; i < burst; i++) {
				struct link_rx rx;

				memset(&rx, 0, sizeof(rx)); /* padding is compared, too */
				if (link_ring_peek(&f.c, &rx) != 1)
					break;
				assert_true(m->out != m->in);
				assert_same(&m->run[m->out % MODEL], &m->path[m->out % MODEL], &rx);
				for (uint32_t k = 0; k < rx.run.head.payload_len; k++)
					assert_int_equal(rx.run.head.payload[k], m->out & 0xff);
				m->out++;
				lap_entries++;
				link_ring_pop(&f.c);
			}
		}
	}
	link_ring_publish(&f.p);
	for (struct link_rx rx; link_ring_peek(&f.c, &rx) == 1; m->out++)
		link_ring_pop(&f.c);
	assert_int_equal(m->out, m->in);
	assert_true(m->in > 20000 && refused > 100);
	fixture_fini(&f);
	free(m);
}

/* A full ring refuses, and one release of the consumer is enough for room; nothing is lost in between. */
static void full_ring_gets_room_back(void **state)
{
	struct fixture f;
	struct transport_room room;
	struct link_path path = test_path(1, 2);
	struct transport_run run;
	struct link_rx rx;
	unsigned in = 0, out = 0, released = 0;

	fixture_init(&f, 0);
	while (link_ring_reserve(&f.p, &room) == 0) {
		run = test_run(WIRE_RC_SEND_ONLY, room.buf, 4096, in, path.dest_qpn);
		assert_true(link_ring_commit(&f.p, &path, &run));
		in++;
	}
	assert_true(in >= 50);
	link_ring_publish(&f.p);
	assert_false(link_ring_has_room(&f.p));
	atomic_store(&f.words.producer.want_room, 1);
	while (released == 0 && link_ring_peek(&f.c, &rx) == 1) {
		assert_int_equal(rx.run.head.bth.psn, out++);
		released = link_ring_pop(&f.c);
	}
	assert_true(released);
	assert_true(link_ring_take_want(&f.c));
	assert_false(link_ring_take_want(&f.c));
	assert_true(link_ring_has_room(&f.p));
	while (link_ring_peek(&f.c, &rx) == 1) {
		assert_int_equal(rx.run.head.bth.psn, out++);
		link_ring_pop(&f.c);
	}
	assert_int_equal(out, in);
	assert_false(link_ring_is_ready(&f.c));
	fixture_fini(&f);
}

/* Runs that are none: the commit says no and the ring is as before. */
static void wrong_runs_are_refused(void **state)
{
	struct fixture f;
	struct transport_room room;
	struct link_path path = test_path(1, 2);
	struct transport_run good, bad;
	struct link_rx rx;

	fixture_init(&f, 0);
	assert_int_equal(link_ring_reserve(&f.p, &room), 0);
	good = test_run(WIRE_RC_SEND_FIRST, room.buf, 8192, 5, 7);
	good.packets = 2;
	good.last_opcode = WIRE_RC_SEND_LAST;
#define REFUSED(change) (bad = good, change, assert_false(link_ring_commit(&f.p, &path, &bad)))
	REFUSED(bad.packets = 0);
	REFUSED(bad.packets = 3);
	REFUSED(bad.packets = 65);
	REFUSED(bad.head.payload_len = 4096);
	REFUSED(bad.head.payload_len = 8193);
	REFUSED(bad.head.payload_len = LINK_RING_PAYLOAD_MAX + 1);
	REFUSED(bad.mtu = 1000);
	REFUSED(bad.mtu = 0);
	REFUSED(bad.last_opcode = WIRE_RC_RDMA_WRITE_LAST);
	REFUSED(bad.last_opcode = WIRE_UC_SEND_LAST);
	REFUSED(bad.last_opcode = WIRE_RC_SEND_ONLY);
	REFUSED(bad.last_opcode = 0xff);
	REFUSED(bad.head.bth.opcode = WIRE_RC_SEND_ONLY);
	REFUSED(bad.head.bth.opcode = WIRE_RD_SEND_FIRST);
	REFUSED((bad.last_opcode = WIRE_RC_SEND_MIDDLE, bad.head.payload_len = 8191));
	assert_true(link_ring_commit(&f.p, &path, &good));
	assert_false(link_ring_commit(&f.p, &path, &good)); /* no reservation any more */
	link_ring_publish(&f.p);
	assert_int_equal(link_ring_peek(&f.c, &rx), 1);
	link_ring_pop(&f.c);
	assert_int_equal(link_ring_peek(&f.c, &rx), 0);
	fixture_fini(&f);
}

/* What a hostile producer can write: each closes the ring for good, and no byte outside is read (the sanitizers watch). */
static void hostile_entries_close_the_ring(void **state)
{
	static const struct { size_t at; uint8_t value; } change[] = {
		{0, 0x00}, {0, 0x04}, {0, 0xff}, {0, 0x31},  /* kinds, GID type */
		{0, 0x03},                                   /* a wrap at the start */
		{1, 0}, {1, 2}, {1, 255},                    /* packets */
		{2, 0x05}, {2, 0xff},                        /* last opcode */
		{3, 6}, {3, 255},                            /* MTU code */
		{5, 0x10}, {5, 0x7f}, {5, 0xff},             /* length beyond a packet, an entry, what was published */
		{12, 0x40}, {12, 0xff},                      /* opcode */
		{13, 0x01},                                  /* transport version */
	};
	struct transport_room room;
	struct link_path path = test_path(1, 2);
	struct transport_run run;
	struct link_rx rx;

	for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		struct fixture f;

		fixture_init(&f, 0);
		assert_int_equal(link_ring_reserve(&f.p, &room), 0);
		run = test_run(WIRE_RC_SEND_ONLY, room.buf, 40, 1, path.dest_qpn);
		assert_true(link_ring_commit(&f.p, &path, &run));
		link_ring_publish(&f.p);
		f.bytes[change[i].at] = change[i].value;
		assert_true(link_ring_is_ready(&f.c));
		assert_int_equal(link_ring_peek(&f.c, &rx), BASE_ERR_MALFORMED);
		assert_int_equal(link_ring_peek(&f.c, &rx), BASE_ERR_MALFORMED);
		assert_false(link_ring_is_ready(&f.c));
		fixture_fini(&f);
	}
}

static void hostile_indexes_close_the_ring(void **state)
{
	static const uint64_t tails[] = {1, 63, 65, LINK_RING_BYTES + 64, UINT64_MAX, UINT64_MAX - 63, 1ull << 32, 1ull << 63};
	struct transport_room room;
	struct link_rx rx;
	struct fixture f;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		fixture_init(&f, 0);
		atomic_store(&f.words.producer.index, tails[i]);
		assert_int_equal(link_ring_peek(&f.c, &rx), BASE_ERR_MALFORMED);
		fixture_fini(&f);

		/* The consumer as the enemy: it cannot have eaten what was never there. */
		fixture_init(&f, 0);
		while (link_ring_reserve(&f.p, &room) == 0) {
			struct link_path path = test_path(1, 2);
			struct transport_run run = test_run(WIRE_RC_SEND_ONLY, room.buf, 4096, 0, 1);

			link_ring_commit(&f.p, &path, &run);
		}
		atomic_store(&f.words.consumer.index, tails[i]);
		assert_int_equal(link_ring_reserve(&f.p, &room), BASE_ERR_MALFORMED);
		assert_true(link_ring_has_room(&f.p));
		fixture_fini(&f);
	}
}

/* A wrap marker where there is nothing behind it, and one that ends in the middle of what is published. */
static void hostile_wraps_close_the_ring(void **state)
{
	struct link_rx rx;
	struct fixture f;

	fixture_init(&f, LINK_RING_BYTES - 64);
	f.bytes[LINK_RING_BYTES - 64] = 3;
	atomic_store(&f.words.producer.index, LINK_RING_BYTES);
	assert_int_equal(link_ring_peek(&f.c, &rx), BASE_ERR_MALFORMED);
	fixture_fini(&f);

	fixture_init(&f, LINK_RING_BYTES / 2);
	memset(f.bytes, 3, LINK_RING_BYTES); /* wraps everywhere: ends, and ends closed */
	atomic_store(&f.words.producer.index, LINK_RING_BYTES + LINK_RING_BYTES / 2);
	assert_int_equal(link_ring_peek(&f.c, &rx), BASE_ERR_MALFORMED);
	fixture_fini(&f);
}

/* Random bytes, random tails, random changes while the consumer works: it ends in an error or in runs that are valid. */
static void random_rings_are_survived(void **state)
{
	struct base_random r = {.state = 4};
	struct fixture f;
	unsigned got = 0;

	for (int round = 0; round < 300; round++) {
		struct transport_room room;
		struct link_path path = test_path(1, 2);
		struct transport_run run;
		struct link_rx rx;
		int err = 1;

		fixture_init(&f, base_random_below(&r, 8) * LINK_RING_LINE * 1000);
		for (int i = 0; i < 40; i++) {
			if (link_ring_reserve(&f.p, &room) != 0)
				break;
			random_run(&r, &run);
			run.head.payload = room.buf;
			link_ring_commit(&f.p, &path, &run);
		}
		link_ring_publish(&f.p);
		while (err == 1) {
			if (base_random_below(&r, 10) == 0)
				f.bytes[(f.c.head + base_random_below(&r, 64)) & (LINK_RING_BYTES - 1)] =
					(uint8_t)base_random_next(&r);
			err = link_ring_peek(&f.c, &rx);
			if (err == 1) {
				assert_true(link_run_is_valid(&rx.run));
				/* In the ring, or in the copy of the line. */
				if (rx.run.head.payload >= f.bytes && rx.run.head.payload <= f.bytes + LINK_RING_BYTES)
					assert_true(rx.run.head.payload + rx.run.head.payload_len <= f.bytes + LINK_RING_BYTES);
				else
					assert_true(rx.run.head.payload >= f.c.line &&
						    rx.run.head.payload + rx.run.head.payload_len <= f.c.line + LINK_RING_LINE);
				got++;
				link_ring_pop(&f.c);
			}
		}
		fixture_fini(&f);
	}
	assert_true(got > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_runs_match_a_model),
		cmocka_unit_test(full_ring_gets_room_back),
		cmocka_unit_test(wrong_runs_are_refused),
		cmocka_unit_test(hostile_entries_close_the_ring),
		cmocka_unit_test(hostile_indexes_close_the_ring),
		cmocka_unit_test(hostile_wraps_close_the_ring),
		cmocka_unit_test(random_rings_are_survived),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
