/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of RC ask of each other. Read by transport/rc*.c alone. */
#ifndef TRANSPORT_RC_INTERNAL_H
#define TRANSPORT_RC_INTERNAL_H

#include "transport/rc.h"
#include "wire/opcode.h"

static inline uint32_t rc_psn_distance(uint32_t from, uint32_t to)
{
	return (to - from) & RC_PSN_MASK;
}

static inline bool rc_is_xrc(const struct transport_qp *qp)
{
	return qp->ops->wire == WIRE_TRANSPORT_XRC;
}

/* An operation (enum wire_operation) of the QP's transport. */
static inline uint8_t rc_opcode(const struct transport_qp *qp, uint8_t operation)
{
	return (uint8_t)WIRE_OPCODE(qp->ops->wire, operation);
}

/* Requests whose answer is more than an ACK, is remembered, and counts as READ. */
enum { RC_ANSWERED = WIRE_ROLE_READ | WIRE_ROLE_ATOMIC | WIRE_ROLE_FLUSH | WIRE_ROLE_ATOMIC_WRITE };

/* rc.c */
void rc_enter_error(struct transport_qp *qp);
/* What all packets of a QP have in common: the BTH but its opcode, and the MTU of the run. */
void rc_head(const struct transport_qp *qp, uint32_t psn, struct transport_run *out);

/* rc_requester.c */
void rc_requester_start(struct transport_qp *qp, uint32_t psn);
int rc_requester_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
bool rc_requester_wants_room(const struct transport_qp *qp, uint64_t now);
/* The WQE at sq->done ends with this status and the QP goes to error. */
void rc_requester_fail(struct transport_qp *qp, uint32_t status, uint32_t vendor_err);
/* Peer is gone and work is there: fail it. */
void rc_requester_check_gone(struct transport_qp *qp);
/* Emission starts again at the oldest unacknowledged PSN. */
void rc_requester_rewind(struct transport_qp *qp);
void rc_requester_check_drained(struct transport_qp *qp);
/* READ, atomic, FLUSH or ATOMIC WRITE: answered with more than an ACK. */
bool rc_requester_is_rd(const struct transport_wqe *wqe);

/* rc_response.c: what the requester does with ACK and NAK */
enum rc_verdict rc_requester_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run);
enum rc_verdict rc_requester_receive_sack(struct transport_qp *qp, uint64_t now, const struct transport_run *run);

/* rc_timer.c */
uint64_t rc_timer_deadline(const struct transport_qp *qp);
void rc_timer_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns);

/* rc_responder.c */
void rc_responder_start(struct transport_qp *qp, uint32_t psn);
enum rc_verdict rc_responder_receive(struct transport_qp *qp, const struct transport_run *run);
int rc_responder_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out,
		      size_t *used);
/* Is an ACK owed that waits for a packet of ours, or until owed_at + RC_ACK_HOLD_NS? */
bool rc_responder_holds_ack(const struct transport_qp *qp, uint64_t now);
/* Packets that came too early and whose turn it is, as long as finished receives find room. */
void rc_responder_deliver(struct transport_qp *qp);
/* A READ response could not be made: NAK 0x62 at its PSN. */
void rc_responder_refuse_read(struct transport_qp *qp, uint32_t psn);

/* rc_judge.c: does a run at the expected PSN pass? Placement and the atomic have happened when it does. */
enum rc_answer {
	RC_ANSWER_PASS,
	RC_ANSWER_RNR,
	RC_ANSWER_INVALID,   /* 0x61 */
	RC_ANSWER_TOO_LONG,  /* 0x61, and the receive was too short */
	RC_ANSWER_ACCESS,    /* 0x62 */
	RC_ANSWER_OPERATION, /* 0x63 */
};
enum rc_answer rc_judge(struct transport_qp *qp, const struct transport_run *run);

#endif
