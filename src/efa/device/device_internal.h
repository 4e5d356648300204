/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter's inside; for the files of this folder. Objects are declared by the files of their nouns. */
#ifndef EFA_DEVICE_DEVICE_INTERNAL_H
#define EFA_DEVICE_DEVICE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "efa/device/aenq.h"
#include "efa/device/ah.h"
#include "efa/device/aq.h"
#include "efa/device/cq.h"
#include "efa/device/device.h"
#include "efa/device/eq.h"
#include "efa/device/ids.h"
#include "efa/device/mr.h"
#include "efa/device/pd.h"
#include "efa/device/qp.h"
#include "efa/device/uar.h"

struct efa_registers {
	uint64_t answer;          /* where register reads are answered; 0: nowhere yet */
	uint32_t status, control; /* DEV_STS, DEV_CTL */
	bool management_masked;   /* the driver polls */
};

struct efa_device {
	struct efa_device_profile profile;
	struct efa_bus_host host;
	struct efa_device_engine engine;
	uint8_t gid[16];
	struct base_random random;
	uint64_t now, keep_alive_due;
	struct efa_registers registers;
	struct efa_aq aq;
	struct efa_aenq aenq;
	struct efa_device_fault fault;
	uint32_t fault_seen;      /* commands that the rule was asked about */
	struct efa_eq_table eqs;
	struct efa_uar_table uars;
	struct efa_pd_table pds;
	struct efa_mr_table mrs;
	struct efa_cq_table cqs;
	struct efa_qp_table qps;
	struct efa_ah_table ahs;
	struct efa_abi_host_info host_info; /* as the driver told it */
	struct efa_device_stats stats;
};

/* The host's memory; errors are counted. */
int efa_device_read(struct efa_device *device, uint64_t addr, void *dst, uint32_t len);
int efa_device_write(struct efa_device *device, uint64_t addr, const void *src, uint32_t len);
int efa_device_publish(struct efa_device *device, uint64_t addr, const void *entry, uint32_t len, uint32_t flag_at);
/* The management vector, unless it is masked. */
void efa_device_interrupt(struct efa_device *device, uint32_t vector);
/* The driver broke the protocol so that no command can be taken any more: only a reset helps. */
void efa_device_fatal(struct efa_device *device);
/* As after power-on, but for what is counted. */
void efa_device_reset(struct efa_device *device);
/* What the rule in force does to a command: EFA_FAULT_LOST to EFA_FAULT_STATUS, or EFA_FAULT_NONE. */
enum efa_device_fault_kind efa_device_fault_of(struct efa_device *device, uint8_t opcode);
/* Does it do this, which concerns no single command? */
bool efa_device_fault_hits(struct efa_device *device, enum efa_device_fault_kind kind);
/* A store to BAR 0. */
void efa_register_store(struct efa_device *device, uint64_t offset, uint32_t value);

static inline bool efa_is_power(uint32_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

#endif
