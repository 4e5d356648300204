/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues: rings in the host, one or more (sub-CQs) in a row, that the adapter writes and never reads. The doorbell says
 * how far the client is, and asks for one event. A client that falls behind by a whole ring loses entries: they are overwritten,
 * which is counted and announced.
 */
#ifndef EFA_DEVICE_CQ_H
#define EFA_DEVICE_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/cqe.h"
#include "efa/device/ids.h"
#include "efa/device/profile.h"

struct efa_device;
struct efa_command;

struct efa_cq {
	uint64_t base;
	uint32_t tail[EFA_MAX_SUB_CQS], written; /* written: to all of them */
	uint32_t references;                     /* queue pairs */
	uint16_t depth, uar, slot, eqn;
	uint16_t consumer;
	uint8_t entry_bytes, num_sub;
	bool live, wants_gid, has_events;
	bool has_consumer, overrun;              /* the doorbell was used; entries were overwritten since */
	bool armed, has_fired;
	uint8_t armed_sn, fired_sn;
};

struct efa_cq_table {
	struct efa_cq *entries;
	struct efa_ids ids;
	uint32_t count, live;
};

int efa_cq_table_init(struct efa_cq_table *table, uint32_t count, uint32_t uars);
void efa_cq_table_fini(struct efa_cq_table *table);
void efa_cq_table_reset(struct efa_cq_table *table);

uint8_t efa_cq_create(struct efa_device *device, struct efa_command *c);
uint8_t efa_cq_destroy(struct efa_device *device, struct efa_command *c);
/* NULL: no such queue. */
struct efa_cq *efa_cq_find(struct efa_device *device, uint32_t index);
void efa_cq_doorbell(struct efa_device *device, struct efa_cq *cq, uint32_t value);
/* Sets the phase. The entry may be written over an unread one. */
void efa_cq_push(struct efa_device *device, struct efa_cq *cq, uint32_t sub, struct efa_abi_cqe *cqe);

#endif
