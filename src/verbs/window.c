/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows: ibv_alloc_mw, ibv_bind_mw, ibv_dealloc_mw. Those of type 2 are bound by work requests (post.c, qp_ex.c). */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct verbs_mw *mw = calloc(1, sizeof(*mw));

	if (mw == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_mw_alloc(verbs_pd_of(pd)->hca, (enum hca_mw_type)type, &mw->hca);
	if (err != 0) {
		free(mw);
		return verbs_null(err);
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.type = type;
	mw->ibv.rkey = hca_mw_rkey(mw->hca);
	mw->ibv.handle = hca_mw_index(mw->hca);
	return &mw->ibv;
}

int verbs_dealloc_mw(struct ibv_mw *mw)
{
	if (verbs_is_inherited(mw->context))
		return 0;
	hca_mw_free(verbs_mw_of(mw)->hca);
	free(mw);
	return 0;
}

void verbs_bind_in(struct hca_bind *out, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	*out = (struct hca_bind){
		.mw = mw == NULL ? NULL : verbs_mw_of(mw)->hca,
		.mr = info->mr == NULL ? NULL : verbs_mr_of(info->mr)->hca,
		.rkey = rkey,
		.access = info->mw_access_flags,
		.addr = info->addr,
		.length = info->length,
	};
}

/* The key of the bind before this one is the program's to put back, should this one complete with an error. */
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	struct verbs_qp *self = verbs_qp_of(qp);
	struct hca_bind bind;
	struct hca_send_wr wr = { .wr_id = mw_bind->wr_id, .opcode = IBV_WR_BIND_MW, .flags = mw_bind->send_flags,
				  .bind = &bind };

	if (verbs_is_inherited(qp->context))
		return EIO;
	if (qp->pd != mw->pd)
		return EPERM;
	if ((mw_bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0)
		return EINVAL; /* what starts at 0 is of type 2 */
	verbs_bind_in(&bind, mw, ibv_inc_rkey(mw->rkey), &mw_bind->bind_info);
	bind.by_type_1 = true;
	hca_qp_post_begin(self->hca);
	int err = hca_qp_post_send(self->hca, &wr);
	/* Before anybody can see the completion, whose reader may put the old one back. */
	if (err == 0)
		mw->rkey = bind.rkey;
	hca_qp_post_end(self->hca, true);
	return base_err_to_errno(err);
}
