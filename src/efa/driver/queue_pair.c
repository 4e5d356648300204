/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/queue_pair.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/driver/command.h"

static uint32_t power_of(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

int efa_queue_pairs_init(struct efa_queue_pairs *pairs, const struct efa_driver *driver)
{
	uint32_t size = power_of(driver->queue.max_qp);

	pairs->mask = size - 1;
	pairs->entries = calloc(size, sizeof(*pairs->entries));
	return pairs->entries != NULL ? 0 : BASE_ERR_NOMEM;
}

void efa_queue_pairs_fini(struct efa_queue_pairs *pairs)
{
	free(pairs->entries);
	pairs->entries = NULL;
}

struct efa_queue_pair *efa_queue_pairs_find(const struct efa_queue_pairs *pairs, uint16_t qpn)
{
	struct efa_queue_pair *qp = pairs->entries[qpn & pairs->mask];

	return qp != NULL && qp->qpn == qpn ? qp : NULL;
}

/* What the program asked for, within what the adapter has, as sizes of rings. */
static int size_queues(struct efa_queue_pair *qp, const struct efa_driver *driver, struct efa_queue_pair_attr *attr)
{
	const struct efa_abi_queue_attr *q = &driver->queue;
	uint32_t sends = attr->max_send_wr;

	if (attr->max_send_wr > q->max_sq_depth || attr->max_send_sge > q->max_send_sges || attr->max_recv_sge > q->max_recv_sges ||
	    attr->max_inline > q->inline_buf_size ||
	    (uint64_t)attr->max_recv_wr * (attr->max_recv_sge > 0 ? attr->max_recv_sge : 1) > q->max_rq_depth)
		return BASE_ERR_INVAL;
	if (sends > 0)
		qp->sq_depth = power_of(sends > q->min_sq_depth ? sends : q->min_sq_depth);
	if ((uint64_t)qp->sq_depth * EFA_WQE_BYTES > q->max_llq_size || qp->sq_depth > q->max_sq_depth)
		return BASE_ERR_INVAL;
	qp->max_recv_sge = attr->max_recv_sge > 0 ? attr->max_recv_sge : 1;
	if (attr->max_recv_wr > 0)
		qp->rq_depth = power_of(attr->max_recv_wr * qp->max_recv_sge);
	qp->max_send_sge = attr->max_send_sge > 0 ? attr->max_send_sge : 1;
	qp->max_inline = attr->max_inline;
	/* An adapter that buffers descriptors says how many it takes at once; some need one place left. */
	qp->max_batch = q->max_tx_batch > 0 ? q->max_tx_batch : qp->sq_depth;
	if (q->min_sq_depth > 0 && qp->max_batch > qp->sq_depth - 1)
		qp->max_batch = qp->sq_depth > 1 ? qp->sq_depth - 1 : 1;
	attr->max_send_wr = qp->sq_depth;
	attr->max_recv_wr = qp->rq_depth / qp->max_recv_sge;
	attr->max_recv_sge = qp->max_recv_sge;
	attr->max_send_sge = qp->max_send_sge;
	return 0;
}

static int take_memory(struct efa_queue_pair *qp, const struct efa_queue_pair_attr *attr)
{
	int err = efa_work_ids_init(&qp->sends, qp->sq_depth);

	if (err == 0)
		err = efa_work_ids_init(&qp->receives, attr->max_recv_wr);
	if (err == 0 && qp->sq_depth > 0) {
		qp->sq_numbers = calloc(qp->sq_depth, sizeof(*qp->sq_numbers));
		err = qp->sq_numbers != NULL ? 0 : BASE_ERR_NOMEM;
	}
	if (err == 0 && qp->rq_depth > 0)
		err = efa_driver_memory_init(&qp->rq, &qp->driver->com.function, (uint64_t)qp->rq_depth * EFA_RQD_BYTES,
					     EFA_BUS_TO_DEVICE);
	return err;
}

static void free_memory(struct efa_queue_pair *qp)
{
	efa_driver_memory_fini(&qp->rq, &qp->driver->com.function);
	efa_work_ids_fini(&qp->sends);
	efa_work_ids_fini(&qp->receives);
	free(qp->sq_numbers);
	qp->sq_numbers = NULL;
}

static int create(struct efa_queue_pair *qp, const struct efa_queue_pair_attr *attr)
{
	struct efa_com *com = &qp->driver->com;
	struct efa_abi_create_qp in = {
		.pd = attr->pd, .uar = attr->uar, .type = attr->type, .flags = attr->flags, .sl = attr->sl,
		.send_cq = attr->send_cq->index, .recv_cq = attr->recv_cq->index, .sq_depth = qp->sq_depth,
		.sq_ring_bytes = qp->sq_depth * EFA_WQE_BYTES, .rq_depth = qp->rq_depth,
		.rq_ring_bytes = qp->rq_depth * EFA_RQD_BYTES, .rq_base = qp->rq.bus,
	};
	struct efa_abi_create_qp_result out;
	int err = efa_com_create_qp(com, &in, &out);

	if (err != 0)
		return err;
	qp->handle = out.handle;
	qp->qpn = out.qp_num;
	qp->sq_doorbell = out.sq_db_offset;
	qp->rq_doorbell = out.rq_db_offset;
	qp->llq = com->function.ops->memory(com->function.context, EFA_BAR_LLQ, out.llq_offset, in.sq_ring_bytes);
	if (qp->sq_depth > 0 && qp->llq == NULL) { /* it names memory that it has not got */
		(void)efa_com_destroy_qp(com, qp->handle);
		return BASE_ERR_INVAL;
	}
	return 0;
}

int efa_queue_pair_init(struct efa_queue_pair *qp, struct efa_driver *driver, struct efa_queue_pairs *pairs,
			struct efa_queue_pair_attr *attr)
{
	struct efa_queue_pair_attr rounded = *attr;
	int err;

	memset(qp, 0, sizeof(*qp));
	qp->driver = driver;
	qp->pairs = pairs;
	qp->type = attr->type;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	err = size_queues(qp, driver, &rounded);
	if (err == 0)
		err = take_memory(qp, &rounded);
	if (err == 0)
		err = create(qp, &rounded);
	if (err != 0) {
		free_memory(qp);
		return err;
	}
	pairs->entries[qp->qpn & pairs->mask] = qp;
	*attr = rounded;
	return 0;
}

int efa_queue_pair_fini(struct efa_queue_pair *qp)
{
	int err = efa_com_destroy_qp(&qp->driver->com, qp->handle);

	if (err != 0 && err != BASE_ERR_NODEV)
		return err;
	qp->pairs->entries[qp->qpn & qp->pairs->mask] = NULL;
	free_memory(qp);
	return 0;
}

int efa_queue_pair_modify(struct efa_queue_pair *qp, const struct efa_abi_modify_qp *attr)
{
	struct efa_abi_modify_qp in = *attr;
	int err;

	in.handle = qp->handle;
	err = efa_com_modify_qp(&qp->driver->com, &in);
	if (err != 0 || (in.mask & EFA_MODIFY_STATE) == 0)
		return err;
	qp->state = in.state;
	if (in.state == EFA_QPS_RESET) {
		qp->sq_filled = qp->sq_rung = qp->rq_filled = qp->rq_rung = 0;
		efa_work_ids_clear(&qp->sends);
		efa_work_ids_clear(&qp->receives);
	}
	return 0;
}

bool efa_queue_pair_complete(struct efa_queue_pair *qp, bool is_send, uint16_t number, uint64_t *wr_id)
{
	return efa_work_ids_give(is_send ? &qp->sends : &qp->receives, number, wr_id);
}
