/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Direct verbs of EFA. As long as no device of ours is an EFA adapter, each answers what it answers for other devices. */
#include "efadv/newer.h"
#include "verbs/symbol.h"

#include <errno.h>

static void *no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

VERBS_PUBLIC struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint32_t driver_qp_type)
{
	return no_object();
}

VERBS_PUBLIC struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
	struct efadv_qp_init_attr *efa_attr, uint32_t inlen)
{
	return no_object();
}

VERBS_PUBLIC int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t inlen)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
	struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
	return no_object();
}

VERBS_PUBLIC struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
	return no_object();
}

VERBS_PUBLIC int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t inlen)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int efadv_query_cq(struct ibv_cq *cq, struct efadv_cq_attr *attr, uint32_t inlen)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int efadv_query_qp_wqs(struct ibv_qp *qp, struct efadv_wq_attr *sq_attr, struct efadv_wq_attr *rq_attr,
	uint32_t inlen)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int efadv_get_max_sq_depth(struct ibv_context *context, struct efadv_sq_depth_attr *attr, uint32_t inlen)
{
	return -EOPNOTSUPP;
}

VERBS_PUBLIC int efadv_get_max_rq_depth(struct ibv_context *context, struct efadv_rq_depth_attr *attr, uint32_t inlen)
{
	return -EOPNOTSUPP;
}

VERBS_PUBLIC struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return no_object();
}

VERBS_PUBLIC struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr,
	struct efadv_comp_cntr_init_attr *efa_attr, uint32_t inlen)
{
	return no_object();
}
