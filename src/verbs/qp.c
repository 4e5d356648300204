/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: create, modify, query, destroy. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "hca/mcast.h"
#include "hca/xrc.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

static_assert((int)IBV_QPS_ERR == (int)HCA_QPS_ERR && (int)IBV_QPT_RC == (int)HCA_QPT_RC && (int)IBV_QPT_UD == (int)HCA_QPT_UD,
	      "states and types pass through");
static_assert((int)IBV_QP_RATE_LIMIT == (int)HCA_QP_RATE_LIMIT && (int)IBV_QP_DEST_QPN == (int)HCA_QP_DEST_QPN &&
	      (int)IBV_QP_STATE == (int)HCA_QP_STATE, "mask bits pass through");

static void cap_in(struct hca_qp_cap *out, const struct ibv_qp_cap *in)
{
	*out = (struct hca_qp_cap){ in->max_send_wr, in->max_recv_wr, in->max_send_sge, in->max_recv_sge, in->max_inline_data };
}

static void cap_out(struct ibv_qp_cap *out, const struct hca_qp_cap *in)
{
	*out = (struct ibv_qp_cap){ in->max_send_wr, in->max_recv_wr, in->max_send_sge, in->max_recv_sge, in->max_inline };
}

static struct hca_cq *cq_or_null(struct ibv_cq *cq)
{
	return cq == NULL ? NULL : verbs_cq_of(cq)->hca;
}

void verbs_qp_fill(struct verbs_qp *qp, struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_qp *ibv = &qp->ex.qp_base;

	ibv->context = context;
	ibv->qp_context = qp->init.qp_context;
	ibv->pd = pd;
	ibv->send_cq = qp->init.send_cq;
	ibv->recv_cq = qp->init.recv_cq;
	ibv->srq = qp->init.srq;
	ibv->qp_num = hca_qp_number(qp->hca);
	ibv->handle = ibv->qp_num;
	ibv->state = IBV_QPS_RESET;
	ibv->qp_type = qp->init.qp_type;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

/* `attr` is rewritten up to its capabilities, which is the prefix that both public structs share. */
static struct verbs_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint32_t flags, int *err)
{
	struct hca_qp_init init = {
		.type = (enum hca_qp_type)attr->qp_type,
		.send_cq = cq_or_null(attr->send_cq),
		.recv_cq = cq_or_null(attr->recv_cq),
		.srq = attr->srq == NULL ? NULL : verbs_srq_of(attr->srq)->hca,
		.sq_sig_all = attr->sq_sig_all != 0,
		.block_own_groups = (flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) != 0,
	};
	struct verbs_qp *qp = calloc(1, sizeof(*qp));

	*err = BASE_ERR_NOMEM;
	if (qp == NULL)
		return NULL;
	init.user = qp;
	cap_in(&init.cap, &attr->cap);
	if (attr->qp_type == IBV_QPT_XRC_SEND) {
		/* It receives nothing: what is said of receives is not looked at. */
		init.recv_cq = init.send_cq;
		init.srq = NULL;
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	}
	*err = hca_qp_create(verbs_pd_of(pd)->hca, &init, &qp->hca);
	if (*err != 0) {
		free(qp);
		return NULL;
	}
	cap_out(&attr->cap, &init.cap);
	qp->init = *attr;
	verbs_qp_fill(qp, pd->context, pd);
	return qp;
}

VERBS_PUBLIC struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int err;

	if (pd == NULL)
		return verbs_null(BASE_ERR_INVAL);
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct verbs_qp *qp = create_qp(pd, attr, 0, &err);
	return qp == NULL ? verbs_null(err) : &qp->ex.qp_base;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	int err;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return verbs_create_xrc_target(context, attr);
	if ((attr->comp_mask & ~known) != 0)
		return verbs_null(BASE_ERR_UNSUPPORTED);
	const uint32_t flags = (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 ? attr->create_flags : 0;
	/* One flag, and for datagrams alone: groups are theirs. */
	if (flags != 0 && (flags != IBV_QP_CREATE_BLOCK_SELF_MCAST_LB || attr->qp_type != IBV_QPT_UD))
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == NULL)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_qp *qp = create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr, flags, &err);
	if (qp == NULL)
		return verbs_null(err);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
		err = verbs_builder_init(qp, attr->send_ops_flags);
		if (err != 0) {
			ibv_destroy_qp(&qp->ex.qp_base);
			return verbs_null(err);
		}
		qp->has_ex = true;
	}
	return &qp->ex.qp_base;
}

VERBS_PUBLIC struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (verbs_is_inherited(qp->context))
		return 0;
	return verbs_qp_of(qp)->has_ex ? &verbs_qp_of(qp)->ex : NULL;
}

VERBS_PUBLIC int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct verbs_qp *self = verbs_qp_of(qp);

	/* As Linux has it: groups are left first. */
	if (self->opener == NULL && !verbs_is_inherited(qp->context) && hca_mcast_is_attached(self->hca))
		return EBUSY;
	if (self->opener != NULL)
		hca_xrc_target_close(self->opener);
	else
		hca_qp_destroy(self->hca);
	verbs_builder_fini(self);
	pthread_cond_destroy(&qp->cond);
	pthread_mutex_destroy(&qp->mutex);
	free(self);
	return 0;
}

VERBS_PUBLIC int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	if (verbs_is_inherited(qp->context))
		return EIO;
	/* Only what the mask names is read: callers leave the rest uninitialised. */
	struct hca_qp_attr ours = { 0 };

	if ((attr_mask & IBV_QP_STATE) != 0)
		ours.state = attr->qp_state;
	if ((attr_mask & IBV_QP_CUR_STATE) != 0)
		ours.cur_state = attr->cur_qp_state;
	if ((attr_mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0)
		ours.en_sqd_async_notify = attr->en_sqd_async_notify != 0;
	if ((attr_mask & IBV_QP_ACCESS_FLAGS) != 0)
		ours.access = attr->qp_access_flags;
	if ((attr_mask & IBV_QP_PKEY_INDEX) != 0)
		ours.pkey_index = attr->pkey_index;
	if ((attr_mask & IBV_QP_PORT) != 0)
		ours.port_num = attr->port_num;
	if ((attr_mask & IBV_QP_QKEY) != 0)
		ours.qkey = attr->qkey;
	if ((attr_mask & IBV_QP_AV) != 0)
		verbs_ah_attr_in(&ours.ah, &attr->ah_attr);
	if ((attr_mask & IBV_QP_PATH_MTU) != 0)
		ours.path_mtu = attr->path_mtu;
	if ((attr_mask & IBV_QP_TIMEOUT) != 0)
		ours.timeout = attr->timeout;
	if ((attr_mask & IBV_QP_RETRY_CNT) != 0)
		ours.retry_cnt = attr->retry_cnt;
	if ((attr_mask & IBV_QP_RNR_RETRY) != 0)
		ours.rnr_retry = attr->rnr_retry;
	if ((attr_mask & IBV_QP_RQ_PSN) != 0)
		ours.rq_psn = attr->rq_psn;
	if ((attr_mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		ours.max_rd_atomic = attr->max_rd_atomic;
	if ((attr_mask & IBV_QP_MIN_RNR_TIMER) != 0)
		ours.min_rnr_timer = attr->min_rnr_timer;
	if ((attr_mask & IBV_QP_SQ_PSN) != 0)
		ours.sq_psn = attr->sq_psn;
	if ((attr_mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		ours.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if ((attr_mask & IBV_QP_PATH_MIG_STATE) != 0)
		ours.path_mig_state = attr->path_mig_state;
	if ((attr_mask & IBV_QP_DEST_QPN) != 0)
		ours.dest_qpn = attr->dest_qp_num;
	int err = hca_qp_modify(verbs_qp_of(qp)->hca, &ours, (uint32_t)attr_mask);
	if (err == 0 && (attr_mask & IBV_QP_STATE) != 0)
		qp->state = attr->qp_state;
	return base_err_to_errno(err);
}

VERBS_PUBLIC int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct verbs_qp *self = verbs_qp_of(qp);
	struct hca_qp_attr ours;

	if ((attr_mask & ~(int)HCA_QP_KNOWN) != 0)
		return EOPNOTSUPP;
	if (verbs_is_inherited(qp->context)) {
		*attr = (struct ibv_qp_attr){ .qp_state = qp->state, .cur_qp_state = qp->state, .cap = self->init.cap };
		*init_attr = self->init;
		return 0;
	}
	hca_qp_query(self->hca, &ours, NULL);
	*attr = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)ours.state,
		.cur_qp_state = (enum ibv_qp_state)ours.state,
		.path_mtu = (enum ibv_mtu)ours.path_mtu,
		.path_mig_state = (enum ibv_mig_state)ours.path_mig_state,
		.qkey = ours.qkey,
		.rq_psn = ours.rq_psn,
		.sq_psn = ours.sq_psn,
		.dest_qp_num = ours.dest_qpn,
		.qp_access_flags = ours.access,
		.cap = self->init.cap,
		.pkey_index = ours.pkey_index,
		.en_sqd_async_notify = ours.en_sqd_async_notify,
		.sq_draining = ours.sq_draining,
		.max_rd_atomic = ours.max_rd_atomic,
		.max_dest_rd_atomic = ours.max_dest_rd_atomic,
		.min_rnr_timer = ours.min_rnr_timer,
		.port_num = ours.port_num,
		.timeout = ours.timeout,
		.retry_cnt = ours.retry_cnt,
		.rnr_retry = ours.rnr_retry,
	};
	verbs_ah_attr_out(&attr->ah_attr, &ours.ah);
	*init_attr = self->init;
	if ((attr_mask & IBV_QP_STATE) != 0)
		qp->state = attr->qp_state;
	return 0;
}

VERBS_PUBLIC int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0; /* always a legal answer: nothing is promised beyond what the specification says */
}
