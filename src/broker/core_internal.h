/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's state, for core.c (slots, pairs, clients), step.c (messages) and their tests. */
#ifndef BROKER_CORE_INTERNAL_H
#define BROKER_CORE_INTERNAL_H

#include "broker/core.h"

enum broker_slot_state { BROKER_SLOT_FREE, BROKER_SLOT_USED, BROKER_SLOT_AWAITED };

struct broker_slot {
	enum broker_slot_state state;
	bool watched;                           /* ops->process_watch() was called */
	bool resuming;                          /* used, and has not reported all its pairs yet */
	unsigned client;                        /* used */
	int pidfd, wake_page, wake_event, export; /* owned, -1: none */
	uint32_t pid;
	char command[IPC_COMMAND_MAX];
	uint32_t wants[IPC_SLOTS];              /* ids of pair requests that wait for slot i */
};

enum broker_client_stage {
	BROKER_CLIENT_NONE,
	BROKER_CLIENT_NEW,     /* no HELLO yet */
	BROKER_CLIENT_WAITING, /* HELLO held until settled */
	BROKER_CLIENT_READY    /* welcomed: slot 0 is an observer */
};

struct broker_client {
	enum broker_client_stage stage;
	uint8_t slot;
	uint32_t pid; /* by the kernel's word, 0 in another namespace */
	struct ipc_hello hello;
	struct ipc_fds held;
};

struct broker_pair {
	uint8_t low, high;
	bool told[2]; /* the low, the high end has it */
	uint64_t generation;
	int fd;
	struct ipc_pair_header *header;
};

struct broker {
	const struct broker_ops *ops;
	void *context;
	struct broker_identity identity;
	struct broker_registry *registry; /* NULL: not settled */
	bool wire;
	char reason[IPC_REASON_MAX];
	struct broker_slot slots[IPC_SLOTS];
	struct broker_client clients[BROKER_CLIENTS_MAX];
	unsigned client_count, observers;
	struct broker_pair pairs[BROKER_PAIRS_MAX];
	unsigned pair_count;
	uint16_t pair_at[IPC_SLOTS][IPC_SLOTS]; /* [low][high]: index + 1 */
	uint64_t refused_messages, strays, uptime_ns, netdev_generation;
};

/* broker_create() and broker_destroy() in memory of the caller, which is all zero before. */
void broker_init(struct broker *b, const struct broker_ops *ops, void *context, const struct broker_identity *identity);
void broker_end(struct broker *b);
/* step.c calls these. broker_hello() takes fds, broker_pair_report() takes fd on success. */
int broker_hello(struct broker *b, unsigned client, const struct ipc_hello *hello, const struct ipc_fds *fds);
void broker_pair_give(struct broker *b, uint8_t from, uint8_t slot, uint32_t id);
int broker_pair_report(struct broker *b, uint8_t from, const struct ipc_peer *report, int fd);
void broker_resume_done(struct broker *b, uint8_t s);

#endif
