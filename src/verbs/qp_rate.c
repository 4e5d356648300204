/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibv_modify_qp_rate_limit. */
#include "hca/qp_rate.h"

#include <errno.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/ops.h"

/* The typical packet is not asked for: each packet is charged as what it is. */
int verbs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	const struct hca_qp_rate rate = { .kbps = attr->rate_limit, .burst_bytes = attr->max_burst_sz };

	if (verbs_is_inherited(qp->context))
		return EIO;
	if (attr->comp_mask != 0)
		return EINVAL;
	return base_err_to_errno(hca_qp_rate_limit(verbs_qp_of(qp)->hca, &rate));
}
