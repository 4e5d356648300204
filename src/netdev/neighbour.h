/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Next hops and their link addresses, as the kernel knows them. No privilege is needed: routes and neighbours can be read by all,
 * and a datagram to the discard port makes the kernel ask (ARP, ND) where it does not know.
 *
 * A hop that needs no link address (this host's own addresses, interfaces without ARP, groups) is known at once. netdev_hop_find()
 * and netdev_hop_look() ask the kernel and do not wait for the network; netdev_hop_resolve() does.
 *
 * Errors: BASE_ERR_UNREACH (no route), BASE_ERR_TIMEDOUT (nobody answers), BASE_ERR_IO, BASE_ERR_NOMEM. Any thread.
 * Specification: roce-wire 1, cm-ece 10; IBTA A17.4.
 */
#ifndef NETDEV_NEIGHBOUR_H
#define NETDEV_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/gid.h"

struct netdev_hop {
	uint32_t ifindex;       /* that packets leave by */
	struct wire_gid next;   /* the gateway, or the destination itself */
	bool local;             /* the destination is this host */
	bool asks;              /* it has a link address that may have to be asked for; else mac is right from the start */
	uint8_t mac[WIRE_MAC_BYTES];
	uint16_t vlan;          /* of the interface; NETDEV_NO_VLAN */
};

#define NETDEV_NO_VLAN 0xffff

/*
 * The way from an address of ours to another. scope: the interface, for link-local addresses and groups, and the one to prefer;
 * 0: any.
 */
int netdev_hop_find(const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope, struct netdev_hop *out);

/* BASE_OK: hop->mac is it. BASE_ERR_AGAIN: not known yet. BASE_ERR_TIMEDOUT: was asked for and did not answer. */
int netdev_hop_look(struct netdev_hop *hop);

/* Of the interface; NETDEV_NO_VLAN: it is none. BASE_ERR_IO: there is no such interface. */
int netdev_hop_vlan(uint32_t ifindex, uint16_t *out);

/* Makes the kernel ask. The answer is a notice. */
void netdev_hop_ask(const struct netdev_hop *hop, const struct wire_gid *source, const struct wire_gid *destination);

/* find, look, and if need be ask and wait. */
int netdev_hop_resolve(const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope, uint64_t timeout_ns,
		       struct netdev_hop *out);

/* A non-blocking descriptor that becomes readable when a neighbour changes. The caller closes it. A negative error else. */
int netdev_notices_open(void);
/*
 * Takes all notices. `changed` is called for each neighbour; with ifindex 0 once for those that got lost: each may have changed. NULL
 * is allowed. Returns whether there were any.
 */
bool netdev_notices_read(int fd, void (*changed)(void *context, uint32_t ifindex, const struct wire_gid *address), void *context);

#endif
