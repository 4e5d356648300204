/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Established connections outlive an engine: their owners keep what cm_save() gave, and hand it to the next one. */
#include "cm/cm_internal.h"
#include "wire/mtu.h"

int cm_save(const struct cm *cm, struct cm_ref ref, struct cm_saved *out)
{
	const struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_ESTABLISHED)
		return BASE_ERR_INVAL;
	*out = (struct cm_saved){
		.space = id->space,
		.qp_type = id->qp_type,
		.local = id->local,
		.remote = id->remote,
		.service_id = id->service_id,
		.remote_guid = id->remote_guid,
		.local_id = id->local_id,
		.remote_id = id->remote_id,
		.local_qpn = id->local_qpn,
		.remote_qpn = id->remote_qpn,
		.qkey = id->qkey,
		.sq_psn = id->sq_psn,
		.rq_psn = id->rq_psn,
		.timeout_ms = (uint32_t)(id->timeout_ns / BASE_MSEC),
		.max_retries = id->max_retries,
		.ack_timeout = id->ack_timeout,
		.retry_count = id->retry_count,
		.rnr_retry_count = id->rnr_retry_count,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.passive = id->passive,
		.bound = id->bound,
		.remote_ece = id->remote_ece,
		.path = id->path,
	};
	return 0;
}

static bool is_sane(const struct cm_saved *s)
{
	uint32_t most_ms = (uint32_t)(2 * cm_peer_time_ns(CM_PEER_TIMEOUT_MAX) / BASE_MSEC);

	if (s->qp_type == CM_QP_UD || !cm_ip_is_valid(&s->local.ip) || !cm_ip_is_valid(&s->remote.ip) || (s->bound && !s->local.port))
		return false;
	if (s->local_id == 0 || s->remote_id == 0 || (s->local_qpn | s->remote_qpn | s->sq_psn | s->rq_psn) > CM_24_BITS)
		return false;
	return s->timeout_ms >= 1 && s->timeout_ms <= most_ms && s->max_retries <= CM_RETRIES_MAX &&
	       s->ack_timeout <= CM_TIMEOUT_CODE_MAX && s->retry_count <= 7 && s->rnr_retry_count <= 7 && wire_mtu_bytes(s->path.mtu);
}

static bool is_in_use(const struct cm *cm, const struct cm_saved *saved)
{
	return cm_id_name_is_taken(cm, saved->local_id) || cm_id_by_remote(cm, saved->remote_id, saved->remote_guid) ||
	       cm_id_by_qpn(cm, saved->remote_qpn, saved->remote_guid);
}

int cm_adopt(struct cm *cm, uint32_t owner, uint64_t user, const struct cm_saved *saved, struct cm_ref *out)
{
	struct cm_ref ref;
	struct cm_id *id;
	int err;

	if (!is_sane(saved))
		return BASE_ERR_INVAL;
	if (is_in_use(cm, saved))
		return BASE_ERR_EXISTS;
	err = cm_id_create(cm, owner, user, saved->space, saved->qp_type, &ref);
	if (err)
		return err;
	id = cm_id_find(cm, ref);
	id->used = true;
	id->passive = saved->passive;
	id->reuse = true;
	id->only_family = saved->local.ip.family == CM_IPV4;
	id->local = saved->local;
	id->remote = saved->remote;
	id->service_id = saved->service_id;
	id->local_id = saved->local_id;
	id->remote_id = saved->remote_id;
	id->remote_guid = saved->remote_guid;
	id->local_qpn = saved->local_qpn;
	id->remote_qpn = saved->remote_qpn;
	id->qkey = saved->qkey;
	id->sq_psn = saved->sq_psn;
	id->rq_psn = saved->rq_psn;
	id->timeout_ns = saved->timeout_ms * BASE_MSEC;
	id->max_retries = saved->max_retries;
	id->ack_timeout = saved->ack_timeout;
	id->retry_count = saved->retry_count;
	id->rnr_retry_count = saved->rnr_retry_count;
	id->responder_resources = saved->responder_resources;
	id->initiator_depth = saved->initiator_depth;
	id->remote_ece = saved->remote_ece;
	id->path = id->way = saved->path;
	id->tid = (uint64_t)cm->config.tid_high << 32 | id->local_id;
	cm_id_name_enter(cm, id);
	cm_id_meet(cm, id);
	if (saved->bound)
		cm_port_enter(cm, id, saved->local.port);
	cm_id_state_set(cm, id, CM_ESTABLISHED);
	*out = ref;
	return 0;
}
