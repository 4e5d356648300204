/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The register file of BAR 0: offsets, fields, and the words that pack several of them. Every access is an aligned 32-bit store
 * of the driver; it reads by asking for a DMA write of the value (REG_READ, "readless").
 */
#ifndef EFA_ABI_REGS_H
#define EFA_ABI_REGS_H

#include <stdbool.h>
#include <stdint.h>

enum efa_abi_reg {
	EFA_REG_VERSION = 0x00,            /* 7:0 minor, 15:8 major */
	EFA_REG_CONTROLLER_VERSION = 0x04, /* 7:0 sub-minor, 15:8 minor, 23:16 major, 31:24 implementation */
	EFA_REG_CAPS = 0x08,
	EFA_REG_AQ_BASE_LO = 0x10,
	EFA_REG_AQ_BASE_HI = 0x14,
	EFA_REG_AQ_CAPS = 0x18,
	EFA_REG_ACQ_BASE_LO = 0x20,
	EFA_REG_ACQ_BASE_HI = 0x24,
	EFA_REG_ACQ_CAPS = 0x28,
	EFA_REG_AQ_PROD_DB = 0x2c,
	EFA_REG_AENQ_CAPS = 0x34,
	EFA_REG_AENQ_BASE_LO = 0x38,
	EFA_REG_AENQ_BASE_HI = 0x3c,
	EFA_REG_AENQ_CONS_DB = 0x40,
	EFA_REG_INTR_MASK = 0x4c,
	EFA_REG_DEV_CTL = 0x54,
	EFA_REG_DEV_STS = 0x58,
	EFA_REG_MMIO_REG_READ = 0x5c,
	EFA_REG_MMIO_RESP_LO = 0x60,
	EFA_REG_MMIO_RESP_HI = 0x64,
	EFA_REG_EQ_DB = 0x68,
	EFA_REG_END = 0x6c
};

enum {
	EFA_INTR_MASK_MANAGEMENT = 1u << 0, /* set: the driver polls */
	EFA_DEV_CTL_RESET = 1u << 0,
	EFA_DEV_CTL_AQ_RESTART = 1u << 1,   /* no driver uses it */
	EFA_DEV_CTL_REASON_SHIFT = 28,
	EFA_DEV_STS_READY = 1u << 0,
	EFA_DEV_STS_RESET_IN_PROGRESS = 1u << 3,
	EFA_DEV_STS_RESET_FINISHED = 1u << 4,
	EFA_DEV_STS_FATAL = 1u << 5,
};
#define EFA_EQ_DB_ARM (1u << 31)

enum efa_abi_reset_reason {
	EFA_RESET_NORMAL,
	EFA_RESET_KEEP_ALIVE,
	EFA_RESET_ADMIN_TIMEOUT,
	EFA_RESET_INIT_ERROR,
	EFA_RESET_INVALID_STATE,
	EFA_RESET_OS_TRIGGER,
	EFA_RESET_SHUTDOWN,
	EFA_RESET_USER,
	EFA_RESET_GENERIC,
	EFA_RESET_REASONS
};

/* CAPS. Timeouts in units of 100 ms; an admin timeout of 0 means 30 s, a reset timeout of 0 that reset cannot be done. */
struct efa_abi_caps {
	bool contiguous_queues;
	uint8_t reset_timeout; /* 5 bits */
	uint8_t dma_width;     /* bits of a bus address */
	uint8_t admin_timeout; /* 4 bits */
};

static inline uint32_t efa_abi_caps_pack(const struct efa_abi_caps *c)
{
	return (c->contiguous_queues ? 1u : 0u) | (c->reset_timeout & 0x1fu) << 1 | (uint32_t)c->dma_width << 8 |
	       (c->admin_timeout & 0xfu) << 16;
}

static inline struct efa_abi_caps efa_abi_caps_unpack(uint32_t word)
{
	return (struct efa_abi_caps){ .contiguous_queues = (word & 1) != 0, .reset_timeout = word >> 1 & 0x1f,
				      .dma_width = word >> 8 & 0xff, .admin_timeout = word >> 16 & 0xf };
}

/* AQ_CAPS, ACQ_CAPS, AENQ_CAPS: the vector is not the AQ's, whose entry size has 16 bits. */
struct efa_abi_ring_caps {
	uint16_t depth;
	uint8_t entry_bytes, vector;
};

static inline uint32_t efa_abi_ring_caps_pack(const struct efa_abi_ring_caps *c)
{
	return c->depth | (uint32_t)c->entry_bytes << 16 | (uint32_t)c->vector << 24;
}

static inline struct efa_abi_ring_caps efa_abi_ring_caps_unpack(uint32_t word)
{
	return (struct efa_abi_ring_caps){ .depth = word & 0xffff, .entry_bytes = word >> 16 & 0xff, .vector = word >> 24 };
}

/* MMIO_REG_READ. */
static inline uint32_t efa_abi_reg_read_pack(uint16_t req_id, uint16_t reg)
{
	return req_id | (uint32_t)reg << 16;
}

/* The answer in memory: u16 req_id, u16 register, u32 value. req_id becomes visible last. */
enum { EFA_MMIO_ANSWER_BYTES = 8, EFA_MMIO_POISON = 0x9a };
#define EFA_MMIO_BAD 0xffffffffu

/* "DEV_CTL", ...; NULL where there is no register. */
const char *efa_abi_reg_text(uint32_t offset);
const char *efa_abi_reset_reason_text(uint32_t reason);

#endif
