/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which bus addresses are mapped, in which directions: disjoint ascending segments with a count of the mappings that cover them,
 * since ranges may overlap and be mapped more than once.
 *
 * Threads: the caller's lock. Cost: log n for a look-up, n for a change.
 */
#ifndef EFA_BUS_MAP_H
#define EFA_BUS_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct efa_bus_segment {
	uint64_t start, end;
	uint32_t readers, writers; /* mappings to the device, from the device */
};

struct efa_bus_map {
	struct efa_bus_segment *segments;
	uint32_t count, room;
	uint32_t last; /* where the last look-up was answered */
};

void efa_bus_map_init(struct efa_bus_map *map);
void efa_bus_map_fini(struct efa_bus_map *map);
/* BASE_ERR_NOMEM: nothing has changed. [start, end) is not empty. */
int efa_bus_map_add(struct efa_bus_map *map, uint64_t start, uint64_t end, bool readable, bool writable);
/* Takes away what was added with the same arguments. BASE_ERR_NOMEM as above; BASE_ERR_NOENT: it was not mapped. */
int efa_bus_map_remove(struct efa_bus_map *map, uint64_t start, uint64_t end, bool readable, bool writable);
/* Is all of [start, end) mapped so? An empty range is. */
bool efa_bus_map_has(struct efa_bus_map *map, uint64_t start, uint64_t end, bool write);

#endif
