/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public functions of libefa newer than our oldest headers (44). Prototypes agree with the newer ones; structures stay opaque. */
#ifndef EFADV_NEWER_H
#define EFADV_NEWER_H

#include <infiniband/efadv.h>

struct efadv_comp_cntr_init_attr;
struct efadv_cq_attr;
struct efadv_mr_attr;
struct efadv_qp;
struct efadv_rq_depth_attr;
struct efadv_sq_depth_attr;
struct efadv_wq_attr;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;

/* 0 or a positive errno; inlen is the size of the caller's structure. */
int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t inlen);
int efadv_query_cq(struct ibv_cq *cq, struct efadv_cq_attr *attr, uint32_t inlen);
int efadv_query_qp_wqs(struct ibv_qp *qp, struct efadv_wq_attr *sq_attr, struct efadv_wq_attr *rq_attr, uint32_t inlen);
/* A depth, or a negative errno. */
int efadv_get_max_sq_depth(struct ibv_context *context, struct efadv_sq_depth_attr *attr, uint32_t inlen);
int efadv_get_max_rq_depth(struct ibv_context *context, struct efadv_rq_depth_attr *attr, uint32_t inlen);
struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *qp);
struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr,
	struct efadv_comp_cntr_init_attr *efa_attr, uint32_t inlen);

#endif
