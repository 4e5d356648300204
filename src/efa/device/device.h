/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One function of a software Elastic Fabric Adapter, as its driver sees it: registers, admin and event queues, doorbells, rings.
 *
 * Sans-IO: stores of the driver and the time go in; DMA and interrupts leave through efa/bus, messages through the engine. A run is
 * a function of its inputs; randomness comes from the seed.
 *
 * A driver may be hostile: whatever it stores, and whatever its rings hold, the adapter answers with a status or counts it. It
 * reaches no memory but what the bus says is mapped and, in the data path, what was registered.
 *
 * Threads: none of its own; all calls of one adapter under one lock.
 */
#ifndef EFA_DEVICE_DEVICE_H
#define EFA_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/bus/bus.h"
#include "efa/device/engine.h"
#include "efa/device/fault.h"
#include "efa/device/profile.h"
#include "efa/device/stats.h"

struct efa_device; /* opaque */

struct efa_device_config {
	const struct efa_device_profile *profile; /* copied */
	struct efa_bus_host host;
	struct efa_device_engine engine;
	uint8_t gid[16];
	uint64_t seed; /* keys come from it: a secret, but in tests */
};

/* *out on success. BASE_ERR_INVAL: the profile; BASE_ERR_NOMEM. The adapter is as after power-on: ready, no queues. */
int efa_device_create(const struct efa_device_config *config, struct efa_device **out);
void efa_device_destroy(struct efa_device *device);

/* For a back end of the bus. */
struct efa_bus_device efa_device_bus(struct efa_device *device);

/* The time is now `now`: what is due happens. Never goes back. */
void efa_device_advance(struct efa_device *device, uint64_t now);
/* When advance() is due; BASE_NEVER. */
uint64_t efa_device_deadline(const struct efa_device *device);

/* A register as the driver would read it; for tests and tools. */
uint32_t efa_device_register(const struct efa_device *device, uint32_t offset);
/* Replaces the rule there was. */
void efa_device_set_fault(struct efa_device *device, const struct efa_device_fault *fault);
/* Lives as long as the adapter; the engine adds to answered[EFA_STATS_NETWORK] and to tx and rx packets. */
struct efa_device_stats *efa_device_stats(struct efa_device *device);
const struct efa_device_profile *efa_device_profile(const struct efa_device *device);
const uint8_t *efa_device_gid(const struct efa_device *device);
/* Says something on the event ring, if its driver has asked for the group: a fault for tests, news for an owner. */
void efa_device_announce(struct efa_device *device, uint16_t group, uint16_t syndrome);

/* What is in use; all zero when a driver has given everything back. */
struct efa_device_usage {
	uint32_t pds, mrs, cqs, qps, ahs, uars, eqs, extents;
};
struct efa_device_usage efa_device_usage(const struct efa_device *device);

#endif
