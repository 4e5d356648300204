/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The general services interface: QP 1 of this host, on slot 0's socket of port 4791 and, for RoCEv1, on a packet socket (gsi_raw.h).
 * They carry the MADs of connection management as UD packets (IBTA 13.5.1, A17.9.1: Q_Key 0x80010000, P_Key 0xffff).
 *
 * One thread. Datagrams are hostile: what is no UD SEND to QP 1 with a good ICRC is dropped and counted.
 */
#ifndef BROKER_GSI_H
#define BROKER_GSI_H

#include <netinet/in.h>
#include <stdint.h>

#include "cm/cm.h"
#include "netdev/netdev.h"

struct broker_gsi {
	int socket;                /* borrowed; -1: no wire */
	int raw;                   /* gsi_raw.h; borrowed; -1: none */
	uint32_t psn;
	uint64_t sent, received, send_errors;
	uint64_t dropped_form, dropped_icrc, dropped_address;
};

/* One IB packet (BTH to ICRC) as it came, with the addresses of its datagram. */
struct broker_gsi_packet {
	enum wire_gid_type gid_type;
	struct wire_gid source, destination; /* IPv4 addresses mapped */
	uint8_t source_mac[WIRE_MAC_BYTES];  /* v1 */
	uint16_t source_port;                /* v2 */
	uint32_t ifindex;                    /* that it came in by */
	uint16_t ip_id;                      /* to expect: k for segment k of a merged datagram */
	uint8_t traffic_class, hop_limit;
	const uint8_t *ib;
	uint32_t len;
};

/*
 * Takes the packet apart. True: *mad (inside of the packet) and *from, the way back for cm_receive(), are filled. The port is
 * that of the device in `table` which owns the destination address.
 */
bool broker_gsi_receive(struct broker_gsi *gsi, const struct netdev_table *table, const struct broker_gsi_packet *packet,
			struct cm_path *from, const uint8_t **mad, size_t *mad_len);
/* Sends one; what cannot be sent now is lost, and repeated by the engine. */
void broker_gsi_send(struct broker_gsi *gsi, const struct netdev_table *table, const struct cm_send *out);

/*
 * The device that owns this address, as an index in the table; -1: none does. scope: the interface of a link-local address, 0
 * for any.
 */
int broker_device_of(const struct netdev_table *table, const struct wire_gid *gid, uint32_t scope);
/* The port as the CM engine knows it. */
struct cm_port broker_port_of(const struct netdev_table *table, int device);

#endif
