/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of a context. The descriptor is readable exactly while an event is queued. The same event of the same
 * object is queued once until it is taken.
 *
 * Every event taken must be acknowledged: destroying a CQ, QP or SRQ waits for that; events nobody took vanish with their object.
 * Threads: any.
 */
#ifndef HCA_ASYNC_H
#define HCA_ASYNC_H

#include <stdint.h>

struct hca_context;

/* Values of enum ibv_event_type. */
enum hca_async_type {
	HCA_ASYNC_CQ_ERR = 0,
	HCA_ASYNC_QP_FATAL = 1,
	HCA_ASYNC_QP_REQ_ERR = 2,
	HCA_ASYNC_QP_ACCESS_ERR = 3,
	HCA_ASYNC_COMM_EST = 4,
	HCA_ASYNC_SQ_DRAINED = 5,
	HCA_ASYNC_DEVICE_FATAL = 8,
	HCA_ASYNC_PORT_ACTIVE = 9,
	HCA_ASYNC_PORT_ERR = 10,
	HCA_ASYNC_SRQ_ERR = 14,
	HCA_ASYNC_SRQ_LIMIT_REACHED = 15,
	HCA_ASYNC_QP_LAST_WQE_REACHED = 16,
	HCA_ASYNC_GID_CHANGE = 18,
	HCA_ASYNC_TYPES = 19
};

struct hca_async_event {
	enum hca_async_type type;
	void *user;  /* of the QP, CQ or SRQ; of the context for port and device events */
	int port;    /* 1 for port events, else 0 */
	void *token; /* for hca_async_ack(); NULL for port and device events, which need none */
};

int hca_async_fd(const struct hca_context *context);
/* Blocks unless the descriptor is O_NONBLOCK: then BASE_ERR_AGAIN. BASE_ERR_IO: interrupted by a signal. A cancellation point. */
int hca_async_get(struct hca_context *context, struct hca_async_event *out);
/* NULL is allowed. */
void hca_async_ack(void *token);

#endif
