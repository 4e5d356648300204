/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A byte ring in shared memory with one producer and one consumer: how runs travel between two processes of one host.
 *
 * The ring is LINK_RING_BYTES of entries, each a multiple of 64 bytes: a line of headers, then the payload. An entry
 * never wraps; where the rest of the ring might be too short, a wrap marker sends the consumer to the start. Indexes
 * are byte counts since the ring was made, in 64 bits (src/ipc/pair.h has the places). The producer writes `tail` and
 * `want_room`, the consumer `head`.
 *
 *   line, 0..23:  kind | gid type << 4 (1), packets (1), last opcode (1), MTU code (1), payload length (2), traffic class (1),
 *                 hop limit (1), AETH or ImmDt or IETH (4), BTH (12)
 *   line, 24..63, ENTRY_PATH:  interfaces of sender and receiver (4, 4), sender's and receiver's GID (16, 16); the longer
 *                              extended headers
 *                 are behind the payload
 *   line, 24..63, ENTRY_SAME:  the path is that of the entry before; the longer extended headers, and the payload if
 *                   there is room for it
 *
 * So an ACK, an atomic and a message of up to 40 (WRITE: 24) bytes are one cache line each, and with the line of the
 * tail two lines move.
 *
 * Each side trusts only its own struct below. What the other side wrote is copied before it is looked at, and every
 * number is checked; what does not hold is BASE_ERR_MALFORMED, after which that ring is dead. The payload may change
 * under the reader's eyes: bytes, no structure.
 *
 * Publishing is lazy on both sides, so that a cache line moves only when it has to: the tail by link_ring_publish() or after
 * LINK_RING_PUBLISH_BYTES, the head after LINK_RING_RELEASE_BYTES. A producer that found no room has more than that
 * in flight, so the consumer passes a publication before the ring is empty and sees `want_room` there: no wake-up is
 * lost.
 *
 * Threads: each of the two structs belongs to one thread at a time.
 */
#ifndef LINK_RING_H
#define LINK_RING_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ipc/pair.h"
#include "link/link.h"
#include "transport/run.h"

#define LINK_RING_LINE 64u
#define LINK_RING_BYTES IPC_PAIR_RING_BYTES
#define LINK_RING_PAYLOAD_MAX 16384u /* of an entry */
#define LINK_RING_PAYLOAD_MIN 4096u  /* room is offered only if a whole packet fits */
#define LINK_RING_PACKETS_MAX (LINK_RING_PAYLOAD_MAX / 256u)
#define LINK_RING_TRAILER_MAX 64u    /* extended headers behind the payload, rounded up to a line */
#define LINK_RING_OVERHEAD (LINK_RING_LINE + LINK_RING_TRAILER_MAX)
#define LINK_RING_ENTRY_MAX (LINK_RING_OVERHEAD + LINK_RING_PAYLOAD_MAX)
#define LINK_RING_PUBLISH_BYTES 8192u
#define LINK_RING_RELEASE_BYTES 32768u

static_assert((LINK_RING_BYTES & (LINK_RING_BYTES - 1)) == 0, "indexes are masked");
static_assert(LINK_RING_RELEASE_BYTES >= LINK_RING_ENTRY_MAX + LINK_RING_PAYLOAD_MIN + LINK_RING_OVERHEAD,
	      "one release makes room, a wrap included");
static_assert(LINK_RING_ENTRY_MAX + LINK_RING_PAYLOAD_MIN + LINK_RING_OVERHEAD + 2 * LINK_RING_RELEASE_BYTES < LINK_RING_BYTES,
	      "a producer without room is sure of another release");

/* What the two processes share besides the bytes. */
struct link_ring_words {
	_Atomic uint64_t *tail;      /* written by the producer */
	_Atomic uint32_t *want_room; /* set by the producer, cleared by the consumer */
	_Atomic uint64_t *head;      /* written by the consumer */
};

/* What entries of one flow have in common. All zero before the first entry. */
struct link_ring_path {
	struct wire_gid sgid, dgid;
	uint32_t ifindex, dest_ifindex;
};

struct link_ring_producer {
	uint8_t *bytes;
	struct link_ring_words words;
	uint64_t tail;      /* end of what is committed */
	uint64_t published; /* end of what the consumer may know */
	uint64_t head;      /* as last read from the consumer */
	uint32_t skip;      /* of the reservation: bytes to leave out before the entry */
	uint32_t room;      /* of the reservation: payload bytes; 0: no reservation */
	bool broken;
	struct link_ring_path last; /* of the last entry */
};

struct link_ring_consumer {
	const uint8_t *bytes;
	struct link_ring_words words;
	uint64_t head;     /* start of what is not consumed */
	uint64_t released; /* start of what the producer may not touch */
	uint64_t tail;     /* as last read from the producer */
	uint32_t entry;    /* size of the entry that link_ring_peek() gave, 0: none */
	struct link_ring_path last; /* of the last entry */
	alignas(8) uint8_t line[LINK_RING_LINE]; /* our copy of its first line */
	bool broken;
	bool reported; /* the owner's: has counted that it broke */
};

/* The ring is empty and both sides start at the same index `start` (0, or anything for tests). Cannot fail. */
void link_ring_producer_init(struct link_ring_producer *p, uint8_t *bytes, struct link_ring_words words, uint64_t start);
void link_ring_consumer_init(struct link_ring_consumer *c, const uint8_t *bytes, struct link_ring_words words, uint64_t start);

/*
 * Room for the payload of one entry, in the ring itself. BASE_ERR_AGAIN: none now; BASE_ERR_MALFORMED: the consumer
 * wrote nonsense.
 */
int link_ring_reserve(struct link_ring_producer *p, struct transport_room *room);
/*
 * Makes an entry of the reservation, whose first run->head.payload_len bytes are filled. False, and nothing done, if
 * the run is none that an entry can carry: the caller's mistake.
 */
bool link_ring_commit(struct link_ring_producer *p, const struct link_path *path, const struct transport_run *run);
/* Shows everything committed to the consumer. The doorbell is the caller's. */
void link_ring_publish(struct link_ring_producer *p);
/* Would link_ring_reserve() give room? Reads the consumer's index afresh. Also true when broken: reserve then tells. */
bool link_ring_has_room(struct link_ring_producer *p);

/* Is there an entry? Also true when broken: peek then tells. */
bool link_ring_is_ready(struct link_ring_consumer *c);
/*
 * The next entry, borrowed until link_ring_pop(). 1: *out is filled (kind and source_slot are not). 0: none.
 * BASE_ERR_MALFORMED: the producer broke the format; the ring stays dead.
 */
int link_ring_peek(struct link_ring_consumer *c, struct link_rx *out);
/*
 * Consumes the peeked entry. True: the consumer index was published and the producer should be looked after
 * (link_ring_take_want).
 */
bool link_ring_pop(struct link_ring_consumer *c);
/* After a publication: has the producer asked for room? Clears the question. Contains the full fence. */
bool link_ring_take_want(struct link_ring_consumer *c);

/* True if packets, opcodes and lengths describe a run that the single packets would be, too. */
bool link_run_is_valid(const struct transport_run *run);

/* The one full fence of the doorbell protocol: stores before it are visible before loads after it are made. */
static inline void link_fence(void)
{
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

#endif
