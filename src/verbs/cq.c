/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels and queues. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

/* The adapter writes its completions straight into the caller's array. */
static_assert(sizeof(struct hca_wc) == sizeof(struct ibv_wc), "same layout");
#define SAME_PLACE(ours, theirs) \
	static_assert(offsetof(struct hca_wc, ours) == offsetof(struct ibv_wc, theirs) && \
		      sizeof(((struct hca_wc *)0)->ours) == sizeof(((struct ibv_wc *)0)->theirs), "same layout")
SAME_PLACE(wr_id, wr_id);
SAME_PLACE(status, status);
SAME_PLACE(opcode, opcode);
SAME_PLACE(vendor_err, vendor_err);
SAME_PLACE(byte_len, byte_len);
SAME_PLACE(imm_or_inv, imm_data);
SAME_PLACE(imm_or_inv, invalidated_rkey);
SAME_PLACE(qp_num, qp_num);
SAME_PLACE(src_qp, src_qp);
SAME_PLACE(wc_flags, wc_flags);
SAME_PLACE(pkey_index, pkey_index);
SAME_PLACE(slid, slid);
SAME_PLACE(sl, sl);
SAME_PLACE(dlid_path_bits, dlid_path_bits);

VERBS_PUBLIC struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	struct verbs_channel *channel = calloc(1, sizeof(*channel));

	if (channel == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_channel_create(verbs_context_of(context)->hca, &channel->hca);
	if (err != 0) {
		free(channel);
		return verbs_null(err);
	}
	channel->ibv.context = context;
	channel->ibv.fd = hca_channel_fd(channel->hca);
	return &channel->ibv;
}

VERBS_PUBLIC int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (verbs_is_inherited(channel->context)) {
		close(channel->fd);
		return 0;
	}
	int err = hca_channel_destroy(verbs_channel_of(channel)->hca);

	if (err != 0)
		return base_err_to_errno(err);
	free(channel);
	return 0;
}

VERBS_PUBLIC int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct hca_cq *ready;

	if (verbs_is_inherited(channel->context)) {
		errno = EIO;
		return -1;
	}
	int err = hca_channel_get(verbs_channel_of(channel)->hca, &ready);

	if (err != 0)
		return verbs_minus_one(err);
	struct verbs_cq *self = hca_cq_user(ready);
	*cq = &self->ibv;
	*cq_context = self->ibv.cq_context;
	return 0;
}

VERBS_PUBLIC void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (nevents == 0 || verbs_is_inherited(cq->context))
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_mutex_unlock(&cq->mutex);
	hca_cq_events_ack(verbs_cq_of(cq)->hca, nevents);
}

struct verbs_cq *verbs_cq_create(struct ibv_context *context, struct hca_cq_attr *attr, void *cq_context,
				 struct ibv_comp_channel *channel)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	if (channel != NULL && channel->context != context)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_cq *cq = calloc(1, sizeof(*cq));

	if (cq == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	attr->user = cq;
	attr->channel = channel == NULL ? NULL : verbs_channel_of(channel)->hca;
	int err = hca_cq_create(verbs_context_of(context)->hca, attr, &cq->hca);
	if (err != 0) {
		free(cq);
		return verbs_null(err);
	}
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = cq_context;
	cq->ibv.cqe = (int)attr->cqe;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_mutex_init(&cq->poll_lock, NULL);
	return cq;
}

VERBS_PUBLIC struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel
		*channel,
					  int comp_vector)
{
	if (cqe <= 0 || comp_vector < 0)
		return verbs_null(BASE_ERR_INVAL);
	struct hca_cq_attr attr = { .cqe = (uint32_t)cqe, .comp_vector = (uint32_t)comp_vector };
	struct verbs_cq *cq = verbs_cq_create(context, &attr, cq_context, channel);

	return cq == NULL ? NULL : &cq->ibv;
}

VERBS_PUBLIC int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (verbs_is_inherited(cq->context))
		return EIO;
	uint32_t wanted = cqe > 0 ? (uint32_t)cqe : 0;
	int err = hca_cq_resize(verbs_cq_of(cq)->hca, &wanted);

	if (err == 0)
		cq->cqe = (int)wanted;
	return base_err_to_errno(err);
}

/* Nothing asked for is nothing done; what this device does not know is refused whole. */
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	if (verbs_is_inherited(cq->context))
		return EIO;
	if ((attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE) != 0)
		return EINVAL;
	if ((attr->attr_mask & IBV_CQ_ATTR_MODERATE) == 0)
		return 0;
	return base_err_to_errno(hca_cq_moderate(verbs_cq_of(cq)->hca, attr->moderate.cq_count, attr->moderate.cq_period));
}

VERBS_PUBLIC int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (verbs_is_inherited(cq->context))
		return 0;
	int err = hca_cq_destroy(verbs_cq_of(cq)->hca);

	if (err != 0)
		return base_err_to_errno(err);
	pthread_mutex_destroy(&verbs_cq_of(cq)->poll_lock);
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	free(cq);
	return 0;
}

int verbs_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return hca_cq_poll(verbs_cq_of(cq)->hca, num_entries, (struct hca_wc *)(void *)wc);
}

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return base_err_to_errno(hca_cq_req_notify(verbs_cq_of(cq)->hca, solicited_only != 0));
}
