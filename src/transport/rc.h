/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable Connection: requester and responder of one QP, as step functions.
 *
 * Nothing here knows a clock, a socket, a thread or malloc. Packets come in with rc_receive(), time with rc_tick(); packets
 * are *pulled* with rc_next() when a link has room, completions with rc_*_completion_next(). Receiving never waits and never
 * needs room: an ACK, NAK or RNR stays owed in the QP until the link pulls it.
 *
 * One thread at a time: the holder of the node's progress lock. Only transport_sq.posted is written by others.
 *
 * Life: rc_init -> rc_to_init -> rc_to_rtr -> rc_to_rts -> (rc_to_sqd <-> rc_to_rts) -> rc_to_error -> rc_reset -> ...
 * The attribute and transition tables of ibv_modify_qp are hca's; this file trusts its configuration.
 */
#ifndef TRANSPORT_RC_H
#define TRANSPORT_RC_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/memory.h"
#include "transport/queue.h"
#include "transport/run.h"

enum { RC_RD_ATOMIC_MAX = 16 }; /* most that max_rd_atomic and max_dest_rd_atomic can be */

/* Values of enum ibv_qp_state. */
enum rc_state { RC_RESET, RC_INIT, RC_RTR, RC_RTS, RC_SQD, RC_SQE, RC_ERROR };

/* Things that hca turns into async events and export turns into counters; bits of rc_events_take(). */
enum rc_event {
	RC_EVENT_COMM_EST = 1 << 0,      /* first request arrived in RTR */
	RC_EVENT_REQ_ERR = 1 << 1,       /* we sent NAK invalid request */
	RC_EVENT_ACCESS_ERR = 1 << 2,    /* we sent NAK remote access error */
	RC_EVENT_FATAL = 1 << 3,         /* an error that no completion can report */
	RC_EVENT_SQ_DRAINED = 1 << 4,    /* SQD reached with nothing in flight */
	RC_EVENT_ENTERED_ERROR = 1 << 5, /* state became RC_ERROR: the host now flushes its RQ */
};

/* What became of a received run; the host counts it. Only RC_TOOK changed the QP's data. */
enum rc_verdict {
	RC_TOOK,
	RC_DUPLICATE,     /* PSN behind: answered as the spec says, not executed again */
	RC_OUT_OF_ORDER,  /* PSN ahead: one NAK per gap, then silence */
	RC_RNR,           /* no receive posted: RNR NAK owed */
	RC_NAKED,         /* refused with a NAK; the QP is in error now */
	RC_DROPPED_STATE, /* the state does not accept it */
	RC_DROPPED_OPCODE, /* not an RC opcode, or nobody asked for this response */
	RC_DROPPED_PSN,   /* a response too old or not yet possible */
	RC_DROPPED_PKEY,
	RC_VERDICTS
};
const char *rc_verdict_text(enum rc_verdict verdict);

struct rc_config {
	uint32_t qpn, dest_qpn;
	uint32_t mtu;      /* bytes: 256..4096 */
	uint32_t sq_psn, rq_psn;
	uint32_t access;   /* qp_access_flags: enum transport_access */
	uint8_t timeout;   /* local ACK timeout code; 0 = never */
	uint8_t retry_cnt, rnr_retry; /* rnr_retry 7 = for ever */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	/* The link loses nothing (shm): no congestion window, no tail-loss probe. Timers still run. */
	bool lossless;
	uint16_t pkey;     /* 0xffff on RoCE */
};

struct rc_stats {      /* per QP; monotonic */
	uint64_t sent_packets, sent_bytes, received_packets, received_bytes;
	uint64_t retransmitted_packets, timeouts, tail_probes, acks_sent, naks_sent, rnr_naks_sent, naks_received, rnr_naks_received,
		duplicates, out_of_order, window_shrinks;
};

struct rc_qp;

#include "transport/rc_internal.h" /* struct rc_qp: the host embeds it, only transport/rc*.c look inside */

/* `memory`, `sq` and `recv` must outlive the QP and are the host's. State: RC_RESET. Cannot fail. */
void rc_init(struct rc_qp *qp, struct transport_memory memory, struct transport_sq *sq, const struct transport_recv_ops *recv,
	     void *recv_host);
void rc_to_init(struct rc_qp *qp);
void rc_to_rtr(struct rc_qp *qp, const struct rc_config *config);
/* Takes sq_psn, timeout, retry_cnt, rnr_retry, max_rd_atomic from config. Also SQD -> RTS. */
void rc_to_rts(struct rc_qp *qp, const struct rc_config *config);
/* RTS/SQD attribute changes that the table allows: access, min_rnr_timer, timeout, retries, rd_atomic. */
void rc_update(struct rc_qp *qp, const struct rc_config *config);
void rc_to_sqd(struct rc_qp *qp);
/* Flushes: the send queue finishes with WR_FLUSH_ERR in posting order; a receive in use completes WR_FLUSH_ERR. Idempotent. */
void rc_to_error(struct rc_qp *qp);
/* Forgets everything without completions; the send queue indexes go to `posted`. State: RC_RESET. */
void rc_reset(struct rc_qp *qp);

enum rc_state rc_state_get(const struct rc_qp *qp);
uint32_t rc_sq_psn(const struct rc_qp *qp); /* next to send */
uint32_t rc_rq_psn(const struct rc_qp *qp); /* next expected */
bool rc_is_draining(const struct rc_qp *qp);
const struct rc_stats *rc_stats_get(const struct rc_qp *qp);

/*
 * A run from the peer of this QP (addresses already checked by the host). The payload is borrowed until return. Placement
 * into user memory happens here. Any bytes are survivable; decoding errors were dropped before.
 */
enum rc_verdict rc_receive(struct rc_qp *qp, uint64_t now, const struct transport_run *run);

/*
 * The next run to put on the link. 1: *out describes it and room->buf is filled (out->head.payload points into it), *used
 * says how many bytes of buf. 0: nothing to send now (window, pause, empty queue). Owed responses go first. Local errors (bad
 * lkey) are found here and become completions, never packets. New WQEs are seen without further notice: call it after
 * posting.
 */
int rc_next(struct rc_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);

/* Would rc_next() have something? A hint without false negatives. */
bool rc_wants_room(const struct rc_qp *qp, uint64_t now);

/* When rc_tick() must be called, BASE_NEVER if never. Changes with every call above. */
uint64_t rc_deadline(const struct rc_qp *qp);
/*
 * Timers: ACK timeout (between 1 x and 4 x the code), RNR pause, tail-loss probe. `excused_ns` is time since the last tick in
 * which this host was not scheduled or (shm) the peer stood still: timers are moved by it instead of firing.
 */
void rc_tick(struct rc_qp *qp, uint64_t now, uint64_t excused_ns);
/* The peer is known to be dead: run the retry timers down at once (completes RETRY_EXC when anything is in flight or posted later). */
void rc_peer_gone(struct rc_qp *qp, uint64_t now);

/* Finished sends in SQ order, unsignalled ones too (signaled == false). 1: *out is valid; 0: none. */
int rc_send_completion_next(struct rc_qp *qp, struct transport_completion *out);
/* Finished receives in order; after RC_EVENT_ENTERED_ERROR the host flushes what is still in its queue itself. 1 or 0. */
int rc_recv_completion_next(struct rc_qp *qp, struct transport_completion *out);
/* Bits of enum rc_event since the last call, cleared. */
uint32_t rc_events_take(struct rc_qp *qp);

#endif
