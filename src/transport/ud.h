/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unreliable Datagram: one QP, as step functions. Life is told by qp.h, and the rest is as in uc.h: no acknowledgement, no timer,
 * a work request completes when its packet has been pulled, a send error leads to TRANSPORT_SQE. What differs:
 *
 *   Each message is one packet, and each may go elsewhere: ud_next_ah() tells where the next one goes, so that the host can
 *   ask that link for room.
 *   A message longer than the port MTU is not sent; its work request completes with success all the same (roce-wire 17), and
 *   it is counted.
 *   A receive buffer begins with the 40 bytes of the GRH area, which the host of the receiver gives with each packet.
 *
 * Multicast is the host's: it calls ud_receive() for each attached QP.
 */
#ifndef TRANSPORT_UD_H
#define TRANSPORT_UD_H

#include "transport/qp.h"

enum { UD_GRH_BYTES = 40 };

/* What became of a received packet; the host counts it. */
enum ud_verdict {
	UD_TOOK,
	UD_NO_RECV,         /* no receive posted; nothing was consumed: the packet may be given again, see uc_receive() */
	UD_DROPPED_NO_RECV, /* the same, and the caller gave up */
	UD_DROPPED_LENGTH,  /* longer than the MTU of the port, or than the receive less 40 bytes: that one serves the next,
			       from an SRQ it completes with LOC_LEN_ERR */
	UD_FAILED,          /* the receive's own memory is bad: it completes with LOC_PROT_ERR, the QP is in error now */
	UD_DROPPED_QKEY,    /* the host counts a Q_Key violation of the port */
	UD_DROPPED_PKEY,    /* the host counts a P_Key violation of the port */
	UD_DROPPED_STATE,
	UD_DROPPED_OPCODE,  /* not a UD opcode, or more than one packet */
	UD_VERDICTS
};
const char *ud_verdict_text(enum ud_verdict verdict);

extern const struct transport_ops ud_ops;

void ud_to_rtr(struct transport_qp *qp, const struct transport_config *config);
/* From RTR it takes sq_psn, from SQD and SQE it goes on with what was posted since; qkey as in ud_update(). */
void ud_to_rts(struct transport_qp *qp, const struct transport_config *config);
/* RTR/RTS/SQD attribute changes that the table allows: qkey, pkey. */
void ud_update(struct transport_qp *qp, const struct transport_config *config);
void ud_to_sqd(struct transport_qp *qp);
/* Flushes as rc_to_error(). Idempotent. */
void ud_to_error(struct transport_qp *qp);
uint32_t ud_sq_psn(const struct transport_qp *qp); /* next to send */

/*
 * A packet for this QP. `grh` are UD_GRH_BYTES for the front of the receive, borrowed like the payload (roce-wire 17 says
 * what they hold per GID type). UD_NO_RECV and give_up: as in uc_receive().
 */
enum ud_verdict ud_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run, const uint8_t *grh, bool give_up);

/*
 * Where the next packet goes: 1 and transport_wqe.ah in *ah, or 0 when there is nothing to send. Work requests that emit nothing
 * (too long, in error) are finished here, so this is asked before each ud_next().
 */
int ud_next_ah(struct transport_qp *qp, uint32_t *ah);
/* The packet whose `ah` ud_next_ah() told, no other ud_ call in between. 1, or 0: room too small, or the gather failed. */
int ud_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
/* Would ud_next_ah() or ud_next() have something to do? A hint without false negatives. */
bool ud_wants_room(const struct transport_qp *qp, uint64_t now);

#endif
