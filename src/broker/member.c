/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/member.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int set4(int fd, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	struct ip_mreqn request = { .imr_ifindex = (int)ifindex };

	memcpy(&request.imr_multiaddr, mgid->raw + 12, sizeof(request.imr_multiaddr));
	return setsockopt(fd, IPPROTO_IP, enter ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request, sizeof(request));
}

static int set6(int fd, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	struct ipv6_mreq request = { .ipv6mr_interface = ifindex };

	memcpy(&request.ipv6mr_multiaddr, mgid->raw, sizeof(request.ipv6mr_multiaddr));
	return setsockopt(fd, IPPROTO_IPV6, enter ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request, sizeof(request));
}

int broker_member_set(int fd, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	if ((wire_gid_is_ipv4_mapped(mgid) ? set4 : set6)(fd, mgid, ifindex, enter) == 0)
		return 0;
	switch (errno) {
	case EADDRINUSE: /* it is in already */
		return 0;
	case EADDRNOTAVAIL: /* it is not in */
		return enter ? EADDRNOTAVAIL : 0;
	case ENOBUFS:
		return ENOMEM;
	}
	return errno;
}
