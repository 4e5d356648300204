/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting lists of work requests: ibv_post_send, ibv_post_recv, ibv_post_srq_recv. No allocation, one lock per list. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"

static_assert(sizeof(struct transport_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct transport_sge, addr) == offsetof(struct ibv_sge, addr) &&
	      offsetof(struct transport_sge, length) == offsetof(struct ibv_sge, length) &&
	      offsetof(struct transport_sge, lkey) == offsetof(struct ibv_sge, lkey), "scatter/gather lists pass through");

static const struct transport_sge *sge_in(const struct ibv_sge *list)
{
	return (const struct transport_sge *)(const void *)list;
}

static int post_one(struct verbs_qp *qp, const struct ibv_send_wr *wr)
{
	struct hca_send_wr ours = {
		.wr_id = wr->wr_id,
		.sge = sge_in(wr->sg_list),
		.num_sge = wr->num_sge,
		.opcode = wr->opcode,
		.flags = wr->send_flags,
		.imm_or_inv = wr->imm_data,
	};
	struct hca_bind bind;

	/* The list form has no place for what a flush needs. */
	if (wr->opcode == (enum ibv_wr_opcode)VERBS_WR_FLUSH)
		return BASE_ERR_INVAL;
	if (qp->ex.qp_base.qp_type == IBV_QPT_XRC_SEND)
		ours.remote_qpn = wr->qp_type.xrc.remote_srqn;
	if (qp->ex.qp_base.qp_type == IBV_QPT_UD) {
		ours.ah = wr->wr.ud.ah == NULL ? NULL : verbs_ah_of(wr->wr.ud.ah)->hca;
		ours.remote_qpn = wr->wr.ud.remote_qpn;
		ours.remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		ours.remote_addr = wr->wr.atomic.remote_addr;
		ours.rkey = wr->wr.atomic.rkey;
		ours.compare_add = wr->wr.atomic.compare_add;
		ours.swap = wr->wr.atomic.swap;
	} else if (wr->opcode == IBV_WR_BIND_MW) {
		verbs_bind_in(&bind, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		ours.bind = &bind;
		ours.num_sge = 0; /* what stands there is not looked at by any adapter */
	} else {
		ours.remote_addr = wr->wr.rdma.remote_addr;
		ours.rkey = wr->wr.rdma.rkey;
	}
	return hca_qp_post_send(qp->hca, &ours);
}

int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct verbs_qp *self = verbs_qp_of(qp);
	int err = 0;

	hca_qp_post_begin(self->hca);
	for (; wr != NULL && err == 0; wr = wr->next) {
		err = post_one(self, wr);
		if (err != 0)
			*bad_wr = wr;
	}
	hca_qp_post_end(self->hca, true);
	return base_err_to_errno(err);
}

int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	for (; wr != NULL; wr = wr->next) {
		int err = hca_qp_post_recv(verbs_qp_of(qp)->hca, wr->wr_id, sge_in(wr->sg_list), wr->num_sge);

		if (err != 0) {
			*bad_wr = wr;
			return base_err_to_errno(err);
		}
	}
	return 0;
}

int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	for (; wr != NULL; wr = wr->next) {
		int err = hca_srq_post(verbs_srq_of(srq)->hca, wr->wr_id, sge_in(wr->sg_list), wr->num_sge);

		if (err != 0) {
			*bad_wr = wr;
			return base_err_to_errno(err);
		}
	}
	return 0;
}
