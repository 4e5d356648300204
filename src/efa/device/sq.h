/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Send queues: descriptors in LLQ memory, taken at the doorbell. Each is copied once, judged, and handed to the engine or completed
 * with what was wrong. Only a descriptor that makes no sense at all (status 2) moves its queue pair to ERR; every other failure is of
 * one work request.
 */
#ifndef EFA_DEVICE_SQ_H
#define EFA_DEVICE_SQ_H

#include <stdint.h>

struct efa_device;
struct efa_qp;

/* posted: how many descriptors there have been, modulo 2^16. */
void efa_sq_doorbell(struct efa_device *device, struct efa_qp *qp, uint16_t posted);
/* Takes what was posted, as far as state and engine allow. */
void efa_sq_run(struct efa_device *device, struct efa_qp *qp);
/* The queue pair is in ERR: everything completes as flushed. */
void efa_sq_flush(struct efa_device *device, struct efa_qp *qp);
/* Everything that uses a handle which its domain no longer has. */
void efa_sq_flush_ah(struct efa_device *device, uint16_t pd, uint16_t ah);
/* Forgets what is under way, without completions. */
void efa_sq_drop(struct efa_device *device, struct efa_qp *qp);

#endif
