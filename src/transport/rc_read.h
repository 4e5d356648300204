/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * READ, atomic, FLUSH and ATOMIC WRITE requests that a responder took and answers. Read by transport/rc*.c alone; no call fails,
 * none allocates.
 */
#ifndef TRANSPORT_RC_READ_H
#define TRANSPORT_RC_READ_H

#include "transport/rc_internal.h"

/* As many requests unanswered as max_dest_rd_atomic permits? */
bool rc_read_is_full(const struct transport_qp *qp);
/* Such a request at the expected PSN was taken; not full. result: of the atomic. */
void rc_read_add(struct transport_qp *qp, const struct wire_packet *head, uint64_t result);
/* A request behind the expected PSN that is neither SEND nor WRITE. */
void rc_read_repeat(struct transport_qp *qp, const struct wire_packet *head);
/*
 * The last PSN before `expected` that an ACK may name, and the MSN there: none of a READ or atomic, which only its own answer
 * answers. A requester that lost that (Linux's rxe) would complete it by the ACK, without the data. Those that are not
 * remembered were answered before, as far as a requester that keeps its limit goes: such an ACK is old.
 */
uint32_t rc_read_ack(const struct transport_qp *qp, uint32_t *msn);
/* The next run of responses: 1, or 0 when none is pending or the room is too small. */
int rc_read_next(struct transport_qp *qp, const struct transport_room *room, struct transport_run *out, size_t *used);
/* No response any more. */
void rc_read_forget(struct transport_qp *qp);

#endif
