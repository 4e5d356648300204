/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring that the adapter writes: an entry is there when its phase bit is that of the lap, 1 in the first. The bit is read first,
 * with acquire order, then the rest.
 */
#ifndef EFA_DRIVER_RING_H
#define EFA_DRIVER_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* depth: a power of two. False: nothing there yet. */
static inline bool efa_ring_take(const uint8_t *ring, uint32_t depth, uint32_t entry_bytes, uint32_t phase_at, uint32_t count,
				 uint8_t *out)
{
	const uint8_t *entry = ring + (uint64_t)(count & (depth - 1)) * entry_bytes;
	bool phase = (__atomic_load_n(entry + phase_at, __ATOMIC_ACQUIRE) & 1) != 0;

	if (phase != ((count / depth & 1) == 0))
		return false;
	memcpy(out, entry, entry_bytes);
	return true;
}

#endif
