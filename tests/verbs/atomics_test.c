/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many processes on one counter of another: every value between its start and its end is seen by exactly one of them, whether
 * they add, compare and swap, or the owner's own processor joins in. And READs of memory that does not keep still.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"

enum { PROCESSES = 16, OUTSTANDING = 4, SWAPS = 50, READS = 200, READ_BYTES = 32768, OWN_MOST = 1 << 28 };

static uint32_t adds_each(void)
{
	return harness_is_long() ? 20000 : 500;
}

/* Shared by all processes of a case: who saw which value. */
static _Atomic uint8_t *seen;

static void seen_open(size_t values)
{
	seen = mmap(NULL, values, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(seen != MAP_FAILED);
}

static void see(uint64_t value, uint64_t limit)
{
	need(value < limit);
	need_equal(atomic_fetch_add(&seen[value], 1), 0);
}

static int post_atomic(struct rc *rc, enum ibv_wr_opcode opcode, size_t at, const struct rc_address *counter,
		       uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { (uintptr_t)rc->buf + at, sizeof(uint64_t), rc->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = at, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = counter->addr, .rkey = counter->rkey, .compare_add = compare_add, .swap = swap },
	}, *bad;

	return ibv_post_send(rc->qp, &wr, &bad);
}

static uint64_t value_at(const struct rc *rc, size_t at)
{
	uint64_t value;

	memcpy(&value, rc->buf + at, sizeof(value));
	return value;
}

/* Peers: connect, learn where the counter is, work, say so. */
static void begin(struct rc *rc, struct peer *owner, struct rc_address *counter)
{
	rc_open(rc, NULL);
	rc_meet(rc, owner);
	peer_receive(owner, counter, sizeof(*counter));
}

static void end(struct rc *rc, struct peer *owner)
{
	peer_tell(owner);
	peer_await(owner);
	rc_close(rc);
}

static uint64_t add_limit;

static void adder(struct peer *owner)
{
	struct rc_address counter;
	struct rc rc;
	uint32_t posted = 0, done = 0, n = adds_each();

	begin(&rc, owner, &counter);
	while (done < n) {
		while (posted < n && posted - done < OUTSTANDING)
			need_equal(post_atomic(&rc, IBV_WR_ATOMIC_FETCH_AND_ADD, posted++ % OUTSTANDING * 8, &counter, 1, 0), 0);
		struct ibv_wc wc = cq_wait(rc.send_cq);
		need_equal(wc.status, IBV_WC_SUCCESS);
		need_equal(wc.opcode, IBV_WC_FETCH_ADD);
		need_equal(wc.byte_len, 8);
		see(value_at(&rc, wc.wr_id), add_limit);
		done++;
	}
	end(&rc, owner);
}

static void swapper(struct peer *owner)
{
	struct rc_address counter;
	struct rc rc;
	uint64_t expected = 0;

	begin(&rc, owner, &counter);
	for (uint32_t won = 0; won < SWAPS;) {
		need_equal(post_atomic(&rc, IBV_WR_ATOMIC_CMP_AND_SWP, 0, &counter, expected, expected + 1), 0);
		cq_expect(rc.send_cq, 0, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP);
		uint64_t before = value_at(&rc, 0);
		if (before != expected) {
			expected = before;
			continue;
		}
		see(expected++, PROCESSES * SWAPS);
		won++;
	}
	end(&rc, owner);
}

/* Adds for as long as the peer works, `most` times at most. Returns how often. */
static uint32_t add_beside(_Atomic uint64_t *counter, const struct peer *peer, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && (n % 64 != 0 || !fd_is_readable(peer->fd, 0))) {
		see(atomic_fetch_add(counter, 1), add_limit);
		n++;
	}
	return n;
}

/* Starts the peers, gives them the counter, adds itself up to `most` times, and returns what the peers brought the counter to. */
static uint64_t serve(void (*run)(struct peer *), uint32_t most)
{
	struct peer peers[PROCESSES];
	struct rc rc[PROCESSES];

	for (int i = 0; i < PROCESSES; i++)
		peers[i] = peer_start(run);
	for (int i = 0; i < PROCESSES; i++) {
		struct rc_options options = { .context = i > 0 ? rc[0].context : NULL, .pd = i > 0 ? rc[0].pd : NULL, .size = 4096 };

		rc_open(&rc[i], &options);
	}
	_Atomic uint64_t *counter = (_Atomic uint64_t *)(void *)rc[0].buf;
	struct rc_address address = rc_address_of(&rc[0]);
	atomic_store(counter, 0);
	for (int i = 0; i < PROCESSES; i++)
		rc_meet(&rc[i], &peers[i]);
	for (int i = 0; i < PROCESSES; i++)
		peer_send(&peers[i], &address, sizeof(address));
	uint32_t own = 0;
	for (int i = 0; i < PROCESSES; i++) {
		own += add_beside(counter, &peers[i], most - own);
		peer_await(&peers[i]);
	}
	uint64_t value = atomic_load(counter) - own;
	for (int i = 0; i < PROCESSES; i++) {
		peer_tell(&peers[i]);
		peer_join(&peers[i]);
	}
	for (int i = PROCESSES - 1; i >= 0; i--)
		rc_close(&rc[i]);
	return value;
}

static void adding(void)
{
	add_limit = (uint64_t)PROCESSES * adds_each();
	seen_open(add_limit);
	need_equal(serve(adder, 0), add_limit);
}

static void adding_with_processor(void)
{
	add_limit = (uint64_t)PROCESSES * adds_each() + OWN_MOST;
	seen_open(add_limit);
	need_equal(serve(adder, OWN_MOST), (uint64_t)PROCESSES * adds_each());
}

static void swapping(void)
{
	seen_open(PROCESSES * SWAPS);
	need_equal(serve(swapper, 0), PROCESSES * SWAPS);
}

static void reader(struct peer *owner)
{
	struct rc_address theirs;
	struct rc rc;

	rc_open(&rc, NULL);
	theirs = rc_meet(&rc, owner);
	for (uint32_t i = 0; i < READS; i++) {
		need_equal(rc_post(&rc, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 0, READ_BYTES, &theirs, 0), 0);
		cq_expect(rc.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	}
	end(&rc, owner);
}

static void reading_what_changes(void)
{
	struct peer peer = peer_start(reader);
	struct rc rc;

	rc_open(&rc, NULL);
	rc_meet(&rc, &peer);
	for (uint64_t i = 0; !fd_is_readable(peer.fd, 0); i++)
		for (size_t at = 0; at < READ_BYTES; at += sizeof(i))
			atomic_store_explicit((_Atomic uint64_t *)(void *)(rc.buf + at), i, memory_order_relaxed);
	peer_await(&peer);
	peer_tell(&peer);
	peer_join(&peer);
	rc_close(&rc);
}

static const struct harness_case cases[] = {
	{ "adding", "FETCH_ADD from 16 processes: every value once", adding },
	{ "adding_with_processor", "the same while the owner's processor adds, too", adding_with_processor },
	{ "swapping", "CMP_SWAP from 16 processes: every value won once", swapping },
	{ "reading_what_changes", "READs of memory that its owner writes all the time complete", reading_what_changes },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
