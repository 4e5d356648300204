/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One description serves both directions: each type has a function that walks its fields in order over a cursor, and the cursor
 * either loads or stores. So encoder and decoder cannot disagree.
 */
#include "ipc/message.h"

#include <endian.h>
#include <string.h>

#include "base/err.h"
#include "ipc/pair.h"

struct cursor {
	bool store;
	uint8_t *to;         /* storing */
	const uint8_t *from; /* loading */
	size_t at, len;
	int error;
};

static bool cursor_take(struct cursor *c, size_t bytes, size_t *at)
{
	if (c->error != BASE_OK)
		return false;
	if (bytes > c->len - c->at) {
		c->error = c->store ? BASE_ERR_RANGE : BASE_ERR_TRUNCATED;
		return false;
	}
	*at = c->at;
	c->at += bytes;
	return true;
}

static void cursor_bytes(struct cursor *c, void *bytes, size_t len)
{
	size_t at;

	if (!cursor_take(c, len, &at))
		return;
	if (c->store)
		memcpy(c->to + at, bytes, len);
	else
		memcpy(bytes, c->from + at, len);
}

static void cursor_u8(struct cursor *c, uint8_t *value)
{
	cursor_bytes(c, value, 1);
}

static void cursor_u16(struct cursor *c, uint16_t *value)
{
	uint16_t le = htole16(*value);

	cursor_bytes(c, &le, sizeof(le));
	if (!c->store)
		*value = le16toh(le);
}

static void cursor_u32(struct cursor *c, uint32_t *value)
{
	uint32_t le = htole32(*value);

	cursor_bytes(c, &le, sizeof(le));
	if (!c->store)
		*value = le32toh(le);
}

static void cursor_u64(struct cursor *c, uint64_t *value)
{
	uint64_t le = htole64(*value);

	cursor_bytes(c, &le, sizeof(le));
	if (!c->store)
		*value = le64toh(le);
}

static void cursor_check(struct cursor *c, bool allowed)
{
	if (c->error == BASE_OK && !allowed)
		c->error = c->store ? BASE_ERR_INVAL : BASE_ERR_MALFORMED;
}

static void cursor_bool(struct cursor *c, bool *value)
{
	uint8_t byte = *value;

	cursor_u8(c, &byte);
	cursor_check(c, byte <= 1);
	*value = byte == 1;
}

/* A number below `limit`, in a byte. */
static unsigned cursor_enum(struct cursor *c, unsigned value, unsigned limit)
{
	uint8_t byte = (uint8_t)value;

	cursor_check(c, !c->store || value < limit);
	cursor_u8(c, &byte);
	cursor_check(c, byte < limit);
	return c->error == BASE_OK ? byte : 0;
}

/* An enum base_err other than BASE_OK. */
static void cursor_error(struct cursor *c, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	cursor_u32(c, &bits);
	cursor_check(c, (int32_t)bits < 0 && (int32_t)bits > -BASE_ERR_COUNT);
	*value = (int32_t)bits;
}

static void cursor_text(struct cursor *c, char *text, size_t size)
{
	uint8_t len = c->store ? (uint8_t)strnlen(text, size) : 0;

	cursor_check(c, !c->store || strnlen(text, size) < size);
	cursor_u8(c, &len);
	cursor_check(c, len < size);
	if (c->error != BASE_OK)
		return;
	cursor_bytes(c, text, len);
	if (!c->store) {
		text[c->error == BASE_OK ? len : 0] = '\0';
		cursor_check(c, c->error != BASE_OK || strlen(text) == len);
	}
}

/* A slot that can be a process. */
static void cursor_slot(struct cursor *c, uint8_t *slot)
{
	cursor_u8(c, slot);
	cursor_check(c, *slot >= IPC_SLOT_FIRST && *slot <= IPC_SLOT_LAST);
}

static void cursor_id(struct cursor *c, uint32_t *id)
{
	cursor_u32(c, id);
	cursor_check(c, *id != 0);
}

static void walk_nothing(struct cursor *c, struct ipc_message *m)
{
}

static void walk_hello(struct cursor *c, struct ipc_message *m)
{
	struct ipc_hello *h = &m->hello;

	cursor_u32(c, &h->magic);
	cursor_check(c, h->magic == IPC_HELLO_MAGIC);
	cursor_u32(c, &h->protocol);
	if (h->protocol != IPC_PROTOCOL) {
		/* Another version's fields: only the number is understood, which is what the answer is about. */
		if (!c->store && c->error == BASE_OK)
			c->at = c->len;
		return;
	}
	h->role = (enum ipc_role)cursor_enum(c, h->role, IPC_ROLES);
	cursor_bool(c, &h->resume);
	cursor_u8(c, &h->slot);
	cursor_u64(c, &h->incarnation);
	cursor_u32(c, &h->pid);
	cursor_text(c, h->command, sizeof(h->command));
	cursor_check(c, h->role == IPC_ROLE_PROCESS || !h->resume);
	cursor_check(c, h->resume ? h->slot >= IPC_SLOT_FIRST && h->slot <= IPC_SLOT_LAST && h->incarnation != 0 :
		h->slot == 0 && h->incarnation == 0);
}

static void walk_welcome(struct cursor *c, struct ipc_message *m)
{
	struct ipc_welcome *w = &m->welcome;

	cursor_u32(c, &w->protocol);
	cursor_u8(c, &w->slot);
	cursor_check(c, w->slot <= IPC_SLOT_LAST);
	cursor_bool(c, &w->wire);
	cursor_u64(c, &w->incarnation);
	cursor_u32(c, &w->pid);
	cursor_text(c, w->version, sizeof(w->version));
	cursor_text(c, w->reason, sizeof(w->reason));
}

static void walk_refused(struct cursor *c, struct ipc_message *m)
{
	cursor_error(c, &m->refused.error);
	cursor_text(c, m->refused.reason, sizeof(m->refused.reason));
}

static void walk_pair_request(struct cursor *c, struct ipc_message *m)
{
	cursor_id(c, &m->pair_request.id);
	cursor_slot(c, &m->pair_request.slot);
}

static void walk_pair(struct cursor *c, struct ipc_message *m)
{
	cursor_u32(c, &m->pair.id);
	cursor_slot(c, &m->pair.slot);
	cursor_u64(c, &m->pair.generation);
}

static void walk_pair_refused(struct cursor *c, struct ipc_message *m)
{
	cursor_id(c, &m->pair_refused.id);
	cursor_slot(c, &m->pair_refused.slot);
	cursor_error(c, &m->pair_refused.error);
}

static void walk_peer(struct cursor *c, struct ipc_message *m)
{
	cursor_slot(c, &m->peer.slot);
	cursor_u64(c, &m->peer.generation);
}

static void walk_netdev_changed(struct cursor *c, struct ipc_message *m)
{
	cursor_u64(c, &m->netdev_changed.generation);
	cursor_u64(c, &m->netdev_changed.devices);
}

static void walk_stray(struct cursor *c, struct ipc_message *m)
{
	struct ipc_stray *s = &m->stray;
	uint16_t port = s->from.sin6_port; /* as it lies: network order */
	size_t at;

	cursor_slot(c, &s->slot);
	if (!c->store)
		memset(&s->from, 0, sizeof(s->from));
	s->from.sin6_family = AF_INET6;
	cursor_bytes(c, &s->from.sin6_addr, sizeof(s->from.sin6_addr));
	cursor_bytes(c, &port, sizeof(port));
	s->from.sin6_port = port;
	cursor_u32(c, &s->from.sin6_scope_id);
	cursor_u32(c, &s->len);
	cursor_check(c, s->len > 0 && s->len <= IPC_STRAY_MAX);
	if (c->error != BASE_OK || !cursor_take(c, s->len, &at))
		return;
	if (c->store)
		memcpy(c->to + at, s->datagram, s->len);
	else
		s->datagram = c->from + at;
}

static void walk_export_request(struct cursor *c, struct ipc_message *m)
{
	cursor_id(c, &m->export.id);
	cursor_slot(c, &m->export.slot);
}

static void walk_stat_request(struct cursor *c, struct ipc_message *m)
{
	cursor_id(c, &m->stat_request.id);
	m->stat_request.of = (enum ipc_stat)cursor_enum(c, m->stat_request.of, IPC_STATS);
	cursor_u32(c, &m->stat_request.from);
}

static void walk_stat_summary(struct cursor *c, struct ipc_message *m)
{
	struct ipc_stat_summary *s = &m->stat_summary;

	cursor_id(c, &s->id);
	cursor_u32(c, &s->protocol);
	cursor_u32(c, &s->pid);
	cursor_u32(c, &s->uid);
	cursor_bool(c, &s->wire);
	cursor_u32(c, &s->clients);
	cursor_u32(c, &s->observers);
	cursor_u32(c, &s->pairs);
	cursor_u32(c, &s->free_slots);
	cursor_u64(c, &s->refused_messages);
	cursor_u64(c, &s->strays);
	cursor_u64(c, &s->uptime_ns);
	cursor_u64(c, &s->netdev_generation);
	cursor_u32(c, &s->cm.ids);
	cursor_u32(c, &s->cm.connections);
	cursor_u32(c, &s->cm.listeners);
	cursor_u32(c, &s->cm.timewait);
	cursor_u64(c, &s->gsi.sent);
	cursor_u64(c, &s->gsi.received);
	cursor_u64(c, &s->gsi.send_errors);
	cursor_u64(c, &s->gsi.drop_malformed);
	cursor_u64(c, &s->gsi.drop_icrc);
	cursor_u64(c, &s->gsi.drop_address);
	cursor_text(c, s->version, sizeof(s->version));
	cursor_text(c, s->reason, sizeof(s->reason));
}

static void walk_stat_clients(struct cursor *c, struct ipc_message *m)
{
	struct ipc_stat_client_list *l = &m->stat_clients;

	cursor_id(c, &l->id);
	cursor_u32(c, &l->next);
	cursor_u32(c, &l->count);
	cursor_check(c, l->count <= IPC_STAT_CLIENTS);
	for (uint32_t i = 0; c->error == BASE_OK && i < l->count; i++) {
		struct ipc_stat_client *s = &l->clients[i];

		cursor_slot(c, &s->slot);
		cursor_bool(c, &s->connected);
		cursor_bool(c, &s->has_export);
		cursor_u32(c, &s->pid);
		cursor_u32(c, &s->pairs);
		cursor_text(c, s->command, sizeof(s->command));
	}
}

static void walk_stat_pairs(struct cursor *c, struct ipc_message *m)
{
	struct ipc_stat_pair_list *l = &m->stat_pairs;

	cursor_id(c, &l->id);
	cursor_u32(c, &l->next);
	cursor_u32(c, &l->count);
	cursor_check(c, l->count <= IPC_STAT_PAIRS);
	for (uint32_t i = 0; c->error == BASE_OK && i < l->count; i++) {
		cursor_slot(c, &l->pairs[i].low);
		cursor_slot(c, &l->pairs[i].high);
		cursor_u64(c, &l->pairs[i].generation);
	}
}

static void walk_cm(struct cursor *c, struct ipc_message *m)
{
	struct ipc_cm *cm = &m->cm;
	size_t at;

	cursor_u32(c, &cm->id);
	cursor_check(c, (cm->id == 0) == (m->type == IPC_CM_EVENT));
	cursor_u32(c, &cm->status);
	cursor_check(c, cm->status < (m->type == IPC_CM_ANSWER ? 4096u : 1u));
	cursor_u32(c, &cm->len);
	cursor_check(c, cm->len <= IPC_CM_MAX && (cm->len > 0 || m->type == IPC_CM_ANSWER || m->type == IPC_CM_KEEP));
	if (c->error != BASE_OK || !cursor_take(c, cm->len, &at))
		return;
	if (!c->store)
		cm->bytes = c->from + at;
	else if (cm->len > 0)
		memcpy(c->to + at, cm->bytes, cm->len);
}

#define TO_BROKER 1
#define TO_CLIENT 2

static const struct {
	const char *text;
	void (*walk)(struct cursor *c, struct ipc_message *m);
	uint8_t directions;
	uint8_t fds; /* bit n: n descriptors are right */
} types[] = {
	[IPC_HELLO] = { "HELLO", walk_hello, TO_BROKER, 1 << 0 | 1 << 3 | 1 << 5 },
	[IPC_WELCOME] = { "WELCOME", walk_welcome, TO_CLIENT, 1 << 1 | 1 << 3 | 1 << 4 },
	[IPC_REFUSED] = { "REFUSED", walk_refused, TO_CLIENT, 1 << 0 },
	[IPC_PAIR_REQUEST] = { "PAIR_REQUEST", walk_pair_request, TO_BROKER, 1 << 0 },
	[IPC_PAIR] = { "PAIR", walk_pair, TO_CLIENT, 1 << 4 },
	[IPC_PAIR_REFUSED] = { "PAIR_REFUSED", walk_pair_refused, TO_CLIENT, 1 << 0 },
	[IPC_PAIR_REPORT] = { "PAIR_REPORT", walk_peer, TO_BROKER, 1 << 1 },
	[IPC_RESUME_DONE] = { "RESUME_DONE", walk_nothing, TO_BROKER, 1 << 0 },
	[IPC_PEER_GONE] = { "PEER_GONE", walk_peer, TO_CLIENT, 1 << 0 },
	[IPC_NETDEV_CHANGED] = { "NETDEV_CHANGED", walk_netdev_changed, TO_CLIENT, 1 << 0 },
	[IPC_STRAY] = { "STRAY", walk_stray, TO_BROKER | TO_CLIENT, 1 << 0 },
	[IPC_EXPORT_SET] = { "EXPORT_SET", walk_nothing, TO_BROKER, 1 << 1 },
	[IPC_EXPORT_REQUEST] = { "EXPORT_REQUEST", walk_export_request, TO_BROKER, 1 << 0 },
	[IPC_EXPORT] = { "EXPORT", walk_export_request, TO_CLIENT, 1 << 0 | 1 << 1 },
	[IPC_STAT_REQUEST] = { "STAT_REQUEST", walk_stat_request, TO_BROKER, 1 << 0 },
	[IPC_STAT_SUMMARY] = { "STAT_SUMMARY", walk_stat_summary, TO_CLIENT, 1 << 0 },
	[IPC_STAT_CLIENT_LIST] = { "STAT_CLIENT_LIST", walk_stat_clients, TO_CLIENT, 1 << 0 },
	[IPC_STAT_PAIR_LIST] = { "STAT_PAIR_LIST", walk_stat_pairs, TO_CLIENT, 1 << 0 },
	[IPC_CM_CALL] = { "CM_CALL", walk_cm, TO_BROKER, 1 << 0 },
	[IPC_CM_ANSWER] = { "CM_ANSWER", walk_cm, TO_CLIENT, 1 << 0 },
	[IPC_CM_EVENT] = { "CM_EVENT", walk_cm, TO_CLIENT, 1 << 0 },
	[IPC_CM_KEEP] = { "CM_KEEP", walk_cm, TO_CLIENT, 1 << 0 },
	[IPC_CM_ADOPT] = { "CM_ADOPT", walk_cm, TO_BROKER, 1 << 0 },
};
_Static_assert(sizeof(types) / sizeof(types[0]) == IPC_TYPES, "a row per type");
_Static_assert(IPC_HEADER_BYTES + 64 + IPC_STRAY_MAX <= IPC_MESSAGE_MAX, "the longest stray fits");
_Static_assert(IPC_HEADER_BYTES + 12 + IPC_STAT_CLIENTS * (11 + 1 + IPC_COMMAND_MAX) <= IPC_MESSAGE_MAX,
	"a list of clients fits");
_Static_assert(IPC_HEADER_BYTES + 12 + IPC_STAT_PAIRS * 10 <= IPC_MESSAGE_MAX, "a list of pairs fits");
_Static_assert(IPC_REASON_MAX <= 256, "a text has a length byte");

const char *ipc_type_text(enum ipc_type type)
{
	return (unsigned)type < IPC_TYPES && types[type].text != NULL ? types[type].text : "message of unknown type";
}

static void walk_header(struct cursor *c, uint16_t *type, uint32_t *body)
{
	uint16_t reserved = 0;

	cursor_u16(c, type);
	cursor_u16(c, &reserved);
	cursor_check(c, reserved == 0);
	cursor_u32(c, body);
}

ssize_t ipc_message_encode(const struct ipc_message *message, uint8_t *buf, size_t len)
{
	struct cursor c = { .store = true, .to = buf, .len = len < IPC_MESSAGE_MAX ? len : IPC_MESSAGE_MAX };
	struct ipc_message walked = *message; /* a storing walk writes back what it stored */
	uint16_t type = (uint16_t)message->type;
	uint32_t body = 0;

	if ((unsigned)message->type >= IPC_TYPES || types[message->type].walk == NULL)
		return BASE_ERR_INVAL;
	walk_header(&c, &type, &body);
	types[message->type].walk(&c, &walked);
	if (c.error != BASE_OK)
		return c.error;
	size_t end = c.at;
	body = (uint32_t)(end - IPC_HEADER_BYTES);
	c.at = 0;
	walk_header(&c, &type, &body);
	return (ssize_t)end;
}

int ipc_message_decode(struct ipc_message *out, const uint8_t *buf, size_t len, unsigned fds, bool to_broker)
{
	struct cursor c = { .from = buf, .len = len };
	struct ipc_message message = { 0 };
	uint16_t type = 0;
	uint32_t body = 0;

	if (len > IPC_MESSAGE_MAX)
		return BASE_ERR_MALFORMED;
	walk_header(&c, &type, &body);
	if (c.error != BASE_OK)
		return c.error;
	if (type >= IPC_TYPES || types[type].walk == NULL || !(types[type].directions & (to_broker ? TO_BROKER : TO_CLIENT)) ||
		fds > 7 || !(types[type].fds & 1 << fds))
		return BASE_ERR_MALFORMED;
	if (body != len - IPC_HEADER_BYTES)
		return body > len - IPC_HEADER_BYTES ? BASE_ERR_TRUNCATED : BASE_ERR_MALFORMED;
	message.type = (enum ipc_type)type;
	types[type].walk(&c, &message);
	if (c.error != BASE_OK)
		return c.error;
	if (c.at != len)
		return BASE_ERR_MALFORMED;
	if (type == IPC_HELLO && message.hello.protocol == IPC_PROTOCOL &&
		fds != (message.hello.role == IPC_ROLE_OBSERVER ? 0u : message.hello.resume ? 5u : 3u))
		return BASE_ERR_MALFORMED;
	*out = message;
	return BASE_OK;
}
