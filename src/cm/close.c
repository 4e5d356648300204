/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a connection: DREQ, DREP, and what timers mean (12.9.7.1.3, 12.9.8.2). */
#include <string.h>

#include "cm/cm_internal.h"
#include "cm/timer.h"

void cm_dreq_send(struct cm *cm, struct cm_id *id)
{
	struct cm_message dreq;

	memset(&dreq, 0, sizeof(dreq));
	dreq.kind = CM_DREQ;
	dreq.tid = (uint64_t)cm->config.tid_high << 32 | id->local_id;
	dreq.dreq.local_id = id->local_id;
	dreq.dreq.remote_id = id->remote_id;
	dreq.dreq.remote_qpn = id->remote_qpn;
	cm_id_state_set(cm, id, CM_DREQ_SENT);
	cm_owe_message(cm, id, &dreq, id->timeout_ns, id->max_retries);
}

void cm_drep_send(struct cm *cm, struct cm_id *id)
{
	cm_owe(cm, id, CM_OWES_DREP);
	cm_id_timewait(cm, id);
}

int cm_disconnect(struct cm *cm, uint64_t now, struct cm_ref ref)
{
	struct cm_id *id = cm_id_find(cm, ref);

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_ESTABLISHED && id->state != CM_DREQ_RCVD)
		return BASE_ERR_INVAL;
	cm->now = now;
	if (id->state == CM_ESTABLISHED)
		cm_dreq_send(cm, id);
	else
		cm_drep_send(cm, id);
	cm_output_settle(cm);
	return 0;
}

/* A DREQ for a connection that we do not know, or no more: the peer shall have its end. */
static void answer_unknown(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	struct cm_message drep;

	memset(&drep, 0, sizeof(drep));
	drep.kind = CM_DREP;
	drep.tid = message->tid;
	drep.drep.local_id = message->dreq.remote_id;
	drep.drep.remote_id = message->dreq.local_id;
	cm_drop(cm, CM_DROP_NO_ID);
	cm_answer(cm, from, &drep);
}

void cm_on_dreq(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_dreq *dreq = &message->dreq;
	struct cm_id *id = cm_id_by_local(cm, dreq->remote_id, dreq->local_id);

	if (id == NULL || cm_id_is_datagram(id)) {
		answer_unknown(cm, from, message);
		return;
	}
	if (dreq->remote_qpn != id->local_qpn) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	switch ((enum cm_state)id->state) {
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		cm_out_cancel(cm, id);
		id->dreq_tid = message->tid;
		cm_id_state_set(cm, id, CM_DREQ_RCVD);
		cm_tell(cm, id, CM_EVENT_DISCONNECTED, 0);
		if (!id->owned) /* nobody is left who would say it */
			cm_drep_send(cm, id);
		return;
	case CM_TIMEWAIT:
		id->dreq_tid = message->tid;
		cm_owe(cm, id, CM_OWES_DREP);
		return;
	case CM_IDLE:
	case CM_LISTEN:
	case CM_SIDR_REQ_SENT:
	case CM_SIDR_REQ_RCVD:
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_MRA_REQ_SENT:
	case CM_MRA_REP_SENT:
	case CM_DREQ_RCVD:
	case CM_STATES:
		break;
	}
	cm_drop(cm, CM_DROP_STATE);
}

void cm_on_drep(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	struct cm_id *id = cm_id_by_local(cm, message->drep.remote_id, message->drep.local_id);

	if (id == NULL) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	if (id->state != CM_DREQ_SENT && id->state != CM_DREQ_RCVD) {
		cm_drop(cm, CM_DROP_STATE);
		return;
	}
	cm_tell(cm, id, CM_EVENT_DISCONNECTED, 0);
	cm_id_timewait(cm, id);
}

void cm_on_mra(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_mra *mra = &message->mra;
	struct cm_id *id = cm_id_by_local(cm, mra->remote_id, mra->about == CM_ABOUT_REQ ? 0 : mra->local_id);
	enum cm_state next;

	if (id == NULL) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	if (id->state == CM_REQ_SENT && mra->about == CM_ABOUT_REQ) {
		next = CM_MRA_REQ_RCVD;
	} else if (id->state == CM_REP_SENT && mra->about == CM_ABOUT_REP) {
		next = CM_MRA_REP_RCVD;
	} else {
		cm_drop(cm, CM_DROP_STATE);
		return;
	}
	id->interval_ns = cm_peer_time_ns(mra->service_timeout) + cm_peer_time_ns(id->ack_timeout);
	cm_id_state_set(cm, id, next);
	cm_timer_set(cm, id, id->interval_ns);
}

/* ---- time ---- */

static void give_up(struct cm *cm, struct cm_id *id)
{
	cm->stats.timeouts++;
	if (id->state == CM_DREQ_SENT) {
		cm_tell(cm, id, CM_EVENT_DISCONNECTED, BASE_ERR_TIMEDOUT);
		cm_id_timewait(cm, id);
		return;
	}
	cm_tell(cm, id, CM_EVENT_UNREACHABLE, BASE_ERR_TIMEDOUT);
	cm_id_reset(cm, id);
}

void cm_on_timer(struct cm *cm, struct cm_id *id)
{
	if (id->state == CM_TIMEWAIT) {
		cm_tell(cm, id, CM_EVENT_TIMEWAIT_EXIT, 0);
		cm_id_reset(cm, id);
		return;
	}
	if (id->retries_left == 0) {
		give_up(cm, id);
		return;
	}
	id->retries_left--;
	cm->stats.repeated[id->out_kind - CM_REQ]++;
	cm_timer_set(cm, id, id->interval_ns);
	cm_owe(cm, id, CM_OWES_OUT);
}
