/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting: work requests go straight into the transport's slots, checked by the rules of the specification's posting table. */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/limits.h"
#include "hca/profile.h"
#include "hca/mr.h"
#include "hca/mw.h"
#include "hca/qp_internal.h"

/* The flags that mean something here; checksum offload is not offered and its flag ignored. */
enum { FLAGS = TRANSPORT_WQE_FENCE | TRANSPORT_WQE_SIGNALED | TRANSPORT_WQE_SOLICITED | TRANSPORT_WQE_INLINE };
enum { RC_OPS = 1 << 0, UC_OPS = 1 << 1, UD_OPS = 1 << 2, INLINE_OK = 1 << 3, ATOMIC = 1 << 4 };
enum { QPN_MASK = 0xffffff };

/* What each opcode may be used with. */
static const uint8_t op_rules[TRANSPORT_OP_COUNT] = {
	[TRANSPORT_OP_RDMA_WRITE] = RC_OPS | UC_OPS | INLINE_OK,
	[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = RC_OPS | UC_OPS | INLINE_OK,
	[TRANSPORT_OP_SEND] = RC_OPS | UC_OPS | UD_OPS | INLINE_OK,
	[TRANSPORT_OP_SEND_WITH_IMM] = RC_OPS | UC_OPS | UD_OPS | INLINE_OK,
	[TRANSPORT_OP_RDMA_READ] = RC_OPS,
	[TRANSPORT_OP_COMPARE_SWAP] = RC_OPS | ATOMIC,
	[TRANSPORT_OP_FETCH_ADD] = RC_OPS | ATOMIC,
	[TRANSPORT_OP_LOCAL_INV] = RC_OPS | UC_OPS,
	[TRANSPORT_OP_BIND_MW] = RC_OPS | UC_OPS,
	[TRANSPORT_OP_SEND_WITH_INV] = RC_OPS | INLINE_OK,
	[TRANSPORT_OP_FLUSH] = RC_OPS,
	[TRANSPORT_OP_ATOMIC_WRITE] = RC_OPS | INLINE_OK | ATOMIC,
};

static uint8_t type_rule(enum hca_qp_type type)
{
	switch (type) {
	case HCA_QPT_RC:
	case HCA_QPT_XRC_SEND:
		return RC_OPS;
	case HCA_QPT_UC:
		return UC_OPS;
	case HCA_QPT_UD:
		return UD_OPS;
	case HCA_QPT_RAW_PACKET:
	case HCA_QPT_XRC_RECV:
		break;
	}
	return 0;
}

void hca_qp_post_begin(struct hca_qp *qp)
{
	pthread_mutex_lock(&qp->sq_lock);
	qp->sq_staged = atomic_load_explicit(&qp->sq.posted, memory_order_relaxed);
}

static int refuse(const struct hca_qp *qp, const char *why)
{
	base_explain("post to QP 0x%06x refused: %s", qp->flow.qpn, why);
	return BASE_ERR_INVAL;
}

/* A copy: the address handle may be gone before the work request is done. */
static void path_keep(struct hca_qp *qp, uint32_t slot, const struct hca_send_wr *wr)
{
	struct link_path *path = &qp->paths[slot];

	*path = *hca_ah_path(wr->ah);
	path->qpn = qp->flow.qpn;
	path->dest_qpn = wr->remote_qpn & QPN_MASK;
}

/* What only its execution can tell (rights, range, domain, a key that is stale by then) becomes a completion with MW_BIND_ERR. */
static bool bind_is_whole(const struct hca_send_wr *wr)
{
	const struct hca_bind *bind = wr->bind;

	return bind != NULL && bind->mw != NULL && wr->num_sge == 0 && (bind->mr != NULL || bind->length == 0);
}

static void bind_keep(struct transport_wqe *wqe, const struct hca_bind *bind)
{
	const struct transport_bind kept = {
		.window = hca_mw_rkey(bind->mw), .region = bind->mr == NULL ? 0 : hca_mr_lkey(bind->mr), .rkey = bind->rkey,
		.access = bind->access, .addr = bind->addr, .length = bind->length, .by_type_1 = bind->by_type_1,
	};

	transport_wqe_bind_set(wqe, &kept);
}

int hca_qp_post_send(struct hca_qp *qp, const struct hca_send_wr *wr)
{
	uint32_t state = atomic_load_explicit(&qp->state, memory_order_acquire);

	/* Adapters keep what is posted in INIT and RTR until RTS; the specification has it refused at once. */
	if (state == HCA_QPS_RESET || ((state == HCA_QPS_INIT || state == HCA_QPS_RTR) && hca_profile_is_spec()))
		return refuse(qp, "its state is before RTS");
	uint8_t rules = wr->opcode < TRANSPORT_OP_COUNT ? op_rules[wr->opcode] : 0;
	if (!(rules & type_rule(qp->type)))
		return refuse(qp, "its type does not have this opcode");
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
		return refuse(qp, "more elements than max_send_sge");
	bool is_inline = wr->flags & TRANSPORT_WQE_INLINE;
	uint64_t length = 0;
	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sge[i].length;
	if (is_inline && !(rules & INLINE_OK))
		return refuse(qp, "inline data with an operation that brings data back");
	/* 8 bytes always fit into a slot. */
	if (wr->opcode == TRANSPORT_OP_ATOMIC_WRITE && length != sizeof(uint64_t))
		return refuse(qp, "an atomic write has 8 bytes");
	if (is_inline && length > qp->cap.max_inline && wr->opcode != TRANSPORT_OP_ATOMIC_WRITE)
		return refuse(qp, "inline data longer than max_inline_data");
	if ((rules & ATOMIC) && length < sizeof(uint64_t))
		return refuse(qp, "an atomic needs room for 8 bytes");
	/* Adapters let it go to the responder, which refuses it. */
	if ((rules & ATOMIC) && hca_profile_is_spec() && (length != sizeof(uint64_t) || wr->remote_addr % sizeof(uint64_t) != 0))
		return refuse(qp, "an atomic has 8 bytes at a multiple of 8");
	if (length > HCA_MAX_MSG_BYTES)
		return refuse(qp, "message longer than 2^31 bytes");
	if (wr->opcode == TRANSPORT_OP_FLUSH && wr->num_sge != 0)
		return refuse(qp, "a flush has no data");
	if (qp->type == HCA_QPT_UD && wr->ah == NULL)
		return refuse(qp, "no address handle");
	if (wr->opcode == TRANSPORT_OP_BIND_MW && !bind_is_whole(wr))
		return refuse(qp, "a bind names a window and a region, and no elements");
	if (qp->sq_staged - atomic_load_explicit(&qp->sq_freed, memory_order_acquire) >= qp->sq.depth)
		return BASE_ERR_NOMEM;

	struct transport_wqe *wqe = transport_sq_wqe(&qp->sq, qp->sq_staged);
	wqe->wr_id = wr->wr_id;
	wqe->remote_addr = wr->remote_addr;
	wqe->swap_or_add = wr->opcode == TRANSPORT_OP_COMPARE_SWAP ? wr->swap : wr->compare_add;
	/* FETCH_ADD has no use for it on the wire: nothing, as others send. */
	wqe->compare = wr->opcode == TRANSPORT_OP_COMPARE_SWAP ? wr->compare_add : 0;
	wqe->rkey = wr->rkey;
	wqe->imm_or_inv = wr->imm_or_inv;
	wqe->length = (uint32_t)length;
	wqe->remote_qpn = wr->remote_qpn & QPN_MASK;
	wqe->remote_qkey = wr->remote_qkey;
	wqe->ah = qp->sq_staged & (qp->sq.depth - 1);
	if (qp->type == HCA_QPT_UD)
		path_keep(qp, wqe->ah, wr);
	wqe->op = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)(wr->flags & FLAGS) | (qp->sq_sig_all ? TRANSPORT_WQE_SIGNALED : 0);
	if (wr->opcode == TRANSPORT_OP_FLUSH) {
		wqe->imm_or_inv = wr->flush_access;
		wqe->length = wr->flush_length;
		wqe->flags |= wr->flush_whole ? TRANSPORT_WQE_WHOLE : 0;
	}
	wqe->status = TRANSPORT_SUCCESS;
	wqe->vendor_err = 0;
	if (wr->opcode == TRANSPORT_OP_BIND_MW)
		bind_keep(wqe, wr->bind);
	if (is_inline) {
		uint8_t *at = transport_wqe_inline(wqe);

		/* The caller's thread and the caller's pointers, keys not looked at: a bad one faults here, as with hardware. */
		for (int i = 0; i < wr->num_sge; i++) {
			memcpy(at, (const void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].length);
			at += wr->sge[i].length;
		}
		wqe->num_sge = 0;
	} else {
		for (int i = 0; i < wr->num_sge; i++)
			wqe->sge[i] = wr->sge[i];
		wqe->num_sge = (uint8_t)wr->num_sge;
	}
	qp->sq_staged++;
	return 0;
}

void hca_qp_post_end(struct hca_qp *qp, bool commit)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	bool posted = commit && qp->sq_staged != atomic_load_explicit(&qp->sq.posted, memory_order_relaxed);

	if (posted)
		atomic_store_explicit(&qp->sq.posted, qp->sq_staged, memory_order_release);
	pthread_mutex_unlock(&qp->sq_lock);
	if (posted)
		engine->ops->kick(engine->context, &qp->flow);
}

int hca_qp_post_recv(struct hca_qp *qp, uint64_t wr_id, const struct transport_sge *sge, int num_sge)
{
	uint32_t state = atomic_load_explicit(&qp->state, memory_order_acquire);

	if (state == HCA_QPS_RESET)
		return refuse(qp, "a receive in RESET");
	if (qp->srq != NULL || qp->type == HCA_QPT_XRC_SEND || qp->type == HCA_QPT_XRC_RECV)
		return refuse(qp, "its receives come from an SRQ, or it has none");
	int err = hca_rq_post(&qp->rq, wr_id, sge, num_sge);
	if (err != 0)
		return err;
	/*
	 * In ERR publish() flushes it: it stores the state before it looks into the queue, we look at the state after filling
	 * it.
	 */
	bool is_dry = atomic_load_explicit(&qp->dry, memory_order_relaxed) && atomic_exchange(&qp->dry, false);
	if (is_dry || atomic_load(&qp->state) == HCA_QPS_ERR) {
		const struct hca_engine *engine = hca_context_engine(qp->context);

		engine->ops->kick(engine->context, &qp->flow);
	}
	return 0;
}
