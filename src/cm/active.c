/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The active side: REQ, what comes back, RTU (12.9.7.1). */
#include <string.h>

#include "cm/cm_internal.h"
#include "wire/mtu.h"
#include "wire/timer.h"

uint64_t cm_peer_time_ns(uint8_t code)
{
	return wire_timer_cm_ns(code < CM_PEER_TIMEOUT_MAX ? code : CM_PEER_TIMEOUT_MAX);
}

uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t life_time)
{
	/* 4.096 us * (2 * 2^life_time + 2^ack_delay), rounded up to a power of two: the greater one, doubled when they are near. */
	uint32_t code = life_time + 1u;

	if (code >= ack_delay)
		code += ack_delay >= code - 1;
	else
		code = ack_delay + (code >= ack_delay - 1u);
	return (uint8_t)(code < 31 ? code : 31);
}

static uint8_t at_most_7(uint8_t value)
{
	return value < 7 ? value : 7;
}

static void fill_path(struct cm_req_path *out, const struct cm_path *path, uint8_t ack_timeout)
{
	bool near = path->hop_limit <= 1;

	*out = (struct cm_req_path){
		.local_lid = near ? 0 : 0xffff,
		.remote_lid = near ? 0 : 0xffff,
		.local_gid = path->sgid,
		.remote_gid = path->dgid,
		.flow_label = path->flow_label,
		.rate = path->rate,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
		.sl = path->sl,
		.subnet_local = near,
		.ack_timeout = ack_timeout,
	};
}

static uint8_t transport_of(enum cm_qp_type type)
{
	switch (type) {
	case CM_QP_UC:
		return CM_TRANSPORT_UC;
	case CM_QP_XRC_SEND:
		return CM_TRANSPORT_EXTENDED;
	case CM_QP_RC:
	case CM_QP_UD:
	case CM_QP_XRC_RECV:
		break;
	}
	return CM_TRANSPORT_RC;
}

static void fill_req(const struct cm *cm, const struct cm_id *id, const struct cm_connect *param, struct cm_message *out)
{
	struct cm_ip_header header = { id->local, id->remote.ip };
	bool xrc = id->qp_type == CM_QP_XRC_SEND;
	struct cm_req *req = &out->req;

	memset(out, 0, sizeof(*out));
	out->kind = CM_REQ;
	out->tid = id->tid;
	out->modifier = param->ece.vendor ? param->ece.options : 0;
	req->local_id = id->local_id;
	req->ece_vendor = param->ece.vendor;
	req->service_id = id->service_id;
	req->ca_guid = id->path.port.node_guid;
	req->qpn = id->local_qpn;
	req->initiator_depth = id->initiator_depth;
	req->remote_timeout = req->local_timeout = cm->config.response_timeout;
	req->max_cm_retries = cm->config.max_retries;
	req->transport = transport_of(id->qp_type);
	req->extended_transport = xrc ? CM_EXTENDED_XRC : 0;
	req->flow_control = param->conn.flow_control != 0;
	req->starting_psn = id->rq_psn;
	req->pkey = id->path.pkey;
	req->mtu = id->path.mtu;
	if (!xrc) { /* an initiator has no receive side */
		req->responder_resources = id->responder_resources;
		req->retry_count = id->retry_count;
		req->rnr_retry_count = id->rnr_retry_count;
		req->srq = param->conn.srq;
	}
	fill_path(&req->primary, &id->path, id->ack_timeout);
	cm_ip_header_encode(req->private_data, &header);
	if (param->private_len)
		memcpy(req->private_data + CM_IP_HEADER_BYTES, param->private_data, param->private_len);
}

static bool is_path(const struct cm_path *path)
{
	return wire_mtu_bytes(path->mtu) && path->life_time <= 31 && path->port.ack_delay <= 31 && path->flow_label < 1 << 20 &&
	       path->sl < 16 && path->rate < 64;
}

static void connect_reliable(struct cm *cm, struct cm_id *id, const struct cm_connect *param)
{
	struct cm_message req;

	id->local_qpn = param->conn.qpn;
	id->responder_resources = param->conn.responder_resources;
	id->initiator_depth = param->conn.initiator_depth;
	id->retry_count = at_most_7(param->conn.retry_count);
	id->rnr_retry_count = at_most_7(param->conn.rnr_retry_count);
	id->ack_timeout = cm_ack_timeout(id->path.port.ack_delay, id->path.life_time);
	id->rq_psn = (uint32_t)base_random_next(&cm->random) & CM_24_BITS;
	id->max_retries = cm->config.max_retries;
	fill_req(cm, id, param, &req);
	cm_id_state_set(cm, id, CM_REQ_SENT);
	id->timeout_ns = 2 * wire_timer_cm_ns(id->path.life_time) + wire_timer_cm_ns(cm->config.response_timeout);
	cm_owe_message(cm, id, &req, id->timeout_ns, id->max_retries);
}

int cm_connect(struct cm *cm, uint64_t now, struct cm_ref ref, const struct cm_connect *param)
{
	struct cm_id *id = cm_id_find(cm, ref);
	bool datagram;

	if (id == NULL)
		return BASE_ERR_NOENT;
	datagram = cm_id_is_datagram(id);
	if (id->state != CM_IDLE || id->used || id->remote.ip.family == CM_NO_FAMILY || !is_path(&param->path) ||
	    param->ece.vendor > CM_24_BITS || param->conn.qpn > CM_24_BITS ||
	    param->private_len > (datagram ? (uint32_t)CM_USER_ROOM_SIDR_REQ : (uint32_t)CM_USER_ROOM_REQ))
		return BASE_ERR_INVAL;
	cm->now = now;
	id->used = true;
	id->path = id->way = param->path;
	id->service_id = cm_service_id(id->space, id->remote.port);
	cm_id_name(cm, id);
	id->tid = (uint64_t)cm->config.tid_high << 32 | id->local_id;
	if (datagram)
		cm_sidr_connect(cm, id, param);
	else
		connect_reliable(cm, id, param);
	cm_output_settle(cm);
	return 0;
}

/* ---- what comes back ---- */

/* A REP for an id that has its peer: the RTU was lost, or our program is slow (12.9.8.5). */
static void repeated_rep(struct cm *cm, const struct cm_rep *rep)
{
	struct cm_id *id = cm_id_by_local(cm, rep->remote_id, rep->local_id);

	if (id == NULL || id->passive) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	cm_drop(cm, CM_DROP_STATE);
	if (id->state == CM_ESTABLISHED)
		cm_owe(cm, id, CM_OWES_RTU);
	else if (id->state == CM_MRA_REP_SENT)
		cm_owe(cm, id, CM_OWES_MRA);
}

static void take_rep(struct cm *cm, struct cm_id *id, const struct cm_message *message)
{
	const struct cm_rep *rep = &message->rep;

	id->initiator_depth = rep->responder_resources;
	id->responder_resources = rep->initiator_depth;
	id->sq_psn = rep->starting_psn;
	id->rnr_retry_count = rep->rnr_retry_count;
	id->ack_timeout = cm_ack_timeout(rep->target_ack_delay, id->ack_timeout ? id->ack_timeout - 1 : 0);
	id->remote_ece = cm_message_ece(message);
	id->peer = (struct cm_conn){
		.qpn = id->remote_qpn,
		.qkey = rep->qkey,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.flow_control = rep->flow_control,
		.rnr_retry_count = rep->rnr_retry_count,
		.srq = rep->srq,
	};
	memcpy(id->peer_data, rep->private_data, CM_ROOM_REP);
}

void cm_on_rep(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_rep *rep = &message->rep;
	struct cm_id *id = cm_id_by_local(cm, rep->remote_id, 0), *stale;
	uint32_t qpn;

	if (rep->local_id == 0) {
		cm_drop(cm, CM_DROP_FORM);
		return;
	}
	if (id == NULL || (id->state != CM_REQ_SENT && id->state != CM_MRA_REQ_RCVD)) {
		repeated_rep(cm, rep);
		return;
	}
	if (cm_id_by_remote(cm, rep->local_id, rep->ca_guid)) {
		cm_drop(cm, CM_DROP_STATE);
		return;
	}
	qpn = id->qp_type == CM_QP_XRC_SEND ? rep->eecn : rep->qpn;
	stale = cm_id_by_qpn(cm, qpn, rep->ca_guid);
	if (stale) {
		/* Its QP is connected with us already: it died without our noticing (12.9.8.3.1). */
		cm_rej_answer(cm, from, message, CM_REJ_STALE_CONN, NULL, 0);
		if (stale->state == CM_ESTABLISHED)
			cm_dreq_send(cm, stale);
		return;
	}
	cm_out_cancel(cm, id);
	id->remote_id = rep->local_id;
	id->remote_guid = rep->ca_guid;
	id->remote_qpn = qpn;
	cm_id_meet(cm, id);
	take_rep(cm, id, message);
	/* Linux prepares the MRA at once: a repeated REP is answered by one until the program has said what it wants. */
	cm_id_state_set(cm, id, CM_MRA_REP_SENT);
	cm_tell(cm, id, CM_EVENT_CONNECT_RESPONSE, 0);
}

int cm_establish(struct cm *cm, uint64_t now, struct cm_ref ref)
{
	struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_MRA_REP_SENT)
		return BASE_ERR_INVAL;
	cm->now = now;
	cm_id_state_set(cm, id, CM_ESTABLISHED);
	cm_owe(cm, id, CM_OWES_RTU);
	cm_output_settle(cm);
	return 0;
}
