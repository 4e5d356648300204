/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "verbs/grh_view.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

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
