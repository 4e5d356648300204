/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Selective repeat of an RC QP: what it needs beyond rc_halves.h, in memory that the host gives with transport_config.selective.
 * Without that memory a QP goes back N as ever, and takes no SACK. How it works is told at the top of rc_selective.c.
 *
 * No call fails, none allocates. The holder of the node's progress lock. Hosts read the size alone; the rest is for
 * transport/rc*.c.
 */
#ifndef TRANSPORT_RC_SELECTIVE_H
#define TRANSPORT_RC_SELECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"
#include "wire/sack.h"

enum {
	RC_SELECTIVE_WINDOW = WIRE_SACK_BITS, /* packets: of the requester in flight, of the responder kept */
	RC_SELECTIVE_RESENDS = 6,      /* by the clock, each waiting twice as long, without any progress */
	RC_SELECTIVE_LOSS_SHARE = 16,  /* losing less than this part of a window is no congestion, */
	RC_SELECTIVE_LOSS_MIN = 2,     /* nor is losing this many packets of it */
};

/* Everything is by PSN modulo the window. */
struct rc_selective {
	/* Requester; marks exist in [una, next_psn) only. */
	uint8_t arrived[WIRE_SACK_BYTES]; /* the peer keeps it */
	uint8_t due[WIRE_SACK_BYTES];     /* missing, and to be sent again now */
	uint32_t arrived_count, due_count, resent_count;
	uint64_t resent_at[RC_SELECTIVE_WINDOW]; /* missing, and was sent again then; 0: was not */
	uint64_t last_resent_at;
	uint32_t resends;
	bool in_round;      /* counts losses until round_end is acknowledged */
	uint32_t round_end, lost;

	/* Responder: packets ahead of the expected PSN. */
	uint8_t held[WIRE_SACK_BYTES];
	uint32_t held_count;
	struct wire_packet heads[RC_SELECTIVE_WINDOW];
	uint8_t payloads[]; /* one MTU each */
};

struct transport_qp;
struct transport_run;
struct transport_room;

/* What a host must provide, zeroed, until the QP is reset. */
size_t rc_selective_bytes(uint32_t mtu);

/* The requester. */
void rc_selective_forget_sent(struct transport_qp *qp);
/* n PSNs from una on are about to be acknowledged. */
void rc_selective_acknowledged(struct transport_qp *qp, uint32_t n);
/* How many packets may be in flight now. */
uint32_t rc_selective_window(const struct transport_qp *qp);
/* Was acknowledged up to its PSN. */
void rc_selective_sack(struct transport_qp *qp, uint64_t now, const uint8_t *bitmap);
/* The oldest packet that is to be sent again; false: none. It is then taken as sent. */
bool rc_selective_due(const struct transport_qp *qp, uint32_t *psn);
void rc_selective_resent(struct transport_qp *qp, uint64_t now, uint32_t psn);
/* That PSN is no packet of its own. */
void rc_selective_skip(struct transport_qp *qp, uint32_t psn);
uint64_t rc_selective_deadline(const struct transport_qp *qp);
void rc_selective_tick(struct transport_qp *qp, uint64_t now);

/* The responder. */
void rc_selective_forget_held(struct transport_qp *qp);
/* A run ahead of the expected PSN: keeps what fits. */
void rc_selective_hold(struct transport_qp *qp, const struct transport_run *run);
/* The kept packet at the expected PSN, as a run whose payload is borrowed until the next call; false: there is none. */
bool rc_selective_take(struct transport_qp *qp, struct transport_run *out);
/* `expected` moved on by n: nothing before it is kept any more. */
void rc_selective_passed(struct transport_qp *qp, uint32_t from, uint32_t n);
bool rc_selective_holds(const struct transport_qp *qp);
/* 1, or 0 when the room is too small. */
int rc_selective_write(struct transport_qp *qp, const struct transport_room *room, struct transport_run *out, size_t *used);

#endif
