/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extended completion queues: ibv_start_poll, readers, ibv_next_poll, ..., ibv_end_poll.
 *
 * One entry at a time is taken off the queue and read in place. From a start_poll that found one to end_poll the queue's poll
 * lock is held,
 * unless the program promised to poll in one thread. The plain ibv_poll_cq works on the same queue.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"

static_assert(offsetof(struct ibv_cq, async_events_completed) == offsetof(struct ibv_cq_ex, async_events_completed),
	      "the plain queue is the head of the extended one");

static struct verbs_cq *self_of(struct ibv_cq_ex *ex)
{
	return (struct verbs_cq *)(void *)ex;
}

static int take(struct verbs_cq *cq)
{
	int n = cq->stamped ? hca_cq_poll_stamped(cq->hca, &cq->current, &cq->stamp) : hca_cq_poll(cq->hca, 1, &cq->current);

	if (n <= 0)
		return n == 0 ? ENOENT : base_err_to_errno(n);
	cq->ex.wr_id = cq->current.wr_id;
	cq->ex.status = (enum ibv_wc_status)cq->current.status;
	return 0;
}

static void poll_lock(struct verbs_cq *cq)
{
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
}

static void poll_unlock(struct verbs_cq *cq)
{
	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct verbs_cq *cq = self_of(ex);

	if (attr->comp_mask != 0)
		return EINVAL;
	poll_lock(cq);
	int err = take(cq);
	if (err != 0)
		poll_unlock(cq); /* end_poll does not follow */
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return take(self_of(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	poll_unlock(self_of(ex));
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)self_of(ex)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.byte_len;
}

/* Also the invalidated rkey, in host order: the inline for it calls this and changes nothing. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.imm_or_inv;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return self_of(ex)->current.dlid_path_bits;
}

/* In ticks of hca_core_clock. */
static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return self_of(ex)->stamp.raw;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return self_of(ex)->stamp.wall;
}

/* The readers that are always there, and those that were asked for: the others stay NULL. */
static void set_readers(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if ((wc_flags & IBV_WC_EX_WITH_BYTE_LEN) != 0)
		ex->read_byte_len = read_byte_len;
	if ((wc_flags & IBV_WC_EX_WITH_IMM) != 0)
		ex->read_imm_data = read_imm_data;
	if ((wc_flags & IBV_WC_EX_WITH_QP_NUM) != 0)
		ex->read_qp_num = read_qp_num;
	if ((wc_flags & IBV_WC_EX_WITH_SRC_QP) != 0)
		ex->read_src_qp = read_src_qp;
	if ((wc_flags & IBV_WC_EX_WITH_SLID) != 0)
		ex->read_slid = read_slid;
	if ((wc_flags & IBV_WC_EX_WITH_SL) != 0)
		ex->read_sl = read_sl;
	if ((wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
		ex->read_completion_ts = read_completion_ts;
	if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	const uint64_t known_wc = (uint64_t)IBV_WC_STANDARD_FLAGS | stamps;
	const uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const uint32_t known_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	uint32_t flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attr->flags : 0;
	struct hca_cq_attr ours = { .cqe = attr->cqe, .comp_vector = attr->comp_vector, .stamped = (attr->wc_flags & stamps) != 0,
				    .ignore_overrun = (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0 };

	if ((attr->comp_mask & ~known_mask) != 0)
		return verbs_null(BASE_ERR_INVAL);
	/* VLAN tags, flow tags and tags to match belong to steering and offloads that are not here. */
	if ((attr->wc_flags & ~known_wc) != 0 || (flags & ~known_flags) != 0)
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
		if (attr->parent_domain == NULL || attr->parent_domain->context != context ||
		    !hca_pd_is_parent(verbs_pd_of(attr->parent_domain)->hca))
			return verbs_null(BASE_ERR_INVAL);
		ours.pd = verbs_pd_of(attr->parent_domain)->hca;
	}
	struct verbs_cq *cq = verbs_cq_create(context, &ours, attr->cq_context, attr->channel);
	if (cq == NULL)
		return NULL;
	cq->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
	cq->stamped = ours.stamped;
	set_readers(&cq->ex, attr->wc_flags);
	return &cq->ex;
}
