/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/shm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "link/count.h"
#include "link/hook.h"

#define SELF_BYTES (IPC_PAIR_PAGE + IPC_PAIR_RING_BYTES)

static struct link_ring_words words_of(struct ipc_pair_ring *ring)
{
	return (struct link_ring_words){
		.tail = &ring->producer.index,
		.want_room = &ring->producer.want_room,
		.head = &ring->consumer.index,
	};
}

static inline uint8_t path_slot(const struct link_path *path)
{
	return (uint8_t)(path->dest_qpn >> 16);
}

/* Nothing may be put into it any more; what is in it may still be read. */
static inline bool is_closed(const struct link_shm_peer *peer)
{
	return atomic_load_explicit(&peer->header->closed, memory_order_relaxed) != 0 || peer->tx.broken;
}

/* On lines of its own: what two threads of one process use must not meet in one. */
static struct link_shm_peer *peer_alloc(void)
{
	struct link_shm_peer *peer = aligned_alloc(alignof(struct link_shm_peer), sizeof(*peer));

	if (peer != NULL)
		memset(peer, 0, sizeof(*peer));
	return peer;
}

static void peer_list(struct link_shm *shm, struct link_shm_peer *peer)
{
	shm->peers[peer->slot] = peer;
	shm->attached[shm->attached_count++] = peer->slot;
	/* The peer may have been quicker and rung before we knew it. */
	atomic_fetch_or_explicit(&shm->own->doorbell[peer->slot / 64], 1ull << peer->slot % 64, memory_order_relaxed);
}

int link_shm_init(struct link_shm *shm, const struct link_config *config)
{
	struct link_shm_peer *self;
	uint8_t *memory;

	*shm = (struct link_shm){
		.counters = config->counters,
		.hooks = config->hooks,
		.own = config->wake_page,
		.slot = config->slot,
	};
	self = peer_alloc();
	if (self == NULL)
		return BASE_ERR_NOMEM;
	memory = mmap(NULL, SELF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(self);
		return BASE_ERR_NOMEM;
	}
	self->header = (struct ipc_pair_header *)(void *)memory;
	self->header_bytes = SELF_BYTES;
	self->wake = shm->own;
	self->eventfd = config->own_eventfd > 0 ? config->own_eventfd : -1;
	self->slot = shm->slot;
	link_ring_producer_init(&self->tx, memory + IPC_PAIR_PAGE, words_of(&self->header->ring[0]), 0);
	link_ring_consumer_init(&self->rx, memory + IPC_PAIR_PAGE, words_of(&self->header->ring[0]), 0);
	peer_list(shm, self);
	return 0;
}

static void peer_free(struct link_shm *shm, struct link_shm_peer *peer)
{
	munmap(peer->header, peer->header_bytes);
	if (peer->slot != shm->slot) {
		munmap(peer->wake, IPC_WAKE_BYTES);
		if (peer->eventfd >= 0)
			close(peer->eventfd);
	}
	free(peer);
}

void link_shm_fini(struct link_shm *shm)
{
	for (unsigned i = 0; i < shm->attached_count; i++)
		peer_free(shm, shm->peers[shm->attached[i]]);
	shm->attached_count = 0;
}

static bool pair_is_sound(const struct link_shm *shm, uint8_t slot, uint64_t generation, const void *pair, bool low)
{
	const struct ipc_pair_header *header = pair;

	return slot != shm->slot && low == (shm->slot < slot) && header->magic == IPC_PAIR_MAGIC &&
	       header->version == IPC_PAIR_VERSION && header->generation == generation &&
	       header->slot[low ? 0 : 1] == shm->slot &&
	       header->slot[low ? 1 : 0] == slot;
}

static bool wake_is_sound(const struct ipc_wake *wake)
{
	return wake->magic == IPC_WAKE_MAGIC && wake->version == IPC_WAKE_VERSION;
}

int link_shm_peer_add(struct link_shm *shm, uint8_t slot, uint64_t generation, void *pair, bool low, void *peer_wake,
		int peer_eventfd)
{
	struct link_shm_peer *peer = NULL;
	int err = BASE_ERR_MALFORMED;

	if (!pair_is_sound(shm, slot, generation, pair, low) || !wake_is_sound(peer_wake))
		goto give_back;
	err = BASE_ERR_NOMEM;
	peer = peer_alloc();
	if (peer == NULL)
		goto give_back;
	link_shm_peer_remove(shm, slot);
	/* A child has no business in them. Best effort: the node in a child does nothing anyway. */
	(void)madvise(pair, IPC_PAIR_BYTES, MADV_DONTFORK);
	(void)madvise(peer_wake, IPC_WAKE_BYTES, MADV_DONTFORK);
	peer->header = pair;
	peer->header_bytes = IPC_PAIR_BYTES;
	peer->wake = peer_wake;
	peer->eventfd = peer_eventfd;
	peer->slot = slot;
	link_ring_producer_init(&peer->tx, (uint8_t *)pair + IPC_PAIR_RING_OFFSET(low ? 0 : 1),
			words_of(&peer->header->ring[low ? 0 : 1]), 0);
	link_ring_consumer_init(&peer->rx, (uint8_t *)pair + IPC_PAIR_RING_OFFSET(low ? 1 : 0),
			words_of(&peer->header->ring[low ? 1 : 0]), 0);
	peer_list(shm, peer);
	return 0;

give_back:
	munmap(pair, IPC_PAIR_BYTES);
	munmap(peer_wake, IPC_WAKE_BYTES);
	if (peer_eventfd >= 0)
		close(peer_eventfd);
	return err;
}

/* Takes `slot` out of an unordered list of slots. */
static void list_remove(uint8_t *list, unsigned *count, uint8_t slot)
{
	for (unsigned i = 0; i < *count; i++) {
		if (list[i] == slot) {
			list[i] = list[--*count];
			return;
		}
	}
}

void link_shm_peer_remove(struct link_shm *shm, uint8_t slot)
{
	struct link_shm_peer *peer = shm->peers[slot];

	if (peer == NULL || slot == shm->slot)
		return;
	list_remove(shm->attached, &shm->attached_count, slot);
	if (peer->dirty)
		list_remove(shm->dirty, &shm->dirty_count, slot);
	if (peer->wants)
		shm->wants_count--;
	shm->peers[slot] = NULL;
	peer_free(shm, peer);
}

/* --- sending ------------------------------------------------------------------------------------------------------------- */

int link_shm_reserve(struct link_shm *shm, const struct link_path *path, struct transport_room *room)
{
	struct link_shm_peer *peer = shm->peers[path_slot(path)];
	int err;

	if (peer == NULL || is_closed(peer))
		return BASE_ERR_GONE;
	err = link_ring_reserve(&peer->tx, room);
	if (err == BASE_ERR_MALFORMED) {
		link_count_drop(shm->counters, LINK_DROP_RING, 1);
		return BASE_ERR_GONE;
	}
	return err;
}

static void mark_dirty(struct link_shm *shm, struct link_shm_peer *peer)
{
	if (peer->dirty)
		return;
	peer->dirty = true;
	shm->dirty[shm->dirty_count++] = peer->slot;
}

/* The fault plan wants the run that was just committed a second time. Without room it gets there once. */
static void commit_again(struct link_shm_peer *peer, const struct link_path *path, const struct transport_run *run)
{
	struct transport_room room;
	struct transport_run again = *run;

	if (link_ring_reserve(&peer->tx, &room) != 0 || room.bytes < run->head.payload_len)
		return;
	memcpy(room.buf, run->head.payload, run->head.payload_len);
	again.head.payload = room.buf;
	link_ring_commit(&peer->tx, path, &again);
}

void link_shm_commit(struct link_shm *shm, const struct link_path *path, const struct transport_run *run, size_t used)
{
	struct link_shm_peer *peer = shm->peers[path_slot(path)];
	enum link_verdict verdict = LINK_PASS;
	bool done;

	assert(peer != NULL && used == run->head.payload_len);
	if (link_hooks_any(&shm->hooks))
		verdict = link_hooks_run(&shm->hooks, true, path, run);
	if (verdict == LINK_LOSE) {
		link_count_drop(shm->counters, LINK_DROP_FAULT, run->packets);
		return;
	}
	done = link_ring_commit(&peer->tx, path, run);
	assert(done);
	(void)done;
	if (verdict == LINK_TWICE)
		commit_again(peer, path, run);
	link_count_sent(shm->counters, LINK_SHM, run->packets, used);
	mark_dirty(shm, peer);
}

/* If the process behind the page sleeps, wakes it; of several wakers one writes. A fence went before. */
static void wake(struct ipc_wake *page, int eventfd)
{
	uint64_t one = 1;

	if (atomic_load_explicit(&page->sleeping, memory_order_relaxed) == 0 ||
	    atomic_exchange_explicit(&page->sleeping, 0, memory_order_relaxed) == 0 || eventfd < 0)
		return;
	/* Not write(3), a cancellation point under the progress lock. Fails only when the counter is full: then the sleeper is awake. */
	(void)syscall(SYS_write, eventfd, &one, sizeof(one));
}

void link_shm_flush(struct link_shm *shm)
{
	if (shm->dirty_count == 0)
		return;
	for (unsigned i = 0; i < shm->dirty_count; i++)
		link_ring_publish(&shm->peers[shm->dirty[i]]->tx);
	link_fence();
	for (unsigned i = 0; i < shm->dirty_count; i++) {
		struct link_shm_peer *peer = shm->peers[shm->dirty[i]];
		_Atomic uint64_t *word = &peer->wake->doorbell[shm->slot / 64];
		uint64_t bit = 1ull << shm->slot % 64;

		if ((atomic_load_explicit(word, memory_order_relaxed) & bit) == 0)
			atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
		wake(peer->wake, peer->eventfd);
		peer->dirty = false;
	}
	shm->dirty_count = 0;
}

/* --- room ---------------------------------------------------------------------------------------------------------------- */

void link_shm_want_room(struct link_shm *shm, uint8_t slot)
{
	struct link_shm_peer *peer = shm->peers[slot];

	if (peer == NULL || peer->wants)
		return;
	peer->wants = true;
	shm->wants_count++;
	atomic_store_explicit(peer->tx.words.want_room, 1, memory_order_relaxed);
}

/* Is there news for a peer that waits? Asks again if the consumer answered and it was not enough. */
static bool room_came(struct link_shm_peer *peer)
{
	if (is_closed(peer) || link_ring_has_room(&peer->tx))
		return true;
	if (atomic_load_explicit(peer->tx.words.want_room, memory_order_relaxed) != 0)
		return false;
	atomic_store_explicit(peer->tx.words.want_room, 1, memory_order_relaxed);
	link_fence();
	return link_ring_has_room(&peer->tx);
}

bool link_shm_room_take(struct link_shm *shm, uint64_t slots[4])
{
	bool any = false;

	for (unsigned i = 0; shm->wants_count > 0 && i < shm->attached_count; i++) {
		uint8_t slot = shm->attached[i];
		struct link_shm_peer *peer = shm->peers[slot];

		if (!peer->wants || !room_came(peer))
			continue;
		peer->wants = false;
		shm->wants_count--;
		atomic_store_explicit(peer->tx.words.want_room, 0, memory_order_relaxed);
		slots[slot / 64] |= 1ull << slot % 64;
		any = true;
	}
	return any;
}

/* --- receiving ----------------------------------------------------------------------------------------------------------- */

static void peer_broke_ring(struct link_shm *shm, struct link_shm_peer *peer)
{
	link_count_drop(shm->counters, LINK_DROP_RING, 1);
	atomic_store_explicit(&peer->header->closed, 1, memory_order_relaxed);
}

static unsigned peer_receive(struct link_shm *shm, struct link_shm_peer *peer, unsigned budget, link_sink *sink, void *context)
{
	struct link_rx rx; /* filled as far as its opcode says */
	unsigned n;
	int got;

	for (n = 0; n < budget; n++) {
		got = link_ring_peek(&peer->rx, &rx);
		if (got < 0 && !peer->rx.reported) {
			peer->rx.reported = true;
			peer_broke_ring(shm, peer);
		}
		if (got <= 0)
			break;
		rx.kind = LINK_SHM;
		rx.source_slot = peer->slot;
		shm->keep = false;
		/* Counted, judged and observed is a run once, however often it is offered. */
		if (!peer->kept)
			link_count_received(shm->counters, LINK_SHM, rx.run.packets, rx.run.head.payload_len);
		if (!peer->kept && link_hooks_any(&shm->hooks))
			link_hooks_sink(&shm->hooks, shm->counters, &rx, sink, context);
		else
			sink(context, &rx);
		peer->kept = shm->keep;
		if (peer->kept)
			break;
		if (link_ring_pop(&peer->rx) && link_ring_take_want(&peer->rx))
			wake(peer->wake, peer->eventfd);
	}
	return n;
}

/* The ring was found empty once more. Clears the doorbell bit when that has lasted. */
static void peer_is_idle(struct link_shm *shm, struct link_shm_peer *peer, bool bit_is_set)
{
	_Atomic uint64_t *word = &shm->own->doorbell[peer->slot / 64];
	uint64_t bit = 1ull << peer->slot % 64;

	if (!bit_is_set || ++peer->idle_looks < LINK_SHM_IDLE_LOOKS)
		return;
	peer->idle_looks = 0;
	atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
	link_fence();
	if (link_ring_is_ready(&peer->rx))
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

unsigned link_shm_receive(struct link_shm *shm, bool scan, unsigned budget, link_sink *sink, void *context)
{
	uint64_t rung[IPC_SLOTS / 64];
	unsigned done = 0, round = 0, start = shm->turn, n;
	bool more;

	for (unsigned i = 0; i < IPC_SLOTS / 64; i++)
		rung[i] = atomic_load_explicit(&shm->own->doorbell[i], memory_order_relaxed);
	do {
		more = false;
		for (unsigned i = 0; i < shm->attached_count && done < budget; i++) {
			unsigned place = (start + i) % shm->attached_count;
			struct link_shm_peer *peer = shm->peers[shm->attached[place]];
			bool bit_is_set = rung[peer->slot / 64] >> peer->slot % 64 & 1;

			if (peer->kept ? round > 0 : !scan && !bit_is_set)
				continue;
			n = peer_receive(shm, peer, budget - done < LINK_SHM_QUANTUM ? budget - done : LINK_SHM_QUANTUM,
					sink, context);
			done += n;
			if (n == LINK_SHM_QUANTUM)
				more = true;
			if (n > 0) {
				peer->idle_looks = 0;
				shm->turn = (place + 1) % shm->attached_count;
			} else if (round == 0 && !peer->kept) {
				peer_is_idle(shm, peer, bit_is_set);
			}
		}
		round++;
	} while (more && done < budget);
	return done;
}

/* --- sleeping ------------------------------------------------------------------------------------------------------------ */

bool link_shm_sleep_begin(struct link_shm *shm)
{
	bool found = false;

	for (unsigned i = 0; shm->wants_count > 0 && i < shm->attached_count; i++) {
		struct link_shm_peer *peer = shm->peers[shm->attached[i]];

		if (peer->wants)
			atomic_store_explicit(peer->tx.words.want_room, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&shm->own->sleeping, 1, memory_order_relaxed);
	link_fence();
	for (unsigned i = 0; i < shm->attached_count && !found; i++) {
		struct link_shm_peer *peer = shm->peers[shm->attached[i]];

		found = (!peer->kept && link_ring_is_ready(&peer->rx)) || (peer->wants && (is_closed(peer) || link_ring_has_room(&peer->tx)));
	}
	if (found)
		atomic_store_explicit(&shm->own->sleeping, 0, memory_order_relaxed);
	return !found;
}
