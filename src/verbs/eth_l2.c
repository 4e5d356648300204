/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The Ethernet addresses behind GIDs: ibv_resolve_eth_l2_from_gid. Nothing of ours needs it, but drivers of adapters that build
 * frames in user space do, and programs that build their own (spec: roce-wire 1, qp-semantics 16).
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "hca/ah.h"
#include "netdev/neighbour.h"
#include "verbs/context.h"
#include "verbs/device.h"
#include "verbs/symbol.h"

#define RESOLVE_TIMEOUT (3 * BASE_SEC)

static int resolve(struct verbs_context_object *self, const struct hca_ah_attr *ah, struct netdev_hop *hop)
{
	struct netdev_gid sgid;
	int err = hca_device_is_lost(hca_context_device(self->hca)) ? BASE_ERR_IO : hca_ah_attr_check(ah);

	if (err != 0)
		return err;
	err = process_netdev_gid(self->engine->process, self->device->index, ah->sgid_index, &sgid);
	if (err != 0 || !sgid.valid)
		return BASE_ERR_INVAL;
	/* Of RoCEv1's link-local addresses the frame's is a part; whoever has one need not have it as an IP address. */
	if (sgid.type == WIRE_GID_ROCE_V1 && wire_gid_is_link_local(&ah->dgid) && wire_gid_to_mac(hop->mac, &ah->dgid))
		return netdev_hop_vlan(sgid.ifindex, &hop->vlan);
	return netdev_hop_resolve(&sgid.gid, &ah->dgid, sgid.ifindex, RESOLVE_TIMEOUT, hop);
}

VERBS_PUBLIC int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
	uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	struct verbs_context_object *self = verbs_context_of(context);
	struct netdev_hop hop = { .vlan = NETDEV_NO_VLAN };
	struct hca_ah_attr ah;

	verbs_ah_attr_in(&ah, attr);
	int err = verbs_is_inherited(context) ? BASE_ERR_IO : resolve(self, &ah, &hop);
	if (err != 0)
		return errno = base_err_to_errno(err);
	memcpy(eth_mac, hop.mac, ETHERNET_LL_SIZE);
	*vid = hop.vlan;
	return 0;
}
