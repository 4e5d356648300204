/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The broker's decisions, without sockets: a message of a client goes in, messages to clients come out through ops. Fed by the
 * server, by unit tests and by the fuzzer.
 *
 * Slots: free, used by a connected client, or awaited: a process that is alive, or may be, holds it and has not come back yet
 * (after a restart of the broker, or because it did not read what was sent to it). A free slot is given out oldest-freed-first.
 * Numbers for slots' incarnations and pairs' generations come from one rising counter in the registry, so a pair is valid only if
 * it is younger than both its processes.
 *
 * The registry is the memory of slots that outlives the broker (a memfd in the vault). Before it is settled, no slot is given
 * out: clients' HELLOs wait.
 *
 * Descriptors are numbers to the core: those that came with a message are handed over to it, those it sends are borrowed by ops.
 *
 * One thread. Nothing from a client may crash it: a message that breaks the rules ends that client's connection.
 */
#ifndef BROKER_CORE_H
#define BROKER_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/message.h"
#include "ipc/pair.h"
#include "ipc/socket.h"

#define BROKER_CLIENTS_MAX 384u /* connections: 254 processes, observers, and those that wait for an answer */
#define BROKER_OBSERVERS_MAX 64u
#define BROKER_PAIRS_MAX 8192u

#define BROKER_REGISTRY_MAGIC 0x52765373u /* "sSvR" */
#define BROKER_REGISTRY_VERSION 1u

struct broker_registry {
	uint32_t magic, version;
	uint64_t next;     /* the next incarnation or generation, never 0 */
	uint64_t freed;    /* counts frees */
	struct {
		uint64_t incarnation; /* 0: free */
		uint64_t freed_at;
		uint64_t birth;       /* start time of the process, as the kernel counts it; 0 unknown */
		uint32_t pid;         /* 0 unknown */
		uint32_t reserved;
	} slots[IPC_SLOTS];
};

/* A registry without processes; the order of slots starts anywhere. */
void broker_registry_init(struct broker_registry *registry, uint64_t random);
/* What a survivor handed over: is it a registry, with numbers that make sense? Nothing in it is used before. */
bool broker_registry_is_sound(const struct broker_registry *registry);

struct broker_ops {
	/* Never waits, never fails to the core: what cannot be sent is queued. fds borrowed. */
	void (*send)(void *context, unsigned client, const struct ipc_message *message, const struct ipc_fds *fds);
	/* The core has forgotten this client: close after what was sent. */
	void (*disconnect)(void *context, unsigned client);
	/*
	 * Watch for the death of the process: broker_process_gone(slot), until process_unwatch(slot). A descriptor of its /proc
	 * directory (from where pidfd_open is not to be had, as under valgrind) is closed and replaced by a pidfd of process `pid`.
	 * BASE_ERR_INVAL: neither, *pidfd is as it was.
	 */
	int (*process_watch)(void *context, uint8_t slot, int *pidfd, uint32_t pid);
	void (*process_unwatch)(void *context, uint8_t slot);
	/* The start time of a process, 0 unknown. */
	uint64_t (*process_birth)(void *context, uint32_t pid);
	/* A new pair memfd and its mapped header, filled. BASE_ERR_NOMEM. */
	int (*pair_create)(void *context, uint8_t low, uint8_t high, uint64_t generation, int *fd, struct ipc_pair_header **header);
	/*
	 * The header of a memfd that a client reported: BASE_ERR_MALFORMED if it is not that pair. The descriptor stays the core's.
	 */
	int (*pair_map)(void *context, uint8_t low, uint8_t high, uint64_t generation, int fd, struct ipc_pair_header **header);
	void (*pair_unmap)(void *context, struct ipc_pair_header *header);
	void (*fd_close)(void *context, int fd);
	/* A slot is about to be given out: throw away what lies in its socket, undo settings of the last owner. */
	void (*slot_prepare)(void *context, uint8_t slot);
	/* A CM_CALL or CM_ADOPT of the process of this slot. May call broker_slot_send(). */
	void (*cm_message)(void *context, uint8_t slot, const struct ipc_message *message);
	/* How much of it there is, and what came and went for it. */
	void (*cm_stat)(void *context, struct ipc_stat_cm *cm, struct ipc_stat_gsi *gsi);
	/* The process of this slot is gone, and nobody has the slot any more. */
	void (*slot_freed)(void *context, uint8_t slot);
	/* The descriptors of a WELCOME, borrowed. */
	void (*welcome_fds)(void *context, enum ipc_role role, uint8_t slot, struct ipc_fds *out);
	/* A survivor brought the vault and nothing is settled yet; descriptors borrowed. May call broker_settle(). */
	void (*vault_offered)(void *context, const int vault[2]);
};

struct broker_identity {
	uint32_t pid, uid;
	const char *version;
};

struct broker; /* opaque */

/* BASE: NULL when out of memory. */
struct broker *broker_create(const struct broker_ops *ops, void *context, const struct broker_identity *identity);
/* Closes every descriptor and pair it holds; sends nothing. */
void broker_destroy(struct broker *broker);

/*
 * The registry to work in from now on (borrowed until destroy); what it lists becomes awaited. `wire`: 4791 is ours; else reason
 * is the line that says why (copied). Waiting clients get their answers. Once.
 */
void broker_settle(struct broker *broker, struct broker_registry *registry, bool wire, const char *reason);
bool broker_is_settled(const struct broker *broker);

/* A new connection. Its number, or BASE_ERR_NOMEM. */
int broker_client_add(struct broker *broker, uint32_t pid);
/*
 * One message. Takes the descriptors. 0; or BASE_ERR_MALFORMED, BASE_ERR_UNSUPPORTED, BASE_ERR_NOMEM...: the client is forgotten,
 * ops->disconnect was called.
 */
int broker_step(struct broker *broker, unsigned client, const struct ipc_message *message, const struct ipc_fds *fds);
/* Something arrived that is no message: as broker_step() with a bad one. `error` is the decoder's. */
void broker_client_refuse(struct broker *broker, unsigned client, int error);
/* End of file: the process has ended, or has become another program. Its slot is freed. */
void broker_client_gone(struct broker *broker, unsigned client);
/* The client does not read: its connection is given up, its slot awaited. */
void broker_client_suspend(struct broker *broker, unsigned client);
/* The process that holds the slot has died; also for awaited ones. */
void broker_process_gone(struct broker *broker, uint8_t slot);
/* Awaited slots: is it, and whom to look for (0 unknown)? */
bool broker_slot_is_awaited(const struct broker *broker, uint8_t slot, uint32_t *pid, uint64_t *birth);

/* To the process of this slot; lost if it has no connection. */
void broker_slot_send(struct broker *broker, uint8_t slot, const struct ipc_message *message);
void broker_netdev_changed(struct broker *broker, uint64_t generation, uint64_t devices);
/* A datagram that reached slot 0 or another wrong slot. */
void broker_stray(struct broker *broker, const struct ipc_stray *stray);

/* No connection and nobody awaited. */
bool broker_is_idle(const struct broker *broker);
void broker_uptime_set(struct broker *broker, uint64_t uptime_ns);

#endif
