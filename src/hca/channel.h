/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion channels: a queue of CQs that have an event, and a descriptor that is readable exactly while the queue is not empty.
 *
 * Errors: BASE_ERR_NOMEM (memory, descriptors), BASE_ERR_BUSY (destroy with CQs on it). Threads: any.
 */
#ifndef HCA_CHANNEL_H
#define HCA_CHANNEL_H

struct hca_context;
struct hca_channel; /* opaque */
struct hca_cq;

int hca_channel_create(struct hca_context *context, struct hca_channel **out);
int hca_channel_destroy(struct hca_channel *channel);
int hca_channel_fd(const struct hca_channel *channel);
/*
 * The next event: *cq is the completion queue it belongs to, which now has one more event to acknowledge (hca_cq_events_ack).
 * Blocks unless the descriptor is O_NONBLOCK: then BASE_ERR_AGAIN. BASE_ERR_IO: interrupted by a signal. A cancellation point.
 */
int hca_channel_get(struct hca_channel *channel, struct hca_cq **cq);

#endif
