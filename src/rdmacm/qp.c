/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* QPs, SRQs and completion queues of ids, and the states of the QP on the way of a connection. */
#include "rdmacm/id.h"
#include "rdmacm/marshal.h"
#include "rdmacm/symbol.h"

#include <rdma/rdma_verbs.h>

#include <errno.h>
#include <string.h>

/* --- attributes --- */

RDMACM_PUBLIC int rdma_init_qp_attr(struct rdma_cm_id *public, struct ibv_qp_attr *attr, int *mask)
{
	struct ib_uverbs_qp_attr response;

	if (public == NULL || attr == NULL || mask == NULL)
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_init_qp_attr command = { .id = rdmacm_id_of(public)->handle, .qp_state = (uint32_t)attr->qp_state };
	if (rdmacm_call(RDMA_USER_CM_CMD_INIT_QP_ATTR, &command, sizeof(command), &response, sizeof(response)) != 0)
		return -1;
	ibv_copy_qp_attr_from_kern(attr, &response);
	*mask = (int)response.qp_attr_mask;
	return 0;
}

static int modify(struct rdmacm_id *id, struct ibv_qp_attr *attr, int mask)
{
	int err = ibv_modify_qp(id->id.qp, attr, mask);

	return err == 0 ? 0 : rdmacm_fail(err);
}

static int to_state(struct rdmacm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	return rdma_init_qp_attr(&id->id, &attr, &mask) != 0 ? -1 : modify(id, &attr, mask);
}

int rdmacm_qp_rtr(struct rdmacm_id *id, uint8_t responder_resources)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	/* The access rights of INIT follow from the connection, which was not known when the QP was made. */
	if (to_state(id, IBV_QPS_INIT) != 0 || rdma_init_qp_attr(&id->id, &attr, &mask) != 0)
		return -1;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	return modify(id, &attr, mask);
}

int rdmacm_qp_rts(struct rdmacm_id *id, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int mask;

	if (rdma_init_qp_attr(&id->id, &attr, &mask) != 0)
		return -1;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return modify(id, &attr, mask);
}

int rdmacm_qp_error(struct rdmacm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return id->id.qp == NULL ? 0 : modify(id, &attr, IBV_QP_STATE);
}

/* A datagram QP needs no peer to be ready. */
static int ud_prepare(struct rdmacm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	if (to_state(id, IBV_QPS_INIT) != 0 || modify(id, &attr, IBV_QP_STATE) != 0)
		return -1;
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	return modify(id, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* --- completion queues of the id itself --- */

static void cq_pair_free(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq != NULL)
		ibv_destroy_cq(*cq);
	if (*channel != NULL)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

static int cq_pair_make(struct rdmacm_id *id, uint32_t depth, struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	*channel = ibv_create_comp_channel(id->id.verbs);
	if (*channel == NULL)
		return -1;
	*cq = ibv_create_cq(id->id.verbs, (int)(depth == 0 ? 1 : depth), &id->id, *channel, 0);
	if (*cq != NULL)
		return 0;
	int err = errno;
	ibv_destroy_comp_channel(*channel);
	*channel = NULL;
	return rdmacm_fail(err);
}

static void cqs_free(struct rdmacm_id *id)
{
	cq_pair_free(&id->id.recv_cq, &id->id.recv_cq_channel);
	cq_pair_free(&id->id.send_cq, &id->id.send_cq_channel);
}

/* --- QPs --- */

static int pd_choose(struct rdmacm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd == NULL) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->id.pd;
	}
	return attr->pd == NULL || attr->pd->context != id->id.verbs ? rdmacm_fail(EINVAL) : 0;
}

static int cqs_choose(struct rdmacm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	const bool receives = attr->qp_type != IBV_QPT_XRC_SEND;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (attr->send_cq == NULL) {
		if (id->id.send_cq == NULL &&
		    cq_pair_make(id, attr->cap.max_send_wr, &id->id.send_cq, &id->id.send_cq_channel) != 0)
			return -1;
		attr->send_cq = id->id.send_cq;
	}
	if (attr->recv_cq == NULL && receives) {
		if (id->id.recv_cq == NULL &&
		    cq_pair_make(id, attr->cap.max_recv_wr, &id->id.recv_cq, &id->id.recv_cq_channel) != 0)
			return -1;
		attr->recv_cq = id->id.recv_cq;
	}
	return 0;
}

static int qp_prepare(struct rdmacm_id *id)
{
	if (rdmacm_ece_of_new_qp(id) != 0)
		return -1;
	if (id->id.qp_type == IBV_QPT_UD)
		return ud_prepare(id);
	return to_state(id, IBV_QPS_INIT);
}

RDMACM_PUBLIC int rdma_create_qp_ex(struct rdma_cm_id *public, struct ibv_qp_init_attr_ex *attr)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	int err;

	if (public == NULL || attr == NULL || public->qp != NULL || public->verbs == NULL)
		return rdmacm_fail(EINVAL);
	if (pd_choose(id, attr) != 0)
		return -1;
	if (attr->qp_type == IBV_QPT_XRC_RECV && !(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD)) {
		attr->xrcd = rdmacm_device_xrcd(id->device);
		if (attr->xrcd == NULL)
			return -1;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	if (public->srq != NULL && attr->srq == NULL && attr->qp_type != IBV_QPT_XRC_RECV)
		attr->srq = public->srq;
	if (cqs_choose(id, attr) != 0)
		goto fail;
	public->qp = ibv_create_qp_ex(public->verbs, attr);
	if (public->qp == NULL)
		goto fail;
	public->pd = attr->pd;
	if (qp_prepare(id) == 0)
		return 0;
fail:
	err = errno;
	if (public->qp != NULL)
		ibv_destroy_qp(public->qp);
	public->qp = NULL;
	cqs_free(id);
	return rdmacm_fail(err);
}

RDMACM_PUBLIC int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	int result;

	if (id == NULL || attr == NULL)
		return rdmacm_fail(EINVAL);
	memcpy(&ex, attr, sizeof(*attr)); /* the plain struct is the head of the other */
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd != NULL ? pd : id->pd;
	result = rdma_create_qp_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return result;
}

RDMACM_PUBLIC void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
	cqs_free(rdmacm_id_of(id));
}

/* --- SRQs --- */

RDMACM_PUBLIC int rdma_create_srq_ex(struct rdma_cm_id *public, struct ibv_srq_init_attr_ex *attr)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	int err;

	if (public == NULL || attr == NULL || public->srq != NULL || public->verbs == NULL)
		return rdmacm_fail(EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || attr->pd == NULL) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = public->pd;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type == IBV_SRQT_XRC &&
	    (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || attr->cq == NULL)) {
		if (public->recv_cq == NULL &&
		    cq_pair_make(id, attr->attr.max_wr, &public->recv_cq, &public->recv_cq_channel) != 0)
			return -1;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
		attr->cq = public->recv_cq;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type == IBV_SRQT_XRC &&
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD)) {
		attr->xrcd = rdmacm_device_xrcd(id->device);
		if (attr->xrcd == NULL)
			return -1;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	}
	public->srq = ibv_create_srq_ex(public->verbs, attr);
	if (public->srq != NULL) {
		public->pd = attr->pd;
		return 0;
	}
	err = errno;
	cqs_free(id);
	return rdmacm_fail(err);
}

RDMACM_PUBLIC int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	int result;

	if (id == NULL || attr == NULL)
		return rdmacm_fail(EINVAL);
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd != NULL ? pd : id->pd;
	result = rdma_create_srq_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return result;
}

RDMACM_PUBLIC void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq != NULL)
		ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (id->qp == NULL)
		cqs_free(rdmacm_id_of(id));
}
