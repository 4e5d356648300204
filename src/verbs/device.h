/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices of this process, for the files of this folder. Thread-safe. */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "netdev/netdev.h"
#include "verbs/context.h"

/* The interface behind the device as it is now. BASE_ERR_NODEV: it is gone. */
int verbs_device_read(struct verbs_device *device, const struct process *process, struct netdev_device *out);
/*
 * A context of the device's adapter in this process, which is made at first use, and anew for an interface that was gone. The engine
 * is the one that it runs on. Errors of process_engine_get() and hca_context_open(), BASE_ERR_NODEV: the interface is gone.
 */
int verbs_device_open(struct verbs_device *device, void *user, struct hca_context **out, struct process_engine **engine);
/* Errors of hca_context_close(). An adapter whose interface is gone goes with its last context. */
int verbs_device_close(struct hca_context *context);

#endif
