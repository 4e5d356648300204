/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs as RC cuts, judges and writes them. Read by transport/rc*.c alone. Pure functions; nothing is kept.
 */
#ifndef TRANSPORT_RC_RUN_H
#define TRANSPORT_RC_RUN_H

#include "transport/rc.h"

/* Do head, last_opcode, packets and payload_len of a run from a link describe packets of one message? A single packet always does. */
bool rc_run_is_coherent(const struct transport_run *run, uint32_t mtu);
/* Packets [skip, skip + count) of a coherent run, as a run; its payload is that of the original. */
struct transport_run rc_run_slice(const struct transport_run *run, uint32_t skip, uint32_t count);
/* An ACK or NAK. False when it does not fit into the room. */
bool rc_run_write_ack(struct rc_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t msn, const struct transport_room *room,
		      struct transport_run *out, size_t *used);
/*
 * How many packets from `index` of `total` on, at most `limit`, form one run that fits the room; `left` payload bytes remain.
 * The headers are what FIRST and LAST carry beyond the BTH. 0: not even one fits.
 */
uint32_t rc_run_fit(uint32_t index, uint32_t total, uint64_t left, uint32_t mtu, uint32_t limit, size_t first_header,
		    size_t last_header, const struct transport_room *room);
/* The opcode of packet `index` of `total` of a SEND or WRITE message, from its WR opcode. */
uint8_t rc_run_opcode(uint8_t wr_op, uint32_t index, uint32_t total);

#endif
