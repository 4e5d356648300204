/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The engine's own check of itself, for tests and fuzzers. */
#include "cm/cm_internal.h"

static bool is_linked(const struct cm_id *id, enum cm_table_name table)
{
	return id->links[table].bucket != CM_NIL;
}

static bool needs_timer(const struct cm_id *id)
{
	switch ((enum cm_state)id->state) {
	case CM_SIDR_REQ_SENT:
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
	case CM_DREQ_SENT:
	case CM_TIMEWAIT:
		return true;
	case CM_IDLE:
	case CM_LISTEN:
	case CM_SIDR_REQ_RCVD:
	case CM_MRA_REQ_SENT:
	case CM_MRA_REP_SENT:
	case CM_ESTABLISHED:
	case CM_DREQ_RCVD:
	case CM_STATES:
		break;
	}
	return false;
}

static bool has_peer(const struct cm_id *id)
{
	return id->state >= CM_MRA_REQ_SENT && id->state <= CM_TIMEWAIT;
}

/* One id: its state is told by one variable, and all else follows from it. */
static bool id_is_sound(const struct cm *cm, const struct cm_id *id)
{
	bool handshake = id->state >= CM_SIDR_REQ_SENT;
	/* Refused as stale by a peer that it never met: in timewait without a name for it. */
	bool unmet = id->state == CM_TIMEWAIT && id->remote_id == 0;

	if ((id->timer_at != CM_NIL) != needs_timer(id) || (id->timer_at != CM_NIL && cm->heap[id->timer_at] != cm_index(cm, id)))
		return false;
	if (is_linked(id, CM_BY_LOCAL) != handshake || is_linked(id, CM_BY_QPN) != (has_peer(id) && !unmet))
		return false;
	if (is_linked(id, CM_BY_REMOTE) != ((has_peer(id) && !unmet) || id->state == CM_SIDR_REQ_RCVD))
		return false;
	if (is_linked(id, CM_BY_PORT) != id->bound || (id->state == CM_LISTEN && !id->bound))
		return false;
	if (id->owed && !id->in_output)
		return false;
	if (!id->owned && (id->pending_count || id->bound || id->waits || (id->state == CM_IDLE && !id->in_output)))
		return false;
	return (id->pending_count > 0) == id->in_events;
}

static bool counts_are_sound(const struct cm *cm)
{
	uint32_t taken = 0, connections = 0, timewait = 0, listeners = 0, waiting = 0, waits = 0, timers = 0, of_owners = 0;

	for (uint32_t i = 0; i < cm->touched; i++) {
		const struct cm_id *id = &cm->ids[i];

		if (!id->taken)
			continue;
		taken++;
		connections += id->state == CM_ESTABLISHED;
		timewait += id->state == CM_TIMEWAIT;
		listeners += id->state == CM_LISTEN;
		waiting += id->waiting;
		waits += id->waits && cm_id_find(cm, id->listener);
		timers += id->timer_at != CM_NIL;
		of_owners += is_linked(id, CM_BY_OWNER) ? id->owner_count : 0;
	}
	return taken == cm->stats.ids && taken + cm->free_count == cm->touched && connections == cm->stats.connections &&
	       timewait == cm->stats.timewait && listeners == cm->stats.listeners && waiting == waits && timers == cm->heap_count &&
	       of_owners == taken;
}

bool cm_is_sound(const struct cm *cm)
{
	for (uint32_t i = 0; i < cm->touched; i++)
		if (cm->ids[i].taken && !id_is_sound(cm, &cm->ids[i]))
			return false;
	for (uint32_t i = 1; i < cm->heap_count; i++)
		if (cm->ids[cm->heap[i]].deadline < cm->ids[cm->heap[(i - 1) / 2]].deadline)
			return false;
	return cm->answers_count <= cm->config.answers && counts_are_sound(cm);
}
