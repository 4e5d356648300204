/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The links of one process: shared memory to processes of the same broker, UDP and (RoCEv1) raw Ethernet to everybody else,
 * behind one set of calls.
 *
 * A path says where a QP's packets go; its kind is chosen when the QP goes to RTR (for UD per address) and never
 * changes. Sending is reserve -> (transport fills the room) -> commit, any number of times, then flush. Receiving
 * hands runs to a sink, bounded by a budget. A reservation is not a promise to commit: without a commit nothing
 * happened.
 *
 * One thread at a time: the holder of the node's progress lock; exceptions are named.
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/run.h"
#include "wire/gid.h"

enum link_kind {
	LINK_NOWHERE, /* a path to nobody (peer process gone, no wire): everything offered is counted and forgotten */
	LINK_SHM,
	LINK_UDP,
	LINK_RAW, /* RoCEv1: Ethernet frames */
	LINK_KINDS
};

struct link_path {
	enum link_kind kind;
	enum wire_gid_type gid_type;
	struct wire_gid sgid, dgid;
	uint32_t ifindex;       /* the device (network interface) that the packets leave from */
	uint32_t dest_ifindex;  /* shm: the device of this host that owns dgid */
	uint32_t qpn, dest_qpn; /* ours and theirs; the slot of the destination is dest_qpn >> 16 */
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool gso;               /* udp: the route may carry UDP_SEGMENT bursts */
	bool unacked;           /* nobody acknowledges: on a wire the sender paces its bursts (udp_pace.h) */
	/* raw: the interface that frames leave by, and their MACs; a frame to this host leaves by lo (raw.h) */
	uint32_t frame_ifindex;
	uint8_t frame_to[6], frame_from[6];
};

/*
 * A run that arrived. Everything is borrowed until the sink returns. Over a wire every run is one packet, and run.mtu,
 * which it does not tell, is 0.
 */
struct link_rx {
	struct transport_run run;
	enum link_kind kind;
	enum wire_gid_type gid_type;
	struct wire_gid sgid, dgid; /* the sender's and ours */
	uint32_t ifindex;           /* the device it arrived at; 0 when the link cannot know */
	uint8_t traffic_class, hop_limit;
	uint8_t source_slot;        /* shm only */
};
typedef void link_sink(void *context, const struct link_rx *rx);

/* Why something was not delivered; link/drop.h has the names. Every drop has its counter here. */
enum link_drop {
	LINK_DROP_NOWHERE,      /* sent on a path to nobody */
	LINK_DROP_TRUNCATED,    /* datagram shorter than its headers say */
	LINK_DROP_MALFORMED,    /* headers break the format, unknown opcode */
	LINK_DROP_ICRC,
	LINK_DROP_RING,         /* shm entry that breaks the ring's format: hostile or broken peer, ring closed */
	LINK_DROP_STRAY,        /* a datagram for another slot (GRO merge) that could not be forwarded */
	LINK_DROP_SEND_MTU,     /* EMSGSIZE: path MTU of the route is too small */
	LINK_DROP_SEND_FULL,    /* the socket's send buffer was full for good */
	LINK_DROP_SEND_ERROR,   /* any other send error */
	LINK_DROP_PEER_STALLED, /* UC/UD towards a process that stands still */
	LINK_DROP_FAULT,        /* the fault plan wanted it */
	LINK_DROP_RECEIVE_FULL, /* the kernel's count of what was lost to a full receive buffer or ring */
	LINK_DROP_ADDRESS,      /* raw: a frame for another MAC, VLAN, GID or interface */
	LINK_DROPS
};

struct link_counters {
	_Atomic uint64_t sent_runs[LINK_KINDS], sent_packets[LINK_KINDS], sent_bytes[LINK_KINDS];
	_Atomic uint64_t received_runs[LINK_KINDS], received_packets[LINK_KINDS], received_bytes[LINK_KINDS];
	_Atomic uint64_t icrc_foreign_id; /* accepted with an IP identification that was solved for */
	_Atomic uint64_t drops[LINK_DROPS];
};

/*
 * Hooks for `fault` and `trace`, NULL when unused. Both see each run on its way out (before it is put on the link)
 * and in (before the sink). The path is told in the direction of travel: on the way in sgid is the peer's, and qpn,
 * which packets do not carry, is 0.
 */
enum link_verdict { LINK_PASS, LINK_LOSE, LINK_TWICE };
struct link_hooks {
	enum link_verdict (*judge)(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run);
	void (*observe)(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run);
	void *context;
};

struct link; /* opaque */

struct link_config {
	uint8_t slot;                /* ours */
	int udp_socket;              /* this slot's socket in the 4791 group, borrowed; -1: no wire */
	void *wake_page;             /* struct ipc_wake of this process, mapped shared (src/ipc/pair.h) */
	struct link_counters *counters;
	struct link_hooks hooks;
	bool gso;                    /* may UDP_SEGMENT be used at all */
	/*
	 * A packet socket that hears nothing yet (netdev/packet.h), borrowed; 0 or less: none, and no RoCEv1 on the wire. raw_owns
	 * tells whether the interface has this GID as RoCEv1: called for each frame, under the progress lock.
	 */
	int raw_socket;
	bool (*raw_owns)(void *context, const struct wire_gid *gid, uint32_t ifindex);
	void *raw_owns_context;
	/* this process's wake-up, for what it sends to itself while its progress thread sleeps; 0 or less: none */
	int own_eventfd;
};

/* Heap object; NULL when out of memory. Includes the private ring to ourselves. */
struct link *link_create(const struct link_config *config);
void link_destroy(struct link *link);

/*
 * A pair memfd to `slot` arrived: `pair` is its mapping (IPC_PAIR_BYTES), `low` whether we are the lower slot of the
 * two, `peer_wake` the mapping of the peer's wake page, `peer_eventfd` its wake-up. The link owns all three from now
 * on (munmap, close at detach), also when it fails with BASE_ERR_MALFORMED (header not as expected) or
 * BASE_ERR_NOMEM. An older pair to that slot is detached first.
 */
int link_shm_attach(struct link *link, uint8_t slot, uint64_t generation, void *pair, bool low, void *peer_wake,
		int peer_eventfd);
/* Drains nothing; idempotent. */
void link_shm_detach(struct link *link, uint8_t slot);
bool link_shm_is_attached(const struct link *link, uint8_t slot);
/* The peer's published progress count, for timers that only run while it moves. 0 when not attached. */
uint64_t link_shm_peer_progress(const struct link *link, uint8_t slot);

/*
 * RoCEv1. listen: frames are heard from now on; idempotent. BASE_ERR_PERM: there is no packet socket; BASE_ERR_NOMEM, BASE_ERR_IO,
 * which is logged. group: the interface hears the Ethernet group of this multicast GID, or no longer; counted per GID, and left
 * with the socket. BASE_ERR_PERM, BASE_ERR_INVAL: not a group; BASE_ERR_NODEV, BASE_ERR_NOMEM.
 */
int link_raw_listen(struct link *link);
int link_raw_group(struct link *link, uint32_t ifindex, const struct wire_gid *mgid, bool enter);

/*
 * Room for one run. 0: *room is valid until the next call on this link. BASE_ERR_AGAIN: none now; after a want_room()
 * the slot (shm) or the sockets (udp, raw) will be reported by link_room_take(). BASE_ERR_GONE: never again. LINK_NOWHERE
 * always has room.
 */
int link_reserve(struct link *link, const struct link_path *path, struct transport_room *room);
/* `used` bytes of the room were filled for `run`. Adds ICRCs, counts, publishes (shm) or queues (udp, raw). */
void link_commit(struct link *link, const struct link_path *path, const struct transport_run *run, size_t used);
/* A run that was pulled into the room of a LINK_NOWHERE path is given up, and counted, for this reason. */
void link_give_up(struct link *link, enum link_drop why, const struct transport_run *run);
/* Sends what was queued and rings the doorbells of peers. */
void link_flush(struct link *link);
/* Ask to be told when there is room on this path again (bounded by the peer's reading, or EPOLLOUT). */
void link_want_room(struct link *link, const struct link_path *path);
/*
 * Readable when link_room_take() should be called because a socket that refused data takes it again: for the epoll of
 * whoever sleeps (EPOLLIN). What a full socket left queued is sent by that call, whether somebody wanted room or not.
 * -1: no wire. The link's.
 */
int link_room_fd(const struct link *link);
/*
 * What got room since it was asked for: sets a bit per slot (shm) and *udp (raw, too), clears the others. True if anything.
 * Cheap when nothing is wanted.
 */
bool link_room_take(struct link *link, uint64_t slots[4], bool *udp);

/*
 * Takes up to `budget` runs off all rings that have something, then (if udp) off the socket, then off the ring of frames, which
 * costs no system call (each gets its eighth in any case), and calls the sink for each. Returns how many. The sink may reserve and
 * commit, but not attach, detach or receive. `scan` looks at the tails of all attached rings, not only at those whose doorbell bit
 * is set.
 */
unsigned link_receive(struct link *link, bool udp, bool scan, unsigned budget, link_sink *sink, void *context);
/*
 * From the sink alone, for the LINK_SHM run that it was just given: the run stays at the head of its ring, and all that is
 * behind it waits, until a later link_receive() gave it to the sink again without this call. Each link_receive() does so once. It counts
 * for nothing in the budget, and a kept run is no reason not to sleep: whoever keeps one has a time by which he looks again.
 */
void link_keep(struct link *link);

/*
 * Sleeping: link_sleep_begin() sets the sleeping word, fences and rescans; true: nothing is there, peers will write
 * the wake eventfd; false: work is waiting and the word is cleared again. link_sleep_end() clears it.
 * link_publish_progress() counts this process's progress up.
 */
bool link_sleep_begin(struct link *link);
void link_sleep_end(struct link *link);
void link_publish_progress(struct link *link);

#endif
