/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int efa_driver_memory_init(struct efa_driver_memory *out, const struct efa_bus_function *function, uint64_t bytes,
			   enum efa_bus_direction direction)
{
	uint64_t len = (bytes + EFA_DRIVER_PAGE - 1) & ~(uint64_t)(EFA_DRIVER_PAGE - 1);
	int err;

	*out = (struct efa_driver_memory){ .bytes = NULL };
	if (bytes == 0 || len < bytes)
		return BASE_ERR_INVAL;
	out->bytes = aligned_alloc(EFA_DRIVER_PAGE, len);
	if (out->bytes == NULL)
		return BASE_ERR_NOMEM;
	memset(out->bytes, 0, len);
	out->len = len;
	out->direction = direction;
	err = function->ops->map(function->context, out->bytes, len, direction, &out->bus);
	if (err != 0) {
		free(out->bytes);
		out->bytes = NULL;
	}
	return err;
}

void efa_driver_memory_fini(struct efa_driver_memory *memory, const struct efa_bus_function *function)
{
	if (memory->bytes == NULL)
		return;
	function->ops->unmap(function->context, memory->bus, memory->len, memory->direction);
	free(memory->bytes);
	memory->bytes = NULL;
}
