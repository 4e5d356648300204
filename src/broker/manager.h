/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Slot 0 at its socket: what arrives there for the host (MADs to QP 1) or for others (strays), and connection management on top:
 * the general services interface and ucma, joined. One thread, the server's.
 */
#ifndef BROKER_MANAGER_H
#define BROKER_MANAGER_H

#include "broker/gsi.h"
#include "broker/ucma.h"

struct broker_manager; /* opaque */

struct broker_manager_ops {
	void (*send)(void *context, uint8_t slot, const struct ipc_message *message);
	void (*stray)(void *context, const struct ipc_stray *stray);
	/* As broker_ucma_ops.member. */
	int (*member)(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter);
	/* From now on broker_ucma_neighbour_changed() is called, until broker_ucma_is_asking() says no. False: it cannot be. */
	bool (*listen)(void *context);
};

/* `table` is the server's (borrowed). `fast`: the timeouts for tests. NULL: out of memory. */
struct broker_manager *broker_manager_create(const struct broker_manager_ops *ops, void *context, const struct netdev_table *table,
					     bool fast);
void broker_manager_destroy(struct broker_manager *manager);
/* The packet socket of gsi_raw.h (borrowed); -1: none. And the encapsulation of what this host begins: connections, groups. */
void broker_manager_raw_set(struct broker_manager *manager, int socket, enum wire_gid_type begins);
/* It is readable. Bounded. */
void broker_manager_read_raw(struct broker_manager *manager);
/* Slot 0's socket (borrowed), once it is known; -1: no wire. */
void broker_manager_socket_set(struct broker_manager *manager, int socket);
/* The socket is readable. Bounded. */
void broker_manager_read(struct broker_manager *manager);
struct broker_ucma *broker_manager_ucma(struct broker_manager *manager);
void broker_manager_stat(const struct broker_manager *manager, struct ipc_stat_gsi *out);

#endif
