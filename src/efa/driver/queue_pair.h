/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue pair as a program's half of the driver has it: the send queue in the adapter's memory, the receive queue in its own, a
 * doorbell for each. Sizes are rounded as hardware's driver rounds them. Posting fills entries; efa_queue_pair_ring() hands them
 * over, all that were filled at once.
 *
 * Errors of posting: BASE_ERR_INVAL (the state, too many elements, too much inline, an operation it cannot do), BASE_ERR_NOMEM (the
 * queue is full). Threads: the queue's own lock, of whoever owns it; making, changing and destroying under the function's.
 */
#ifndef EFA_DRIVER_QUEUE_PAIR_H
#define EFA_DRIVER_QUEUE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/command.h"
#include "efa/abi/wqe.h"
#include "efa/driver/completion_queue.h"
#include "efa/driver/work_ids.h"

struct efa_queue_pair {
	struct efa_driver *driver;
	struct efa_queue_pairs *pairs;
	struct efa_completion_queue *send_cq, *recv_cq;
	uint32_t handle, state;
	uint16_t qpn;
	uint8_t type;
	/* Sending. */
	uint8_t *llq;
	uint32_t sq_depth, sq_doorbell, max_send_sge, max_inline, max_batch;
	uint16_t sq_filled, sq_rung;
	uint16_t *sq_numbers;      /* of the request in each place: the adapter's memory is only written */
	struct efa_work_ids sends;
	/* Receiving; depth counts descriptors. */
	struct efa_driver_memory rq;
	uint32_t rq_depth, rq_doorbell, max_recv_sge;
	uint16_t rq_filled, rq_rung;
	struct efa_work_ids receives;
};

/* The queue pairs of one function, by number: hardware's numbers index it by their low bits. */
struct efa_queue_pairs {
	struct efa_queue_pair **entries;
	uint32_t mask;
};

int efa_queue_pairs_init(struct efa_queue_pairs *pairs, const struct efa_driver *driver);
void efa_queue_pairs_fini(struct efa_queue_pairs *pairs);
struct efa_queue_pair *efa_queue_pairs_find(const struct efa_queue_pairs *pairs, uint16_t qpn);

struct efa_queue_pair_attr {
	uint8_t type;       /* EFA_QP_UD, EFA_QP_SRD */
	uint8_t sl, flags;
	uint16_t pd, uar;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	struct efa_completion_queue *send_cq, *recv_cq;
};

/* *attr gets the rounded sizes. BASE_ERR_INVAL: more than the adapter has; errors of commands. */
int efa_queue_pair_init(struct efa_queue_pair *qp, struct efa_driver *driver, struct efa_queue_pairs *pairs,
			struct efa_queue_pair_attr *attr);
/* No completion of it is delivered afterwards. Errors of commands: it lives on then. */
int efa_queue_pair_fini(struct efa_queue_pair *qp);
/* Errors of commands. To RESET empties both queues. */
int efa_queue_pair_modify(struct efa_queue_pair *qp, const struct efa_abi_modify_qp *attr);

struct efa_send_work {
	uint64_t wr_id;
	uint8_t op;           /* EFA_WQE_SEND, EFA_WQE_RDMA_READ, EFA_WQE_RDMA_WRITE */
	bool has_imm, is_inline;
	uint16_t ah, dest_qpn;
	uint32_t qkey, imm;   /* imm as the program gave it, in its byte order */
	uint32_t num_sge;     /* inline: sge names what is copied, by address alone */
	const struct efa_abi_sge *sge;
	struct efa_abi_remote remote;
};

int efa_queue_pair_send(struct efa_queue_pair *qp, const struct efa_send_work *work);
int efa_queue_pair_receive(struct efa_queue_pair *qp, uint64_t wr_id, const struct efa_abi_sge *sge, uint32_t num_sge);
/* What was filled since the last time is the adapter's. */
void efa_queue_pair_ring(struct efa_queue_pair *qp);
/* Takes back the sends that were filled and not rung for; the adapter has not seen them. */
void efa_queue_pair_abort(struct efa_queue_pair *qp);
/* For completion queues: the request is over. False: there is none. */
bool efa_queue_pair_complete(struct efa_queue_pair *qp, bool is_send, uint16_t number, uint64_t *wr_id);

/* A store to the doorbell BAR. */
static inline void efa_driver_doorbell(struct efa_driver *driver, uint32_t offset, uint32_t value)
{
	driver->com.function.ops->store(driver->com.function.context, driver->device.db_bar, offset, value);
}

#endif
