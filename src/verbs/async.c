/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events. What acknowledges one is asked of its object, which lives until that was done. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hca/async.h"
#include "hca/xrc.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/symbol.h"

VERBS_PUBLIC int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct hca_async_event ours;

	if (verbs_is_inherited(context)) {
		errno = EIO;
		return -1;
	}
	int err = hca_async_get(verbs_context_of(context)->hca, &ours);

	if (err != 0)
		return verbs_minus_one(err);
	memset(event, 0, sizeof(*event));
	event->event_type = (enum ibv_event_type)ours.type;
	switch (ours.type) {
	case HCA_ASYNC_CQ_ERR:
		event->element.cq = &((struct verbs_cq *)ours.user)->ibv;
		break;
	case HCA_ASYNC_QP_FATAL:
	case HCA_ASYNC_QP_REQ_ERR:
	case HCA_ASYNC_QP_ACCESS_ERR:
	case HCA_ASYNC_COMM_EST:
	case HCA_ASYNC_SQ_DRAINED:
	case HCA_ASYNC_QP_LAST_WQE_REACHED:
		event->element.qp = &((struct verbs_qp *)ours.user)->ex.qp_base;
		break;
	case HCA_ASYNC_SRQ_ERR:
	case HCA_ASYNC_SRQ_LIMIT_REACHED:
		event->element.srq = &((struct verbs_srq *)ours.user)->ibv;
		break;
	case HCA_ASYNC_DEVICE_FATAL:
	case HCA_ASYNC_PORT_ACTIVE:
	case HCA_ASYNC_PORT_ERR:
	case HCA_ASYNC_GID_CHANGE:
	case HCA_ASYNC_TYPES:
		event->element.port_num = ours.port;
		break;
	}
	return 0;
}

static void ack_qp(struct verbs_qp *qp)
{
	hca_async_ack(qp->opener != NULL ? hca_xrc_opener_async_token(qp->opener) : hca_qp_async_token(qp->hca));
}

VERBS_PUBLIC void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		hca_async_ack(hca_cq_async_token(verbs_cq_of(event->element.cq)->hca));
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack_qp(verbs_qp_of(event->element.qp));
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		hca_async_ack(hca_srq_async_token(verbs_srq_of(event->element.srq)->hca));
		break;
	default: /* port and device events have nothing to wait for them */
		break;
	}
}
