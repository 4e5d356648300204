/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/gsi_raw.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "ipc/pair.h"
#include "netdev/neighbour.h"
#include "netdev/packet.h"
#include "wire/frame.h"

#define SLOT_AT (WIRE_ETH_BYTES + WIRE_GRH_BYTES + 5) /* the high byte of the destination QPN */

int broker_gsi_raw_open(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SLOT_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPC_SLOT_BROKER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	struct sockaddr_ll every = { .sll_family = AF_PACKET, .sll_protocol = htons(WIRE_ETHERTYPE_ROCE_V1) };
	int fd;

	if (netdev_packet_open(&fd) != BASE_OK)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0 &&
	    bind(fd, (struct sockaddr *)&every, sizeof(every)) == 0)
		return fd;
	close(fd);
	return -1;
}

bool broker_gsi_raw_read(struct broker_gsi *gsi, uint8_t buf[BROKER_GSI_FRAME_MAX], struct broker_gsi_packet *out)
{
	struct sockaddr_ll from;
	socklen_t from_len = sizeof(from);
	struct wire_frame frame;
	ssize_t n;

	do
		n = recvfrom(gsi->raw, buf, BROKER_GSI_FRAME_MAX, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
	while (n < 0 && errno == EINTR);
	*out = (struct broker_gsi_packet){ .len = 0 };
	if (n < 0)
		return errno == ENETDOWN; /* an interface went down: said once, and nothing else */
	if (wire_frame_decode(&frame, buf, (size_t)n) != 0 || frame.encap != WIRE_ENCAP_V1) {
		gsi->dropped_form++;
		return true;
	}
	if (from.sll_pkttype != PACKET_HOST) {
		gsi->dropped_address++;
		return true;
	}
	*out = (struct broker_gsi_packet){ .gid_type = WIRE_GID_ROCE_V1, .source = frame.grh.sgid, .destination = frame.grh.dgid,
		.ifindex = (uint32_t)from.sll_ifindex, .traffic_class = frame.grh.traffic_class, .hop_limit = frame.grh.hop_limit,
		.ib = frame.ib, .len = (uint32_t)frame.ib_len };
	memcpy(out->source_mac, frame.eth.src, sizeof(out->source_mac));
	return true;
}

/* The peer's MAC: in its GID, as learned from its packet, or as the kernel knows it, which is asked for it once more. */
static bool mac_find(const struct cm_path *path, uint32_t ifindex, uint8_t mac[WIRE_MAC_BYTES])
{
	static const uint8_t none[WIRE_MAC_BYTES];
	struct netdev_hop hop;

	if (wire_gid_is_link_local(&path->dgid) && wire_gid_to_mac(mac, &path->dgid))
		return true;
	memcpy(mac, path->mac, WIRE_MAC_BYTES);
	if (memcmp(mac, none, sizeof(none)) != 0)
		return true;
	if (netdev_hop_find(&path->sgid, &path->dgid, ifindex, &hop) != BASE_OK)
		return false;
	if (hop.asks && netdev_hop_look(&hop) != BASE_OK) {
		netdev_hop_ask(&hop, &path->sgid, &path->dgid);
		return false;
	}
	memcpy(mac, hop.mac, WIRE_MAC_BYTES);
	return true;
}

void broker_gsi_raw_send(struct broker_gsi *gsi, const struct netdev_table *table, const struct cm_send *out, const uint8_t *ib,
			 size_t len)
{
	const struct cm_path *path = &out->path;
	const struct netdev_device *device;
	struct wire_frame frame = { .encap = WIRE_ENCAP_V1, .grh = { .traffic_class = path->traffic_class, .hop_limit = path->hop_limit,
		.flow_label = path->flow_label, .sgid = path->sgid, .dgid = path->dgid } };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(WIRE_ETHERTYPE_ROCE_V1) };
	uint8_t bytes[BROKER_GSI_FRAME_MAX];
	int index;

	if (gsi->raw < 0 || path->port.number >= table->count)
		goto lost;
	device = &table->devices[path->port.number];
	index = netdev_device_gid_index(device, &path->sgid, WIRE_GID_ROCE_V1);
	if (index < 0)
		goto lost;
	to.sll_ifindex = (int)device->gids[index].ifindex;
	memcpy(frame.eth.src, device->mac, WIRE_MAC_BYTES);
	if (!mac_find(path, (uint32_t)to.sll_ifindex, frame.eth.dst))
		goto lost;
	ssize_t frame_len = wire_frame_encode(bytes, sizeof(bytes), &frame, ib, len - WIRE_ICRC_BYTES);
	if (frame_len > 0 && sendto(gsi->raw, bytes, (size_t)frame_len, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) == frame_len)
		return;
lost:
	gsi->send_errors++;
}
