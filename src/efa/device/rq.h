/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receive queues: descriptors in the host's memory, read when a message needs one. A work request is one or more descriptors, from
 * `first` to `last`. What the engine calls of this is in efa/device/engine.h.
 */
#ifndef EFA_DEVICE_RQ_H
#define EFA_DEVICE_RQ_H

#include <stdint.h>

struct efa_device;
struct efa_qp;

/* posted: how many descriptors there have been, modulo 2^16. */
void efa_rq_doorbell(struct efa_device *device, struct efa_qp *qp, uint16_t posted);
/* The queue pair is in ERR: everything posted completes as flushed. */
void efa_rq_flush(struct efa_device *device, struct efa_qp *qp);

#endif
