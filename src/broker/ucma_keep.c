/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What outlives the broker: clients keep these bytes without looking at them. They come back from a process of the same user,
 * perhaps of another release, so everything in them is judged again.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "broker/ucma_internal.h"

#define KEPT_MAGIC 0x4b765373u /* "sSvK" */
#define KEPT_VERSION 4u

enum kept_phase {
	KEPT_PLAIN,       /* nothing under way: never begun, or told to be over */
	KEPT_HANDSHAKE,
	KEPT_ESTABLISHED,
	KEPT_PARTING,     /* our DREQ is out, the program waits for DISCONNECTED */
	KEPT_PHASES
};

struct kept {
	uint32_t magic;
	uint16_t version, bytes;
	uint64_t uid;
	uint32_t phase, bound;
	uint32_t space, qp_type, stage;
	struct cm_address source, destination;
	uint32_t bind_flags, backlog, qkey;
	uint8_t tos, ack_timeout, ack_timeout_set;
	struct cm_saved saved; /* ESTABLISHED */
};
_Static_assert(sizeof(struct kept) <= IPC_CM_MAX, "it fits into a message");

static void keep_bytes(struct broker_ucma *u, const struct ucma_id *id, const void *bytes, uint32_t len)
{
	struct ipc_message m = { .type = IPC_CM_KEEP, .cm = { .id = id->id, .len = len, .bytes = bytes } };

	u->ops->send(u->context, id->slot, &m);
}

void ucma_keep_nothing(struct broker_ucma *u, const struct ucma_id *id)
{
	keep_bytes(u, id, NULL, 0);
}

static enum kept_phase phase_of(enum cm_state state)
{
	switch (state) {
	case CM_IDLE:
	case CM_LISTEN:
	case CM_DREQ_RCVD:
	case CM_TIMEWAIT:
	case CM_STATES:
		return KEPT_PLAIN;
	case CM_ESTABLISHED:
		return KEPT_ESTABLISHED;
	case CM_DREQ_SENT:
		return KEPT_PARTING;
	case CM_SIDR_REQ_SENT:
	case CM_SIDR_REQ_RCVD:
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_MRA_REQ_SENT:
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
	case CM_MRA_REP_SENT:
		break;
	}
	return KEPT_HANDSHAKE;
}

void ucma_keep(struct broker_ucma *u, const struct ucma_id *id)
{
	struct kept k;
	struct cm_info info;

	memset(&k, 0, sizeof(k)); /* padding, too */
	k.magic = KEPT_MAGIC;
	k.version = KEPT_VERSION;
	k.bytes = sizeof(k);
	k.uid = id->uid;
	k.space = (uint32_t)id->space;
	k.qp_type = (uint32_t)id->qp_type;
	k.stage = (uint32_t)id->stage;
	k.source = id->source;
	k.destination = id->destination;
	k.bind_flags = id->bind_flags;
	k.backlog = id->backlog;
	k.qkey = id->qkey;
	k.tos = id->tos;
	k.ack_timeout = id->ack_timeout;
	k.ack_timeout_set = id->ack_timeout_set;
	if (cm_id_info(u->cm, id->ref, &info) == BASE_OK) {
		k.phase = phase_of(info.state);
		k.bound = info.bound;
	}
	if (k.phase == KEPT_ESTABLISHED)
		cm_save(u->cm, id->ref, &k.saved);
	keep_bytes(u, id, &k, sizeof(k));
}

/* A bool that is neither true nor false must not be looked at as one. */
static bool bools_are_sound(const struct kept *k)
{
	static const size_t at[] = { offsetof(struct kept, saved.passive), offsetof(struct kept, saved.bound),
		offsetof(struct kept, saved.path.local) };
	const uint8_t *bytes = (const uint8_t *)k;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (bytes[at[i]] > 1)
			return false;
	return true;
}

static bool address_is_sound(const struct cm_address *address)
{
	return address->ip.family == CM_NO_FAMILY || cm_ip_is_valid(&address->ip);
}

static bool kept_is_sound(const struct kept *k)
{
	return bools_are_sound(k) && k->magic == KEPT_MAGIC && k->version == KEPT_VERSION && k->bytes == sizeof(*k) &&
	       k->phase < KEPT_PHASES && k->stage < UCMA_STAGES && k->ack_timeout_set <= 1 &&
	       address_is_sound(&k->source) && address_is_sound(&k->destination) &&
	       !(k->bind_flags & ~(uint32_t)(CM_BIND_REUSE | CM_BIND_ONLY));
}

/* As far as the stage went: the same calls again. What no longer works (an address that is gone) stays undone. */
static void redo(struct broker_ucma *u, struct ucma_id *id, const struct kept *k)
{
	if (k->stage == UCMA_BOUND || k->stage == UCMA_LISTEN || (k->stage == UCMA_ADDR_QUERY && k->bound))
		ucma_bind(u, id, &k->source);
	/* The question is forgotten, the program waits for its answer. */
	if (k->stage == UCMA_ADDR_QUERY)
		ucma_event_plain(u, id, 1 /* RDMA_CM_EVENT_ADDR_ERROR */, -ETIMEDOUT);
	if (k->stage == UCMA_LISTEN && cm_listen(u->cm, id->ref, k->backlog) == BASE_OK) {
		id->stage = UCMA_LISTEN;
		id->backlog = k->backlog;
	}
	if (k->stage == UCMA_ADDR_RESOLVED || k->stage == UCMA_ROUTE_RESOLVED) {
		/* With its port, which the program has been told; unless several ids shared it. */
		if (!k->bound || ucma_resolve(u, id, &k->source, &k->destination) != 0)
			ucma_resolve(u, id, &(struct cm_address){ .ip = k->source.ip }, &k->destination);
	}
	if (k->stage == UCMA_ROUTE_RESOLVED)
		ucma_route(u, id);
}

/* Nobody is left who knows of it: it is over, and the program hears what it waits for. */
static void end(struct broker_ucma *u, struct ucma_id *id, const struct kept *k)
{
	id->stage = UCMA_CONNECT;
	id->source = k->source;
	id->destination = k->destination;
	if (id->uid == 0)
		return;
	if (k->phase == KEPT_HANDSHAKE)
		ucma_event_plain(u, id, 7 /* RDMA_CM_EVENT_UNREACHABLE */, -ETIMEDOUT);
	else if (k->phase == KEPT_PARTING)
		ucma_event_plain(u, id, 10 /* RDMA_CM_EVENT_DISCONNECTED */, -ETIMEDOUT);
}

void broker_ucma_adopt(struct broker_ucma *u, uint8_t slot, const struct ipc_cm *cm)
{
	struct ucma_id *id;
	struct kept k;
	int err;

	if (cm->id == 0 || ucma_group_adopt(u, slot, cm) || cm->len != sizeof(k))
		return;
	memcpy(&k, cm->bytes, sizeof(k));
	if (!kept_is_sound(&k))
		return;
	id = ucma_add(u, slot, k.uid, cm->id);
	if (id == NULL)
		return;
	id->space = (enum cm_space)k.space;
	id->qp_type = (enum cm_qp_type)k.qp_type;
	id->bind_flags = k.bind_flags;
	id->qkey = k.qkey;
	id->tos = k.tos;
	id->ack_timeout = k.ack_timeout;
	id->ack_timeout_set = k.ack_timeout_set;
	if (k.phase == KEPT_ESTABLISHED)
		err = cm_adopt(u->cm, slot, ucma_user(id), &k.saved, &id->ref);
	else
		err = cm_id_create(u->cm, slot, ucma_user(id), id->space, id->qp_type, &id->ref);
	if (err != BASE_OK) {
		ucma_forget(u, id);
		return;
	}
	if (k.phase == KEPT_ESTABLISHED) {
		id->space = k.saved.space;
		id->qp_type = k.saved.qp_type;
		id->stage = UCMA_CONNECT;
		id->path = k.saved.path;
		id->device = k.saved.path.port.number < u->table->count ? (int)k.saved.path.port.number : -1;
		id->source = k.saved.local;
		id->destination = k.saved.remote;
	} else if (k.phase == KEPT_PLAIN && k.stage != UCMA_CONNECT) {
		redo(u, id, &k);
	} else {
		end(u, id, &k);
	}
	ucma_keep(u, id);
}
