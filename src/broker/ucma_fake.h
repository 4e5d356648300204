/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A world for ucma without sockets and clocks: one host with a loopback device, clients that are slots, a wire that swallows. For
 * ucma_test.c and the fuzz target; defines everything static, so include it once per program.
 *
 * It aborts when a message goes to no slot, is longer than a client takes, or when the engine is no longer sound.
 */
#ifndef BROKER_UCMA_FAKE_H
#define BROKER_UCMA_FAKE_H

#include "broker/ucma_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define UCMA_FAKE_SLOTS 4 /* 1..3 are clients */
#define UCMA_FAKE_EVENTS 64
#define UCMA_FAKE_KEPT 64
#define UCMA_FAKE_CHECK(what) do { if (!(what)) { fprintf(stderr, "ucma_fake: %s\n", #what); abort(); } } while (0)

struct ucma_fake_kept {
	uint8_t slot;
	uint32_t id, len; /* len 0: nothing */
	uint8_t bytes[IPC_CM_MAX];
};

struct ucma_fake {
	struct broker_ucma *u;
	uint64_t now;
	bool answered;
	uint32_t status, answer_len;
	_Alignas(8) uint8_t answer[IPC_CM_MAX];
	struct rdma_ucm_event_resp events[UCMA_FAKE_SLOTS][UCMA_FAKE_EVENTS];
	unsigned event_count[UCMA_FAKE_SLOTS]; /* the oldest are overwritten */
	unsigned event_read[UCMA_FAKE_SLOTS];
	struct ucma_fake_kept kept[UCMA_FAKE_KEPT];
	unsigned transmitted;
	int neighbour; /* what is known of the next hop */
	struct cm_send last; /* that was transmitted */
	struct netdev_table table;
};

static void ucma_fake_keep(struct ucma_fake *f, uint8_t slot, const struct ipc_cm *cm)
{
	struct ucma_fake_kept *at = NULL;

	for (unsigned i = 0; i < UCMA_FAKE_KEPT; i++) {
		struct ucma_fake_kept *k = &f->kept[i];

		if (k->len > 0 && k->slot == slot && k->id == cm->id) {
			at = k;
			break;
		}
		if (k->len == 0 && at == NULL)
			at = k;
	}
	if (at == NULL)
		return;
	at->slot = slot;
	at->id = cm->id;
	at->len = cm->len;
	if (cm->len > 0)
		memcpy(at->bytes, cm->bytes, cm->len);
}

static void ucma_fake_send(void *context, uint8_t slot, const struct ipc_message *message)
{
	struct ucma_fake *f = context;
	const struct ipc_cm *cm = &message->cm;

	UCMA_FAKE_CHECK(slot >= 1 && slot < UCMA_FAKE_SLOTS && cm->len <= IPC_CM_MAX);
	if (message->type == IPC_CM_ANSWER) {
		UCMA_FAKE_CHECK(!f->answered);
		f->answered = true;
		f->status = cm->status;
		f->answer_len = cm->len;
		memcpy(f->answer, cm->bytes, cm->len);
	} else if (message->type == IPC_CM_EVENT) {
		UCMA_FAKE_CHECK(cm->len == sizeof(f->events[0][0]));
		memcpy(&f->events[slot][f->event_count[slot]++ % UCMA_FAKE_EVENTS], cm->bytes, cm->len);
	} else {
		UCMA_FAKE_CHECK(message->type == IPC_CM_KEEP);
		ucma_fake_keep(f, slot, cm);
	}
}

static void ucma_fake_transmit(void *context, const struct cm_send *out)
{
	struct ucma_fake *f = context;

	f->transmitted++;
	f->last = *out;
}

static uint64_t ucma_fake_now(void *context)
{
	return ((struct ucma_fake *)context)->now;
}

static int ucma_fake_member(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	UCMA_FAKE_CHECK(slot >= 1 && slot < UCMA_FAKE_SLOTS);
	return ifindex == 1 ? 0 : ENODEV;
}

static int ucma_fake_neighbour(void *context, const struct wire_gid *source, const struct wire_gid *destination, uint32_t scope,
			       struct netdev_hop *hop)
{
	*hop = (struct netdev_hop){ .ifindex = 1, .next = *destination };
	return ((struct ucma_fake *)context)->neighbour;
}

static const struct broker_ucma_ops ucma_fake_ops = { ucma_fake_send, ucma_fake_transmit, ucma_fake_now, ucma_fake_member,
	ucma_fake_neighbour };

/* A device with 127.0.0.1 (index 0); `mtu` of the interface. */
static void ucma_fake_device(struct ucma_fake *f, uint32_t mtu)
{
	static const uint8_t one[4] = { 127, 0, 0, 1 };
	struct netdev_device *device = &f->table.devices[0];

	f->table.count = 1;
	f->table.generation = 1;
	*device = (struct netdev_device){ .name = "sv_lo", .ifname = "lo", .ifindex = 1, .mtu = mtu, .up = true, .loopback = true,
		.node_guid = 0x1234 };
	for (unsigned i = 0; i < 2; i++)
		device->gids[i] = (struct netdev_gid){ wire_gid_from_ipv4(one), i == 0 ? WIRE_GID_ROCE_V1 : WIRE_GID_ROCE_V2, 1, true };
}

static void ucma_fake_check(const struct ucma_fake *f)
{
	UCMA_FAKE_CHECK(cm_is_sound(f->u->cm));
}

static void ucma_fake_start(struct ucma_fake *f, const struct cm_config *config)
{
	memset(f, 0, offsetof(struct ucma_fake, table)); /* of that one only the first device is used */
	f->now = BASE_SEC;
	ucma_fake_device(f, 65536);
	f->u = broker_ucma_create(&ucma_fake_ops, f, config, &f->table, 1024, 7);
	UCMA_FAKE_CHECK(f->u != NULL);
}

/* One message of a client; the status of its answer. */
static int ucma_fake_raw(struct ucma_fake *f, uint8_t slot, const void *bytes, uint32_t len)
{
	const struct ipc_cm cm = { .id = 1, .len = len, .bytes = bytes };

	f->answered = false;
	broker_ucma_call(f->u, slot, &cm);
	UCMA_FAKE_CHECK(f->answered);
	ucma_fake_check(f);
	return (int)f->status;
}

/* Whether an engine's time passes or an own step. */
static void ucma_fake_tick(struct ucma_fake *f, uint64_t step_ns)
{
	uint64_t at = broker_ucma_deadline(f->u);

	f->now = step_ns > 0 ? f->now + step_ns : at != BASE_NEVER && at > f->now ? at : f->now;
	broker_ucma_tick(f->u);
	ucma_fake_check(f);
}

/* All clients end, then their peers' time passes: nothing is left. */
static void ucma_fake_stop(struct ucma_fake *f)
{
	for (uint8_t slot = 1; slot < UCMA_FAKE_SLOTS; slot++)
		broker_ucma_gone(f->u, slot);
	for (int i = 0; i < 5000 && broker_ucma_deadline(f->u) != BASE_NEVER; i++)
		ucma_fake_tick(f, 0);
	ucma_fake_check(f);
	UCMA_FAKE_CHECK(broker_ucma_is_idle(f->u) && f->u->count == 0 && broker_ucma_stats(f->u)->ids == 0);
	broker_ucma_destroy(f->u);
	f->u = NULL;
}

/* The broker dies; the next one has heard nothing yet. */
static inline void ucma_fake_restart(struct ucma_fake *f, const struct cm_config *config)
{
	broker_ucma_destroy(f->u);
	f->u = broker_ucma_create(&ucma_fake_ops, f, config, &f->table, 1024, 8);
	UCMA_FAKE_CHECK(f->u != NULL);
}

static inline void ucma_fake_adopt(struct ucma_fake *f, uint8_t slot, uint32_t id, const void *bytes, uint32_t len)
{
	const struct ipc_cm cm = { .id = id, .len = len, .bytes = bytes };

	broker_ucma_adopt(f->u, slot, &cm);
	ucma_fake_check(f);
}

/* Clients tell the new broker what the old one had kept. */
static inline void ucma_fake_adopt_all(struct ucma_fake *f)
{
	static struct ucma_fake_kept kept[UCMA_FAKE_KEPT]; /* the adopting changes the original */

	memcpy(kept, f->kept, sizeof(kept));
	for (unsigned i = 0; i < UCMA_FAKE_KEPT; i++)
		if (kept[i].len > 0)
			ucma_fake_adopt(f, kept[i].slot, kept[i].id, kept[i].bytes, kept[i].len);
}

#endif
