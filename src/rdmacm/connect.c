/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting, accepting, rejecting, parting. */
#include "rdmacm/id.h"
#include "rdmacm/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRIES_DEFAULT 7 /* of connections whose program gives no parameters */

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* The parameters of the program, or what stands for them; its private data, or that of rdma_create_ep()'s address information. */
static int param_store(struct rdma_ucm_conn_param *out, const struct rdmacm_id *id, const struct rdma_conn_param *in)
{
	const void *data = id->connect_data;
	size_t len = id->connect_len;

	memset(out, 0, sizeof(*out));
	if (in != NULL && in->private_data_len > 0) {
		if (in->private_data == NULL)
			return rdmacm_fail(EINVAL);
		data = in->private_data;
		len = in->private_data_len;
	}
	if (len > 0)
		memcpy(out->private_data, data, len);
	out->private_data_len = (uint8_t)len;
	out->flow_control = in != NULL ? in->flow_control : 1;
	out->retry_count = in != NULL ? in->retry_count : RETRIES_DEFAULT;
	out->rnr_retry_count = in != NULL ? in->rnr_retry_count : RETRIES_DEFAULT;
	if (id->id.qp != NULL) {
		out->qp_num = id->id.qp->qp_num;
		out->srq = id->id.srq != NULL;
	} else if (in != NULL) {
		out->qp_num = in->qp_num;
		out->srq = in->srq != 0;
	}
	out->valid = 1;
	return 0;
}

static bool is_connected_type(const struct rdmacm_id *id)
{
	return id->id.qp_type != IBV_QPT_UD;
}

RDMACM_PUBLIC int rdma_connect(struct rdma_cm_id *public, struct rdma_conn_param *param)
{
	struct rdmacm_id *id = rdmacm_id_of(public);
	struct rdma_ucm_connect command = { .id = public != NULL ? id->handle : 0 };

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	if (param_store(&command.conn_param, id, param) != 0)
		return -1;
	if (is_connected_type(id) && id->device != NULL) {
		const struct rdmacm_device *device = id->device;

		id->initiator_depth = param == NULL || param->initiator_depth == RDMA_MAX_INIT_DEPTH ? device->max_initiator_depth :
												      param->initiator_depth;
		id->responder_resources = param == NULL || param->responder_resources == RDMA_MAX_RESP_RES ?
						  device->max_responder_resources : param->responder_resources;
		if (id->initiator_depth > device->max_initiator_depth || id->responder_resources > device->max_responder_resources)
			return rdmacm_fail(EINVAL);
	}
	command.conn_param.initiator_depth = id->initiator_depth;
	command.conn_param.responder_resources = id->responder_resources;
	command.ece.vendor_id = id->local_ece.vendor_id;
	command.ece.attr_mod = id->local_ece.options;
	if (rdmacm_call(RDMA_USER_CM_CMD_CONNECT, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	free(id->connect_data);
	id->connect_data = NULL;
	id->connect_len = 0;
	return rdmacm_complete(id);
}

/* What the request offers and the device can do, unless the program wants less. */
static int depths_choose(struct rdmacm_id *id, const struct rdma_conn_param *param)
{
	const struct rdmacm_device *device = id->device;

	if (param == NULL || param->initiator_depth == RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = least(id->initiator_depth, device->max_initiator_depth);
	else
		id->initiator_depth = param->initiator_depth;
	if (param == NULL || param->responder_resources == RDMA_MAX_RESP_RES)
		id->responder_resources = least(id->responder_resources, device->max_responder_resources);
	else
		id->responder_resources = param->responder_resources;
	if (id->initiator_depth > device->max_initiator_depth || id->responder_resources > device->max_responder_resources)
		return rdmacm_fail(EINVAL);
	return 0;
}

static int accept_send(struct rdmacm_id *id, const struct rdma_conn_param *param)
{
	struct rdma_ucm_accept command = { .id = id->handle, .uid = id->uid };

	if (param_store(&command.conn_param, id, param) != 0)
		return -1;
	command.conn_param.initiator_depth = id->initiator_depth;
	command.conn_param.responder_resources = id->responder_resources;
	/* The client's vendor is echoed: the options count only among the same. */
	command.ece.vendor_id = id->remote_ece.vendor_id;
	command.ece.attr_mod = id->remote_ece.vendor_id != 0 ? id->local_ece.options : 0;
	return rdmacm_call(RDMA_USER_CM_CMD_ACCEPT, &command, sizeof(command), NULL, 0);
}

RDMACM_PUBLIC int rdma_accept(struct rdma_cm_id *public, struct rdma_conn_param *param)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL || !id->passive || id->device == NULL)
		return rdmacm_fail(EINVAL);
	if (is_connected_type(id)) {
		if (depths_choose(id, param) != 0)
			return -1;
		if (public->qp != NULL && (rdmacm_qp_rtr(id, id->responder_resources) != 0 ||
					   rdmacm_qp_rts(id, id->initiator_depth) != 0 || rdmacm_ece_granted(id) != 0))
			goto fail;
	}
	if (accept_send(id, param) != 0)
		goto fail;
	/* A datagram service hears nothing more. */
	return is_connected_type(id) ? rdmacm_complete(id) : 0;
fail:
	{
		int err = errno;

		if (is_connected_type(id))
			rdmacm_qp_error(id);
		return rdmacm_fail(err);
	}
}

static int reject(struct rdma_cm_id *public, const void *private_data, uint8_t len, uint8_t reason)
{
	struct rdma_ucm_reject command = { .private_data_len = len, .reason = reason };

	if (public == NULL || (len > 0 && private_data == NULL))
		return rdmacm_fail(EINVAL);
	command.id = rdmacm_id_of(public)->handle;
	if (len > 0)
		memcpy(command.private_data, private_data, len);
	return rdmacm_call(RDMA_USER_CM_CMD_REJECT, &command, sizeof(command), NULL, 0);
}

RDMACM_PUBLIC int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(id, private_data, private_data_len, 0);
}

RDMACM_PUBLIC int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(id, private_data, private_data_len, 35 /* vendor option not supported */);
}

RDMACM_PUBLIC int rdma_establish(struct rdma_cm_id *public)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL || public->qp != NULL) /* with a QP of ours the library has done it */
		return rdmacm_fail(EINVAL);
	const struct rdma_ucm_accept command = { .id = id->handle, .uid = id->uid };
	return rdmacm_call(RDMA_USER_CM_CMD_ACCEPT, &command, sizeof(command), NULL, 0);
}

RDMACM_PUBLIC int rdma_disconnect(struct rdma_cm_id *public)
{
	struct rdmacm_id *id = rdmacm_id_of(public);

	if (public == NULL)
		return rdmacm_fail(EINVAL);
	if (rdmacm_qp_error(id) != 0)
		return -1;
	const struct rdma_ucm_disconnect command = { .id = id->handle };
	if (rdmacm_call(RDMA_USER_CM_CMD_DISCONNECT, &command, sizeof(command), NULL, 0) != 0)
		return -1;
	return rdmacm_complete(id);
}
