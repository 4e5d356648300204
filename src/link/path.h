/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Filling in paths from what an address handle says. Pure functions of their arguments; any thread.
 */
#ifndef LINK_PATH_H
#define LINK_PATH_H

#include "link/link.h"

#define LINK_PATH_HOPS 64 /* for a hop limit of 0, which must not reach the wire */

/* The address part of a QP or an address handle. */
struct link_path_address {
	enum wire_gid_type gid_type; /* of the own GID */
	struct wire_gid sgid, dgid;
	uint32_t ifindex;
	uint32_t qpn, dest_qpn;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
};

/*
 * A path over UDP; gso is false, for the caller to set by the route. BASE_ERR_UNSUPPORTED: a GID type that UDP does
 * not carry (RoCEv1). BASE_ERR_UNREACH: a zero GID, or one IPv4 and one IPv6 address.
 */
int link_path_udp(struct link_path *out, const struct link_path_address *in);

/*
 * A RoCEv1 path by raw Ethernet from interface in->ifindex to this MAC; a group's MAC is its GID's, whatever `to` is. With
 * local_ifindex not 0 the destination is an address of that interface of this host: then the MACs do not count.
 * BASE_ERR_UNSUPPORTED: not a v1 GID; BASE_ERR_UNREACH: a zero GID.
 */
int link_path_raw(struct link_path *out, const struct link_path_address *in, const uint8_t from[WIRE_MAC_BYTES],
		  const uint8_t to[WIRE_MAC_BYTES], uint32_t local_ifindex);

/* A path through shared memory, for any GID type, to a GID that device dest_ifindex of this host owns. */
void link_path_shm(struct link_path *out, const struct link_path_address *in, uint32_t dest_ifindex);

#endif
