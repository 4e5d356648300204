/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uc_storm: random traffic of UC and UD QPs over random hostile links, with checkers outside of the transport.
 *
 *   uc_storm [--runs N] [--seed S] [--trace]
 *
 * Run i of seed S has the seed S + i. What the checkers hold:
 *
 *   sends      every posted WR completes exactly once and in order; success, but for the one that is spoiled and what is flushed
 *              behind it; after SQE the queue is restarted and the rest succeeds
 *   receives   complete in posting order, exactly once
 *   messages   what is delivered is a message that was sent, whole, and each at most once and in the order of sending (UD: when the
 *              network neither doubles nor reorders); what must not be delivered (wrong Q_Key, bad rkey, too long) is not
 *   lossless   a link that loses nothing delivers all, unless a receive was missing for too long
 *   memory     a WRITE that was not delivered has left whole packets from its front on, or nothing; bytes outside of buffers are
 *              untouched
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/storm.h"
#include "sim/world.h"

enum { OPS_MAX = 64, RECVS_MAX = 2 * OPS_MAX + 4, MANY = 1 << 20 };
enum { KEY_SOURCE = 0x1100, KEY_RECV = 0x2200, KEY_WRITE = 0x3300, KEY_INV = 0x7700, KEY_NONE = 0x9900 };
#define RECV_BASE 0x7000000000ull
#define WRITE_BASE 0xffff000000000000ull

enum storm_error {
	STORM_NO_ERROR,
	STORM_LOCAL_BAD_LKEY, /* of a send of a: SQE, and on */
	STORM_UNKNOWN_OP,
	STORM_BAD_INVALIDATE,
	STORM_BAD_REMOTE,     /* bad rkey or Q_Key: not delivered, nobody notices */
	STORM_TOO_LONG,       /* for its receive (UC) or for the MTU (UD) */
	STORM_RECV_BAD_LKEY,  /* b fails, a does not know */
	STORM_CLOSE_THERE,
	STORM_CLOSE_HERE,
	STORM_ERRORS
};
static const char *const error_names[STORM_ERRORS] = {
	"none", "local bad lkey", "unknown operation", "bad LOCAL_INV", "bad rkey or Q_Key", "too long", "receive with bad lkey",
	"closed there", "closed here",
};

struct op {
	uint8_t op, flags;
	bool silent; /* must not be delivered, not a byte of it */
	bool cut;    /* flushed, perhaps when its front had left */
	uint32_t length, num_sge, imm, ah, qkey, rkey;
	struct transport_sge sge[SIM_SGE_MAX];
	uint64_t remote_addr, post_at;
	uint8_t *data;
	bool delivered;
};

struct recv {
	struct transport_sge sge;
	uint64_t post_at;
};

struct side {
	struct storm *storm;
	struct sim_endpoint *ep, *peer;
	struct op ops[OPS_MAX];
	struct recv recvs[RECVS_MAX];
	uint32_t num_ops, posted, done, failed_at, failed_status, restarts;
	bool flushing;
	uint32_t num_recvs, recvs_posted, recvs_done, recvs_succeeded, recv_failed_status;
	bool recv_failed;
	int last[2]; /* what was delivered last from: the peer, itself */
	uint64_t act_at, sqd_at, resume_at;
	uint64_t source_next, recv_next, write_next;
};

struct storm {
	struct sim_world world;
	uint64_t seed;
	bool ud, lossless, late, garbage, bad;
	bool unordered; /* UD, and the network doubles or reorders: nobody hides that */
	enum storm_error error;
	uint32_t spoiled;
	struct sim_endpoint ep[2];
	struct side side[2];
};

static uint64_t total_ops, total_packets, total_delivered, total_waited, total_no_recv, total_gaps, total_old;
static uint64_t error_runs[STORM_ERRORS];

static void fail(struct storm *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct storm *s, const char *format, ...)
{
	va_list ap;

	if (s->bad)
		return;
	s->bad = true;
	fflush(stdout);
	fprintf(stderr, "uc_storm: seed %llu (%s, %s%s, error: %s): ", (unsigned long long)s->seed, s->ud ? "UD" : "UC",
		s->lossless ? "lossless" : "lossy", s->garbage ? ", garbage" : s->late ? ", late" : "", error_names[s->error]);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nuc_storm: repeat with --seed %llu --runs 1 --trace\n", (unsigned long long)s->seed);
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

static int state_of(const struct sim_endpoint *ep)
{
	return ep->kind == &sim_ud ? (int)transport_qp_state(&ep->ud) : (int)transport_qp_state(&ep->uc);
}

static void close_qp(struct sim_endpoint *ep)
{
	if (ep->kind == &sim_ud)
		ud_to_error(&ep->ud);
	else
		uc_to_error(&ep->uc);
	sim_wake(ep, ep->world->now);
}

static void set_rts(struct sim_endpoint *ep)
{
	if (ep->kind == &sim_ud) {
		struct transport_config c = ep->ud.config;

		ud_to_rts(&ep->ud, &c);
	} else {
		struct transport_config c = ep->uc.config;

		uc_to_rts(&ep->uc, &c);
	}
}

/* ---- checkers ---- */

static bool is_send(const struct op *op)
{
	return op->op == TRANSPORT_OP_SEND || op->op == TRANSPORT_OP_SEND_WITH_IMM;
}

static bool is_write(const struct op *op)
{
	return op->op == TRANSPORT_OP_RDMA_WRITE || op->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(const struct op *op)
{
	return op->op == TRANSPORT_OP_SEND_WITH_IMM || op->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
}

static void on_send(struct sim_endpoint *ep, const struct transport_completion *c)
{
	struct side *me = ep->user;
	struct storm *s = me->storm;
	struct op *op = &me->ops[me->done];

	CHECK(s, me->done < me->posted && c->wr_id == me->done, "%s: send %llu completes where %u was due", ep->name,
	      (unsigned long long)c->wr_id, me->done);
	if (s->bad)
		return;
	me->done++;
	if (c->status == TRANSPORT_SUCCESS) {
		CHECK(s, !me->flushing, "%s: success of %u in a flush", ep->name, me->done - 1);
		CHECK(s, c->signaled == ((op->flags & TRANSPORT_WQE_SIGNALED) != 0), "%s: signalling of %u", ep->name, me->done - 1);
		return;
	}
	CHECK(s, c->signaled, "%s: an error without a completion", ep->name);
	op->cut = state_of(ep) == TRANSPORT_ERROR;
	op->silent = !op->cut;
	if (!me->flushing) {
		CHECK(s, me->failed_status == 0, "%s: a second error, %u", ep->name, c->status);
		me->failed_at = me->done - 1;
		me->failed_status = c->status;
		me->flushing = true;
		if (state_of(ep) == TRANSPORT_SQE)
			me->resume_at = s->world.now + 1 + below(s, 20000);
	} else {
		CHECK(s, c->status == TRANSPORT_WR_FLUSH_ERR, "%s: status %u in a flush", ep->name, c->status);
	}
}

/* Could the receive r have completed like c because of this operation? */
static bool matches(const struct storm *s, struct side *me, const struct transport_completion *c, const struct recv *r, const struct op *op)
{
	bool write = c->opcode == TRANSPORT_WC_RECV_RDMA_WITH_IMM, imm = c->wc_flags & TRANSPORT_WC_WITH_IMM;
	uint32_t front = s->ud ? UD_GRH_BYTES : 0;
	const uint8_t *bytes;

	if (op->silent || op->cut || c->byte_len != op->length + front || has_imm(op) != imm || (imm && c->imm_or_inv != op->imm))
		return false;
	if (c->solicited != ((op->flags & TRANSPORT_WQE_SOLICITED) != 0))
		return false;
	if (write ? op->op != TRANSPORT_OP_RDMA_WRITE_WITH_IMM : !is_send(op))
		return false;
	bytes = write ? sim_host_bytes(&me->ep->host, KEY_WRITE, op->remote_addr, op->length) :
			sim_host_bytes(&me->ep->host, KEY_RECV, r->sge.addr + front, op->length);
	return op->length == 0 || memcmp(bytes, op->data, op->length) == 0;
}

static void on_recv(struct sim_endpoint *ep, const struct transport_completion *c)
{
	struct side *me = ep->user;
	struct storm *s = me->storm;
	bool self = c->src_qpn == ep->config.qpn;
	struct side *from = self ? me : me->peer->user;
	struct recv *r = &me->recvs[me->recvs_done];
	uint32_t i;

	CHECK(s, c->wr_id == me->recvs_done && me->recvs_done < me->recvs_posted, "%s: recv %llu completes where %u was due", ep->name,
	      (unsigned long long)c->wr_id, me->recvs_done);
	if (s->bad)
		return;
	me->recvs_done++;
	if (c->status != TRANSPORT_SUCCESS) {
		CHECK(s, !me->recv_failed || c->status == TRANSPORT_WR_FLUSH_ERR, "%s: recv status %u", ep->name, c->status);
		if (!me->recv_failed)
			me->recv_failed_status = c->status;
		me->recv_failed = true;
		return;
	}
	CHECK(s, !me->recv_failed, "%s: recv success after an error", ep->name);
	me->recvs_succeeded++;
	if (s->garbage)
		return;
	CHECK(s, c->src_qpn == from->ep->config.qpn, "%s: source QPN %x", ep->name, c->src_qpn);
	for (i = s->unordered ? 0 : (uint32_t)(me->last[self] + 1); i < from->num_ops; i++)
		if ((from->ops[i].ah == SIM_AH_SELF) == self && matches(s, me, c, r, &from->ops[i]))
			break;
	CHECK(s, i < from->num_ops, "%s: recv %u (len %u) is no message later than %d", ep->name, me->recvs_done - 1, c->byte_len,
	      me->last[self]);
	if (s->bad)
		return;
	me->last[self] = (int)i;
	from->ops[i].delivered = true;
	total_delivered++;
	if (s->ud) {
		uint8_t grh[UD_GRH_BYTES];

		sim_grh(c->src_qpn, grh);
		CHECK(s, c->wc_flags & TRANSPORT_WC_GRH, "%s: no GRH flag", ep->name);
		CHECK(s, memcmp(sim_host_bytes(&ep->host, KEY_RECV, r->sge.addr, UD_GRH_BYTES), grh, UD_GRH_BYTES) == 0, "%s: GRH area",
		      ep->name);
	}
}

/* ---- the application ---- */

static void post_op(struct side *me, const struct op *op)
{
	struct transport_wqe wqe = {
		.wr_id = me->posted,
		.remote_addr = op->remote_addr,
		.rkey = op->rkey,
		.imm_or_inv = op->imm,
		.length = op->length,
		.remote_qpn = op->ah == SIM_AH_SELF ? me->ep->config.qpn : me->peer->config.qpn,
		.remote_qkey = op->qkey,
		.ah = op->ah,
		.op = op->op,
		.flags = op->flags,
		.num_sge = (uint8_t)op->num_sge,
	};
	bool is_inline = op->flags & TRANSPORT_WQE_INLINE;

	if (sim_host_post_send(&me->ep->host, &wqe, is_inline ? (const void *)op->data : op->sge,
			       is_inline ? op->length : op->num_sge * (uint32_t)sizeof(op->sge[0])))
		me->posted++;
}

static uint64_t sooner(uint64_t next, uint64_t at, uint64_t now)
{
	return at && at > now && at < next ? at : next;
}

static uint64_t app(struct sim_endpoint *ep, uint64_t now)
{
	struct side *me = ep->user;
	struct storm *s = me->storm;
	uint64_t next = BASE_NEVER;

	while (me->recvs_posted < me->num_recvs && now >= me->recvs[me->recvs_posted].post_at) {
		sim_host_post_recv(&ep->host, me->recvs_posted, &me->recvs[me->recvs_posted].sge, 1);
		me->recvs_posted++;
		next = now + 1; /* somebody may wait for it */
	}
	if (me->recvs_posted < me->num_recvs)
		next = sooner(next, me->recvs[me->recvs_posted].post_at, now);
	while (me->posted < me->num_ops && now >= me->ops[me->posted].post_at) {
		uint32_t before = me->posted;

		post_op(me, &me->ops[me->posted]);
		if (me->posted == before)
			break;
		next = now + 1;
	}
	if (me->resume_at && now >= me->resume_at && state_of(ep) == TRANSPORT_SQE) {
		me->resume_at = 0;
		set_rts(ep);
		/* What was posted before ends flushed, and only that. */
		for (struct transport_completion c; ep->kind->send_completion_next(ep, &c);)
			on_send(ep, &c);
		CHECK(s, me->done == me->posted, "%s: %u of %u flushed", ep->name, me->done, me->posted);
		me->flushing = false;
		me->restarts++;
		next = now + 1;
	}
	next = sooner(next, me->resume_at, now);
	if (me->posted < me->num_ops)
		next = sooner(next, me->ops[me->posted].post_at, now);
	if (me->posted < me->num_ops && state_of(ep) >= TRANSPORT_SQE)
		next = now + 1;
	if (me->act_at && now >= me->act_at) {
		me->act_at = 0;
		close_qp(s->error == STORM_CLOSE_HERE ? ep : ep->peer);
		next = now + 1;
	}
	next = sooner(next, me->act_at, now);
	if (me->sqd_at && now >= me->sqd_at && state_of(ep) == TRANSPORT_RTS) {
		me->sqd_at = 0;
		ep->events = 0;
		if (s->ud)
			ud_to_sqd(&ep->ud);
		else
			uc_to_sqd(&ep->uc);
	}
	next = sooner(next, me->sqd_at, now);
	if (state_of(ep) == TRANSPORT_SQD) {
		ep->events |= ep->kind->events_take(ep);
		if (ep->events & TRANSPORT_EVENT_SQ_DRAINED) {
			CHECK(s, s->ud || !uc_is_draining(&ep->uc), "%s: drained and draining", ep->name);
			CHECK(s, !ep->kind->wants_room(ep, now), "%s: drained and sending", ep->name);
			set_rts(ep);
		}
		next = now + 1000;
	}
	return next;
}

/* ---- the plan ---- */

static uint32_t random_length(struct storm *s, uint32_t mtu)
{
	if (s->ud)
		return (uint32_t)(below(s, 3) ? below(s, mtu + 1) : below(s, 2) ? mtu - below(s, 3) : below(s, 20));
	switch (below(s, 6)) {
	case 0:
		return 0;
	case 1:
		return (uint32_t)between(s, 1, 16);
	case 2:
		return mtu * (uint32_t)between(s, 1, 8);
	case 3:
		return (uint32_t)between(s, 1, 100 * 1024);
	default:
		return (uint32_t)between(s, 1, 10 * mtu);
	}
}

static void plan_op(struct side *me, uint32_t index, uint64_t *post_at, uint64_t *recv_at)
{
	static const uint8_t kinds[] = { TRANSPORT_OP_SEND, TRANSPORT_OP_SEND_WITH_IMM, TRANSPORT_OP_RDMA_WRITE,
					 TRANSPORT_OP_RDMA_WRITE_WITH_IMM };
	struct storm *s = me->storm;
	struct op *op = &me->ops[index];
	struct side *to;
	uint64_t left;

	*op = (struct op){ .op = kinds[below(s, s->ud ? 2 : 4)], .length = random_length(s, me->ep->config.mtu), .post_at = *post_at };
	op->flags = (uint8_t)(below(s, 2) ? TRANSPORT_WQE_SIGNALED : 0);
	op->imm = (uint32_t)base_random_next(&s->world.random);
	op->ah = s->ud && below(s, 3) == 0 ? (uint32_t)SIM_AH_SELF : (uint32_t)SIM_AH_PEER;
	op->qkey = below(s, 3) ? (uint32_t)SIM_QKEY : 0x80000000u | (uint32_t)below(s, 100);
	to = op->ah == SIM_AH_SELF ? me : me->peer->user;
	if (below(s, 3) == 0)
		*post_at += below(s, 200000);
	if (!s->ud && below(s, 20) == 0) {
		op->op = TRANSPORT_OP_LOCAL_INV;
		op->imm = KEY_INV + index;
		op->length = 0;
		return;
	}
	if (op->length <= SIM_INLINE_MAX && below(s, 2)) {
		op->flags |= TRANSPORT_WQE_INLINE;
	} else {
		op->num_sge = (uint32_t)between(s, 1, SIM_SGE_MAX);
		left = op->length;
		for (uint32_t i = 0; i < op->num_sge; i++) {
			uint64_t part = i == op->num_sge - 1 ? left : below(s, left + 1);

			op->sge[i] = (struct transport_sge){ .addr = me->source_next, .length = (uint32_t)part, .lkey = KEY_SOURCE };
			me->source_next += part + below(s, 9);
			left -= part;
		}
	}
	if (is_write(op)) {
		op->rkey = op->length ? (uint32_t)KEY_WRITE : (uint32_t)below(s, MANY);
		op->remote_addr = to->write_next;
		to->write_next += op->length + below(s, 9);
	}
	if (op->op == TRANSPORT_OP_RDMA_WRITE)
		return;
	if (below(s, 2))
		op->flags |= TRANSPORT_WQE_SOLICITED;
	/* One receive for each message; large enough for any, since it cannot be known which one meets it. */
	to->recvs[to->num_recvs] = (struct recv){ .sge = { .lkey = KEY_RECV }, .post_at = s->late ? *recv_at : 0 };
	if (s->late && below(s, 4) == 0)
		*recv_at += below(s, 3000000);
	to->num_recvs++;
}

static void plan_link(struct storm *s, struct sim_link *l)
{
	struct sim_faults *f = &l->faults;

	l->lossless = s->lossless;
	l->framed = s->lossless ? false : below(s, 4) != 0;
	l->vary = below(s, 4) != 0;
	l->room_packets = (uint16_t)(below(s, 3) == 0 ? 1 : between(s, 1, 64));
	l->merge_packets = (uint16_t)(s->ud || below(s, 3) == 0 ? 1 : between(s, 1, 40));
	l->packet_ns = between(s, 0, 3000);
	l->capacity = s->lossless ? (uint32_t)between(s, 1, 64) : (uint32_t)between(s, 20, 400);
	f->delay_ns = between(s, 100, 50000);
	f->jitter_ns = below(s, 2) ? below(s, 5000) : 0;
	if (below(s, 3) == 0) {
		f->sleep = (uint32_t)below(s, 2000);
		f->sleep_ns = below(s, 5000000);
	}
	if (s->lossless)
		return;
	if (below(s, 4))
		f->drop = (uint32_t)below(s, below(s, 4) ? 3000 : 30000);
	if (s->ud && below(s, 2))
		return;
	s->unordered = s->ud;
	if (below(s, 2))
		f->duplicate = (uint32_t)below(s, 3000);
	if (below(s, 2))
		f->corrupt = (uint32_t)below(s, 1000);
	if (below(s, 2)) {
		f->reorder = (uint32_t)below(s, 3000);
		f->reorder_ns = below(s, 200000);
	}
	if (s->garbage)
		f->garbage = (uint32_t)below(s, 5000);
}

static bool spoil(struct storm *s)
{
	struct side *a = &s->side[0], *b = &s->side[1];
	uint32_t candidates[OPS_MAX], n = 0;
	struct op *op;

	for (uint32_t i = 0; i < a->num_ops; i++) {
		bool ok = true;

		op = &a->ops[i];
		if (s->error == STORM_LOCAL_BAD_LKEY)
			ok = op->length && op->num_sge;
		else if (s->error == STORM_BAD_INVALIDATE)
			ok = op->op == TRANSPORT_OP_LOCAL_INV;
		else if (s->error == STORM_BAD_REMOTE)
			ok = s->ud || (is_write(op) && op->length);
		else if (s->error == STORM_TOO_LONG)
			ok = is_send(op) && op->num_sge == 1;
		if (ok)
			candidates[n++] = i;
	}
	if (n == 0 || (s->error == STORM_RECV_BAD_LKEY && (b->num_recvs == 0 || s->ud)))
		return false;
	s->spoiled = candidates[below(s, n)];
	op = &a->ops[s->spoiled];
	switch (s->error) {
	case STORM_LOCAL_BAD_LKEY:
		for (uint32_t i = 0; i < op->num_sge; i++)
			op->sge[i].lkey = KEY_NONE;
		break;
	case STORM_UNKNOWN_OP:
		op->op = (uint8_t)(below(s, 2) ? TRANSPORT_OP_SEND_WITH_INV : TRANSPORT_OP_RDMA_READ);
		break;
	case STORM_BAD_INVALIDATE:
		op->imm = KEY_NONE;
		break;
	case STORM_BAD_REMOTE:
		op->silent = true;
		if (s->ud)
			op->qkey = SIM_QKEY + 1;
		else
			op->rkey = KEY_NONE;
		break;
	case STORM_TOO_LONG:
		/* Longer than any receive of UC, than the MTU of UD. */
		op->silent = true;
		op->length = op->sge[0].length = s->ud ? a->ep->config.mtu + 1 : 101 * 1024;
		op->sge[0].addr = a->source_next;
		a->source_next += op->length;
		break;
	case STORM_RECV_BAD_LKEY:
		b->recvs[below(s, b->num_recvs)].sge.lkey = KEY_NONE;
		break;
	default:
		a->act_at = s->world.now + below(s, 2000000);
		break;
	}
	return true;
}

static void plan_data(struct side *me)
{
	struct storm *s = me->storm;
	uint32_t size = s->ud ? UD_GRH_BYTES + me->ep->config.mtu : 100 * 1024;
	struct sim_region *source, *recv, *write;

	for (uint32_t i = 0; i < me->num_recvs; i++) {
		me->recvs[i].sge.addr = me->recv_next;
		me->recvs[i].sge.length = size;
		me->recv_next += size + below(s, 9);
	}
	source = sim_host_region(&me->ep->host, 0x100000, me->source_next - 0x100000 + 64, 0, KEY_SOURCE);
	recv = sim_host_region(&me->ep->host, RECV_BASE, me->recv_next - RECV_BASE + 64, TRANSPORT_LOCAL_WRITE, KEY_RECV);
	write = sim_host_region(&me->ep->host, WRITE_BASE, me->write_next - WRITE_BASE + 64, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE,
				KEY_WRITE);
	storm_fill(&s->world.random, source->bytes, source->length);
	memset(recv->bytes, STORM_UNTOUCHED, recv->length);
	memset(write->bytes, STORM_UNTOUCHED, write->length);
	for (uint32_t i = 0; i < me->num_ops; i++) {
		struct op *op = &me->ops[i];
		uint8_t *at = op->data = malloc(op->length + 8);

		if (at == NULL)
			abort();
		storm_fill(&s->world.random, at, op->length + 8);
		for (uint32_t k = 0; k < op->num_sge; k++) {
			const uint8_t *bytes = sim_host_bytes(&me->ep->host, KEY_SOURCE, op->sge[k].addr, op->sge[k].length);

			memcpy(at, bytes, op->sge[k].length);
			at += op->sge[k].length;
		}
		if (op->op == TRANSPORT_OP_LOCAL_INV && op->imm != KEY_NONE && me->ep->host.num_regions < SIM_REGIONS)
			sim_host_region(&me->ep->host, 0, 8, 0, op->imm)->invalidatable = true;
		else if (op->op == TRANSPORT_OP_LOCAL_INV && op->imm != KEY_NONE)
			op->op = TRANSPORT_OP_RDMA_WRITE; /* of nothing */
	}
}

static bool plan(struct storm *s)
{
	uint32_t mtu;

	s->ud = below(s, 2);
	s->lossless = below(s, 2);
	s->late = below(s, 3) == 0;
	if (below(s, 10) < 4)
		s->error = (enum storm_error)between(s, 1, STORM_ERRORS - 1);
	else if (!s->lossless && below(s, 6) == 0)
		s->garbage = true;
	mtu = 256u << below(s, 5);
	for (int i = 0; i < 2; i++) {
		struct sim_endpoint *ep = &s->ep[i];

		sim_endpoint_init_kind(ep, &s->world, i ? "b" : "a", 1u << between(s, 1, 7), RECVS_MAX, s->ud ? &sim_ud : &sim_uc);
		ep->user = &s->side[i];
		ep->app = app;
		ep->on_send = on_send;
		ep->on_recv = on_recv;
		ep->peer = &s->ep[1 - i];
		ep->config = (struct transport_config){
			.qpn = 0x100 + (uint32_t)i,
			.dest_qpn = 0x101 - (uint32_t)i,
			.mtu = mtu,
			.sq_psn = (uint32_t)(below(s, 2) ? below(s, 1 << 24) : 0xffffff - below(s, 40)),
			.access = TRANSPORT_REMOTE_WRITE,
			.pkey = 0xffff,
		};
		s->side[i] = (struct side){ .storm = s, .ep = ep, .peer = ep->peer, .source_next = 0x100000, .recv_next = RECV_BASE,
					    .write_next = WRITE_BASE, .last = { -1, -1 } };
	}
	s->ep[0].config.rq_psn = s->ep[1].config.sq_psn;
	s->ep[1].config.rq_psn = s->ep[0].config.sq_psn;
	for (int i = 0; i < 2; i++) {
		struct side *me = &s->side[i];
		uint64_t post_at = s->world.now + below(s, 1000), recv_at = s->world.now;
		uint32_t bytes = 0;

		plan_link(s, &s->ep[i].link);
		if (i && below(s, 3) == 0)
			continue;
		for (uint32_t n = (uint32_t)between(s, 1, OPS_MAX); me->num_ops < n && bytes < 1000000;) {
			plan_op(me, me->num_ops, &post_at, &recv_at);
			bytes += me->ops[me->num_ops++].length;
		}
		if (!s->error && below(s, 3) == 0)
			me->sqd_at = s->world.now + below(s, 1000000);
	}
	if (s->error && !spoil(s))
		return false;
	for (int i = 0; i < 2; i++)
		plan_data(&s->side[i]);
	return true;
}

/* ---- the verdict on a run ---- */

/* The packets that came are there, from the front on; those that did not, are not. */
static void check_write(struct storm *s, struct side *from, struct side *to, uint32_t i, bool whole)
{
	struct op *op = &from->ops[i];
	uint32_t mtu = from->ep->config.mtu, at = 0;
	uint8_t *bytes = sim_host_bytes(&to->ep->host, KEY_WRITE, op->remote_addr, op->length);

	while (at < op->length) {
		uint32_t part = op->length - at < mtu ? op->length - at : mtu;

		if (memcmp(bytes + at, op->data + at, part) != 0)
			break;
		at += part;
	}
	CHECK(s, at >= op->length || !whole, "%s: WRITE %u is not whole", from->ep->name, i);
	CHECK(s, !op->silent || at == 0, "%s: WRITE %u was placed", from->ep->name, i);
	memset(bytes, STORM_UNTOUCHED, at);
}

static void check_side(struct storm *s, struct side *me)
{
	struct side *peer = me->peer->user;
	uint32_t spoiled = me == &s->side[0] && s->error && s->error <= STORM_BAD_INVALIDATE;
	uint32_t no_recv[2] = { me->ep->verdicts[s->ud ? (int)UD_DROPPED_NO_RECV : (int)UC_DROPPED_NO_RECV],
				me->peer->verdicts[s->ud ? (int)UD_DROPPED_NO_RECV : (int)UC_DROPPED_NO_RECV] };
	struct sim_region *recv = &me->ep->host.regions[1];
	bool complete = s->lossless && !no_recv[0] && !no_recv[1] && (s->error < STORM_RECV_BAD_LKEY) && !s->garbage;

	CHECK(s, me->posted == me->num_ops && me->done == me->num_ops, "%s: %u of %u sends completed", me->ep->name, me->done, me->num_ops);
	if (spoiled) {
		static const uint8_t want[] = { 0, TRANSPORT_LOC_PROT_ERR, TRANSPORT_LOC_QP_OP_ERR, TRANSPORT_LOC_QP_OP_ERR };

		CHECK(s, me->failed_status == want[s->error] && me->failed_at == s->spoiled, "%s: %u failed with %u", me->ep->name,
		      me->failed_at, me->failed_status);
		CHECK(s, me->restarts == 1 && state_of(me->ep) == TRANSPORT_RTS, "%s: not restarted", me->ep->name);
	} else if (s->error < STORM_RECV_BAD_LKEY && !s->garbage) {
		CHECK(s, !me->failed_status, "%s: send %u failed with %u", me->ep->name, me->failed_at, me->failed_status);
		CHECK(s, !me->recv_failed, "%s: a receive failed with %u", me->ep->name, me->recv_failed_status);
	} else if (s->error == STORM_RECV_BAD_LKEY && me == &s->side[1] && me->recv_failed) {
		CHECK(s, me->recv_failed_status == TRANSPORT_LOC_PROT_ERR && state_of(me->ep) == TRANSPORT_ERROR, "b: status %u",
		      me->recv_failed_status);
	}
	if (state_of(me->ep) == TRANSPORT_ERROR)
		CHECK(s, me->recvs_done == me->recvs_posted, "%s: %u of %u receives", me->ep->name, me->recvs_done, me->recvs_posted);
	if (s->garbage)
		return;
	for (uint32_t i = 0; i < me->num_ops; i++) {
		struct op *op = &me->ops[i];

		CHECK(s, !(op->delivered && (op->silent || op->cut)), "%s: message %u was delivered", me->ep->name, i);
		if (complete && !op->silent && !op->cut && (is_send(op) || op->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM))
			CHECK(s, op->delivered, "%s: message %u is lost", me->ep->name, i);
		if (is_write(op) && op->length)
			check_write(s, me, peer, i, op->delivered || (complete && !op->silent && !op->cut));
	}
	for (uint32_t i = 0; i < me->num_recvs && i < me->ep->host.recvs_taken; i++) {
		uint8_t *bytes = sim_host_bytes(&me->ep->host, KEY_RECV, me->recvs[i].sge.addr, me->recvs[i].sge.length);

		memset(bytes, STORM_UNTOUCHED, me->recvs[i].sge.length);
	}
	CHECK(s, storm_all_untouched(recv->bytes, recv->length), "%s: bytes outside of the receives changed", me->ep->name);
}

static void check_end(struct storm *s)
{
	for (int i = 0; i < 2; i++)
		check_side(s, &s->side[i]);
	for (int i = 0; i < 2 && !s->garbage; i++)
		CHECK(s, storm_all_untouched(s->ep[i].host.regions[2].bytes, s->ep[i].host.regions[2].length),
		      "%s: bytes outside of the WRITEs changed", s->ep[i].name);
}

static bool is_over(const struct storm *s)
{
	for (int i = 0; i < 2; i++)
		if (s->side[i].done < s->side[i].num_ops || s->side[i].resume_at || s->ep[i].inbox_head || s->ep[i].in_transit)
			return false;
	return true;
}

static bool run(uint64_t seed)
{
	struct storm *s = calloc(1, sizeof(*s));
	uint64_t limit;
	bool ok;

	if (s == NULL)
		abort();
	s->seed = seed;
	sim_world_init(&s->world, seed);
	limit = s->world.now + 60 * BASE_SEC;
	s->world.trace = storm_trace();
	if (plan(s)) {
		error_runs[s->error]++;
		sim_connect(&s->ep[0], &s->ep[1]);
		while (!s->bad && !is_over(s) && sim_world_step(&s->world))
			CHECK(s, s->world.now < limit && s->world.events_done < 20000000, "no end: %u of %u and %u of %u sends",
			      s->side[0].done, s->side[0].num_ops, s->side[1].done, s->side[1].num_ops);
		if (!s->bad)
			check_end(s);
	}
	ok = !s->bad;
	for (int i = 0; i < 2; i++) {
		const uint32_t *v = s->ep[i].verdicts;

		total_ops += s->side[i].done;
		total_packets += s->ep[i].packets_sent;
		total_waited += v[s->ud ? (int)UD_NO_RECV : (int)UC_NO_RECV];
		total_no_recv += v[s->ud ? (int)UD_DROPPED_NO_RECV : (int)UC_DROPPED_NO_RECV];
		total_gaps += s->ud ? 0 : v[UC_DROPPED_GAP];
		total_old += s->ud ? 0 : v[UC_DROPPED_OLD];
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
	printf("%llu runs from seed %llu: %llu operations, %llu packets, %llu receives; waited %llu, no receive %llu, gaps %llu, old %llu\n",
	       (unsigned long long)runs, (unsigned long long)seed, (unsigned long long)total_ops, (unsigned long long)total_packets,
	       (unsigned long long)total_delivered, (unsigned long long)total_waited, (unsigned long long)total_no_recv,
	       (unsigned long long)total_gaps, (unsigned long long)total_old);
	printf("errors:");
	for (int i = 1; i < STORM_ERRORS; i++)
		printf(" %s %llu%s", error_names[i], (unsigned long long)error_runs[i], i < STORM_ERRORS - 1 ? "," : "\n");
}

int main(int argc, char **argv)
{
	return storm_main(argc, argv, run, report);
}
