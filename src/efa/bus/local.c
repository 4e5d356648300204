/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/bus/local.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "dma/copy.h"
#include "dma/guard.h"

/* NULL: refused. Nothing of length 0 is refused, and nothing of it is touched. */
static uint8_t *reach(struct efa_bus_local *bus, uint64_t addr, uint32_t len, bool write)
{
	if (addr >= EFA_BUS_LOCAL_BASE && addr + len >= addr && efa_bus_map_has(&bus->map, addr, addr + len, write))
		return (uint8_t *)(uintptr_t)(addr - EFA_BUS_LOCAL_BASE);
	bus->stats.refused++;
	return NULL;
}

static int answer(struct efa_bus_local *bus, int err)
{
	if (err != 0)
		bus->stats.faults++;
	return err;
}

static int host_read(void *context, uint64_t addr, void *dst, uint32_t len)
{
	struct efa_bus_local *bus = context;
	const uint8_t *p = reach(bus, addr, len, false);

	return p == NULL ? BASE_ERR_RANGE : answer(bus, dma_copy_in(dst, p, len));
}

static int host_write(void *context, uint64_t addr, const void *src, uint32_t len)
{
	struct efa_bus_local *bus = context;
	uint8_t *p = reach(bus, addr, len, true);

	return p == NULL ? BASE_ERR_RANGE : answer(bus, dma_copy_out(p, src, len));
}

static int host_publish(void *context, uint64_t addr, const void *src, uint32_t len, uint32_t flag_at)
{
	struct efa_bus_local *bus = context;
	const uint8_t *bytes = src;
	uint8_t *p = reach(bus, addr, len, true);
	int err;

	if (p == NULL)
		return BASE_ERR_RANGE;
	err = dma_copy_out(p + flag_at + 1, bytes + flag_at + 1, len - flag_at - 1);
	if (err == 0)
		err = dma_copy_out(p, bytes, flag_at);
	if (err == 0)
		err = dma_copy_out(p + flag_at, bytes + flag_at, 1);
	return answer(bus, err);
}

static void host_interrupt(void *context, uint32_t vector)
{
	struct efa_bus_local *bus = context;

	bus->stats.interrupts++;
	bus->pending |= 1u << vector;
	if (bus->notify != NULL)
		bus->notify(bus->notify_context, vector);
}

static void function_store(void *context, uint32_t bar, uint64_t offset, uint32_t value)
{
	struct efa_bus_local *bus = context;

	bus->device.ops->store(bus->device.context, bar, offset, value);
}

static uint8_t *function_memory(void *context, uint32_t bar, uint64_t offset, uint64_t len)
{
	struct efa_bus_local *bus = context;

	return bus->device.ops->memory(bus->device.context, bar, offset, len);
}

static int function_map(void *context, void *start, uint64_t len, enum efa_bus_direction direction, uint64_t *addr)
{
	struct efa_bus_local *bus = context;
	uint64_t first = (uintptr_t)start;
	int err;

	if (len == 0 || first + len < first || first + len > EFA_BUS_LOCAL_BASE)
		return BASE_ERR_INVAL;
	first += EFA_BUS_LOCAL_BASE;
	dma_guard_install(); /* as at every registration: faults of what is mapped are ours */
	err = efa_bus_map_add(&bus->map, first, first + len, direction & EFA_BUS_TO_DEVICE, direction & EFA_BUS_FROM_DEVICE);
	if (err == 0)
		*addr = first;
	return err;
}

static void function_unmap(void *context, uint64_t addr, uint64_t len, enum efa_bus_direction direction)
{
	struct efa_bus_local *bus = context;

	/* Without memory for the split the range stays reachable: the copies are guarded, so that is no danger. */
	(void)efa_bus_map_remove(&bus->map, addr, addr + len, direction & EFA_BUS_TO_DEVICE, direction & EFA_BUS_FROM_DEVICE);
}

static uint32_t function_interrupts(void *context)
{
	struct efa_bus_local *bus = context;
	uint32_t fired = bus->pending;

	bus->pending = 0;
	return fired;
}

static const struct efa_bus_host_ops host_ops = {
	.read = host_read, .write = host_write, .publish = host_publish, .interrupt = host_interrupt,
};

static const struct efa_bus_function_ops function_ops = {
	.store = function_store, .memory = function_memory, .map = function_map, .unmap = function_unmap,
	.interrupts = function_interrupts,
};

void efa_bus_local_init(struct efa_bus_local *bus)
{
	memset(bus, 0, sizeof(*bus));
	efa_bus_map_init(&bus->map);
}

void efa_bus_local_fini(struct efa_bus_local *bus)
{
	efa_bus_map_fini(&bus->map);
}

struct efa_bus_host efa_bus_local_host(struct efa_bus_local *bus)
{
	return (struct efa_bus_host){ .ops = &host_ops, .context = bus };
}

void efa_bus_local_attach(struct efa_bus_local *bus, struct efa_bus_device device)
{
	bus->device = device;
}

struct efa_bus_function efa_bus_local_function(struct efa_bus_local *bus)
{
	return (struct efa_bus_function){ .ops = &function_ops, .context = bus };
}
