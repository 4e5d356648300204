/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The admin queue pair. The doorbell starts work: commands are taken in order, done at once, and answered at once, or later where a
 * fault says so. Whatever is written to the completion ring is followed by an interrupt.
 *
 * Misuse that leaves nothing to answer (a ring that is not there, a doorbell beyond the depth) is fatal: DEV_STS says so, registers
 * and reset live on. Misuse of one command is answered EFA_ADMIN_MALFORMED.
 */
#ifndef EFA_DEVICE_AQ_H
#define EFA_DEVICE_AQ_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/admin.h"
#include "efa/abi/regs.h"

struct efa_device;

enum { EFA_AQ_MAX_DEPTH = 1024, EFA_AQ_HELD = EFA_AQ_DEPTH };

/* An answer that waits for its time. */
struct efa_aq_held {
	uint64_t due;
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES];
};

struct efa_aq {
	uint64_t sq_base, cq_base;
	struct efa_abi_ring_caps sq_caps, cq_caps;
	bool sq_ready, cq_ready; /* their caps were written, and were good */
	uint16_t head, tail;     /* commands taken, answers written */
	struct efa_aq_held held[EFA_AQ_HELD];
	uint32_t num_held;
};

void efa_aq_reset(struct efa_aq *aq);
/* The stores of AQ_CAPS and ACQ_CAPS. */
void efa_aq_set_sq(struct efa_device *device, uint32_t caps);
void efa_aq_set_cq(struct efa_device *device, uint32_t caps);
void efa_aq_doorbell(struct efa_device *device, uint32_t value);
void efa_aq_advance(struct efa_device *device);
uint64_t efa_aq_deadline(const struct efa_aq *aq);

#endif
