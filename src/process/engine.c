/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "process/engine.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "link/drop.h"
#include "netdev/packet.h"

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct process_engine *) engine_now; /* written under engine_lock */
static void (*_Atomic listener)(void *context, uint64_t devices);
static void *_Atomic listener_context;

static int pair_arrived(void *context, const struct process_pair *pair)
{
	struct process_engine *engine = context;

	node_lock(engine->node);
	int err = link_shm_attach(engine->link, pair->slot, pair->generation, pair->map, pair->low, pair->peer_wake,
				  pair->peer_eventfd);
	node_unlock(engine->node);
	if (err != 0) {
		base_error("the shared ring to slot %u cannot be used: %s", pair->slot, base_err_text(err));
		return err;
	}
	node_pair_arrived(engine->node, pair->slot);
	return BASE_OK;
}

static void pair_refused(void *context, uint8_t slot, int error)
{
	struct process_engine *engine = context;

	base_explain("no shared ring to slot %u: %s; what is sent there goes nowhere", slot, base_err_text(error));
	node_pair_refused(engine->node, slot);
}

static int pair_ask(void *context, uint8_t slot)
{
	struct process_engine *engine = context;

	return process_pair_ask(engine->process, slot);
}

static void peer_gone(void *context, uint8_t slot, uint64_t generation)
{
	struct process_engine *engine = context;

	node_peer_gone(engine->node, slot);
}

static void netdev_changed(void *context, uint64_t devices)
{
	void (*call)(void *, uint64_t) = atomic_load(&listener);

	if (call != NULL)
		call(atomic_load(&listener_context), devices);
}

static const struct process_events events = {
	.pair_arrived = pair_arrived,
	.pair_refused = pair_refused,
	.peer_gone = peer_gone,
	.netdev_changed = netdev_changed,
};

static int control(void *context)
{
	struct process_engine *engine = context;

	process_control_handle(engine->process);
	return process_control_fd(engine->process);
}

/* fork(2): the engine's lock first, then the progress lock, then (in process) its own. */
static void fork_prepare(void)
{
	pthread_mutex_lock(&engine_lock);
	struct process_engine *engine = atomic_load(&engine_now);
	if (engine != NULL)
		node_fork_prepare(engine->node);
}

static void fork_parent(void)
{
	struct process_engine *engine = atomic_load(&engine_now);

	if (engine != NULL)
		node_fork_parent(engine->node);
	pthread_mutex_unlock(&engine_lock);
}

static void fork_child(void)
{
	struct process_engine *engine = atomic_load(&engine_now);

	/* Inherited contexts keep pointing at the dead engine, so it stays; the child's first get makes its own. */
	if (engine != NULL) {
		node_fork_child(engine->node);
		export_writer_fork_child(engine->export);
	}
	atomic_store(&engine_now, NULL);
	pthread_mutex_unlock(&engine_lock);
}

static const struct process_fork_hooks fork_hooks = { fork_prepare, fork_parent, fork_child };

/* The link's counters, by name, in the export: struct link_counters is nothing but 64-bit counters. */
static int link_counters_create(struct export_writer *export, struct link_counters **out)
{
	enum { COUNT = sizeof(struct link_counters) / sizeof(uint64_t) };
	static const char *const measures[] = { "sent_runs", "sent_packets", "sent_bytes", "received_runs", "received_packets",
						"received_bytes" };
	static const char *const kinds[LINK_KINDS] = { "nowhere", "shm", "udp", "raw" };
	char texts[COUNT][EXPORT_NAME_BYTES];
	const char *names[COUNT];
	_Atomic uint64_t *values;
	unsigned count = 0;

	static_assert(sizeof(measures) / sizeof(measures[0]) * LINK_KINDS + 1 + LINK_DROPS == COUNT, "every counter has a name");
	for (unsigned m = 0; m < sizeof(measures) / sizeof(measures[0]); m++)
		for (unsigned k = 0; k < LINK_KINDS; k++)
			snprintf(texts[count++], EXPORT_NAME_BYTES, "%s_%s", kinds[k], measures[m]);
	snprintf(texts[count++], EXPORT_NAME_BYTES, "icrc_foreign_id");
	for (unsigned d = 0; d < LINK_DROPS; d++)
		snprintf(texts[count++], EXPORT_NAME_BYTES, "drop_%s", link_drop_name((enum link_drop)d));
	for (unsigned i = 0; i < COUNT; i++)
		names[i] = texts[i];
	int err = export_counters_reserve(export, "link", "", names, COUNT, NULL, &values);
	if (err == 0)
		*out = (struct link_counters *)(void *)values;
	return err;
}

static int export_create(struct process_engine *engine, struct link_counters **counters, _Atomic uint64_t **unknown_qpn)
{
	int err = export_writer_create(process_slot(engine->process), &engine->export);

	if (err != 0)
		return err;
	const char *const node_counters[] = { "drop_unknown_qpn" };
	err = link_counters_create(engine->export, counters);
	if (err == 0)
		err = export_counters_reserve(engine->export, "node", "", node_counters, 1, NULL, unknown_qpn);
	if (err != 0) {
		export_writer_destroy(engine->export);
		return err;
	}
	/* Without it `stat` does not see this process; nothing else needs it. */
	if (process_export_set(engine->process, export_writer_fd(engine->export)) != 0)
		base_explain("the broker did not take this process's counters");
	return 0;
}

/*
 * Is this GID one of the interface's, as RoCEv1? Asked for every frame, and every frame of a stream has the same answer, which is
 * kept until the table changes. Under the progress lock.
 */
static bool raw_owns(void *context, const struct wire_gid *gid, uint32_t ifindex)
{
	struct process_engine *engine = context;
	struct process_engine_owned *last = &engine->owned[wire_be32_load(gid->raw + 12) % PROCESS_ENGINE_OWNED];
	uint64_t generation = process_netdev_generation(engine->process);

	if (last->generation == generation && last->ifindex == ifindex && wire_gid_equal(&last->gid, gid))
		return last->is;
	struct netdev_device *device = malloc(sizeof(*device));
	bool is = false;

	if (device == NULL)
		return false;
	for (unsigned i = 0; !is && process_netdev_device(engine->process, i, device) == 0; i++)
		for (unsigned g = 0; !is && g < NETDEV_MAX_GIDS; g++)
			is = device->gids[g].valid && device->gids[g].type == WIRE_GID_ROCE_V1 && device->gids[g].ifindex == ifindex &&
			     wire_gid_equal(&device->gids[g].gid, gid);
	free(device);
	*last = (struct process_engine_owned){ generation, *gid, ifindex, is };
	return is;
}

static int engine_create(struct process_engine **out)
{
	struct process_engine *engine = calloc(1, sizeof(*engine));
	int err = BASE_ERR_NOMEM;

	if (engine == NULL)
		return BASE_ERR_NOMEM;
	/* Without one there is no RoCEv1 on the wire, which is said when somebody asks for it. */
	if (netdev_packet_open(&engine->raw) != 0)
		engine->raw = -1;
	process_fork_hooks_set(&fork_hooks);
	err = process_get(&engine->process);
	if (err != 0)
		goto free_engine;
	struct link_counters *counters;
	_Atomic uint64_t *unknown_qpn;
	err = export_create(engine, &counters, &unknown_qpn);
	if (err != 0)
		goto put_process;

	const struct config *config = process_config(engine->process);
	const struct link_config link_config = {
		.slot = process_slot(engine->process),
		.udp_socket = process_udp_socket(engine->process),
		.wake_page = process_wake_page(engine->process),
		.own_eventfd = process_wake_fd(engine->process),
		.raw_socket = engine->raw,
		.raw_owns = raw_owns,
		.raw_owns_context = engine,
		.counters = counters,
		.gso = config->gso != CONFIG_OFF,
	};
	engine->link = link_create(&link_config);
	if (engine->link == NULL) {
		err = BASE_ERR_NOMEM;
		goto destroy_export;
	}
	const struct node_config node_config = {
		.link = engine->link,
		.slot = process_slot(engine->process),
		.udp_socket = process_udp_socket(engine->process),
		.raw_socket = engine->raw,
		.wake_eventfd = process_wake_fd(engine->process),
		.control_fd = process_control_fd(engine->process),
		.unknown_qpn = unknown_qpn,
		.control = control,
		.control_context = engine,
		.pair_ask = pair_ask,
		.pair_context = engine,
	};
	engine->node = node_create(&node_config);
	if (engine->node == NULL) {
		err = BASE_ERR_NOMEM;
		goto destroy_link;
	}
	process_events_set(engine->process, &events, engine);
	*out = engine;
	return 0;

destroy_link:
	link_destroy(engine->link);
destroy_export:
	export_writer_destroy(engine->export);
put_process:
	process_put(engine->process);
free_engine:
	if (engine->raw >= 0)
		close(engine->raw);
	free(engine);
	return err;
}

int process_engine_get(struct process_engine **out)
{
	struct process_engine *engine = atomic_load_explicit(&engine_now, memory_order_acquire);
	int err = 0;

	if (engine == NULL) {
		int cancel;

		/* Connecting meets cancellation points; nobody may leave with the lock. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		pthread_mutex_lock(&engine_lock);
		engine = atomic_load(&engine_now);
		if (engine == NULL) {
			err = engine_create(&engine);
			if (err == 0)
				atomic_store_explicit(&engine_now, engine, memory_order_release);
		}
		pthread_mutex_unlock(&engine_lock);
		pthread_setcancelstate(cancel, NULL);
	}
	if (err == 0)
		*out = engine;
	return err;
}

void process_engine_listen(void (*changed)(void *context, uint64_t devices), void *context)
{
	atomic_store(&listener_context, context);
	atomic_store(&listener, changed);
}

/*
 * At exit: responses that are still owed leave (50 ms at most), so that a peer's last operation completes. The mappings and the
 * connection go with the process; other threads may still be inside, so nothing is torn down.
 */
__attribute__((destructor)) static void engine_exit(void)
{
	struct process_engine *engine = atomic_load(&engine_now);

	if (engine != NULL)
		node_linger(engine->node);
}
