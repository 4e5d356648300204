/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device list. The array belongs to the caller until ibv_free_device_list. */
#include "verbs/symbol.h"

#include <infiniband/verbs.h>

#include <errno.h>
#include <stdlib.h>

#undef ibv_get_device_list

VERBS_PUBLIC struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(1, sizeof(*list));

	if (num_devices != NULL)
		*num_devices = 0;
	if (list == NULL)
		errno = ENOMEM;
	return list;
}

VERBS_PUBLIC void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

VERBS_PUBLIC const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}
