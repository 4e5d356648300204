/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lies between an adapter and its driver: 32-bit stores to the adapter's BARs in one direction, DMA by bus address and
 * interrupts in the other. Neither side knows how the other is reached; a back end makes both halves.
 *
 * Bus addresses are opaque: only the back end that gave them out knows what they mean. An adapter never keeps a pointer into the
 * host's memory, and every access is checked against what the driver has mapped.
 *
 * Threads: all calls of one function of the adapter are made under one lock of whoever owns it. interrupt() may be called within
 * a call of the driver; it only takes note.
 */
#ifndef EFA_BUS_BUS_H
#define EFA_BUS_BUS_H

#include <stdint.h>

enum efa_bus_bar { EFA_BAR_REGS = 0, EFA_BAR_LLQ = 2, EFA_BAR_DOORBELL = 4, EFA_BARS = 6 };
enum { EFA_BUS_VECTORS = 32 };

enum efa_bus_direction { EFA_BUS_TO_DEVICE = 1, EFA_BUS_FROM_DEVICE = 2, EFA_BUS_BOTH = 3 };

/* The adapter's view of its host. BASE_ERR_RANGE: not mapped in this direction; BASE_ERR_FAULT: the memory went away. */
struct efa_bus_host_ops {
	int (*read)(void *context, uint64_t addr, void *dst, uint32_t len);
	/* Ascending; what is in the last aligned 8-byte word is stored with release order, as one store if it fills it. */
	int (*write)(void *context, uint64_t addr, const void *src, uint32_t len);
	/* An entry of a ring: all of it, and the byte at flag_at last of all, with release order. */
	int (*publish)(void *context, uint64_t addr, const void *src, uint32_t len, uint32_t flag_at);
	void (*interrupt)(void *context, uint32_t vector);
};

struct efa_bus_host {
	const struct efa_bus_host_ops *ops;
	void *context;
};

/* The adapter as a back end drives it. */
struct efa_bus_device_ops {
	/* An aligned 32-bit store. Any offset of any BAR: what means nothing is ignored and counted. */
	void (*store)(void *context, uint32_t bar, uint64_t offset, uint32_t value);
	/* Memory of the adapter that the host may map (the LLQ BAR); NULL: none there. Valid until the adapter is destroyed. */
	uint8_t *(*memory)(void *context, uint32_t bar, uint64_t offset, uint64_t len);
};

struct efa_bus_device {
	const struct efa_bus_device_ops *ops;
	void *context;
};

/* The driver's view of one function of an adapter. */
struct efa_bus_function_ops {
	void (*store)(void *context, uint32_t bar, uint64_t offset, uint32_t value);
	uint8_t *(*memory)(void *context, uint32_t bar, uint64_t offset, uint64_t len);
	/*
	 * Makes memory reachable by the adapter. The low 21 bits of the bus address are those of `start`, and the bytes are contiguous on
	 * the bus. The same memory may be mapped more than once. BASE_ERR_NOMEM, BASE_ERR_INVAL: an empty or wrapping range.
	 */
	int (*map)(void *context, void *start, uint64_t len, enum efa_bus_direction direction, uint64_t *addr);
	/* What map() was called with, and what it answered. */
	void (*unmap)(void *context, uint64_t addr, uint64_t len, enum efa_bus_direction direction);
	/* The vectors that fired since the last call, as bits; they are taken. */
	uint32_t (*interrupts)(void *context);
};

struct efa_bus_function {
	const struct efa_bus_function_ops *ops;
	void *context;
};

#endif
