/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a UDP_SEGMENT burst over loopback crosses the stack unsegmented; a UDP_GRO receiver gets it as one buffer of
 * equal segments (the last may be short) with the segment size in a control message; a receiver without UDP_GRO gets single
 * datagrams.
 * Without it: one system call per packet, a third of the throughput.
 * And a fact to respect: what travels together is decided by the flow, not by the destination QP. The group's selector reads
 * the first segment only and the whole burst goes there, whether that socket has UDP_GRO or not. So a sender uses one source
 * port per destination slot, and whoever receives checks each segment's slot. --wrong mixes two slots in one burst and
 * expects each to get its own.
 */
#include "platform/probe_net.h"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>

#define SEGMENT 1000
#define SEGMENTS 4
#define SHORT_LAST 300
#define BURST ((SEGMENTS - 1) * SEGMENT + SHORT_LAST)
#define DEST_QP_OFFSET 5

static uint8_t burst[BURST];

static int receiver_open(bool gro)
{
	int fd = probe_udp_socket();

	SETUP(probe_udp_bind(fd, false, 0) == 0);
	if (gro)
		EXPECT(setsockopt(fd, IPPROTO_UDP, UDP_GRO, &(int){ 1 }, sizeof(int)) == 0, "UDP_GRO: %s", strerror(errno));
	return fd;
}

/* One read; *segment is what the control message says, 0 without one. -1 when nothing is there, or comes. */
static ssize_t receive(int fd, uint8_t *data, size_t len, int *segment, bool wait)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room) };
	ssize_t got;

	if (wait && !probe_udp_arrives(fd))
		return -1;
	got = recvmsg(fd, &m, 0);

	*segment = 0;
	if (got < 0)
		return -1;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_level == IPPROTO_UDP && h->cmsg_type == UDP_GRO)
			memcpy(segment, CMSG_DATA(h), sizeof(*segment));
	return got;
}

static void delivery_check(const char *host)
{
	static uint8_t data[65536];
	int sender = probe_udp_socket(), coalescing = receiver_open(true), plain = receiver_open(false), segment;
	struct sockaddr_in6 to = probe_address(host, probe_udp_port(coalescing));
	ssize_t got;

	SETUP(probe_udp_send(sender, &to, burst, sizeof(burst), SEGMENT) == 0);
	got = receive(coalescing, data, sizeof(data), &segment, true);
	EXPECT(got == BURST && segment == SEGMENT, "%s: UDP_GRO gave %zd bytes in segments of %d", host, got, segment);
	EXPECT(memcmp(data, burst, sizeof(burst)) == 0, "%s: the burst arrived changed", host);
	EXPECT(receive(coalescing, data, sizeof(data), &segment, false) == -1, "%s: something beside the burst", host);

	/* A lone datagram: no control message, or one that gives its own length. */
	SETUP(probe_udp_send(sender, &to, burst, SEGMENT, 0) == 0);
	got = receive(coalescing, data, sizeof(data), &segment, true);
	EXPECT(got == SEGMENT && (segment == 0 || segment == SEGMENT), "%s: lone datagram: %zd, %d", host, got, segment);

	to.sin6_port = htons(probe_udp_port(plain));
	SETUP(probe_udp_send(sender, &to, burst, sizeof(burst), SEGMENT) == 0);
	for (int i = 0; i < SEGMENTS; i++) {
		got = receive(plain, data, sizeof(data), &segment, true);
		EXPECT(got == (i < SEGMENTS - 1 ? SEGMENT : SHORT_LAST), "%s: datagram %d has %zd bytes", host, i, got);
		EXPECT(memcmp(data, burst + i * SEGMENT, (size_t)got) == 0, "%s: datagram %d arrived changed", host, i);
	}
	close(sender);
	close(coalescing);
	close(plain);
}

/* Two slots in one burst. */
static void flow_check(const char *host, bool gro)
{
	struct sock_filter code[] = { BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DEST_QP_OFFSET), BPF_STMT(BPF_RET | BPF_A, 0) };
	struct sock_fprog prog = { .len = 2, .filter = code };
	int sender = probe_udp_socket(), member[2], bytes[2] = { 0, 0 }, segment;
	static uint8_t data[65536];
	struct sockaddr_in6 to;
	uint16_t port = 0;

	for (int i = 0; i < 2; i++) {
		member[i] = probe_udp_socket();
		SETUP(probe_udp_bind(member[i], true, port) == 0);
		port = probe_udp_port(member[i]);
		probe_set_int(member[i], IPPROTO_UDP, UDP_GRO, gro);
		SETUP(setsockopt(member[i], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) == 0);
	}
	for (int i = 0; i < SEGMENTS; i++)
		burst[i * SEGMENT + DEST_QP_OFFSET] = (uint8_t)(1 - i % 2);
	to = probe_address(host, port);
	SETUP(probe_udp_send(sender, &to, burst, 2 * SEGMENT, SEGMENT) == 0);
	probe_udp_arrives(member[1]); /* where the first segment belongs */
	for (int i = 0; i < 2; i++)
		for (ssize_t got; (got = receive(member[i], data, sizeof(data), &segment, false)) >= 0;)
			bytes[i] += (int)got;
	if (probe.wrong)
		EXPECT(bytes[0] == SEGMENT && bytes[1] == SEGMENT, "a mixed burst is not taken apart: %d and %d bytes", bytes[0], bytes[1]);
	EXPECT(bytes[0] == 0 && bytes[1] == 2 * SEGMENT, "%s, GRO %d: slot 0 got %d bytes, slot 1 %d", host, gro, bytes[0], bytes[1]);
	close(sender);
	close(member[0]);
	close(member[1]);
}

/* What a packet socket sees on loopback; false where we may not look. */
static bool crossing_check(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int watcher, sender, receiver, whole = 0, parts = 0;
	static uint8_t frame[65536];
	struct sockaddr_in6 to;
	ssize_t got;

	if (!probe_netns_enter())
		return false;
	watcher = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at.sll_ifindex = (int)if_nametoindex("lo");
	SETUP(watcher >= 0 && bind(watcher, (struct sockaddr *)&at, sizeof(at)) == 0);
	sender = probe_udp_socket();
	receiver = receiver_open(false);
	to = probe_address("::ffff:127.0.0.1", probe_udp_port(receiver));
	SETUP(probe_udp_send(sender, &to, burst, sizeof(burst), SEGMENT) == 0);
	while ((got = recv(watcher, frame, sizeof(frame), 0)) >= 0) {
		whole += got > BURST;
		parts += got <= BURST;
	}
	EXPECT(whole > 0 && parts == 0, "loopback cut the burst: %d whole frames, %d parts", whole, parts);
	return true;
}

int main(int argc, char **argv)
{
	static const char *const host[] = { "::1", "::ffff:127.0.0.1" };

	probe_begin(argc, argv);
	for (size_t i = 0; i < sizeof(burst); i++)
		burst[i] = (uint8_t)(i * 7 + i / SEGMENT);
	for (int h = 0; h < 2; h++) {
		delivery_check(host[h]);
		flow_check(host[h], true);
		flow_check(host[h], false);
	}
	if (!crossing_check())
		SKIP("the receivers' half passed; looking at the frames needs a network namespace of our own");
	return PROBE_PASS;
}
