/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A storm of RC or XRC: what its plan, its application and its checkers share. Read by sim/rc_storm*.c alone; single-threaded.
 */
#ifndef SIM_RC_STORM_H
#define SIM_RC_STORM_H

#include "sim/storm.h"
#include "sim/world.h"

enum { OPS_MAX = 64, STORM_SRQS = 3 };
enum { KEY_SOURCE = 0x1100, KEY_RECV = 0x2200, KEY_WRITE = 0x3300, KEY_READ_ONLY = 0x4400, KEY_LAND = 0x5500,
       KEY_ATOMIC = 0x6600, KEY_INV = 0x7700, KEY_NONE = 0x9900 };

enum storm_error {
	STORM_NO_ERROR,
	STORM_BAD_RKEY,
	STORM_OUT_OF_RANGE,
	STORM_READ_ONLY_REGION,
	STORM_QP_FORBIDS_WRITE,
	STORM_SEND_TOO_LONG,
	STORM_RECV_BAD_LKEY,
	STORM_LOCAL_BAD_LKEY,
	STORM_UNKNOWN_OP,
	STORM_BAD_INVALIDATE,
	STORM_NEVER_READY,
	STORM_BAD_REMOTE_INVALIDATE, /* the one to blame succeeds */
	STORM_BAD_SRQ,     /* XRC: a number that is nobody's */
	STORM_PEER_GONE,
	STORM_PEER_SILENT,
	STORM_CLOSE_HERE,
	STORM_CLOSE_THERE,
	STORM_ERRORS
};
enum storm_mode { STORM_PLAIN, STORM_HARSH, STORM_GARBAGE };

struct op {
	uint8_t op, flags;
	uint32_t length, num_sge, imm;
	struct transport_sge sge[SIM_SGE_MAX];
	uint32_t rkey;
	uint64_t remote_addr;
	int recv; /* which receive it consumes, -1 none */
	uint64_t post_at;
	uint8_t *data;
	uint64_t atomic_before;
	uint32_t srqn;  /* XRC */
	int flush_of;   /* FLUSH: of which WRITE it covers the range; -1: of all */
	bool verified;
};

struct recv {
	struct transport_sge sge[SIM_SGE_MAX];
	uint32_t num_sge;
	int op; /* -1: none */
	uint32_t srqn; /* XRC */
	uint64_t post_at;
};

struct side {
	struct storm *storm;
	struct sim_endpoint *ep, *peer;
	struct op ops[OPS_MAX];
	struct recv recvs[OPS_MAX + 4];
	uint32_t num_ops, posted, done, succeeded, failed_status;
	uint32_t num_recvs, recvs_posted, recvs_done, recvs_succeeded, recv_failed_status;
	bool failed, recv_failed;
	uint64_t act_at; /* an error of the application's side: when */
	uint64_t sqd_at, rts_at, drained_packets;
	bool drained;
	uint64_t source_next, recv_next, write_next, land_next;
	uint32_t num_atomics; /* each makes the peer's word one larger */
};

struct storm {
	struct sim_world world;
	uint64_t seed;
	enum storm_mode mode;
	enum storm_error error;
	uint32_t spoiled; /* op index of side 0 */
	bool lossless, xrc, selective;
	struct sim_endpoint ep[2];
	struct side side[2];
	bool bad;
};

/* rc_storm.c */
extern const char *const rc_storm_error_names[STORM_ERRORS];
void rc_storm_fail(struct storm *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t rc_storm_app(struct sim_endpoint *ep, uint64_t now);

#define CHECK(storm, condition, ...) do { if (!(condition)) rc_storm_fail(storm, __VA_ARGS__); } while (0)

static inline uint64_t below(struct storm *s, uint64_t n)
{
	return base_random_below(&s->world.random, n);
}

static inline uint64_t between(struct storm *s, uint64_t low, uint64_t high)
{
	return low + below(s, high - low + 1);
}

static inline bool is_atomic(const struct op *op)
{
	return op->op == TRANSPORT_OP_COMPARE_SWAP || op->op == TRANSPORT_OP_FETCH_ADD;
}

/* Answered with more than an ACK. */
static inline bool is_rd(const struct op *op)
{
	return op->op == TRANSPORT_OP_RDMA_READ || is_atomic(op) || op->op == TRANSPORT_OP_FLUSH || op->op == TRANSPORT_OP_ATOMIC_WRITE;
}

/* Brings bytes back. */
static inline bool lands(const struct op *op)
{
	return op->op == TRANSPORT_OP_RDMA_READ || is_atomic(op);
}

static inline bool is_send(const struct op *op)
{
	return op->op == TRANSPORT_OP_SEND || op->op == TRANSPORT_OP_SEND_WITH_IMM || op->op == TRANSPORT_OP_SEND_WITH_INV;
}

/* Places bytes at remote_addr. */
static inline bool is_write(const struct op *op)
{
	return op->op <= TRANSPORT_OP_RDMA_WRITE_WITH_IMM || op->op == TRANSPORT_OP_ATOMIC_WRITE;
}

/* rc_storm_plan.c: everything that will be done. False: there is nothing to spoil as the error wants it. */
bool rc_storm_plan(struct storm *s);
/* rc_storm_check.c */
void rc_storm_on_send(struct sim_endpoint *ep, const struct transport_completion *c);
void rc_storm_on_recv(struct sim_endpoint *ep, const struct transport_completion *c);
void rc_storm_check_end(struct storm *s);

#endif
