/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibv_query_ece, ibv_set_ece. */
#include "hca/qp_ece.h"

#include <errno.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/symbol.h"

VERBS_PUBLIC int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	struct hca_ece got;

	if (qp == NULL || ece == NULL)
		return EINVAL;
	if (verbs_is_inherited(qp->context))
		return EIO;
	int err = hca_qp_ece_query(verbs_qp_of(qp)->hca, &got);
	if (err != 0)
		return base_err_to_errno(err);
	*ece = (struct ibv_ece){ .vendor_id = got.vendor_id, .options = got.options };
	return 0;
}

VERBS_PUBLIC int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (qp == NULL || ece == NULL)
		return EINVAL;
	if (ece->vendor_id == 0) {
		errno = EOPNOTSUPP;
		return errno;
	}
	if (verbs_is_inherited(qp->context))
		return EIO;
	if (ece->comp_mask != 0)
		return EINVAL;
	return base_err_to_errno(hca_qp_ece_set(verbs_qp_of(qp)->hca,
						&(struct hca_ece){ .vendor_id = ece->vendor_id, .options = ece->options }));
}
