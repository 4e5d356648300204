/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/gsi.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "broker/gsi_raw.h"
#include "wire/icrc.h"
#include "wire/mtu.h"
#include "wire/packet.h"

#define GSI_CA_ACK_DELAY 15 /* ibv_device_attr.local_ca_ack_delay of our devices, as rxe's */
#define GSI_BYTES (WIRE_BTH_BYTES + WIRE_DETH_BYTES + CM_MAD_BYTES + WIRE_ICRC_BYTES)

int broker_device_of(const struct netdev_table *table, const struct wire_gid *gid, uint32_t scope)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct netdev_device *device = &table->devices[i];

		if (device->ifindex == 0 || (scope != 0 && device->ifindex != scope))
			continue;
		if (netdev_device_gid_index(device, gid, WIRE_GID_ROCE_V2) >= 0)
			return (int)i;
	}
	return -1;
}

struct cm_port broker_port_of(const struct netdev_table *table, int device)
{
	if (device < 0)
		return (struct cm_port){ .number = UINT32_MAX };
	return (struct cm_port){ .number = (uint32_t)device, .node_guid = table->devices[device].node_guid,
		.ack_delay = GSI_CA_ACK_DELAY };
}

static bool icrc_is_good(const struct broker_gsi_packet *packet)
{
	struct wire_icrc_flow flow;

	if (packet->gid_type == WIRE_GID_ROCE_V1)
		wire_icrc_flow_grh(&flow, &packet->source, &packet->destination);
	else
		wire_icrc_flow_gids(&flow, &packet->source, &packet->destination, packet->source_port, WIRE_UDP_PORT_ROCE);
	return wire_icrc_verify(&flow, packet->ip_id, packet->ib, packet->len, NULL) != WIRE_ICRC_BAD;
}

/* The device that the packet came to; -1: none has this address. A frame must have come by the very interface. */
static int arrived_at(const struct netdev_table *table, const struct broker_gsi_packet *packet)
{
	if (packet->gid_type != WIRE_GID_ROCE_V1)
		return broker_device_of(table, &packet->destination,
					wire_gid_is_link_local(&packet->destination) ? packet->ifindex : 0);
	for (uint32_t i = 0; i < table->count; i++) {
		int index = netdev_device_gid_index(&table->devices[i], &packet->destination, WIRE_GID_ROCE_V1);

		if (index >= 0 && table->devices[i].gids[index].ifindex == packet->ifindex)
			return (int)i;
	}
	return -1;
}

bool broker_gsi_receive(struct broker_gsi *gsi, const struct netdev_table *table, const struct broker_gsi_packet *packet,
			struct cm_path *from, const uint8_t **mad, size_t *mad_len)
{
	struct wire_packet ib;

	gsi->received++;
	if (wire_packet_decode(&ib, packet->ib, packet->len) != 0 || ib.bth.opcode != WIRE_UD_SEND_ONLY ||
	    ib.bth.dest_qpn != WIRE_QPN_GSI || ib.deth.qkey != WIRE_QKEY_GSI || ib.payload_len != CM_MAD_BYTES) {
		gsi->dropped_form++;
		return false;
	}
	if (!icrc_is_good(packet)) {
		gsi->dropped_icrc++;
		return false;
	}
	int device = arrived_at(table, packet);
	if (device < 0) {
		gsi->dropped_address++;
		return false;
	}
	*from = (struct cm_path){
		.port = broker_port_of(table, device),
		.gid_type = packet->gid_type,
		.sgid = packet->destination,
		.dgid = packet->source,
		.gsi_qpn = ib.deth.src_qpn,
		.traffic_class = packet->traffic_class,
		.hop_limit = 64,
		.pkey = WIRE_PKEY_DEFAULT,
		.mtu = (uint8_t)wire_mtu_cm(table->devices[device].mtu),
		.life_time = 18,
	};
	memcpy(from->mac, packet->source_mac, sizeof(from->mac));
	*mad = ib.payload;
	*mad_len = ib.payload_len;
	return true;
}

/* --- sending --- */

struct control {
	_Alignas(struct cmsghdr) uint8_t bytes[128];
	size_t len;
};

static void control_put(struct control *control, int level, int type, const void *value, size_t len)
{
	struct cmsghdr *cmsg = (struct cmsghdr *)(void *)(control->bytes + control->len);

	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), value, len);
	control->len += CMSG_SPACE(len);
}

static void control_fill(struct control *control, struct sockaddr_in6 *to, const struct cm_path *path, uint32_t ifindex)
{
	const int hops = path->hop_limit == 0 ? 64 : path->hop_limit, class = path->traffic_class;

	if (wire_gid_is_ipv4_mapped(&path->dgid)) {
		struct in_pktinfo info = { 0 };

		memcpy(&info.ipi_spec_dst, path->sgid.raw + 12, 4);
		control_put(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
		control_put(control, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
		control_put(control, IPPROTO_IP, IP_TOS, &class, sizeof(class));
		return;
	}
	struct in6_pktinfo info = { 0 };

	memcpy(&info.ipi6_addr, path->sgid.raw, WIRE_GID_BYTES);
	if (wire_gid_is_link_local(&path->dgid))
		to->sin6_scope_id = info.ipi6_ifindex = ifindex;
	control_put(control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	control_put(control, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	control_put(control, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
}

static void frame(uint8_t ib[GSI_BYTES], uint32_t psn, const struct cm_send *out)
{
	const struct wire_packet head = {
		.bth = { .opcode = WIRE_UD_SEND_ONLY, .pkey = WIRE_PKEY_DEFAULT, .dest_qpn = out->path.gsi_qpn, .psn = psn },
		.deth = { .qkey = WIRE_QKEY_GSI, .src_qpn = WIRE_QPN_GSI },
	};
	struct wire_icrc_flow flow;
	size_t at = wire_packet_encode_headers(ib, &head);

	memcpy(ib + at, out->mad, CM_MAD_BYTES);
	/* A frame gets its own. */
	wire_icrc_flow_gids(&flow, &out->path.sgid, &out->path.dgid, WIRE_UDP_PORT_ROCE, WIRE_UDP_PORT_ROCE);
	wire_icrc_store(ib + at + CM_MAD_BYTES, wire_icrc_compute(&flow, 0, ib, at + CM_MAD_BYTES));
}

void broker_gsi_send(struct broker_gsi *gsi, const struct netdev_table *table, const struct cm_send *out)
{
	uint8_t ib[GSI_BYTES];
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(WIRE_UDP_PORT_ROCE) };
	struct control control = { .len = 0 };
	struct iovec iov = { ib, sizeof(ib) };
	uint32_t device = out->path.port.number;

	gsi->sent++;
	if (gsi->socket < 0 && out->path.gid_type != WIRE_GID_ROCE_V1) {
		gsi->send_errors++;
		return;
	}
	frame(ib, gsi->psn++ & 0xffffff, out);
	if (out->path.gid_type == WIRE_GID_ROCE_V1) {
		broker_gsi_raw_send(gsi, table, out, ib, sizeof(ib));
		return;
	}
	memcpy(&to.sin6_addr, out->path.dgid.raw, WIRE_GID_BYTES);
	memset(control.bytes, 0, sizeof(control.bytes));
	control_fill(&control, &to, &out->path, device < table->count ? table->devices[device].ifindex : 0);
	struct msghdr message = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = control.len };
	while (sendmsg(gsi->socket, &message, MSG_DONTWAIT) < 0) {
		if (errno == EINTR)
			continue;
		/* On a host without IPv6 the socket is an IPv4 one and takes no mapped address. */
		if (errno == EAFNOSUPPORT && wire_gid_is_ipv4_mapped(&out->path.dgid) && message.msg_namelen == sizeof(to)) {
			struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(WIRE_UDP_PORT_ROCE) };

			memcpy(&four.sin_addr, out->path.dgid.raw + 12, 4);
			memcpy(&to, &four, sizeof(four));
			message.msg_namelen = sizeof(four);
			continue;
		}
		gsi->send_errors++;
		return;
	}
}
