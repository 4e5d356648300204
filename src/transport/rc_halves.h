/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two halves of an RC QP: requester and responder. In a header only because hosts embed struct transport_qp (qp.h), which
 * has them; transport/rc*.c alone look inside.
 */
#ifndef TRANSPORT_RC_HALVES_H
#define TRANSPORT_RC_HALVES_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/rc_ack.h"
#include "transport/rc_window.h"

enum { RC_RD_ATOMIC_MAX = 16 }; /* most that max_rd_atomic and max_dest_rd_atomic can be */

enum {
	RC_PSN_MASK = 0xffffff,
	RC_ACK_REQ_EVERY = 64,         /* packets; earlier when the window is small */
	RC_RNR_RETRY_FOREVER = 7,
	RC_PROBES = 2,                 /* per silence: the last packet, then all again */
};
#define RC_PROBE_MIN_NS 5000000ull     /* tail-loss probe: max(2 srtt, this) */
#define RC_PROBE_READ_MIN_NS 20000000ull /* and this, when the oldest is a READ of several packets */
#define RC_REWIND_GUARD_NS 50000ull    /* a repeated gap report within max(srtt, this) is an echo of the first */

struct rc_requester {
	/* PSNs, 24 bits, in circular order una <= next_psn <= high. */
	uint32_t una;      /* oldest unacknowledged */
	uint32_t next_psn; /* next to put on the link; moved back to una by a retry */
	uint32_t high;     /* one past the highest ever sent */
	uint32_t started;  /* SQ index: WQEs before it own PSNs */
	uint32_t since_ack_req;

	/* A WQE that cannot be sent waits here until all before it are finished. */
	bool stopped;
	uint8_t stop_status;
	uint32_t stop_index, stop_vendor_err;

	uint8_t retry_left, rnr_left;
	uint8_t rd_out; /* READs and atomics that were started and are not answered */
	bool draining;  /* SQD was asked for, started WQEs remain */
	bool peer_gone;

	bool timer_runs; /* ACK timer; at: when it was armed */
	bool probe_owed;
	uint8_t probes;  /* since the last progress */
	bool rtt_runs;
	uint32_t rtt_psn;
	uint64_t timer_at;
	uint64_t activity_at;  /* last emission or progress: the probe counts from here */
	uint64_t paused_until; /* RNR; 0 when not */
	uint64_t rewound_at;   /* last gap report that was obeyed; una then: */
	uint32_t rewound_psn;
	bool rewound;
	uint64_t rtt_at, srtt;

	struct rc_window window;
};

/* The one response owed. Higher beats lower, except that progress replaces NAK_SEQUENCE and RNR. */
enum rc_owed { RC_OWED_NONE, RC_OWED_ACK, RC_OWED_NAK_SEQUENCE, RC_OWED_RNR, RC_OWED_FATAL };

/* A request that is answered with more than an ACK, and was taken: rc_read.c. Packet numbers count from first_psn. */
struct rc_resource {
	uint32_t first_psn, psns, msn;
	uint32_t rkey, length;
	uint32_t srqn; /* XRC */
	uint32_t start, next, end; /* the responses under way */
	uint64_t va, result;
	uint64_t stop; /* where a repeated tail ends, in bytes of the message; 0: at its end */
	uint16_t kind; /* WIRE_ROLE_READ, _ATOMIC, _FLUSH or _ATOMIC_WRITE */
	bool pending, repeated; /* repeated: was answered in full once */
};

struct rc_responder {
	uint32_t expected; /* PSN */
	uint32_t msn;
	uint16_t kind;     /* of the message under way: WIRE_ROLE_SEND or _WRITE; 0 between messages */
	uint32_t srqn;     /* XRC: of the message under way */
	bool gap_reported; /* silence until the expected PSN arrives */
	bool met;          /* a request was seen */
	uint8_t owed, owed_syndrome;
	uint32_t owed_psn; /* RNR, FATAL */

	uint64_t done; /* bytes of the message under way that are placed */
	uint64_t write_va, write_length;
	uint32_t write_rkey;

	uint8_t resource_first, resource_count, pending;
	struct rc_resource resources[RC_RD_ATOMIC_MAX];
	uint64_t atomic_result; /* between the last step of the ladder and its commit */
	struct rc_ack ack;
};

#endif
