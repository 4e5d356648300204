/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What librdmacm needs of the process besides calls and events. */
#include <stdio.h>

#include "base/err.h"
#include "process/cm.h"
#include "process/engine.h"

int process_cm_get(struct process **out)
{
	struct process_engine *engine;
	int err = process_engine_get(&engine);

	if (err == 0)
		*out = engine->process;
	return -base_err_to_errno(err);
}

int process_cm_device_name(struct process *process, unsigned device, char *name, size_t size)
{
	struct netdev_device row; /* not thread-local: programs that load the library late have little room for that */
	int err = process_netdev_device(process, device, &row);

	if (err == 0)
		snprintf(name, size, "%s", row.name);
	return -base_err_to_errno(err);
}
