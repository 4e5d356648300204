/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/grh.h"

#include <string.h>

#include "wire/ip.h"
#include "wire/icrc.h"

/* Bytes from the BTH up to and including the ICRC. */
static uint16_t ib_bytes(const struct link_rx *rx)
{
	const struct wire_packet *head = &rx->run.head;

	return (uint16_t)(head->op->header_bytes + (head->payload_len + 3) / 4 * 4 + WIRE_ICRC_BYTES);
}

void hca_grh_build(uint8_t out[HCA_GRH_BYTES], const struct link_rx *rx)
{
	if (rx->gid_type == WIRE_GID_ROCE_V2 && wire_gid_is_ipv4_mapped(&rx->dgid)) {
		struct wire_ipv4 ipv4 = {
			.tos = rx->traffic_class,
			.ttl = rx->hop_limit,
			.protocol = WIRE_PROTOCOL_UDP,
			.total_len = (uint16_t)(WIRE_IPV4_BYTES + WIRE_UDP_BYTES + ib_bytes(rx)),
			.fragment = WIRE_IPV4_DF,
		};

		memcpy(ipv4.src, rx->sgid.raw + 12, sizeof(ipv4.src));
		memcpy(ipv4.dst, rx->dgid.raw + 12, sizeof(ipv4.dst));
		memset(out, 0, HCA_GRH_BYTES - WIRE_IPV4_BYTES);
		wire_ipv4_encode(out + HCA_GRH_BYTES - WIRE_IPV4_BYTES, &ipv4);
		return;
	}
	const bool is_v2 = rx->gid_type == WIRE_GID_ROCE_V2;
	const struct wire_grh grh = {
		.traffic_class = rx->traffic_class,
		.next_header = is_v2 ? WIRE_PROTOCOL_UDP : WIRE_PROTOCOL_IBA,
		.hop_limit = rx->hop_limit,
		.payload_len = (uint16_t)(ib_bytes(rx) + (is_v2 ? WIRE_UDP_BYTES : 0)),
		.sgid = rx->sgid,
		.dgid = rx->dgid,
	};

	wire_grh_encode(out, &grh);
}
