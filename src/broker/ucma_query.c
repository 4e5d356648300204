/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses that are asked for: an id whose next hop's link address is not known waits here (stage ADDR_QUERY) until a neighbour says
 * it or the time that its program gave is over. The kernel asks; each notice about that hop is a reason to look, and to ask again
 * when it has given up before we do. Nothing else of the id changes meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "broker/ucma_internal.h"

struct ucma_query {
	struct ucma_query *next;
	uint32_t id;
	uint8_t slot;
	struct ucma_way way;
	struct netdev_hop hop;
	uint64_t deadline;
};

static int look(struct broker_ucma *u, const struct ucma_way *way, struct netdev_hop *hop)
{
	const struct wire_gid source = ucma_gid_of(&way->source), destination = ucma_gid_of(&way->destination.ip);

	return u->ops->neighbour == NULL ? BASE_OK :
		u->ops->neighbour(u->context, &source, &destination, way->destination.ip.scope, hop);
}

static int resolved(struct broker_ucma *u, struct ucma_id *id, const struct ucma_way *way)
{
	int err = ucma_resolve_take(u, id, way);

	if (err != 0)
		return err;
	ucma_keep(u, id);
	ucma_event_plain(u, id, 0 /* RDMA_CM_EVENT_ADDR_RESOLVED */, 0);
	return 0;
}

int ucma_query(struct broker_ucma *u, struct ucma_id *id, const struct ucma_way *way, uint32_t timeout_ms)
{
	struct netdev_hop hop = { 0 };
	int err = look(u, way, &hop);

	if (err == BASE_OK)
		return resolved(u, id, way);
	if (err != BASE_ERR_AGAIN)
		return err == BASE_ERR_UNREACH ? ENETUNREACH : ucma_errno(err);
	struct ucma_query *q = malloc(sizeof(*q));
	if (q == NULL)
		return ENOMEM;
	*q = (struct ucma_query){ .next = u->queries, .id = id->id, .slot = id->slot, .way = *way, .hop = hop,
		.deadline = u->ops->now(u->context) + timeout_ms * BASE_MSEC };
	u->queries = q;
	id->stage_before = id->stage;
	id->stage = UCMA_ADDR_QUERY;
	id->destination = way->destination;
	ucma_keep(u, id);
	return 0;
}

static void unlink_at(struct ucma_query **at)
{
	struct ucma_query *q = *at;

	*at = q->next;
	free(q);
}

void ucma_query_forget(struct broker_ucma *u, const struct ucma_id *id)
{
	for (struct ucma_query **at = &u->queries; *at != NULL; at = &(*at)->next) {
		if ((*at)->id == id->id && (*at)->slot == id->slot) {
			unlink_at(at);
			return;
		}
	}
}

/* It is over, one way or the other; the id goes on from where it was. */
static void end(struct broker_ucma *u, struct ucma_query **at, int err)
{
	struct ucma_id *id = ucma_find(u, (*at)->slot, (*at)->id);
	const struct ucma_way way = (*at)->way;
	const struct netdev_device *device = &u->table->devices[way.device];

	unlink_at(at);
	id->stage = id->stage_before;
	if (err == 0 && ((uint32_t)way.device >= u->table->count || device->ifindex == 0))
		err = ENODEV;
	if (err == 0)
		err = resolved(u, id, &way);
	if (err == 0)
		return;
	ucma_keep(u, id);
	ucma_event_plain(u, id, 1 /* RDMA_CM_EVENT_ADDR_ERROR */, -err);
}

void broker_ucma_neighbour_changed(struct broker_ucma *u, uint32_t ifindex, const struct wire_gid *address)
{
	for (struct ucma_query **at = &u->queries; *at != NULL;) {
		struct ucma_query *q = *at;
		int err = BASE_ERR_AGAIN;

		if (ifindex == 0 || (q->hop.ifindex == ifindex && wire_gid_equal(&q->hop.next, address)))
			err = look(u, &q->way, &q->hop);
		if (err == BASE_OK)
			end(u, at, 0);
		else
			at = &q->next; /* a way that is gone may come back in time */
	}
}

bool broker_ucma_is_asking(const struct broker_ucma *u)
{
	return u->queries != NULL;
}

uint64_t ucma_query_deadline(const struct broker_ucma *u)
{
	uint64_t at = BASE_NEVER;

	for (const struct ucma_query *q = u->queries; q != NULL; q = q->next)
		if (q->deadline < at)
			at = q->deadline;
	return at;
}

void ucma_query_tick(struct broker_ucma *u, uint64_t now)
{
	for (struct ucma_query **at = &u->queries; *at != NULL;) {
		if (now >= (*at)->deadline)
			end(u, at, ETIMEDOUT);
		else
			at = &(*at)->next;
	}
}
