/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A completion queue as a program's half of the driver has it: a ring that it reads by phases, and a doorbell. What belongs to a
 * queue pair that is gone is passed over.
 *
 * Threads: the queue's lock, of whoever owns it; creation and destruction under the function's.
 */
#ifndef EFA_DRIVER_COMPLETION_QUEUE_H
#define EFA_DRIVER_COMPLETION_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/cqe.h"
#include "efa/driver/driver.h"

struct efa_queue_pairs;

enum { EFA_SUB_CQS_MAX = 8 };

struct efa_completion_queue {
	struct efa_driver *driver;
	struct efa_driver_memory ring;
	const struct efa_queue_pairs *pairs; /* by number; borrowed */
	uint32_t depth, entry_bytes, doorbell;
	uint32_t num_sub, next_sub;
	uint32_t taken[EFA_SUB_CQS_MAX];
	uint16_t index, all_taken;           /* all_taken: what the doorbell says */
	uint8_t sn;                          /* events that were taken, modulo 4 */
	bool has_doorbell, has_events;
};

struct efa_completion_queue_attr {
	uint32_t entries;   /* rounded up to a power of two */
	uint16_t uar;
	bool wants_gid;     /* of sources without an address handle */
	bool has_events;
	uint32_t vector;
};

/* One completion, for the program. */
struct efa_completion {
	uint64_t wr_id;
	struct efa_abi_cqe cqe;
	struct efa_queue_pair *qp;
	bool is_send;
};

/* BASE_ERR_INVAL: more entries than there may be; BASE_ERR_UNSUPPORTED: events without event queues; errors of commands. */
int efa_completion_queue_init(struct efa_completion_queue *cq, struct efa_driver *driver, const struct efa_queue_pairs *pairs,
			      const struct efa_completion_queue_attr *attr);
/* BASE_ERR_INVAL: queue pairs still use it; it lives on then. An adapter that is gone has no queues. */
int efa_completion_queue_fini(struct efa_completion_queue *cq);

/* BASE_OK: *out is the next; BASE_ERR_AGAIN: there is none; BASE_ERR_MALFORMED: one that names no request, which is dropped. */
int efa_completion_queue_poll(struct efa_completion_queue *cq, struct efa_completion *out);
/* After polling: the adapter learns how far it has been read. */
void efa_completion_queue_advance(struct efa_completion_queue *cq);
/* Asks for one event, at once if completions wait. BASE_ERR_UNSUPPORTED. */
int efa_completion_queue_arm(struct efa_completion_queue *cq);
/* The program has taken the event. */
void efa_completion_queue_event_taken(struct efa_completion_queue *cq);

#endif
