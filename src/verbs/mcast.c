/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching QPs to groups. The LID means nothing on an Ethernet port. */
#include "hca/mcast.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/symbol.h"

static int change(struct ibv_qp *qp, const union ibv_gid *gid, int (*how)(struct hca_qp *qp, const struct wire_gid *mgid))
{
	const struct verbs_qp *self = verbs_qp_of(qp);
	struct wire_gid mgid;

	if (verbs_is_inherited(qp->context))
		return EIO;
	memcpy(mgid.raw, gid->raw, sizeof(mgid.raw));
	return self->opener != NULL ? EINVAL : base_err_to_errno(how(self->hca, &mgid));
}

VERBS_PUBLIC int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change(qp, gid, hca_mcast_attach);
}

VERBS_PUBLIC int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change(qp, gid, hca_mcast_detach);
}
