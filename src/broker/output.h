/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a client has not read yet: a bounded queue of encoded messages with copies of their descriptors. One thread.
 */
#ifndef BROKER_OUTPUT_H
#define BROKER_OUTPUT_H

#include <stdbool.h>

#include "ipc/socket.h"

#define BROKER_OUTPUT_MAX 512u     /* messages */
/* Of connection management: a listener with a full backlog that is stopped for a while loses none of its requests. */
#define BROKER_OUTPUT_CM_MAX 8192u

struct broker_output {
	struct broker_output_entry *first, *last;
	unsigned count;
};

/*
 * Sends, or queues behind what is queued. fds are borrowed. BASE_ERR_NOMEM: the queue is full or memory or descriptors are;
 * BASE_ERR_GONE: the other end is closed.
 */
int broker_output_send(struct broker_output *output, int fd, const struct ipc_message *message, const struct ipc_fds *fds);
/* BASE_OK: all is sent; BASE_ERR_AGAIN: not yet; BASE_ERR_GONE. */
int broker_output_flush(struct broker_output *output, int fd);
bool broker_output_is_empty(const struct broker_output *output);
void broker_output_clear(struct broker_output *output);

#endif
