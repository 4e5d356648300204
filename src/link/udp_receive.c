/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp.h"

#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/count.h"
#include "link/hook.h"

static struct wire_gid gid_of_name(const struct sockaddr_storage *name, uint16_t *port)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)name;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)name;

	if (name->ss_family == AF_INET) {
		*port = ntohs(four->sin_port);
		return wire_gid_from_ipv4((const uint8_t *)&four->sin_addr);
	}
	*port = ntohs(six->sin6_port);
	return wire_gid_from_ipv6((const uint8_t *)&six->sin6_addr);
}

static int control_int(const struct cmsghdr *cmsg)
{
	int value = 0;

	/* IP_TOS is a single byte. */
	if (cmsg->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(cmsg);
	memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
	return value;
}

/* Counts up, modulo 2^32; a datagram tells how it stood when it was queued. */
static void note_drops(struct link_udp *udp, uint32_t drops)
{
	if ((int32_t)(drops - udp->kernel_drops) <= 0)
		return;
	link_count_drop(udp->counters, LINK_DROP_RECEIVE_FULL, drops - udp->kernel_drops);
	udp->kernel_drops = drops;
}

/* What is lost at the end of a burst, no later datagram tells. Asked once per silence, not per look. */
static void note_silence(struct link_udp *udp)
{
	if (udp->silent <= LINK_UDP_SILENT && udp->silent++ == LINK_UDP_SILENT)
		note_drops(udp, link_udp_drops(udp->socket));
}

static void read_control(struct link_udp *udp, struct link_udp_datagram *d, struct msghdr *msg)
{
	struct in6_pktinfo six;
	struct in_pktinfo four;
	uint32_t drops;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&six, CMSG_DATA(c), sizeof(six));
			d->dgid = wire_gid_from_ipv6((const uint8_t *)&six.ipi6_addr);
			d->ifindex = six.ipi6_ifindex;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&four, CMSG_DATA(c), sizeof(four));
			d->dgid = wire_gid_from_ipv4((const uint8_t *)&four.ipi_addr);
			d->ifindex = (uint32_t)four.ipi_ifindex;
		} else if ((c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT) ||
			   (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)) {
			d->hop_limit = (uint8_t)control_int(c);
		} else if ((c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) ||
			   (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)) {
			d->traffic_class = (uint8_t)control_int(c);
		} else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			d->segment = (uint32_t)control_int(c);
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			note_drops(udp, drops);
		}
	}
}

/* Is this packet for this process? Multicast is: the kernel gave it to every member. */
static bool is_ours(const struct link_udp *udp, uint32_t qpn)
{
	return qpn >> 16 == udp->slot || qpn == WIRE_QPN_MULTICAST;
}

/* Decodes and checks one packet. False: dropped and counted. */
static bool take_packet(struct link_udp *udp, struct link_udp_datagram *d, const uint8_t *ib, uint32_t len, struct link_rx *rx)
{
	enum wire_icrc_result check;
	uint16_t id = d->next_id;
	int err;

	err = wire_packet_decode(&rx->run.head, ib, len);
	if (err == 0) {
		check = wire_icrc_verify(&d->flow, d->next_id, ib, len, &id);
		/* Identification 0 is what a sender like us writes wherever a new burst begins. */
		if (check == WIRE_ICRC_FOREIGN_ID && id != 0)
			link_count(&udp->counters->icrc_foreign_id, 1);
		if (check == WIRE_ICRC_BAD) {
			link_count_drop(udp->counters, LINK_DROP_ICRC, 1);
			return false;
		}
		d->next_id = (uint16_t)(id + 1);
	} else {
		link_count_drop(udp->counters, err == BASE_ERR_TRUNCATED ? LINK_DROP_TRUNCATED : LINK_DROP_MALFORMED, 1);
		return false;
	}
	if (!is_ours(udp, rx->run.head.bth.dest_qpn)) {
		link_count_drop(udp->counters, LINK_DROP_STRAY, 1);
		return false;
	}
	return true;
}

unsigned link_udp_cut(struct link_udp *udp, struct link_udp_datagram *d, const uint8_t *buf, unsigned budget, link_sink *sink,
		      void *context)
{
	struct link_rx rx; /* filled as far as its opcode says */
	unsigned n = 0;
	uint32_t len;

	rx.kind = LINK_UDP;
	rx.gid_type = WIRE_GID_ROCE_V2;
	rx.sgid = d->sgid;
	rx.dgid = d->dgid;
	rx.ifindex = d->ifindex;
	rx.traffic_class = d->traffic_class;
	rx.hop_limit = d->hop_limit;
	rx.source_slot = 0;
	while (n < budget && d->at < d->bytes) {
		const uint8_t *ib = buf + d->at;

		len = d->bytes - d->at < d->segment ? d->bytes - d->at : d->segment;
		d->at += len;
		if (!take_packet(udp, d, ib, len, &rx))
			continue;
		rx.run.packets = 1;
		rx.run.last_opcode = rx.run.head.bth.opcode;
		rx.run.mtu = 0;
		link_count_received(udp->counters, LINK_UDP, 1, rx.run.head.payload_len);
		if (link_hooks_any(&udp->hooks))
			link_hooks_sink(&udp->hooks, udp->counters, &rx, sink, context);
		else
			sink(context, &rx);
		n++;
	}
	return n;
}

/* Refills the datagrams from the socket. True: it may have more. */
static bool refill(struct link_udp *udp)
{
	struct mmsghdr vec[LINK_UDP_DATAGRAMS];
	struct iovec iov[LINK_UDP_DATAGRAMS];
	struct sockaddr_storage from[LINK_UDP_DATAGRAMS];
	_Alignas(struct cmsghdr) uint8_t control[LINK_UDP_DATAGRAMS][LINK_UDP_CONTROL_BYTES];
	int n;

	for (unsigned i = 0; i < LINK_UDP_DATAGRAMS; i++) {
		iov[i] = (struct iovec){.iov_base = udp->buffers + (size_t)i * LINK_UDP_DATAGRAM_BYTES,
				.iov_len = LINK_UDP_DATAGRAM_BYTES};
		vec[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
			.msg_control = control[i],
			.msg_controllen = sizeof(control[i]),
		};
	}
	udp->datagram_count = udp->datagram_next = 0;
	/* Not recvmmsg(3), a cancellation point under the progress lock. */
	n = (int)syscall(SYS_recvmmsg, udp->socket, vec, LINK_UDP_DATAGRAMS, MSG_DONTWAIT, NULL);
	if (n <= 0) {
		note_silence(udp);
		return false;
	}
	udp->silent = 0;
	for (int i = 0; i < n; i++) {
		struct link_udp_datagram *d = &udp->datagrams[i];
		uint16_t port;

		*d = (struct link_udp_datagram){.bytes = vec[i].msg_len};
		d->sgid = gid_of_name(&from[i], &port);
		read_control(udp, d, &vec[i].msg_hdr);
		if (d->segment == 0)
			d->segment = d->bytes;
		wire_icrc_flow_gids(&d->flow, &d->sgid, &d->dgid, port, WIRE_UDP_PORT_ROCE);
	}
	udp->datagram_count = (unsigned)n;
	return n == (int)LINK_UDP_DATAGRAMS;
}

unsigned link_udp_receive(struct link_udp *udp, unsigned budget, link_sink *sink, void *context)
{
	bool more = true;
	unsigned done = 0;

	if (udp->socket < 0)
		return 0;
	while (done < budget) {
		if (udp->datagram_next == udp->datagram_count) {
			if (!more)
				break;
			more = refill(udp);
			if (udp->datagram_count == 0)
				break;
		}
		while (udp->datagram_next < udp->datagram_count && done < budget) {
			struct link_udp_datagram *d = &udp->datagrams[udp->datagram_next];

			done += link_udp_cut(udp, d, udp->buffers + (size_t)udp->datagram_next * LINK_UDP_DATAGRAM_BYTES,
					budget - done, sink,
					     context);
			if (d->at < d->bytes)
				break;
			udp->datagram_next++;
		}
	}
	return done;
}
