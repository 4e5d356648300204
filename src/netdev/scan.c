/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vlan.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/random.h"

#define SCAN_LOWER_UP 0x10000u /* IFF_LOWER_UP of <linux/if.h>, which does not go with <net/if.h> */

/* Not a secret, only different from host to host. */
static uint64_t scan_host_key(void)
{
	struct base_random mix = { 0x736f667476657262ull };
	char id[64];
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, id, sizeof(id)) : 0;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < len; i++)
		mix.state = base_random_next(&mix) ^ (uint8_t)id[i];
	return base_random_next(&mix);
}

/* Mb/s; 0: it says none (lo, tunnels), or has no link now. */
static uint32_t scan_speed(int fd, const char *ifname)
{
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (void *)&command };

	strcpy(request.ifr_name, ifname);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request) != 0 || ethtool_cmd_speed(&command) == (uint32_t)SPEED_UNKNOWN ||
	    ethtool_cmd_speed(&command) == UINT16_MAX) /* unknown, in the field's low half alone */
		return 0;
	return ethtool_cmd_speed(&command);
}

static int scan_links(struct nl_sock *sock, struct netdev_scan *out)
{
	struct nl_cache *cache;
	int fd;

	if (rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache) < 0)
		return BASE_ERR_IO;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (struct nl_object *o = nl_cache_get_first(cache); o != NULL; o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;
		struct nl_addr *mac = rtnl_link_get_addr(link);
		unsigned flags = rtnl_link_get_flags(link);
		const char *name = rtnl_link_get_name(link);
		static const uint8_t zero[6];

		if (name == NULL || strlen(name) >= NETDEV_IFNAME_MAX)
			continue;
		if (out->count == NETDEV_MAX_DEVICES) {
			out->left_out += (flags & IFF_UP) != 0;
			continue;
		}
		struct netdev_interface *interface = &out->interfaces[out->count++];
		strcpy(interface->ifname, name);
		interface->ifindex = (uint32_t)rtnl_link_get_ifindex(link);
		interface->mtu = rtnl_link_get_mtu(link);
		interface->admin_up = (flags & IFF_UP) != 0;
		interface->carrier = (flags & SCAN_LOWER_UP) != 0;
		interface->loopback = (flags & IFF_LOOPBACK) != 0;
		interface->neighbours = (flags & (IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT)) == 0;
		interface->speed = scan_speed(fd, name);
		interface->vlan_of = rtnl_link_is_vlan(link) ? (uint32_t)rtnl_link_get_link(link) : 0;
		interface->has_mac = mac != NULL && nl_addr_get_len(mac) == 6 && rtnl_link_get_arptype(link) == ARPHRD_ETHER &&
			memcmp(nl_addr_get_binary_addr(mac), zero, 6) != 0;
		if (interface->has_mac)
			memcpy(interface->mac, nl_addr_get_binary_addr(mac), 6);
	}
	if (fd >= 0)
		close(fd);
	nl_cache_free(cache);
	return BASE_OK;
}

static struct netdev_interface *scan_interface(struct netdev_scan *scan, int ifindex)
{
	for (uint32_t i = 0; i < scan->count; i++)
		if (scan->interfaces[i].ifindex == (uint32_t)ifindex)
			return &scan->interfaces[i];
	return NULL;
}

static int scan_addresses(struct nl_sock *sock, struct netdev_scan *out)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct nl_cache *cache;

	if (rtnl_addr_alloc_cache(sock, &cache) < 0)
		return BASE_ERR_IO;
	for (int pass = 0; pass < 2; pass++) {
		for (struct nl_object *o = nl_cache_get_first(cache); o != NULL; o = nl_cache_get_next(o)) {
			struct rtnl_addr *addr = (struct rtnl_addr *)o;
			struct nl_addr *local = rtnl_addr_get_local(addr);
			struct netdev_interface *interface = scan_interface(out, rtnl_addr_get_ifindex(addr));

			if (interface == NULL || local == NULL || rtnl_addr_get_family(addr) != families[pass] ||
				interface->address_count == NETDEV_MAX_ADDRESSES)
				continue;
			struct wire_gid *gid = &interface->addresses[interface->address_count];
			if (families[pass] == AF_INET && nl_addr_get_len(local) == 4) {
				static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

				memcpy(gid->raw, mapped, 12);
				memcpy(gid->raw + 12, nl_addr_get_binary_addr(local), 4);
				interface->address_count++;
			} else if (families[pass] == AF_INET6 && nl_addr_get_len(local) == 16) {
				memcpy(gid->raw, nl_addr_get_binary_addr(local), 16);
				interface->address_count++;
			}
		}
	}
	nl_cache_free(cache);
	return BASE_OK;
}

/* The interface of the best default route of the main table; IPv4 before IPv6. None: nobody has the mark. */
static int scan_default_route(struct nl_sock *sock, struct netdev_scan *out)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct netdev_interface *best = NULL;

	for (int pass = 0; pass < 2 && best == NULL; pass++) {
		struct nl_cache *cache;
		uint32_t best_metric = UINT32_MAX;

		if (rtnl_route_alloc_cache(sock, families[pass], 0, &cache) < 0)
			continue; /* no IPv6 in this kernel */
		for (struct nl_object *o = nl_cache_get_first(cache); o != NULL; o = nl_cache_get_next(o)) {
			struct rtnl_route *route = (struct rtnl_route *)o;
			struct nl_addr *dst = rtnl_route_get_dst(route);

			if (rtnl_route_get_table(route) != RT_TABLE_MAIN || rtnl_route_get_type(route) != RTN_UNICAST ||
				(dst != NULL && nl_addr_get_prefixlen(dst) != 0) || rtnl_route_get_nnexthops(route) == 0)
				continue;
			struct netdev_interface *interface = scan_interface(out, rtnl_route_nh_get_ifindex(rtnl_route_nexthop_n(route, 0)));
			if (interface != NULL && interface->admin_up && (best == NULL || rtnl_route_get_priority(route) < best_metric)) {
				best = interface;
				best_metric = rtnl_route_get_priority(route);
			}
		}
		nl_cache_free(cache);
	}
	if (best != NULL)
		best->default_route = true;
	return BASE_OK;
}

int netdev_scan(struct netdev_scan *out)
{
	struct nl_sock *sock = nl_socket_alloc();
	int rc = BASE_ERR_IO;

	if (sock == NULL)
		return BASE_ERR_NOMEM;
	enum netdev_gid_profile profile = out->profile;

	memset(out, 0, sizeof(*out));
	out->profile = profile;
	out->host_key = scan_host_key();
	if (nl_connect(sock, NETLINK_ROUTE) == 0)
		rc = scan_links(sock, out);
	if (rc == BASE_OK)
		rc = scan_addresses(sock, out);
	if (rc == BASE_OK)
		rc = scan_default_route(sock, out);
	nl_socket_free(sock);
	return rc;
}

int netdev_subscribe(const int groups[], unsigned count)
{
	struct nl_sock *sock = nl_socket_alloc();
	int fd = BASE_ERR_IO;

	if (sock == NULL)
		return BASE_ERR_NOMEM;
	if (nl_connect(sock, NETLINK_ROUTE) == 0) {
		bool joined = true;

		for (unsigned i = 0; i < count; i++)
			joined = joined && nl_socket_add_membership(sock, groups[i]) == 0;
		if (joined) {
			fd = fcntl(nl_socket_get_fd(sock), F_DUPFD_CLOEXEC, 0);
			if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
				if (fd >= 0)
					close(fd);
				fd = BASE_ERR_IO;
			}
		}
	}
	nl_socket_free(sock);
	return fd;
}

int netdev_monitor_open(void)
{
	static const int groups[] = {
		RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE };

	/* The notices are counted, not parsed: a plain descriptor is all that is needed. */
	return netdev_subscribe(groups, sizeof(groups) / sizeof(groups[0]));
}

bool netdev_monitor_drain(int fd)
{
	bool changed = false;
	char byte;

	for (unsigned i = 0; i < 4096; i++) {
		ssize_t n = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC);

		if (n > 0 || (n < 0 && errno == ENOBUFS))
			changed = true;
		else if (n == 0 || errno != EINTR)
			break;
	}
	return changed;
}
