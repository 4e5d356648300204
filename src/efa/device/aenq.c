/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/aenq.h"

#include <string.h>

#include "efa/device/device_internal.h"

void efa_aenq_reset(struct efa_aenq *aenq)
{
	memset(aenq, 0, sizeof(*aenq));
}

void efa_aenq_set_caps(struct efa_device *device, uint32_t word)
{
	struct efa_aenq *aenq = &device->aenq;

	aenq->caps = efa_abi_ring_caps_unpack(word);
	aenq->tail = aenq->consumer = 0;
	aenq->ready = efa_is_power(aenq->caps.depth) && aenq->caps.depth <= EFA_AQ_MAX_DEPTH &&
		      aenq->caps.entry_bytes == EFA_AENQ_ENTRY_BYTES && aenq->caps.vector < device->profile.vectors;
	if (!aenq->ready)
		efa_device_fatal(device);
}

void efa_aenq_doorbell(struct efa_device *device, uint32_t value)
{
	struct efa_aenq *aenq = &device->aenq;

	if ((uint16_t)(value - aenq->consumer) > (uint16_t)(aenq->tail - aenq->consumer)) {
		device->stats.bad_stores++;
		return;
	}
	aenq->consumer = (uint16_t)value;
}

void efa_aenq_raise(struct efa_device *device, uint16_t group, uint16_t syndrome)
{
	struct efa_aenq *aenq = &device->aenq;
	struct efa_abi_aenq event = { .group = group, .syndrome = syndrome, .time = device->now };
	uint8_t entry[EFA_AENQ_ENTRY_BYTES];

	if (!aenq->ready || group >= EFA_AENQ_GROUPS || (aenq->enabled & 1u << group) == 0)
		return;
	if ((uint16_t)(aenq->tail - aenq->consumer) >= aenq->caps.depth) {
		device->stats.aenq_dropped++;
		return;
	}
	event.phase = (aenq->tail / aenq->caps.depth & 1) == 0;
	efa_abi_aenq_store(entry, &event);
	if (efa_device_publish(device, aenq->base + (uint64_t)(aenq->tail & (aenq->caps.depth - 1)) * sizeof(entry), entry,
			       sizeof(entry), EFA_AENQ_FLAGS_AT) != 0)
		return;
	aenq->tail++;
	efa_device_interrupt(device, aenq->caps.vector);
}
