/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues: a ring in the host, one vector each. There is no consumer index; each CQ has at most one event that was not armed
 * again, and a queue is deep enough for all CQs, so that no event is overwritten unread. An event for a queue that is not armed is
 * written, and its interrupt fires when the queue is armed.
 */
#ifndef EFA_DEVICE_EQ_H
#define EFA_DEVICE_EQ_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/device/ids.h"

struct efa_device;
struct efa_command;

struct efa_eq {
	uint64_t base;
	uint32_t tail, references; /* references: CQs that report here */
	uint16_t depth;
	uint8_t vector;
	bool live, armed, owes;    /* owes: an interrupt */
};

struct efa_eq_table {
	struct efa_eq *entries;
	struct efa_ids ids;
	uint32_t count, live;
};

int efa_eq_table_init(struct efa_eq_table *table, uint32_t count);
void efa_eq_table_fini(struct efa_eq_table *table);
void efa_eq_table_reset(struct efa_eq_table *table);

uint8_t efa_eq_create(struct efa_device *device, struct efa_command *c);
uint8_t efa_eq_destroy(struct efa_device *device, struct efa_command *c);
/* The store of EQ_DB. */
void efa_eq_doorbell(struct efa_device *device, uint32_t value);
/* NULL: no such queue. */
struct efa_eq *efa_eq_find(struct efa_device *device, uint32_t eqn);
void efa_eq_raise(struct efa_device *device, struct efa_eq *eq, uint16_t cqn);

#endif
