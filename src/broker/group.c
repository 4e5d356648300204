/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/group.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

#define GROUP_RCVBUF (16 << 20) /* cut to net.core.rmem_max by the kernel */
#define GROUP_REFRESH_MAX 65536 /* datagrams thrown away at most: a flood must not hold the broker */

struct group_option {
	int level, name, value;
	bool ipv6; /* only on an IPv6 socket */
};

/* None of these is needed to work at all: an old kernel without one of them loses what it is for. */
static const struct group_option options[] = {
	/* The IP identification is 0 and DF is set, which the ICRC of the sender counts on. */
	{ IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, false },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, true },
	/* RoCE over IPv6 may come without a UDP checksum. */
	{ IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, true },
	/* What the ICRC, the GRH and the congestion window need to know of a packet. */
	{ IPPROTO_IP, IP_PKTINFO, 1, false },
	{ IPPROTO_IP, IP_RECVTOS, 1, false },
	{ IPPROTO_IP, IP_RECVTTL, 1, false },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, true },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, 1, true },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, true },
	{ SOL_SOCKET, SO_RXQ_OVFL, 1, false },
	/* Only groups that this very socket joined. On a dual-stack socket the IPv6 switch decides for IPv4 too. */
	{ IPPROTO_IP, IP_MULTICAST_ALL, 0, false },
	{ IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, true },
	{ IPPROTO_UDP, UDP_GRO, 1, false },
	{ SOL_SOCKET, SO_RCVBUF, GROUP_RCVBUF, false },
	{ SOL_SOCKET, SO_SNDBUF, GROUP_RCVBUF, false },
};

static void group_options_set(int fd, bool ipv6)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (ipv6 || !options[i].ipv6)
			setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* BASE_ERR_EXISTS: the port is taken. */
static int group_bind(int fd, bool ipv6)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(BROKER_GROUP_PORT) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(BROKER_GROUP_PORT) };

	if (ipv6 ? bind(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0 : bind(fd, (struct sockaddr *)&v4, sizeof(v4)) == 0)
		return BASE_OK;
	return errno == EADDRINUSE ? BASE_ERR_EXISTS : base_err_from_errno(errno);
}

static int group_socket(bool *ipv6)
{
	int off = 0, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);

	*ipv6 = fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0;
	if (*ipv6)
		return fd;
	if (fd >= 0)
		close(fd);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	return fd >= 0 ? fd : base_err_from_errno(errno);
}

/* The user whose socket has the port, by what the kernel lists; -1: none is listed (rxe's sockets are not). */
static long group_port_owner(void)
{
	static const char *const files[] = { "/proc/net/udp", "/proc/net/udp6" };
	long owner = -1;

	for (size_t i = 0; i < 2 && owner < 0; i++) {
		FILE *f = fopen(files[i], "re");
		char line[512];

		while (f != NULL && owner < 0 && fgets(line, sizeof(line), f) != NULL) {
			unsigned port, uid;

			if (sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u", &port, &uid) == 2 && port == BROKER_GROUP_PORT)
				owner = uid;
		}
		if (f != NULL)
			fclose(f);
	}
	return owner;
}

static void group_explain(int err, char *reason, size_t size)
{
	long owner;

	if (err != BASE_ERR_EXISTS) {
		snprintf(reason, size, "UDP port 4791 cannot be opened: %s", base_err_text(err));
		return;
	}
	owner = group_port_owner();
	if (owner >= 0)
		snprintf(reason, size, "UDP port 4791 is in use by a program of user %ld (another softverbsd, rxe or a RoCE tool): only "
			"processes of this host can be reached; end that program to reach others", owner);
	else
		snprintf(reason, size, "UDP port 4791 is in use, perhaps by the kernel's rxe: only processes of this host "
			"can be reached; unload rdma_rxe to reach others");
}

int broker_group_probe(char *reason, size_t size)
{
	bool ipv6;
	int err, fd = group_socket(&ipv6);

	err = fd >= 0 ? group_bind(fd, ipv6) : fd;
	if (fd >= 0)
		close(fd);
	if (err != BASE_OK)
		group_explain(err, reason, size);
	return err;
}

int broker_group_create(int sockets[BROKER_GROUP_SOCKETS], char *reason, size_t size)
{
	/* Slot 255 belongs to nobody and short packets to no QP: both go to slot 0, which counts them. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 12, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, BROKER_GROUP_SOCKETS, 1, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	unsigned made = 0;
	int err = BASE_OK, on = 1;
	bool ipv6 = false, first_ipv6 = false;

	for (; made < BROKER_GROUP_SOCKETS; made++) {
		int fd = group_socket(&ipv6);

		if (fd < 0) {
			err = fd;
			goto fail;
		}
		sockets[made] = fd;
		if (made == 0)
			first_ipv6 = ipv6;
		group_options_set(fd, ipv6);
		err = ipv6 != first_ipv6 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0 ? BASE_ERR_IO :
			group_bind(fd, ipv6);
		/* The program belongs to the group; the first member brings it before there is a second to choose. */
		if (err == BASE_OK && made == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) != 0)
			err = BASE_ERR_IO;
		if (err != BASE_OK) {
			close(fd);
			goto fail;
		}
	}
	return BASE_OK;
fail:
	while (made > 0)
		close(sockets[--made]);
	group_explain(err, reason, size);
	return err;
}

bool broker_group_is_member(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	int type = 0, reuse = 0;
	socklen_t type_len = sizeof(type), reuse_len = sizeof(reuse);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 || type != SOCK_DGRAM ||
		getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &reuse, &reuse_len) != 0 || reuse != 1 ||
		getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		return false;
	if (address.ss_family == AF_INET6)
		return ((struct sockaddr_in6 *)&address)->sin6_port == htons(BROKER_GROUP_PORT);
	return address.ss_family == AF_INET && ((struct sockaddr_in *)&address)->sin_port == htons(BROKER_GROUP_PORT);
}

void broker_group_refresh(int fd)
{
	int domain = AF_INET;
	socklen_t len = sizeof(domain);
	char byte;

	for (unsigned i = 0; i < GROUP_REFRESH_MAX; i++)
		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) < 0 && errno != EINTR)
			break;
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	group_options_set(fd, domain == AF_INET6);
}
