/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on, for frames of RoCEv1 (Ethertype 0x8915) on packet sockets: an ordinary user may have one in a user and network
 * namespace of his own, and nowhere else; bound to no interface it hears them all, VLAN interfaces by their own index, but not
 * what this host sends; a classic filter picks by the destination QPN's slot (byte 59); a tag that no interface takes off arrives
 * as another host's, with its id beside it; nobody pads; on lo the MACs pass as they were sent; a ring of version 2 shows each
 * frame at once; an Ethernet group that a socket asked for is left when it is closed.
 * Without it: link/raw would need one socket per interface and slot, mix up interfaces, hear itself, or wait a millisecond for
 * each packet. --wrong uses a ring of version 3, which shows frames by block.
 */
#include "platform/probe_net.h"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <time.h>

#define ETHERTYPE 0x8915
#define SLOT_AT 59 /* Ethernet 14, GRH 40, byte 5 of the BTH */
#define FRAME 70
#define VLAN_ID 7
#define BLOCK 65536u
#define RING_FRAME 4608u
#define RING_TRIES 7
#define AT_ONCE_NS 400000

static const uint8_t group_mac[6] = { 0x33, 0x33, 0, 0, 0x77, 0x02 };

static int packet_open(int slot)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SLOT_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)slot, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xff, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	struct sockaddr_ll any = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	SETUP(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0);
	SETUP(bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0);
	return fd;
}

static void mac_of(const char *device, uint8_t mac[6])
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	SETUP(fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &ifr) == 0);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	close(fd);
}

/* A frame of `len` bytes for a slot, with a tag of its own if asked for. Source 02:53:.. as no interface has it. */
static void frame_send_tagged(const char *device, const uint8_t to[6], int slot, size_t len, bool tagged)
{
	static const uint8_t tag[4] = { 0x81, 0, 0, VLAN_ID };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE),
		.sll_ifindex = (int)if_nametoindex(device) };
	uint8_t frame[FRAME + 64] = { [6] = 0x02, 0x53, 1, 2, 3, 4, ETHERTYPE >> 8, ETHERTYPE & 0xff };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	memcpy(frame, to, 6);
	frame[SLOT_AT] = (uint8_t)slot;
	if (tagged) {
		memmove(frame + 16, frame + 12, len - 12);
		memcpy(frame + 12, tag, sizeof(tag));
		len += sizeof(tag);
	}
	SETUP(fd >= 0 && sendto(fd, frame, len, 0, (struct sockaddr *)&at, sizeof(at)) == (ssize_t)len);
	close(fd);
}

static void frame_send(const char *device, const uint8_t to[6], int slot, size_t len)
{
	frame_send_tagged(device, to, slot, len, false);
}

struct arrival {
	uint8_t frame[256];
	ssize_t len;
	struct sockaddr_ll from;
};

/* False: nothing came. */
static bool arrives(int fd, struct arrival *a)
{
	socklen_t len = sizeof(a->from);

	a->len = recvfrom(fd, a->frame, sizeof(a->frame), 0, (struct sockaddr *)&a->from, &len);
	return a->len >= 0;
}

static bool arrives_soon(int fd, struct arrival *a)
{
	return probe_udp_arrives(fd) && arrives(fd, a);
}

static bool vlan_create(const char *lower, const char *name)
{
	union { struct nlmsghdr n; char room[512]; } m = { 0 };
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	uint32_t lower_index = if_nametoindex(lower);
	uint16_t id = VLAN_ID;
	void *link, *data;
	int err, events;

	m.n.nlmsg_type = RTM_NEWLINK;
	m.n.nlmsg_len = NLMSG_LENGTH(sizeof(info));
	memcpy(NLMSG_DATA(&m.n), &info, sizeof(info));
	probe_attr_add(&m.n, IFLA_IFNAME, name, strlen(name) + 1);
	probe_attr_add(&m.n, IFLA_LINK, &lower_index, sizeof(lower_index));
	link = probe_attr_add(&m.n, IFLA_LINKINFO, NULL, 0);
	probe_attr_add(&m.n, IFLA_INFO_KIND, "vlan", 5);
	data = probe_attr_add(&m.n, IFLA_INFO_DATA, NULL, 0);
	probe_attr_add(&m.n, IFLA_VLAN_ID, &id, sizeof(id));
	probe_attr_close(&m.n, data);
	probe_attr_close(&m.n, link);
	err = probe_netlink_create(&m.n);
	if (err == EOPNOTSUPP)
		return false;
	errno = err;
	SETUP(err == 0);
	events = probe_link_events_open();
	probe_link_up(name);
	probe_link_wait(events, name);
	close(events);
	return true;
}

/* Where nobody gave it, an ordinary user has no such socket; in his own namespaces he has. */
static void who_may(void)
{
	pid_t child = probe_fork();

	if (child == 0) {
		char map[64];
		uid_t uid;
		gid_t gid;
		int fd;

		probe_become(PROBE_NOBODY);
		uid = geteuid();
		gid = getegid();
		fd = packet_open(1);
		EXPECT(uid == 0 || fd < 0, "an ordinary user got a packet socket in a namespace that is not his");
		if (fd >= 0)
			close(fd);
		/* Who gave up root is not "dumpable", and its maps belong to root. */
		prctl(PR_SET_DUMPABLE, 1);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
			_exit(PROBE_SKIP);
		snprintf(map, sizeof(map), "0 %u 1", uid);
		probe_write_file("/proc/self/uid_map", map);
		probe_write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", gid);
		probe_write_file("/proc/self/gid_map", map);
		EXPECT(packet_open(1) >= 0, "no packet socket in a user and network namespace of one's own: %s", strerror(errno));
		_exit(PROBE_PASS);
	}
	int status;
	SETUP(waitpid(child, &status, 0) == child && WIFEXITED(status));
	EXPECT(WEXITSTATUS(status) == PROBE_PASS || WEXITSTATUS(status) == PROBE_SKIP, "see above");
	if (WEXITSTATUS(status) == PROBE_SKIP)
		printf("no user namespaces here: that part is not shown\n");
}

/* By slot and group; by interface; not one's own. */
static void picks(void)
{
	int three = packet_open(3), four = packet_open(4);
	struct arrival a;
	uint8_t mac[6];

	mac_of("svp1", mac);
	frame_send("svp0", mac, 3, FRAME);
	EXPECT(arrives_soon(three, &a), "slot 3 does not get its frame");
	EXPECT((unsigned)a.from.sll_ifindex == if_nametoindex("svp1") && a.from.sll_pkttype == PACKET_HOST, "it came by %d as %d",
	       a.from.sll_ifindex, a.from.sll_pkttype);
	EXPECT(!arrives(three, &a), "what this host sends is heard where it is sent");
	EXPECT(!arrives(four, &a), "slot 4 got slot 3's frame");
	frame_send("svp0", group_mac, 0xff, FRAME);
	EXPECT(arrives_soon(three, &a) && a.from.sll_pkttype == PACKET_MULTICAST, "slot 3 does not get the group's frame");
	EXPECT(arrives_soon(four, &a), "slot 4 does not get the group's frame");
	mac[5] ^= 1;
	frame_send("svp0", mac, 3, FRAME);
	EXPECT(arrives_soon(three, &a) && a.from.sll_pkttype == PACKET_OTHERHOST, "another MAC's frame comes as %d", a.from.sll_pkttype);
	close(three);
	close(four);
}

/* veth does not pad, and does not take padding off. */
static void padding(void)
{
	static const size_t lengths[] = { SLOT_AT + 1, FRAME, FRAME + 22 };
	int fd = packet_open(3);
	struct arrival a;
	uint8_t mac[6];

	mac_of("svp1", mac);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		frame_send("svp0", mac, 3, lengths[i]);
		EXPECT(arrives_soon(fd, &a) && a.len == (ssize_t)lengths[i], "%zu bytes arrive as %zd", lengths[i], a.len);
	}
	close(fd);
}

static void loopback(void)
{
	static const uint8_t nobody[6] = { 0 }, sent[6] = { 0x02, 0x53, 1, 2, 3, 4 };
	int fd = packet_open(3);
	struct arrival a;

	frame_send("lo", nobody, 3, FRAME);
	EXPECT(arrives_soon(fd, &a) && a.from.sll_ifindex == 1 && a.from.sll_pkttype == PACKET_HOST, "lo does not bring it back");
	EXPECT(memcmp(a.frame + 6, sent, 6) == 0, "lo changed the source MAC");
	frame_send("lo", group_mac, 0xff, FRAME);
	EXPECT(arrives_soon(fd, &a) && a.from.sll_pkttype == PACKET_MULTICAST, "lo does not bring a group's frame back");
	EXPECT(!arrives(fd, &a), "lo brings it back twice");
	close(fd);
}

static void vlan(void)
{
	int fd = packet_open(3);
	struct arrival a;
	uint8_t mac[6];

	mac_of("svp1", mac);
	frame_send_tagged("svp0", mac, 3, FRAME, true);
	EXPECT(arrives_soon(fd, &a), "a tagged frame that no interface takes does not arrive");
	EXPECT(a.from.sll_pkttype == PACKET_OTHERHOST && a.len == FRAME, "it arrives as %d, %zd bytes", a.from.sll_pkttype, a.len);
	if (!vlan_create("svp1", "svp1.7")) {
		printf("no VLAN interfaces in this kernel: that part is not shown\n");
		close(fd);
		return;
	}
	SETUP(vlan_create("svp0", "svp0.7"));
	frame_send("svp0.7", mac, 3, FRAME);
	EXPECT(arrives_soon(fd, &a), "a tagged frame does not arrive at the VLAN's interface");
	EXPECT((unsigned)a.from.sll_ifindex == if_nametoindex("svp1.7") && a.from.sll_pkttype == PACKET_HOST && a.len == FRAME,
	       "it came by %d as %d, %zd bytes", a.from.sll_ifindex, a.from.sll_pkttype, a.len);
	EXPECT(!arrives(fd, &a), "it comes by both interfaces");
	close(fd);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* How long until a sleeper sees a lone frame: the median of some. */
static void ring(int version)
{
	struct tpacket_req3 request = { .tp_block_size = BLOCK, .tp_block_nr = RING_TRIES, .tp_frame_size = RING_FRAME,
		.tp_frame_nr = BLOCK / RING_FRAME * RING_TRIES, .tp_retire_blk_tov = 1 };
	static const uint8_t nobody[6] = { 0 };
	int fd = packet_open(3);
	int64_t took[RING_TRIES];
	uint8_t *map;

	probe_set_int(fd, SOL_PACKET, PACKET_VERSION, version);
	SETUP(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request,
			 version == TPACKET_V3 ? sizeof(request) : sizeof(struct tpacket_req)) == 0);
	map = mmap(NULL, BLOCK * RING_TRIES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	SETUP(map != MAP_FAILED);
	for (unsigned i = 0; i < RING_TRIES; i++) {
		int64_t sent = now_ns();
		struct tpacket2_hdr *h = (void *)(map + i * RING_FRAME);

		frame_send("lo", nobody, 3, FRAME);
		SETUP(probe_udp_arrives(fd));
		took[i] = now_ns() - sent;
		if (version == TPACKET_V3) {
			((struct tpacket_block_desc *)(void *)(map + i * BLOCK))->hdr.bh1.block_status = TP_STATUS_KERNEL;
			continue;
		}
		EXPECT(h->tp_status & TP_STATUS_USER && h->tp_len == FRAME && map[i * RING_FRAME + h->tp_mac + SLOT_AT] == 3,
		       "the ring's frame %u is not what was sent", i);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
	qsort(took, RING_TRIES, sizeof(took[0]), by_time);
	EXPECT(took[RING_TRIES / 2] < AT_ONCE_NS, "a lone frame is seen after %lld us", (long long)took[RING_TRIES / 2] / 1000);
	munmap(map, BLOCK * RING_TRIES);
	close(fd);
}

/* Is the group among the device's link addresses? */
static bool is_heard(const char *device, const char *mac)
{
	char line[256];
	FILE *f = fopen("/proc/self/net/dev_mcast", "re");
	bool found = false;

	SETUP(f != NULL);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, device) && strstr(line, mac);
	fclose(f);
	return found;
}

static void membership(void)
{
	struct packet_mreq request = { .mr_ifindex = (int)if_nametoindex("svp1"), .mr_type = PACKET_MR_MULTICAST, .mr_alen = 6 };
	int fd = packet_open(3);

	memcpy(request.mr_address, group_mac, 6);
	EXPECT(!is_heard("svp1", "333300007702"), "the group is heard before anybody asked");
	SETUP(setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) == 0);
	SETUP(setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) == 0);
	EXPECT(is_heard("svp1", "333300007702"), "the interface does not listen to the group");
	SETUP(setsockopt(fd, SOL_PACKET, PACKET_DROP_MEMBERSHIP, &request, sizeof(request)) == 0);
	EXPECT(is_heard("svp1", "333300007702"), "memberships do not count");
	close(fd);
	EXPECT(!is_heard("svp1", "333300007702"), "the membership outlives its socket");
}

int main(int argc, char **argv)
{
	probe_begin(argc, argv);
	who_may();
	if (!probe_netns_enter())
		SKIP("no network namespace of our own");
	if (!probe_veth_create("svp0", "svp1"))
		SKIP("this kernel has no veth");
	ring(probe.wrong ? TPACKET_V3 : TPACKET_V2);
	picks();
	padding();
	loopback();
	vlan();
	membership();
	return PROBE_PASS;
}
