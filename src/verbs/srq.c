/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

void verbs_srq_fill(struct verbs_srq *srq, struct ibv_pd *pd, void *srq_context)
{
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
}

VERBS_PUBLIC struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct hca_srq_attr ours = { attr->attr.max_wr, attr->attr.max_sge, attr->attr.srq_limit };
	struct verbs_srq *srq = calloc(1, sizeof(*srq));

	if (srq == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_srq_create(verbs_pd_of(pd)->hca, &ours, srq, &srq->hca);
	if (err != 0) {
		free(srq);
		return verbs_null(err);
	}
	attr->attr.max_wr = ours.max_wr;
	attr->attr.max_sge = ours.max_sge;
	verbs_srq_fill(srq, pd, attr->srq_context);
	return &srq->ibv;
}

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type == IBV_SRQT_XRC)
		return verbs_create_xrc_srq(context, attr);
	/* The inline of verbs.h sends plain requests to ibv_create_srq; what arrives here asks for more. */
	if ((attr->comp_mask & ~known) != 0 || ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type !=
			IBV_SRQT_BASIC))
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr->pd == NULL)
		return verbs_null(BASE_ERR_INVAL);
	return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)(void *)attr);
}

VERBS_PUBLIC int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	if (verbs_is_inherited(srq->context))
		return EIO;
	const struct hca_srq_attr ours = { attr->max_wr, attr->max_sge, attr->srq_limit };

	return base_err_to_errno(hca_srq_modify(verbs_srq_of(srq)->hca, &ours, (uint32_t)attr_mask));
}

VERBS_PUBLIC int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct hca_srq_attr ours;

	hca_srq_query(verbs_srq_of(srq)->hca, &ours);
	*attr = (struct ibv_srq_attr){ .max_wr = ours.max_wr, .max_sge = ours.max_sge, .srq_limit = ours.limit };
	return 0;
}

VERBS_PUBLIC int ibv_destroy_srq(struct ibv_srq *srq)
{
	if (verbs_is_inherited(srq->context))
		return 0;
	int err = hca_srq_destroy(verbs_srq_of(srq)->hca);

	if (err != 0)
		return base_err_to_errno(err);
	pthread_cond_destroy(&srq->cond);
	pthread_mutex_destroy(&srq->mutex);
	free(srq);
	return 0;
}
