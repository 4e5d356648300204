/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device list, and the adapter behind each device. The array of a list belongs to the caller until ibv_free_device_list;
 * the devices in it
 * stay for ever, because programs keep pointers to them.
 */
#include "verbs/device.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "dma/guard.h"
#include "hca/limits.h"
#include "hca/profile.h"
#include "verbs/symbol.h"
#include "verbs/sysfs.h"
#include "wire/mtu.h"

#undef ibv_get_device_list

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct verbs_device *devices[NETDEV_MAX_DEVICES]; /* by netdev index at first sight; guarded by devices_lock */
static struct process_engine *memory_engine;             /* whose memory table `memory` is; guarded by devices_lock */
static struct dma_table *memory;
static struct config settings; /* of the last list; guarded by devices_lock */

void verbs_devices_lock(void)
{
	pthread_mutex_lock(&devices_lock);
}

void verbs_devices_unlock(void)
{
	pthread_mutex_unlock(&devices_lock);
}

static void engine_kick(void *engine, struct node_flow *flow) { node_kick(engine, flow); }
static void engine_schedule(void *engine, struct node_flow *flow) { node_schedule(engine, flow); }
static void engine_lock(void *engine) { node_lock(engine); }
static void engine_unlock(void *engine) { node_unlock(engine); }
static bool engine_poll(void *engine) { return node_poll(engine); }
static int engine_flow_add(void *engine, struct node_flow *flow) { return node_flow_add(engine, flow); }
static void engine_flow_remove(void *engine, struct node_flow *flow, bool linger) { node_flow_remove(engine, flow, linger); }
static void engine_expect_wakeups(void *engine) { node_expect_wakeups(engine); }

static int engine_timer_add(void *engine, struct node_flow *timer) { return node_timer_add(engine, timer); }
static void engine_timer_remove(void *engine, struct node_flow *timer) { node_timer_remove(engine, timer); }
static void engine_timer_changed(void *engine, struct node_flow *timer) { node_timer_changed(engine, timer); }

/* The adapter has no clock of its own: it is the one that deadlines are told by. */
static void engine_clock(void *engine, struct hca_stamp *out)
{
	*out = (struct hca_stamp){ .raw = base_clock_now(), .wall = base_clock_wall() };
}

static void engine_flow_path(void *engine, struct node_flow *flow, const struct link_path *path)
{
	node_flow_path(engine, flow, path);
}

static void engine_group_add(void *engine, struct node_flow *groups) { node_group_add(engine, groups); }
static void engine_group_remove(void *engine, struct node_flow *groups) { node_group_remove(engine, groups); }

static const struct hca_engine_ops engine_ops = {
	.kick = engine_kick,
	.schedule = engine_schedule,
	.lock = engine_lock,
	.unlock = engine_unlock,
	.poll = engine_poll,
	.flow_add = engine_flow_add,
	.flow_remove = engine_flow_remove,
	.flow_path = engine_flow_path,
	.timer_add = engine_timer_add,
	.timer_remove = engine_timer_remove,
	.timer_changed = engine_timer_changed,
	.clock = engine_clock,
	.expect_wakeups = engine_expect_wakeups,
	.group_add = engine_group_add,
	.group_remove = engine_group_remove,
};

int verbs_device_read(struct verbs_device *device, const struct process *process, struct netdev_device *out)
{
	int err = process_netdev_device(process, device->index, out);

	/* A table made anew (by a new broker) may have another order. */
	for (unsigned i = 0; (err != 0 || strcmp(out->name, device->ibv.name) != 0) && i < NETDEV_MAX_DEVICES; i++) {
		err = process_netdev_device(process, i, out);
		if (err == 0 && strcmp(out->name, device->ibv.name) == 0)
			device->index = i;
	}
	return err == 0 && strcmp(out->name, device->ibv.name) == 0 ? 0 : BASE_ERR_NODEV;
}

static int resolve_path(void *context, const struct hca_ah_attr *ah, uint32_t dest_qpn, struct link_path *out)
{
	struct verbs_device *device = context;
	struct netdev_device *now = malloc(sizeof(*now));

	if (now == NULL)
		return BASE_ERR_NOMEM;
	int err = verbs_device_read(device, device->engine->process, now);
	free(now);
	if (err != 0)
		return err;
	const struct process_peer peer = {
		.device = device->index,
		.sgid_index = ah->sgid_index,
		.dgid = ah->dgid,
		.dest_qpn = dest_qpn,
		.flow_label = ah->flow_label,
		.traffic_class = ah->traffic_class,
		.hop_limit = ah->hop_limit,
	};
	return process_engine_path(device->engine, &peer, out);
}

static uint32_t interface(void *context)
{
	struct verbs_device *device = context;
	struct netdev_device *now = malloc(sizeof(*now));
	uint32_t ifindex = 0;

	if (now != NULL && verbs_device_read(device, device->engine->process, now) == 0)
		ifindex = now->ifindex;
	free(now);
	return ifindex;
}

/* RoCEv1: the Ethernet group. The IP group is the broker's to join. */
static void group(void *context, uint32_t ifindex, const struct wire_gid *mgid, bool enter)
{
	struct verbs_device *device = context;

	node_lock(device->engine->node);
	int err = link_raw_group(device->engine->link, ifindex, mgid, enter);
	node_unlock(device->engine->node);
	if (enter && err != 0 && err != BASE_ERR_PERM)
		base_explain("%s: the interface does not listen to this Ethernet group: %s", device->ibv.name, base_err_text(err));
}

static const struct hca_device_ops device_ops = { .resolve_path = resolve_path, .interface = interface, .group = group };

static int active_mtu(const struct netdev_device *device)
{
	return wire_mtu_active(device->mtu);
}

/*
 * The interface went, or one with its name is there in its place: what is open is lost for good, and the next open makes an adapter
 * anew. devices_lock held.
 */
static void device_lost(struct verbs_device *device)
{
	struct hca_device *hca = device->hca;

	device->hca = NULL;
	hca_device_lost(hca);
	hca_device_destroy(hca); /* else with its last context */
}

/* Interfaces changed: from the progress thread, without the progress lock. */
static void interfaces_changed(void *context, uint64_t changed)
{
	struct netdev_device *now = malloc(sizeof(*now));

	if (now == NULL)
		return;
	pthread_mutex_lock(&devices_lock);
	for (unsigned i = 0; i < NETDEV_MAX_DEVICES; i++) {
		struct verbs_device *device = devices[i];

		if (device == NULL || device->hca == NULL || device->engine != context)
			continue;
		bool there = verbs_device_read(device, device->engine->process, now) == 0;
		if (there && (changed >> device->index & 1) == 0)
			continue;
		if (!there || now->ifindex != device->ifindex) {
			device_lost(device);
			continue;
		}
		hca_device_port_set(device->hca, now->up, active_mtu(now), now->speed);
		if (now->gid_generation != device->gid_generation)
			hca_device_gids_changed(device->hca);
		device->gid_generation = now->gid_generation;
	}
	pthread_mutex_unlock(&devices_lock);
	free(now);
}

/* devices_lock held. */
static int start_locked(struct verbs_device *device, struct process_engine *engine, struct netdev_device *now)
{
	if (memory_engine != engine) {
		dma_guard_install(); /* its lock is taken here and not in the middle of somebody's fork */
		struct dma_table *table = dma_table_create((struct dma_entry *)(void *)export_writer_mrs(engine->export),
				EXPORT_MRS);

		if (table == NULL)
			return BASE_ERR_NOMEM;
		memory = table; /* of a fork's parent, the old one stays with its contexts */
		memory_engine = engine;
		process_engine_listen(interfaces_changed, engine);
	}
	/* Read behind the start of listening: what changes from here on is heard, and waits for devices_lock. */
	int err = verbs_device_read(device, engine->process, now);

	if (err == 0 && now->ifindex == 0)
		err = BASE_ERR_NODEV;
	if (err != 0)
		return err;
	struct hca_device_config config = {
		.engine = { &engine_ops, engine->node },
		.ops = &device_ops,
		.ops_context = device,
		.memory = memory,
		.export = engine->export,
		.active_mtu = active_mtu(now),
		.port_active = now->up,
		.speed = now->speed,
	};
	snprintf(config.name, sizeof(config.name), "%.31s", device->ibv.name);
	const struct config *set = process_config(engine->process);
	hca_profile_set(set->profile == CONFIG_SPEC);
	config.identity = (struct hca_identity){ .vendor_id = set->vendor_id, .vendor_part_id = set->part_id,
		.node_guid = now->node_guid, .sys_image_guid = now->node_guid };
	static_assert(sizeof(config.identity.fw_ver) == sizeof(set->firmware), "one length");
	memcpy(config.identity.fw_ver, set->firmware, sizeof(set->firmware));
	const struct config_ece ece = config_ece_of(set, device->ibv.name);
	config.ece = (struct hca_ece){ .vendor_id = ece.vendor, .options = ece.options };
	if (ece.vendor == CONFIG_ECE_OURS)
		config.ece = (struct hca_ece){ .vendor_id = HCA_ECE_VENDOR, .options = HCA_ECE_OPTIONS & ece.options };
	struct process_engine *before = device->engine;
	device->engine = engine;
	err = hca_device_create(&config, &device->hca);
	if (err != 0) {
		device->engine = before;
		return err;
	}
	device->ifindex = now->ifindex;
	device->gid_generation = now->gid_generation;
	return 0;
}

int verbs_device_open(struct verbs_device *device, void *user, struct hca_context **out, struct process_engine **engine)
{
	struct netdev_device *now;
	int err = process_engine_get(engine);

	if (err != 0)
		return err;
	now = malloc(sizeof(*now));
	if (now == NULL)
		return BASE_ERR_NOMEM;
	pthread_mutex_lock(&devices_lock);
	/* Whoever opens it now must not get the one before: the notice may be on its way. */
	if (device->hca != NULL && device->engine == *engine &&
	    (verbs_device_read(device, (*engine)->process, now) != 0 || now->ifindex != device->ifindex))
		device_lost(device);
	/* A fork child's inherited adapter belongs to its parent's engine. */
	if (device->hca == NULL || device->engine != *engine)
		err = start_locked(device, *engine, now);
	if (err == 0)
		err = hca_context_open(device->hca, user, out);
	pthread_mutex_unlock(&devices_lock);
	free(now);
	return err;
}

int verbs_device_close(struct hca_context *context)
{
	struct hca_device *hca = hca_context_device(context);
	int err;

	pthread_mutex_lock(&devices_lock);
	err = hca_context_close(context);
	if (err == 0 && hca_device_is_lost(hca))
		hca_device_destroy(hca); /* BASE_ERR_BUSY: it has more contexts */
	pthread_mutex_unlock(&devices_lock);
	return err;
}

/* The device for interface i of the table; NULL when out of memory. devices_lock held. */
static struct verbs_device *find_or_make(const struct netdev_device *netdev, unsigned index)
{
	for (unsigned i = 0; i < NETDEV_MAX_DEVICES; i++)
		if (devices[i] != NULL && strcmp(devices[i]->ibv.name, netdev->name) == 0)
			return devices[i];
	struct verbs_device *device = calloc(1, sizeof(*device));
	if (device == NULL)
		return NULL;
	device->index = index;
	device->ibv.node_type = IBV_NODE_CA;
	device->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->ibv.name, sizeof(device->ibv.name), "%.63s", netdev->name);
	snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%u", index);
	snprintf(device->ibv.dev_path, sizeof(device->ibv.dev_path), "/sys/class/infiniband_verbs/uverbs%u", index);
	snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path), "/sys/class/infiniband/%.63s", netdev->name);
	for (unsigned i = 0; i < NETDEV_MAX_DEVICES; i++) {
		if (devices[i] == NULL) {
			devices[i] = device;
			return device;
		}
	}
	free(device);
	return NULL;
}

/* The list, with the process it holds in front: *list is list[-1]. */
static struct ibv_device **fill_list(struct process *process, const struct netdev_table *table, int *count)
{
	struct ibv_device **list = calloc(table->count + 2, sizeof(*list));
	uint8_t order[NETDEV_MAX_DEVICES];

	*count = 0;
	if (list == NULL)
		return NULL;
	list[0] = (struct ibv_device *)(void *)process;
	pthread_mutex_lock(&devices_lock);
	settings = *process_config(process);
	unsigned listed = netdev_table_order(table, order);
	for (unsigned i = 0; i < listed; i++) {
		const struct netdev_device *netdev = &table->devices[order[i]];
		struct verbs_device *device;

		if (netdev->ifindex == 0 || !config_device_matches(process_config(process), netdev->name))
			continue;
		device = find_or_make(netdev, order[i]);
		if (device == NULL)
			continue;
		device->node_guid = netdev->node_guid;
		list[1 + (*count)++] = &device->ibv;
	}
	pthread_mutex_unlock(&devices_lock);
	return list + 1;
}

static bool describe(const char *ibdev_path, struct verbs_description *out)
{
	bool found = false;

	pthread_mutex_lock(&devices_lock);
	for (unsigned i = 0; i < NETDEV_MAX_DEVICES && !found; i++) {
		const struct verbs_device *device = devices[i];

		if (device == NULL || strcmp(device->ibv.ibdev_path, ibdev_path) != 0)
			continue;
		found = true;
		static_assert(sizeof(out->firmware) == sizeof(settings.firmware), "one length");
		static_assert(sizeof(out->node_desc) == sizeof(settings.node_desc), "one length");
		out->node_guid = device->node_guid;
		memcpy(out->firmware, settings.firmware, sizeof(out->firmware));
		memcpy(out->node_desc, settings.node_desc, sizeof(out->node_desc));
	}
	pthread_mutex_unlock(&devices_lock);
	return found;
}

VERBS_PUBLIC struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct netdev_table *table = malloc(sizeof(*table));
	struct ibv_device **list = NULL;
	struct process *process;
	int count = 0, cancel;

	verbs_fork_prepare_once();
	verbs_sysfs_set(describe);
	/* Connecting to the broker meets cancellation points; nobody may leave with the device lock or half a list. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	int err = table == NULL ? BASE_ERR_NOMEM : process_get(&process);
	if (err == 0) {
		process_netdev_read(process, table);
		list = fill_list(process, table, &count);
		if (list == NULL) {
			err = BASE_ERR_NOMEM;
			process_put(process);
		}
	}
	free(table);
	pthread_setcancelstate(cancel, NULL);
	if (num_devices != NULL)
		*num_devices = count;
	if (err != 0)
		errno = err == BASE_ERR_NODEV ? ENOSYS : base_err_to_errno(err);
	return list;
}

VERBS_PUBLIC void ibv_free_device_list(struct ibv_device **list)
{
	if (list == NULL)
		return;
	process_put((struct process *)(void *)list[-1]);
	free(list - 1);
}

VERBS_PUBLIC const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

VERBS_PUBLIC int ibv_get_device_index(struct ibv_device *device)
{
	return (int)verbs_device_of(device)->index;
}

VERBS_PUBLIC __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(verbs_device_of(device)->node_guid);
}
