/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/qp_attr.h"

#include "cm/cm_internal.h"

static bool is_reliable(const struct cm_id *id)
{
	return id->qp_type == CM_QP_RC || id->qp_type == CM_QP_XRC_SEND || id->qp_type == CM_QP_XRC_RECV;
}

/* Before there is a connection, and for datagrams: what the port needs, whatever state is asked for. */
static int unconnected(const struct cm_id *id, struct cm_qp_attr *out)
{
	out->mask = CM_QP_STATE | CM_QP_PKEY_INDEX | CM_QP_PORT;
	if (cm_id_is_datagram(id)) {
		out->mask |= CM_QP_QKEY;
		out->qkey = id->qkey ? id->qkey : CM_QKEY_DEFAULT;
	} else {
		out->mask |= CM_QP_ACCESS_FLAGS;
	}
	return 0;
}

static bool in_handshake(const struct cm_id *id)
{
	return id->state >= CM_REQ_SENT && id->state <= CM_ESTABLISHED;
}

/* The peer has told what the QP must know. */
static bool knows_peer(const struct cm_id *id)
{
	return in_handshake(id) && id->state != CM_REQ_SENT && id->state != CM_MRA_REQ_RCVD;
}

static int to_init(const struct cm_id *id, struct cm_qp_attr *out)
{
	if (!in_handshake(id))
		return BASE_ERR_INVAL;
	out->mask = CM_QP_STATE | CM_QP_ACCESS_FLAGS | CM_QP_PKEY_INDEX | CM_QP_PORT;
	out->access = CM_REMOTE_WRITE;
	if (id->responder_resources)
		out->access |= CM_REMOTE_READ | CM_REMOTE_ATOMIC;
	return 0;
}

static int to_rtr(const struct cm_id *id, struct cm_qp_attr *out)
{
	if (!knows_peer(id))
		return BASE_ERR_INVAL;
	out->mask = CM_QP_STATE | CM_QP_AV | CM_QP_PATH_MTU | CM_QP_DEST_QPN | CM_QP_RQ_PSN;
	out->path_mtu = id->path.mtu;
	out->dest_qpn = id->remote_qpn;
	out->rq_psn = id->rq_psn;
	if (id->qp_type == CM_QP_RC || id->qp_type == CM_QP_XRC_RECV) {
		out->mask |= CM_QP_MAX_DEST_RD_ATOMIC | CM_QP_MIN_RNR_TIMER;
		out->max_dest_rd_atomic = id->responder_resources;
	}
	return 0;
}

static int to_rts(const struct cm_id *id, struct cm_qp_attr *out)
{
	if (!knows_peer(id))
		return BASE_ERR_INVAL;
	out->mask = CM_QP_STATE | CM_QP_SQ_PSN;
	out->sq_psn = id->sq_psn;
	if (is_reliable(id)) {
		out->mask |= CM_QP_TIMEOUT;
		out->timeout = id->ack_timeout;
	}
	if (id->qp_type == CM_QP_RC || id->qp_type == CM_QP_XRC_SEND) {
		out->mask |= CM_QP_RETRY_CNT | CM_QP_RNR_RETRY | CM_QP_MAX_QP_RD_ATOMIC;
		out->retry_cnt = id->retry_count;
		out->rnr_retry = id->rnr_retry_count;
		out->max_rd_atomic = id->initiator_depth;
	}
	return 0;
}

int cm_qp_attr(const struct cm *cm, struct cm_ref ref, enum cm_qp_state state, struct cm_qp_attr *out)
{
	const struct cm_id *id = cm_id_find(cm, ref);
	struct cm_qp_attr attr = { .state = state };
	int err = BASE_ERR_INVAL;

	if (id == NULL)
		return BASE_ERR_NOENT;
	attr.path = id->path;
	if (state < CM_QP_INIT || state > CM_QP_RTS)
		return BASE_ERR_INVAL;
	if (!id->used || cm_id_is_datagram(id))
		err = unconnected(id, &attr);
	else if (state == CM_QP_INIT)
		err = to_init(id, &attr);
	else if (state == CM_QP_RTR)
		err = to_rtr(id, &attr);
	else
		err = to_rts(id, &attr);
	if (err == 0)
		*out = attr;
	return err;
}
