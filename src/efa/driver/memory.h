/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that the adapter reaches: pages, zeroed, mapped on the bus. Threads: the function's lock. */
#ifndef EFA_DRIVER_MEMORY_H
#define EFA_DRIVER_MEMORY_H

#include <stdint.h>

#include "efa/bus/bus.h"

enum { EFA_DRIVER_PAGE = 4096 };

struct efa_driver_memory {
	uint8_t *bytes;   /* NULL: none */
	uint64_t bus, len; /* len: whole pages */
	enum efa_bus_direction direction;
};

/* BASE_ERR_NOMEM, BASE_ERR_INVAL (no bytes); *out is without memory then. */
int efa_driver_memory_init(struct efa_driver_memory *out, const struct efa_bus_function *function, uint64_t bytes,
			   enum efa_bus_direction direction);
/* What holds nothing is left alone. */
void efa_driver_memory_fini(struct efa_driver_memory *memory, const struct efa_bus_function *function);

#endif
