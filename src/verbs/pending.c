/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs that are not built yet. Each refuses by its own convention, so that a program ends with a message of its own. A verb
 * leaves this file when its object gets one.
 */
#include "verbs/symbol.h"

#include <infiniband/verbs.h>

#include <errno.h>

/* address handles */

VERBS_PUBLIC int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
	uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	return EOPNOTSUPP;
}
