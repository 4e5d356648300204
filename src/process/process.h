/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * This process at its broker: connection, slot, the slot's socket, GID tables, pairs of rings with other processes, and fork.
 *
 * There is one per process, counted: the first get connects (starting the broker if need be), the last put disconnects. No
 * thread of its own: whoever makes progress watches process_control_fd() and calls process_control_handle() when it is
 * readable; calls that wait (get, pair_request) do the same for themselves. The descriptor stays the same while brokers come
 * and go: when one dies, handle() connects again, starts a new one if nobody else does, and reports what this process holds.
 *
 * Events are called without a lock of a caller, one at a time and in order, from process_control_handle() or
 * process_pair_request(). They may call everything here except get, put, pair_request and control_handle.
 *
 * After a fork the child's inherited struct is foreign: slot and tables can be read, everything that needs the broker answers
 * BASE_ERR_GONE. process_get() in the child makes a new one with a slot of its own. Pair and wake mappings are not inherited
 * (MADV_DONTFORK).
 *
 * Thread-safe unless noted.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "ipc/pair.h"
#include "netdev/netdev.h"

struct process; /* opaque */

/*
 * Connects within 5 s. BASE_ERR_NODEV: no broker could be reached or started; BASE_ERR_NOMEM: all 254 slots are taken, or no
 * memory or descriptors; BASE_ERR_BUSY: too many descriptors of this user are in flight, for 2 s already;
 * BASE_ERR_UNSUPPORTED: the broker speaks another version. One line on standard error has said why.
 */
int process_get(struct process **out);
void process_put(struct process *process);
/* True in a fork child that inherited it. */
bool process_is_foreign(const struct process *process);

const struct config *process_config(const struct process *process);
uint8_t process_slot(const struct process *process); /* 1..254; does not change during the life of the struct */
/* This slot's socket in the 4791 group, -1 without a wire. Owned by process, the same descriptor until the last put. */
int process_udp_socket(const struct process *process);
/*
 * Can packets leave and reach this host on 4791? If not, *reason (may be NULL) is a line for people; never NULL, valid until
 * the last put.
 */
bool process_wire_available(const struct process *process, const char **reason);

/* A copy of the newest table, no round trip. Never fails: an empty table when nothing was published. */
void process_netdev_read(const struct process *process, struct netdev_table *out);
/* One device or one GID of it, cheaper. BASE_ERR_RANGE: no such device or index. The GID may be invalid (hole). */
int process_netdev_device(const struct process *process, unsigned device, struct netdev_device *out);
int process_netdev_gid(const struct process *process, unsigned device, unsigned index, struct netdev_gid *out);
/* Counts up with each change. One load. */
uint64_t process_netdev_generation(const struct process *process);

/* What peers ring: the page (struct ipc_wake, shared) and the eventfd (non-blocking) behind it. Owned by process. */
struct ipc_wake *process_wake_page(const struct process *process);
int process_wake_fd(const struct process *process);

/*
 * A pair that arrived. Mappings and eventfd are handed over to whoever gets it: munmap (IPC_PAIR_BYTES, IPC_WAKE_BYTES), close.
 */
struct process_pair {
	uint8_t slot; /* the peer's */
	bool low;     /* ours is the lower slot: we write ring 0 and read ring 1 */
	uint64_t generation;
	void *map;
	struct ipc_wake *peer_wake;
	int peer_eventfd;
};

struct process_events {
	/*
	 * Asked for by us or by the peer; once per generation that was taken (0). Handed over, also when it fails: then
	 * pair_refused() follows, and the next ask brings the pair again. A pair to a slot that had one before replaces it.
	 */
	int (*pair_arrived)(void *context, const struct process_pair *pair);
	/*
	 * A process_pair_ask() ended in an error: BASE_ERR_NOENT nobody has this slot, BASE_ERR_NOMEM, BASE_ERR_GONE; or
	 * pair_arrived() did.
	 */
	void (*pair_refused)(void *context, uint8_t slot, int error);
	/* The process behind the slot is gone; `closed` is set in the pair. After this the slot may belong to somebody else. */
	void (*peer_gone)(void *context, uint8_t slot, uint64_t generation);
	/* Device table changed: bit i of `devices` set when device i did. After a broker restart all bits. */
	void (*netdev_changed)(void *context, uint64_t devices);
	/* A datagram for one of our QPs that the kernel gave to another process (borrowed). */
	void (*stray)(void *context, const struct sockaddr_in6 *from, const uint8_t *datagram, size_t len);
	/* For information: nothing has to be done. While the broker is lost pairs cannot be made; requests wait. */
	void (*broker_lost)(void *context);
	void (*broker_restored)(void *context);
};

/* Each member may be NULL. Events before the first call are kept and delivered after it. NULL: keep events from now on. */
void process_events_set(struct process *process, const struct process_events *events, void *context);

/*
 * Waits until this process has a pair with `slot` and pair_arrived() has returned for it (at once when it has one). Not with a
 * lock held that an event takes. BASE_ERR_NOENT: nobody has this slot; BASE_ERR_TIMEDOUT; BASE_ERR_NOMEM; BASE_ERR_INVAL: our
 * own slot or none; BASE_ERR_GONE: foreign.
 */
int process_pair_request(struct process *process, uint8_t slot, uint64_t timeout_ns);
/* Asks and returns: the answer is pair_arrived() or pair_refused(). May be called with any lock held. Errors as above. */
int process_pair_ask(struct process *process, uint8_t slot);
/* Is there a pair to this slot, and not known to be dead? */
bool process_pair_exists(struct process *process, uint8_t slot);

/* Hands a datagram to the process that owns its QPN. Lossy: BASE_ERR_AGAIN when the broker is busy or gone. */
int process_stray_send(struct process *process, const struct sockaddr_in6 *from, const uint8_t *datagram, size_t len);
#define PROCESS_STRAY_MAX 4608u

/* Gives the broker the memfd with this process's exported tables (borrowed: duplicated). It is handed to `softverbs stat`. */
int process_export_set(struct process *process, int memfd);

/* Readable (level) when process_control_handle() has something to do. Never changes. */
int process_control_fd(const struct process *process);
/*
 * Reads what arrived, reconnects when due, calls events. Does not wait for anything but, at times, the start of a broker
 * (milliseconds).
 */
void process_control_handle(struct process *process);

/*
 * Fork. process registers pthread_atfork handlers of its own that call these hooks, so that there is one order: prepare before
 * process locks, parent and child after it unlocks. Set once, by the owner of the node, before the first get; NULL members are
 * skipped.
 */
struct process_fork_hooks {
	void (*prepare)(void);
	void (*parent)(void);
	void (*child)(void);
};
void process_fork_hooks_set(const struct process_fork_hooks *hooks);

#endif
