/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver of one function of an adapter: probe, what it learned, events, removal, and recovery.
 *
 * Probe goes the way of the kernel's driver, step for step: reset, version, rings, interrupts, features in their order, event
 * groups, event queues, host information. Whatever fails, the adapter is reset with the reason and nothing is left behind.
 *
 * Threads: the function's lock for every call. efa_driver_interrupts() is for whoever learns of an interrupt; a wait of the host
 * (efa/driver/host.h) must end in it, or let another thread call it.
 */
#ifndef EFA_DRIVER_DRIVER_H
#define EFA_DRIVER_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/command.h"
#include "efa/abi/feature.h"
#include "efa/driver/com.h"
#include "efa/driver/memory.h"

enum { EFA_DRIVER_EQS = EFA_BUS_VECTORS - 1 };

struct efa_driver_eq {
	struct efa_driver_memory ring;
	uint32_t depth, consumer;
	uint16_t eqn;
	uint8_t vector;
	bool live;
};

struct efa_driver_events {
	/* A CQ has the event that it was armed for. May be NULL. */
	void (*completion)(void *context, uint16_t cqn);
	void *context;
};

struct efa_driver_stats {
	uint64_t keep_alives;
	uint64_t unhandled;      /* asynchronous events that nobody acts on */
	uint64_t strange_events; /* of event queues, of no type we know */
	uint64_t recoveries;
};

struct efa_driver {
	struct efa_com com;
	struct efa_driver_events events;
	struct efa_abi_device_attr device;
	struct efa_abi_queue_attr queue;
	struct efa_abi_queue_attr_2 queue2;
	struct efa_abi_network_attr network;
	struct efa_abi_event_queue_attr event_queue;
	uint64_t last_keep_alive;
	uint32_t wanted_eqs, num_eqs; /* num_eqs 0: no completion events */
	struct efa_driver_eq eqs[EFA_DRIVER_EQS];
	struct efa_abi_host_info host_info;
	struct efa_driver_stats stats;
};

struct efa_driver_config {
	struct efa_bus_function function;
	struct efa_driver_host host;
	struct efa_driver_events events;
	uint32_t eqs;                       /* how many event queues are wanted: one per processor */
	const struct efa_abi_host_info *info; /* copied; NULL: nothing is told */
};

/*
 * BASE_ERR_TIMEDOUT: it does not reset, or does not answer; BASE_ERR_UNSUPPORTED: a version, feature or event group is missing;
 * BASE_ERR_NODEV, BASE_ERR_INVAL, BASE_ERR_NOMEM. On an error nothing of *driver needs to be undone.
 */
int efa_driver_probe(struct efa_driver *driver, const struct efa_driver_config *config);
/* Objects that were not destroyed are gone with the reset. */
void efa_driver_remove(struct efa_driver *driver, enum efa_abi_reset_reason reason);
/* The admin queue has stopped: begins anew. Every object is gone, on either side. Errors as of probe; it stays stopped then. */
int efa_driver_recover(struct efa_driver *driver);

/* Takes and handles the interrupts that fired. */
void efa_driver_interrupts(struct efa_driver *driver);
/* Which event queue a new CQ should report to; eqs are used in turn. BASE_ERR_UNSUPPORTED: there are none. */
int efa_driver_pick_eq(struct efa_driver *driver, uint32_t vector, uint16_t *eqn);

/* A region of this process's memory. */
struct efa_driver_mr {
	struct efa_abi_reg_mr_result keys;
	uint64_t bus, length;
	enum efa_bus_direction direction;
};

/* perms: EFA_MR_*. Errors of the bus and of commands. */
int efa_driver_reg_mr(struct efa_driver *driver, uint16_t pd, void *start, uint64_t length, uint64_t iova, uint8_t perms,
		      struct efa_driver_mr *out);
/* The memory stays mapped when the adapter does not give it up: then it may still reach it. */
int efa_driver_dereg_mr(struct efa_driver *driver, struct efa_driver_mr *mr);

#endif
