/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/core.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/random.h"
#include "broker/core_internal.h"

/* --- registry --- */

void broker_registry_init(struct broker_registry *registry, uint64_t random)
{
	struct base_random r = { random };
	unsigned start = (unsigned)base_random_below(&r, IPC_SLOT_LAST);

	memset(registry, 0, sizeof(*registry));
	registry->magic = BROKER_REGISTRY_MAGIC;
	registry->version = BROKER_REGISTRY_VERSION;
	/* Unlike those of earlier registries, so that a stale report of a pair cannot look valid. */
	registry->next = (base_random_next(&r) >> 3) | 1;
	registry->freed = IPC_SLOTS;
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++)
		registry->slots[s].freed_at = (s - IPC_SLOT_FIRST + start) % IPC_SLOT_LAST;
}

bool broker_registry_is_sound(const struct broker_registry *registry)
{
	if (registry->magic != BROKER_REGISTRY_MAGIC || registry->version != BROKER_REGISTRY_VERSION || registry->next == 0 ||
		registry->next > UINT64_MAX / 2)
		return false;
	for (unsigned s = 0; s < IPC_SLOTS; s++) {
		if (registry->slots[s].incarnation >= registry->next || registry->slots[s].freed_at > registry->freed)
			return false;
		if ((s < IPC_SLOT_FIRST || s > IPC_SLOT_LAST) && registry->slots[s].incarnation != 0)
			return false;
	}
	return true;
}

/* --- pairs --- */

static struct broker_pair *pair_find(struct broker *b, uint8_t x, uint8_t y)
{
	uint16_t at = x < y ? b->pair_at[x][y] : b->pair_at[y][x];

	return at == 0 ? NULL : &b->pairs[at - 1];
}

static void pair_remove(struct broker *b, struct broker_pair *pair)
{
	unsigned at = (unsigned)(pair - b->pairs), last = b->pair_count - 1;

	b->ops->pair_unmap(b->context, pair->header);
	b->ops->fd_close(b->context, pair->fd);
	b->pair_at[pair->low][pair->high] = 0;
	if (at != last) {
		b->pairs[at] = b->pairs[last];
		b->pair_at[b->pairs[at].low][b->pairs[at].high] = (uint16_t)(at + 1);
	}
	b->pair_count--;
}

/* Takes fd and header. BASE_ERR_NOMEM: the table is full, nothing taken. */
static int pair_insert(struct broker *b, uint8_t low, uint8_t high, uint64_t generation, int fd, struct ipc_pair_header *header)
{
	if (b->pair_count == BROKER_PAIRS_MAX)
		return BASE_ERR_NOMEM;
	b->pairs[b->pair_count] = (struct broker_pair){
		.low = low, .high = high, .generation = generation, .fd = fd, .header = header };
	b->pair_at[low][high] = (uint16_t)++b->pair_count;
	return BASE_OK;
}

static void send_peer_gone(struct broker *b, uint8_t to, uint8_t slot, uint64_t generation)
{
	struct ipc_message m = { .type = IPC_PEER_GONE, .peer = { slot, generation } };

	if (b->slots[to].state == BROKER_SLOT_USED)
		b->ops->send(b->context, b->slots[to].client, &m, NULL);
}

/* `id` 0: an event. Both ends must be connected. */
static void send_pair(struct broker *b, struct broker_pair *pair, uint8_t to, uint32_t id)
{
	uint8_t other = to == pair->low ? pair->high : pair->low;
	const struct broker_slot *peer = &b->slots[other];
	struct ipc_message m = { .type = IPC_PAIR, .pair = { id, other, pair->generation } };
	struct ipc_fds fds = { 4, { pair->fd, peer->wake_page, peer->wake_event, peer->pidfd } };

	pair->told[to == pair->high] = true;
	b->ops->send(b->context, b->slots[to].client, &m, &fds);
}

static void send_pair_refused(struct broker *b, unsigned client, uint32_t id, uint8_t slot, int error)
{
	struct ipc_message m = { .type = IPC_PAIR_REFUSED, .pair_refused = { id, slot, error } };

	b->ops->send(b->context, client, &m, NULL);
}

/* What others asked of this slot while it was awaited. */
static void wanted_answer(struct broker *b, uint8_t slot)
{
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++) {
		uint32_t id = b->slots[s].wants[slot];

		if (id == 0 || b->slots[s].state != BROKER_SLOT_USED)
			continue;
		b->slots[s].wants[slot] = 0;
		broker_pair_give(b, (uint8_t)s, slot, id);
	}
}

void broker_pair_give(struct broker *b, uint8_t from, uint8_t slot, uint32_t id)
{
	unsigned client = b->slots[from].client;
	uint8_t low = from < slot ? from : slot, high = from < slot ? slot : from;
	struct broker_pair *pair = pair_find(b, from, slot);
	struct ipc_pair_header *header;
	int fd, err;

	if (from == slot) {
		send_pair_refused(b, client, id, slot, BASE_ERR_INVAL);
		return;
	}
	if (b->slots[slot].state == BROKER_SLOT_FREE) {
		send_pair_refused(b, client, id, slot, BASE_ERR_NOENT);
		return;
	}
	/* Not before the other end is back and has reported what it has. */
	if (b->slots[slot].state == BROKER_SLOT_AWAITED || b->slots[slot].resuming || b->slots[from].resuming) {
		b->slots[from].wants[slot] = id;
		return;
	}
	if (pair == NULL) {
		uint64_t generation = b->registry->next++;

		err = b->pair_count < BROKER_PAIRS_MAX ? b->ops->pair_create(b->context, low, high, generation, &fd, &header) :
			BASE_ERR_NOMEM;
		if (err != BASE_OK) {
			send_pair_refused(b, client, id, slot, BASE_ERR_NOMEM);
			return;
		}
		err = pair_insert(b, low, high, generation, fd, header);
		assert(err == BASE_OK);
		pair = pair_find(b, from, slot);
	}
	send_pair(b, pair, from, id);
	if (!pair->told[slot == pair->high])
		send_pair(b, pair, slot, 0);
}

/* --- slots --- */

static void slot_fds_close(struct broker *b, struct broker_slot *slot)
{
	int *all[] = { &slot->pidfd, &slot->wake_page, &slot->wake_event, &slot->export };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i] >= 0)
			b->ops->fd_close(b->context, *all[i]);
		*all[i] = -1;
	}
}

static void slot_forget(struct broker_slot *slot)
{
	memset(slot, 0, sizeof(*slot));
	slot->pidfd = slot->wake_page = slot->wake_event = slot->export = -1;
}

/* `closed` in all its pairs, then the peers are told, then the slot is free. */
static void slot_free(struct broker *b, uint8_t s)
{
	struct broker_slot *slot = &b->slots[s];

	for (unsigned other = IPC_SLOT_FIRST; other <= IPC_SLOT_LAST; other++) {
		struct broker_pair *pair = other == s ? NULL : pair_find(b, s, (uint8_t)other);

		if (pair == NULL)
			continue;
		uint64_t generation = pair->generation;
		atomic_store(&pair->header->closed, 1);
		pair_remove(b, pair);
		send_peer_gone(b, (uint8_t)other, s, generation);
	}
	if (slot->watched)
		b->ops->process_unwatch(b->context, s);
	slot_fds_close(b, slot);
	slot_forget(slot);
	b->registry->slots[s].incarnation = 0;
	b->registry->slots[s].pid = 0;
	b->registry->slots[s].birth = 0;
	b->registry->slots[s].freed_at = ++b->registry->freed;
	b->ops->slot_freed(b->context, s);
	wanted_answer(b, s);
}

/* 0: none is free. */
static uint8_t slot_choose(const struct broker *b)
{
	uint8_t best = 0;

	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++)
		if (b->slots[s].state == BROKER_SLOT_FREE &&
			(best == 0 || b->registry->slots[s].freed_at < b->registry->slots[best].freed_at))
			best = (uint8_t)s;
	return best;
}

/* --- clients --- */

static void client_forget(struct broker *b, unsigned client)
{
	struct broker_client *c = &b->clients[client];

	if (c->stage == BROKER_CLIENT_WAITING)
		for (unsigned i = 0; i < c->held.count; i++)
			b->ops->fd_close(b->context, c->held.fd[i]);
	b->observers -= c->stage == BROKER_CLIENT_READY && c->slot == 0;
	memset(c, 0, sizeof(*c));
	b->client_count--;
}

/* Ends a connection from this side. */
static void client_drop(struct broker *b, unsigned client)
{
	client_forget(b, client);
	b->ops->disconnect(b->context, client);
}

static int client_refuse(struct broker *b, unsigned client, int error, const char *reason)
{
	struct ipc_message m = { .type = IPC_REFUSED, .refused = { .error = error } };

	snprintf(m.refused.reason, sizeof(m.refused.reason), "%s", reason);
	b->ops->send(b->context, client, &m, NULL);
	client_drop(b, client);
	return error;
}

static void welcome(struct broker *b, unsigned client, enum ipc_role role, uint8_t slot)
{
	struct ipc_message m = { .type = IPC_WELCOME, .welcome = { .protocol = IPC_PROTOCOL, .slot = slot, .wire = b->wire,
		.pid = b->identity.pid } };
	struct ipc_fds fds = { 0 };

	if (slot != 0)
		m.welcome.incarnation = b->registry->slots[slot].incarnation;
	snprintf(m.welcome.version, sizeof(m.welcome.version), "%s", b->identity.version);
	snprintf(m.welcome.reason, sizeof(m.welcome.reason), "%s", b->reason);
	b->ops->welcome_fds(b->context, role, slot, &fds);
	b->clients[client].stage = BROKER_CLIENT_READY;
	b->clients[client].slot = slot;
	b->ops->send(b->context, client, &m, &fds);
}

/* The slot's new owner. Takes the descriptors of the HELLO, also when it fails. */
static int slot_occupy(struct broker *b, unsigned client, uint8_t s, const struct ipc_hello *hello, const struct ipc_fds *fds)
{
	struct broker_slot *slot = &b->slots[s];
	bool watched = slot->watched, returning = slot->state == BROKER_SLOT_AWAITED;

	for (unsigned i = 3; i < fds->count; i++)
		b->ops->fd_close(b->context, fds->fd[i]);
	if (watched)
		b->ops->process_unwatch(b->context, s);
	int pidfd = fds->fd[0];
	if (b->ops->process_watch(b->context, s, &pidfd, b->clients[client].pid) != BASE_OK) {
		for (unsigned i = 0; i < 3; i++)
			b->ops->fd_close(b->context, fds->fd[i]);
		slot->watched = false;
		/* A survivor that cannot be watched would never be freed. */
		if (returning)
			slot_free(b, s);
		b->registry->slots[s].incarnation = 0;
		return client_refuse(b, client, BASE_ERR_MALFORMED, "the first descriptor of HELLO must be a pidfd of the process");
	}
	slot_fds_close(b, slot);
	slot_forget(slot);
	slot->state = BROKER_SLOT_USED;
	slot->watched = true;
	slot->resuming = hello->resume;
	slot->client = client;
	slot->pidfd = pidfd;
	slot->wake_page = fds->fd[1];
	slot->wake_event = fds->fd[2];
	slot->pid = b->clients[client].pid != 0 ? b->clients[client].pid : hello->pid;
	memcpy(slot->command, hello->command, sizeof(slot->command));
	b->registry->slots[s].pid = b->clients[client].pid;
	b->registry->slots[s].birth = b->clients[client].pid != 0 ? b->ops->process_birth(b->context, b->clients[client].pid) : 0;
	welcome(b, client, IPC_ROLE_PROCESS, s);
	return BASE_OK;
}

static void fds_close(struct broker *b, const struct ipc_fds *fds)
{
	for (unsigned i = 0; i < fds->count; i++)
		b->ops->fd_close(b->context, fds->fd[i]);
}

/* Settled. Takes fds. */
static int hello_answer(struct broker *b, unsigned client, const struct ipc_hello *hello, const struct ipc_fds *fds)
{
	struct broker_registry *r = b->registry;
	uint8_t s;

	if (hello->role == IPC_ROLE_OBSERVER) {
		if (b->observers == BROKER_OBSERVERS_MAX)
			return client_refuse(b, client, BASE_ERR_NOMEM, "too many observers; the limit is 64 at a time");
		b->observers++;
		welcome(b, client, IPC_ROLE_OBSERVER, 0);
		return BASE_OK;
	}
	if (hello->resume) {
		s = hello->slot;
		bool same = r->slots[s].incarnation == hello->incarnation && b->slots[s].state == BROKER_SLOT_AWAITED;
		/* The registry got lost with its last holder, but nobody has the slot: let the process keep it. */
		bool unknown = b->slots[s].state == BROKER_SLOT_FREE && hello->incarnation < UINT64_MAX / 4;

		if (!same && !unknown) {
			fds_close(b, fds);
			return client_refuse(b, client, BASE_ERR_EXISTS, "the slot of this process belongs to another one now");
		}
		if (unknown) {
			r->slots[s].incarnation = hello->incarnation;
			if (r->next <= hello->incarnation)
				r->next = hello->incarnation + 1;
		}
		return slot_occupy(b, client, s, hello, fds);
	}
	s = slot_choose(b);
	if (s == 0) {
		fds_close(b, fds);
		return client_refuse(b, client, BASE_ERR_NOMEM,
			"all 254 slots are taken: a broker serves at most 254 processes at a time; end one of them");
	}
	b->ops->slot_prepare(b->context, s);
	r->slots[s].incarnation = r->next++;
	return slot_occupy(b, client, s, hello, fds);
}

int broker_hello(struct broker *b, unsigned client, const struct ipc_hello *hello, const struct ipc_fds *fds)
{
	struct broker_client *c = &b->clients[client];
	char reason[IPC_REASON_MAX];

	if (hello->protocol != IPC_PROTOCOL) {
		fds_close(b, fds);
		snprintf(reason, sizeof(reason), "this program speaks version %u of the broker's protocol and softverbsd %s speaks %u; "
			"use libraries and softverbsd of one release", hello->protocol, b->identity.version, IPC_PROTOCOL);
		return client_refuse(b, client, BASE_ERR_UNSUPPORTED, reason);
	}
	if (b->registry == NULL && hello->resume) {
		const int vault[2] = { fds->fd[3], fds->fd[4] };

		b->ops->vault_offered(b->context, vault);
	}
	if (b->registry == NULL) {
		c->stage = BROKER_CLIENT_WAITING;
		c->hello = *hello;
		c->held = *fds;
		return BASE_OK;
	}
	return hello_answer(b, client, hello, fds);
}

/* --- messages --- */

int broker_pair_report(struct broker *b, uint8_t from, const struct ipc_peer *report, int fd)
{
	uint8_t low = from < report->slot ? from : report->slot, high = from < report->slot ? report->slot : from;
	struct broker_slot *peer = &b->slots[report->slot];
	struct broker_registry *r = b->registry;
	struct ipc_pair_header *header;
	struct broker_pair *pair;

	if (from == report->slot || b->ops->pair_map(b->context, low, high, report->generation, fd, &header) != BASE_OK)
		return BASE_ERR_MALFORMED;
	pair = pair_find(b, from, report->slot);
	if (pair != NULL && pair->generation == report->generation) {
		/* The other end was first. */
		pair->told[from == high] = true;
		b->ops->pair_unmap(b->context, header);
		b->ops->fd_close(b->context, fd);
		return BASE_OK;
	}
	bool alive = peer->state != BROKER_SLOT_FREE && report->generation > r->slots[report->slot].incarnation &&
		report->generation > r->slots[from].incarnation && report->generation < UINT64_MAX / 4;
	if (alive && pair != NULL && pair->generation < report->generation) {
		/* Two of them, an older one reported by the other end: it goes. */
		uint64_t generation = pair->generation;

		atomic_store(&pair->header->closed, 1);
		pair_remove(b, pair);
		send_peer_gone(b, report->slot, from, generation);
		pair = NULL;
	}
	if (!alive || pair != NULL || pair_insert(b, low, high, report->generation, fd, header) != BASE_OK) {
		atomic_store(&header->closed, 1);
		b->ops->pair_unmap(b->context, header);
		b->ops->fd_close(b->context, fd);
		send_peer_gone(b, from, report->slot, report->generation);
		return BASE_OK;
	}
	if (r->next <= report->generation)
		r->next = report->generation + 1;
	pair = pair_find(b, from, report->slot);
	pair->told[from == high] = true;
	if (peer->state == BROKER_SLOT_USED && !peer->resuming)
		send_pair(b, pair, report->slot, 0);
	return BASE_OK;
}

void broker_resume_done(struct broker *b, uint8_t s)
{
	if (!b->slots[s].resuming)
		return;
	b->slots[s].resuming = false;
	for (unsigned other = IPC_SLOT_FIRST; other <= IPC_SLOT_LAST; other++) {
		struct broker_pair *pair = other == s ? NULL : pair_find(b, s, (uint8_t)other);

		if (pair != NULL && !pair->told[s == pair->high] && b->slots[other].state == BROKER_SLOT_USED)
			send_pair(b, pair, s, 0);
	}
	wanted_answer(b, s);
	for (unsigned other = IPC_SLOT_FIRST; other <= IPC_SLOT_LAST; other++) {
		uint32_t id = b->slots[s].wants[other];

		b->slots[s].wants[other] = 0;
		if (id != 0)
			broker_pair_give(b, s, (uint8_t)other, id);
	}
}

/* --- life --- */

struct broker *broker_create(const struct broker_ops *ops, void *context, const struct broker_identity *identity)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (b != NULL)
		broker_init(b, ops, context, identity);
	return b;
}

void broker_init(struct broker *b, const struct broker_ops *ops, void *context, const struct broker_identity *identity)
{
	b->ops = ops;
	b->context = context;
	b->identity = *identity;
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		slot_forget(&b->slots[s]);
}

void broker_destroy(struct broker *b)
{
	if (b != NULL)
		broker_end(b);
	free(b);
}

void broker_end(struct broker *b)
{
	while (b->pair_count > 0)
		pair_remove(b, &b->pairs[b->pair_count - 1]);
	for (unsigned s = 0; s < IPC_SLOTS; s++) {
		if (b->slots[s].watched)
			b->ops->process_unwatch(b->context, (uint8_t)s);
		slot_fds_close(b, &b->slots[s]);
	}
	for (unsigned c = 0; c < BROKER_CLIENTS_MAX; c++)
		if (b->clients[c].stage != BROKER_CLIENT_NONE)
			client_forget(b, c);
}

void broker_settle(struct broker *b, struct broker_registry *registry, bool wire, const char *reason)
{
	assert(b->registry == NULL);
	b->registry = registry;
	b->wire = wire;
	snprintf(b->reason, sizeof(b->reason), "%s", wire ? "" : reason);
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++)
		if (registry->slots[s].incarnation != 0) {
			b->slots[s].state = BROKER_SLOT_AWAITED;
			b->slots[s].pid = registry->slots[s].pid;
		}
	/* Those that come back before those that come first, so that nobody gets a slot that is still needed. */
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned c = 0; c < BROKER_CLIENTS_MAX; c++) {
			struct broker_client *client = &b->clients[c];

			if (client->stage != BROKER_CLIENT_WAITING || client->hello.resume != (pass == 0))
				continue;
			struct ipc_hello hello = client->hello;
			struct ipc_fds held = client->held;
			client->stage = BROKER_CLIENT_NEW;
			hello_answer(b, c, &hello, &held);
		}
	}
}

bool broker_is_settled(const struct broker *b)
{
	return b->registry != NULL;
}

int broker_client_add(struct broker *b, uint32_t pid)
{
	for (unsigned c = 0; c < BROKER_CLIENTS_MAX; c++) {
		if (b->clients[c].stage == BROKER_CLIENT_NONE) {
			b->clients[c] = (struct broker_client){ .stage = BROKER_CLIENT_NEW, .pid = pid };
			b->client_count++;
			return (int)c;
		}
	}
	return BASE_ERR_NOMEM;
}

void broker_client_gone(struct broker *b, unsigned client)
{
	uint8_t slot = b->clients[client].slot;

	if (b->clients[client].stage == BROKER_CLIENT_NONE)
		return;
	client_forget(b, client);
	if (slot != 0)
		slot_free(b, slot);
}

void broker_client_refuse(struct broker *b, unsigned client, int error)
{
	uint8_t slot = b->clients[client].slot;

	if (b->clients[client].stage == BROKER_CLIENT_NONE)
		return;
	b->refused_messages++;
	client_refuse(b, client, error, error == BASE_ERR_NOMEM ?
		"softverbsd is out of file descriptors; raise its limit (ulimit -n) and start it again" :
		"softverbsd was sent something that is no message of its protocol");
	if (slot != 0)
		slot_free(b, slot);
}

void broker_client_suspend(struct broker *b, unsigned client)
{
	uint8_t s = b->clients[client].slot;

	if (b->clients[client].stage == BROKER_CLIENT_NONE)
		return;
	client_drop(b, client);
	if (s != 0) {
		b->slots[s].state = BROKER_SLOT_AWAITED;
		b->slots[s].resuming = false;
		for (unsigned other = IPC_SLOT_FIRST; other <= IPC_SLOT_LAST; other++) {
			struct broker_pair *pair = other == s ? NULL : pair_find(b, s, (uint8_t)other);

			if (pair != NULL)
				pair->told[s == pair->high] = false; /* what was queued is lost */
			b->slots[s].wants[other] = 0;
		}
	}
}

void broker_process_gone(struct broker *b, uint8_t s)
{
	if (b->slots[s].state == BROKER_SLOT_FREE)
		return;
	if (b->slots[s].state == BROKER_SLOT_USED)
		client_drop(b, b->slots[s].client);
	slot_free(b, s);
}

bool broker_slot_is_awaited(const struct broker *b, uint8_t s, uint32_t *pid, uint64_t *birth)
{
	if (b->slots[s].state != BROKER_SLOT_AWAITED)
		return false;
	*pid = b->registry->slots[s].pid;
	*birth = b->registry->slots[s].birth;
	return true;
}

bool broker_is_idle(const struct broker *b)
{
	if (b->client_count != 0)
		return false;
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++)
		if (b->slots[s].state != BROKER_SLOT_FREE)
			return false;
	return true;
}

void broker_uptime_set(struct broker *b, uint64_t uptime_ns)
{
	b->uptime_ns = uptime_ns;
}
