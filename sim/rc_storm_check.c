/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checkers of rc_storm: each completion when it comes, and all that is left when a run is over. */
#include "sim/rc_storm.h"

#include <string.h>

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

/* What was written before is in what the FLUSH found. */
static bool op_is_flushed(struct side *from, const struct op *flush)
{
	const struct sim_region *write = &from->peer->host.regions[2];

	for (const struct op *op = from->ops; op < flush; op++) {
		if (!is_write(op) || op->length == 0 || (flush->flush_of >= 0 && op != &from->ops[flush->flush_of]))
			continue;
		if (memcmp(write->flushed + (op->remote_addr - write->base), op->data, op->length) != 0)
			return false;
	}
	return true;
}

static bool op_is_placed(struct side *from, const struct op *op)
{
	struct side *to = from->peer->user;

	if (is_atomic(op))
		return sges_equal(&from->ep->host, op->sge, op->num_sge, (const uint8_t *)&op->atomic_before, 8);
	if (op->op == TRANSPORT_OP_FLUSH)
		return op_is_flushed(from, op);
	if (lands(op))
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
	case TRANSPORT_OP_FLUSH:
		return TRANSPORT_WC_FLUSH;
	case TRANSPORT_OP_ATOMIC_WRITE:
		return TRANSPORT_WC_ATOMIC_WRITE;
	case TRANSPORT_OP_LOCAL_INV:
		return TRANSPORT_WC_LOCAL_INV;
	case TRANSPORT_OP_RDMA_WRITE:
	case TRANSPORT_OP_RDMA_WRITE_WITH_IMM:
		return TRANSPORT_WC_RDMA_WRITE;
	default:
		return TRANSPORT_WC_SEND;
	}
}

void rc_storm_on_send(struct sim_endpoint *ep, const struct transport_completion *c)
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

void rc_storm_on_recv(struct sim_endpoint *ep, const struct transport_completion *c)
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
	CHECK(s, c->srqn == r->srqn, "%s: recv %u is of SRQ %u", ep->name, me->recvs_done - 1, c->srqn);
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

/* ---- the verdict on a run ---- */

static void check_status(struct storm *s)
{
	static const uint8_t local[STORM_ERRORS] = {
		[STORM_BAD_RKEY] = TRANSPORT_REM_ACCESS_ERR, [STORM_OUT_OF_RANGE] = TRANSPORT_REM_ACCESS_ERR,
		[STORM_READ_ONLY_REGION] = TRANSPORT_REM_ACCESS_ERR, [STORM_QP_FORBIDS_WRITE] = TRANSPORT_REM_INV_REQ_ERR,
		[STORM_SEND_TOO_LONG] = TRANSPORT_REM_INV_REQ_ERR, [STORM_RECV_BAD_LKEY] = TRANSPORT_REM_OP_ERR,
		[STORM_LOCAL_BAD_LKEY] = TRANSPORT_LOC_PROT_ERR, [STORM_UNKNOWN_OP] = TRANSPORT_LOC_QP_OP_ERR,
		[STORM_BAD_INVALIDATE] = TRANSPORT_LOC_QP_OP_ERR, [STORM_BAD_REMOTE_INVALIDATE] = TRANSPORT_RETRY_EXC_ERR,
		[STORM_NEVER_READY] = TRANSPORT_RNR_RETRY_EXC_ERR, [STORM_BAD_SRQ] = TRANSPORT_REM_INV_REQ_ERR,
		[STORM_PEER_GONE] = TRANSPORT_RETRY_EXC_ERR,
		[STORM_PEER_SILENT] = TRANSPORT_RETRY_EXC_ERR, [STORM_CLOSE_HERE] = TRANSPORT_WR_FLUSH_ERR,
		[STORM_CLOSE_THERE] = TRANSPORT_RETRY_EXC_ERR,
	};
	struct side *a = &s->side[0], *b = &s->side[1];
	bool remote = (s->error >= STORM_BAD_RKEY && s->error <= STORM_RECV_BAD_LKEY) || s->error == STORM_BAD_SRQ;
	bool refused = s->error <= STORM_NEVER_READY || s->error == STORM_BAD_SRQ; /* one operation is to blame */
	struct op *op = &a->ops[s->spoiled];
	uint32_t want_recv = 0, flushed;

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
	if (s->error == STORM_QP_FORBIDS_WRITE || s->error == STORM_SEND_TOO_LONG || s->error == STORM_BAD_SRQ)
		CHECK(s, s->ep[1].events & TRANSPORT_EVENT_REQ_ERR, "no REQ_ERR event");
	else if (s->error != STORM_RECV_BAD_LKEY && s->error != STORM_BAD_REMOTE_INVALIDATE)
		CHECK(s, s->ep[1].events & TRANSPORT_EVENT_ACCESS_ERR, "no ACCESS_ERR event");
	/* An SRQ keeps what nobody took. */
	flushed = s->xrc ? b->ep->host.recvs_taken : b->recvs_posted;
	CHECK(s, b->recvs_done == flushed, "receives of b: %u of %u", b->recvs_done, flushed);
}

/* What must not have been written: everything outside of the buffers, and what comes after the spoiled operation. */
static void check_memory(struct storm *s, struct side *from)
{
	struct side *to = from->peer->user;
	struct sim_region *recv = &to->ep->host.regions[1], *write = &to->ep->host.regions[2], *land = &from->ep->host.regions[4];
	bool blamed = s->error && (s->error <= STORM_NEVER_READY || s->error == STORM_BAD_SRQ);

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
		} else if (op->length && !spared && is_write(op)) {
			memset(write->bytes + (op->remote_addr - write->base), STORM_UNTOUCHED, op->length);
		}
	}
	for (uint32_t i = 0; i < from->num_ops; i++) {
		const struct op *op = &from->ops[i];

		for (uint32_t k = 0; lands(op) && k < op->num_sge && !(blamed && i > s->spoiled); k++) {
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

void rc_storm_check_end(struct storm *s)
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
