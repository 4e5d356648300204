/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sockets of UDP port 4791: one per slot, in one SO_REUSEPORT group, with a classic BPF program that picks the member by the
 * slot in the packet's destination QPN (byte 5 of the BTH). The member's number in the group is its slot, so all are bound in
 * order and none may ever be closed for good: see vault.h.
 *
 * Dual-stack where there is IPv6, else IPv4 only. One thread.
 */
#ifndef BROKER_GROUP_H
#define BROKER_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BROKER_GROUP_PORT 4791
#define BROKER_GROUP_SOCKETS 255u /* slots 0..254 */

/*
 * Is the port free? Binds it alone for a moment. BASE_ERR_EXISTS: no. BASE_ERR_IO. Fills reason (a line for people) when it
 * fails.
 */
int broker_group_probe(char *reason, size_t size);
/* Makes all sockets. On failure none is left open, and reason is filled. BASE_ERR_EXISTS, BASE_ERR_NOMEM, BASE_ERR_IO. */
int broker_group_create(int sockets[BROKER_GROUP_SOCKETS], char *reason, size_t size);
/* Is this a member of such a group: a UDP socket bound to the port with SO_REUSEPORT? */
bool broker_group_is_member(int socket);
/* Throws away what lies in the socket, and undoes what its last owner may have set. Bounded. */
void broker_group_refresh(int socket);

#endif
