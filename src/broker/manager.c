/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/manager.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "broker/gsi_raw.h"
#include "ipc/pair.h"
#include "wire/bth.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define MANAGER_READS 4096u         /* datagrams in a row */
#define MANAGER_DATAGRAM 65536u     /* merged ones (UDP_GRO) included */

struct broker_manager {
	const struct broker_manager_ops *ops;
	void *context;
	const struct netdev_table *table;
	struct broker_gsi gsi;
	struct broker_ucma *ucma;
	uint8_t datagram[MANAGER_DATAGRAM];
};

/* --- ucma's ops --- */

static void op_send(void *context, uint8_t slot, const struct ipc_message *message)
{
	struct broker_manager *m = context;

	m->ops->send(m->context, slot, message);
}

static void op_transmit(void *context, const struct cm_send *out)
{
	struct broker_manager *m = context;

	broker_gsi_send(&m->gsi, m->table, out);
}

static uint64_t op_now(void *context)
{
	return base_clock_now();
}

static int op_member(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	struct broker_manager *m = context;

	return m->ops->member(m->context, slot, mgid, ifindex, enter);
}

static int op_neighbour(void *context, const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope,
			struct netdev_hop *hop)
{
	struct broker_manager *m = context;

	/* Within the host, which is most of it, the kernel need not be asked. */
	if (broker_device_of(m->table, destination, scope) >= 0 || wire_gid_is_multicast(destination))
		return BASE_OK;
	int err = netdev_hop_find(source, destination, scope, hop);
	if (err == BASE_OK)
		err = netdev_hop_look(hop);
	if (err != BASE_ERR_AGAIN && err != BASE_ERR_TIMEDOUT)
		return err;
	/* Listens before it asks. */
	if (!m->ops->listen(m->context))
		return BASE_ERR_IO;
	netdev_hop_ask(hop, source, destination);
	err = netdev_hop_look(hop);
	return err == BASE_ERR_TIMEDOUT ? BASE_ERR_AGAIN : err;
}

static const struct broker_ucma_ops ucma_ops = { op_send, op_transmit, op_now, op_member, op_neighbour };

/* Ports below this need a privilege, which a broker with an effective user id of 0 has. */
static uint16_t first_port(void)
{
	unsigned port = 1024;
	FILE *f = geteuid() != 0 ? fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re") : NULL;

	if (geteuid() == 0)
		return 0;
	if (f != NULL) {
		if (fscanf(f, "%u", &port) != 1 || port > 65535)
			port = 1024;
		fclose(f);
	}
	return (uint16_t)port;
}

struct broker_manager *broker_manager_create(const struct broker_manager_ops *ops, void *context, const struct netdev_table *table,
					     bool fast)
{
	struct broker_manager *m = calloc(1, sizeof(*m));
	struct cm_config config = fast ? cm_config_fast : cm_config_linux;
	uint64_t seed;

	if (m == NULL)
		return NULL;
	config.ids_per_owner = config.ids / 2; /* one process cannot take them all */
	m->ops = ops;
	m->context = context;
	m->table = table;
	m->gsi.socket = m->gsi.raw = -1;
	base_random_bytes(&seed, sizeof(seed));
	m->ucma = broker_ucma_create(&ucma_ops, m, &config, table, first_port(), seed);
	if (m->ucma == NULL) {
		free(m);
		return NULL;
	}
	return m;
}

void broker_manager_destroy(struct broker_manager *m)
{
	if (m == NULL)
		return;
	broker_ucma_destroy(m->ucma);
	free(m);
}

void broker_manager_socket_set(struct broker_manager *m, int socket)
{
	m->gsi.socket = socket;
}

void broker_manager_raw_set(struct broker_manager *m, int socket, enum wire_gid_type begins)
{
	m->gsi.raw = socket;
	broker_ucma_begin_with(m->ucma, begins);
}

struct broker_ucma *broker_manager_ucma(struct broker_manager *m)
{
	return m->ucma;
}

void broker_manager_stat(const struct broker_manager *m, struct ipc_stat_gsi *out)
{
	const struct broker_gsi *gsi = &m->gsi;

	*out = (struct ipc_stat_gsi){ .sent = gsi->sent, .received = gsi->received, .send_errors = gsi->send_errors,
		.drop_malformed = gsi->dropped_form, .drop_icrc = gsi->dropped_icrc, .drop_address = gsi->dropped_address };
}

/* --- receiving --- */

struct arrival {
	struct broker_gsi_packet packet;
	struct sockaddr_in6 from; /* as strays have it: IPv4 mapped */
	uint32_t bytes, segment;
};

static void name_load(struct arrival *a, const struct sockaddr_storage *name)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)name;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)name;

	a->from = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	if (name->ss_family == AF_INET) {
		a->packet.source = wire_gid_from_ipv4((const uint8_t *)&four->sin_addr);
		a->from.sin6_port = four->sin_port;
	} else {
		a->packet.source = wire_gid_from_ipv6((const uint8_t *)&six->sin6_addr);
		a->from.sin6_port = six->sin6_port;
		a->from.sin6_scope_id = six->sin6_scope_id;
	}
	memcpy(&a->from.sin6_addr, a->packet.source.raw, WIRE_GID_BYTES);
	a->packet.source_port = ntohs(a->from.sin6_port);
}

/* A byte (IP_TOS) or an int. */
static int control_number(const struct cmsghdr *c)
{
	int value = 0;

	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	memcpy(&value, CMSG_DATA(c), sizeof(value));
	return value;
}

static void control_load(struct arrival *a, struct msghdr *message)
{
	struct in6_pktinfo six;
	struct in_pktinfo four;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&six, CMSG_DATA(c), sizeof(six));
			a->packet.destination = wire_gid_from_ipv6((const uint8_t *)&six.ipi6_addr);
			a->packet.ifindex = six.ipi6_ifindex;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&four, CMSG_DATA(c), sizeof(four));
			a->packet.destination = wire_gid_from_ipv4((const uint8_t *)&four.ipi_addr);
			a->packet.ifindex = (uint32_t)four.ipi_ifindex;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
			a->packet.traffic_class = (uint8_t)control_number(c);
		} else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			a->segment = (uint32_t)control_number(c);
		}
	}
}

/* False: nothing is there. */
static bool arrival_read(struct broker_manager *m, struct arrival *a)
{
	struct sockaddr_storage name;
	_Alignas(struct cmsghdr) uint8_t control[512];
	struct iovec iov = { m->datagram, sizeof(m->datagram) };
	struct msghdr message = { .msg_name = &name, .msg_namelen = sizeof(name), .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(m->gsi.socket, &message, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	memset(a, 0, sizeof(*a));
	a->packet.gid_type = WIRE_GID_ROCE_V2;
	name_load(a, &name);
	control_load(a, &message);
	a->bytes = (uint32_t)n;
	if (a->segment == 0 || a->segment > a->bytes)
		a->segment = a->bytes;
	return true;
}

/* One packet of what arrived: byte 5 is the high byte of the destination QPN, the slot. */
static void packet_take(struct broker_manager *m, struct arrival *a)
{
	struct broker_gsi_packet *packet = &a->packet;
	struct cm_path from;
	const uint8_t *mad;
	size_t mad_len;

	if (packet->len < WIRE_BTH_BYTES)
		return;
	if (packet->ib[5] == IPC_SLOT_BROKER) {
		if (broker_gsi_receive(&m->gsi, m->table, packet, &from, &mad, &mad_len))
			broker_ucma_receive(m->ucma, &from, mad, mad_len);
	} else if (packet->ib[5] <= IPC_SLOT_LAST && packet->len <= IPC_STRAY_MAX) {
		const struct ipc_stray stray = { .slot = packet->ib[5], .from = a->from, .len = packet->len, .datagram = packet->ib };

		m->ops->stray(m->context, &stray);
	}
}

void broker_manager_read(struct broker_manager *m)
{
	struct arrival a;

	for (unsigned i = 0; i < MANAGER_READS && arrival_read(m, &a); i++) {
		for (uint32_t at = 0, k = 0; at < a.bytes; at += a.segment, k++) {
			a.packet.ib = m->datagram + at;
			a.packet.len = a.bytes - at < a.segment ? a.bytes - at : a.segment;
			a.packet.ip_id = (uint16_t)k;
			packet_take(m, &a);
		}
	}
}

void broker_manager_read_raw(struct broker_manager *m)
{
	struct broker_gsi_packet packet;
	struct cm_path from;
	const uint8_t *mad;
	size_t mad_len;

	for (unsigned i = 0; i < MANAGER_READS && broker_gsi_raw_read(&m->gsi, m->datagram, &packet); i++)
		if (packet.len > 0 && broker_gsi_receive(&m->gsi, m->table, &packet, &from, &mad, &mad_len))
			broker_ucma_receive(m->ucma, &from, mad, mad_len);
}
