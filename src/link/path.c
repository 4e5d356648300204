/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/path.h"

#include "base/err.h"
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

void link_path_shm(struct link_path *out, const struct link_path_address *in, uint32_t dest_ifindex)
{
	fill(out, in, LINK_SHM);
	out->dest_ifindex = dest_ifindex;
}
