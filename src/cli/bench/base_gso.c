/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What UDP can carry when it carries what RoCE must: bursts with UDP_SEGMENT, every packet with a header of 12 bytes,
 * payload copied out of the user's memory, a CRC over it all; a receiver with UDP_GRO in another process that checks
 * each CRC and copies the payload to its place. An ACK datagram for each burst and a window of a few bursts stand for
 * the transport. 1 MiB of memory on both sides, as in ib_write_bw -s 1048576.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define GSO_HEADER	 12u
#define GSO_TRAILER	 4u
#define GSO_DATAGRAM_MAX 65000u
#define GSO_SEGMENTS_MAX 64u
#define GSO_WINDOW	 6u /* bursts in flight */
#define GSO_MEMORY	 BENCH_MIB

struct pair {
	int fd[2]; /* sender's, receiver's */
	uint16_t port[2];
	size_t mtu;
};

static uint32_t crc_of(const unsigned char *packet, size_t len)
{
	return crc32_gzip_refl(0, packet, len);
}

/* Checks and places one packet; returns false when its CRC is wrong. */
static bool place(const unsigned char *packet, size_t len, unsigned char *memory)
{
	uint32_t offset, crc;

	if (len < GSO_HEADER + GSO_TRAILER)
		return false;
	memcpy(&crc, packet + len - GSO_TRAILER, sizeof(crc));
	if (crc != crc_of(packet, len - GSO_TRAILER))
		return false;
	memcpy(&offset, packet, sizeof(offset));
	size_t payload = len - GSO_HEADER - GSO_TRAILER;
	if (offset > GSO_MEMORY || payload > GSO_MEMORY - offset)
		return false;
	memcpy(memory + offset, packet + GSO_HEADER, payload);
	return true;
}

static bool receiver(void *context)
{
	const struct pair *p = context;
	static unsigned char buffer[65536];
	unsigned char *memory = aligned_alloc(4096, GSO_MEMORY);
	int on = 1;

	if (memory == NULL || setsockopt(p->fd[1], SOL_UDP, UDP_GRO, &on, sizeof(on)) != 0)
		return measure_failed("UDP_GRO");
	memset(memory, 0, GSO_MEMORY);
	while (true) {
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec iov = {buffer, sizeof(buffer)};
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
		ssize_t got = recvmsg(p->fd[1], &msg, 0);
		size_t segment = got > 0 ? (size_t)got : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return measure_failed("UDP receive");
		if (got == 0)
			return true; /* the sender's farewell */
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
				int size;

				memcpy(&size, CMSG_DATA(c), sizeof(size));
				segment = size > 0 ? (size_t)size : segment;
			}
		for (size_t at = 0; at < (size_t)got; at += segment)
			if (!place(buffer + at, (size_t)got - at < segment ? (size_t)got - at : segment, memory)) {
				errno = EBADMSG;
				return measure_failed("CRC of the bare UDP pair");
			}
		/* One byte for each packet: GRO need not keep bursts together. */
		unsigned char packets = (unsigned char)(((size_t)got + segment - 1) / segment);
		if (!measure_udp_send(p->fd[1], p->port[0], &packets, 1))
			return false;
	}
}

static bool send_burst(const struct pair *p, const unsigned char *memory, uint32_t *offset, unsigned packets)
{
	static unsigned char buffer[65536];
	size_t packet = GSO_HEADER + p->mtu + GSO_TRAILER, len = packet * packets;

	for (unsigned i = 0; i < packets; i++) {
		unsigned char *at = buffer + i * packet;

		memset(at, 0, GSO_HEADER);
		memcpy(at, offset, sizeof(*offset));
		memcpy(at + GSO_HEADER, memory + *offset, p->mtu);
		uint32_t crc = crc_of(at, GSO_HEADER + p->mtu);
		memcpy(at + GSO_HEADER + p->mtu, &crc, sizeof(crc));
		*offset = (uint32_t)((*offset + p->mtu) % GSO_MEMORY);
	}
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(p->port[1])};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
	} control = {0};
	struct iovec iov = {buffer, len};
	struct msghdr msg = {.msg_name = &to,
			     .msg_namelen = sizeof(to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	uint16_t size = (uint16_t)packet;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	if (sendmsg(p->fd[0], &msg, 0) == (ssize_t)len)
		return true;
	return measure_failed("UDP_SEGMENT send");
}

static bool send_stream(const struct pair *p, double *out)
{
	size_t packet = GSO_HEADER + p->mtu + GSO_TRAILER;
	unsigned burst =
		GSO_DATAGRAM_MAX / packet < GSO_SEGMENTS_MAX ? (unsigned)(GSO_DATAGRAM_MAX / packet) : GSO_SEGMENTS_MAX;
	unsigned char *memory = aligned_alloc(4096, GSO_MEMORY), acked[16];
	uint64_t began = base_clock_now(), now = began, arrived = 0, in_flight = 0;
	uint32_t offset = 0;
	bool warm = false;

	if (memory == NULL)
		return measure_failed("memory");
	memset(memory, 1, GSO_MEMORY);
	while (now - began < MEASURE_NS) {
		while (in_flight + burst <= (uint64_t)burst * GSO_WINDOW) {
			if (!send_burst(p, memory, &offset, burst))
				goto fail;
			in_flight += burst;
		}
		if (recv(p->fd[0], acked, sizeof(acked), 0) != 1 || acked[0] > in_flight) {
			measure_failed("ACK of the bare UDP pair (lost packets?)");
			goto fail;
		}
		in_flight -= acked[0];
		arrived += acked[0];
		now = base_clock_now();
		if (!warm && now - began > MEASURE_NS / 8) {
			warm = true;
			began = now;
			arrived = 0;
		}
	}
	free(memory);
	*out = (double)arrived * (double)p->mtu / BENCH_MIB / ((double)(now - began) / 1e9);
	return true;
fail:
	free(memory);
	return false;
}

bool bench_base_gso(size_t mtu, double *out)
{
	struct pair p = {.fd = {-1, -1}, .mtu = mtu};
	int room = 4 << 20;
	bool ok = false;

	p.fd[0] = measure_udp_socket(&p.port[0]);
	p.fd[1] = measure_udp_socket(&p.port[1]);
	if (p.fd[0] < 0 || p.fd[1] < 0)
		goto close_sockets;
	/* As much as this user may have: the same that our link asks for. */
	setsockopt(p.fd[1], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(p.fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	pid_t child = measure_fork(receiver, &p);
	if (child > 0) {
		ok = send_stream(&p, out);
		if (ok)
			ok = measure_udp_send(p.fd[0], p.port[1], "", 0);
		if (!measure_join(child, !ok))
			ok = false;
	}
close_sockets:
	for (int i = 0; i < 2; i++)
		if (p.fd[i] >= 0)
			close(p.fd[i]);
	return ok;
}
