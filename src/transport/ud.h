/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unreliable Datagram: one QP, as step functions. The shape is that of uc.h: no acknowledgement, no timer, a work request
 * completes when its packet has been pulled, a send error leads to UD_SQE. What differs:
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/intake.h"
#include "transport/memory.h"
#include "transport/queue.h"
#include "transport/run.h"

enum { UD_GRH_BYTES = 40 };

/* Values of enum ibv_qp_state. */
enum ud_state { UD_RESET, UD_INIT, UD_RTR, UD_RTS, UD_SQD, UD_SQE, UD_ERROR };

/* Bits of ud_events_take(), with the values of RC and UC. */
enum ud_event {
	UD_EVENT_FATAL = 1 << 3,         /* an error that no completion can report */
	UD_EVENT_SQ_DRAINED = 1 << 4,
	UD_EVENT_ENTERED_ERROR = 1 << 5, /* state became UD_ERROR: the host now flushes its RQ */
	UD_EVENT_ENTERED_SQE = 1 << 6,   /* state became UD_SQE: the send queue flushes itself, the RQ goes on */
};

/* What became of a received packet; the host counts it. */
enum ud_verdict {
	UD_TOOK,
	UD_NO_RECV,         /* no receive posted; nothing was consumed: the packet may be given again, see uc_receive() */
	UD_DROPPED_NO_RECV, /* the same, and the caller gave up */
	UD_DROPPED_LENGTH,  /* longer than the MTU of the port, or than the receive less 40 bytes: that one serves the next */
	UD_FAILED,          /* the receive's own memory is bad: it completes with LOC_PROT_ERR, the QP is in error now */
	UD_DROPPED_QKEY,    /* the host counts a Q_Key violation of the port */
	UD_DROPPED_PKEY,    /* the host counts a P_Key violation of the port */
	UD_DROPPED_STATE,
	UD_DROPPED_OPCODE,  /* not a UD opcode, or more than one packet */
	UD_VERDICTS
};
const char *ud_verdict_text(enum ud_verdict verdict);

struct ud_config {
	uint32_t qpn;
	uint32_t mtu;    /* of the port, in bytes: 256..4096 */
	uint32_t sq_psn;
	uint32_t qkey;
	uint16_t pkey;   /* 0xffff on RoCE */
	bool srq;        /* receives come from an SRQ: how an unused one ends when the QP leaves */
};

struct ud_stats {    /* per QP; monotonic */
	uint64_t sent_packets, sent_bytes, received_packets, received_bytes;
	uint64_t oversized; /* sends longer than the MTU: never emitted */
};

struct ud_qp {       /* embedded by hosts; only transport/ud.c looks inside */
	enum ud_state state;
	uint32_t events;
	struct ud_config config;
	struct transport_memory memory;
	struct transport_sq *sq;
	uint32_t next_psn;
	struct intake intake;
	struct ud_stats stats;
};

/* `memory`, `sq` and `recv` must outlive the QP and are the host's. State: UD_RESET. Cannot fail. */
void ud_init(struct ud_qp *qp, struct transport_memory memory, struct transport_sq *sq, const struct transport_recv_ops *recv,
	     void *recv_host);
void ud_to_init(struct ud_qp *qp);
void ud_to_rtr(struct ud_qp *qp, const struct ud_config *config);
/* From RTR it takes sq_psn, from SQD and SQE it goes on with what was posted since; qkey as in ud_update(). */
void ud_to_rts(struct ud_qp *qp, const struct ud_config *config);
/* RTR/RTS/SQD attribute changes that the table allows: qkey, pkey. */
void ud_update(struct ud_qp *qp, const struct ud_config *config);
void ud_to_sqd(struct ud_qp *qp);
/* Flushes as rc_to_error(). Idempotent. */
void ud_to_error(struct ud_qp *qp);
/* Forgets everything without completions; the send queue indexes go to `posted`. State: UD_RESET. */
void ud_reset(struct ud_qp *qp);

enum ud_state ud_state_get(const struct ud_qp *qp);
uint32_t ud_sq_psn(const struct ud_qp *qp); /* next to send */
const struct ud_stats *ud_stats_get(const struct ud_qp *qp);

/*
 * A packet for this QP. `grh` are UD_GRH_BYTES for the front of the receive, borrowed like the payload (roce-wire 17 says
 * what they hold per GID type). UD_NO_RECV and give_up: as in uc_receive().
 */
enum ud_verdict ud_receive(struct ud_qp *qp, uint64_t now, const struct transport_run *run, const uint8_t *grh, bool give_up);

/*
 * Where the next packet goes: 1 and transport_wqe.ah in *ah, or 0 when there is nothing to send. Work requests that emit nothing
 * (too long, in error) are finished here, so this is asked before each ud_next().
 */
int ud_next_ah(struct ud_qp *qp, uint32_t *ah);
/* The packet whose `ah` ud_next_ah() told, no other ud_ call in between. 1, or 0: room too small, or the gather failed. */
int ud_next(struct ud_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
/* Would ud_next_ah() or ud_next() have something to do? A hint without false negatives. */
bool ud_wants_room(const struct ud_qp *qp, uint64_t now);

/* BASE_NEVER, always; ud_tick() does nothing. */
uint64_t ud_deadline(const struct ud_qp *qp);
void ud_tick(struct ud_qp *qp, uint64_t now, uint64_t excused_ns);

/* Finished sends in SQ order, unsignalled ones too (signaled == false). 1: *out is valid; 0: none. */
int ud_send_completion_next(struct ud_qp *qp, struct transport_completion *out);
/* Finished receives in order; byte_len counts the GRH area, wc_flags has GRH, src_qpn is the sender's. 1 or 0. */
int ud_recv_completion_next(struct ud_qp *qp, struct transport_completion *out);
/* Bits of enum ud_event since the last call, cleared. */
uint32_t ud_events_take(struct ud_qp *qp);

#endif
