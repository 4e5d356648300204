/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/aq.h"

#include <string.h>

#include "base/clock.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

void efa_aq_reset(struct efa_aq *aq)
{
	memset(aq, 0, sizeof(*aq));
}

static bool ring_is_good(const struct efa_abi_ring_caps *caps, uint32_t word)
{
	/* The submission ring's entry size has 16 bits: a vector there would be part of it. */
	return efa_is_power(caps->depth) && caps->depth <= EFA_AQ_MAX_DEPTH && (word >> 16 & 0xff) == EFA_ADMIN_ENTRY_BYTES;
}

void efa_aq_set_sq(struct efa_device *device, uint32_t word)
{
	struct efa_aq *aq = &device->aq;

	aq->sq_caps = efa_abi_ring_caps_unpack(word);
	aq->sq_ready = ring_is_good(&aq->sq_caps, word) && word >> 24 == 0;
	aq->head = 0;
	if (!aq->sq_ready)
		efa_device_fatal(device);
}

void efa_aq_set_cq(struct efa_device *device, uint32_t word)
{
	struct efa_aq *aq = &device->aq;

	aq->cq_caps = efa_abi_ring_caps_unpack(word);
	aq->cq_ready = ring_is_good(&aq->cq_caps, word) && aq->cq_caps.vector < device->profile.vectors;
	aq->tail = 0;
	if (!aq->cq_ready)
		efa_device_fatal(device);
}

/* Writes an answer; its phase is set here. False: the ring is not there any more. */
static bool answer(struct efa_device *device, uint8_t *entry)
{
	struct efa_aq *aq = &device->aq;
	uint16_t depth = aq->cq_caps.depth;
	uint64_t at = aq->cq_base + (uint64_t)(aq->tail & (depth - 1)) * EFA_ADMIN_ENTRY_BYTES;

	entry[EFA_AQ_FLAGS_AT] = (aq->tail / depth & 1) == 0 ? EFA_AQ_FLAG_PHASE : 0;
	if (efa_device_publish(device, at, entry, EFA_ADMIN_ENTRY_BYTES, EFA_AQ_FLAGS_AT) != 0) {
		efa_device_fatal(device);
		return false;
	}
	aq->tail++;
	return true;
}

static bool is_held(const struct efa_aq *aq, uint16_t id)
{
	for (uint32_t i = 0; i < aq->num_held; i++) {
		if (efa_abi_acq_head_load(aq->held[i].entry).command_id == id)
			return true;
	}
	return false;
}

/* 0: nothing against it. */
static uint8_t refuse(struct efa_device *device, const struct efa_abi_aq_head *head, uint16_t count)
{
	const struct efa_aq *aq = &device->aq;
	bool phase = (count / aq->sq_caps.depth & 1) == 0;

	if (((head->flags & EFA_AQ_FLAG_PHASE) != 0) == phase && aq->num_held < aq->sq_caps.depth && aq->num_held < EFA_AQ_HELD &&
	    !is_held(aq, head->command_id & EFA_AQ_ID_MASK))
		return 0;
	device->stats.bad_commands++;
	return EFA_ADMIN_MALFORMED;
}

/* Does one command. True: an answer was written that wants an interrupt. */
static bool take(struct efa_device *device, const uint8_t *entry, uint16_t count)
{
	struct efa_aq *aq = &device->aq;
	struct efa_abi_aq_head head = efa_abi_aq_head_load(entry);
	struct efa_abi_acq_head done = { .command_id = head.command_id & EFA_AQ_ID_MASK, .sq_head = aq->head };
	enum efa_device_fault_kind fault = efa_device_fault_of(device, head.opcode);
	uint8_t completion[EFA_ADMIN_ENTRY_BYTES] = { 0 };

	done.status = refuse(device, &head, count);
	if (fault == EFA_FAULT_STATUS)
		done.status = device->fault.status;
	else if (done.status == EFA_ADMIN_OK)
		done.status = efa_command_execute(device, entry, completion, &done.extended_status);
	if (fault == EFA_FAULT_LOST)
		return false;
	if (fault == EFA_FAULT_WRONG_ID)
		done.command_id ^= device->fault.id_flip != 0 ? device->fault.id_flip : EFA_AQ_DEPTH / 2;
	efa_abi_acq_head_store(completion, &done);
	if (fault == EFA_FAULT_LATE && aq->num_held < EFA_AQ_HELD) {
		aq->held[aq->num_held].due = device->now + device->fault.delay;
		memcpy(aq->held[aq->num_held++].entry, completion, sizeof(completion));
		return false;
	}
	return answer(device, completion) && fault != EFA_FAULT_NO_INTERRUPT;
}

void efa_aq_doorbell(struct efa_device *device, uint32_t value)
{
	struct efa_aq *aq = &device->aq;
	bool wants_interrupt = false;
	uint16_t waiting = (uint16_t)(value - aq->head);

	if (!aq->sq_ready || !aq->cq_ready || aq->sq_base == 0 || aq->cq_base == 0 || waiting > aq->sq_caps.depth) {
		efa_device_fatal(device);
		return;
	}
	if (efa_device_fault_hits(device, EFA_FAULT_HANG))
		return;
	for (; waiting > 0 && aq->sq_ready; waiting--) {
		uint16_t count = aq->head;
		uint64_t at = aq->sq_base + (uint64_t)(count & (aq->sq_caps.depth - 1)) * EFA_ADMIN_ENTRY_BYTES;
		uint8_t entry[EFA_ADMIN_ENTRY_BYTES];

		if (efa_device_read(device, at, entry, sizeof(entry)) != 0) {
			efa_device_fatal(device);
			break;
		}
		aq->head++;
		wants_interrupt |= take(device, entry, count);
	}
	if (wants_interrupt)
		efa_device_interrupt(device, aq->cq_caps.vector);
}

void efa_aq_advance(struct efa_device *device)
{
	struct efa_aq *aq = &device->aq;
	bool wrote = false;

	for (uint32_t i = 0; i < aq->num_held && aq->cq_ready;) {
		struct efa_aq_held held = aq->held[i];

		if (held.due > device->now) {
			i++;
			continue;
		}
		memmove(&aq->held[i], &aq->held[i + 1], (aq->num_held - i - 1) * sizeof(held));
		aq->num_held--;
		wrote |= answer(device, held.entry);
	}
	if (wrote)
		efa_device_interrupt(device, aq->cq_caps.vector);
}

uint64_t efa_aq_deadline(const struct efa_aq *aq)
{
	uint64_t first = BASE_NEVER;

	for (uint32_t i = 0; i < aq->num_held; i++)
		first = aq->held[i].due < first ? aq->held[i].due : first;
	return first;
}
