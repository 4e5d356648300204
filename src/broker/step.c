/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One message in: who may send it, and what follows. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "broker/core_internal.h"

static uint32_t count_pairs_of(const struct broker *b, uint8_t slot)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < b->pair_count; i++)
		n += b->pairs[i].low == slot || b->pairs[i].high == slot;
	return n;
}

static void stat_summary(struct broker *b, unsigned client, uint32_t id)
{
	struct ipc_message m = { .type = IPC_STAT_SUMMARY, .stat_summary = { .id = id, .protocol = IPC_PROTOCOL,
		.pid = b->identity.pid, .uid = b->identity.uid, .wire = b->wire, .observers = b->observers, .pairs = b->pair_count,
		.refused_messages = b->refused_messages, .strays = b->strays, .uptime_ns = b->uptime_ns,
		.netdev_generation = b->netdev_generation } };

	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++) {
		m.stat_summary.clients += b->slots[s].state != BROKER_SLOT_FREE;
		m.stat_summary.free_slots += b->slots[s].state == BROKER_SLOT_FREE;
	}
	b->ops->cm_stat(b->context, &m.stat_summary.cm, &m.stat_summary.gsi);
	snprintf(m.stat_summary.version, sizeof(m.stat_summary.version), "%s", b->identity.version);
	snprintf(m.stat_summary.reason, sizeof(m.stat_summary.reason), "%s", b->reason);
	b->ops->send(b->context, client, &m, NULL);
}

static void stat_clients(struct broker *b, unsigned client, uint32_t id, uint32_t from)
{
	struct ipc_message m = { .type = IPC_STAT_CLIENT_LIST, .stat_clients = { .id = id } };
	struct ipc_stat_client_list *list = &m.stat_clients;

	for (uint32_t s = from < IPC_SLOT_FIRST ? IPC_SLOT_FIRST : from; s <= IPC_SLOT_LAST; s++) {
		const struct broker_slot *slot = &b->slots[s];

		if (slot->state == BROKER_SLOT_FREE)
			continue;
		if (list->count == IPC_STAT_CLIENTS) {
			list->next = s;
			break;
		}
		struct ipc_stat_client *out = &list->clients[list->count++];
		out->slot = (uint8_t)s;
		out->connected = slot->state == BROKER_SLOT_USED;
		out->has_export = slot->export >= 0;
		out->pid = slot->pid;
		out->pairs = count_pairs_of(b, (uint8_t)s);
		memcpy(out->command, slot->command, sizeof(out->command));
	}
	b->ops->send(b->context, client, &m, NULL);
}

static void stat_pairs(struct broker *b, unsigned client, uint32_t id, uint32_t from)
{
	struct ipc_message m = { .type = IPC_STAT_PAIR_LIST, .stat_pairs = { .id = id } };
	struct ipc_stat_pair_list *list = &m.stat_pairs;

	for (uint32_t i = from; i < b->pair_count && list->count < IPC_STAT_PAIRS; i++)
		list->pairs[list->count++] = (struct ipc_stat_pair){ b->pairs[i].low, b->pairs[i].high, b->pairs[i].generation };
	if (from < b->pair_count && b->pair_count - from > list->count)
		list->next = from + list->count;
	b->ops->send(b->context, client, &m, NULL);
}

static void stat_answer(struct broker *b, unsigned client, const struct ipc_stat_request *request)
{
	switch (request->of) {
	case IPC_STAT_OF_BROKER:
		stat_summary(b, client, request->id);
		break;
	case IPC_STAT_OF_CLIENTS:
		stat_clients(b, client, request->id, request->from);
		break;
	case IPC_STAT_OF_PAIRS:
		stat_pairs(b, client, request->id, request->from);
		break;
	case IPC_STATS:
		break;
	}
}

static void export_answer(struct broker *b, unsigned client, const struct ipc_export *request)
{
	struct ipc_message m = { .type = IPC_EXPORT, .export = *request };
	struct ipc_fds fds = { 0 };

	if (b->slots[request->slot].export >= 0)
		fds = (struct ipc_fds){ 1, { b->slots[request->slot].export } };
	b->ops->send(b->context, client, &m, &fds);
}

static void export_set(struct broker *b, uint8_t slot, int fd)
{
	if (b->slots[slot].export >= 0)
		b->ops->fd_close(b->context, b->slots[slot].export);
	b->slots[slot].export = fd;
}

void broker_stray(struct broker *b, const struct ipc_stray *stray)
{
	struct ipc_message m = { .type = IPC_STRAY, .stray = *stray };

	b->strays++;
	if (b->slots[stray->slot].state == BROKER_SLOT_USED)
		b->ops->send(b->context, b->slots[stray->slot].client, &m, NULL);
}

void broker_slot_send(struct broker *b, uint8_t slot, const struct ipc_message *message)
{
	if (b->slots[slot].state == BROKER_SLOT_USED)
		b->ops->send(b->context, b->slots[slot].client, message, NULL);
}

void broker_netdev_changed(struct broker *b, uint64_t generation, uint64_t devices)
{
	struct ipc_message m = { .type = IPC_NETDEV_CHANGED, .netdev_changed = { generation, devices } };

	b->netdev_generation = generation;
	for (unsigned c = 0; c < BROKER_CLIENTS_MAX; c++)
		if (b->clients[c].stage == BROKER_CLIENT_READY)
			b->ops->send(b->context, c, &m, NULL);
}

/* What an observer may ask; a process may as well. False: not such a message. */
static bool step_question(struct broker *b, unsigned client, const struct ipc_message *message)
{
	if (message->type == IPC_STAT_REQUEST)
		stat_answer(b, client, &message->stat_request);
	else if (message->type == IPC_EXPORT_REQUEST)
		export_answer(b, client, &message->export);
	else
		return false;
	return true;
}

/* What only a process may send. False: not such a message, or not now; *fds is untouched. */
static bool step_process(struct broker *b, uint8_t slot, const struct ipc_message *message, const struct ipc_fds *fds)
{
	switch (message->type) {
	case IPC_PAIR_REQUEST:
		broker_pair_give(b, slot, message->pair_request.slot, message->pair_request.id);
		return true;
	case IPC_PAIR_REPORT:
		return b->slots[slot].resuming && message->peer.slot != slot &&
			broker_pair_report(b, slot, &message->peer, fds->fd[0]) == BASE_OK;
	case IPC_RESUME_DONE:
		broker_resume_done(b, slot);
		return true;
	case IPC_STRAY:
		broker_stray(b, &message->stray);
		return true;
	case IPC_EXPORT_SET:
		export_set(b, slot, fds->fd[0]);
		return true;
	case IPC_CM_CALL:
		b->ops->cm_message(b->context, slot, message);
		return true;
	case IPC_CM_ADOPT:
		if (b->slots[slot].resuming)
			b->ops->cm_message(b->context, slot, message);
		return b->slots[slot].resuming;
	case IPC_HELLO:
	case IPC_WELCOME:
	case IPC_REFUSED:
	case IPC_PAIR:
	case IPC_PAIR_REFUSED:
	case IPC_PEER_GONE:
	case IPC_NETDEV_CHANGED:
	case IPC_EXPORT_REQUEST:
	case IPC_EXPORT:
	case IPC_STAT_REQUEST:
	case IPC_STAT_SUMMARY:
	case IPC_STAT_CLIENT_LIST:
	case IPC_STAT_PAIR_LIST:
	case IPC_CM_ANSWER:
	case IPC_CM_EVENT:
	case IPC_CM_KEEP:
	case IPC_TYPES:
		return false;
	}
	return false;
}

int broker_step(struct broker *b, unsigned client, const struct ipc_message *message, const struct ipc_fds *fds)
{
	struct broker_client *c = &b->clients[client];

	if (c->stage == BROKER_CLIENT_NEW && message->type == IPC_HELLO)
		return broker_hello(b, client, &message->hello, fds);
	if (c->stage == BROKER_CLIENT_READY) {
		if (step_question(b, client, message))
			return BASE_OK;
		if (c->slot != 0 && step_process(b, c->slot, message, fds))
			return BASE_OK;
	}
	for (unsigned i = 0; i < fds->count; i++)
		b->ops->fd_close(b->context, fds->fd[i]);
	broker_client_refuse(b, client, BASE_ERR_MALFORMED);
	return BASE_ERR_MALFORMED;
}
