/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The back end in which adapter and driver are one process. A bus address is the address in this process moved by a constant, so
 * that neither side can take one for the other: the sum is no address that a processor would follow, and an address that was not
 * mapped is refused. Interrupts are bits that the driver takes; `notify` wakes it, if somebody sleeps.
 *
 * Threads: see efa/bus/bus.h.
 */
#ifndef EFA_BUS_LOCAL_H
#define EFA_BUS_LOCAL_H

#include "efa/bus/bus.h"
#include "efa/bus/map.h"

#define EFA_BUS_LOCAL_BASE (1ull << 55)
enum { EFA_BUS_LOCAL_WIDTH = 56 }; /* bits of its bus addresses */

struct efa_bus_local_stats {
	uint64_t refused; /* DMA of the adapter to what is not mapped */
	uint64_t faults;  /* ... to mapped memory that went away */
	uint64_t interrupts;
};

struct efa_bus_local {
	struct efa_bus_map map;
	struct efa_bus_device device;
	uint32_t pending; /* vectors that fired */
	struct efa_bus_local_stats stats;
	void (*notify)(void *context, uint32_t vector); /* may be NULL; takes note and returns */
	void *notify_context;
};

void efa_bus_local_init(struct efa_bus_local *bus);
void efa_bus_local_fini(struct efa_bus_local *bus);
/* For the adapter, which is made first; then it is attached. */
struct efa_bus_host efa_bus_local_host(struct efa_bus_local *bus);
void efa_bus_local_attach(struct efa_bus_local *bus, struct efa_bus_device device);
/* For the driver. */
struct efa_bus_function efa_bus_local_function(struct efa_bus_local *bus);

#endif
