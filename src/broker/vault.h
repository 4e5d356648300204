/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The vault: what must outlive the broker, in flight in two socketpairs whose receiving ends every process holds.
 *
 *   end 0: one message, with the alive socket, the registry, the netdev table and, with a wire, the sockets of slots 0..127
 *   end 1: one message, with the registry again and, with a wire, the sockets of slots 128..254
 *
 * (Two, because a message carries 253 descriptors at most.) Nobody takes the messages: MSG_PEEK gives copies of the descriptors,
 * in order, as often as wanted. So the order of the reuseport group, in which a member's place is its slot, survives any death.
 * The alive socket is bound to an abstract name: while anybody holds the vault, a new broker sees that there are survivors.
 *
 * One thread. The descriptors in struct broker_vault are owned by it.
 */
#ifndef BROKER_VAULT_H
#define BROKER_VAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "broker/core.h"
#include "broker/group.h"
#include "netdev/shared.h"

struct broker_vault {
	bool made;                            /* the descriptors below are ours or -1 */
	int ends[2];                          /* the receiving ends */
	int sender;                           /* made without the alive name: where it is to go later; else -1 */
	struct broker_registry *registry;     /* mapped */
	int netdev_fd, netdev_reader;         /* the memfd, and a descriptor of it for clients */
	struct netdev_shared *netdev;         /* mapped */
	bool wire;
	int sockets[BROKER_GROUP_SOCKETS];    /* with a wire; else -1 */
	char reason[IPC_REASON_MAX];          /* without: why */
};

/* Nobody holds a vault of this user? Takes the alive name then (*alive). BASE_ERR_EXISTS: there are survivors. BASE_ERR_IO. */
int broker_vault_alive(int *alive);
/*
 * A new vault. `alive` is taken (-1: none); with `reason` not NULL there is no wire, for that reason. BASE_ERR_NOMEM,
 * BASE_ERR_IO.
 */
int broker_vault_create(struct broker_vault *out, int alive, uint64_t random, const char *reason);
/* For a vault that was made without: puts the alive name in as soon as nobody else has it. BASE_ERR_EXISTS: not yet. */
int broker_vault_alive_later(struct broker_vault *vault);
/* What a survivor handed over; copies of its descriptors are made. BASE_ERR_MALFORMED: not a vault; BASE_ERR_NOMEM. */
int broker_vault_adopt(struct broker_vault *out, const int ends[2]);
/* Accepts a zeroed struct. */
void broker_vault_close(struct broker_vault *vault);

#endif
