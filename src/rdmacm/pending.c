/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the newest releases that are not built yet: they refuse. A function leaves this file when its object gets one. */
#include "rdmacm/newer.h"
#include "rdmacm/symbol.h"

#include <errno.h>

static int not_supported(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

RDMACM_PUBLIC int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	return not_supported();
}

RDMACM_PUBLIC int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
	const struct rdma_addrinfo *hints)
{
	return not_supported();
}

RDMACM_PUBLIC int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	return not_supported();
}
