/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that processes of one broker share: the pair (two rings between two slots) and the wake page (one per process). This
 * header is the one place that knows where things lie; the broker makes pairs and sets `closed`, link owns what the rings'
 * words and bytes mean.
 *
 * A pair is one memfd per unordered pair of slots, made by the broker: sealed against shrinking, growing and further sealing,
 * allocated in full. The lower slot of the two is side 0. Side s writes ring s and reads ring 1 - s.
 *
 *   page 0     struct ipc_pair_header: identity, `closed`, and for each ring a producer and a consumer block of 128 bytes
 *   page 1...  ring 0, then ring 1, IPC_PAIR_RING_BYTES each
 *
 * The wake page is one memfd per process, made by the process itself and mapped by its peers: a doorbell bit per slot, the
 * sleeping word, the progress count.
 *
 * Everything in these pages is written by other processes: check before use, keep own indexes private.
 */
#ifndef IPC_PAIR_H
#define IPC_PAIR_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define IPC_SLOTS 256u         /* 0 is the broker's own, 1..254 are processes, 255 belongs to nobody */
#define IPC_SLOT_BROKER 0u
#define IPC_SLOT_FIRST 1u
#define IPC_SLOT_LAST 254u

#define IPC_PAIR_MAGIC 0x50765373u /* "sSvP" as bytes in memory */
#define IPC_PAIR_VERSION 1u
#define IPC_PAIR_PAGE 4096u
#define IPC_PAIR_RING_BYTES (256u * 1024u)
#define IPC_PAIR_RING_OFFSET(ring) ((size_t)IPC_PAIR_PAGE + (size_t)(ring) * IPC_PAIR_RING_BYTES)
#define IPC_PAIR_BYTES (IPC_PAIR_PAGE + 2u * IPC_PAIR_RING_BYTES)

/* 128 bytes: two cache lines, because adjacent lines are fetched together. */
struct ipc_pair_block {
	alignas(128) _Atomic uint64_t index;   /* producer: tail; consumer: head. Bytes since the pair was made. */
	alignas(64) _Atomic uint32_t want_room; /* producer: set while it waits for room; consumer: unused */
};

struct ipc_pair_ring {
	struct ipc_pair_block producer, consumer;
};

struct ipc_pair_header {
	uint32_t magic, version;
	uint64_t generation;            /* never the same for two pairs */
	uint8_t slot[2];                /* the two slots, the lower first */
	alignas(64) _Atomic uint32_t closed; /* set by the broker, or a peer that saw the death, before a slot is freed; stays */
	alignas(128) struct ipc_pair_ring ring[2];
};

_Static_assert(sizeof(struct ipc_pair_block) == 128, "a block is two lines");
_Static_assert(sizeof(struct ipc_pair_header) <= IPC_PAIR_PAGE, "the header is one page");
_Static_assert(offsetof(struct ipc_pair_header, ring) == 128, "part of the format");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared between processes");

#define IPC_WAKE_MAGIC 0x57765373u /* "sSvW" */
#define IPC_WAKE_VERSION 1u
#define IPC_WAKE_BYTES 4096u

struct ipc_wake {
	uint32_t magic, version;
	alignas(64) _Atomic uint64_t doorbell[IPC_SLOTS / 64]; /* bit s: slot s put something into its ring to this process */
	alignas(64) _Atomic uint32_t sleeping;  /* not 0: whoever sets a doorbell bit also writes the wake eventfd */
	alignas(64) _Atomic uint64_t progress;  /* counts up while this process makes progress */
};

_Static_assert(sizeof(struct ipc_wake) <= IPC_WAKE_BYTES, "one page");

#endif
