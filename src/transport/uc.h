/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unreliable Connection: requester and responder of one QP, as step functions. Life is told by qp.h; the
 * rules on clocks, threads, memory and rooms are those of rc.h. What differs:
 *
 *   Nothing is acknowledged. A work request completes when its last packet has been pulled. There are no timers.
 *   A lost or misplaced packet costs its message, in silence: it is counted, its receive serves the next message.
 *   An error of a send (bad lkey, unknown operation, too long) leads to TRANSPORT_SQE: the send queue is flushed, receiving goes on.
 *
 * A dead or unreachable peer is no error of UC: the host goes on pulling and throws the packets away.
 */
#ifndef TRANSPORT_UC_H
#define TRANSPORT_UC_H

#include "transport/qp.h"

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

extern const struct transport_ops uc_ops;

void uc_to_rtr(struct transport_qp *qp, const struct transport_config *config);
/* From RTR it takes sq_psn, from SQD and SQE it goes on with what was posted since; access as in uc_update(). */
void uc_to_rts(struct transport_qp *qp, const struct transport_config *config);
/* RTS/SQD attribute changes that the table allows: access. */
void uc_update(struct transport_qp *qp, const struct transport_config *config);
void uc_to_sqd(struct transport_qp *qp);
/* Flushes as rc_to_error(). Idempotent. */
void uc_to_error(struct transport_qp *qp);

uint32_t uc_sq_psn(const struct transport_qp *qp); /* next to send */
uint32_t uc_rq_psn(const struct transport_qp *qp); /* next expected */
bool uc_is_draining(const struct transport_qp *qp);

/*
 * A run from the peer of this QP. As rc_receive(), and: a run that needs a receive when none is there is UC_NO_RECV; the host
 * may keep it, hold back what is behind it, and call again with the same run until a receive was posted or its patience (1 ms)
 * is over. Then it says give_up, and the message is dropped. Links where nothing can wait say give_up at once.
 */
enum uc_verdict uc_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run, bool give_up);

/* As rc_next(): 1 with a run, or 0. The WQE whose last packet this is has completed on return. */
int uc_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
/* Would uc_next() have something? A hint without false negatives. */
bool uc_wants_room(const struct transport_qp *qp, uint64_t now);

#endif
