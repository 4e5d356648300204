/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extended reliable connections: domains, their SRQs, and targets (XRC_RECV), which are shared by all who opened them. An
 * initiator (XRC_SEND) is a queue pair like any other.
 *
 * A domain lives in one process: programs that open one by the same file, as both ends of a test on one host do, have one each.
 * Only opening a target of another process needs what this cannot give, and is EOPNOTSUPP.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "hca/xrc.h"
#include "process/process.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

enum { SLOT_SHIFT = 16 }; /* of a QP number */

struct verbs_xrcd {
	struct ibv_xrcd ibv;
	struct hca_xrcd *hca;
};

static struct verbs_xrcd *xrcd_of(struct ibv_xrcd *xrcd)
{
	return (struct verbs_xrcd *)(void *)xrcd;
}

struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct hca_xrcd_key key = { .create = attr->oflags & O_CREAT, .exclusive = attr->oflags & O_EXCL };

	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	if ((attr->comp_mask & ~needed) != 0)
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & needed) != needed)
		return verbs_null(BASE_ERR_INVAL);
	if (attr->fd != -1) {
		struct stat st;

		if (fstat(attr->fd, &st) != 0)
			return NULL; /* EBADF */
		key.device = st.st_dev;
		key.inode = st.st_ino;
	}
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_xrcd_open(verbs_context_of(context)->hca, attr->fd != -1 ? &key : NULL, &xrcd->hca);
	if (err != 0) {
		free(xrcd);
		return verbs_null(err);
	}
	xrcd->ibv.context = context;
	return &xrcd->ibv;
}

int verbs_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_xrcd *self = xrcd_of(xrcd);

	if (verbs_is_inherited(xrcd->context))
		return 0;
	int err = hca_xrcd_close(self->hca);
	if (err != 0)
		return base_err_to_errno(err);
	free(self);
	return 0;
}

struct ibv_srq *verbs_create_xrc_srq(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t needed = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	struct hca_srq_attr ours = { attr->attr.max_wr, attr->attr.max_sge, attr->attr.srq_limit };

	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	if ((attr->comp_mask & ~needed) != 0)
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if (attr->comp_mask != needed || attr->pd == NULL || attr->xrcd == NULL || attr->cq == NULL || attr->xrcd->context != context)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_srq *srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_xrc_srq_create(xrcd_of(attr->xrcd)->hca, verbs_pd_of(attr->pd)->hca, verbs_cq_of(attr->cq)->hca, &ours, srq,
				     &srq->hca);
	if (err != 0) {
		free(srq);
		return verbs_null(err);
	}
	attr->attr.max_wr = ours.max_wr;
	attr->attr.max_sge = ours.max_sge;
	verbs_srq_fill(srq, attr->pd, attr->srq_context);
	return &srq->ibv;
}

int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	uint32_t ours = hca_xrc_srq_number(verbs_srq_of(srq)->hca);

	if (ours == 0)
		return EINVAL;
	*number = ours;
	return 0;
}

static struct ibv_qp *target_fill(struct verbs_qp *qp, struct ibv_xrcd *xrcd, void *qp_context)
{
	qp->init.qp_type = IBV_QPT_XRC_RECV;
	qp->init.qp_context = qp_context;
	verbs_qp_fill(qp, xrcd->context, NULL);
	qp->ex.qp_base.state = (enum ibv_qp_state)hca_qp_state_get(qp->hca);
	return &qp->ex.qp_base;
}

struct ibv_qp *verbs_create_xrc_target(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	struct hca_qp_init init = { .type = HCA_QPT_XRC_RECV };

	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	/* It has no send queue to build work requests for. */
	if ((attr->comp_mask & ~known) != 0 ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr->create_flags != 0))
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attr->xrcd == NULL || attr->xrcd->context != context)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_qp *qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_xrc_target_create(xrcd_of(attr->xrcd)->hca, &init, qp, &qp->hca, &qp->opener);
	if (err != 0) {
		free(qp);
		return verbs_null(err);
	}
	attr->cap = (struct ibv_qp_cap){ 0 };
	return target_fill(qp, attr->xrcd, attr->qp_context);
}

struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	if ((attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT)) != 0)
		return verbs_null(BASE_ERR_UNSUPPORTED);
	if ((attr->comp_mask & needed) != needed || attr->xrcd == NULL || attr->xrcd->context != context ||
	    attr->qp_type != IBV_QPT_XRC_RECV)
		return verbs_null(BASE_ERR_INVAL);
	if (attr->qp_num >> SLOT_SHIFT != process_slot(verbs_context_of(context)->engine->process))
		return verbs_null(BASE_ERR_UNSUPPORTED);
	struct verbs_qp *qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_xrc_target_open(xrcd_of(attr->xrcd)->hca, attr->qp_num, qp, &qp->hca, &qp->opener);
	if (err != 0) {
		free(qp);
		return verbs_null(err);
	}
	return target_fill(qp, attr->xrcd, (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? attr->qp_context : NULL);
}
