/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/path.h"

#include "base/err.h"
#include "link/raw.h"
#include "wire/bth.h"
#include "wire/flow.h"

static void fill(struct link_path *out, const struct link_path_address *in, enum link_kind kind)
{
	*out = (struct link_path){
		.kind = kind,
		.gid_type = in->gid_type,
		.sgid = in->sgid,
		.dgid = in->dgid,
		.ifindex = in->ifindex,
		.qpn = in->qpn & WIRE_QPN_MASK,
		.dest_qpn = in->dest_qpn & WIRE_QPN_MASK,
		.flow_label = in->flow_label & WIRE_FLOW_LABEL_MASK,
		.traffic_class = in->traffic_class,
		.hop_limit = in->hop_limit == 0 ? LINK_PATH_HOPS : in->hop_limit,
	};
	if (out->flow_label == 0)
		out->flow_label = wire_flow_label(out->qpn, out->dest_qpn);
}

int link_path_udp(struct link_path *out, const struct link_path_address *in)
{
	if (in->gid_type != WIRE_GID_ROCE_V2)
		return BASE_ERR_UNSUPPORTED;
	if (wire_gid_is_zero(&in->sgid) || wire_gid_is_zero(&in->dgid) ||
	    wire_gid_is_ipv4_mapped(&in->sgid) != wire_gid_is_ipv4_mapped(&in->dgid))
		return BASE_ERR_UNREACH;
	fill(out, in, LINK_UDP);
	return 0;
}

int link_path_raw(struct link_path *out, const struct link_path_address *in, const uint8_t from[WIRE_MAC_BYTES],
		  const uint8_t to[WIRE_MAC_BYTES], uint32_t local_ifindex)
{
	if (in->gid_type != WIRE_GID_ROCE_V1)
		return BASE_ERR_UNSUPPORTED;
	if (wire_gid_is_zero(&in->sgid) || wire_gid_is_zero(&in->dgid))
		return BASE_ERR_UNREACH;
	fill(out, in, LINK_RAW);
	out->frame_ifindex = local_ifindex != 0 ? LINK_RAW_LO : in->ifindex;
	if (out->frame_ifindex == LINK_RAW_LO)
		link_raw_local_mac(out->frame_from, local_ifindex != 0 ? local_ifindex : LINK_RAW_LO);
	else
		memcpy(out->frame_from, from, WIRE_MAC_BYTES);
	if (!wire_gid_multicast_mac(out->frame_to, &in->dgid) && local_ifindex == 0)
		memcpy(out->frame_to, to, WIRE_MAC_BYTES);
	return 0;
}

void link_path_shm(struct link_path *out, const struct link_path_address *in, uint32_t dest_ifindex)
{
	fill(out, in, LINK_SHM);
	out->dest_ifindex = dest_ifindex;
}
