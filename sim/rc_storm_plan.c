/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The plan of a run of rc_storm: operations, receives, links, settings, memory, and what is spoiled. */
#include "sim/rc_storm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { FLUSH = TRANSPORT_FLUSH_GLOBAL | TRANSPORT_FLUSH_PERSISTENT };

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

/* Of the range of an earlier WRITE, or of the whole region. */
static void plan_flush(struct side *me, struct op *op)
{
	struct storm *s = me->storm;
	uint32_t index = (uint32_t)(op - me->ops);

	op->imm = TRANSPORT_FLUSH_GLOBAL * (uint32_t)between(s, 1, 3);
	op->rkey = KEY_WRITE;
	op->flush_of = index ? (int)below(s, index) : -1;
	if (op->flush_of >= 0 && is_write(&me->ops[op->flush_of])) {
		op->remote_addr = me->ops[op->flush_of].remote_addr;
		op->length = me->ops[op->flush_of].length;
	} else {
		op->flush_of = -1;
		op->flags |= TRANSPORT_WQE_WHOLE;
		op->remote_addr = base_random_next(&s->world.random);
		op->length = (uint32_t)below(s, 100000);
	}
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
	else if (below(s, 10) == 0)
		op->op = below(s, 2) ? TRANSPORT_OP_FLUSH : TRANSPORT_OP_ATOMIC_WRITE;
	if (s->xrc)
		op->srqn = (uint32_t)between(s, 1, STORM_SRQS);
	if (op->op == TRANSPORT_OP_ATOMIC_WRITE || is_atomic(op))
		op->length = 8;
	else if (op->op != TRANSPORT_OP_LOCAL_INV && op->op != TRANSPORT_OP_FLUSH)
		op->length = random_length(s, me->ep->config.mtu);
	op->flags = (uint8_t)((below(s, 2) ? TRANSPORT_WQE_SIGNALED : 0));
	op->imm = op->op == TRANSPORT_OP_LOCAL_INV || op->op == TRANSPORT_OP_SEND_WITH_INV ? (uint32_t)KEY_INV :
											 (uint32_t)base_random_next(&s->world.random);
	op->post_at = *post_at;
	op->recv = -1;
	if (below(s, 3) == 0)
		*post_at += below(s, 200000);
	if (below(s, 8) == 0)
		op->flags |= TRANSPORT_WQE_FENCE;
	if (op->op == TRANSPORT_OP_FLUSH) {
		plan_flush(me, op);
	} else if (lands(op)) {
		op->num_sge = random_sges(s, op->sge, op->length, KEY_LAND, &me->land_next);
		op->rkey = op->length == 0 ? 1 : is_atomic(op) ? KEY_ATOMIC : KEY_READ_ONLY;
		op->remote_addr = is_atomic(op) ? 0x600000 : 0x500000 + below(s, 400000 - op->length);
		if (is_atomic(op))
			op->atomic_before = me->num_atomics++;
	} else if (op->length <= SIM_INLINE_MAX && below(s, 2))
		op->flags |= TRANSPORT_WQE_INLINE;
	else
		op->num_sge = random_sges(s, op->sge, op->length, KEY_SOURCE, &me->source_next);
	if (op->op == TRANSPORT_OP_ATOMIC_WRITE)
		to->write_next = (to->write_next + 7) & ~7ull;
	if (is_write(op)) {
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
		r->srqn = op->srqn;
		r->num_sge = random_sges(s, r->sge, size, KEY_RECV, &to->recv_next);
		r->post_at = *recv_at;
		if (late && below(s, 4) == 0)
			*recv_at += below(s, 3000000);
		to->num_recvs++;
	}
	return op->op == TRANSPORT_OP_FLUSH ? 0 : op->length;
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
			.access = TRANSPORT_REMOTE_WRITE | TRANSPORT_REMOTE_READ | TRANSPORT_REMOTE_ATOMIC | FLUSH,
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
			ok = (is_write(op) || is_rd(op)) && op->length;
		else if (write)
			ok = is_write(op) && (op->length || s->error == STORM_QP_FORBIDS_WRITE);
		else if (s->error == STORM_SEND_TOO_LONG || s->error == STORM_RECV_BAD_LKEY)
			ok = op->recv >= 0 && op->op > TRANSPORT_OP_RDMA_WRITE_WITH_IMM && op->length;
		else if (s->error == STORM_LOCAL_BAD_LKEY)
			ok = op->num_sge && op->length && !(op->flags & TRANSPORT_WQE_INLINE);
		else if (s->error == STORM_NEVER_READY)
			ok = op->recv >= 0;
		else if (s->error == STORM_BAD_SRQ)
			ok = op->op != TRANSPORT_OP_LOCAL_INV; /* names none */
		if (s->error == STORM_BAD_INVALIDATE)
			ok = op->op == TRANSPORT_OP_LOCAL_INV;
		else if (s->error == STORM_BAD_REMOTE_INVALIDATE)
			ok = op->op == TRANSPORT_OP_SEND_WITH_INV;
		if (ok)
			candidates[n++] = i;
	}
	if (n == 0 || (s->error == STORM_BAD_SRQ && !s->xrc))
		return false;
	s->spoiled = candidates[s->error == STORM_QP_FORBIDS_WRITE ? 0 : below(s, n)];
	op = &a->ops[s->spoiled];
	switch (s->error) {
	case STORM_BAD_RKEY:
		op->rkey = KEY_NONE;
		break;
	case STORM_OUT_OF_RANGE:
		op->remote_addr = b->ep->host.regions[2].base + b->ep->host.regions[2].length - op->length + between(s, 1, 2000);
		if (op->op == TRANSPORT_OP_ATOMIC_WRITE) /* a crooked address would be refused for that first */
			op->remote_addr = (op->remote_addr + 7) & ~7ull;
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
		op->op = 11; /* of no operation that there is */
		break;
	case STORM_BAD_INVALIDATE:
	case STORM_BAD_REMOTE_INVALIDATE:
		op->imm = KEY_NONE;
		break;
	case STORM_BAD_SRQ:
		op->srqn = STORM_SRQS + 1;
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
				TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE | FLUSH, KEY_WRITE);
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
		for (uint32_t k = 0; k < op->num_sge && !lands(op); k++) {
			memcpy(at, sim_host_bytes(&me->ep->host, KEY_SOURCE, op->sge[k].addr, op->sge[k].length), op->sge[k].length);
			at += op->sge[k].length;
		}
	}
}

bool rc_storm_plan(struct storm *s)
{
	uint64_t kind = below(&s[0], 10);

	s->lossless = below(s, 3) == 0;
	s->xrc = below(s, 4) == 0;
	if (kind < 3)
		s->error = (enum storm_error)between(s, 1, STORM_ERRORS - 1);
	else if (kind == 3 && !s->lossless)
		s->mode = STORM_HARSH;
	else if (kind == 4 && !s->lossless)
		s->mode = STORM_GARBAGE;
	for (int i = 0; i < 2; i++) {
		sim_endpoint_init_kind(&s->ep[i], &s->world, i ? "b" : "a", 1u << between(s, 1, 7), OPS_MAX + 4,
				       !s->xrc ? &sim_rc : i ? &sim_xrc_tgt : &sim_xrc_ini);
		if (s->xrc && i)
			s->ep[i].host.srqs = STORM_SRQS;
		s->ep[i].user = &s->side[i];
		s->ep[i].app = rc_storm_app;
		s->ep[i].on_send = rc_storm_on_send;
		s->ep[i].on_recv = rc_storm_on_recv;
		s->side[i] = (struct side){ .storm = s, .ep = &s->ep[i], .peer = &s->ep[1 - i], .source_next = 0x100000, .land_next = 0x9000000,
			.recv_next = 0x7000000000, .write_next = 0xffff000000000000 };
	}
	plan_config(s);
	/* No random number: seeds of old show what they showed. */
	s->selective = !s->lossless && !s->xrc && s->seed % 2;
	for (int i = 0; i < 2 && s->selective; i++)
		sim_selective(&s->ep[i]);
	for (int i = 0; i < 2; i++) {
		struct side *me = &s->side[i];
		uint64_t post_at = s->world.now + below(s, 1000), recv_at = s->world.now;
		bool late = below(s, 2);
		uint32_t bytes = 0;

		s->ep[i].peer = &s->ep[1 - i];
		plan_link(s, &s->ep[i].link);
		/* An XRC target asks nothing. */
		if (i && (s->error || s->xrc || below(s, 3) == 0))
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
