/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: an unconnected UDP socket with IP_MTU_DISCOVER = DO sends every IPv4 datagram with identification 0 and DF, and
 * numbers the segments of a UDP_SEGMENT burst from 0, in each burst anew; a dual-stack socket does the same to mapped
 * addresses, and takes the option at level IPPROTO_IP.
 * Without it: the identification is inside the ICRC and a UDP socket cannot set it, so the ICRC of our packets would be
 * wrong for every peer that checks the real one (rxe, adapters).
 * Seen with AF_PACKET at the far end of a veth pair with tx-udp-segmentation off. --wrong connects the socket.
 */
#include "platform/probe_net.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>

#define NEAR "10.99.0.1"
#define FAR "10.99.0.2"
#define BURSTS 3
#define SEGMENTS 4
#define SEGMENT_LEN 1000

enum rule { ALL_ZERO, COUNTS_FROM_ZERO, NOT_ALL_ZERO };

static const struct {
	const char *name;
	bool dual_stack, connected, burst;
	int discover;
	enum rule rule;
	bool df;
} cases[] = {
	{ "IPv4 socket, DO", false, false, false, IP_PMTUDISC_DO, ALL_ZERO, true },
	{ "IPv4 socket, DO, burst", false, false, true, IP_PMTUDISC_DO, COUNTS_FROM_ZERO, true },
	{ "dual-stack socket, DO", true, false, false, IP_PMTUDISC_DO, ALL_ZERO, true },
	{ "dual-stack socket, DO, burst", true, false, true, IP_PMTUDISC_DO, COUNTS_FROM_ZERO, true },
	/* the neighbours of the rule, so that we would notice a kernel that always sends 0 */
	{ "IPv4 socket, WANT", false, false, false, IP_PMTUDISC_WANT, NOT_ALL_ZERO, true },
	{ "dual-stack socket, WANT", true, false, false, IP_PMTUDISC_WANT, NOT_ALL_ZERO, true },
	{ "IPv4 socket, DONT", false, false, false, IP_PMTUDISC_DONT, NOT_ALL_ZERO, false },
	{ "IPv4 socket, DO, connected", false, true, false, IP_PMTUDISC_DO, NOT_ALL_ZERO, true },
	{ "dual-stack socket, DO, connected", true, true, false, IP_PMTUDISC_DO, NOT_ALL_ZERO, true },
};

static void cable_lay(void)
{
	struct sockaddr_in far = { .sin_family = AF_INET };
	struct arpreq arp = { .arp_flags = ATF_COM | ATF_PERM, .arp_dev = "svp0" };
	struct ifreq mac = { .ifr_name = "svp1" };
	int fd;

	if (!probe_netns_enter())
		SKIP("no network namespace of our own");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!probe_veth_create("svp0", "svp1"))
		SKIP("this kernel has no veth");
	probe_address_add("svp0", AF_INET, NEAR, 24);
	inet_pton(AF_INET, FAR, &far.sin_addr);
	SETUP(ioctl(fd, SIOCGIFHWADDR, &mac) == 0);
	memcpy(&arp.arp_pa, &far, sizeof(far));
	arp.arp_ha = mac.ifr_hwaddr;
	SETUP(ioctl(fd, SIOCSARP, &arp) == 0); /* nobody lives at the far end, it only watches */
	close(fd);
	if (!probe_feature_set("svp0", "tx-udp-segmentation", false))
		SKIP("this kernel has no tx-udp-segmentation");
}

/* The IPv4 header of the next datagram to our port; false when none is queued. */
static bool header_next(int watcher, uint16_t port, uint16_t *id, uint16_t *fragment)
{
	uint8_t frame[4096];
	ssize_t len;

	while ((len = recv(watcher, frame, sizeof(frame), 0)) >= 0) {
		const uint8_t *ip = frame + ETH_HLEN, *udp = ip + 20;

		if (len < ETH_HLEN + 28 || ip[0] != 0x45 || ip[9] != IPPROTO_UDP || (udp[2] << 8 | udp[3]) != port)
			continue;
		*id = (uint16_t)(ip[4] << 8 | ip[5]);
		*fragment = (uint16_t)(ip[6] << 8 | ip[7]);
		return true;
	}
	SETUP(errno == EAGAIN);
	return false;
}

static int sender_open(size_t c, uint16_t port)
{
	struct sockaddr_in far4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 far6 = probe_address("::ffff:" FAR, port);
	int fd;

	inet_pton(AF_INET, FAR, &far4.sin_addr);
	fd = cases[c].dual_stack ? probe_udp_socket() : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	probe_set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, cases[c].discover);
	if (cases[c].connected || probe.wrong)
		SETUP(connect(fd, cases[c].dual_stack ? (struct sockaddr *)&far6 : (struct sockaddr *)&far4,
			cases[c].dual_stack ? sizeof(far6) : sizeof(far4)) == 0);
	return fd;
}

static void case_run(size_t c, int watcher)
{
	static const uint8_t data[SEGMENTS * SEGMENT_LEN];
	uint16_t port = (uint16_t)(20000 + c), id, fragment;
	struct sockaddr_in far4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 far6 = probe_address("::ffff:" FAR, port);
	bool connected = cases[c].connected || probe.wrong, zero = true;
	size_t len = cases[c].burst ? sizeof(data) : SEGMENT_LEN;
	int fd = sender_open(c, port), seen = 0, per_call = cases[c].burst ? SEGMENTS : 1;

	inet_pton(AF_INET, FAR, &far4.sin_addr);
	probe_set_int(fd, IPPROTO_UDP, UDP_SEGMENT, cases[c].burst ? SEGMENT_LEN : 0);
	for (int i = 0; i < BURSTS; i++) {
		const struct sockaddr *to = cases[c].dual_stack ? (struct sockaddr *)&far6 : (struct sockaddr *)&far4;
		socklen_t to_len = cases[c].dual_stack ? sizeof(far6) : sizeof(far4);

		SETUP(sendto(fd, data, len, 0, connected ? NULL : to, connected ? 0 : to_len) == (ssize_t)len);
	}
	/* The watcher's queue is filled before sendto returns: a veth hands frames over at once, at the latest in this softirq. */
	for (struct pollfd p = { watcher, POLLIN, 0 }; seen < BURSTS * per_call && poll(&p, 1, 500) == 1;)
		while (header_next(watcher, port, &id, &fragment)) {
			uint16_t expected = cases[c].rule == COUNTS_FROM_ZERO ? (uint16_t)(seen % per_call) : 0;

			EXPECT(cases[c].rule == NOT_ALL_ZERO || id == expected, "%s: packet %d has ID %u, not %u", cases[c].name, seen, id,
				expected);
			EXPECT(fragment == (cases[c].df ? 0x4000 : 0), "%s: flags and offset are 0x%04x", cases[c].name, fragment);
			zero = zero && id == 0;
			seen++;
		}
	EXPECT(seen == BURSTS * per_call, "%s: %d packets on the wire, not %d", cases[c].name, seen, BURSTS * per_call);
	EXPECT(cases[c].rule != NOT_ALL_ZERO || !zero, "%s: every ID is 0, the probe cannot tell", cases[c].name);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int watcher;

	probe_begin(argc, argv);
	cable_lay();
	watcher = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at.sll_ifindex = (int)if_nametoindex("svp1");
	SETUP(watcher >= 0 && bind(watcher, (struct sockaddr *)&at, sizeof(at)) == 0);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		case_run(c, watcher);
	close(watcher);
	return PROBE_PASS;
}
