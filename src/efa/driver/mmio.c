/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registers: stores, reads without reading, and what is done with them alone: reset and the version. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "efa/abi/bytes.h"
#include "efa/driver/com.h"

#define MMIO_TIMEOUT (50 * BASE_MSEC)
#define MMIO_STEP BASE_USEC
#define RESET_STEP (100 * BASE_MSEC)

enum { VERSION_MIN = 1, CONTROLLER_VERSION_MIN = 1, DMA_WIDTH_MIN = 32, DMA_WIDTH_MAX = 64 };

int efa_com_init(struct efa_com *com, struct efa_bus_function function, struct efa_driver_host host)
{
	memset(com, 0, sizeof(*com));
	com->function = function;
	com->host = host;
	return efa_driver_memory_init(&com->answer, &com->function, EFA_MMIO_ANSWER_BYTES, EFA_BUS_FROM_DEVICE);
}

void efa_com_fini(struct efa_com *com)
{
	efa_com_stop(com);
	efa_driver_memory_fini(&com->answer, &com->function);
}

void efa_com_write(struct efa_com *com, uint16_t reg, uint32_t value)
{
	com->function.ops->store(com->function.context, EFA_BAR_REGS, reg, value);
}

/* A reset makes the adapter forget it. */
static void set_answer(struct efa_com *com)
{
	efa_com_write(com, EFA_REG_MMIO_RESP_HI, (uint32_t)(com->answer.bus >> 32));
	efa_com_write(com, EFA_REG_MMIO_RESP_LO, (uint32_t)com->answer.bus);
}

static uint16_t answered(const struct efa_com *com)
{
	return le16toh(__atomic_load_n((const uint16_t *)(const void *)com->answer.bytes, __ATOMIC_ACQUIRE));
}

uint32_t efa_com_read(struct efa_com *com, uint16_t reg)
{
	uint64_t until = efa_driver_now(&com->host) + MMIO_TIMEOUT;

	com->mmio_seq++;
	efa_abi_le16_store(com->answer.bytes, (uint16_t)(com->mmio_seq + EFA_MMIO_POISON));
	efa_com_write(com, EFA_REG_MMIO_REG_READ, efa_abi_reg_read_pack(com->mmio_seq, reg));
	while (answered(com) != com->mmio_seq) {
		uint64_t now = efa_driver_now(&com->host);

		if (now >= until) {
			com->stats.mmio_timeouts++;
			base_warn("efa: the adapter does not answer for register %#x", reg);
			return EFA_MMIO_BAD;
		}
		efa_driver_wait(&com->host, now + MMIO_STEP);
	}
	if (efa_abi_le16_load(com->answer.bytes + 2) != reg)
		return EFA_MMIO_BAD;
	return efa_abi_le32_load(com->answer.bytes + 4);
}

/* Looks first and waits after, as often as the adapter said that it may take. */
static int await_reset(struct efa_com *com, bool in_progress, uint32_t tries)
{
	for (uint32_t i = 0; i < tries; i++) {
		uint32_t status = efa_com_read(com, EFA_REG_DEV_STS);

		if (status == EFA_MMIO_BAD)
			return BASE_ERR_NODEV;
		if (((status & EFA_DEV_STS_RESET_IN_PROGRESS) != 0) == in_progress)
			return 0;
		for (uint64_t now = efa_driver_now(&com->host), until = now + RESET_STEP; now < until;
		     now = efa_driver_now(&com->host))
			efa_driver_wait(&com->host, until);
	}
	return BASE_ERR_TIMEDOUT;
}

int efa_com_reset(struct efa_com *com, enum efa_abi_reset_reason reason)
{
	uint32_t status, caps, tries;
	int err;

	set_answer(com);
	status = efa_com_read(com, EFA_REG_DEV_STS);
	caps = efa_com_read(com, EFA_REG_CAPS);
	if (status == EFA_MMIO_BAD || caps == EFA_MMIO_BAD)
		return BASE_ERR_NODEV;
	/* One that is in the middle of a reset is let out of it: its driver may have died there. */
	if ((status & (EFA_DEV_STS_READY | EFA_DEV_STS_RESET_IN_PROGRESS)) == 0)
		return BASE_ERR_NODEV;
	tries = efa_abi_caps_unpack(caps).reset_timeout;
	if (tries == 0)
		return BASE_ERR_INVAL;
	com->running = false;
	efa_com_write(com, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET | (uint32_t)reason << EFA_DEV_CTL_REASON_SHIFT);
	set_answer(com);
	err = await_reset(com, true, tries);
	if (err == 0) {
		efa_com_write(com, EFA_REG_DEV_CTL, 0);
		err = await_reset(com, false, tries);
	}
	if (err != 0)
		base_warn("efa: the adapter does not reset (%s)", efa_abi_reset_reason_text(reason));
	return err;
}

int efa_com_check_version(struct efa_com *com)
{
	uint32_t version = efa_com_read(com, EFA_REG_VERSION), controller = efa_com_read(com, EFA_REG_CONTROLLER_VERSION);
	uint32_t caps = efa_com_read(com, EFA_REG_CAPS);

	if (version == EFA_MMIO_BAD || controller == EFA_MMIO_BAD || caps == EFA_MMIO_BAD)
		return BASE_ERR_NODEV;
	if (version < VERSION_MIN || (controller & 0xffffff) < CONTROLLER_VERSION_MIN)
		return BASE_ERR_UNSUPPORTED;
	com->dma_width = efa_abi_caps_unpack(caps).dma_width;
	return com->dma_width < DMA_WIDTH_MIN || com->dma_width > DMA_WIDTH_MAX ? BASE_ERR_INVAL : 0;
}
