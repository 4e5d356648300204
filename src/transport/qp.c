/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/qp.h"

#include <string.h>

#include "base/clock.h"
#include "transport/sq.h"

void transport_qp_init(struct transport_qp *qp, const struct transport_ops *ops, struct transport_memory memory,
		       struct transport_sq *sq, const struct transport_recv_ops *recv, void *recv_host)
{
	memset(qp, 0, sizeof(*qp));
	qp->ops = ops;
	qp->memory = memory;
	qp->sq = sq;
	intake_init(&qp->intake, recv, recv_host);
}

void transport_qp_to_init(struct transport_qp *qp)
{
	qp->state = TRANSPORT_INIT;
}

void transport_qp_reset(struct transport_qp *qp)
{
	transport_sq_forget(qp->sq);
	transport_qp_init(qp, qp->ops, qp->memory, qp->sq, qp->intake.ops, qp->intake.host);
}

enum transport_state transport_qp_state(const struct transport_qp *qp)
{
	return qp->state;
}

bool transport_qp_is_draining(const struct transport_qp *qp)
{
	return qp->ops->is_draining != NULL && qp->ops->is_draining(qp);
}

const struct transport_stats *transport_qp_stats(const struct transport_qp *qp)
{
	return &qp->stats;
}

uint64_t transport_qp_deadline(const struct transport_qp *qp)
{
	uint64_t at = qp->ops->deadline == NULL ? BASE_NEVER : qp->ops->deadline(qp);

	return qp->pace.wake_at != 0 && qp->pace.wake_at < at ? qp->pace.wake_at : at;
}

void transport_qp_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns)
{
	if (qp->pace.wake_at <= now)
		qp->pace.wake_at = 0;
	if (qp->ops->tick != NULL)
		qp->ops->tick(qp, now, excused_ns);
}

void transport_qp_peer_gone(struct transport_qp *qp, uint64_t now)
{
	if (qp->ops->peer_gone != NULL)
		qp->ops->peer_gone(qp, now);
}

int transport_qp_send_done(struct transport_qp *qp, struct transport_completion *out)
{
	if (qp->ops->settle != NULL)
		qp->ops->settle(qp);
	return transport_sq_reap(qp->sq, qp->state == TRANSPORT_ERROR || qp->state == TRANSPORT_SQE, out);
}

int transport_qp_recv_done(struct transport_qp *qp, struct transport_completion *out)
{
	if (qp->ops->deliver != NULL)
		qp->ops->deliver(qp);
	return intake_completion_next(&qp->intake, out);
}

uint32_t transport_qp_events_take(struct transport_qp *qp)
{
	uint32_t events = qp->events;

	qp->events = 0;
	return events;
}

bool transport_qp_enter_error(struct transport_qp *qp)
{
	if (qp->state == TRANSPORT_ERROR)
		return false;
	qp->state = TRANSPORT_ERROR;
	qp->events |= TRANSPORT_EVENT_ENTERED_ERROR;
	return true;
}

void transport_qp_enter_sqe(struct transport_qp *qp, uint32_t status, uint32_t vendor_err)
{
	transport_sq_finish(qp->sq, status, vendor_err);
	qp->state = TRANSPORT_SQE;
	qp->events |= TRANSPORT_EVENT_ENTERED_SQE;
}

void transport_qp_enter_rts(struct transport_qp *qp)
{
	while (qp->state == TRANSPORT_SQE && transport_sq_has_work(qp->sq))
		transport_sq_finish(qp->sq, TRANSPORT_WR_FLUSH_ERR, 0);
	qp->state = TRANSPORT_RTS;
}

void transport_qp_meet(struct transport_qp *qp, bool *met)
{
	if (!*met && qp->state == TRANSPORT_RTR)
		qp->events |= TRANSPORT_EVENT_COMM_EST;
	*met = true;
}
