/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver on the model, in one process, with a clock that moves only when somebody waits. Stores to registers pass through here,
 * so that a test sees the commands in their order.
 */
#ifndef TESTS_EFA_RIG_H
#define TESTS_EFA_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "efa/bus/local.h"
#include "efa/device/fake_fabric.h"
#include "efa/driver/command.h"
#include "efa/driver/driver.h"
#include "efa/driver/page_list.h"

enum { RIG_TRACE = 256, RIG_EQS = 2 };

struct rig {
	struct fabric fabric;
	struct efa_bus_local bus;
	struct efa_bus_function direct;
	struct efa_device *device;
	struct efa_driver driver;
	struct efa_driver_config config;
	uint64_t now;
	void (*on_wait)(struct rig *rig);       /* another thread, as it were */
	uint8_t trace[RIG_TRACE];               /* opcodes */
	uint32_t traced, events;
	uint16_t event_cq;
};

static inline void rig_store(void *context, uint32_t bar, uint64_t offset, uint32_t value)
{
	struct rig *r = context;

	if (bar == EFA_BAR_REGS && offset == EFA_REG_AQ_PROD_DB && r->traced < RIG_TRACE && r->driver.com.sq.bytes != NULL)
		r->trace[r->traced++] = r->driver.com.sq.bytes[((value - 1) & (EFA_AQ_DEPTH - 1)) * EFA_ADMIN_ENTRY_BYTES + 2];
	r->direct.ops->store(r->direct.context, bar, offset, value);
}

static inline uint8_t *rig_memory(void *context, uint32_t bar, uint64_t offset, uint64_t len)
{
	struct rig *r = context;

	return r->direct.ops->memory(r->direct.context, bar, offset, len);
}

static inline int rig_map(void *context, void *start, uint64_t len, enum efa_bus_direction direction, uint64_t *addr)
{
	struct rig *r = context;

	return r->direct.ops->map(r->direct.context, start, len, direction, addr);
}

static inline void rig_unmap(void *context, uint64_t addr, uint64_t len, enum efa_bus_direction direction)
{
	struct rig *r = context;

	r->direct.ops->unmap(r->direct.context, addr, len, direction);
}

static inline uint32_t rig_interrupts(void *context)
{
	struct rig *r = context;

	return r->direct.ops->interrupts(r->direct.context);
}

static inline uint64_t rig_now(void *context)
{
	return ((struct rig *)context)->now;
}

/* Time passes: to what the adapter has to do next, or to the end. */
static inline void rig_wait(void *context, uint64_t until)
{
	struct rig *r = context;
	uint64_t next = efa_device_deadline(r->device);
	void (*on_wait)(struct rig *rig) = r->on_wait;

	r->on_wait = NULL;
	if (on_wait != NULL)
		on_wait(r);
	if (r->bus.pending == 0) {
		next = next < until ? next : until;
		r->now = next > r->now ? next : r->now;
		efa_device_advance(r->device, r->now);
	}
	efa_driver_interrupts(&r->driver);
}

static inline void rig_completion(void *context, uint16_t cqn)
{
	struct rig *r = context;

	r->events++;
	r->event_cq = cqn;
}

static inline void rig_init(struct rig *r, const struct efa_device_profile *profile)
{
	static const struct efa_bus_function_ops function = { .store = rig_store, .memory = rig_memory, .map = rig_map,
							      .unmap = rig_unmap, .interrupts = rig_interrupts };
	static const struct efa_driver_host_ops host = { .now = rig_now, .wait = rig_wait };
	struct efa_device_config config = { .profile = profile, .gid = { 0xfe, 0x80, [15] = 1 }, .seed = 1 };

	memset(r, 0, sizeof(*r));
	fabric_init(&r->fabric);
	efa_bus_local_init(&r->bus);
	config.host = efa_bus_local_host(&r->bus);
	config.engine = fabric_engine(&r->fabric);
	assert_int_equal(efa_device_create(&config, &r->device), 0);
	fabric_attach(config.engine, r->device);
	efa_bus_local_attach(&r->bus, efa_device_bus(r->device));
	r->direct = efa_bus_local_function(&r->bus);
	r->config = (struct efa_driver_config){ .function = { &function, r }, .host = { &host, r }, .eqs = RIG_EQS,
						.events = { rig_completion, r } };
}

static inline void rig_fini(struct rig *r)
{
	assert_int_equal(r->bus.map.count, 0); /* nothing stays mapped */
	efa_device_destroy(r->device);
	efa_bus_local_fini(&r->bus);
}

static inline void rig_fault(struct rig *r, enum efa_device_fault_kind kind, uint8_t opcode, uint32_t count)
{
	struct efa_device_fault fault = { .kind = kind, .opcode = opcode, .count = count };

	efa_device_set_fault(r->device, &fault);
}

#endif
