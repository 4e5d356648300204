/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Faults of the adapter on purpose, so that a driver can be seen to survive them. A rule applies to the commands of one opcode
 * (or all), after some that are let through, and then so many times.
 */
#ifndef EFA_DEVICE_FAULT_H
#define EFA_DEVICE_FAULT_H

#include <stdint.h>

enum efa_device_fault_kind {
	EFA_FAULT_NONE,
	EFA_FAULT_LOST,         /* the command is done and never answered */
	EFA_FAULT_LATE,         /* answered after `delay`: later commands overtake it */
	EFA_FAULT_WRONG_ID,     /* answered under another command id: some bits are flipped */
	EFA_FAULT_NO_INTERRUPT, /* answered in silence */
	EFA_FAULT_STATUS,       /* not done; answered with `status` */
	EFA_FAULT_HANG,         /* commands are not even taken */
	EFA_FAULT_RESET_DEAF,   /* a reset never begins */
	EFA_FAULT_RESET_STUCK,  /* a reset never ends */
	EFA_FAULT_MMIO_SILENT,  /* register reads are not answered */
	EFA_FAULT_MMIO_WRONG,   /* ... answered for another register */
	EFA_FAULT_KINDS
};

struct efa_device_fault {
	enum efa_device_fault_kind kind;
	uint8_t opcode;  /* 0: any */
	uint8_t status;
	uint32_t skip;   /* let through first */
	uint32_t count;  /* then this many; 0: for ever */
	uint64_t delay;
	uint16_t id_flip; /* 0: such that another of the driver's commands is meant */
};

#endif
