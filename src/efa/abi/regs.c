/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/regs.h"

#include <assert.h>
#include <stddef.h>

static const char *const names[EFA_REG_END / 4] = {
	[EFA_REG_VERSION / 4] = "VERSION",
	[EFA_REG_CONTROLLER_VERSION / 4] = "CONTROLLER_VERSION",
	[EFA_REG_CAPS / 4] = "CAPS",
	[EFA_REG_AQ_BASE_LO / 4] = "AQ_BASE_LO",
	[EFA_REG_AQ_BASE_HI / 4] = "AQ_BASE_HI",
	[EFA_REG_AQ_CAPS / 4] = "AQ_CAPS",
	[EFA_REG_ACQ_BASE_LO / 4] = "ACQ_BASE_LO",
	[EFA_REG_ACQ_BASE_HI / 4] = "ACQ_BASE_HI",
	[EFA_REG_ACQ_CAPS / 4] = "ACQ_CAPS",
	[EFA_REG_AQ_PROD_DB / 4] = "AQ_PROD_DB",
	[EFA_REG_AENQ_CAPS / 4] = "AENQ_CAPS",
	[EFA_REG_AENQ_BASE_LO / 4] = "AENQ_BASE_LO",
	[EFA_REG_AENQ_BASE_HI / 4] = "AENQ_BASE_HI",
	[EFA_REG_AENQ_CONS_DB / 4] = "AENQ_CONS_DB",
	[EFA_REG_INTR_MASK / 4] = "INTR_MASK",
	[EFA_REG_DEV_CTL / 4] = "DEV_CTL",
	[EFA_REG_DEV_STS / 4] = "DEV_STS",
	[EFA_REG_MMIO_REG_READ / 4] = "MMIO_REG_READ",
	[EFA_REG_MMIO_RESP_LO / 4] = "MMIO_RESP_LO",
	[EFA_REG_MMIO_RESP_HI / 4] = "MMIO_RESP_HI",
	[EFA_REG_EQ_DB / 4] = "EQ_DB",
};

static const char *const reasons[] = {
	"normal", "keep-alive timeout", "admin timeout", "init error", "invalid state", "OS trigger", "shutdown", "user", "generic",
};
static_assert(sizeof(reasons) / sizeof(reasons[0]) == EFA_RESET_REASONS, "each reason has a text");

const char *efa_abi_reg_text(uint32_t offset)
{
	return offset % 4 == 0 && offset < EFA_REG_END ? names[offset / 4] : NULL;
}

const char *efa_abi_reset_reason_text(uint32_t reason)
{
	return reason < EFA_RESET_REASONS ? reasons[reason] : "?";
}
