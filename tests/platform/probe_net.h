/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets and network namespaces for the platform probes: a namespace of one's own (by root, or by an ordinary user where
 * user namespaces are allowed), a veth pair in it, device features, and one way to send and to count datagrams.
 */
#ifndef PLATFORM_PROBE_NET_H
#define PLATFORM_PROBE_NET_H

#include "platform/probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static bool probe_in_userns; /* "root" is then an ordinary user already, the only one there is */

static inline void probe_set_int(int fd, int level, int option, int value)
{
	SETUP(setsockopt(fd, level, option, &value, sizeof(value)) == 0);
}

/* Root becomes an ordinary user for good; others stay who they are. */
static inline void probe_become(uid_t uid)
{
	if (geteuid() != 0 || probe_in_userns)
		return;
	SETUP(setgid(uid) == 0 && setuid(uid) == 0);
	/* A change of uid clears the death signal. */
	if (getpid() != probe.main_pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static inline void probe_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	SETUP(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static inline void probe_link_up(const char *name)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	SETUP(fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &ifr) == 0);
	ifr.ifr_flags |= IFF_UP;
	SETUP(ioctl(fd, SIOCSIFFLAGS, &ifr) == 0);
	close(fd);
}

/* Moves this single-threaded process into an empty network namespace with loopback up. False where that is not permitted. */
static inline bool probe_netns_enter(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWNET) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
			return false;
		snprintf(map, sizeof(map), "0 %u 1", uid);
		probe_in_userns = true;
		probe_write_file("/proc/self/uid_map", map);
		probe_write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", gid);
		probe_write_file("/proc/self/gid_map", map);
	}
	probe_link_up("lo");
	return true;
}

static inline void *probe_attr_add(struct nlmsghdr *n, uint16_t type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static inline void probe_attr_close(struct nlmsghdr *n, void *attr)
{
	((struct rtattr *)attr)->rta_len = (unsigned short)((char *)n + n->nlmsg_len - (char *)attr);
}

/* Sends a request to create something. 0, or the errno of the answer. */
static inline int probe_netlink_create(struct nlmsghdr *n)
{
	struct { struct nlmsghdr n; struct nlmsgerr err; char echo[1024]; } answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	n->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	SETUP(fd >= 0 && send(fd, n, n->nlmsg_len, 0) == (ssize_t)n->nlmsg_len);
	SETUP(recv(fd, &answer, sizeof(answer), 0) >= (ssize_t)NLMSG_LENGTH(sizeof(answer.err)));
	SETUP(answer.n.nlmsg_type == NLMSG_ERROR);
	close(fd);
	return -answer.err.error;
}

/* An address of a device, usable at once (no duplicate detection). */
static inline void probe_address_add(const char *device, int family, const char *text, uint8_t prefix)
{
	union { struct nlmsghdr n; char room[256]; } m = { 0 };
	struct ifaddrmsg info = { .ifa_family = (uint8_t)family, .ifa_prefixlen = prefix, .ifa_index = if_nametoindex(device) };
	uint32_t flags = IFA_F_NODAD;
	struct in6_addr address;

	SETUP(inet_pton(family, text, &address) == 1);
	m.n.nlmsg_type = RTM_NEWADDR;
	m.n.nlmsg_len = NLMSG_LENGTH(sizeof(info));
	memcpy(NLMSG_DATA(&m.n), &info, sizeof(info));
	probe_attr_add(&m.n, IFA_LOCAL, &address, family == AF_INET ? 4 : 16);
	if (family == AF_INET6)
		probe_attr_add(&m.n, IFA_FLAGS, &flags, sizeof(flags));
	errno = probe_netlink_create(&m.n);
	SETUP(errno == 0);
}

static inline int probe_link_events_open(void)
{
	struct sockaddr_nl all_links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	SETUP(fd >= 0 && bind(fd, (struct sockaddr *)&all_links, sizeof(all_links)) == 0);
	return fd;
}

/* Waits until a device passes packets: the kernel gives it its queue some time after the carrier. `events` heard it come up. */
static inline void probe_link_wait(int events, const char *device)
{
	union { struct nlmsghdr n; char room[8192]; } m;
	int index = (int)if_nametoindex(device);

	for (;;) {
		ssize_t len = recv(events, &m, sizeof(m), 0);
		struct ifinfomsg *info = NLMSG_DATA(&m.n);
		struct rtattr *a = (struct rtattr *)((char *)info + NLMSG_ALIGN(sizeof(*info)));
		int rest = (int)len - (int)NLMSG_SPACE(sizeof(*info));

		SETUP(len >= (ssize_t)sizeof(m.n));
		if (m.n.nlmsg_type != RTM_NEWLINK || info->ifi_index != index)
			continue;
		for (; RTA_OK(a, rest); a = RTA_NEXT(a, rest))
			if (a->rta_type == IFLA_OPERSTATE && *(uint8_t *)RTA_DATA(a) == 6 /* IF_OPER_UP */)
				return;
	}
}

/* Two ends of a cable in this namespace, both up. False where the kernel has no veth. */
static inline bool probe_veth_create(const char *a, const char *b)
{
	union { struct nlmsghdr n; char room[1024]; } m = { 0 };
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	void *link, *data, *peer;
	int err, events[2];

	m.n.nlmsg_type = RTM_NEWLINK;
	m.n.nlmsg_len = NLMSG_LENGTH(sizeof(info));
	memcpy(NLMSG_DATA(&m.n), &info, sizeof(info));
	probe_attr_add(&m.n, IFLA_IFNAME, a, strlen(a) + 1);
	link = probe_attr_add(&m.n, IFLA_LINKINFO, NULL, 0);
	probe_attr_add(&m.n, IFLA_INFO_KIND, "veth", 5);
	data = probe_attr_add(&m.n, IFLA_INFO_DATA, NULL, 0);
	peer = probe_attr_add(&m.n, VETH_INFO_PEER, &info, sizeof(info));
	probe_attr_add(&m.n, IFLA_IFNAME, b, strlen(b) + 1);
	probe_attr_close(&m.n, peer);
	probe_attr_close(&m.n, data);
	probe_attr_close(&m.n, link);
	err = probe_netlink_create(&m.n);
	if (err == EOPNOTSUPP)
		return false;
	errno = err;
	SETUP(err == 0);
	events[0] = probe_link_events_open();
	events[1] = probe_link_events_open();
	probe_link_up(a);
	probe_link_up(b);
	probe_link_wait(events[0], a);
	probe_link_wait(events[1], b);
	close(events[0]);
	close(events[1]);
	return true;
}

/* Switches one named feature of a device. False when the device has no such feature. */
static inline bool probe_feature_set(const char *device, const char *feature, bool on)
{
	union { struct ethtool_sset_info info; char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)]; } sset = {
		.info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES } };
	struct ifreq ifr = { 0 };
	struct ethtool_gstrings *names;
	struct ethtool_sfeatures *set;
	bool found = false;
	uint32_t blocks, count;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	ifr.ifr_data = (void *)&sset;
	SETUP(fd >= 0 && ioctl(fd, SIOCETHTOOL, &ifr) == 0);
	memcpy(&count, sset.info.data, sizeof(count));
	blocks = (count + 31) / 32;
	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	set = calloc(1, sizeof(*set) + blocks * sizeof(set->features[0]));
	SETUP(names && set);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = count;
	ifr.ifr_data = (void *)names;
	SETUP(ioctl(fd, SIOCETHTOOL, &ifr) == 0);
	set->cmd = ETHTOOL_SFEATURES;
	set->size = blocks;
	for (uint32_t i = 0; i < count; i++) {
		if (strncmp((char *)names->data + i * ETH_GSTRING_LEN, feature, ETH_GSTRING_LEN) != 0)
			continue;
		set->features[i / 32].valid |= 1u << (i % 32);
		set->features[i / 32].requested |= on ? 1u << (i % 32) : 0;
		found = true;
	}
	ifr.ifr_data = (void *)set;
	if (found)
		SETUP(ioctl(fd, SIOCETHTOOL, &ifr) >= 0);
	free(names);
	free(set);
	close(fd);
	return found;
}

static inline struct sockaddr_in6 probe_address(const char *text, uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	SETUP(inet_pton(AF_INET6, text, &a.sin6_addr) == 1);
	return a;
}

/* A dual-stack UDP socket that does not block; not bound. */
static inline int probe_udp_socket(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && errno == EAFNOSUPPORT)
		SKIP("this kernel has no IPv6");
	SETUP(fd >= 0);
	probe_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	return fd;
}

/* 0, or the errno that bind left. Port 0 takes a free one. */
static inline int probe_udp_bind(int fd, bool reuseport, uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (reuseport)
		probe_set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	return bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 ? 0 : errno;
}

static inline uint16_t probe_udp_port(int fd)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);

	SETUP(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	return ntohs(a.sin6_port);
}

/* Sends one message, as a burst of segments when segment is not 0. 0, or the errno. */
static inline int probe_udp_send(int fd, const struct sockaddr_in6 *to, const void *data, size_t len, uint16_t segment)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(uint16_t))]; } control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to, .msg_namelen = to ? sizeof(*to) : 0, .msg_iov = &iov, .msg_iovlen = 1 };

	if (segment) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
		control.h.cmsg_level = IPPROTO_UDP;
		control.h.cmsg_type = UDP_SEGMENT;
		control.h.cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(&control.h), &segment, sizeof(segment));
	}
	return sendmsg(fd, &m, 0) == (ssize_t)len ? 0 : errno;
}

/* Whether there is something to read, waiting a while for it: under load the kernel delivers from a thread of its own. */
static inline bool probe_udp_arrives(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, 1000) == 1;
}

/* Sends a few bytes with at most one descriptor over an AF_UNIX socket. 0, or the errno. */
static inline int probe_fd_send(int channel, const void *data, size_t len, int fd)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
		control.h.cmsg_level = SOL_SOCKET;
		control.h.cmsg_type = SCM_RIGHTS;
		control.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.h), &fd, sizeof(int));
	}
	return sendmsg(channel, &m, MSG_NOSIGNAL) == (ssize_t)len ? 0 : errno;
}

/* The bytes received, 0 at the end, or the negated errno; *fd is the descriptor that came along or -1. */
static inline ssize_t probe_fd_receive(int channel, void *data, size_t len, int flags, int *fd)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room) };
	ssize_t got = recvmsg(channel, &m, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = got >= 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (got < 0)
		return -errno;
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(h), sizeof(int));
	return got;
}

#endif
