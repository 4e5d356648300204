/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address of whoever sent a UD datagram: ibv_init_ah_from_wc (spec: the destination must be one of the port's GIDs). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "verbs/grh_view.h"
#include "verbs/symbol.h"

static bool gid_is_multicast(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff || (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 && gid->raw[12] >> 4 == 0xe);
}

/* The index of `gid` in the port's table, of this type (or of any, for an InfiniBand port); -1 when it is not there. */
static int gid_find(struct ibv_context *context, uint8_t port_num, int count, const union ibv_gid *gid, int gid_type)
{
	for (int i = 0; i < count; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(context, port_num, (uint32_t)i, &entry, 0) != 0)
			continue;
		if (memcmp(entry.gid.raw, gid->raw, sizeof(gid->raw)) == 0 &&
		    (gid_type < 0 || entry.gid_type == (uint32_t)gid_type))
			return i;
	}
	return -1;
}

VERBS_PUBLIC int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
	struct ibv_ah_attr *ah_attr)
{
	struct verbs_grh_view view;
	struct ibv_port_attr port;
	struct ibv_ah_attr attr = { .port_num = port_num };
	int err = ibv_query_port(context, port_num, &port);
	int index;

	if (err != 0) {
		errno = err;
		return -1;
	}
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET) {
		attr.dlid = wc->slid;
		attr.sl = wc->sl;
		attr.src_path_bits = wc->dlid_path_bits;
		if ((wc->wc_flags & IBV_WC_GRH) == 0) {
			*ah_attr = attr;
			return 0;
		}
	}
	/*
	 * On Ethernet every address handle needs the network header: without it there is nobody to answer. And wc->sl is no level
	 * of service but what the datagram came under (decision 0098).
	 */
	if ((wc->wc_flags & IBV_WC_GRH) == 0 || grh == NULL || verbs_grh_view(&view, grh) != 0 ||
	    gid_is_multicast(&view.destination)) {
		errno = EINVAL;
		return -1;
	}
	index = gid_find(context, port_num, port.gid_tbl_len, &view.destination,
		port.link_layer == IBV_LINK_LAYER_ETHERNET ? (int)view.gid_type : -1);
	if (index < 0 || index > UINT8_MAX) {
		errno = EINVAL;
		return -1;
	}
	attr.is_global = 1;
	attr.grh.dgid = view.source;
	attr.grh.sgid_index = (uint8_t)index;
	attr.grh.flow_label = view.flow_label;
	attr.grh.traffic_class = view.traffic_class;
	attr.grh.hop_limit = view.hop_limit;
	*ah_attr = attr;
	return 0;
}
