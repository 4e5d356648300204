/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unreliable Connection: requester and responder of one QP, as step functions. The shape is that of rc.h, and so are the rules
 * on clocks, threads, memory and rooms. What differs:
 *
 *   Nothing is acknowledged. A work request completes when its last packet has been pulled. There are no timers.
 *   A lost or misplaced packet costs its message, in silence: it is counted, its receive serves the next message.
 *   An error of a send (bad lkey, unknown operation, too long) leads to UC_SQE: the send queue is flushed, receiving goes on.
 *
 * A dead or unreachable peer is no error of UC: the host goes on pulling and throws the packets away.
 *
 * Life: uc_init -> uc_to_init -> uc_to_rtr -> uc_to_rts -> (uc_to_sqd | by itself UC_SQE) -> uc_to_rts ... -> uc_to_error ->
 * uc_reset.
 */
#ifndef TRANSPORT_UC_H
#define TRANSPORT_UC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/intake.h"
#include "transport/memory.h"
#include "transport/queue.h"
#include "transport/run.h"

/* Values of enum ibv_qp_state. */
enum uc_state { UC_RESET, UC_INIT, UC_RTR, UC_RTS, UC_SQD, UC_SQE, UC_ERROR };

/* Bits of uc_events_take(); those that RC has, too, have its values. */
enum uc_event {
	UC_EVENT_COMM_EST = 1 << 0,      /* first request arrived in RTR */
	UC_EVENT_FATAL = 1 << 3,         /* an error that no completion can report */
	UC_EVENT_SQ_DRAINED = 1 << 4,    /* SQD reached with no message half sent */
	UC_EVENT_ENTERED_ERROR = 1 << 5, /* state became UC_ERROR: the host now flushes its RQ */
	UC_EVENT_ENTERED_SQE = 1 << 6,   /* state became UC_SQE: the send queue flushes itself, the RQ goes on */
};

/* What became of a received run; the host counts it. */
enum uc_verdict {
	UC_TOOK,
	UC_NO_RECV,         /* no receive posted; nothing was consumed: the same run may be given again, see uc_receive() */
	UC_DROPPED_NO_RECV, /* the same, and the caller gave up: the message is lost */
	UC_DROPPED_GAP,     /* belongs to a message of which a packet was lost, or that is abandoned */
	UC_DROPPED_OLD,     /* PSN behind: overtaken or doubled by the network */
	UC_DROPPED_LENGTH,  /* too long for its receive, or against its RETH: the message is abandoned */
	UC_DROPPED_ACCESS,  /* bad rkey, or WRITE is not enabled: the message is abandoned */
	UC_FAILED,          /* the receive's own memory is bad: it completes with LOC_PROT_ERR, the QP is in error now */
	UC_DROPPED_STATE,   /* the state does not accept it */
	UC_DROPPED_OPCODE,  /* not a UC opcode, or a run that is none */
	UC_DROPPED_PKEY,
	UC_VERDICTS
};
const char *uc_verdict_text(enum uc_verdict verdict);

struct uc_config {
	uint32_t qpn, dest_qpn;
	uint32_t mtu;      /* bytes: 256..4096 */
	uint32_t sq_psn, rq_psn;
	uint32_t access;   /* qp_access_flags: enum transport_access */
	uint16_t pkey;     /* 0xffff on RoCE */
	bool srq;          /* receives come from an SRQ: how an unused one ends when the QP leaves */
};

struct uc_stats {      /* per QP; monotonic */
	uint64_t sent_packets, sent_bytes, received_packets, received_bytes;
	uint64_t abandoned; /* messages begun here and not finished, or refused at their first packet */
};

struct uc_qp;

#include "transport/uc_internal.h" /* struct uc_qp: the host embeds it, only transport/uc*.c look inside */

/* `memory`, `sq` and `recv` must outlive the QP and are the host's. State: UC_RESET. Cannot fail. */
void uc_init(struct uc_qp *qp, struct transport_memory memory, struct transport_sq *sq, const struct transport_recv_ops *recv,
	     void *recv_host);
void uc_to_init(struct uc_qp *qp);
void uc_to_rtr(struct uc_qp *qp, const struct uc_config *config);
/* From RTR it takes sq_psn, from SQD and SQE it goes on with what was posted since; access as in uc_update(). */
void uc_to_rts(struct uc_qp *qp, const struct uc_config *config);
/* RTS/SQD attribute changes that the table allows: access. */
void uc_update(struct uc_qp *qp, const struct uc_config *config);
void uc_to_sqd(struct uc_qp *qp);
/* Flushes as rc_to_error(). Idempotent. */
void uc_to_error(struct uc_qp *qp);
/* Forgets everything without completions; the send queue indexes go to `posted`. State: UC_RESET. */
void uc_reset(struct uc_qp *qp);

enum uc_state uc_state_get(const struct uc_qp *qp);
uint32_t uc_sq_psn(const struct uc_qp *qp); /* next to send */
uint32_t uc_rq_psn(const struct uc_qp *qp); /* next expected */
bool uc_is_draining(const struct uc_qp *qp);
const struct uc_stats *uc_stats_get(const struct uc_qp *qp);

/*
 * A run from the peer of this QP. As rc_receive(), and: a run that needs a receive when none is there is UC_NO_RECV; the host
 * may keep it, hold back what is behind it, and call again with the same run until a receive was posted or its patience (1 ms)
 * is over. Then it says give_up, and the message is dropped. Links where nothing can wait say give_up at once.
 */
enum uc_verdict uc_receive(struct uc_qp *qp, uint64_t now, const struct transport_run *run, bool give_up);

/* As rc_next(): 1 with a run, or 0. The WQE whose last packet this is has completed on return. */
int uc_next(struct uc_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
/* Would uc_next() have something? A hint without false negatives. */
bool uc_wants_room(const struct uc_qp *qp, uint64_t now);

/* BASE_NEVER, always; uc_tick() does nothing. They are here for the shape. */
uint64_t uc_deadline(const struct uc_qp *qp);
void uc_tick(struct uc_qp *qp, uint64_t now, uint64_t excused_ns);

/* Finished sends in SQ order, unsignalled ones too (signaled == false). 1: *out is valid; 0: none. */
int uc_send_completion_next(struct uc_qp *qp, struct transport_completion *out);
/* Finished receives in order; after UC_EVENT_ENTERED_ERROR the host flushes what is still in its queue itself. 1 or 0. */
int uc_recv_completion_next(struct uc_qp *qp, struct transport_completion *out);
/* Bits of enum uc_event since the last call, cleared. */
uint32_t uc_events_take(struct uc_qp *qp);

#endif
