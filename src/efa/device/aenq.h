/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ring of asynchronous events: groups that the driver has asked for, never more than it has room for. */
#ifndef EFA_DEVICE_AENQ_H
#define EFA_DEVICE_AENQ_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/event.h"
#include "efa/abi/regs.h"

struct efa_device;

struct efa_aenq {
	uint64_t base;
	struct efa_abi_ring_caps caps;
	bool ready;
	uint16_t tail, consumer; /* free-running */
	uint32_t enabled;        /* 1 << group */
};

void efa_aenq_reset(struct efa_aenq *aenq);
void efa_aenq_set_caps(struct efa_device *device, uint32_t word);
void efa_aenq_doorbell(struct efa_device *device, uint32_t value);
/* Dropped and counted when there is no room; nothing when nobody asked for the group. */
void efa_aenq_raise(struct efa_device *device, uint16_t group, uint16_t syndrome);

#endif
