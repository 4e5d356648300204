/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/srq.h"

#include <stdlib.h>

#include "base/err.h"
#include "hca/limits.h"
#include "hca/pd_internal.h"
#include "hca/qp_internal.h"
#include "hca/xrc_internal.h"

int hca_srq_create(struct hca_pd *pd, struct hca_srq_attr *attr, void *user, struct hca_srq **out)
{
	if (hca_device_is_lost(pd->context->device))
		return BASE_ERR_IO;
	if (attr->max_wr == 0 || attr->max_wr > HCA_MAX_SRQ_WR || attr->max_sge > HCA_MAX_SRQ_SGE)
		return BASE_ERR_INVAL;
	struct hca_srq *srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return BASE_ERR_NOMEM;
	uint32_t max_sge = attr->max_sge == 0 ? 1 : attr->max_sge;
	int err = hca_rq_init(&srq->rq, pd, HCA_RESOURCE_SHARED_RECEIVE_QUEUE, attr->max_wr, max_sge);
	if (err != 0) {
		free(srq);
		return err;
	}
	srq->pd = pd;
	srq->user = user;
	pthread_mutex_init(&srq->modify_lock, NULL);
	hca_async_source_init(&srq->source, pd->context, user);
	hca_pd_get(pd);
	attr->max_sge = max_sge;
	attr->limit = 0; /* armed by modify alone */
	*out = srq;
	return 0;
}

int hca_srq_destroy(struct hca_srq *srq)
{
	if (atomic_load(&srq->users) != 0)
		return BASE_ERR_BUSY;
	if (srq->xrcd != NULL)
		hca_xrc_srq_leave(srq);
	hca_async_source_fini(&srq->source);
	hca_rq_fini(&srq->rq);
	pthread_mutex_destroy(&srq->modify_lock);
	hca_pd_put(srq->pd);
	free(srq);
	return 0;
}

static int modify_locked(struct hca_srq *srq, const struct hca_srq_attr *attr, uint32_t mask)
{
	uint32_t max_wr = mask & HCA_SRQ_MAX_WR ? attr->max_wr : hca_rq_max_wr(&srq->rq);
	uint32_t limit = mask & HCA_SRQ_LIMIT ? attr->limit : atomic_load(&srq->limit);

	if (max_wr == 0 || max_wr > HCA_MAX_SRQ_WR || limit > max_wr)
		return BASE_ERR_INVAL;
	int err = mask & HCA_SRQ_MAX_WR ? hca_rq_resize(&srq->rq, max_wr) : 0;
	if (err == 0 && (mask & HCA_SRQ_LIMIT))
		atomic_store(&srq->limit, limit);
	return err;
}

int hca_srq_modify(struct hca_srq *srq, const struct hca_srq_attr *attr, uint32_t mask)
{
	if (mask & ~(uint32_t)(HCA_SRQ_MAX_WR | HCA_SRQ_LIMIT))
		return BASE_ERR_INVAL;
	pthread_mutex_lock(&srq->modify_lock);
	int err = modify_locked(srq, attr, mask);
	pthread_mutex_unlock(&srq->modify_lock);
	return err;
}

void hca_srq_query(struct hca_srq *srq, struct hca_srq_attr *out)
{
	*out = (struct hca_srq_attr){
		.max_wr = hca_rq_max_wr(&srq->rq), .max_sge = srq->rq.max_sge, .limit = atomic_load(&srq->limit),
	};
}

int hca_srq_post(struct hca_srq *srq, uint64_t wr_id, const struct transport_sge *sge, int num_sge)
{
	int err = hca_rq_post(&srq->rq, wr_id, sge, num_sge);

	if (err == 0 && atomic_load_explicit(&srq->dry, memory_order_relaxed) != NULL)
		hca_srq_wet(srq);
	return err;
}

int hca_srq_take(struct hca_srq *srq, struct transport_recv *out)
{
	uint32_t left, limit;
	int err = hca_rq_take(&srq->rq, out, &left);

	if (err != 0)
		return err;
	limit = atomic_load(&srq->limit);
	if (limit != 0 && left < limit && atomic_compare_exchange_strong(&srq->limit, &limit, 0))
		hca_async_raise(&srq->source, HCA_ASYNC_SRQ_LIMIT_REACHED);
	return 0;
}

void hca_srq_wet(struct hca_srq *srq)
{
	const struct hca_engine *engine = hca_context_engine(srq->pd->context);

	engine->ops->lock(engine->context);
	struct hca_qp *qp = atomic_exchange(&srq->dry, NULL);
	if (qp != NULL)
		engine->ops->schedule(engine->context, &qp->flow);
	engine->ops->unlock(engine->context);
}

void hca_srq_forget_dry(struct hca_srq *srq, struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(srq->pd->context);

	engine->ops->lock(engine->context);
	if (atomic_load(&srq->dry) == qp)
		atomic_store(&srq->dry, NULL);
	engine->ops->unlock(engine->context);
}

void *hca_srq_user(const struct hca_srq *srq)
{
	return srq->user;
}

void *hca_srq_async_token(struct hca_srq *srq)
{
	return &srq->source;
}
