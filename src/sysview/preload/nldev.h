/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel answers to rdma(8) about devices and ports: messages of NETLINK_RDMA, client NLDEV, made from the tree. Devices,
 * links and the mode of the system can be asked for; for everything else the answer is EOPNOTSUPP. Lists of resources are empty.
 *
 * Requests are hostile input: what is no request is passed over. Any thread.
 */
#ifndef SYSVIEW_PRELOAD_NLDEV_H
#define SYSVIEW_PRELOAD_NLDEV_H

#include <stddef.h>
#include <stdint.h>

#define NLDEV_MESSAGE_MAX 1024 /* the longest message that is sent */

/* Gets each message, whole; it is gone when the call returns. */
typedef void nldev_send(void *context, const void *message, size_t len);

/* All answers to the requests in `in`, for the socket with this port id. `tree`: as sysview_store() made it. */
void nldev_answer(const char *tree, const void *in, size_t len, uint32_t port_id, nldev_send *send, void *context);

#endif
