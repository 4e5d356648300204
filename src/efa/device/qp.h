/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs. A number is a generation (bits 15:8) and the index (7:0), so that clients may index a table by its low bits and a
 * late message finds nobody; the handle is the index with a longer generation. Queue pair i has the i-th run of LLQ memory: both
 * stay with their UAR until that is given back (efa/device/ids.h).
 *
 * Counters of both queues run freely in 16 bits, as the doorbells do.
 */
#ifndef EFA_DEVICE_QP_H
#define EFA_DEVICE_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/command.h"
#include "efa/device/engine.h"
#include "efa/device/ids.h"

struct efa_device;
struct efa_command;

struct efa_qp {
	bool live, sq_running, sq_stalled; /* stalled: the engine had no room */
	uint8_t type, flags, rnr_retry;
	uint16_t index, generation, qpn, pd, uar, send_sub, recv_sub;
	uint32_t state, qkey, sq_psn, send_cq, recv_cq;
	uint32_t sq_slot, rq_slot;
	uint32_t sq_depth, rq_depth;       /* 0: it has no such queue */
	uint64_t rq_base;
	uint16_t sq_taken, sq_posted, rq_taken, rq_posted;
	/* Descriptors under way: a pool of sq_depth, a list of the free ones that were used before, and those with the engine. */
	struct efa_device_send *sends, *free, *under_way;
	uint32_t sends_fresh, num_under_way;
};

struct efa_qp_table {
	struct efa_qp *entries;
	struct efa_ids ids;
	uint8_t *llq;          /* count runs of llq_bytes */
	uint32_t llq_bytes;
	uint32_t count, live;
};

int efa_qp_table_init(struct efa_qp_table *table, uint32_t count, uint32_t uars, uint32_t llq_bytes);
void efa_qp_table_fini(struct efa_qp_table *table);
/* What was under way is cancelled first. */
void efa_qp_table_reset(struct efa_device *device);

uint8_t efa_qp_create(struct efa_device *device, struct efa_command *c);
uint8_t efa_qp_modify(struct efa_device *device, struct efa_command *c);
uint8_t efa_qp_query(struct efa_device *device, struct efa_command *c);
uint8_t efa_qp_destroy(struct efa_device *device, struct efa_command *c);

/* By number, as a message names it; NULL: nobody. */
struct efa_qp *efa_qp_find(struct efa_device *device, uint32_t qpn);
/* Index and generation in one word, for those who hold on to a queue pair across time. */
uint32_t efa_qp_handle(const struct efa_qp *qp);
struct efa_qp *efa_qp_by_handle(struct efa_device *device, uint32_t handle);
/* To ERR: everything posted is flushed. */
void efa_qp_fail(struct efa_device *device, struct efa_qp *qp);

#endif
