/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_storm: random traffic of RC QPs over random hostile links, with checkers outside of the transport.
 *
 *   rc_storm [--runs N] [--seed S] [--trace]
 *
 * Run i of seed S has the seed S + i; a failure prints that seed, and `--seed <it> --runs 1 --trace` shows the same run
 * packet by packet.
 *
 * What the checkers hold: every posted WR completes exactly once, in order, with its own wr_id; a completed message is in the
 * peer's memory, byte for byte, and so are all before it; receives complete in posting order with length, immediate and
 * opcode of their message; an atomic is executed once and in its turn; a message after a failed one leaves no byte; no byte
 * outside of the buffers changes; all of it within bounded time. In an error run one operation of direction a>b is spoiled,
 * and both ends must end with the statuses of the error map.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/storm.h"
#include "sim/world.h"

enum { OPS_MAX = 64 };
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
	STORM_PEER_GONE,
	STORM_PEER_SILENT,
	STORM_CLOSE_HERE,
	STORM_CLOSE_THERE,
	STORM_ERRORS
};
static const char *const error_names[STORM_ERRORS] = {
	"none", "bad rkey", "out of range", "read-only region", "QP forbids WRITE", "SEND too long", "receive with bad lkey",
	"local bad lkey", "unknown operation", "bad LOCAL_INV", "never ready", "bad SEND_WITH_INV", "peer gone", "peer silent",
	"closed here", "closed there",
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
	bool verified;
};

struct recv {
	struct transport_sge sge[SIM_SGE_MAX];
	uint32_t num_sge;
	int op; /* -1: none */
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
	bool lossless;
	struct sim_endpoint ep[2];
	struct side side[2];
	bool bad;
};

static uint64_t total_packets, total_bytes, total_ops, total_retransmitted, total_probes, total_timeouts, total_rnr;
static uint64_t error_runs[STORM_ERRORS];

static void fail(struct storm *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct storm *s, const char *format, ...)
{
	va_list ap;

	if (s->bad)
		return;
	s->bad = true;
	fflush(stdout);
	fprintf(stderr, "rc_storm: seed %llu (%s%s, error: %s): ", (unsigned long long)s->seed, s->lossless ? "lossless" : "lossy",
		s->mode == STORM_HARSH ? ", harsh" : s->mode == STORM_GARBAGE ? ", garbage" : "", error_names[s->error]);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nrc_storm: repeat with --seed %llu --runs 1 --trace\n", (unsigned long long)s->seed);
}

#define CHECK(storm, condition, ...) do { if (!(condition)) fail(storm, __VA_ARGS__); } while (0)

static uint64_t below(struct storm *s, uint64_t n)
{
	return base_random_below(&s->world.random, n);
}

static uint64_t between(struct storm *s, uint64_t low, uint64_t high)
{
	return low + below(s, high - low + 1);
}

/* ---- checkers ---- */

static bool sges_equal(struct sim_host *host, const struct transport_sge *sge, uint32_t num_sge, const uint8_t *data, uint64_t len)
{
	for (uint32_t i = 0; i < num_sge && len; i++) {
		uint64_t part = sge[i].length < len ? sge[i].length : len;
		const uint8_t *bytes = sim_host_bytes(host, sge[i].lkey, sge[i].addr, part);

		if (part && (bytes == NULL || memcmp(bytes, data, part) != 0))
			return false;
		data += part;
		len -= part;
	}
	return len == 0;
}

static bool is_atomic(const struct op *op)
{
	return op->op == TRANSPORT_OP_COMPARE_SWAP || op->op == TRANSPORT_OP_FETCH_ADD;
}

static bool is_rd(const struct op *op)
{
	return op->op == TRANSPORT_OP_RDMA_READ || is_atomic(op);
}

static bool is_send(const struct op *op)
{
	return op->op == TRANSPORT_OP_SEND || op->op == TRANSPORT_OP_SEND_WITH_IMM || op->op == TRANSPORT_OP_SEND_WITH_INV;
}

static bool op_is_placed(struct side *from, const struct op *op)
{
	struct side *to = from->peer->user;

	if (is_atomic(op))
		return sges_equal(&from->ep->host, op->sge, op->num_sge, (const uint8_t *)&op->atomic_before, 8);
	if (is_rd(op))
		return op->length == 0 || sges_equal(&from->ep->host, op->sge, op->num_sge,
						     sim_host_bytes(&from->peer->host, KEY_READ_ONLY, op->remote_addr, op->length), op->length);
	if (is_send(op))
		return sges_equal(&from->peer->host, to->recvs[op->recv].sge, to->recvs[op->recv].num_sge, op->data, op->length);
	if (op->length == 0)
		return true;
	return memcmp(sim_host_bytes(&from->peer->host, KEY_WRITE, op->remote_addr, op->length), op->data, op->length) == 0;
}

static void verify_upto(struct side *from, uint32_t last)
{
	struct storm *s = from->storm;

	if (s->mode == STORM_GARBAGE)
		return;
	for (uint32_t i = last + 1; i-- > 0;) {
		/* READs need not be back when a later message arrives over there. */
		if (from->ops[i].verified || (is_rd(&from->ops[i]) && i >= from->succeeded))
			continue;
		CHECK(s, op_is_placed(from, &from->ops[i]), "%s: bytes of op %u differ", from->ep->name, i);
		from->ops[i].verified = true;
	}
}

static uint32_t op_wc(uint8_t op)
{
	switch (op) {
	case TRANSPORT_OP_RDMA_READ:
		return TRANSPORT_WC_RDMA_READ;
	case TRANSPORT_OP_COMPARE_SWAP:
		return TRANSPORT_WC_COMPARE_SWAP;
	case TRANSPORT_OP_FETCH_ADD:
		return TRANSPORT_WC_FETCH_ADD;
	case TRANSPORT_OP_BIND_MW:
		return TRANSPORT_WC_BIND_MW;
	case TRANSPORT_OP_LOCAL_INV:
		return TRANSPORT_WC_LOCAL_INV;
	case TRANSPORT_OP_RDMA_WRITE:
	case TRANSPORT_OP_RDMA_WRITE_WITH_IMM:
		return TRANSPORT_WC_RDMA_WRITE;
	default:
		return TRANSPORT_WC_SEND;
	}
}

static void on_send(struct sim_endpoint *ep, const struct transport_completion *c)
{
	struct side *me = ep->user;
	struct storm *s = me->storm;
	struct side *to = ep->peer->user;
	struct op *op = &me->ops[me->done];

	CHECK(s, me->done < me->posted, "%s: a send completes that was not posted", ep->name);
	CHECK(s, c->wr_id == me->done && c->index == me->done, "%s: send %llu completes where %u was due", ep->name,
	      (unsigned long long)c->wr_id, me->done);
	CHECK(s, c->opcode == op_wc(op->op), "%s: send %u has opcode %u", ep->name, me->done, c->opcode);
	if (s->bad)
		return;
	me->done++;
	if (c->status != TRANSPORT_SUCCESS) {
		CHECK(s, c->signaled, "%s: an error without a completion", ep->name);
		if (!me->failed)
			me->failed_status = c->status;
		else
			CHECK(s, c->status == TRANSPORT_WR_FLUSH_ERR, "%s: status %u after an error", ep->name, c->status);
		me->failed = true;
		return;
	}
	CHECK(s, !me->failed, "%s: success after an error", ep->name);
	CHECK(s, c->signaled == ((op->flags & TRANSPORT_WQE_SIGNALED) != 0), "%s: signalling of %u", ep->name, me->done - 1);
	me->succeeded++;
	verify_upto(me, me->done - 1);
	if (s->error == STORM_BAD_REMOTE_INVALIDATE && me == &s->side[0] && me->done - 1 == s->spoiled)
		return;
	if (s->mode != STORM_GARBAGE && op->recv >= 0)
		CHECK(s, (int)to->recvs_succeeded > op->recv, "%s: send %u completes before its receive", ep->name, me->done - 1);
}

static void on_recv(struct sim_endpoint *ep, const struct transport_completion *c)
{
	struct side *me = ep->user;
	struct side *from = ep->peer->user;
	struct storm *s = me->storm;
	struct recv *r = &me->recvs[me->recvs_done];
	struct op *op;

	CHECK(s, c->wr_id == me->recvs_done && me->recvs_done < me->recvs_posted, "%s: recv %llu completes where %u was due",
	      ep->name, (unsigned long long)c->wr_id, me->recvs_done);
	if (s->bad)
		return;
	me->recvs_done++;
	if (c->status != TRANSPORT_SUCCESS) {
		if (!me->recv_failed)
			me->recv_failed_status = c->status;
		else
			CHECK(s, c->status == TRANSPORT_WR_FLUSH_ERR, "%s: recv status %u after an error", ep->name, c->status);
		me->recv_failed = true;
		return;
	}
	CHECK(s, !me->recv_failed, "%s: recv success after an error", ep->name);
	me->recvs_succeeded++;
	if (s->mode == STORM_GARBAGE)
		return;
	CHECK(s, r->op >= 0, "%s: recv %u completes that no message meant", ep->name, me->recvs_done - 1);
	if (s->bad)
		return;
	op = &from->ops[r->op];
	verify_upto(from, (uint32_t)r->op);
	CHECK(s, c->byte_len == op->length, "%s: recv %u has length %u, not %u", ep->name, me->recvs_done - 1, c->byte_len,
	      op->length);
	CHECK(s, c->src_qpn == ep->peer->config.qpn, "%s: source QPN", ep->name);
	if (op->op == TRANSPORT_OP_SEND)
		CHECK(s, c->opcode == TRANSPORT_WC_RECV && c->wc_flags == 0, "%s: SEND arrived as %u", ep->name, c->opcode);
	else if (op->op == TRANSPORT_OP_SEND_WITH_INV)
		CHECK(s, c->opcode == TRANSPORT_WC_RECV && c->wc_flags == TRANSPORT_WC_WITH_INV && c->imm_or_inv == KEY_INV,
		      "%s: SEND_WITH_INV arrived as %u", ep->name, c->opcode);
	else
		CHECK(s, c->wc_flags == TRANSPORT_WC_WITH_IMM && c->imm_or_inv == op->imm && c->opcode ==
		      (op->op == TRANSPORT_OP_SEND_WITH_IMM ? (uint32_t)TRANSPORT_WC_RECV : (uint32_t)TRANSPORT_WC_RECV_RDMA_WITH_IMM),
		      "%s: immediate of recv %u", ep->name, me->recvs_done - 1);
	CHECK(s, c->solicited == ((op->flags & TRANSPORT_WQE_SOLICITED) != 0), "%s: solicited of recv %u", ep->name,
	      me->recvs_done - 1);
}

/* ---- the application ---- */

static void post_op(struct side *me, const struct op *op)
{
	struct transport_wqe wqe = {
		.wr_id = me->posted,
		.remote_addr = op->remote_addr,
		.rkey = op->rkey,
		.compare = op->atomic_before,
		.swap_or_add = op->op == TRANSPORT_OP_FETCH_ADD ? 1 : op->atomic_before + 1,
		.imm_or_inv = op->imm,
		.length = op->length,
		.op = op->op,
		.flags = op->flags,
		.num_sge = (uint8_t)op->num_sge,
	};
	bool is_inline = op->flags & TRANSPORT_WQE_INLINE;

	if (sim_host_post_send(&me->ep->host, &wqe, is_inline ? (const void *)op->data : op->sge,
			       is_inline ? op->length : op->num_sge * (uint32_t)sizeof(op->sge[0])))
		me->posted++;
}

static uint64_t pause_and_resume(struct side *me, uint64_t now, uint64_t next)
{
	struct sim_endpoint *ep = me->ep;
	struct storm *s = me->storm;

	if (me->sqd_at && now >= me->sqd_at && transport_qp_state(&ep->qp) == TRANSPORT_RTS) {
		me->sqd_at = 0;
		ep->events = 0;
		rc_to_sqd(&ep->qp);
		CHECK(s, transport_qp_state(&ep->qp) == TRANSPORT_SQD, "%s: SQD refused", ep->name);
	}
	ep->events |= transport_qp_events_take(&ep->qp);
	if (transport_qp_state(&ep->qp) == TRANSPORT_SQD) {
		if (!me->drained && (ep->events & TRANSPORT_EVENT_SQ_DRAINED)) {
			me->drained = true;
			me->drained_packets = rc_sq_psn(&ep->qp);
			me->rts_at = now + 1 + below(s, 50000);
			CHECK(s, !rc_is_draining(&ep->qp), "%s: drained and draining", ep->name);
		}
		if (me->drained && now >= me->rts_at) {
			CHECK(s, rc_sq_psn(&ep->qp) == me->drained_packets, "%s: sent while drained", ep->name);
			rc_to_rts(&ep->qp, &ep->config);
		} else if (me->drained && me->rts_at < next) {
			next = me->rts_at;
		}
	} else if (me->sqd_at && me->sqd_at > now && me->sqd_at < next) {
		next = me->sqd_at;
	}
	return next;
}

static void act(struct side *me)
{
	struct storm *s = me->storm;
	struct sim_endpoint *ep = me->ep;

	switch (s->error) {
	case STORM_PEER_GONE:
		sim_kill(ep->peer);
		rc_peer_gone(&ep->qp, s->world.now);
		break;
	case STORM_PEER_SILENT:
		sim_kill(ep->peer);
		break;
	case STORM_CLOSE_HERE:
		rc_to_error(&ep->qp);
		break;
	case STORM_CLOSE_THERE:
		rc_to_error(&ep->peer->qp);
		sim_wake(ep->peer, s->world.now);
		break;
	default:
		break;
	}
}

static uint64_t app(struct sim_endpoint *ep, uint64_t now)
{
	struct side *me = ep->user;
	uint64_t next = BASE_NEVER;

	while (me->recvs_posted < me->num_recvs && now >= me->recvs[me->recvs_posted].post_at) {
		struct recv *r = &me->recvs[me->recvs_posted];

		sim_host_post_recv(&ep->host, me->recvs_posted++, r->sge, r->num_sge);
	}
	if (me->recvs_posted < me->num_recvs)
		next = me->recvs[me->recvs_posted].post_at;
	while (me->posted < me->num_ops && now >= me->ops[me->posted].post_at) {
		uint32_t before = me->posted;

		post_op(me, &me->ops[me->posted]);
		if (me->posted == before)
			break; /* full: the next completion steps this endpoint anyway */
	}
	if (me->posted < me->num_ops && me->ops[me->posted].post_at > now && me->ops[me->posted].post_at < next)
		next = me->ops[me->posted].post_at;
	else if (me->posted < me->num_ops && transport_qp_state(&ep->qp) == TRANSPORT_ERROR)
		next = now + 1;
	if (me->act_at && now >= me->act_at) {
		me->act_at = 0;
		act(me);
		next = now + 1;
	} else if (me->act_at && me->act_at < next) {
		next = me->act_at;
	}
	return pause_and_resume(me, now, next);
}

/* ---- the plan ---- */

static uint32_t random_length(struct storm *s, uint32_t mtu)
{
	switch (below(s, 8)) {
	case 0:
		return 0;
	case 1:
		return (uint32_t)between(s, 1, 16);
	case 2:
		return (uint32_t)between(s, 1, mtu);
	case 3:
		return mtu * (uint32_t)between(s, 1, 8);
	case 4:
		return mtu * (uint32_t)between(s, 1, 8) + (uint32_t)between(s, 0, 2) - 1;
	case 5:
		return (uint32_t)between(s, 1, 300 * 1024);
	default:
		return (uint32_t)between(s, 1, 20 * mtu);
	}
}

/* Elements of `length` bytes altogether, each at its own place of the region, with a gap between. */
static uint32_t random_sges(struct storm *s, struct transport_sge *sge, uint64_t length, uint32_t key, uint64_t *next)
{
	uint32_t n = length == 0 ? (uint32_t)below(s, 3) : (uint32_t)between(s, 1, below(s, 2) ? 1 : SIM_SGE_MAX);
	uint64_t left = length;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t part = i == n - 1 ? left : below(s, left + 1);

		sge[i] = (struct transport_sge){ .addr = *next, .length = (uint32_t)part, .lkey = key };
		*next += part + below(s, 9);
		left -= part;
	}
	return n;
}

static uint32_t plan_op(struct side *me, uint32_t index, uint64_t *post_at, uint64_t *recv_at, bool late)
{
	struct storm *s = me->storm;
	struct side *to = me->peer->user;
	struct op *op = &me->ops[index];
	bool takes;

	op->op = (uint8_t)below(s, below(s, 2) ? 4 : 7);
	if (below(s, 12) == 0)
		op->op = below(s, 2) ? TRANSPORT_OP_SEND_WITH_INV : TRANSPORT_OP_LOCAL_INV;
	op->length = op->op == TRANSPORT_OP_LOCAL_INV ? 0 : is_atomic(op) ? 8 : random_length(s, me->ep->config.mtu);
	op->flags = (uint8_t)((below(s, 2) ? TRANSPORT_WQE_SIGNALED : 0));
	op->imm = op->op >= TRANSPORT_OP_LOCAL_INV ? (uint32_t)KEY_INV : (uint32_t)base_random_next(&s->world.random);
	op->post_at = *post_at;
	op->recv = -1;
	if (below(s, 3) == 0)
		*post_at += below(s, 200000);
	if (below(s, 8) == 0)
		op->flags |= TRANSPORT_WQE_FENCE;
	if (is_rd(op)) {
		op->num_sge = random_sges(s, op->sge, op->length, KEY_LAND, &me->land_next);
		op->rkey = op->length == 0 ? 1 : is_atomic(op) ? KEY_ATOMIC : KEY_READ_ONLY;
		op->remote_addr = is_atomic(op) ? 0x600000 : 0x500000 + below(s, 400000 - op->length);
		if (is_atomic(op))
			op->atomic_before = me->num_atomics++;
	} else if (op->length <= SIM_INLINE_MAX && below(s, 2))
		op->flags |= TRANSPORT_WQE_INLINE;
	else
		op->num_sge = random_sges(s, op->sge, op->length, KEY_SOURCE, &me->source_next);
	if (op->op <= TRANSPORT_OP_RDMA_WRITE_WITH_IMM) {
		op->rkey = op->length ? (uint32_t)KEY_WRITE : (uint32_t)below(s, 1 << 20);
		op->remote_addr = to->write_next;
		to->write_next += op->length + below(s, 9);
	}
	takes = is_send(op) || op->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
	if (takes) {
		struct recv *r = &to->recvs[to->num_recvs];
		uint64_t size = op->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM ? below(s, 100) : op->length + below(s, 2) * below(s, 1000);

		if (below(s, 2))
			op->flags |= TRANSPORT_WQE_SOLICITED;
		op->recv = (int)to->num_recvs;
		r->op = (int)index;
		r->num_sge = random_sges(s, r->sge, size, KEY_RECV, &to->recv_next);
		r->post_at = *recv_at;
		if (late && below(s, 4) == 0)
			*recv_at += below(s, 3000000);
		to->num_recvs++;
	}
	return op->length;
}

static void plan_link(struct storm *s, struct sim_link *l)
{
	struct sim_faults *f = &l->faults;

	l->lossless = s->lossless;
	l->framed = s->lossless ? false : below(s, 4) != 0;
	l->vary = below(s, 4) != 0;
	l->room_packets = (uint16_t)(below(s, 3) == 0 ? 1 : between(s, 1, 64));
	l->merge_packets = (uint16_t)(below(s, 3) == 0 ? 1 : between(s, 1, 40));
	l->packet_ns = between(s, 0, 3000);
	l->capacity = s->lossless ? (uint32_t)between(s, 1, 64) : (uint32_t)between(s, 20, 400);
	f->delay_ns = between(s, 100, 50000);
	f->jitter_ns = below(s, 2) ? below(s, 5000) : 0;
	if (below(s, 3) == 0) {
		f->sleep = (uint32_t)below(s, 2000);
		f->sleep_ns = below(s, 5000000);
	}
	if (s->lossless) {
		/* Stopped like a process in a debugger, for longer than all retries together. */
		if (s->error == STORM_NO_ERROR && below(s, 4) == 0) {
			f->sleep = 1 + (uint32_t)below(s, 1000);
			f->sleep_ns = 2000 * BASE_MSEC;
		}
		return;
	}
	if (below(s, 4))
		f->drop = (uint32_t)below(s, s->mode == STORM_HARSH ? 40000 : 3000);
	if (below(s, 2))
		f->duplicate = (uint32_t)below(s, 3000);
	if (below(s, 2))
		f->corrupt = (uint32_t)below(s, 1000);
	if (below(s, 2)) {
		f->reorder = (uint32_t)below(s, 3000);
		f->reorder_ns = below(s, 200000);
	}
	if (s->mode == STORM_GARBAGE)
		f->garbage = (uint32_t)below(s, 5000);
}

static void plan_config(struct storm *s)
{
	uint32_t mtu = 256u << below(s, 5);

	for (int i = 0; i < 2; i++) {
		struct transport_config *c = &s->ep[i].config;

		*c = (struct transport_config){
			.qpn = 0x100 + (uint32_t)i,
			.dest_qpn = 0x101 - (uint32_t)i,
			.mtu = mtu,
			.sq_psn = (uint32_t)(below(s, 2) ? below(s, 1 << 24) : 0xffffff - below(s, 40)),
			.access = TRANSPORT_REMOTE_WRITE | TRANSPORT_REMOTE_READ | TRANSPORT_REMOTE_ATOMIC,
			.max_rd_atomic = (uint8_t)between(s, 1, 4),
			.max_dest_rd_atomic = (uint8_t)between(s, 4, 16),
			.timeout = (uint8_t)(s->error || s->lossless ? between(s, 8, 11) : between(s, 9, 16)),
			.retry_cnt = 7,
			.rnr_retry = (uint8_t)(s->mode == STORM_GARBAGE ? 6 : RC_RNR_RETRY_FOREVER),
			.min_rnr_timer = (uint8_t)between(s, 1, 14),
			.lossless = s->lossless,
			.pkey = 0xffff,
		};
	}
	s->ep[0].config.rq_psn = s->ep[1].config.sq_psn;
	s->ep[1].config.rq_psn = s->ep[0].config.sq_psn;
}

static bool spoil(struct storm *s)
{
	struct side *a = &s->side[0], *b = &s->side[1];
	bool write = s->error >= STORM_BAD_RKEY && s->error <= STORM_QP_FORBIDS_WRITE;
	uint32_t candidates[OPS_MAX], n = 0;
	struct op *op;

	for (uint32_t i = 0; i < a->num_ops; i++) {
		bool ok = true;

		op = &a->ops[i];
		if (s->error == STORM_BAD_RKEY)
			ok = (op->op <= TRANSPORT_OP_RDMA_WRITE_WITH_IMM || is_rd(op)) && op->length;
		else if (write)
			ok = op->op <= TRANSPORT_OP_RDMA_WRITE_WITH_IMM && (op->length || s->error == STORM_QP_FORBIDS_WRITE);
		else if (s->error == STORM_SEND_TOO_LONG || s->error == STORM_RECV_BAD_LKEY)
			ok = op->recv >= 0 && op->op > TRANSPORT_OP_RDMA_WRITE_WITH_IMM && op->length;
		else if (s->error == STORM_LOCAL_BAD_LKEY)
			ok = op->length && !(op->flags & TRANSPORT_WQE_INLINE);
		else if (s->error == STORM_NEVER_READY)
			ok = op->recv >= 0;
		if (s->error == STORM_BAD_INVALIDATE)
			ok = op->op == TRANSPORT_OP_LOCAL_INV;
		else if (s->error == STORM_BAD_REMOTE_INVALIDATE)
			ok = op->op == TRANSPORT_OP_SEND_WITH_INV;
		if (ok)
			candidates[n++] = i;
	}
	if (n == 0)
		return false;
	s->spoiled = candidates[s->error == STORM_QP_FORBIDS_WRITE ? 0 : below(s, n)];
	op = &a->ops[s->spoiled];
	switch (s->error) {
	case STORM_BAD_RKEY:
		op->rkey = KEY_NONE;
		break;
	case STORM_OUT_OF_RANGE:
		op->remote_addr = b->ep->host.regions[2].base + b->ep->host.regions[2].length - op->length + between(s, 1, 2000);
		break;
	case STORM_READ_ONLY_REGION:
		op->rkey = KEY_READ_ONLY;
		op->remote_addr = b->ep->host.regions[3].base;
		break;
	case STORM_QP_FORBIDS_WRITE:
		s->ep[1].config.access &= ~(uint32_t)TRANSPORT_REMOTE_WRITE;
		break;
	case STORM_SEND_TOO_LONG:
		b->recvs[op->recv].num_sge = 1;
		b->recvs[op->recv].sge[0].length = (uint32_t)below(s, op->length);
		break;
	case STORM_RECV_BAD_LKEY: {
		struct recv *r = &b->recvs[op->recv];

		for (uint32_t i = 0; i < r->num_sge; i++)
			r->sge[i].lkey = KEY_NONE;
		break;
	}
	case STORM_LOCAL_BAD_LKEY:
		for (uint32_t i = 0; i < op->num_sge; i++)
			op->sge[i].lkey = KEY_NONE;
		break;
	case STORM_UNKNOWN_OP:
		op->op = TRANSPORT_OP_BIND_MW;
		break;
	case STORM_BAD_INVALIDATE:
	case STORM_BAD_REMOTE_INVALIDATE:
		op->imm = KEY_NONE;
		break;
	case STORM_NEVER_READY:
		b->num_recvs = (uint32_t)op->recv;
		s->ep[0].config.rnr_retry = (uint8_t)below(s, 4);
		for (uint32_t i = 0; i < b->num_recvs; i++)
			b->recvs[i].post_at = 0; /* the earlier ones are in time */
		break;
	default:
		a->act_at = s->world.now + below(s, 3000000);
		break;
	}
	return true;
}

static void plan_data(struct side *me)
{
	struct storm *s = me->storm;
	struct side *to = me->peer->user;
	struct sim_region *source, *recv, *write, *land, *inv;

	source = sim_host_region(&me->ep->host, 0x100000, me->source_next - 0x100000 + 64, 0, KEY_SOURCE);
	recv = sim_host_region(&me->ep->host, 0x7000000000, me->recv_next - 0x7000000000 + 64, TRANSPORT_LOCAL_WRITE, KEY_RECV);
	write = sim_host_region(&me->ep->host, 0xffff000000000000, me->write_next - 0xffff000000000000 + 64,
				TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE, KEY_WRITE);
	storm_fill(&s->world.random, sim_host_region(&me->ep->host, 0x500000, 400000, TRANSPORT_REMOTE_READ, KEY_READ_ONLY)->bytes, 400000);
	land = sim_host_region(&me->ep->host, 0x9000000, me->land_next - 0x9000000 + 64, TRANSPORT_LOCAL_WRITE, KEY_LAND);
	memset(land->bytes, STORM_UNTOUCHED, land->length);
	sim_host_region(&me->ep->host, 0x600000, 8, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_ATOMIC, KEY_ATOMIC);
	inv = sim_host_region(&me->ep->host, 0, 8, 0, KEY_INV);
	inv->invalidatable = inv->immortal = true;
	storm_fill(&s->world.random, source->bytes, source->length);
	memset(recv->bytes, STORM_UNTOUCHED, recv->length);
	memset(write->bytes, STORM_UNTOUCHED, write->length);
	(void)to;
	for (uint32_t i = 0; i < me->num_ops; i++) {
		struct op *op = &me->ops[i];
		uint8_t *at = op->data = malloc(op->length + 8);

		if (at == NULL)
			abort();
		storm_fill(&s->world.random, at, op->length + 8);
		for (uint32_t k = 0; k < op->num_sge && !is_rd(op); k++) {
			memcpy(at, sim_host_bytes(&me->ep->host, KEY_SOURCE, op->sge[k].addr, op->sge[k].length), op->sge[k].length);
			at += op->sge[k].length;
		}
	}
}

static bool plan(struct storm *s)
{
	uint64_t kind = below(&s[0], 10);

	s->lossless = below(s, 3) == 0;
	if (kind < 3)
		s->error = (enum storm_error)between(s, 1, STORM_ERRORS - 1);
	else if (kind == 3 && !s->lossless)
		s->mode = STORM_HARSH;
	else if (kind == 4 && !s->lossless)
		s->mode = STORM_GARBAGE;
	for (int i = 0; i < 2; i++) {
		sim_endpoint_init(&s->ep[i], &s->world, i ? "b" : "a", 1u << between(s, 1, 7), OPS_MAX + 4);
		s->ep[i].user = &s->side[i];
		s->ep[i].app = app;
		s->ep[i].on_send = on_send;
		s->ep[i].on_recv = on_recv;
		s->side[i] = (struct side){ .storm = s, .ep = &s->ep[i], .peer = &s->ep[1 - i], .source_next = 0x100000, .land_next = 0x9000000,
			.recv_next = 0x7000000000, .write_next = 0xffff000000000000 };
	}
	plan_config(s);
	for (int i = 0; i < 2; i++) {
		struct side *me = &s->side[i];
		uint64_t post_at = s->world.now + below(s, 1000), recv_at = s->world.now;
		bool late = below(s, 2);
		uint32_t bytes = 0;

		s->ep[i].peer = &s->ep[1 - i];
		plan_link(s, &s->ep[i].link);
		if (i && (s->error || below(s, 3) == 0))
			continue;
		for (uint32_t n = (uint32_t)between(s, 1, OPS_MAX); me->num_ops < n && bytes < 3000 * me->ep->config.mtu && bytes < 1500000;)
			bytes += plan_op(me, me->num_ops++, &post_at, &recv_at, late);
		if (!s->error && below(s, 3) == 0)
			me->sqd_at = s->world.now + below(s, 2000000);
	}
	for (int i = 0; i < 2; i++)
		plan_data(&s->side[i]);
	/* One receive more than needed: it must stay. */
	for (int i = 0; i < 2; i++) {
		struct side *me = &s->side[i];

		if (below(s, 2) && me->num_recvs && me->recvs[me->num_recvs - 1].num_sge) {
			me->recvs[me->num_recvs] = me->recvs[me->num_recvs - 1];
			me->recvs[me->num_recvs++].op = -1;
		}
	}
	return !s->error || spoil(s);
}

/* ---- the verdict on a run ---- */

static void check_status(struct storm *s)
{
	static const uint8_t local[STORM_ERRORS] = {
		[STORM_BAD_RKEY] = TRANSPORT_REM_ACCESS_ERR, [STORM_OUT_OF_RANGE] = TRANSPORT_REM_ACCESS_ERR,
		[STORM_READ_ONLY_REGION] = TRANSPORT_REM_ACCESS_ERR, [STORM_QP_FORBIDS_WRITE] = TRANSPORT_REM_INV_REQ_ERR,
		[STORM_SEND_TOO_LONG] = TRANSPORT_REM_INV_REQ_ERR, [STORM_RECV_BAD_LKEY] = TRANSPORT_REM_OP_ERR,
		[STORM_LOCAL_BAD_LKEY] = TRANSPORT_LOC_PROT_ERR, [STORM_UNKNOWN_OP] = TRANSPORT_LOC_QP_OP_ERR,
		[STORM_BAD_INVALIDATE] = TRANSPORT_LOC_QP_OP_ERR, [STORM_BAD_REMOTE_INVALIDATE] = TRANSPORT_RETRY_EXC_ERR,
		[STORM_NEVER_READY] = TRANSPORT_RNR_RETRY_EXC_ERR, [STORM_PEER_GONE] = TRANSPORT_RETRY_EXC_ERR,
		[STORM_PEER_SILENT] = TRANSPORT_RETRY_EXC_ERR, [STORM_CLOSE_HERE] = TRANSPORT_WR_FLUSH_ERR,
		[STORM_CLOSE_THERE] = TRANSPORT_RETRY_EXC_ERR,
	};
	struct side *a = &s->side[0], *b = &s->side[1];
	bool remote = s->error >= STORM_BAD_RKEY && s->error <= STORM_RECV_BAD_LKEY;
	bool refused = s->error <= STORM_NEVER_READY; /* one operation is to blame */
	struct op *op = &a->ops[s->spoiled];
	uint32_t want_recv = 0;

	if (a->failed || refused) {
		bool lost = !s->lossless && a->failed_status == TRANSPORT_RETRY_EXC_ERR && a->succeeded <= s->spoiled;

		CHECK(s, a->failed, "no error seen");
		CHECK(s, a->failed_status == local[s->error] || (lost && (remote || s->error == STORM_NEVER_READY)), "status %u, not %u",
		      a->failed_status, local[s->error]);
		CHECK(s, !refused || a->succeeded == s->spoiled || lost, "%u operations succeeded, not %u", a->succeeded, s->spoiled);
		CHECK(s, transport_qp_state(&s->ep[0].qp) == TRANSPORT_ERROR, "a is not in the error state");
	} else {
		CHECK(s, a->succeeded == a->num_ops, "no error and not done");
	}
	if (s->error == STORM_BAD_REMOTE_INVALIDATE) {
		want_recv = TRANSPORT_REM_INV_REQ_ERR;
		for (uint32_t i = s->spoiled + 1; i < a->succeeded; i++)
			CHECK(s, a->ops[i].op == TRANSPORT_OP_LOCAL_INV, "success of %u after the end of b", i);
		CHECK(s, !s->lossless || a->succeeded > s->spoiled, "accepted, but not acknowledged");
	} else if (!remote) {
		return;
	}
	if (s->error == STORM_RECV_BAD_LKEY)
		want_recv = TRANSPORT_LOC_PROT_ERR;
	else if (s->error == STORM_SEND_TOO_LONG)
		want_recv = TRANSPORT_LOC_LEN_ERR;
	CHECK(s, transport_qp_state(&s->ep[1].qp) == TRANSPORT_ERROR, "b is not in the error state");
	if (want_recv) {
		CHECK(s, b->recv_failed && b->recv_failed_status == want_recv, "receive status %u, not %u", b->recv_failed_status,
		      want_recv);
		CHECK(s, (int)b->recvs_succeeded == op->recv, "%u receives, not %d", b->recvs_succeeded, op->recv);
	}
	if (s->error == STORM_QP_FORBIDS_WRITE || s->error == STORM_SEND_TOO_LONG)
		CHECK(s, s->ep[1].events & TRANSPORT_EVENT_REQ_ERR, "no REQ_ERR event");
	else if (s->error != STORM_RECV_BAD_LKEY && s->error != STORM_BAD_REMOTE_INVALIDATE)
		CHECK(s, s->ep[1].events & TRANSPORT_EVENT_ACCESS_ERR, "no ACCESS_ERR event");
	CHECK(s, b->recvs_done == b->recvs_posted, "receives of b: %u of %u", b->recvs_done, b->recvs_posted);
}

/* What must not have been written: everything outside of the buffers, and what comes after the spoiled operation. */
static void check_memory(struct storm *s, struct side *from)
{
	struct side *to = from->peer->user;
	struct sim_region *recv = &to->ep->host.regions[1], *write = &to->ep->host.regions[2], *land = &from->ep->host.regions[4];
	bool blamed = s->error && s->error <= STORM_NEVER_READY;

	for (uint32_t i = 0; i < from->num_ops; i++) {
		struct op *op = &from->ops[i];
		bool spared = blamed && i > s->spoiled;

		/* (One that waits for a receive at its end has placed the rest.) */
		if (blamed && i == s->spoiled && s->error != STORM_NEVER_READY && !is_send(op))
			continue;
		if (is_send(op)) {
			struct recv *r = op->recv >= 0 ? &to->recvs[op->recv] : NULL;
			uint64_t left = op->length;

			for (uint32_t k = 0; r && k < r->num_sge && !spared; k++) {
				uint64_t part = r->sge[k].length < left ? r->sge[k].length : left;
				uint8_t *bytes = sim_host_bytes(&to->ep->host, KEY_RECV, r->sge[k].addr, part);

				if (bytes)
					memset(bytes, STORM_UNTOUCHED, part);
				left -= part;
			}
		} else if (op->length && !spared && op->op <= TRANSPORT_OP_RDMA_WRITE_WITH_IMM) {
			memset(write->bytes + (op->remote_addr - write->base), STORM_UNTOUCHED, op->length);
		}
	}
	for (uint32_t i = 0; i < from->num_ops; i++) {
		const struct op *op = &from->ops[i];

		for (uint32_t k = 0; is_rd(op) && k < op->num_sge && !(blamed && i > s->spoiled); k++) {
			uint8_t *bytes = sim_host_bytes(&from->ep->host, KEY_LAND, op->sge[k].addr, op->sge[k].length);

			if (bytes)
				memset(bytes, STORM_UNTOUCHED, op->sge[k].length);
		}
	}
	CHECK(s, storm_all_untouched(land->bytes, land->length), "%s: bytes outside of the READs changed", from->ep->name);
	if (!s->error && s->mode == STORM_PLAIN) {
		uint32_t invalidations = 0;
		uint64_t word;

		memcpy(&word, to->ep->host.regions[5].bytes, 8);
		for (uint32_t i = 0; i < from->num_ops; i++)
			invalidations += from->ops[i].op == TRANSPORT_OP_LOCAL_INV;
		for (uint32_t i = 0; i < to->num_ops; i++)
			invalidations += to->ops[i].op == TRANSPORT_OP_SEND_WITH_INV;
		CHECK(s, from->ep->host.regions[6].invalidated == invalidations, "%s: %u invalidations, not %u", from->ep->name,
		      from->ep->host.regions[6].invalidated, invalidations);
		CHECK(s, word == from->num_atomics, "%s: %u atomics made it %llu", from->ep->name, from->num_atomics,
		      (unsigned long long)word);
	}
	CHECK(s, storm_all_untouched(recv->bytes, recv->length), "%s: bytes outside of the receives changed", to->ep->name);
	CHECK(s, storm_all_untouched(write->bytes, write->length), "%s: bytes outside of the WRITEs changed", to->ep->name);
}

static void check_end(struct storm *s)
{
	for (int i = 0; i < 2; i++) {
		struct side *me = &s->side[i];

		if (s->ep[i].dead)
			continue;
		CHECK(s, me->posted == me->num_ops && me->done == me->num_ops, "%s: %u of %u operations completed", me->ep->name, me->done,
		      me->num_ops);
	}
	if (s->mode == STORM_GARBAGE || s->bad)
		return;
	if (s->error) {
		check_status(s);
	} else {
		for (int i = 0; i < 2; i++) {
			struct side *me = &s->side[i];

			if (me->failed && s->mode == STORM_HARSH) {
				CHECK(s, me->failed_status == TRANSPORT_RETRY_EXC_ERR || me->failed_status == TRANSPORT_WR_FLUSH_ERR,
				      "%s: status %u", me->ep->name, me->failed_status);
				continue;
			}
			CHECK(s, !me->failed, "%s: operation %u failed with status %u", me->ep->name, me->succeeded, me->failed_status);
			if (s->mode == STORM_PLAIN)
				CHECK(s, me->recvs_succeeded == me->num_recvs - (me->num_recvs && me->recvs[me->num_recvs - 1].op < 0),
				      "%s: %u of %u receives", me->ep->name, me->recvs_succeeded, me->num_recvs);
		}
	}
	for (int i = 0; i < 2; i++)
		check_memory(s, &s->side[i]);
}

static bool is_over(const struct storm *s)
{
	for (int i = 0; i < 2; i++)
		if (!s->ep[i].dead && s->side[i].done < s->side[i].num_ops)
			return false;
	return true;
}

static bool run(uint64_t seed)
{
	struct storm *s = calloc(1, sizeof(*s));
	uint64_t limit, grace = BASE_NEVER;
	bool ok;

	if (s == NULL)
		abort();
	s->seed = seed;
	sim_world_init(&s->world, seed);
	limit = s->world.now + 600 * BASE_SEC;
	s->world.trace = storm_trace();
	if (plan(s)) {
		error_runs[s->error]++;
		sim_connect(&s->ep[0], &s->ep[1]);
		while (!s->bad && s->world.now < grace && sim_world_step(&s->world)) {
			CHECK(s, s->world.now < limit && s->world.events_done < 20000000, "no end: %u of %u and %u of %u operations",
			      s->side[0].done, s->side[0].num_ops, s->side[1].done, s->side[1].num_ops);
			/* Some time more, for what still flies. */
			if (grace == BASE_NEVER && is_over(s))
				grace = s->world.now + 20 * BASE_MSEC;
		}
		check_end(s);
	}
	for (int i = 0; i < 2; i++) {
		const struct transport_stats *st = transport_qp_stats(&s->ep[i].qp);

		total_packets += st->sent_packets;
		total_bytes += st->sent_bytes;
		total_ops += s->side[i].done;
		total_retransmitted += st->retransmitted_packets;
		total_probes += st->tail_probes;
		total_timeouts += st->timeouts;
		total_rnr += st->rnr_naks_received;
	}
	ok = !s->bad;
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < s->side[i].num_ops; k++)
			free(s->side[i].ops[k].data);
		sim_endpoint_fini(&s->ep[i]);
	}
	sim_world_fini(&s->world);
	free(s);
	return ok;
}

static void report(uint64_t runs, uint64_t seed)
{
	printf("%llu runs from seed %llu: %llu operations, %llu packets (%llu again), %.1f MB, %llu probes, %llu timeouts, %llu RNR\n",
	       (unsigned long long)runs, (unsigned long long)seed, (unsigned long long)total_ops, (unsigned long long)total_packets,
	       (unsigned long long)total_retransmitted, (double)total_bytes / 1e6, (unsigned long long)total_probes,
	       (unsigned long long)total_timeouts, (unsigned long long)total_rnr);
	printf("errors:");
	for (int i = 1; i < STORM_ERRORS; i++)
		printf(" %s %llu%s", error_names[i], (unsigned long long)error_runs[i], i < STORM_ERRORS - 1 ? "," : "\n");
}

int main(int argc, char **argv)
{
	return storm_main(argc, argv, run, report);
}
