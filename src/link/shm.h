/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared-memory link: a pair of rings to each process of the same broker that we talk to, and a private ring to ourselves.
 * For src/link/ alone; the calls of link.h lead here.
 *
 * Doorbells. Every process has a wake page with a bit per sender, a sleeping word and an eventfd. A sender publishes
 * its tails, makes one full fence for all of them, then sets its bit where it is not set yet and tests the sleeping
 * word. The receiver leaves the bit of a sender that is busy set, empty looks and all, and clears it after
 * LINK_SHM_IDLE_LOOKS of them (then looks once more): between two busy processes no doorbell line moves. Whoever
 * finds the sleeping word set exchanges it for 0, so that one sender pays for the write.
 *
 * Room. A producer without room sets `want_room` in its ring; the consumer that releases bytes sees it after a fence,
 * clears it and wakes the producer if that sleeps; while it is awake it looks for itself (link_shm_room_take).
 *
 * The order of both handshakes is store, fence, load on both sides; fencing after the load hangs within seconds.
 */
#ifndef LINK_SHM_H
#define LINK_SHM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "ipc/pair.h"
#include "link/link.h"
#include "link/ring.h"

#define LINK_SHM_IDLE_LOOKS 64u /* empty looks at a ring before its doorbell is armed again */
#define LINK_SHM_QUANTUM 16u    /* runs taken off one ring before the next has its turn */

struct link_shm_peer {
	alignas(128) struct link_ring_producer tx;
	struct link_ring_consumer rx;
	struct ipc_pair_header *header; /* of the pair; the private ring has one of its own */
	struct ipc_wake *wake;
	size_t header_bytes;
	int eventfd; /* owned, unless the peer is ourselves; -1: none */
	uint32_t idle_looks;
	uint8_t slot;
	bool dirty; /* committed since the last flush: is in link_shm.dirty */
	bool kept;  /* the sink did not take the run at the head of rx yet */
	bool wants; /* waits for room */
};

struct link_shm {
	struct link_counters *counters;
	struct link_hooks hooks;
	struct ipc_wake *own;
	struct link_shm_peer *peers[IPC_SLOTS];
	uint8_t attached[IPC_SLOTS]; /* slots with a peer, in order of attaching */
	uint8_t dirty[IPC_SLOTS];
	unsigned attached_count, dirty_count, wants_count;
	unsigned turn; /* place in `attached` that receives first next time */
	bool keep;     /* link_keep() was called since the sink was */
	uint8_t slot;
};

/* Makes the private ring. BASE_ERR_NOMEM. */
int link_shm_init(struct link_shm *shm, const struct link_config *config);
void link_shm_fini(struct link_shm *shm);

/* As link_shm_attach() and link_shm_detach(). */
int link_shm_peer_add(struct link_shm *shm, uint8_t slot, uint64_t generation, void *pair, bool low, void *peer_wake,
		int peer_eventfd);
void link_shm_peer_remove(struct link_shm *shm, uint8_t slot);

int link_shm_reserve(struct link_shm *shm, const struct link_path *path, struct transport_room *room);
void link_shm_commit(struct link_shm *shm, const struct link_path *path, const struct transport_run *run, size_t used);
void link_shm_flush(struct link_shm *shm);
void link_shm_want_room(struct link_shm *shm, uint8_t slot);
bool link_shm_room_take(struct link_shm *shm, uint64_t slots[4]);
unsigned link_shm_receive(struct link_shm *shm, bool scan, unsigned budget, link_sink *sink, void *context);
bool link_shm_sleep_begin(struct link_shm *shm);

#endif
