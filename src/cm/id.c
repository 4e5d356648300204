/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An id: its names, its states, its end. */
#include <string.h>

#include "cm/cm_internal.h"
#include "cm/timer.h"
#include "wire/timer.h"

const char *cm_state_text(enum cm_state state)
{
	static const char *const text[] = {
		"IDLE", "LISTEN", "SIDR_REQ_SENT", "SIDR_REQ_RCVD", "REQ_SENT", "MRA_REQ_RCVD", "MRA_REQ_SENT", "REP_SENT",
		"MRA_REP_RCVD", "MRA_REP_SENT", "ESTABLISHED", "DREQ_SENT", "DREQ_RCVD", "TIMEWAIT",
	};

	static_assert(sizeof(text) / sizeof(text[0]) == CM_STATES, "a text per state");
	return (unsigned int)state < CM_STATES ? text[state] : "?";
}

static bool is_space(enum cm_space space)
{
	switch (space) {
	case CM_PS_IPOIB:
	case CM_PS_TCP:
	case CM_PS_UDP:
	case CM_PS_IB:
		return true;
	}
	return false;
}

static bool is_qp_type(enum cm_qp_type type)
{
	switch (type) {
	case CM_QP_RC:
	case CM_QP_UC:
	case CM_QP_UD:
	case CM_QP_XRC_SEND:
	case CM_QP_XRC_RECV:
		return true;
	}
	return false;
}

int cm_id_create(struct cm *cm, uint32_t owner, uint64_t user, enum cm_space space, enum cm_qp_type qp_type, struct cm_ref *out)
{
	struct cm_id *id;

	if (owner == 0 || !is_space(space) || !is_qp_type(qp_type))
		return BASE_ERR_INVAL;
	id = cm_id_take(cm, owner);
	if (id == NULL)
		return BASE_ERR_NOMEM;
	id->user = user;
	id->space = space;
	id->qp_type = qp_type;
	*out = cm_ref_of(cm, id);
	return 0;
}

int cm_id_user_set(struct cm *cm, struct cm_ref ref, uint64_t user)
{
	struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	id->user = user;
	return 0;
}

int cm_id_info(const struct cm *cm, struct cm_ref ref, struct cm_info *out)
{
	const struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	*out = (struct cm_info){
		.owner = id->owner,
		.user = id->user,
		.state = (enum cm_state)id->state,
		.space = id->space,
		.qp_type = id->qp_type,
		.bound = id->bound,
		.passive = id->passive,
		.listener = id->listener,
		.local = id->local,
		.remote = id->remote,
		.service_id = id->service_id,
		.local_id = id->local_id,
		.remote_id = id->remote_id,
		.remote_guid = id->remote_guid,
		.local_qpn = id->local_qpn,
		.remote_qpn = id->remote_qpn,
		.path = id->path,
		.remote_ece = id->remote_ece,
	};
	return 0;
}

/* ---- names ---- */

static uint64_t peer_key(uint32_t number, uint64_t guid)
{
	return guid * 0x9e3779b97f4a7c15ull ^ number;
}

struct cm_id *cm_id_by_local(const struct cm *cm, uint32_t local_id, uint32_t remote_id)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_LOCAL, local_id);

	while (id && id->local_id != local_id)
		id = cm_table_next(cm, CM_BY_LOCAL, id);
	return id && id->remote_id == remote_id ? id : NULL;
}

struct cm_id *cm_id_by_remote(const struct cm *cm, uint32_t remote_id, uint64_t guid)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_REMOTE, peer_key(remote_id, guid));

	while (id && (id->remote_id != remote_id || id->remote_guid != guid || cm_id_is_datagram(id)))
		id = cm_table_next(cm, CM_BY_REMOTE, id);
	return id;
}

struct cm_id *cm_id_by_qpn(const struct cm *cm, uint32_t qpn, uint64_t guid)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_QPN, peer_key(qpn, guid));

	while (id && (id->remote_qpn != qpn || id->remote_guid != guid))
		id = cm_table_next(cm, CM_BY_QPN, id);
	return id;
}

bool cm_id_name_is_taken(const struct cm *cm, uint32_t local_id)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_LOCAL, local_id);

	while (id && id->local_id != local_id)
		id = cm_table_next(cm, CM_BY_LOCAL, id);
	return id;
}

void cm_id_name_enter(struct cm *cm, struct cm_id *id)
{
	cm_table_add(cm, CM_BY_LOCAL, id->local_id, id);
}

void cm_id_name(struct cm *cm, struct cm_id *id)
{
	do {
		id->local_id = (uint32_t)base_random_next(&cm->random);
	} while (id->local_id == 0 || cm_id_name_is_taken(cm, id->local_id));
	cm_id_name_enter(cm, id);
}

void cm_id_meet(struct cm *cm, struct cm_id *id)
{
	cm_table_add(cm, CM_BY_REMOTE, peer_key(id->remote_id, id->remote_guid), id);
	if (!cm_id_is_datagram(id))
		cm_table_add(cm, CM_BY_QPN, peer_key(id->remote_qpn, id->remote_guid), id);
}

/* ---- states ---- */

static void count(struct cm_stats *stats, enum cm_state state, uint32_t by)
{
	if (state == CM_ESTABLISHED)
		stats->connections += by;
	else if (state == CM_TIMEWAIT)
		stats->timewait += by;
	else if (state == CM_LISTEN)
		stats->listeners += by;
}

void cm_id_state_set(struct cm *cm, struct cm_id *id, enum cm_state state)
{
	count(&cm->stats, (enum cm_state)id->state, (uint32_t)-1);
	count(&cm->stats, state, 1);
	id->state = (uint8_t)state;
}

void cm_id_reset(struct cm *cm, struct cm_id *id)
{
	cm_out_cancel(cm, id);
	cm_table_remove(cm, CM_BY_LOCAL, id);
	cm_table_remove(cm, CM_BY_REMOTE, id);
	cm_table_remove(cm, CM_BY_QPN, id);
	cm_id_state_set(cm, id, CM_IDLE);
	cm_id_rest(cm, id);
}

void cm_id_timewait(struct cm *cm, struct cm_id *id)
{
	uint8_t code = id->ack_timeout;

	if (code < cm->config.timewait_min)
		code = cm->config.timewait_min;
	if (code > cm->config.timewait_max)
		code = cm->config.timewait_max;
	cm_out_cancel(cm, id);
	cm_id_state_set(cm, id, CM_TIMEWAIT);
	cm_timer_set(cm, id, wire_timer_cm_ns(code));
}

void cm_id_taken(struct cm *cm, struct cm_id *id)
{
	struct cm_id *listener = cm_id_find(cm, id->listener);

	if (!id->waits)
		return;
	id->waits = false;
	if (listener)
		listener->waiting--;
}

/* ---- the end ---- */

static void end_children(struct cm *cm, const struct cm_id *listener)
{
	struct cm_ref ref = cm_ref_of(cm, listener);

	/* Events that nobody took: their ids have no other owner. A walk over all, but only if there are some. */
	for (uint32_t i = 0; listener->waiting && i < cm->touched; i++)
		if (cm->ids[i].taken && cm->ids[i].waits && cm->ids[i].listener.value == ref.value)
			cm_id_end(cm, &cm->ids[i]);
}

static void reject_silently(struct cm *cm, struct cm_id *id, uint16_t reason)
{
	uint8_t guid[8];

	wire_be64_store(guid, id->path.port.node_guid);
	cm_rej_send(cm, id, reason, guid, reason == CM_REJ_TIMEOUT ? sizeof(guid) : 0, NULL, 0);
}

void cm_id_end(struct cm *cm, struct cm_id *id)
{
	cm_id_taken(cm, id);
	if (id->state == CM_LISTEN)
		end_children(cm, id);
	cm_tell_nothing(cm, id);
	cm_unbind(cm, id);
	id->owned = false;
	switch ((enum cm_state)id->state) {
	case CM_IDLE:
		cm_id_rest(cm, id);
		return;
	case CM_LISTEN:
	case CM_SIDR_REQ_SENT:
		cm_id_reset(cm, id);
		return;
	case CM_SIDR_REQ_RCVD:
		cm_sidr_rep_send(cm, id, CM_SIDR_REJECT, NULL);
		return;
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
		reject_silently(cm, id, CM_REJ_TIMEOUT);
		cm_id_reset(cm, id);
		return;
	case CM_MRA_REQ_SENT:
	case CM_MRA_REP_SENT:
		reject_silently(cm, id, CM_REJ_CONSUMER);
		cm_id_reset(cm, id);
		return;
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
		reject_silently(cm, id, CM_REJ_CONSUMER);
		cm_id_timewait(cm, id);
		return;
	case CM_ESTABLISHED:
		/* Linux 6.1 sends it once; if that is lost, the peer never knows. We repeat it, as later kernels do. */
		cm_dreq_send(cm, id);
		return;
	case CM_DREQ_RCVD:
		cm_drep_send(cm, id);
		return;
	case CM_DREQ_SENT:
	case CM_TIMEWAIT:
		return;
	case CM_STATES:
		break;
	}
	assert(false);
}

int cm_id_destroy(struct cm *cm, uint64_t now, struct cm_ref ref)
{
	struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	cm->now = now;
	cm_id_end(cm, id);
	cm_output_settle(cm);
	return 0;
}

const struct cm_stats *cm_stats_get(const struct cm *cm)
{
	return &cm->stats;
}
