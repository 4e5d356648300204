/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The raw link: RoCEv1, whole Ethernet frames on packet sockets, where this process may have one. For src/link/ alone; the calls
 * of link.h lead here. What it leans on in the kernel: tests/platform/raw_packet.c. Why it is so: docs/decisions/0094-raw-link.md.
 *
 * Sending. Frames wait and leave in the queue of udp.h, a packet a message: senders, pauses and room are the same, only the
 * socket and what stands before the packet differ.
 *
 * Receiving. One socket for all interfaces, with a filter for this slot and for groups, and a mapped ring in which each frame is
 * seen at once and without a system call. It listens from raw_listen() on: not before somebody has a use for it. What an interface
 * took for another MAC or VLAN, what is not addressed to a GID of the interface it came by, and group MACs that are not their
 * GID's are dropped and counted (LINK_DROP_ADDRESS).
 *
 * This host. An interface does not hear what it sends, so frames to addresses of this host go through lo, those to a group both
 * ways. There MACs mean nothing: the source MAC tells the interface that the frame is for (link_raw_local_mac()).
 */
#ifndef LINK_RAW_H
#define LINK_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "link/link.h"
#include "wire/eth.h"

#define LINK_RAW_LO 1u               /* the index of lo, in every network namespace */
#define LINK_RAW_FRAME_BYTES 4608u   /* a place in the ring: the kernel's header and a frame with a packet of MTU 4096 */
#define LINK_RAW_BLOCK_BYTES 131072u
#define LINK_RAW_BLOCKS 32u
#define LINK_RAW_BLOCK_FRAMES (LINK_RAW_BLOCK_BYTES / LINK_RAW_FRAME_BYTES)
#define LINK_RAW_FRAMES (LINK_RAW_BLOCKS * LINK_RAW_BLOCK_FRAMES)
#define LINK_RAW_SILENT 64u          /* looks without a frame before the kernel is asked what it dropped */

struct link_raw {
	struct link_counters *counters;
	struct link_hooks hooks;
	int socket;          /* borrowed; -1: none */
	uint8_t slot;
	uint8_t *ring;       /* NULL: it does not listen */
	unsigned at;         /* the next place to look at */
	unsigned silent;
	bool (*owns)(void *context, const struct wire_gid *gid, uint32_t ifindex);
	void *owns_context;
};

/* How a frame came, as the kernel tells it. */
struct link_raw_arrival {
	uint32_t ifindex;
	uint8_t packet_type; /* PACKET_HOST, ... of <linux/if_packet.h> */
};

void link_raw_init(struct link_raw *raw, const struct link_config *config);
void link_raw_fini(struct link_raw *raw);
/* Idempotent. Errors as link_raw_listen() of link.h. */
int link_raw_start(struct link_raw *raw);
int link_raw_membership(struct link_raw *raw, uint32_t ifindex, const struct wire_gid *mgid, bool enter);
unsigned link_raw_receive(struct link_raw *raw, unsigned budget, link_sink *sink, void *context);

/*
 * The second half of receiving, without the socket: judges one frame and hands it to the sink if it is sound. True: handed over.
 * Any bytes are survivable.
 */
bool link_raw_take(struct link_raw *raw, const struct link_raw_arrival *arrival, const uint8_t *frame, uint32_t len, link_sink *sink,
		   void *context);

/* The source MAC of what goes through lo to interface `ifindex`. */
static inline void link_raw_local_mac(uint8_t mac[WIRE_MAC_BYTES], uint32_t ifindex)
{
	mac[0] = 0x02; /* locally administered */
	mac[1] = 0x53;
	wire_be32_store(mac + 2, ifindex);
}

/* Back from it; 0: not such a MAC. */
static inline uint32_t link_raw_local_interface(const uint8_t mac[WIRE_MAC_BYTES])
{
	return mac[0] == 0x02 && mac[1] == 0x53 ? wire_be32_load(mac + 2) : 0;
}

#endif
