/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which way packets to a peer go: see process_engine_path(). */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "link/path.h"
#include "netdev/neighbour.h"
#include "netdev/packet.h"
#include "process/engine.h"
#include "wire/mtu.h"

#define PAIR_TIMEOUT (2 * BASE_SEC)
#define NEIGHBOUR_TIMEOUT (3 * BASE_SEC) /* the kernel asks three times, one second apart */
#define MIN_NETDEV_MTU (WIRE_MTU_BYTES_MIN + WIRE_MTU_PORT_OVERHEAD)

/*
 * The interface of this host that owns the GID; 0: none does. Prefers the one that the packets leave from (fe80::… may exist
 * twice, and so may any address with VLANs).
 */
static uint32_t local_owner(const struct netdev_table *table, const struct wire_gid *gid, uint32_t preferred)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		for (unsigned g = 0; g < NETDEV_MAX_GIDS; g++) {
			const struct netdev_gid *each = &table->devices[i].gids[g];

			if (!each->valid || !wire_gid_equal(&each->gid, gid))
				continue;
			if (each->ifindex == preferred)
				return preferred;
			if (found == 0)
				found = each->ifindex;
		}
	}
	return found;
}

static socklen_t gid_to_sockaddr(const struct wire_gid *gid, uint32_t ifindex, uint16_t port, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (wire_gid_is_ipv4_mapped(gid)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, gid->raw + 12, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, gid->raw, 16);
	if (wire_gid_is_link_local(gid) || wire_gid_is_multicast(gid))
		in6->sin6_scope_id = ifindex;
	return sizeof(*in6);
}

/* Asks the kernel: can a socket have this source address, and is there a route from it to the destination? */
static int try_route(const struct wire_gid *sgid, const struct wire_gid *dgid, uint32_t ifindex)
{
	struct sockaddr_storage source, destination;
	socklen_t source_len = gid_to_sockaddr(sgid, ifindex, 0, &source);
	socklen_t destination_len = gid_to_sockaddr(dgid, ifindex, 4791, &destination);
	int fd = socket(source.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return base_err_from_errno(errno);
	/* A group has no route of its own: it is the interface that says where it is. */
	if (wire_gid_is_multicast(dgid) && destination.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &ifindex, sizeof(ifindex));
	if (bind(fd, (struct sockaddr *)&source, source_len) != 0)
		err = errno == EADDRNOTAVAIL ? BASE_ERR_INVAL : base_err_from_errno(errno);
	else if (connect(fd, (struct sockaddr *)&destination, destination_len) != 0)
		err = base_err_from_errno(errno);
	close(fd);
	return err;
}

/* UDP_SEGMENT bursts cross loopback and veth unsegmented or are cut in software with the IP ids that the ICRC was made for. */
static bool route_takes_gso(const struct netdev_device *device, bool to_this_host)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq request = { .ifr_data = (void *)&info };
	bool veth = false;

	if (to_this_host || device->loopback)
		return true;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	memcpy(request.ifr_name, device->ifname, sizeof(request.ifr_name));
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		veth = strcmp(info.driver, "veth") == 0;
	close(fd);
	return veth;
}

static int shm_path(struct process_engine *engine, struct link_path *path)
{
	uint8_t slot = (uint8_t)(path->dest_qpn >> 16);

	path->kind = LINK_SHM;
	if (path->dest_qpn == 0)
		return 0; /* an address handle: each work request names its own slot, and the node asks when it has to */
	if (slot == process_slot(engine->process))
		return 0; /* the private ring */
	int err = process_pair_request(engine->process, slot, PAIR_TIMEOUT);
	if (err == BASE_ERR_NOENT || err == BASE_ERR_INVAL) {
		base_explain("QP 0x%06x: no process on this host has slot %u: its packets go nowhere", path->dest_qpn, slot);
		path->kind = LINK_NOWHERE;
		return 0;
	}
	return err;
}

/* Whoever is asked for its link address now need not be while packets wait. */
static int find_neighbour(const struct netdev_device *device, const struct wire_gid *sgid, const struct wire_gid *dgid,
			  uint32_t ifindex, struct netdev_hop *hop)
{
	char text[WIRE_GID_TEXT];
	int err = netdev_hop_resolve(sgid, dgid, ifindex, NEIGHBOUR_TIMEOUT, hop);

	if (err != 0)
		base_explain("%s: the way to %s is not found: %s", device->name, wire_gid_to_address(text, dgid),
			     err == BASE_ERR_TIMEDOUT ? "nobody has that address (ARP, ND)" : base_err_text(err));
	return err;
}

/* The MAC that RoCEv1's frames to this GID are sent to. Of link-local ones it is a part. */
static int mac_of(const struct netdev_device *device, const struct link_path *path, uint8_t mac[WIRE_MAC_BYTES])
{
	struct netdev_hop hop;

	if (wire_gid_is_link_local(&path->dgid) && wire_gid_to_mac(mac, &path->dgid))
		return BASE_OK;
	int err = find_neighbour(device, &path->sgid, &path->dgid, path->ifindex, &hop);
	if (err != 0)
		return err;
	/* Frames of Ethernet end where routers begin. */
	if (hop.ifindex != path->ifindex || !wire_gid_equal(&hop.next, &path->dgid))
		return BASE_ERR_UNREACH;
	memcpy(mac, hop.mac, WIRE_MAC_BYTES);
	return BASE_OK;
}

/* RoCEv1. */
static int raw_path(struct process_engine *engine, const struct netdev_device *device, struct link_path *path)
{
	const struct link_path_address address = {
		.gid_type = path->gid_type, .sgid = path->sgid, .dgid = path->dgid, .ifindex = path->ifindex,
		.dest_qpn = path->dest_qpn, .flow_label = path->flow_label, .traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
	};
	const uint32_t local_ifindex = path->dest_ifindex;
	uint8_t to[WIRE_MAC_BYTES] = { 0 };
	char text[WIRE_GID_TEXT];
	int err = 0;

	if (engine->raw < 0) {
		base_error("%s: this GID is RoCE v1, which cannot leave the host without raw Ethernet (%s); choose a v2 GID index",
			   device->name, NETDEV_PACKET_REMEDY);
		return BASE_ERR_INVAL;
	}
	wire_gid_to_address(text, &path->dgid);
	if (!device->up && local_ifindex == 0) {
		base_explain("%s: the port is down", device->name);
		return BASE_ERR_UNREACH;
	}
	if (local_ifindex == 0 && !wire_gid_is_multicast(&path->dgid))
		err = mac_of(device, path, to);
	if (err != 0) {
		base_explain("%s: no MAC address is found for %s: %s", device->name, text, base_err_text(err));
		return err;
	}
	node_lock(engine->node);
	err = link_raw_listen(engine->link);
	node_unlock(engine->node);
	if (err == 0)
		err = link_path_raw(path, &address, device->mac, to, local_ifindex);
	return err;
}

static int wire_path(struct process_engine *engine, const struct netdev_device *device, bool to_this_host, struct link_path *path)
{
	struct netdev_hop hop;
	const char *reason;
	char text[WIRE_GID_TEXT];

	if (path->gid_type == WIRE_GID_ROCE_V1)
		return raw_path(engine, device, path);
	if (!process_wire_available(engine->process, &reason)) {
		base_error("%s: no wire: %s", device->name, reason);
		return BASE_ERR_NODEV;
	}
	if (wire_gid_is_ipv4_mapped(&path->sgid) != wire_gid_is_ipv4_mapped(&path->dgid)) {
		base_explain("%s: source and destination GID are of different families (IPv4, IPv6)", device->name);
		return BASE_ERR_INVAL;
	}
	if (!to_this_host && device->mtu < MIN_NETDEV_MTU) {
		base_error("%s: the MTU of %s is %u bytes; a packet with %u bytes of payload needs %u", device->name, device->ifname,
			   device->mtu, WIRE_MTU_BYTES_MIN, MIN_NETDEV_MTU);
		return BASE_ERR_INVAL;
	}
	int err = try_route(&path->sgid, &path->dgid, path->ifindex);
	wire_gid_to_address(text, &path->sgid);
	if (err == BASE_ERR_INVAL)
		base_error("%s: GID %s is not an address of %s, so nothing can be sent from it over the wire; choose the index of one "
			   "that is (softverbs devices)", device->name, text, device->ifname);
	else if (err != 0)
		base_explain("%s: no route from %s: %s", device->name, text, base_err_text(err));
	if (err == 0 && !to_this_host)
		err = find_neighbour(device, &path->sgid, &path->dgid, path->ifindex, &hop);
	if (err != 0)
		return err;
	path->kind = LINK_UDP;
	const enum config_switch gso = process_config(engine->process)->gso;
	/* The members of a group are many and unknown: each packet goes for itself. */
	path->gso = !wire_gid_is_multicast(&path->dgid) &&
		    (gso == CONFIG_ON || (gso == CONFIG_AUTO && route_takes_gso(device, to_this_host)));
	return 0;
}

int process_engine_path(struct process_engine *engine, const struct process_peer *peer, struct link_path *out)
{
	struct netdev_table *table = malloc(sizeof(*table));
	struct link_path path = {
		.dgid = peer->dgid,
		.dest_qpn = peer->dest_qpn,
		.flow_label = peer->flow_label,
		.traffic_class = peer->traffic_class,
		.hop_limit = peer->hop_limit == 0 ? 64 : peer->hop_limit,
	};
	int err = BASE_ERR_INVAL;

	if (table == NULL)
		return BASE_ERR_NOMEM;
	process_netdev_read(engine->process, table);
	if (peer->device >= table->count || peer->sgid_index >= NETDEV_MAX_GIDS ||
	    !table->devices[peer->device].gids[peer->sgid_index].valid) {
		base_explain("GID index %u is empty", peer->sgid_index);
		goto free_table;
	}
	const struct netdev_device *device = &table->devices[peer->device];
	const struct netdev_gid *sgid = &device->gids[peer->sgid_index];

	path.sgid = sgid->gid;
	path.gid_type = sgid->type;
	path.ifindex = sgid->ifindex; /* of a VLAN on top of the device, perhaps */
	path.dest_ifindex = local_owner(table, &peer->dgid, sgid->ifindex);
	if (path.dest_ifindex != 0 && process_config(engine->process)->local == CONFIG_LOCAL_SHM)
		err = shm_path(engine, &path);
	else
		err = wire_path(engine, device, path.dest_ifindex != 0, &path);
	if (err == 0)
		*out = path;
free_table:
	free(table);
	return err;
}
