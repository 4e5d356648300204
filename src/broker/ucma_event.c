/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events and attributes in the layouts of the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "broker/ucma_internal.h"

_Static_assert(sizeof(struct rdma_ucm_event_resp) <= IPC_CM_MAX, "an event fits into a message");

static void event_send(struct broker_ucma *u, struct ucma_id *id, const struct rdma_ucm_event_resp *event)
{
	struct ipc_message m = { .type = IPC_CM_EVENT, .cm = { .len = sizeof(*event), .bytes = (const uint8_t *)event } };

	id->events++;
	u->ops->send(u->context, id->slot, &m);
}

void ucma_event_plain(struct broker_ucma *u, struct ucma_id *id, uint32_t type, int status)
{
	const struct rdma_ucm_event_resp event = { .uid = id->uid, .id = id->id, .event = type, .status = (uint32_t)status };

	event_send(u, id, &event);
}

void ucma_ah_attr_store(const struct broker_ucma *u, struct ib_uverbs_ah_attr *out, const struct cm_path *path)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->grh.dgid, path->dgid.raw, WIRE_GID_BYTES);
	out->grh.flow_label = path->flow_label;
	out->grh.sgid_index = ucma_sgid_index(u, path);
	out->grh.hop_limit = path->hop_limit;
	out->grh.traffic_class = path->traffic_class;
	out->sl = path->sl;
	out->static_rate = path->rate;
	out->is_global = 1;
	out->port_num = 1;
}

void ucma_path_rec_store(struct ib_user_path_rec *out, const struct cm_path *path)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->dgid, path->dgid.raw, WIRE_GID_BYTES);
	memcpy(out->sgid, path->sgid.raw, WIRE_GID_BYTES);
	out->flow_label = htonl(path->flow_label);
	out->reversible = 1;
	out->mtu = path->mtu;
	out->pkey = htons(path->pkey);
	out->hop_limit = path->hop_limit;
	out->traffic_class = path->traffic_class;
	out->sl = path->sl;
	out->mtu_selector = out->rate_selector = out->packet_life_time_selector = 2; /* exactly */
	out->rate = path->rate;
	out->packet_life_time = path->life_time;
}

void ucma_qp_attr_store(const struct broker_ucma *u, struct ib_uverbs_qp_attr *out, const struct cm_qp_attr *attr)
{
	memset(out, 0, sizeof(*out));
	out->qp_attr_mask = attr->mask;
	out->qp_state = (uint32_t)attr->state;
	out->path_mtu = attr->path_mtu;
	out->qkey = attr->qkey;
	out->rq_psn = attr->rq_psn;
	out->sq_psn = attr->sq_psn;
	out->dest_qp_num = attr->dest_qpn;
	out->qp_access_flags = attr->access;
	if (attr->mask & CM_QP_AV)
		ucma_ah_attr_store(u, &out->ah_attr, &attr->path);
	out->max_rd_atomic = attr->max_rd_atomic;
	out->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	out->min_rnr_timer = attr->min_rnr_timer;
	out->port_num = 1;
	out->timeout = attr->timeout;
	out->retry_cnt = attr->retry_cnt;
	out->rnr_retry = attr->rnr_retry;
}

static void conn_store(struct rdma_ucm_conn_param *out, const struct cm_event *event)
{
	out->qp_num = event->conn.qpn;
	out->qkey = event->conn.qkey;
	memcpy(out->private_data, event->private_data, event->private_len);
	out->private_data_len = (uint8_t)event->private_len;
	out->srq = event->conn.srq;
	out->responder_resources = event->conn.responder_resources;
	out->initiator_depth = event->conn.initiator_depth;
	out->flow_control = event->conn.flow_control;
	out->retry_count = event->conn.retry_count;
	out->rnr_retry_count = event->conn.rnr_retry_count;
}

static void ud_store(const struct broker_ucma *u, const struct ucma_id *id, struct rdma_ucm_ud_param *out, const struct cm_event *event)
{
	out->qp_num = event->conn.qpn;
	out->qkey = event->conn.qkey;
	memcpy(out->private_data, event->private_data, event->private_len);
	out->private_data_len = (uint8_t)event->private_len;
	ucma_ah_attr_store(u, &out->ah_attr, &id->path);
}

/* The child of a request gets an entry; without one the peer is told that we are full. */
static struct ucma_id *child_add(struct broker_ucma *u, const struct cm_event *event, const struct ucma_id *listener)
{
	struct ucma_id *id = ucma_add(u, listener->slot, 0, 0);

	if (id == NULL) {
		cm_reject(u->cm, u->ops->now(u->context), event->id, CM_REJ_NO_RESOURCES, NULL, 0);
		cm_id_destroy(u->cm, u->ops->now(u->context), event->id);
		return NULL;
	}
	id->ref = event->id;
	id->listener = listener->id;
	id->space = listener->space;
	id->qp_type = listener->qp_type;
	id->stage = UCMA_CONNECT;
	id->qkey = listener->qkey;
	id->tos = listener->tos;
	cm_id_user_set(u->cm, id->ref, ucma_user(id));
	ucma_refresh(u, id);
	return id;
}

void ucma_event_engine(struct broker_ucma *u, const struct cm_event *event)
{
	bool request = event->type == CM_EVENT_CONNECT_REQUEST;
	struct ucma_id *about = ucma_find(u, (uint8_t)(event->user >> 32), (uint32_t)event->user), *id = about;
	struct rdma_ucm_event_resp out = { .event = (uint32_t)event->type };

	if (about == NULL)
		return;
	if (request) {
		id = child_add(u, event, about);
		if (id == NULL)
			return;
	} else if (id->uid == 0) {
		return; /* as the kernel does: nobody has taken the child yet */
	}
	out.uid = about->uid;
	out.id = id->id;
	out.status = (uint32_t)(event->status < 0 ? -base_err_to_errno(event->status) : event->status);
	if (id->qp_type == CM_QP_UD)
		ud_store(u, id, &out.param.ud, event);
	else
		conn_store(&out.param.conn, event);
	out.ece.vendor_id = event->ece.vendor;
	out.ece.attr_mod = event->ece.options;
	ucma_keep(u, id);
	event_send(u, request ? about : id, &out);
}
