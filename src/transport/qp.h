/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A QP of any type, as far as its type makes no difference: one struct, one set of states, events, attributes and counters, and
 * the steps of its life that are the same for all. What differs is a table of functions (rc.h, uc.h, ud.h each give one), and the
 * memory of the type's own in the union at the end.
 *
 * Nothing here fails. One thread at a time: the holder of the node's progress lock. Only transport_sq.posted is written by others.
 *
 * Life: transport_qp_init -> to_init -> to_rtr -> to_rts -> (to_sqd | by itself SQE) -> to_rts ... -> to_error -> reset -> ...
 * The attribute and transition tables of ibv_modify_qp are hca's; a transport trusts its configuration.
 */
#ifndef TRANSPORT_QP_H
#define TRANSPORT_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/intake.h"
#include "transport/memory.h"
#include "transport/pace.h"
#include "transport/queue.h"
#include "transport/rc_halves.h"
#include "transport/rc_selective.h"
#include "transport/run.h"

/* Values of enum ibv_qp_state. */
enum transport_state {
	TRANSPORT_RESET,
	TRANSPORT_INIT,
	TRANSPORT_RTR,
	TRANSPORT_RTS,
	TRANSPORT_SQD,
	TRANSPORT_SQE, /* UC, UD: the send queue flushes itself, receiving goes on */
	TRANSPORT_ERROR
};

/* Things that hca turns into async events and export turns into counters; bits of transport_qp_events_take(). */
enum transport_event {
	TRANSPORT_EVENT_COMM_EST = 1 << 0,      /* first request arrived in RTR */
	TRANSPORT_EVENT_REQ_ERR = 1 << 1,       /* we sent NAK invalid request */
	TRANSPORT_EVENT_ACCESS_ERR = 1 << 2,    /* we sent NAK remote access error */
	TRANSPORT_EVENT_FATAL = 1 << 3,         /* an error that no completion can report */
	TRANSPORT_EVENT_SQ_DRAINED = 1 << 4,    /* SQD reached with nothing in flight, or no message half sent */
	TRANSPORT_EVENT_ENTERED_ERROR = 1 << 5, /* state became TRANSPORT_ERROR: the host now flushes its RQ */
	TRANSPORT_EVENT_ENTERED_SQE = 1 << 6,   /* state became TRANSPORT_SQE: the send queue flushes itself, the RQ goes on */
};

/* Each type reads what it has. */
struct transport_config {
	uint32_t qpn, dest_qpn;
	uint32_t mtu;      /* bytes: 256..4096; of the path, UD: of the port */
	uint32_t sq_psn, rq_psn;
	uint32_t access;   /* qp_access_flags: enum transport_access */
	uint32_t qkey;     /* UD */
	uint16_t pkey;     /* 0xffff on RoCE */
	uint8_t timeout;   /* local ACK timeout code; 0 = never */
	uint8_t retry_cnt, rnr_retry; /* rnr_retry 7 = for ever */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	bool lossless;     /* the link loses nothing (shm): no congestion window, no tail-loss probe. Timers still run. */
	bool oversized_fails; /* UD: a send longer than the MTU ends in LOC_LEN_ERR; false: it succeeds, and nothing is sent */
	/* RC: repeat selectively, as the peer does; rc_selective_bytes(mtu) zeroed bytes, the QP's until its reset. NULL: go back N. */
	struct rc_selective *selective;
	bool srq;          /* receives come from an SRQ: how an unused one ends when a UC or UD QP leaves */
};

struct transport_stats { /* per QP; monotonic */
	uint64_t sent_packets, sent_bytes, received_packets, received_bytes;
	uint64_t retransmitted_packets, timeouts, tail_probes, acks_sent, naks_sent, rnr_naks_sent, naks_received, rnr_naks_received,
		duplicates, out_of_order, window_shrinks;
	uint64_t sacks_sent, sacks_received, selective_retransmits, held_packets; /* RC with selective repeat */
	uint64_t abandoned; /* UC: messages begun here and not finished, or refused at their first packet */
	uint64_t oversized; /* UD: sends longer than the MTU: never emitted */
};

/* UC's own. transport/uc*.c alone look inside. */
struct uc_inside {
	/* Requester. */
	uint32_t next_psn;
	uint32_t sent; /* packets of the WQE at sq->next that are out; 0: it is not started */
	bool draining; /* SQD was asked for, a message is half sent */

	/* Responder. */
	uint32_t expected; /* PSN */
	uint16_t kind;     /* of the message under way: WIRE_ROLE_SEND or _WRITE; 0 between messages and while one is abandoned */
	bool met;          /* a request was seen */
	uint64_t done;     /* bytes of the message under way that are placed */
	uint64_t write_va, write_length;
	uint32_t write_rkey;
};

struct transport_qp;

/* What a type does its own way. Functions called optional may be NULL; their contracts are told in rc.h, the first of them. */
struct transport_ops {
	uint8_t wire; /* enum wire_transport: of its packets */
	void (*to_rtr)(struct transport_qp *qp, const struct transport_config *config);
	/* From RTR it takes sq_psn, from SQD and SQE it goes on with what was posted since; the rest as update(). */
	void (*to_rts)(struct transport_qp *qp, const struct transport_config *config);
	/* RTS/SQD attribute changes that the table allows. */
	void (*update)(struct transport_qp *qp, const struct transport_config *config);
	void (*to_sqd)(struct transport_qp *qp);
	/* Flushes: the send queue finishes with WR_FLUSH_ERR in posting order; a receive in use completes. Idempotent. */
	void (*to_error)(struct transport_qp *qp);
	bool (*is_draining)(const struct transport_qp *qp);   /* optional: never */
	uint32_t (*sq_psn)(const struct transport_qp *qp);    /* next to send */
	uint32_t (*rq_psn)(const struct transport_qp *qp);    /* next expected; optional: the type has none */
	int (*next)(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
	bool (*wants_room)(const struct transport_qp *qp, uint64_t now);
	uint64_t (*deadline)(const struct transport_qp *qp);  /* optional: BASE_NEVER */
	void (*tick)(struct transport_qp *qp, uint64_t now, uint64_t excused_ns); /* optional */
	/* Optional: a type without acknowledgements does not care, what it sends goes nowhere. */
	void (*peer_gone)(struct transport_qp *qp, uint64_t now);
	/* Optional: what is held back for company leaves with the next next(): the QP is about to be reset. */
	void (*hurry)(struct transport_qp *qp);
	/* Optional: finishes what only the passing of time finished, before completions are fetched. */
	void (*settle)(struct transport_qp *qp);
	/* Optional: what came too early and whose turn it is may have had to wait for finished receives to be fetched. */
	void (*deliver)(struct transport_qp *qp);
};

struct transport_qp { /* embedded by hosts; only transport looks inside */
	const struct transport_ops *ops;
	enum transport_state state;
	uint32_t events;
	struct transport_config config;
	struct transport_memory memory;
	struct transport_sq *sq;
	struct intake intake;
	struct transport_stats stats;
	struct transport_pace pace; /* written by hosts, too; a reset ends it */
	union {
		struct { /* RC */
			struct rc_requester req;
			struct rc_responder resp;
		};
		struct uc_inside uc;
		uint32_t ud_psn; /* next to send */
	};
};

/* `memory`, `sq` and `recv` must outlive the QP and are the host's. State: TRANSPORT_RESET. */
void transport_qp_init(struct transport_qp *qp, const struct transport_ops *ops, struct transport_memory memory,
		       struct transport_sq *sq, const struct transport_recv_ops *recv, void *recv_host);
void transport_qp_to_init(struct transport_qp *qp);
/* Forgets everything without completions; the send queue indexes go to `posted`. State: TRANSPORT_RESET. */
void transport_qp_reset(struct transport_qp *qp);

enum transport_state transport_qp_state(const struct transport_qp *qp);
bool transport_qp_is_draining(const struct transport_qp *qp);
const struct transport_stats *transport_qp_stats(const struct transport_qp *qp);
/* When tick() must be called, BASE_NEVER if never. Changes with every other call. */
uint64_t transport_qp_deadline(const struct transport_qp *qp);
void transport_qp_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns);
void transport_qp_peer_gone(struct transport_qp *qp, uint64_t now);

/* Finished sends in SQ order, unsignalled ones too (signaled == false). 1: *out is valid; 0: none. */
int transport_qp_send_done(struct transport_qp *qp, struct transport_completion *out);
/* Finished receives in order; after ENTERED_ERROR the host flushes what is still in its queue itself. 1 or 0. */
int transport_qp_recv_done(struct transport_qp *qp, struct transport_completion *out);
/* Bits of enum transport_event since the last call, cleared. */
uint32_t transport_qp_events_take(struct transport_qp *qp);

/* For the types. The state becomes TRANSPORT_ERROR and the event is noted; false: it was so before. */
bool transport_qp_enter_error(struct transport_qp *qp);
/* The oldest unfinished WQE of a type without acknowledgements ends with an error: on to SQE. */
void transport_qp_enter_sqe(struct transport_qp *qp, uint32_t status, uint32_t vendor_err);
/* From any state to RTS: what was posted in SQE was flushed by right, whether or not the host had fetched it. */
void transport_qp_enter_rts(struct transport_qp *qp);
/* The first request of a peer. `met` is the type's own. */
void transport_qp_meet(struct transport_qp *qp, bool *met);

#endif
