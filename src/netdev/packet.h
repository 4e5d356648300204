/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packet sockets, which RoCEv1 needs. Root has them, CAP_NET_RAW gives them, and so does a user and network namespace of one's own.
 *
 * Errors: named at the function. Ownership: the socket is the caller's, close on exec, non-blocking. Any thread.
 */
#ifndef NETDEV_PACKET_H
#define NETDEV_PACKET_H

/*
 * A socket for whole Ethernet frames (AF_PACKET, SOCK_RAW) that hears nothing until it is bound to an Ethertype. BASE_ERR_PERM: this
 * process may not have one; BASE_ERR_UNSUPPORTED: the kernel has none; BASE_ERR_NOMEM.
 */
int netdev_packet_open(int *out);

/* What to do about BASE_ERR_PERM, for error lines. */
#define NETDEV_PACKET_REMEDY "CAP_NET_RAW, or a user and network namespace of your own: softverbs(7)"

#endif
