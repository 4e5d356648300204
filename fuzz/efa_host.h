/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host of an adapter whose driver is hostile: a block of memory that bus addresses name, and a list of the ranges of it that
 * the adapter may touch now. Anything else it touches ends the run. Accesses outside of the block fail, as those of a driver that
 * took its memory away do; any other may be made to fail.
 */
#ifndef FUZZ_EFA_HOST_H
#define FUZZ_EFA_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/bus/bus.h"
#include "efa/device/device.h"
#include "efa/device/sound.h"

enum { EFA_HOST_BYTES = 1 << 16, EFA_HOST_RANGES = 64 };
#define EFA_HOST_BASE 0x500000000000ull

struct efa_host_range {
	uint64_t start, end;
	bool readable, writable;
};

struct efa_host {
	uint8_t memory[EFA_HOST_BYTES];
	bool guarded;                 /* only what is in the list may be touched; else all of the block */
	struct efa_host_range ranges[EFA_HOST_RANGES];
	uint32_t num_ranges;
	uint32_t fails;               /* accesses to let pass before one fails; 0: none does */
	uint32_t interrupts;
};

static inline uint8_t *efa_host_reach(struct efa_host *h, uint64_t addr, uint32_t len, bool write)
{
	if (h->fails > 0 && --h->fails == 0)
		return NULL;
	if (addr < EFA_HOST_BASE || len > EFA_HOST_BYTES || addr - EFA_HOST_BASE > EFA_HOST_BYTES - len)
		return NULL;
	for (uint32_t i = 0; h->guarded && len > 0; i++) {
		const struct efa_host_range *r = &h->ranges[i];

		if (i == h->num_ranges) {
			fprintf(stderr, "the adapter %s %u bytes at %#llx, which are not its own\n", write ? "writes" : "reads", len,
				(unsigned long long)(addr - EFA_HOST_BASE));
			abort();
		}
		if (addr >= r->start && addr + len <= r->end && (write ? r->writable : r->readable))
			break;
	}
	return h->memory + (addr - EFA_HOST_BASE);
}

static inline int efa_host_read(void *context, uint64_t addr, void *dst, uint32_t len)
{
	const uint8_t *p = efa_host_reach(context, addr, len, false);

	if (p != NULL)
		memcpy(dst, p, len);
	return p != NULL ? 0 : BASE_ERR_RANGE;
}

static inline int efa_host_write(void *context, uint64_t addr, const void *src, uint32_t len)
{
	uint8_t *p = efa_host_reach(context, addr, len, true);

	if (p != NULL)
		memcpy(p, src, len);
	return p != NULL ? 0 : BASE_ERR_RANGE;
}

static inline int efa_host_publish(void *context, uint64_t addr, const void *src, uint32_t len, uint32_t flag_at)
{
	if (flag_at >= len)
		abort();
	return efa_host_write(context, addr, src, len);
}

static inline void efa_host_interrupt(void *context, uint32_t vector)
{
	if (vector >= EFA_BUS_VECTORS)
		abort();
	((struct efa_host *)context)->interrupts++;
}

static const struct efa_bus_host_ops efa_host_ops = {
	.read = efa_host_read, .write = efa_host_write, .publish = efa_host_publish, .interrupt = efa_host_interrupt,
};

static inline void efa_host_allow(struct efa_host *h, uint64_t start, uint64_t len, bool readable, bool writable)
{
	if (h->num_ranges < EFA_HOST_RANGES)
		h->ranges[h->num_ranges++] = (struct efa_host_range){ start, start + len, readable, writable };
}

/* Few of everything, so that limits are met and a run is short. */
static inline struct efa_device_profile efa_host_profile(void)
{
	struct efa_device_profile p = *efa_device_profile_find("full");

	p.queue.max_qp = 6;
	p.queue.max_cq = 5;
	p.queue.max_mr = 8;
	p.queue.max_pd = 4;
	p.queue.max_ah = 4;
	p.queue.max_sq_depth = 16;
	p.queue.max_llq_size = 1024;
	p.events.max_eq = 3;
	p.max_uar = 3;
	p.max_extents = 600;
	return p;
}

static inline void efa_host_check(const struct efa_device *device)
{
	const char *what = efa_device_unsound(device);

	if (what != NULL) {
		fprintf(stderr, "unsound: %s\n", what);
		abort();
	}
}

#endif
