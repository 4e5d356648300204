/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What owners hear. An id has room for all events of its life: each kind comes once at most. */
#include <string.h>

#include "cm/cm_internal.h"
#include "cm/queue.h"

enum { NEXT = offsetof(struct cm_id, event_next) };

void cm_tell(struct cm *cm, struct cm_id *id, enum cm_event_type type, int status)
{
	/* After DISCONNECTED, and after the end of a handshake, Linux's cma tells nothing but the end of timewait. */
	uint16_t final = 1 << CM_EVENT_DISCONNECTED | 1 << CM_EVENT_REJECTED | 1 << CM_EVENT_UNREACHABLE;

	if (!id->owned || (id->told & 1 << type) || ((id->told & final) && type != CM_EVENT_TIMEWAIT_EXIT))
		return;
	assert(id->pending_count < CM_PENDING_MAX);
	id->told |= (uint16_t)(1 << type);
	id->pending[id->pending_count++] = (struct cm_pending){ (uint8_t)type, status };
	if (id->in_events)
		return;
	id->in_events = true;
	cm_queue_push(cm, &cm->events, NEXT, id);
}

void cm_tell_nothing(struct cm *cm, struct cm_id *id)
{
	struct cm_queue kept = CM_QUEUE_EMPTY;
	struct cm_id *other;

	id->pending_count = 0;
	if (!id->in_events)
		return;
	id->in_events = false;
	if (cm->events.head == cm_index(cm, id)) {
		cm_queue_pop(cm, &cm->events, NEXT);
		return;
	}
	/* Seldom: an id that is destroyed while it has events, in the midst of others. */
	while ((other = cm_queue_pop(cm, &cm->events, NEXT)))
		if (other != id)
			cm_queue_push(cm, &kept, NEXT, other);
	cm->events = kept;
}

static void private_data(struct cm_event *out, const uint8_t *data, uint16_t len)
{
	out->private_len = len;
	memcpy(out->private_data, data, len);
}

static void fill(struct cm_event *out, const struct cm *cm, const struct cm_id *id)
{
	const struct cm_id *listener = cm_id_find(cm, id->listener);
	bool datagram = cm_id_is_datagram(id);

	switch (out->type) {
	case CM_EVENT_CONNECT_REQUEST:
		out->listener = id->listener;
		out->user = listener ? listener->user : 0;
		out->conn = id->peer;
		out->ece = id->remote_ece;
		private_data(out, id->peer_data, datagram ? CM_USER_ROOM_SIDR_REQ : CM_USER_ROOM_REQ);
		return;
	case CM_EVENT_CONNECT_RESPONSE:
		out->conn = id->peer;
		out->ece = id->remote_ece;
		private_data(out, id->peer_data, CM_ROOM_REP);
		return;
	case CM_EVENT_ESTABLISHED:
		if (!datagram)
			return;
		out->conn = id->peer;
		out->ece = id->remote_ece;
		private_data(out, id->peer_data, CM_ROOM_SIDR_REP);
		return;
	case CM_EVENT_REJECTED:
		private_data(out, id->rej_data, CM_ROOM_REJ);
		out->info_len = id->rej_info_len;
		memcpy(out->info, id->rej_info, id->rej_info_len);
		return;
	case CM_EVENT_UNREACHABLE:
	case CM_EVENT_DISCONNECTED:
	case CM_EVENT_TIMEWAIT_EXIT:
		return;
	}
}

bool cm_event_next(struct cm *cm, struct cm_event *out)
{
	struct cm_id *id = cm_queue_pop(cm, &cm->events, NEXT);

	if (id == NULL)
		return false;
	memset(out, 0, sizeof(*out));
	out->type = (enum cm_event_type)id->pending[0].type;
	out->status = id->pending[0].status;
	out->id = cm_ref_of(cm, id);
	out->owner = id->owner;
	out->user = id->user;
	fill(out, cm, id);
	id->pending_count--;
	memmove(id->pending, id->pending + 1, id->pending_count * sizeof(id->pending[0]));
	id->in_events = id->pending_count;
	if (id->in_events)
		cm_queue_push(cm, &cm->events, NEXT, id);
	return true;
}
