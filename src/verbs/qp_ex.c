/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The builders: ibv_wr_start, an operation, its setters, ... , ibv_wr_complete or ibv_wr_abort.
 *
 * A builder call posts the request before it and opens the next; setters copy into it, because the caller's arrays need not
 * live until
 * complete. Nothing can fail in between: the first error is kept, and complete then forgets the whole batch and returns it.
 * The send
 * queue's lock is held from start to complete or abort.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"

static struct verbs_qp *self_of(struct ibv_qp_ex *ex)
{
	return (struct verbs_qp *)(void *)ex;
}

static void post_open(struct verbs_qp *qp)
{
	struct verbs_builder *b = &qp->builder;

	if (b->open && b->err == 0)
		b->err = hca_qp_post_send(qp->hca, &b->wr);
	b->open = false;
}

static struct hca_send_wr *open_next(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct verbs_qp *qp = self_of(ex);
	struct verbs_builder *b = &qp->builder;

	post_open(qp);
	b->open = true;
	b->wr = (struct hca_send_wr){ .wr_id = ex->wr_id, .opcode = opcode, .flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE,
				      .sge = b->sge };
	return &b->wr;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = self_of(ex);

	hca_qp_post_begin(qp->hca);
	qp->builder.open = false;
	qp->builder.err = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = self_of(ex);

	post_open(qp);
	int err = qp->builder.err;
	hca_qp_post_end(qp->hca, err == 0);
	return base_err_to_errno(err);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	self_of(ex)->builder.open = false;
	hca_qp_post_end(self_of(ex)->hca, false);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	open_next(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	open_next(ex, IBV_WR_SEND_WITH_IMM)->imm_or_inv = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	open_next(ex, IBV_WR_SEND_WITH_INV)->imm_or_inv = invalidate_rkey;
}

static struct hca_send_wr *open_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr)
{
	struct hca_send_wr *wr = open_next(ex, opcode);

	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	open_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	open_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->imm_or_inv = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	open_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
{
	struct hca_send_wr *wr = open_rdma(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	wr->compare_add = compare;
	wr->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	open_rdma(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr)->compare_add = add;
}

/* Its 8 bytes are the caller's own, and need not live until complete. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	struct verbs_builder *b = &self_of(ex)->builder;
	struct hca_send_wr *wr = open_rdma(ex, IBV_WR_ATOMIC_WRITE, rkey, remote_addr);

	memcpy(b->atomic_data, atomic_wr, sizeof(b->atomic_data));
	b->sge[0] = (struct transport_sge){ .addr = (uintptr_t)b->atomic_data, .length = sizeof(b->atomic_data) };
	wr->num_sge = 1;
	wr->flags |= IBV_SEND_INLINE;
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type, uint8_t level)
{
	struct verbs_builder *b = &self_of(ex)->builder;
	struct hca_send_wr *wr = open_rdma(ex, (enum ibv_wr_opcode)VERBS_WR_FLUSH, rkey, remote_addr);

	if ((type & ~(VERBS_FLUSH_GLOBAL | VERBS_FLUSH_PERSISTENT)) != 0 || level > VERBS_FLUSH_MR ||
	    (len > UINT32_MAX && level == VERBS_FLUSH_RANGE)) {
		b->err = b->err == 0 ? BASE_ERR_INVAL : b->err;
		return;
	}
	wr->flush_access = (type & VERBS_FLUSH_GLOBAL ? (uint32_t)VERBS_ACCESS_FLUSH_GLOBAL : 0) |
			   (type & VERBS_FLUSH_PERSISTENT ? (uint32_t)VERBS_ACCESS_FLUSH_PERSISTENT : 0);
	wr->flush_whole = level == VERBS_FLUSH_MR;
	wr->flush_length = wr->flush_whole ? 0 : (uint32_t)len;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	open_next(ex, IBV_WR_LOCAL_INV)->imm_or_inv = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info)
{
	struct hca_send_wr *wr = open_next(ex, IBV_WR_BIND_MW);
	struct verbs_builder *b = &self_of(ex)->builder;

	verbs_bind_in(&b->bind, mw, rkey, bind_info);
	wr->bind = &b->bind;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct hca_send_wr *wr = &self_of(ex)->builder.wr;

	wr->ah = ah == NULL ? NULL : verbs_ah_of(ah)->hca; /* the post refuses it */
	wr->remote_qpn = remote_qpn;
	wr->remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	self_of(ex)->builder.wr.remote_qpn = remote_srqn;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct verbs_builder *b = &self_of(ex)->builder;

	b->sge[0] = (struct transport_sge){ .addr = addr, .length = length, .lkey = lkey };
	b->wr.num_sge = 1;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct verbs_builder *b = &self_of(ex)->builder;

	if (num_sge > b->sge_capacity) {
		b->err = b->err == 0 ? BASE_ERR_INVAL : b->err;
		return;
	}
	if (num_sge > 0)
		memcpy(b->sge, sg_list, num_sge * sizeof(*sg_list));
	b->wr.num_sge = (int)num_sge;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf, const struct ibv_data_buf *buf_list)
{
	struct verbs_builder *b = &self_of(ex)->builder;
	size_t total = 0;

	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > b->inline_capacity - total) {
			b->err = b->err == 0 ? BASE_ERR_INVAL : b->err;
			return;
		}
		if (buf_list[i].length > 0)
			memcpy(b->inline_data + total, buf_list[i].addr, buf_list[i].length);
		total += buf_list[i].length;
	}
	b->sge[0] = (struct transport_sge){ .addr = (uintptr_t)b->inline_data, .length = (uint32_t)total };
	b->wr.num_sge = 1;
	b->wr.flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf one = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &one);
}

int verbs_builder_init(struct verbs_qp *qp, uint64_t send_ops_flags)
{
	const uint64_t messages = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t rdma = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t reliable = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE | VERBS_QP_EX_WITH_FLUSH;
	const uint64_t windows = IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	uint64_t can = messages;

	if (qp->ex.qp_base.qp_type == IBV_QPT_RC || qp->ex.qp_base.qp_type == IBV_QPT_XRC_SEND)
		can |= rdma | reliable | windows;
	else if (qp->ex.qp_base.qp_type == IBV_QPT_UC)
		can |= rdma | windows;
	if ((send_ops_flags & ~can) != 0)
		return BASE_ERR_UNSUPPORTED;

	struct verbs_builder *b = &qp->builder;
	b->sge_capacity = qp->init.cap.max_send_sge > 0 ? qp->init.cap.max_send_sge : 1;
	b->inline_capacity = qp->init.cap.max_inline_data;
	b->sge = calloc(b->sge_capacity, sizeof(*b->sge));
	b->inline_data = malloc(b->inline_capacity > 0 ? b->inline_capacity : 1);
	if (b->sge == NULL || b->inline_data == NULL)
		return BASE_ERR_NOMEM; /* fini follows */

	struct ibv_qp_ex *ex = &qp->ex;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	if ((send_ops_flags & IBV_QP_EX_WITH_SEND) != 0)
		ex->wr_send = wr_send;
	if ((send_ops_flags & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0)
		ex->wr_send_imm = wr_send_imm;
	if ((send_ops_flags & IBV_QP_EX_WITH_SEND_WITH_INV) != 0)
		ex->wr_send_inv = wr_send_inv;
	if ((send_ops_flags & IBV_QP_EX_WITH_RDMA_WRITE) != 0)
		ex->wr_rdma_write = wr_rdma_write;
	if ((send_ops_flags & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if ((send_ops_flags & IBV_QP_EX_WITH_RDMA_READ) != 0)
		ex->wr_rdma_read = wr_rdma_read;
	if ((send_ops_flags & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if ((send_ops_flags & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if ((send_ops_flags & IBV_QP_EX_WITH_LOCAL_INV) != 0)
		ex->wr_local_inv = wr_local_inv;
	if ((send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0)
		ex->wr_atomic_write = wr_atomic_write;
	if ((send_ops_flags & VERBS_QP_EX_WITH_FLUSH) != 0)
		qp->newer.wr_flush = wr_flush;
	if ((send_ops_flags & IBV_QP_EX_WITH_BIND_MW) != 0)
		ex->wr_bind_mw = wr_bind_mw;
	return 0;
}

void verbs_builder_fini(struct verbs_qp *qp)
{
	free(qp->builder.sge);
	free(qp->builder.inline_data);
}
