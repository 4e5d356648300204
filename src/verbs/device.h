/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices of this process, for the files of this folder. Thread-safe. */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "netdev/netdev.h"
#include "verbs/context.h"

/* The interface behind the device as it is now. BASE_ERR_NODEV: it is gone. */
int verbs_device_read(struct verbs_device *device, const struct process *process, struct netdev_device *out);
/* The adapter of the device in this process, made at first use. Sets device->engine. Errors of process_engine_get(),
 * BASE_ERR_NODEV. */
int verbs_device_start(struct verbs_device *device);

#endif
