/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vlan.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "netdev/scan.h"

#define DISCARD_PORT 9
#define NOTICE_BYTES 8192u
#define NOTICE_READS 1024u

static const unsigned known_states = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY; /* NUD_VALID */

static uint8_t family_of(const struct wire_gid *gid)
{
	return wire_gid_is_ipv4_mapped(gid) ? AF_INET : AF_INET6;
}

static const uint8_t *address_of(const struct wire_gid *gid, int *len)
{
	*len = wire_gid_is_ipv4_mapped(gid) ? 4 : 16;
	return gid->raw + 16 - *len;
}

static bool gid_load(struct wire_gid *out, uint8_t family, const struct nlattr *attribute)
{
	if (family == AF_INET && nla_len(attribute) == 4)
		*out = wire_gid_from_ipv4(nla_data(attribute));
	else if (family == AF_INET6 && nla_len(attribute) == 16)
		*out = wire_gid_from_ipv6(nla_data(attribute));
	else
		return false;
	return true;
}

/* Sends the request (and frees it), calls `valid` for its answer. Negative: libnl's error. */
static int ask_kernel(struct nl_msg *message, nl_recvmsg_msg_cb_t valid, void *argument)
{
	struct nl_sock *sock = nl_socket_alloc();
	int err = -NLE_NOMEM;

	if (sock == NULL) {
		nlmsg_free(message);
		return err;
	}
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, valid, argument);
	err = nl_connect(sock, NETLINK_ROUTE);
	if (err == 0)
		err = nl_send_sync(sock, message);
	else
		nlmsg_free(message);
	nl_socket_free(sock);
	return err;
}

/* --- the way --- */

static int route_take(struct nl_msg *message, void *argument)
{
	struct netdev_hop *hop = argument;
	struct nlmsghdr *header = nlmsg_hdr(message);
	const struct rtmsg *route = nlmsg_data(header);
	struct nlattr *attributes[RTA_MAX + 1];

	if (header->nlmsg_type != RTM_NEWROUTE || nlmsg_parse(header, sizeof(*route), attributes, RTA_MAX, NULL) < 0)
		return NL_OK;
	if (attributes[RTA_OIF] != NULL)
		hop->ifindex = nla_get_u32(attributes[RTA_OIF]);
	if (attributes[RTA_GATEWAY] != NULL)
		gid_load(&hop->next, route->rtm_family, attributes[RTA_GATEWAY]);
	else if (attributes[RTA_VIA] != NULL && nla_len(attributes[RTA_VIA]) == 2 + 16) {
		/* An IPv4 route by an IPv6 gateway: the family, then the address. */
		const uint8_t *via = nla_data(attributes[RTA_VIA]);

		if (via[0] == AF_INET6)
			hop->next = wire_gid_from_ipv6(via + 2);
	}
	hop->local = route->rtm_type == RTN_LOCAL;
	return NL_OK;
}

static int route_find(const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope, struct netdev_hop *hop)
{
	int len;
	const uint8_t *to = address_of(destination, &len);
	struct rtmsg route = { .rtm_family = family_of(destination), .rtm_dst_len = (uint8_t)(len * 8) };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST);
	int err = message == NULL ? -NLE_NOMEM : nlmsg_append(message, &route, sizeof(route), NLMSG_ALIGNTO);

	if (err == 0)
		err = nla_put(message, RTA_DST, len, to);
	if (err == 0 && family_of(source) == route.rtm_family) {
		const uint8_t *from = address_of(source, &len);

		err = nla_put(message, RTA_SRC, len, from);
		((struct rtmsg *)nlmsg_data(nlmsg_hdr(message)))->rtm_src_len = (uint8_t)(len * 8);
	}
	/* Only a link-local address is the interface's; another one has the route that a socket would take. */
	if (err == 0 && wire_gid_is_link_local(destination) && scope != 0)
		err = nla_put_u32(message, RTA_OIF, scope);
	if (err != 0) {
		nlmsg_free(message);
		return BASE_ERR_NOMEM;
	}
	return ask_kernel(message, route_take, hop) == 0 && hop->ifindex != 0 ? BASE_OK : BASE_ERR_UNREACH;
}

static int link_take(struct nl_msg *message, void *argument)
{
	struct netdev_hop *hop = argument;
	struct nlmsghdr *header = nlmsg_hdr(message);
	const struct ifinfomsg *link = nlmsg_data(header);
	struct nlattr *attributes[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1], *vlan[IFLA_VLAN_MAX + 1];

	if (header->nlmsg_type != RTM_NEWLINK || nlmsg_parse(header, sizeof(*link), attributes, IFLA_MAX, NULL) < 0)
		return NL_OK;
	hop->asks = (link->ifi_flags & (IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT)) == 0;
	if (attributes[IFLA_ADDRESS] != NULL && nla_len(attributes[IFLA_ADDRESS]) == WIRE_MAC_BYTES)
		memcpy(hop->mac, nla_data(attributes[IFLA_ADDRESS]), WIRE_MAC_BYTES);
	if (attributes[IFLA_LINKINFO] == NULL || nla_parse_nested(info, IFLA_INFO_MAX, attributes[IFLA_LINKINFO], NULL) < 0 ||
	    info[IFLA_INFO_KIND] == NULL || nla_strcmp(info[IFLA_INFO_KIND], "vlan") != 0 || info[IFLA_INFO_DATA] == NULL ||
	    nla_parse_nested(vlan, IFLA_VLAN_MAX, info[IFLA_INFO_DATA], NULL) < 0 || vlan[IFLA_VLAN_ID] == NULL)
		return NL_OK;
	hop->vlan = nla_get_u16(vlan[IFLA_VLAN_ID]);
	return NL_OK;
}

/* The interface's own address, VLAN, and whether others are asked for theirs. */
static int link_find(uint32_t ifindex, struct netdev_hop *hop)
{
	const struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETLINK, NLM_F_REQUEST);

	if (message == NULL || nlmsg_append(message, (void *)(uintptr_t)&link, sizeof(link), NLMSG_ALIGNTO) != 0) {
		nlmsg_free(message);
		return BASE_ERR_NOMEM;
	}
	return ask_kernel(message, link_take, hop) == 0 ? BASE_OK : BASE_ERR_IO;
}

int netdev_hop_vlan(uint32_t ifindex, uint16_t *out)
{
	struct netdev_hop hop = { .vlan = NETDEV_NO_VLAN };
	int err = link_find(ifindex, &hop);

	if (err == BASE_OK)
		*out = hop.vlan;
	return err;
}

int netdev_hop_find(const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope, struct netdev_hop *out)
{
	struct netdev_hop hop = { .ifindex = scope, .next = *destination, .vlan = NETDEV_NO_VLAN };
	bool group = wire_gid_is_multicast(destination);
	int err = group && scope != 0 ? BASE_OK : route_find(source, destination, scope, &hop);

	/* The route to one of our own addresses names lo; its link address is that of the interface which has it. */
	if (err == BASE_OK)
		err = link_find(hop.local && scope != 0 ? scope : hop.ifindex, &hop);
	if (err != BASE_OK)
		return err;
	if (group)
		wire_gid_multicast_mac(hop.mac, destination);
	hop.asks = hop.asks && !group && !hop.local;
	if (hop.asks)
		memset(hop.mac, 0, sizeof(hop.mac));
	*out = hop;
	return BASE_OK;
}

/* --- the neighbour --- */

struct neighbour {
	unsigned state; /* NUD_*; 0: the kernel has no entry */
	uint8_t mac[WIRE_MAC_BYTES];
};

static int neighbour_take(struct nl_msg *message, void *argument)
{
	struct neighbour *out = argument;
	struct nlmsghdr *header = nlmsg_hdr(message);
	const struct ndmsg *entry = nlmsg_data(header);
	struct nlattr *attributes[NDA_MAX + 1];

	if (header->nlmsg_type != RTM_NEWNEIGH || nlmsg_parse(header, sizeof(*entry), attributes, NDA_MAX, NULL) < 0)
		return NL_OK;
	out->state = entry->ndm_state;
	if (attributes[NDA_LLADDR] != NULL && nla_len(attributes[NDA_LLADDR]) == WIRE_MAC_BYTES)
		memcpy(out->mac, nla_data(attributes[NDA_LLADDR]), WIRE_MAC_BYTES);
	return NL_OK;
}

int netdev_hop_look(struct netdev_hop *hop)
{
	struct ndmsg entry = { .ndm_family = family_of(&hop->next), .ndm_ifindex = (int)hop->ifindex };
	struct nl_msg *message;
	struct neighbour found = { 0 };
	int len, err;

	if (!hop->asks)
		return BASE_OK;
	const uint8_t *address = address_of(&hop->next, &len);
	message = nlmsg_alloc_simple(RTM_GETNEIGH, NLM_F_REQUEST);
	if (message == NULL || nlmsg_append(message, &entry, sizeof(entry), NLMSG_ALIGNTO) != 0 ||
	    nla_put(message, NDA_DST, len, address) != 0) {
		nlmsg_free(message);
		return BASE_ERR_NOMEM;
	}
	err = ask_kernel(message, neighbour_take, &found);
	if (err != 0 && err != -NLE_OBJ_NOTFOUND)
		return BASE_ERR_IO;
	if (found.state & known_states) {
		memcpy(hop->mac, found.mac, sizeof(hop->mac));
		return BASE_OK;
	}
	return found.state & NUD_FAILED ? BASE_ERR_TIMEDOUT : BASE_ERR_AGAIN;
}

static socklen_t socket_address(const struct wire_gid *gid, uint32_t scope, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(out, 0, sizeof(*out));
	if (wire_gid_is_ipv4_mapped(gid)) {
		memcpy(&four.sin_addr, gid->raw + 12, 4);
		memcpy(out, &four, sizeof(four));
		return sizeof(four);
	}
	memcpy(&six.sin6_addr, gid->raw, sizeof(six.sin6_addr));
	if (wire_gid_is_link_local(gid))
		six.sin6_scope_id = scope;
	memcpy(out, &six, sizeof(six));
	return sizeof(six);
}

void netdev_hop_ask(const struct netdev_hop *hop, const struct wire_gid *source, const struct wire_gid *destination)
{
	struct sockaddr_storage address;
	socklen_t len;
	int fd = socket(family_of(destination), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	/*
	 * From the address that will be used, if it is one: RoCEv1's need not be. What cannot be sent is seen as what nobody answers. An
	 * empty datagram: whoever gets it has nothing to do with it.
	 */
	len = socket_address(source, hop->ifindex, 0, &address);
	int bound = family_of(source) == family_of(destination) ? bind(fd, (struct sockaddr *)&address, len) : -1;
	(void)bound;
	len = socket_address(destination, hop->ifindex, DISCARD_PORT, &address);
	ssize_t ignored = sendto(fd, "", 0, MSG_NOSIGNAL, (struct sockaddr *)&address, len);
	(void)ignored;
	close(fd);
}

/* --- notices --- */

int netdev_notices_open(void)
{
	static const int groups[] = { RTNLGRP_NEIGH };

	return netdev_subscribe(groups, 1);
}

static void notice_take(struct nlmsghdr *header, void (*changed)(void *context, uint32_t ifindex, const struct wire_gid *address),
			void *context)
{
	const struct ndmsg *entry = nlmsg_data(header);
	struct nlattr *attributes[NDA_MAX + 1];
	struct wire_gid gid;

	if ((header->nlmsg_type != RTM_NEWNEIGH && header->nlmsg_type != RTM_DELNEIGH) ||
	    nlmsg_parse(header, sizeof(*entry), attributes, NDA_MAX, NULL) < 0 || attributes[NDA_DST] == NULL ||
	    !gid_load(&gid, entry->ndm_family, attributes[NDA_DST]))
		return;
	changed(context, (uint32_t)entry->ndm_ifindex, &gid);
}

bool netdev_notices_read(int fd, void (*changed)(void *context, uint32_t ifindex, const struct wire_gid *address), void *context)
{
	_Alignas(struct nlmsghdr) uint8_t bytes[NOTICE_BYTES];
	bool any = false;

	for (unsigned i = 0; i < NOTICE_READS; i++) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOBUFS && changed != NULL)
			changed(context, 0, &(struct wire_gid){ { 0 } });
		any = any || n > 0 || (n < 0 && errno == ENOBUFS);
		if (n <= 0 && !(n < 0 && errno == ENOBUFS))
			break;
		for (struct nlmsghdr *header = (struct nlmsghdr *)(void *)bytes; n > 0 && nlmsg_ok(header, left);
		     header = nlmsg_next(header, &left))
			if (changed != NULL)
				notice_take(header, changed, context);
	}
	return any;
}

/* --- waiting --- */

int netdev_hop_resolve(const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope, uint64_t timeout_ns,
		       struct netdev_hop *out)
{
	const uint64_t deadline = base_clock_now() + timeout_ns;
	struct netdev_hop hop;
	int fd = -1, err = netdev_hop_find(source, destination, scope, &hop);

	if (err == BASE_OK)
		err = netdev_hop_look(&hop);
	if (err == BASE_ERR_AGAIN || err == BASE_ERR_TIMEDOUT) {
		/* Listens first, so that no answer is missed. One that failed before is asked again. */
		fd = netdev_notices_open();
		if (fd < 0)
			return fd;
		netdev_hop_ask(&hop, source, destination);
		err = netdev_hop_look(&hop);
	}
	while (err == BASE_ERR_AGAIN) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = base_clock_now();

		if (now >= deadline) {
			err = BASE_ERR_TIMEDOUT;
			break;
		}
		poll(&p, 1, (int)((deadline - now + BASE_MSEC - 1) / BASE_MSEC));
		netdev_notices_read(fd, NULL, NULL);
		err = netdev_hop_look(&hop);
	}
	if (fd >= 0)
		close(fd);
	if (err == BASE_OK)
		*out = hop;
	return err;
}
