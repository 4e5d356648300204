/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine of this process: its place at the broker (process), its links and its node, made together at first use and kept
 * until the process ends. Open contexts share it. A fork child's inherited engine is dead (control calls only); its first get
 * makes a new one.
 */
#ifndef PROCESS_ENGINE_H
#define PROCESS_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "export/export.h"
#include "link/link.h"
#include "node/node.h"
#include "process/process.h"

/* The last answers to "does the interface have this GID as RoCEv1?". The progress lock's. */
#define PROCESS_ENGINE_OWNED 16u
struct process_engine_owned {
	uint64_t generation; /* of the table of devices */
	struct wire_gid gid;
	uint32_t ifindex;
	bool is;
};

struct process_engine {
	struct process *process;
	struct node *node;
	struct link *link;             /* the node's, for attach and detach under its lock */
	struct export_writer *export;  /* what `softverbs stat` and peers see of this process */
	int raw;                       /* packet socket for RoCEv1, -1: none; owned */
	struct process_engine_owned owned[PROCESS_ENGINE_OWNED];
};

/*
 * The engine, made if need be. Not counted. Thread-safe. Errors of process_get(), BASE_ERR_NOMEM.
 */
int process_engine_get(struct process_engine **out);

/* Called, without a lock, when devices changed (bit i: device i). One listener: the verbs edge. */
void process_engine_listen(void (*changed)(void *context, uint64_t devices), void *context);

/* What a QP or an address handle knows of its peer: the translated ibv_ah_attr. */
struct process_peer {
	unsigned device;     /* index in the netdev table */
	unsigned sgid_index;
	struct wire_gid dgid;
	uint32_t dest_qpn;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
};

/*
 * Where packets to this peer go: shared memory if the destination GID is one of this host's (unless local=wire), else UDP, or raw
 * Ethernet for RoCEv1. May wait for the broker (a pair) up to 2 s, but not for dest_qpn 0 (an address handle): call it without the
 * progress lock. A peer on this host whose slot is empty gives a path to nowhere, and 0. BASE_ERR_INVAL: no such GID index, or a
 * GID that cannot leave by this route (v1 without a packet socket, not an address of the interface, other family), explained under
 * SOFTVERBS_DEBUG, refusals of the wire always; BASE_ERR_UNREACH: no route, or no MAC address is found; BASE_ERR_NODEV: no wire
 * here.
 */
int process_engine_path(struct process_engine *engine, const struct process_peer *peer, struct link_path *out);

#endif
