/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modify and query. Order: the tables, the values, the address (which may wait), then the progress lock and the change itself,
 * which cannot fail any more. The device may take a QP to ERR or SQE at any moment before the lock; then only RESET and ERR are
 * still legal.
 */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/limits.h"
#include "hca/profile.h"
#include "hca/qp_type.h"
#include "hca/qp_values.h"
#include "wire/mtu.h"

enum { PSN_MASK = 0xffffff };

static void explain_table(const struct hca_qp *qp, uint32_t from, uint32_t to, uint32_t missing, uint32_t refused)
{
	base_explain("modify of QP 0x%06x from %s to %s refused:%s", qp->flow.qpn, hca_qp_state_text(from), hca_qp_state_text(to),
		     missing | refused ? "" : " there is no such transition");
	for (; missing != 0; missing &= missing - 1)
		base_explain("  %s is required and was not given", hca_qp_attr_text(missing & -missing));
	for (; refused != 0; refused &= refused - 1)
		base_explain("  %s is not allowed here", hca_qp_attr_text(refused & -refused));
}

/* `to` has the attributes of `from` that the mask names. */
static void attr_merge(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
#define TAKE(bit, field) do { if (mask & (bit)) to->field = from->field; } while (0)
	TAKE(HCA_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	TAKE(HCA_QP_ACCESS_FLAGS, access);
	TAKE(HCA_QP_PKEY_INDEX, pkey_index);
	TAKE(HCA_QP_PORT, port_num);
	TAKE(HCA_QP_QKEY, qkey);
	TAKE(HCA_QP_AV, ah);
	TAKE(HCA_QP_PATH_MTU, path_mtu);
	TAKE(HCA_QP_TIMEOUT, timeout);
	TAKE(HCA_QP_RETRY_CNT, retry_cnt);
	TAKE(HCA_QP_RNR_RETRY, rnr_retry);
	TAKE(HCA_QP_RQ_PSN, rq_psn);
	TAKE(HCA_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(HCA_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(HCA_QP_SQ_PSN, sq_psn);
	TAKE(HCA_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(HCA_QP_PATH_MIG_STATE, path_mig_state);
	TAKE(HCA_QP_DEST_QPN, dest_qpn);
#undef TAKE
	to->rq_psn &= PSN_MASK;
	to->sq_psn &= PSN_MASK;
}

/* What the attributes mean to the transport. The path is set. */
static struct transport_config config_of(const struct hca_qp *qp, const struct hca_qp_attr *attr)
{
	uint32_t port_mtu = (uint32_t)atomic_load_explicit(&qp->context->device->active_mtu, memory_order_relaxed);

	return (struct transport_config){
		.qpn = qp->flow.qpn,
		.dest_qpn = attr->dest_qpn,
		.mtu = wire_mtu_bytes((int)(qp->ops->is_datagram ? port_mtu : attr->path_mtu)),
		.sq_psn = attr->sq_psn,
		.rq_psn = attr->rq_psn,
		.access = attr->access,
		.qkey = attr->qkey,
		.pkey = HCA_PKEY,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.oversized_fails = !hca_profile_is_spec(),
		.lossless = qp->flow.path.kind == LINK_SHM,
		.selective = hca_qp_ece_selective(qp),
		.srq = qp->srq != NULL,
	};
}

static void export_attr(struct hca_qp *qp)
{
	struct export_qp *out = qp->exported;

	atomic_store_explicit(&out->dest_qpn, qp->attr.dest_qpn, memory_order_relaxed);
	atomic_store_explicit(&out->access, qp->attr.access, memory_order_relaxed);
	atomic_store_explicit(&out->mtu, qp->config.mtu, memory_order_relaxed);
	atomic_store_explicit(&out->link_kind, (uint32_t)(qp->ops->is_datagram ? LINK_NOWHERE : qp->flow.path.kind),
			      memory_order_relaxed);
}

/* Everything of the past vanishes, completions included. Progress lock held. */
static void reset(struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	const struct link_path nowhere = { .kind = LINK_NOWHERE, .qpn = qp->flow.qpn };

	/* First the state: a post that comes now is refused, one under way ends before we have its lock. */
	atomic_store(&qp->state, HCA_QPS_RESET);
	pthread_mutex_lock(&qp->sq_lock);
	transport_qp_reset(&qp->transport);
	qp->sq_staged = atomic_load_explicit(&qp->sq.posted, memory_order_relaxed);
	hca_cq_purge(qp->send_cq, qp);
	if (qp->recv_cq != qp->send_cq)
		hca_cq_purge(qp->recv_cq, qp);
	atomic_store_explicit(&qp->sq_freed, qp->sq_staged, memory_order_release);
	pthread_mutex_unlock(&qp->sq_lock);
	hca_qp_receives_forget(qp);
	if (qp->srq == NULL)
		hca_rq_clear(&qp->rq);
	qp->last_wqe_raised = false;
	qp->dry_since = qp->dry_drops = 0;
	engine->ops->flow_path(engine->context, &qp->flow, &nowhere);
}

static void apply(struct hca_qp *qp, enum hca_qp_state from, enum hca_qp_state to, const struct hca_qp_attr *merged,
		  const struct link_path *path)
{
	/* Datagrams may come over any link, and the wire has to be watched for them. */
	static const struct link_path from_anywhere = { .kind = LINK_UDP };
	const struct hca_engine *engine = hca_context_engine(qp->context);
	const struct transport_ops *transport = qp->ops->transport;

	if (path != NULL)
		engine->ops->flow_path(engine->context, &qp->flow, path);
	else if (qp->ops->is_datagram && to == HCA_QPS_RTR)
		engine->ops->flow_path(engine->context, &qp->flow, &from_anywhere);
	qp->config = config_of(qp, merged);
	switch (to) {
	case HCA_QPS_RESET:
		if (from != HCA_QPS_RESET)
			reset(qp);
		break;
	case HCA_QPS_INIT:
		transport_qp_to_init(&qp->transport);
		break;
	case HCA_QPS_RTR:
		transport->to_rtr(&qp->transport, &qp->config);
		break;
	case HCA_QPS_RTS:
		if (from == HCA_QPS_RTS)
			transport->update(&qp->transport, &qp->config);
		else
			transport->to_rts(&qp->transport, &qp->config);
		break;
	case HCA_QPS_SQD:
		qp->notify_drained = merged->en_sqd_async_notify;
		if (from == HCA_QPS_SQD)
			transport->update(&qp->transport, &qp->config);
		else
			transport->to_sqd(&qp->transport);
		break;
	case HCA_QPS_ERR:
		transport->to_error(&qp->transport);
		break;
	case HCA_QPS_SQE:
	case HCA_QPS_COUNT:
		break;
	}
	hca_qp_state_follow(qp);
}

static int modify_locked(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	const struct hca_device_config *device = &qp->context->device->config;
	const struct hca_qp_values limits = {
		.active_mtu = atomic_load_explicit(&qp->context->device->active_mtu, memory_order_relaxed),
		.port_num = qp->attr.port_num,
	};
	uint32_t from = atomic_load(&qp->state), missing = 0, refused = 0;
	uint32_t to = mask & HCA_QP_STATE ? attr->state : from;
	struct hca_qp_attr merged = qp->attr;
	struct link_path path;

	if (hca_device_is_lost(qp->context->device))
		return BASE_ERR_IO;
	if (to > HCA_QPS_ERR)
		return BASE_ERR_INVAL;
	int err = hca_qp_transition_check(qp->type, (enum hca_qp_state)from, (enum hca_qp_state)to, mask, &missing, &refused);
	if (err != 0) {
		explain_table(qp, from, to, missing, refused);
		return err;
	}
	err = hca_qp_values_check(&limits, attr, mask);
	if (err != 0)
		return err;
	/* The table was entered with the state that is; a caller who believes in another one is told. */
	if ((mask & HCA_QP_CUR_STATE) && attr->cur_state != from)
		return BASE_ERR_INVAL;
	attr_merge(&merged, attr, mask);
	if (to == HCA_QPS_RESET)
		merged = (struct hca_qp_attr){ 0 };
	/* Asked for anew each time that the queue is to drain. */
	if (to == HCA_QPS_SQD && from != HCA_QPS_SQD && !(mask & HCA_QP_EN_SQD_ASYNC_NOTIFY))
		merged.en_sqd_async_notify = false;
	if (mask & HCA_QP_AV) {
		memset(&path, 0, sizeof(path));
		err = device->ops->resolve_path(device->ops_context, &merged.ah, merged.dest_qpn, &path);
		if (err != 0)
			return err;
		path.qpn = qp->flow.qpn;
		path.dest_qpn = merged.dest_qpn;
		path.unacked = !qp->ops->is_reliable;
	}

	if (to == HCA_QPS_RTR || (from == HCA_QPS_RTR && to == HCA_QPS_RTS)) {
		err = hca_qp_ece_prepare(qp, to, wire_mtu_bytes((int)merged.path_mtu), mask & HCA_QP_AV ? path.kind : qp->flow.path.kind);
		if (err != 0)
			return err;
	}

	engine->ops->lock(engine->context);
	if (to == HCA_QPS_RESET && qp->ops->transport->hurry != NULL) {
		/* What it owes has its chance to leave. */
		qp->ops->transport->hurry(&qp->transport);
		engine->ops->schedule(engine->context, &qp->flow);
		engine->ops->unlock(engine->context);
		engine->ops->lock(engine->context);
	}
	if (hca_device_is_lost(qp->context->device)) {
		engine->ops->unlock(engine->context);
		return BASE_ERR_IO;
	}
	if ((uint32_t)transport_qp_state(&qp->transport) != from && to != HCA_QPS_RESET && to != HCA_QPS_ERR) {
		hca_qp_state_follow(qp);
		engine->ops->unlock(engine->context);
		base_explain("modify of QP 0x%06x refused: it went to %s meanwhile", qp->flow.qpn,
			     hca_qp_state_text((uint32_t)transport_qp_state(&qp->transport)));
		return BASE_ERR_INVAL;
	}
	if (from == HCA_QPS_SQD && to != HCA_QPS_RESET && to != HCA_QPS_ERR && transport_qp_is_draining(&qp->transport)) {
		engine->ops->unlock(engine->context);
		base_explain("modify of QP 0x%06x refused: its send queue is not drained yet", qp->flow.qpn);
		return BASE_ERR_INVAL;
	}
	qp->attr = merged;
	apply(qp, (enum hca_qp_state)from, (enum hca_qp_state)to, &merged, mask & HCA_QP_AV ? &path : NULL);
	export_attr(qp);
	engine->ops->schedule(engine->context, &qp->flow);
	engine->ops->unlock(engine->context);
	if (to == HCA_QPS_RESET)
		hca_qp_ece_forget(qp);
	return 0;
}

int hca_qp_modify(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	int cancel;

	/* Resolving may meet cancellation points; nobody may leave with the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&qp->modify_lock);
	int err = modify_locked(qp, attr, mask);
	pthread_mutex_unlock(&qp->modify_lock);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

void hca_qp_query(struct hca_qp *qp, struct hca_qp_attr *attr, struct hca_qp_init *init)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);

	if (init != NULL)
		*init = (struct hca_qp_init){
			.user = qp->user, .type = qp->type, .send_cq = qp->send_cq, .recv_cq = qp->recv_cq, .srq = qp->srq,
					.cap = qp->cap,
			.sq_sig_all = qp->sq_sig_all,
			.block_own_groups = qp->block_own_groups,
		};
	if (attr == NULL)
		return;
	pthread_mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	engine->ops->lock(engine->context);
	hca_qp_state_follow(qp);
	enum hca_qp_state state = (enum hca_qp_state)transport_qp_state(&qp->transport);
	attr->state = attr->cur_state = (uint32_t)state;
	attr->sq_draining = transport_qp_is_draining(&qp->transport);
	/* Next to expect and to send, once the transport counts them. */
	if (state >= HCA_QPS_RTR && qp->ops->transport->rq_psn != NULL)
		attr->rq_psn = qp->ops->transport->rq_psn(&qp->transport);
	if (state >= HCA_QPS_RTS)
		attr->sq_psn = qp->ops->transport->sq_psn(&qp->transport);
	engine->ops->unlock(engine->context);
	pthread_mutex_unlock(&qp->modify_lock);
}
