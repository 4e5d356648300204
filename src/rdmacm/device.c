/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Devices, opened when an id or rdma_get_devices() needs them, and kept: ids of the program point into them. */
#include "rdmacm/id.h"
#include "rdmacm/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/cm.h"

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdmacm_device *devices;

static uint8_t depth(int max)
{
	return (uint8_t)(max < 0 ? 0 : max > RDMA_MAX_RESP_RES ? RDMA_MAX_RESP_RES : max);
}

static struct rdmacm_device *device_open(struct ibv_device *ibv)
{
	struct rdmacm_device *device = calloc(1, sizeof(*device));
	struct ibv_device_attr attr;

	if (device == NULL)
		return NULL;
	snprintf(device->name, sizeof(device->name), "%s", ibv_get_device_name(ibv));
	device->verbs = ibv_open_device(ibv);
	if (device->verbs == NULL)
		goto fail;
	device->pd = ibv_alloc_pd(device->verbs);
	if (device->pd == NULL || ibv_query_device(device->verbs, &attr) != 0)
		goto fail;
	device->max_initiator_depth = depth(attr.max_qp_init_rd_atom);
	device->max_responder_resources = depth(attr.max_qp_rd_atom);
	return device;
fail:
	if (device->pd != NULL)
		ibv_dealloc_pd(device->pd);
	if (device->verbs != NULL)
		ibv_close_device(device->verbs);
	free(device);
	return NULL;
}

/* Lock held. NULL name: every device. */
static struct rdmacm_device *devices_find(const char *name)
{
	struct rdmacm_device *device = devices;

	while (device != NULL && strcmp(device->name, name) != 0)
		device = device->next;
	return device;
}

static void devices_open(const char *name)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	for (int i = 0; list != NULL && i < count; i++) {
		const char *each = ibv_get_device_name(list[i]);
		struct rdmacm_device *device, **at = &devices;

		if ((name != NULL && strcmp(each, name) != 0) || devices_find(each) != NULL)
			continue;
		device = device_open(list[i]);
		if (device == NULL)
			continue;
		while (*at != NULL)
			at = &(*at)->next;
		*at = device;
	}
	if (list != NULL)
		ibv_free_device_list(list);
}

int rdmacm_device_get(uint32_t index, struct rdmacm_device **out)
{
	struct rdmacm_device *device;
	struct process *process;
	char name[64];

	if (process_cm_get(&process) != 0 || process_cm_device_name(process, index, name, sizeof(name)) != 0)
		return rdmacm_fail(ENODEV);
	pthread_mutex_lock(&devices_lock);
	device = devices_find(name);
	if (device == NULL) {
		devices_open(name);
		device = devices_find(name);
	}
	pthread_mutex_unlock(&devices_lock);
	if (device == NULL)
		return rdmacm_fail(ENODEV);
	*out = device;
	return 0;
}

struct ibv_xrcd *rdmacm_device_xrcd(struct rdmacm_device *device)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT };

	pthread_mutex_lock(&devices_lock);
	if (device->xrcd == NULL)
		device->xrcd = ibv_open_xrcd(device->verbs, &attr);
	struct ibv_xrcd *xrcd = device->xrcd;
	pthread_mutex_unlock(&devices_lock);
	return xrcd;
}

RDMACM_PUBLIC struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	int count = 0;

	if (num_devices != NULL)
		*num_devices = 0;
	pthread_mutex_lock(&devices_lock);
	devices_open(NULL);
	for (struct rdmacm_device *d = devices; d != NULL; d = d->next)
		count++;
	if (count > 0)
		list = calloc((size_t)count + 1, sizeof(*list));
	count = 0;
	for (struct rdmacm_device *d = devices; d != NULL && list != NULL; d = d->next)
		list[count++] = d->verbs;
	pthread_mutex_unlock(&devices_lock);
	if (list == NULL) {
		errno = count > 0 ? ENOMEM : ENODEV;
		return NULL;
	}
	if (num_devices != NULL)
		*num_devices = count;
	return list;
}

RDMACM_PUBLIC void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
