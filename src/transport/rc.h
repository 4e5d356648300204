/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable Connection: requester and responder of one QP, as step functions. And its two extended halves, XRC: an initiator
 * (XRC_SEND) is the requester alone, a target (XRC_RECV) the responder alone. Each request of theirs names an SRQ, from
 * which the target takes receives and whose protection domain counts for all memory (transport_recv_ops.select).
 *
 * Nothing here knows a clock, a socket, a thread or malloc. Packets come in with rc_receive(), time with rc_tick(); packets
 * are *pulled* with rc_next() when a link has room, completions with transport_qp_*_done(). Receiving never waits and never
 * needs room: an ACK, NAK or RNR stays owed in the QP until the link pulls it.
 *
 * What all types have in common stands in qp.h: life, states, events, completions. (The halves are those of rc_halves.h.)
 */
#ifndef TRANSPORT_RC_H
#define TRANSPORT_RC_H

#include "transport/qp.h"

/* What became of a received run; the host counts it. Only RC_TOOK changed the QP's data. */
enum rc_verdict {
	RC_TOOK,
	RC_DUPLICATE,     /* PSN behind: answered as the spec says, not executed again */
	RC_OUT_OF_ORDER,  /* PSN ahead: one NAK per gap, then silence */
	RC_RNR,           /* no receive posted: RNR NAK owed */
	RC_NAKED,         /* refused with a NAK; the QP is in error now */
	RC_DROPPED_STATE, /* the state does not accept it */
	RC_DROPPED_OPCODE, /* not an opcode of its transport or half, or nobody asked for this response */
	RC_DROPPED_PSN,   /* a response too old or not yet possible */
	RC_DROPPED_PKEY,
	RC_VERDICTS
};
const char *rc_verdict_text(enum rc_verdict verdict);

extern const struct transport_ops rc_ops, rc_xrc_ini_ops, rc_xrc_tgt_ops;

void rc_to_rtr(struct transport_qp *qp, const struct transport_config *config);
/* Takes sq_psn, timeout, retry_cnt, rnr_retry, max_rd_atomic from config. Also SQD -> RTS. */
void rc_to_rts(struct transport_qp *qp, const struct transport_config *config);
/* RTS/SQD attribute changes that the table allows: access, min_rnr_timer, timeout, retries, rd_atomic. */
void rc_update(struct transport_qp *qp, const struct transport_config *config);
void rc_to_sqd(struct transport_qp *qp);
/* Flushes: the send queue finishes with WR_FLUSH_ERR in posting order; a receive in use completes WR_FLUSH_ERR. Idempotent. */
void rc_to_error(struct transport_qp *qp);

uint32_t rc_sq_psn(const struct transport_qp *qp); /* next to send */
uint32_t rc_rq_psn(const struct transport_qp *qp); /* next expected */
bool rc_is_draining(const struct transport_qp *qp);

/*
 * A run from the peer of this QP (addresses already checked by the host). The payload is borrowed until return. Placement
 * into user memory happens here. Any bytes are survivable; decoding errors were dropped before.
 */
enum rc_verdict rc_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run);

/*
 * The next run to put on the link. 1: *out describes it and room->buf is filled (out->head.payload points into it), *used
 * says how many bytes of buf. 0: nothing to send now (window, pause, empty queue). Owed responses go first. Local errors (bad
 * lkey) are found here and become completions, never packets. New WQEs are seen without further notice: call it after
 * posting.
 */
int rc_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);

/* Would rc_next() have something? A hint without false negatives. */
bool rc_wants_room(const struct transport_qp *qp, uint64_t now);

/* When rc_tick() must be called, BASE_NEVER if never. Changes with every call above. */
uint64_t rc_deadline(const struct transport_qp *qp);
/*
 * Timers: ACK timeout (between 1 x and 4 x the code), RNR pause, tail-loss probe. `excused_ns` is time since the last tick in
 * which this host was not scheduled or (shm) the peer stood still: timers are moved by it instead of firing.
 */
void rc_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns);
/* An ACK that waits for a packet of ours (rc_ack.h) waits no more: the next rc_next() has it. */
void rc_hurry(struct transport_qp *qp);
/* The peer is known to be dead: run the retry timers down at once (completes RETRY_EXC when anything is in flight or posted later). */
void rc_peer_gone(struct transport_qp *qp, uint64_t now);

#endif
