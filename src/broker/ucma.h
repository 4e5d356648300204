/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RDMA connection manager as processes see it: rdma_cm ids of clients, the commands of the kernel's ucma interface
 * (<rdma/rdma_user_cm.h>, ABI version 4, what drivers/infiniband/core/ucma.c and cma.c are to Linux) and the events that follow,
 * on top of the CM engine. Addresses are resolved here, path records are made here: an Ethernet port has no subnet
 * administration.
 *
 * Without sockets but for questions about routes. One thread. Commands are hostile: each ends with an errno value, none touches
 * an id of another client.
 *
 * What a new broker must know of an id goes to its client after each change (CM_KEEP) and comes back by broker_ucma_adopt().
 * Handshakes do not survive a broker: their ids are adopted as ended, with the event UNREACHABLE.
 */
#ifndef BROKER_UCMA_H
#define BROKER_UCMA_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "ipc/message.h"
#include "netdev/neighbour.h"
#include "netdev/netdev.h"

struct broker_ucma; /* opaque */

struct broker_ucma_ops {
	/* An answer, an event or something to keep, to the client of this slot. */
	void (*send)(void *context, uint8_t slot, const struct ipc_message *message);
	/* A message for the wire. */
	void (*transmit)(void *context, const struct cm_send *out);
	uint64_t (*now)(void *context);
	/*
	 * The client's socket enters or leaves a group at an interface: 0 or a positive errno value (broker/member.h). NULL: there is no
	 * wire.
	 */
	int (*member)(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter);
	/*
	 * Is the link address known that packets on this way go to? BASE_OK: it is, or none is needed. BASE_ERR_AGAIN: it was asked for,
	 * and broker_ucma_neighbour_changed() is called when *hop changes. Other errors: there is no way. NULL: always known.
	 */
	int (*neighbour)(void *context, const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope,
			 struct netdev_hop *hop);
};

/*
 * NULL: no memory, or a config outside of its ranges. `table` is the broker's, read at each call (borrowed until destroy).
 * `privileged`: ports below net.ipv4.ip_unprivileged_port_start may be bound; that limit is `first_port`.
 */
struct broker_ucma *broker_ucma_create(const struct broker_ucma_ops *ops, void *context, const struct cm_config *config,
				       const struct netdev_table *table, uint16_t first_port, uint64_t seed);
/* The encapsulation of connections and groups that begin here: RoCEv2 unless told; peers' are answered as they come. */
void broker_ucma_begin_with(struct broker_ucma *ucma, enum wire_gid_type gid_type);
void broker_ucma_destroy(struct broker_ucma *ucma);

/* A command: its answer is sent before this returns, what follows from it after the answer. */
void broker_ucma_call(struct broker_ucma *ucma, uint8_t slot, const struct ipc_cm *call);
/* What an earlier broker had kept. Damaged ones are dropped: the client then finds the id unknown. */
void broker_ucma_adopt(struct broker_ucma *ucma, uint8_t slot, const struct ipc_cm *kept);
/* The process behind the slot has ended: peers are told what a kernel would tell them. */
void broker_ucma_gone(struct broker_ucma *ucma, uint8_t slot);

/* A MAD that came to QP 1. */
void broker_ucma_receive(struct broker_ucma *ucma, const struct cm_path *from, const uint8_t *mad, size_t len);
/* When broker_ucma_tick() wants to be called; BASE_NEVER. */
uint64_t broker_ucma_deadline(const struct broker_ucma *ucma);
void broker_ucma_tick(struct broker_ucma *ucma);
/* Devices of the mask have changed: ids on those that are gone get DEVICE_REMOVAL. */
void broker_ucma_netdev_changed(struct broker_ucma *ucma, uint64_t devices);

/* A neighbour did; ifindex 0: each may have. */
void broker_ucma_neighbour_changed(struct broker_ucma *ucma, uint32_t ifindex, const struct wire_gid *address);
/* Does it wait for a neighbour? */
bool broker_ucma_is_asking(const struct broker_ucma *ucma);

/* No ids, and nothing that a peer is still owed: for the idle timer. */
bool broker_ucma_is_idle(const struct broker_ucma *ucma);
const struct cm_stats *broker_ucma_stats(const struct broker_ucma *ucma);

#endif
