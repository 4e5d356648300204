/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of this folder put into the per-context tables: the inlines of verbs.h call these. Conventions are those of
 * verbs.h. */
#ifndef VERBS_OPS_H
#define VERBS_OPS_H

#include <infiniband/verbs.h>

/* device.c, port.c */
int verbs_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct
		ibv_device_attr_ex *attr,
			  size_t attr_size);
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_len);
int verbs_query_port_old(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr);
/* cq.c */
int verbs_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/* domain.c */
struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int verbs_dealloc_td(struct ibv_td *td);
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);
/* cq_ex.c */
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
/* qp_rate.c */
int verbs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
/* qp.c, post.c */
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* window.c */
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);
int verbs_dealloc_mw(struct ibv_mw *mw);
/* memory.c */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd);
int verbs_advise_mr(struct ibv_pd *pd, enum ib_uverbs_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
		    uint32_t num_sge);
/* dm.c */
struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int verbs_free_dm(struct ibv_dm *dm);
struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access);
/* xrc.c */
struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int verbs_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_srq *verbs_create_xrc_srq(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_qp *verbs_create_xrc_target(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* srq.c */
int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);

#endif
