/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a wildcard socket hears every group that *anyone* on the host has joined, unless its MULTICAST_ALL is 0, and a
 * sender's own host hears what it sends, unless its MULTICAST_LOOP is 0. Which of the switches counts on a dual-stack socket
 * is not what the family of the packet suggests; the tables below hold it. Joined members of one SO_REUSEPORT group each get
 * a copy.
 * Without it: the socket of every slot would hear groups that its process never attached to, and local members would get a
 * packet twice, by shared memory and by loop-back. --wrong sets the IPv4 switches alone.
 * Loopback itself brings a packet back whatever MULTICAST_LOOP says, so this is tried on a veth pair.
 */
#include "platform/probe_net.h"

#define GROUP4 "239.77.1.2"
#define GROUP6 "ff12::77:2"
#define LEAVE (-1) /* a switch that is not touched */

enum family { V4, V6 };

static unsigned int device;

static void network_make(void)
{
	if (!probe_netns_enter())
		SKIP("no network namespace of our own");
	if (!probe_veth_create("svp0", "svp1"))
		SKIP("this kernel has no veth");
	probe_address_add("svp0", AF_INET, "10.99.0.1", 24);
	probe_address_add("svp0", AF_INET6, "fd99::1", 64);
	device = if_nametoindex("svp0");
}

static void group_join(int fd, enum family family)
{
	struct ip_mreqn m4 = { .imr_ifindex = (int)device };
	struct ipv6_mreq m6 = { .ipv6mr_interface = device };

	inet_pton(AF_INET, GROUP4, &m4.imr_multiaddr);
	inet_pton(AF_INET6, GROUP6, &m6.ipv6mr_multiaddr);
	if (family == V4)
		SETUP(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof(m4)) == 0);
	else
		SETUP(setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &m6, sizeof(m6)) == 0);
}

static int sender_open(void)
{
	struct ip_mreqn m4 = { .imr_ifindex = (int)device };
	int fd = probe_udp_socket();

	SETUP(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &m4, sizeof(m4)) == 0);
	probe_set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)device);
	return fd;
}

/* Reads all there is, waiting until `wanted` are there. */
static int receive_count(int fd, int wanted)
{
	char byte;
	int n = 0;

	while ((n >= wanted || probe_udp_arrives(fd)) && recv(fd, &byte, 1, 0) >= 0)
		n++;
	return n;
}

static void group_send(int fd, enum family family, uint16_t port)
{
	struct sockaddr_in6 to = probe_address(family == V4 ? "::ffff:" GROUP4 : GROUP6, port);

	to.sin6_scope_id = family == V6 ? device : 0;
	errno = probe_udp_send(fd, &to, "m", 1, 0);
	SETUP(errno == 0);
}

static void switches_set(int fd, int ip_option, int ip, int ipv6_option, int ipv6)
{
	if (ip != LEAVE)
		probe_set_int(fd, IPPROTO_IP, ip_option, ip);
	if (ipv6 != LEAVE)
		probe_set_int(fd, IPPROTO_IPV6, ipv6_option, ipv6);
}

/* How many datagrams of a group that two members have joined reach a socket of the same SO_REUSEPORT group that has not. */
static int overheard(enum family family, int ip_all, int ipv6_all)
{
	int member[2], bystander = probe_udp_socket(), sender = sender_open(), n;
	uint16_t port;

	SETUP(probe_udp_bind(bystander, true, 0) == 0);
	port = probe_udp_port(bystander);
	switches_set(bystander, IP_MULTICAST_ALL, ip_all, IPV6_MULTICAST_ALL, ipv6_all);
	for (int i = 0; i < 2; i++) {
		member[i] = probe_udp_socket();
		SETUP(probe_udp_bind(member[i], true, port) == 0);
		group_join(member[i], family);
	}
	group_send(sender, family, port);
	for (int i = 0; i < 2; i++) {
		n = receive_count(member[i], 1);
		EXPECT(n == 1, "IPv%d: member %d got its group's datagram %d times", family == V4 ? 4 : 6, i, n);
		close(member[i]);
	}
	n = receive_count(bystander, 0);
	close(bystander);
	close(sender);
	return n;
}

/* How many datagrams come back to a member on the sender's own host: a later one with the loop on tells that all is delivered. */
static int looped(enum family family, int ip_loop, int ipv6_loop)
{
	int joined = probe_udp_socket(), sender = sender_open(), n;

	SETUP(probe_udp_bind(joined, false, 0) == 0);
	group_join(joined, family);
	switches_set(sender, IP_MULTICAST_LOOP, ip_loop, IPV6_MULTICAST_LOOP, ipv6_loop);
	group_send(sender, family, probe_udp_port(joined));
	switches_set(sender, IP_MULTICAST_LOOP, 1, IPV6_MULTICAST_LOOP, 1);
	group_send(sender, family, probe_udp_port(joined));
	n = receive_count(joined, 1) - 1;
	close(joined);
	close(sender);
	return n;
}

static const struct {
	const char *goal;
	int (*count)(enum family family, int ip, int ipv6);
	enum family family;
	int ip, ipv6, expected;
} cases[] = {
	{ "IPv4 overheard, untouched", overheard, V4, LEAVE, LEAVE, 0 },
	{ "IPv4 overheard, IP_MULTICAST_ALL 1", overheard, V4, 1, LEAVE, 1 },
	{ "IPv4 overheard, IP_MULTICAST_ALL 0", overheard, V4, 0, LEAVE, 0 },
	{ "IPv4 overheard, IPV6_MULTICAST_ALL 0", overheard, V4, LEAVE, 0, 0 },
	{ "IPv6 overheard, untouched", overheard, V6, LEAVE, LEAVE, 1 },
	{ "IPv6 overheard, IP_MULTICAST_ALL 0", overheard, V6, 0, LEAVE, 1 },
	{ "IPv6 overheard, IPV6_MULTICAST_ALL 0", overheard, V6, LEAVE, 0, 0 },
	{ "IPv4 looped, untouched", looped, V4, LEAVE, LEAVE, 1 },
	{ "IPv4 looped, IP_MULTICAST_LOOP 0", looped, V4, 0, LEAVE, 1 },
	{ "IPv4 looped, IPV6_MULTICAST_LOOP 0", looped, V4, LEAVE, 0, 0 },
	{ "IPv6 looped, untouched", looped, V6, LEAVE, LEAVE, 1 },
	{ "IPv6 looped, IP_MULTICAST_LOOP 0", looped, V6, 0, LEAVE, 1 },
	{ "IPv6 looped, IPV6_MULTICAST_LOOP 0", looped, V6, LEAVE, 0, 0 },
};

int main(int argc, char **argv)
{
	int bad = 0;

	probe_begin(argc, argv);
	network_make();
	if (probe.wrong)
		for (int f = V4; f <= V6; f++)
			EXPECT(overheard(f, 0, LEAVE) == 0 && looped(f, 0, LEAVE) == 0, "IPv%d: heard though the IPv4 switches are off",
				f == V4 ? 4 : 6);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		int n = cases[c].count(cases[c].family, cases[c].ip, cases[c].ipv6);

		if (n == cases[c].expected)
			continue;
		printf("%s: %d datagrams, not %d\n", cases[c].goal, n, cases[c].expected);
		bad++;
	}
	EXPECT(bad == 0, "%d rows of the table do not hold", bad);
	return PROBE_PASS;
}
