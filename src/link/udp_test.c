/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In a network namespace of its own, where port 4791 is free and lo is ours; skipped where none can be made. */
#include "link/link_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/in6.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "link/path.h"
#include "link/test_wire.h"

#define SLOT_A 0u
#define SLOT_B 1u

/* A member of the 4791 group as the broker makes it; the destination QPN's slot is the place in the group. */
static int slot_socket(bool gro)
{
	static const struct { int level, name; } on[] = {
		{SOL_SOCKET, SO_REUSEPORT}, {IPPROTO_IP, IP_PKTINFO}, {IPPROTO_IP, IP_RECVTOS}, {IPPROTO_IP, IP_RECVTTL},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO}, {IPPROTO_IPV6, IPV6_RECVTCLASS}, {IPPROTO_IPV6, IPV6_RECVHOPLIMIT},
		{SOL_SOCKET, SO_RXQ_OVFL}, {IPPROTO_UDP, UDP_NO_CHECK6_RX}, {IPPROTO_UDP, UDP_GRO},
	};
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5), BPF_STMT(BPF_RET | BPF_A, 0)};
	struct sock_fprog program = {2, code};
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(WIRE_UDP_PORT_ROCE)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, zero = 0;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)), 0);
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		if (gro || on[i].name != UDP_GRO || on[i].level != IPPROTO_UDP)
			assert_int_equal(setsockopt(fd, on[i].level, on[i].name, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)), 0);
	return fd;
}

struct host {
	struct test_end end[2];
	int fd[2];
};

static void host_make(struct host *host, bool gro, struct link_hooks hooks)
{
	for (int i = 0; i < 2; i++) {
		host->fd[i] = slot_socket(gro);
		test_end_make(&host->end[i], i == 0 ? SLOT_A : SLOT_B, host->fd[i], hooks);
	}
}

static void host_free(struct host *host)
{
	for (int i = 0; i < 2; i++) {
		test_end_free(&host->end[i]);
		close(host->fd[i]);
	}
}

static struct link_path path_make(bool ipv6, bool gso, unsigned from, unsigned to)
{
	static const uint8_t four[4] = {127, 0, 0, 1}, six[16] = {[15] = 1};
	struct link_path_address address = {
		.gid_type = WIRE_GID_ROCE_V2,
		.qpn = from << 16 | 0x11,
		.dest_qpn = to << 16 | 0x22,
		.traffic_class = 0x28,
		.hop_limit = 33,
	};
	struct link_path path;

	address.sgid = address.dgid = ipv6 ? wire_gid_from_ipv6(six) : wire_gid_from_ipv4(four);
	assert_int_equal(link_path_udp(&path, &address), 0);
	path.gso = gso;
	return path;
}

/* Both families, with and without bursts, cut by GRO or by the kernel: everything arrives, in order, with every ICRC right. */
static void runs_cross_loopback(void **state)
{
	for (int kind = 0; kind < 8; kind++) {
		bool ipv6 = kind & 1, gso = kind & 2, gro = kind & 4;
		struct base_random r = {.state = (uint64_t)kind};
		struct link_path path = path_make(ipv6, gso, SLOT_A, SLOT_B);
		struct seen seen = {0};
		struct host host;
		uint32_t psn = 0, offset = 0, packets = 0;

		host_make(&host, gro, (struct link_hooks){0});
		for (int round = 0; round < 300; round++) {
			unsigned runs = 1 + (unsigned)base_random_below(&r, 8);

			for (unsigned i = 0; i < runs; i++) {
				unsigned n = base_random_below(&r, 3) == 0 ? 1 + (unsigned)base_random_below(&r, 20) : 1;
				uint32_t len = n == 1 ? (uint32_t)base_random_below(&r, base_random_below(&r, 2) ? 20 : 1025) :
							(n - 1) * 1024 + 1 + (uint32_t)base_random_below(&r, 1024);

				assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, n, len), 0);
				packets += n;
			}
			link_flush(host.end[0].link);
			/* A small budget: what is left uncut keeps us awake. */
			while (link_receive(host.end[1].link, true, false, 3, see, &seen) > 0)
				if (link_udp_is_ready(&host.end[1].link->udp))
					assert_false(link_sleep_begin(host.end[1].link));
			assert_int_equal(seen.count, packets);
		}
		assert_true(seen.disorder == 0 && seen.corrupt == 0 && seen.offset == offset);
		assert_true(wire_gid_equal(&seen.last.sgid, &path.sgid) && wire_gid_equal(&seen.last.dgid, &path.dgid));
		assert_true(seen.last.kind == LINK_UDP && seen.last.gid_type == WIRE_GID_ROCE_V2 && seen.last.ifindex == 1);
		assert_int_equal(seen.last.traffic_class, 0x28);
		assert_int_equal(seen.last.hop_limit, 33);
		assert_int_equal(host.end[0].counters.sent_packets[LINK_UDP], packets);
		assert_int_equal(host.end[1].counters.received_packets[LINK_UDP], packets);
		/* Without GRO the kernel cuts bursts before us, and the place in the burst is not told: solved for. */
		if (gro || !gso || ipv6)
			assert_int_equal(host.end[1].counters.icrc_foreign_id, 0);
		else
			assert_true(host.end[1].counters.icrc_foreign_id > 0);
		for (int d = 0; d < LINK_DROPS; d++)
			assert_int_equal(host.end[0].counters.drops[d] + host.end[1].counters.drops[d], 0);
		host_free(&host);
	}
}

/* --- a second implementation of the ICRC: bit by bit over headers made by hand ------------------------------------------ */

static uint32_t crc_bits(uint32_t crc, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++)
			crc = ((crc ^ (uint32_t)p[i] >> bit) & 1 ? 0xedb88320u : 0) ^ crc >> 1;
	return crc;
}

/* ib[0..len) with its ICRC; both ends are the loopback address. */
static bool icrc_is_right(bool ipv6, uint16_t id, uint16_t src_port, const uint8_t *ib, size_t len)
{
	uint8_t head[8 + 40 + 8 + 12];
	size_t l3 = ipv6 ? 40 : 20, udp_len = len + 8;
	uint8_t *ip = head + 8, *udp = ip + l3, *bth = udp + 8;
	uint32_t crc;

	memset(head, 0xff, sizeof(head));
	if (ipv6) {
		ip[0] = 0x6f;
		ip[4] = (uint8_t)(udp_len >> 8);
		ip[5] = (uint8_t)udp_len;
		ip[6] = 17;
		memset(ip + 8, 0, 32);
		ip[23] = ip[39] = 1;
	} else {
		size_t total = udp_len + 20;

		memcpy(ip, (uint8_t[20]){0x45, 0xff, (uint8_t)(total >> 8), (uint8_t)total, (uint8_t)(id >> 8),
				(uint8_t)id, 0x40, 0, 0xff, 17,
					 0xff, 0xff, 127, 0, 0, 1, 127, 0, 0, 1}, 20);
	}
	memcpy(udp, (uint8_t[6]){(uint8_t)(src_port >> 8), (uint8_t)src_port, 0x12, 0xb7, (uint8_t)(udp_len >> 8),
			(uint8_t)udp_len}, 6);
	memcpy(bth, ib, 12);
	bth[4] = 0xff;
	crc = crc_bits(0xffffffff, head, 8 + l3 + 8 + 12);
	crc = ~crc_bits(crc, ib + 12, len - 16);
	return ib[len - 4] == (crc & 0xff) && ib[len - 3] == (crc >> 8 & 0xff) && ib[len - 2] == (crc >> 16 & 0xff) &&
			ib[len - 1] == crc >> 24;
}

/*
 * What leaves the socket, as a plain program sees it: segment k of a burst has the ICRC for identification k, all
 * else that for 0.
 */
static void icrc_is_right_by_bits(void **state)
{
	for (int kind = 0; kind < 4; kind++) {
		bool ipv6 = kind & 1, gso = kind & 2;
		struct link_path path = path_make(ipv6, gso, SLOT_A, SLOT_B);
		struct host host;
		uint8_t buf[2048];
		uint32_t psn = 0, offset = 0;
		struct sockaddr_in6 from;
		socklen_t len;
		unsigned k;

		host_make(&host, false, (struct link_hooks){0});
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 77), 0);
		link_flush(host.end[0].link);
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 5, 4 * 1024 + 3), 0);
		link_flush(host.end[0].link);
		for (k = 0; k < 6; k++) {
			ssize_t n;

			len = sizeof(from);
			n = recvfrom(host.fd[1], buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &len);
			assert_true(n > 16);
			assert_true(ntohs(from.sin6_port) >= 0xc000);
			assert_true(icrc_is_right(ipv6, (uint16_t)(gso && k > 0 ? k - 1 : 0), ntohs(from.sin6_port), buf,
					(size_t)n));
		}
		assert_int_equal(recv(host.fd[1], buf, sizeof(buf), MSG_DONTWAIT), -1);
		host_free(&host);
	}
}

/* --- the flow label ------------------------------------------------------------------------------------------------------- */

/* That of the next datagram; -1: there is none. */
static long label_of_next(int fd)
{
	uint8_t bytes[2048];
	_Alignas(struct cmsghdr) uint8_t control[512];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	uint32_t info = 0;

	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO)
			memcpy(&info, CMSG_DATA(c), sizeof(info));
	return ntohl(info) & 0xfffff;
}

/* Ours. The kernel refuses it once somebody holds one for himself alone: then it picks it, and everything still arrives. */
static void flow_label_is_sent(void **state)
{
	for (int leased = 0; leased < 2; leased++) {
		struct in6_flowlabel_req lease = {
			.flr_dst = IN6ADDR_LOOPBACK_INIT,
			.flr_label = htonl(0x12345),
			.flr_action = IPV6_FL_A_GET,
			.flr_share = IPV6_FL_S_EXCL,
			.flr_flags = IPV6_FL_F_CREATE,
		};
		struct link_path path = path_make(true, true, SLOT_A, SLOT_B);
		struct host host;
		uint32_t psn = 0, offset = 0;
		int one = 1, holder = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		host_make(&host, false, (struct link_hooks){0});
		assert_int_equal(setsockopt(host.fd[1], IPPROTO_IPV6, IPV6_FLOWINFO, &one, sizeof(one)), 0);
		if (leased)
			assert_int_equal(setsockopt(holder, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &lease, sizeof(lease)), 0);
		/* In one flush a single packet, a burst, and a burst that another label keeps apart. */
		path.flow_label = 0xabcde;
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 77), 0);
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 5, 5 * 1024), 0);
		path.flow_label = 1;
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 5, 4 * 1024 + 3), 0);
		link_flush(host.end[0].link);
		for (int i = 0; i < 11; i++) {
			long label = label_of_next(host.fd[1]);

			assert_true(leased ? label >= 0 && label != 0xabcde && label != 1 : label == (i < 6 ? 0xabcde : 1));
		}
		assert_int_equal(label_of_next(host.fd[1]), -1);
		assert_true(host.end[0].link->udp.gso);
		for (int d = 0; d < LINK_DROPS; d++)
			assert_int_equal(host.end[0].counters.drops[d], 0);
		close(holder);
		host_free(&host);
	}
}

/* --- bad datagrams -------------------------------------------------------------------------------------------------------- */

struct forger {
	int fd;
	uint16_t port;
	struct wire_icrc_flow flow;
};

static void forger_make(struct forger *forger)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(name);
	const uint8_t lo[4] = {127, 0, 0, 1};

	forger->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(forger->fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(getsockname(forger->fd, (struct sockaddr *)&name, &len), 0);
	forger->port = ntohs(name.sin_port);
	wire_icrc_flow_ipv4(&forger->flow, lo, lo, forger->port, WIRE_UDP_PORT_ROCE);
}

/* A SEND_ONLY of 8 bytes to QP 0x22 of SLOT_B with a good ICRC for `id`; 24 bytes. */
static void forge(const struct forger *forger, uint8_t ib[24], uint16_t id)
{
	struct wire_packet p = {.bth = {.opcode = WIRE_RC_SEND_ONLY, .pkey = 0xffff, .dest_qpn = SLOT_B << 16 | 0x22}};

	wire_packet_encode_headers(ib, &p);
	memset(ib + 12, 7, 8);
	wire_icrc_store(ib + 20, wire_icrc_compute(&forger->flow, id, ib, 20));
}

static void throw_at(const struct forger *forger, const uint8_t *bytes, size_t len)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(WIRE_UDP_PORT_ROCE),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_int_equal(sendto(forger->fd, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
}

static void count_only(void *context, const struct link_rx *rx)
{
	++*(unsigned *)context;
}

static void bad_datagrams_are_counted(void **state)
{
	struct host host;
	struct forger forger;
	struct link_counters *counters;
	uint8_t ib[64];
	unsigned got = 0;

	host_make(&host, true, (struct link_hooks){0});
	forger_make(&forger);
	counters = &host.end[1].counters;
#define THROW(len) (throw_at(&forger, ib, len), link_receive(host.end[1].link, true, false, 8, count_only, &got))
	forge(&forger, ib, 0);
	assert_int_equal(THROW(24), 1);
	/* Each single bit but those of byte 4, which routers may change. */
	for (unsigned bit = 0; bit < 24 * 8; bit++) {
		if (bit / 8 == 4 || bit / 8 == 5) /* byte 5 chooses the socket */
			continue;
		forge(&forger, ib, 0);
		ib[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(THROW(24), 0);
	}
	assert_int_equal(counters->drops[LINK_DROP_ICRC] + counters->drops[LINK_DROP_MALFORMED] +
			counters->drops[LINK_DROP_TRUNCATED], 176);
	assert_true(counters->drops[LINK_DROP_ICRC] > 150 && counters->drops[LINK_DROP_MALFORMED] > 3);
	forge(&forger, ib, 0);
	ib[4] ^= 0xff;
	assert_int_equal(THROW(24), 1);
	/* Too short: each length that still chooses the socket. */
	counters->drops[LINK_DROP_TRUNCATED] = 0;
	forge(&forger, ib, 0);
	for (size_t len = 6; len < 16; len++)
		assert_int_equal(THROW(len), 0);
	assert_int_equal(counters->drops[LINK_DROP_TRUNCATED], 10);
	/* Another identification, as real adapters write: solved for. */
	forge(&forger, ib, 0xbeef);
	assert_int_equal(THROW(24), 1);
	assert_int_equal(counters->icrc_foreign_id, 1);
	/* A packet for another slot: with a good ICRC, but not ours. */
	forge(&forger, ib, 0);
	ib[5] = 77;
	wire_icrc_store(ib + 20, wire_icrc_compute(&forger.flow, 0, ib, 20));
	throw_at(&forger, ib, 24);
	assert_int_equal(link_receive(host.end[0].link, true, false, 8, count_only, &got) +
			 link_receive(host.end[1].link, true, false, 8, count_only, &got), 0);
	assert_int_equal(host.end[0].counters.drops[LINK_DROP_STRAY] + counters->drops[LINK_DROP_STRAY], 1);
	assert_int_equal(got, 3);
	close(forger.fd);
	host_free(&host);
}

/* --- what a wire does ----------------------------------------------------------------------------------------------------- */

/* Nobody reads while far more than a socket buffer is sent: what the kernel threw away is counted, to the packet. */
static void overflow_is_counted(void **state)
{
	struct link_path path = path_make(false, false, SLOT_A, SLOT_B);
	struct host host;
	struct seen seen = {0};
	uint32_t psn = 0, offset = 0;

	host_make(&host, true, (struct link_hooks){0});
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 1024), 0);
		link_flush(host.end[0].link);
	}
	while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
		;
	assert_true(seen.count > 50 && seen.count < 1000);
	/* Some silence brings the news, or the next datagram. */
	for (unsigned i = 0; i <= LINK_UDP_SILENT; i++)
		assert_int_equal(link_receive(host.end[1].link, true, false, 64, see, &seen), 0);
	assert_int_equal(seen.count + host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL], 1000);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 1024), 0);
		link_flush(host.end[0].link);
	}
	while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
		;
	assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 1024), 0);
	link_flush(host.end[0].link);
	assert_int_equal(link_receive(host.end[1].link, true, false, 64, see, &seen), 1);
	assert_int_equal(seen.count + host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL], 2001);
	/* The next owner of the socket does not inherit the losses. */
	link_destroy(host.end[1].link);
	test_end_make(&host.end[1], SLOT_B, host.fd[1], (struct link_hooks){0});
	assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 1024), 0);
	link_flush(host.end[0].link);
	assert_int_equal(link_receive(host.end[1].link, true, false, 64, see, &seen), 1);
	assert_int_equal(host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL], 0);
	host_free(&host);
}

static void small_mtu_is_counted(void **state)
{
	struct host host;
	struct seen seen = {0};
	uint32_t psn = 0, offset = 0;

	if (!lo_set(1280))
		skip();
	host_make(&host, true, (struct link_hooks){0});
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct link_path path = path_make(ipv6, false, SLOT_A, SLOT_B);

		/* One in the middle is too large: it alone is lost. */
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 100), 0);
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 2000), 0);
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 100), 0);
		link_flush(host.end[0].link);
		assert_int_equal(host.end[0].counters.drops[LINK_DROP_SEND_MTU], ipv6 + 1);
		assert_int_equal(link_receive(host.end[1].link, true, false, 64, see, &seen), 2);
	}
	lo_set(65536);
	host_free(&host);
}

/* A source address that this host does not have. */
static void foreign_source_is_counted(void **state)
{
	struct link_path path = path_make(false, true, SLOT_A, SLOT_B);
	struct host host;
	uint32_t psn = 0, offset = 0;

	host_make(&host, true, (struct link_hooks){0});
	memcpy(path.sgid.raw + 12, (uint8_t[]){203, 0, 113, 9}, 4);
	assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 100), 0);
	link_flush(host.end[0].link);
	assert_int_equal(host.end[0].counters.drops[LINK_DROP_SEND_ERROR], 1);
	host_free(&host);
}

/*
 * A send buffer that fills up, by a queue discipline that holds packets back: what is queued stays, room comes back
 * through the descriptor, and everything arrives.
 */
static void full_send_buffer_comes_back(void **state)
{
	struct link_path path = path_make(false, true, SLOT_A, SLOT_B);
	struct host host;
	struct seen seen = {0};
	uint32_t psn = 0, offset = 0;
	uint64_t slots[4];
	unsigned waited = 0, sent;
	int bytes = 4 << 20;
	bool udp;

	if (system("tc qdisc add dev lo root tbf rate 50mbit burst 64kb limit 16mb 2>/dev/null") != 0)
		skip();
	host_make(&host, true, (struct link_hooks){0});
	/* Loss is not what this is about. */
	assert_int_equal(setsockopt(host.fd[1], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
	bytes = 65536;
	assert_int_equal(setsockopt(link_udp_sender_get(&host.end[0].link->udp, SLOT_B)->fd, SOL_SOCKET, SO_SNDBUF,
			&bytes, sizeof(bytes)), 0);
	/* A slow sender, under a sanitizer say, goes on until the buffer was full once. */
	for (sent = 0; sent < 100 || (waited == 0 && sent < 2000);) {
		struct pollfd room = {.fd = link_room_fd(host.end[0].link), .events = POLLIN};
		int err = send_run(&host.end[0], &path, &psn, &offset, 20, 20 * 1024);

		assert_true(err == 0 || err == BASE_ERR_AGAIN);
		link_flush(host.end[0].link);
		while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
			;
		if (err == 0) {
			sent++;
			continue;
		}
		link_want_room(host.end[0].link, &path);
		do {
			assert_int_equal(poll(&room, 1, 5000), 1);
			waited++;
			while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
				;
		} while (!link_room_take(host.end[0].link, slots, &udp));
		assert_true(udp);
	}
	assert_true(waited > 0);
	while (seen.count + host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL] < 20 * sent) {
		struct pollfd both[2] = {{.fd = link_room_fd(host.end[0].link), .events = POLLIN}, {.fd = host.fd[1],
				.events = POLLIN}};

		assert_true(poll(both, 2, 5000) > 0);
		link_room_take(host.end[0].link, slots, &udp);
		link_receive(host.end[1].link, true, false, 64, see, &seen);
	}
	if (host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL] == 0) /* net.core.rmem_max may be small here */
		assert_true(seen.disorder == 0 && seen.corrupt == 0);
	assert_int_equal(host.end[0].link->udp.message_count, 0);
	assert_int_equal(host.end[0].link->udp.blocked_count, 0);
	host_free(&host);
}

/* What nobody acknowledges pauses after a burst, and the room descriptor tells when the pause is over; others do not wait. */
static void unacked_bursts_pause(void **state)
{
	struct link_path acked = path_make(false, true, SLOT_A, SLOT_B), unacked = acked;
	struct host host;
	struct seen seen = {0};
	uint32_t psn = 0, offset = 0;
	uint64_t slots[4];
	unsigned pauses = 0, sent = 0;
	bool udp;

	unacked.unacked = true;
	host_make(&host, true, (struct link_hooks){0});
	while (sent < 50) {
		struct pollfd room = {.fd = link_room_fd(host.end[0].link), .events = POLLIN};
		int err = send_run(&host.end[0], &unacked, &psn, &offset, 7, 7 * 1024);

		if (err == 0) {
			sent++;
			continue;
		}
		assert_int_equal(err, BASE_ERR_AGAIN);
		pauses++;
		assert_int_equal(host.end[0].link->udp.message_count, 0); /* the burst is on its way */
		while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
			;
		link_want_room(host.end[0].link, &unacked);
		assert_int_equal(poll(&room, 1, 5000), 1);
		assert_true(link_room_take(host.end[0].link, slots, &udp) && udp);
		assert_int_equal(poll(&room, 1, 0), 0); /* silent until somebody waits again */
	}
	/* Machines that stand still between two runs need fewer pauses, but 350 KiB are never two bursts. */
	assert_in_range(pauses, 1, 10);
	for (int i = 0; i < 50; i++)
		assert_int_equal(send_run(&host.end[0], &acked, &psn, &offset, 1, 100), 0);
	link_flush(host.end[0].link);
	while (link_receive(host.end[1].link, true, false, 64, see, &seen) > 0)
		;
	assert_int_equal(seen.count, 50 * 7 + 50);
	assert_true(seen.disorder == 0 && seen.corrupt == 0 && host.end[1].counters.drops[LINK_DROP_RECEIVE_FULL] == 0);
	host_free(&host);
}

static int qdisc_remove(void **state)
{
	return system("tc qdisc del dev lo root 2>/dev/null") == -1;
}

/* --- hooks --------------------------------------------------------------------------------------------------------------- */

/* Loses every third packet and doubles every fifth; the receiver counts what it would have to see. */
struct plan {
	unsigned seen[2], observed[2];
};

static enum link_verdict judge(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	unsigned n = ((struct plan *)context)->seen[outgoing]++;

	assert_int_equal(run->packets, 1);
	if (!outgoing)
		return LINK_PASS;
	return n % 3 == 0 ? LINK_LOSE : n % 5 == 0 ? LINK_TWICE : LINK_PASS;
}

static void observe(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	((struct plan *)context)->observed[outgoing]++;
}

static void note_psn(void *context, const struct link_rx *rx)
{
	((uint8_t *)context)[rx->run.head.bth.psn]++;
}

static void hooks_see_single_packets(void **state)
{
	for (int gso = 0; gso < 2; gso++) {
		struct link_path path = path_make(false, gso, SLOT_A, SLOT_B);
		struct plan plan = {{0}, {0}};
		struct host host;
		uint8_t times[60] = {0};
		uint32_t psn = 0, offset = 0;
		unsigned lost = 0, doubled = 0;

		host_make(&host, true, (struct link_hooks){judge, observe, &plan});
		for (int i = 0; i < 3; i++)
			assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 20, 20 * 1024 - 7), 0);
		link_flush(host.end[0].link);
		while (link_receive(host.end[1].link, true, false, 64, note_psn, times) > 0)
			;
		for (unsigned i = 0; i < 60; i++) {
			assert_int_equal(times[i], i % 3 == 0 ? 0 : i % 5 == 0 ? 2 : 1);
			lost += i % 3 == 0;
			doubled += i % 3 != 0 && i % 5 == 0;
		}
		assert_int_equal(host.end[0].counters.drops[LINK_DROP_FAULT], lost);
		assert_int_equal(plan.observed[1], 60 - lost + doubled);
		assert_int_equal(plan.observed[0], 60 - lost + doubled);
		assert_int_equal(host.end[1].counters.drops[LINK_DROP_ICRC], 0);
		host_free(&host);
	}
}

static void paths_are_judged(void **state)
{
	struct link_path_address in = {.gid_type = WIRE_GID_ROCE_V2, .qpn = 0x050011, .dest_qpn = 0x060022};
	struct link_path path = {.ifindex = 99};

	in.sgid = in.dgid = wire_gid_from_ipv4((uint8_t[]){10, 0, 0, 1});
	assert_int_equal(link_path_udp(&path, &in), 0);
	assert_true(path.kind == LINK_UDP && path.hop_limit == LINK_PATH_HOPS && path.flow_label != 0 && !path.gso);
	in.hop_limit = 3;
	in.flow_label = 0xabcde;
	assert_int_equal(link_path_udp(&path, &in), 0);
	assert_true(path.hop_limit == 3 && path.flow_label == 0xabcde);
	path.ifindex = 99;
	in.gid_type = WIRE_GID_ROCE_V1;
	assert_int_equal(link_path_udp(&path, &in), BASE_ERR_UNSUPPORTED);
	in.gid_type = WIRE_GID_ROCE_V2;
	memset(&in.dgid, 0, sizeof(in.dgid));
	assert_int_equal(link_path_udp(&path, &in), BASE_ERR_UNREACH);
	in.dgid.raw[0] = 0xfe;
	assert_int_equal(link_path_udp(&path, &in), BASE_ERR_UNREACH);
	assert_int_equal(path.ifindex, 99); /* written only on success */
	in.gid_type = WIRE_GID_ROCE_V1;
	link_path_shm(&path, &in, 4);
	assert_true(path.kind == LINK_SHM && path.dest_ifindex == 4 && path.gid_type == WIRE_GID_ROCE_V1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_judged),
		cmocka_unit_test(runs_cross_loopback),
		cmocka_unit_test(icrc_is_right_by_bits),
		cmocka_unit_test(flow_label_is_sent),
		cmocka_unit_test(bad_datagrams_are_counted),
		cmocka_unit_test(overflow_is_counted),
		cmocka_unit_test(small_mtu_is_counted),
		cmocka_unit_test(foreign_source_is_counted),
		cmocka_unit_test_teardown(full_send_buffer_comes_back, qdisc_remove),
		cmocka_unit_test(hooks_see_single_packets),
		cmocka_unit_test(unacked_bursts_pause),
	};

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		fprintf(stderr, "skipped: no network namespace of our own: %s\n", strerror(errno));
		return 77;
	}
	if (!lo_set(65536)) {
		fprintf(stderr, "skipped: lo cannot be brought up: %s\n", strerror(errno));
		return 77;
	}
	alarm(100); /* a hang is a failure */
	return cmocka_run_group_tests_name("udp", tests, NULL, NULL);
}
