/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The register file. A read is answered within the store that asks for it: the driver spins on the answer with a lock held. A reset
 * is done when it is asked for, and shows as in progress until the driver clears the control register: it polls for both.
 */
#include "efa/abi/bytes.h"
#include "efa/device/device_internal.h"

uint32_t efa_device_register(const struct efa_device *device, uint32_t offset)
{
	switch (offset) {
	case EFA_REG_VERSION:
		return device->profile.version;
	case EFA_REG_CONTROLLER_VERSION:
		return device->profile.controller_version;
	case EFA_REG_CAPS:
		return efa_abi_caps_pack(&device->profile.caps);
	case EFA_REG_DEV_STS:
		return device->registers.status;
	default:
		return 0;
	}
}

static void answer_read(struct efa_device *device, uint32_t value)
{
	uint16_t reg = (uint16_t)(value >> 16);
	uint8_t bytes[EFA_MMIO_ANSWER_BYTES];

	if (device->registers.answer == 0 || efa_device_fault_hits(device, EFA_FAULT_MMIO_SILENT)) {
		device->stats.bad_stores += device->registers.answer == 0;
		return;
	}
	efa_abi_le16_store(bytes, (uint16_t)value);
	efa_abi_le16_store(bytes + 2, efa_device_fault_hits(device, EFA_FAULT_MMIO_WRONG) ? reg ^ 4 : reg);
	efa_abi_le32_store(bytes + 4, efa_device_register(device, reg));
	/* The id is what the driver waits for: an aligned answer is one store, else the id goes last. */
	if ((device->registers.answer & 7) == 0) {
		efa_device_write(device, device->registers.answer, bytes, sizeof(bytes));
	} else if (efa_device_write(device, device->registers.answer + 2, bytes + 2, sizeof(bytes) - 2) == 0) {
		efa_device_write(device, device->registers.answer, bytes, 2);
	}
}

static void control(struct efa_device *device, uint32_t value)
{
	bool was = (device->registers.control & EFA_DEV_CTL_RESET) != 0, is = (value & EFA_DEV_CTL_RESET) != 0;

	if (is && !was) {
		if (efa_device_fault_hits(device, EFA_FAULT_RESET_DEAF))
			return;
		device->stats.resets++;
		device->stats.reset_reason = value >> EFA_DEV_CTL_REASON_SHIFT;
		efa_device_reset(device);
		device->registers.status = EFA_DEV_STS_RESET_IN_PROGRESS;
	} else if (!is && was) {
		if (efa_device_fault_hits(device, EFA_FAULT_RESET_STUCK))
			return;
		device->registers.status = EFA_DEV_STS_READY | EFA_DEV_STS_RESET_FINISHED;
	}
	device->registers.control = value;
}

static void set_low(uint64_t *address, uint32_t value)
{
	*address = (*address & ~0xffffffffull) | value;
}

static void set_high(uint64_t *address, uint32_t value)
{
	*address = (*address & 0xffffffffull) | (uint64_t)value << 32;
}

void efa_register_store(struct efa_device *device, uint64_t offset, uint32_t value)
{
	bool in_reset = (device->registers.status & EFA_DEV_STS_RESET_IN_PROGRESS) != 0;

	if (in_reset && offset != EFA_REG_DEV_CTL && offset != EFA_REG_MMIO_REG_READ && offset != EFA_REG_MMIO_RESP_LO &&
	    offset != EFA_REG_MMIO_RESP_HI) {
		device->stats.bad_stores++;
		return;
	}
	switch (offset) {
	case EFA_REG_AQ_BASE_LO:
		set_low(&device->aq.sq_base, value);
		return;
	case EFA_REG_AQ_BASE_HI:
		set_high(&device->aq.sq_base, value);
		return;
	case EFA_REG_AQ_CAPS:
		efa_aq_set_sq(device, value);
		return;
	case EFA_REG_ACQ_BASE_LO:
		set_low(&device->aq.cq_base, value);
		return;
	case EFA_REG_ACQ_BASE_HI:
		set_high(&device->aq.cq_base, value);
		return;
	case EFA_REG_ACQ_CAPS:
		efa_aq_set_cq(device, value);
		return;
	case EFA_REG_AQ_PROD_DB:
		efa_aq_doorbell(device, value);
		return;
	case EFA_REG_AENQ_CAPS:
		efa_aenq_set_caps(device, value);
		return;
	case EFA_REG_AENQ_BASE_LO:
		set_low(&device->aenq.base, value);
		return;
	case EFA_REG_AENQ_BASE_HI:
		set_high(&device->aenq.base, value);
		return;
	case EFA_REG_AENQ_CONS_DB:
		efa_aenq_doorbell(device, value);
		return;
	case EFA_REG_INTR_MASK:
		device->registers.management_masked = (value & EFA_INTR_MASK_MANAGEMENT) != 0;
		return;
	case EFA_REG_DEV_CTL:
		control(device, value);
		return;
	case EFA_REG_MMIO_REG_READ:
		answer_read(device, value);
		return;
	case EFA_REG_MMIO_RESP_LO:
		set_low(&device->registers.answer, value);
		return;
	case EFA_REG_MMIO_RESP_HI:
		set_high(&device->registers.answer, value);
		return;
	case EFA_REG_EQ_DB:
		efa_eq_doorbell(device, value);
		return;
	default:
		device->stats.bad_stores++;
	}
}
