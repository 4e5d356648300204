/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/qp.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/limits.h"
#include "hca/mcast_internal.h"
#include "hca/qp_type.h"
#include "hca/xrc_internal.h"

enum { SLOT_ALIGN = 64 };

const struct hca_qp_type_ops *hca_qp_type_ops_find(enum hca_qp_type type)
{
	switch (type) {
	case HCA_QPT_RC:
		return &hca_qp_rc_ops;
	case HCA_QPT_UC:
		return &hca_qp_uc_ops;
	case HCA_QPT_UD:
		return &hca_qp_ud_ops;
	case HCA_QPT_XRC_SEND:
		return &hca_qp_xrc_send_ops;
	case HCA_QPT_XRC_RECV:
		return &hca_qp_xrc_recv_ops;
	case HCA_QPT_RAW_PACKET:
		break;
	}
	return NULL;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int init_check(const struct hca_pd *pd, const struct hca_qp_init *init)
{
	const struct hca_qp_cap *cap = &init->cap;

	if (hca_device_is_lost(pd->context->device))
		return BASE_ERR_IO;
	if (!hca_qp_transition_exists(init->type, HCA_QPS_RESET, HCA_QPS_INIT))
		return BASE_ERR_INVAL;
	if (hca_qp_type_ops_find(init->type) == NULL) {
		base_explain("QP refused: this type does not exist yet");
		return BASE_ERR_UNSUPPORTED;
	}
	if (init->send_cq == NULL || init->recv_cq == NULL || init->send_cq->context != pd->context ||
	    init->recv_cq->context != pd->context ||
	    (init->srq != NULL && (init->srq->pd->context != pd->context || init->srq->xrcd != NULL))) {
		base_explain("QP refused: it needs two CQs (and a basic SRQ, if any) of its own context");
		return BASE_ERR_INVAL;
	}
	if (cap->max_send_wr > HCA_MAX_QP_WR || cap->max_send_sge > HCA_MAX_SGE || cap->max_inline > HCA_MAX_INLINE ||
	    (init->srq == NULL && (cap->max_recv_wr > HCA_MAX_QP_WR || cap->max_recv_sge > HCA_MAX_SGE))) {
		base_explain("QP refused: work requests %u and %u (at most %u), elements %u and %u (%u), inline %u (%u)",
				cap->max_send_wr,
			     cap->max_recv_wr, HCA_MAX_QP_WR, cap->max_send_sge, cap->max_recv_sge, HCA_MAX_SGE, cap->max_inline,
			     HCA_MAX_INLINE);
		return BASE_ERR_INVAL;
	}
	return 0;
}

/*
 * The depth is a power of two, the payload area of a slot holds the SGEs or the inline bytes; what that gives beyond the wish
 * is told.
 */
static int sq_allocate(struct hca_qp *qp, struct hca_qp_cap *cap)
{
	uint32_t depth = 1, area;

	while (depth < cap->max_send_wr)
		depth *= 2;
	cap->max_send_wr = depth;
	cap->max_send_sge = max_u32(cap->max_send_sge, 1);
	area = max_u32(cap->max_send_sge * (uint32_t)sizeof(struct transport_sge), cap->max_inline);
	/* As many adapters do: programs of the RDMA CM family send a few bytes inline and never asked for it. */
	cap->max_inline = area < HCA_MAX_INLINE ? area : HCA_MAX_INLINE;
	qp->sq.stride = ((uint32_t)sizeof(struct transport_wqe) + area + SLOT_ALIGN - 1) & ~(uint32_t)(SLOT_ALIGN - 1);
	qp->sq.depth = depth;
	int err = hca_buffer_alloc(&qp->sq_memory, qp->pd, HCA_RESOURCE_SEND_QUEUE, (size_t)qp->sq.stride * depth);
	if (err != 0)
		return err;
	qp->sq.slots = qp->sq_memory.at;
	if (!qp->ops->is_datagram)
		return 0;
	qp->paths = calloc(depth, sizeof(*qp->paths));
	return qp->paths == NULL ? BASE_ERR_NOMEM : 0;
}

static void sq_free(struct hca_qp *qp)
{
	free(qp->paths);
	hca_buffer_free(&qp->sq_memory);
}

static void export_begin(struct hca_qp *qp)
{
	struct hca_device *device = qp->context->device;

	qp->exported = export_writer_qp(device->config.export, qp->flow.qpn);
	atomic_store_explicit(&qp->exported->type, (uint32_t)qp->type, memory_order_relaxed);
	atomic_store_explicit(&qp->exported->state, HCA_QPS_RESET, memory_order_relaxed);
	atomic_store_explicit(&qp->exported->pd, qp->pd->number, memory_order_relaxed);
	atomic_store_explicit(&qp->exported->port, device->port_group, memory_order_relaxed);
	for (int i = 0; i < EXPORT_QP_COUNTERS; i++)
		atomic_store_explicit(&qp->exported->counters[i], 0, memory_order_relaxed);
	atomic_store_explicit(&qp->exported->qpn, qp->flow.qpn, memory_order_release);
}

static void device_list_add(struct hca_qp *qp)
{
	struct hca_qp **first = &qp->context->device->qps;

	qp->device_next = *first;
	if (*first != NULL)
		(*first)->device_prev = qp;
	*first = qp;
}

static void device_list_remove(struct hca_qp *qp)
{
	if (qp->device_prev != NULL)
		qp->device_prev->device_next = qp->device_next;
	else
		qp->context->device->qps = qp->device_next;
	if (qp->device_next != NULL)
		qp->device_next->device_prev = qp->device_prev;
}

void hca_qp_lost(struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);

	if (transport_qp_state(&qp->transport) == TRANSPORT_RESET)
		return;
	qp->ops->transport->to_error(&qp->transport);
	hca_qp_state_follow(qp);
	engine->ops->schedule(engine->context, &qp->flow);
}

int hca_qp_create(struct hca_pd *pd, struct hca_qp_init *init, struct hca_qp **out)
{
	static _Atomic uint64_t last_owner;
	const struct hca_engine *engine = hca_context_engine(pd->context);
	struct hca_qp_cap cap = init->cap;
	int err = init_check(pd, init);

	if (err != 0)
		return err;
	struct hca_qp *qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return BASE_ERR_NOMEM;
	qp->type = init->type;
	qp->ops = hca_qp_type_ops_find(init->type);
	qp->pd = pd;
	err = sq_allocate(qp, &cap);
	if (err != 0)
		goto free_sq;
	if (init->srq != NULL)
		cap.max_recv_wr = cap.max_recv_sge = 0;
	else
		cap.max_recv_sge = max_u32(cap.max_recv_sge, 1);
	err = hca_rq_init(&qp->rq, pd, HCA_RESOURCE_RECEIVE_QUEUE, cap.max_recv_wr, cap.max_recv_sge);
	if (err != 0)
		goto free_sq;
	qp->context = pd->context;
	qp->user = init->user;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->cap = cap;
	qp->sq_sig_all = init->sq_sig_all;
	qp->block_own_groups = init->block_own_groups;
	pthread_mutex_init(&qp->modify_lock, NULL);
	pthread_mutex_init(&qp->sq_lock, NULL);
	hca_async_source_init(&qp->source, qp->context, qp->user);
	dma_view_init(&qp->view, qp->context->device->config.memory, pd->number);
	/* What windows are bound to: not the number, which comes again. */
	qp->view.owner = atomic_fetch_add(&last_owner, 1) + 1;
	transport_qp_init(&qp->transport, qp->ops->transport, (struct transport_memory){ &hca_qp_memory_ops, qp }, &qp->sq,
			  &hca_qp_recv_ops, qp);
	qp->flow.ops = &qp->ops->flow;
	/*
	 * No op runs before the QP is kicked, and packets meet the state RESET: but the export must be there. Nobody knows the
	 * number yet.
	 */
	static struct export_qp nobody;
	qp->exported = &nobody;
	err = engine->ops->flow_add(engine->context, &qp->flow);
	if (err != 0)
		goto fini_rq;
	engine->ops->lock(engine->context);
	export_begin(qp);
	device_list_add(qp);
	engine->ops->unlock(engine->context);
	hca_pd_get(pd);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	if (qp->srq != NULL)
		atomic_fetch_add(&qp->srq->users, 1);
	init->cap = cap;
	*out = qp;
	return 0;

fini_rq:
	pthread_mutex_destroy(&qp->modify_lock);
	pthread_mutex_destroy(&qp->sq_lock);
	hca_rq_fini(&qp->rq);
free_sq:
	sq_free(qp);
	free(qp);
	return err;
}

void hca_qp_destroy(struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);

	hca_mcast_forget(qp);
	engine->ops->lock(engine->context);
	device_list_remove(qp);
	engine->ops->unlock(engine->context);
	/* Only the reliable owe their peer something. */
	engine->ops->flow_remove(engine->context, &qp->flow, qp->ops->is_reliable);
	if (qp->srq != NULL)
		hca_srq_forget_dry(qp->srq, qp);
	atomic_store_explicit(&qp->exported->qpn, 0, memory_order_release);
	hca_cq_purge(qp->send_cq, qp);
	if (qp->recv_cq != qp->send_cq)
		hca_cq_purge(qp->recv_cq, qp);
	if (qp->xrc != NULL)
		hca_xrc_target_leave(qp);
	hca_qp_receives_forget(qp);
	hca_qp_ece_forget(qp);
	hca_async_source_fini(&qp->source);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	if (qp->srq != NULL)
		atomic_fetch_sub(&qp->srq->users, 1);
	hca_rq_fini(&qp->rq);
	pthread_mutex_destroy(&qp->modify_lock);
	pthread_mutex_destroy(&qp->sq_lock);
	sq_free(qp);
	hca_pd_put(qp->pd);
	free(qp);
}

enum hca_qp_state hca_qp_state_get(const struct hca_qp *qp)
{
	return (enum hca_qp_state)atomic_load_explicit(&qp->state, memory_order_acquire);
}

uint32_t hca_qp_number(const struct hca_qp *qp)
{
	return qp->flow.qpn;
}

enum hca_qp_type hca_qp_type_get(const struct hca_qp *qp)
{
	return qp->type;
}

void *hca_qp_user(const struct hca_qp *qp)
{
	return qp->user;
}

void *hca_qp_async_token(struct hca_qp *qp)
{
	return &qp->source;
}
