/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "verbs/ah_from_wc.h"

#include "base/err.h"
#include "verbs/symbol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	GRH_AREA = 40,      /* bytes that precede the payload of every UD datagram */
	IPV4_AT = 20,       /* where the IPv4 header stands in it */
	IPV4_LEN = 20,
	PROTOCOL_UDP = 17,  /* RoCE v2 */
	PROTOCOL_IBA = 0x1b /* RoCE v1: the header that follows is a BTH */
};

static bool ipv4_checksum_is_right(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4_LEN; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static void gid_from_ipv4(union ibv_gid *gid, const uint8_t *address)
{
	memset(gid->raw, 0, 10);
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, address, 4);
}

/*
 * The first 20 bytes are undefined under an IPv4 header, so they may look like IPv6 by chance; the checksum of the IPv4 header
 * decides then. (A GRH or IPv6 header has address bytes there, which make a right checksum once in 65536 * 256 times.)
 */
static bool area_holds_ipv4(const uint8_t *area)
{
	if (area[0] >> 4 != 6)
		return area[IPV4_AT] >> 4 == 4;
	return area[IPV4_AT] == 0x45 && ipv4_checksum_is_right(area + IPV4_AT);
}

int verbs_grh_view(struct verbs_grh_view *view, const struct ibv_grh *grh)
{
	uint8_t area[GRH_AREA];

	_Static_assert(sizeof(*grh) == GRH_AREA, "the header area of a UD datagram");
	memcpy(area, grh, sizeof(area));
	if (area_holds_ipv4(area)) {
		const uint8_t *ipv4 = area + IPV4_AT;

		if (ipv4[9] != PROTOCOL_UDP)
			return BASE_ERR_MALFORMED;
		memset(view, 0, sizeof(*view));
		gid_from_ipv4(&view->source, ipv4 + 12);
		gid_from_ipv4(&view->destination, ipv4 + 16);
		view->traffic_class = ipv4[1];
		view->hop_limit = ipv4[8];
		view->gid_type = IBV_GID_TYPE_ROCE_V2;
		return 0;
	}
	if (area[0] >> 4 != 6 || (area[6] != PROTOCOL_UDP && area[6] != PROTOCOL_IBA))
		return BASE_ERR_MALFORMED;
	memset(view, 0, sizeof(*view));
	memcpy(view->source.raw, area + 8, 16);
	memcpy(view->destination.raw, area + 24, 16);
	view->flow_label = (uint32_t)(area[1] & 0x0f) << 16 | (uint32_t)area[2] << 8 | area[3];
	view->traffic_class = (uint8_t)(area[0] << 4 | area[1] >> 4);
	view->hop_limit = area[7];
	view->gid_type = area[6] == PROTOCOL_UDP ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

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
	/* On Ethernet every address handle needs the network header: without it there is nobody to answer. */
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
	attr.sl = wc->sl;
	attr.is_global = 1;
	attr.grh.dgid = view.source;
	attr.grh.sgid_index = (uint8_t)index;
	attr.grh.flow_label = view.flow_label;
	attr.grh.traffic_class = view.traffic_class;
	attr.grh.hop_limit = view.hop_limit;
	*ah_attr = attr;
	return 0;
}

VERBS_PUBLIC struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}
