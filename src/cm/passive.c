/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The passive side: REQ comes, REP goes, RTU comes (12.9.7.2). */
#include <string.h>

#include "cm/cm_internal.h"
#include "wire/mtu.h"

/* A request that we have already (12.9.8.4, 12.9.8.6). */
static void repeated_req(struct cm *cm, const struct cm_path *from, const struct cm_message *message, struct cm_id *id)
{
	cm_drop(cm, CM_DROP_STATE);
	if (id->state == CM_MRA_REQ_SENT && id->owned)
		cm_owe(cm, id, CM_OWES_MRA);
	else if (id->state == CM_TIMEWAIT)
		cm_rej_answer(cm, from, message, CM_REJ_STALE_CONN, NULL, 0);
	/* In other states it was answered, and the answer repeats itself. */
}

static enum cm_qp_type type_of(const struct cm_req *req)
{
	if (req->transport == CM_TRANSPORT_UC)
		return CM_QP_UC;
	return req->transport == CM_TRANSPORT_EXTENDED ? CM_QP_XRC_RECV : CM_QP_RC;
}

/* What is wrong with a request whoever listens; 0: nothing. In the order of the fields. */
static uint16_t judge(const struct cm_req *req)
{
	if (req->transport == CM_TRANSPORT_RD)
		return CM_REJ_INVALID_TRANSPORT_TYPE;
	if (req->transport == CM_TRANSPORT_EXTENDED && req->extended_transport != CM_EXTENDED_XRC)
		return CM_REJ_INVALID_TRANSPORT_TYPE;
	if (wire_mtu_bytes(req->mtu) == 0)
		return CM_REJ_INVALID_MTU;
	return 0;
}

struct cm_id *cm_child_new(struct cm *cm, struct cm_id *listener, const struct cm_path *from, const struct cm_ip_header *header)
{
	struct cm_id *id;

	if (listener->waiting >= listener->backlog) {
		cm_drop(cm, CM_DROP_BACKLOG);
		return NULL;
	}
	id = cm_id_take(cm, listener->owner);
	if (id == NULL) {
		cm_drop(cm, CM_DROP_LIMIT);
		return NULL;
	}
	id->used = id->passive = id->waits = true;
	listener->waiting++;
	id->listener = cm_ref_of(cm, listener);
	id->space = listener->space;
	id->qp_type = listener->qp_type;
	id->service_id = listener->service_id;
	id->local = (struct cm_address){ header->destination, listener->local.port };
	id->remote = header->source;
	id->path = id->way = *from;
	cm_id_name(cm, id);
	return id;
}

static void path_of(struct cm_path *path, const struct cm_req *req)
{
	path->dgid = req->primary.local_gid;
	path->flow_label = req->primary.flow_label;
	path->traffic_class = req->primary.traffic_class;
	path->hop_limit = req->primary.hop_limit;
	path->sl = req->primary.sl;
	path->rate = req->primary.rate;
	path->pkey = req->pkey;
	path->mtu = req->mtu;
	path->life_time = req->primary.ack_timeout ? req->primary.ack_timeout - 1 : 0;
}

static bool path_is_usable(const struct cm *cm, const struct cm_path *from, const struct cm_req *req, struct wire_gid *acceptable)
{
	struct cm_path path = *from;

	*acceptable = from->sgid;
	path_of(&path, req);
	if (wire_gid_is_zero(&path.dgid) || wire_gid_is_multicast(&path.dgid))
		return false;
	return cm->ops.usable == NULL || cm->ops.usable(cm->host, &path, acceptable);
}

static void take_req(struct cm *cm, struct cm_id *id, const struct cm_message *message)
{
	const struct cm_req *req = &message->req;

	path_of(&id->path, req);
	id->tid = message->tid;
	id->remote_id = req->local_id;
	id->remote_guid = req->ca_guid;
	id->remote_qpn = req->qpn;
	id->sq_psn = req->starting_psn;
	id->rq_psn = (uint32_t)base_random_next(&cm->random) & CM_24_BITS;
	id->initiator_depth = req->responder_resources;
	id->responder_resources = req->initiator_depth;
	id->retry_count = req->retry_count;
	id->rnr_retry_count = req->rnr_retry_count;
	id->ack_timeout = req->primary.ack_timeout;
	id->max_retries = req->max_cm_retries;
	id->timeout_ns = cm_peer_time_ns(req->local_timeout);
	id->remote_ece = cm_message_ece(message);
	id->peer = (struct cm_conn){
		.qpn = req->qpn,
		.qkey = req->qkey,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.flow_control = req->flow_control,
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.srq = req->srq,
	};
	memcpy(id->peer_data, req->private_data + CM_IP_HEADER_BYTES, CM_USER_ROOM_REQ);
}

/* The listener for a request; NULL and the reason to refuse it, 0 to say nothing. */
static struct cm_id *who_listens(const struct cm *cm, const struct cm_path *from, const struct cm_req *req,
				 const struct cm_ip_header *header, uint16_t *reason)
{
	enum cm_space space = (enum cm_space)cm_service_space(req->service_id);
	struct cm_id *listener = cm_listener_find(cm, space, (uint16_t)req->service_id, &header->destination);

	*reason = CM_REJ_INVALID_SERVICE_ID;
	if (listener == NULL || (cm->ops.owns && !cm->ops.owns(cm->host, &from->port, &header->destination)))
		return NULL;
	*reason = CM_REJ_CONSUMER; /* as Linux answers a QP type that the listener is not of */
	return listener->qp_type == type_of(req) ? listener : NULL;
}

void cm_on_req(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_req *req = &message->req;
	struct cm_id *id = cm_id_by_remote(cm, req->local_id, req->ca_guid), *listener;
	struct cm_ip_header header;
	struct wire_gid acceptable;
	uint16_t reason;

	/* Annex A11: another version of the header is not answered. */
	if (req->local_id == 0 || cm_ip_header_decode(&header, req->private_data, sizeof(req->private_data)) < 0) {
		cm_drop(cm, CM_DROP_FORM);
		return;
	}
	if (id) {
		repeated_req(cm, from, message, id);
		return;
	}
	id = cm_id_by_qpn(cm, req->qpn, req->ca_guid);
	if (id) {
		/* Its QP is connected with us already: it died without our noticing (12.9.8.3.1). */
		cm_rej_answer(cm, from, message, CM_REJ_STALE_CONN, NULL, 0);
		if (id->state == CM_ESTABLISHED)
			cm_dreq_send(cm, id);
		return;
	}
	listener = who_listens(cm, from, req, &header, &reason);
	if (listener && judge(req)) {
		reason = judge(req);
		listener = NULL;
	}
	if (listener == NULL) {
		cm_rej_answer(cm, from, message, reason, NULL, 0);
		return;
	}
	if (!path_is_usable(cm, from, req, &acceptable)) {
		cm_rej_answer(cm, from, message, CM_REJ_INVALID_GID, acceptable.raw, WIRE_GID_BYTES);
		return;
	}
	id = cm_child_new(cm, listener, from, &header);
	if (id == NULL)
		return;
	take_req(cm, id, message);
	cm_id_meet(cm, id);
	/* Linux prepares the MRA at once: a repeated REQ is answered by one until the program has answered. */
	cm_id_state_set(cm, id, CM_MRA_REQ_SENT);
	cm_tell(cm, id, CM_EVENT_CONNECT_REQUEST, 0);
}

/* ---- the answer ---- */

static void fill_rep(const struct cm_id *id, const struct cm_accept *param, struct cm_message *out)
{
	struct cm_rep *rep = &out->rep;

	memset(out, 0, sizeof(*out));
	out->kind = CM_REP;
	out->tid = id->tid;
	out->modifier = param->ece.vendor ? param->ece.options : 0;
	rep->local_id = id->local_id;
	rep->remote_id = id->remote_id;
	rep->ece_vendor = param->ece.vendor;
	rep->starting_psn = id->rq_psn;
	rep->responder_resources = id->responder_resources;
	rep->target_ack_delay = id->path.port.ack_delay;
	rep->rnr_retry_count = param->conn.rnr_retry_count < 7 ? param->conn.rnr_retry_count : 7;
	rep->ca_guid = id->path.port.node_guid;
	if (id->qp_type == CM_QP_XRC_RECV) { /* a target sends nothing, and its number stands elsewhere */
		rep->eecn = id->local_qpn;
		rep->srq = 1;
	} else {
		rep->qpn = id->local_qpn;
		rep->initiator_depth = id->initiator_depth;
		rep->flow_control = param->conn.flow_control != 0;
		rep->srq = param->conn.srq;
	}
	if (param->private_len)
		memcpy(rep->private_data, param->private_data, param->private_len);
}

int cm_accept(struct cm *cm, uint64_t now, struct cm_ref child, const struct cm_accept *param)
{
	struct cm_id *id = cm_id_find(cm, child);
	struct cm_message rep;
	uint32_t room;

	if (id == NULL)
		return BASE_ERR_NOENT;
	room = cm_id_is_datagram(id) ? CM_ROOM_SIDR_REP : CM_ROOM_REP;
	if ((id->state != CM_MRA_REQ_SENT && id->state != CM_SIDR_REQ_RCVD) || param->private_len > room ||
	    param->ece.vendor > CM_24_BITS || param->conn.qpn > CM_24_BITS)
		return BASE_ERR_INVAL;
	cm->now = now;
	cm_id_taken(cm, id);
	id->local_qpn = param->conn.qpn;
	if (id->state == CM_SIDR_REQ_RCVD) {
		cm_sidr_accept(cm, id, param);
	} else {
		id->initiator_depth = param->conn.initiator_depth;
		id->responder_resources = param->conn.responder_resources;
		fill_rep(id, param, &rep);
		cm_id_state_set(cm, id, CM_REP_SENT);
		cm_owe_message(cm, id, &rep, id->timeout_ns, id->max_retries);
	}
	cm_output_settle(cm);
	return 0;
}

/* ---- what comes then ---- */

static void establish(struct cm *cm, struct cm_id *id)
{
	cm_out_cancel(cm, id);
	cm_id_state_set(cm, id, CM_ESTABLISHED);
	cm_tell(cm, id, CM_EVENT_ESTABLISHED, 0);
}

static bool awaits_rtu(const struct cm_id *id)
{
	return id->state == CM_REP_SENT || id->state == CM_MRA_REP_RCVD;
}

void cm_on_rtu(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	struct cm_id *id = cm_id_by_local(cm, message->rtu.remote_id, message->rtu.local_id);

	if (id == NULL)
		cm_drop(cm, CM_DROP_NO_ID);
	else if (!awaits_rtu(id))
		cm_drop(cm, CM_DROP_STATE);
	else
		establish(cm, id);
}

int cm_notify(struct cm *cm, uint64_t now, struct cm_ref ref)
{
	struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (!awaits_rtu(id))
		return BASE_ERR_INVAL;
	cm->now = now;
	establish(cm, id);
	return 0;
}
