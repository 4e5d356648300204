/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Filling entries of the rings of a queue pair, and ringing for them. */
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "efa/driver/queue_pair.h"

/* The bytes of an inline send; they need no key. */
static int fill_inline(const struct efa_queue_pair *qp, const struct efa_send_work *work, struct efa_abi_wqe *w)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < work->num_sge; i++) {
		if (work->sge[i].length > qp->max_inline - length)
			return BASE_ERR_INVAL;
		if (work->sge[i].length > 0)
			memcpy(w->bytes + length, (const void *)(uintptr_t)work->sge[i].addr, work->sge[i].length);
		length += work->sge[i].length;
	}
	w->ctrl1 |= EFA_WQE_INLINE;
	w->length = (uint16_t)length;
	return 0;
}

static int fill(const struct efa_queue_pair *qp, const struct efa_send_work *work, struct efa_abi_wqe *w)
{
	bool is_rdma = work->op != EFA_WQE_SEND;
	uint32_t most = is_rdma ? EFA_WQE_RDMA_SGES : qp->max_send_sge;

	if (qp->state != EFA_QPS_RTS && qp->state != EFA_QPS_SQD)
		return BASE_ERR_INVAL;
	if (work->op > EFA_WQE_RDMA_WRITE || (is_rdma && (qp->type != EFA_QP_SRD || work->is_inline)))
		return BASE_ERR_INVAL;
	*w = (struct efa_abi_wqe){ .dest_qpn = work->dest_qpn, .ah = work->ah, .qkey = work->qkey, .imm = work->imm,
				   .ctrl1 = (uint8_t)(EFA_WQE_META_DESC | work->op | (work->has_imm ? EFA_WQE_HAS_IMM : 0)),
				   .ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ };
	if (work->is_inline)
		return fill_inline(qp, work, w);
	if (work->num_sge > most)
		return BASE_ERR_INVAL;
	w->length = (uint16_t)work->num_sge;
	for (uint32_t i = 0; i < work->num_sge; i++)
		w->sge[i] = work->sge[i];
	w->remote = work->remote;
	if (is_rdma)
		w->remote.length = work->num_sge > 0 ? work->sge[0].length : 0;
	return 0;
}

static uint32_t sends_waiting(const struct efa_queue_pair *qp)
{
	return (uint16_t)(qp->sq_filled - qp->sq_rung);
}

static void ring_sends(struct efa_queue_pair *qp)
{
	if (qp->sq_rung == qp->sq_filled)
		return;
	qp->sq_rung = qp->sq_filled;
	efa_driver_doorbell(qp->driver, qp->sq_doorbell, qp->sq_filled);
}

int efa_queue_pair_send(struct efa_queue_pair *qp, const struct efa_send_work *work)
{
	struct efa_abi_wqe w;
	uint8_t entry[EFA_WQE_BYTES];
	int err = fill(qp, work, &w);

	if (err != 0)
		return err;
	if (qp->sends.num_free == 0)
		return BASE_ERR_NOMEM;
	if (sends_waiting(qp) >= qp->max_batch)
		ring_sends(qp);
	w.req_id = efa_work_ids_take(&qp->sends, work->wr_id);
	qp->sq_numbers[qp->sq_filled & (qp->sq_depth - 1)] = w.req_id;
	if ((qp->sq_filled / qp->sq_depth & 1) != 0)
		w.ctrl2 |= EFA_WQE_PHASE;
	efa_abi_wqe_store(entry, &w);
	/* One entry, whole: the memory may be write-combining. */
	memcpy(qp->llq + (size_t)(qp->sq_filled & (qp->sq_depth - 1)) * EFA_WQE_BYTES, entry, sizeof(entry));
	qp->sq_filled++;
	return 0;
}

int efa_queue_pair_receive(struct efa_queue_pair *qp, uint64_t wr_id, const struct efa_abi_sge *sge, uint32_t num_sge)
{
	uint16_t number;

	if (qp->state == EFA_QPS_RESET || qp->state == EFA_QPS_ERR || num_sge > qp->max_recv_sge || num_sge == 0)
		return BASE_ERR_INVAL;
	if (qp->receives.num_free == 0)
		return BASE_ERR_NOMEM;
	number = efa_work_ids_take(&qp->receives, wr_id);
	for (uint32_t i = 0; i < num_sge; i++) {
		struct efa_abi_rqd d = { .addr = sge[i].addr, .req_id = number,
					 .length = (uint16_t)(sge[i].length < UINT16_MAX ? sge[i].length : UINT16_MAX),
					 .lkey_ctrl = (sge[i].lkey & EFA_LKEY_MASK) | (i == 0 ? EFA_RQD_FIRST : 0) |
						      (i == num_sge - 1 ? EFA_RQD_LAST : 0) };

		efa_abi_rqd_store(qp->rq.bytes + (size_t)(qp->rq_filled & (qp->rq_depth - 1)) * EFA_RQD_BYTES, &d);
		qp->rq_filled++;
	}
	return 0;
}

void efa_queue_pair_ring(struct efa_queue_pair *qp)
{
	ring_sends(qp);
	if (qp->rq_rung == qp->rq_filled)
		return;
	qp->rq_rung = qp->rq_filled;
	efa_driver_doorbell(qp->driver, qp->rq_doorbell, qp->rq_filled);
}

void efa_queue_pair_abort(struct efa_queue_pair *qp)
{
	uint64_t wr_id;

	while (qp->sq_filled != qp->sq_rung) {
		qp->sq_filled--;
		efa_work_ids_give(&qp->sends, qp->sq_numbers[qp->sq_filled & (qp->sq_depth - 1)], &wr_id);
	}
}
