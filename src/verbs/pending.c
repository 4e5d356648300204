/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs that are not built yet. Each refuses by its own convention, so that a program ends with a message of its own. A verb
 * leaves this file when its object gets one.
 */
#include "verbs/symbol.h"

#include <infiniband/verbs.h>

#include <errno.h>

static void *no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* device and context */

VERBS_PUBLIC struct ibv_context *ibv_import_device(int cmd_fd)
{
	return no_object();
}

/* protection domains and memory */

VERBS_PUBLIC struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_pd(struct ibv_pd *pd)
{
}

VERBS_PUBLIC struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_mr(struct ibv_mr *mr)
{
}

VERBS_PUBLIC struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_dm(struct ibv_dm *dm)
{
}

/* queue pairs */

VERBS_PUBLIC int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	errno = EOPNOTSUPP;
	return errno;
}

VERBS_PUBLIC int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

/* address handles */

VERBS_PUBLIC int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
	uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	return EOPNOTSUPP;
}
