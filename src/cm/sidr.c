/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service id resolution, 12.11: how datagram QPs find each other. One question, one answer, nothing remembered by who answers. */
#include <string.h>

#include "cm/cm_internal.h"
#include "wire/timer.h"

void cm_sidr_connect(struct cm *cm, struct cm_id *id, const struct cm_connect *param)
{
	struct cm_ip_header header = { id->local, id->remote.ip };
	struct cm_message req;

	memset(&req, 0, sizeof(req));
	/* No ECE: there is no room for a vendor id that all agree on, and nobody reads the options. */
	req.kind = CM_SIDR_REQ;
	req.tid = id->tid;
	req.sidr_req.request_id = id->local_id;
	req.sidr_req.pkey = id->path.pkey;
	req.sidr_req.service_id = id->service_id;
	cm_ip_header_encode(req.sidr_req.private_data, &header);
	if (param->private_len)
		memcpy(req.sidr_req.private_data + CM_IP_HEADER_BYTES, param->private_data, param->private_len);
	id->local_qpn = param->conn.qpn;
	cm_id_state_set(cm, id, CM_SIDR_REQ_SENT);
	cm_owe_message(cm, id, &req, wire_timer_cm_ns(cm->config.response_timeout), cm->config.max_retries);
}

void cm_on_sidr_rep(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_sidr_rep *rep = &message->sidr_rep;
	struct cm_id *id = cm_id_by_local(cm, rep->request_id, 0);

	if (id == NULL || id->state != CM_SIDR_REQ_SENT) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	if (rep->status == CM_SIDR_OK) {
		id->remote_qpn = rep->qpn;
		id->qkey = rep->qkey;
		id->remote_ece = cm_message_ece(message);
		id->peer = (struct cm_conn){ .qpn = rep->qpn, .qkey = rep->qkey };
		memcpy(id->peer_data, rep->private_data, CM_ROOM_SIDR_REP);
		cm_tell(cm, id, CM_EVENT_ESTABLISHED, 0);
	} else {
		cm_tell(cm, id, CM_EVENT_UNREACHABLE, rep->status);
	}
	cm_id_reset(cm, id);
}

/* ---- who is asked ---- */

static uint64_t request_key(uint32_t request_id, const struct wire_gid *from)
{
	return (wire_be64_load(from->raw) ^ wire_be64_load(from->raw + 8)) * 0x9e3779b97f4a7c15ull ^ ~(uint64_t)request_id;
}

static bool is_known(const struct cm *cm, uint32_t request_id, const struct wire_gid *from)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_REMOTE, request_key(request_id, from));

	while (id && !(cm_id_is_datagram(id) && id->remote_id == request_id && wire_gid_equal(&id->way.dgid, from)))
		id = cm_table_next(cm, CM_BY_REMOTE, id);
	return id;
}

static void refuse(struct cm *cm, const struct cm_path *from, const struct cm_message *message, enum cm_sidr_status status)
{
	struct cm_message rep;

	memset(&rep, 0, sizeof(rep));
	rep.kind = CM_SIDR_REP;
	rep.tid = message->tid;
	rep.sidr_rep.request_id = message->sidr_req.request_id;
	rep.sidr_rep.service_id = message->sidr_req.service_id;
	rep.sidr_rep.status = (uint8_t)status;
	cm_answer(cm, from, &rep);
}

void cm_on_sidr_req(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_sidr_req *req = &message->sidr_req;
	enum cm_space space = (enum cm_space)cm_service_space(req->service_id);
	struct cm_ip_header header;
	struct cm_id *listener, *id;

	if (req->request_id == 0 || cm_ip_header_decode(&header, req->private_data, sizeof(req->private_data)) < 0) {
		cm_drop(cm, CM_DROP_FORM);
		return;
	}
	if (is_known(cm, req->request_id, &from->dgid)) {
		cm_drop(cm, CM_DROP_STATE);
		return;
	}
	listener = cm_listener_find(cm, space, (uint16_t)req->service_id, &header.destination);
	if (listener == NULL || (cm->ops.owns && !cm->ops.owns(cm->host, &from->port, &header.destination))) {
		refuse(cm, from, message, CM_SIDR_UNSUPPORTED);
		return;
	}
	if (listener->qp_type != CM_QP_UD) {
		refuse(cm, from, message, CM_SIDR_REJECT);
		return;
	}
	id = cm_child_new(cm, listener, from, &header);
	if (id == NULL)
		return;
	id->tid = message->tid;
	id->remote_id = req->request_id;
	id->path.pkey = req->pkey;
	memcpy(id->peer_data, req->private_data + CM_IP_HEADER_BYTES, CM_USER_ROOM_SIDR_REQ);
	cm_table_add(cm, CM_BY_REMOTE, request_key(id->remote_id, &from->dgid), id);
	cm_id_state_set(cm, id, CM_SIDR_REQ_RCVD);
	cm_tell(cm, id, CM_EVENT_CONNECT_REQUEST, 0);
}

void cm_sidr_rep_send(struct cm *cm, struct cm_id *id, enum cm_sidr_status status, const struct cm_accept *param)
{
	struct cm_message rep;

	memset(&rep, 0, sizeof(rep));
	rep.kind = CM_SIDR_REP;
	rep.tid = id->tid;
	rep.sidr_rep.request_id = id->remote_id;
	rep.sidr_rep.service_id = id->service_id;
	rep.sidr_rep.status = (uint8_t)status;
	if (status == CM_SIDR_OK) {
		rep.modifier = param->ece.vendor ? param->ece.options : 0;
		rep.sidr_rep.ece_vendor = param->ece.vendor;
		rep.sidr_rep.qpn = id->local_qpn;
		rep.sidr_rep.qkey = id->qkey;
	}
	if (param && param->private_len)
		memcpy(rep.sidr_rep.private_data, param->private_data, param->private_len);
	cm_owe_message(cm, id, &rep, 0, 0);
	cm_id_reset(cm, id);
}

void cm_sidr_accept(struct cm *cm, struct cm_id *id, const struct cm_accept *param)
{
	id->qkey = param->conn.qkey ? param->conn.qkey : CM_QKEY_DEFAULT;
	cm_sidr_rep_send(cm, id, CM_SIDR_OK, param);
}
