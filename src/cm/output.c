/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What leaves: messages that ids owe, answers of no id, and what stays inside. */
#include <string.h>

#include "cm/cm_internal.h"
#include "cm/queue.h"
#include "cm/timer.h"

enum { NEXT = offsetof(struct cm_id, output_next) };

void cm_owe(struct cm *cm, struct cm_id *id, uint8_t what)
{
	id->owed |= what;
	if (id->in_output)
		return;
	id->in_output = true;
	cm_queue_push(cm, id->way.local ? &cm->inside : &cm->wire, NEXT, id);
}

void cm_owe_message(struct cm *cm, struct cm_id *id, const struct cm_message *message, uint64_t interval_ns, uint8_t retries)
{
	cm_message_encode(id->out, message);
	id->out_kind = (uint8_t)message->kind;
	id->interval_ns = interval_ns;
	id->retries_left = retries;
	if (interval_ns)
		cm_timer_set(cm, id, interval_ns);
	else
		cm_timer_clear(cm, id);
	cm_owe(cm, id, CM_OWES_OUT);
}

void cm_out_cancel(struct cm *cm, struct cm_id *id)
{
	/* A REJ or SIDR_REP is not waiting for anything, and leaves all the same. */
	if (id->out_kind != CM_REJ && id->out_kind != CM_SIDR_REP)
		id->owed &= (uint8_t)~CM_OWES_OUT;
	cm_timer_clear(cm, id);
}

static void small_message(const struct cm *cm, const struct cm_id *id, uint8_t what, struct cm_message *out)
{
	memset(out, 0, sizeof(*out));
	out->tid = id->tid;
	switch ((enum cm_owed)what) {
	case CM_OWES_RTU:
		out->kind = CM_RTU;
		out->rtu.local_id = id->local_id;
		out->rtu.remote_id = id->remote_id;
		return;
	case CM_OWES_MRA:
		out->kind = CM_MRA;
		out->mra.local_id = id->local_id;
		out->mra.remote_id = id->remote_id;
		out->mra.about = id->passive ? CM_ABOUT_REQ : CM_ABOUT_REP;
		out->mra.service_timeout = cm->config.mra_timeout;
		return;
	case CM_OWES_DREP:
		out->kind = CM_DREP;
		out->tid = id->dreq_tid;
		out->drep.local_id = id->local_id;
		out->drep.remote_id = id->remote_id;
		return;
	case CM_OWES_OUT:
		break;
	}
	assert(false);
}

/* The first message that the id owes; it owes one. */
static void take_owed(struct cm *cm, struct cm_id *id, uint8_t mad[CM_MAD_BYTES])
{
	uint8_t what = id->owed & (uint8_t)-id->owed;
	struct cm_message small;

	id->owed &= (uint8_t)~what;
	if (what == CM_OWES_OUT) {
		memcpy(mad, id->out, CM_MAD_BYTES);
		cm->stats.sent[id->out_kind - CM_REQ]++;
		return;
	}
	small_message(cm, id, what, &small);
	cm_message_encode(mad, &small);
	cm->stats.sent[small.kind - CM_REQ]++;
}

/* The next id of a queue that owes something, with its message. It may be gone afterwards. */
static bool queue_message(struct cm *cm, struct cm_queue *queue, struct cm_send *out)
{
	struct cm_id *id;

	while ((id = cm_queue_pop(cm, queue, NEXT))) {
		bool owes = id->owed;

		if (owes) {
			out->path = id->way;
			take_owed(cm, id, out->mad);
		}
		if (id->owed)
			cm_queue_push(cm, queue, NEXT, id);
		else
			id->in_output = false;
		cm_id_rest(cm, id);
		if (owes)
			return true;
	}
	return false;
}

/* A message that stays inside, as it arrives at the other end. */
static void deliver_inside(struct cm *cm, const struct cm_send *send)
{
	struct cm_path from = send->path;

	from.port = send->path.peer;
	from.peer = send->path.port;
	from.sgid = send->path.dgid;
	from.dgid = send->path.sgid;
	/* It is one of ours, and decodes; what becomes of it is counted like all others. */
	if (cm_deliver(cm, &from, send->mad, sizeof(send->mad)) < 0)
		assert(false);
}

void cm_output_settle(struct cm *cm)
{
	struct cm_send send;

	/* Ends: no answer is answered for ever, and repetitions need a timer. */
	while (queue_message(cm, &cm->inside, &send))
		deliver_inside(cm, &send);
}

void cm_answer(struct cm *cm, const struct cm_path *to, const struct cm_message *message)
{
	struct cm_send local, *send = &local;

	if (!to->local) {
		if (cm->answers_count == cm->config.answers) {
			cm_drop(cm, CM_DROP_LIMIT);
			return;
		}
		send = &cm->answers[(cm->answers_head + cm->answers_count++) % cm->config.answers];
	}
	send->path = *to;
	cm_message_encode(send->mad, message);
	cm->stats.sent[message->kind - CM_REQ]++;
	/* At once, because an answer of no id never leads to another one: this is no recursion. */
	if (to->local)
		deliver_inside(cm, send);
}

bool cm_message_next(struct cm *cm, struct cm_send *out)
{
	if (cm->answers_count) {
		*out = cm->answers[cm->answers_head];
		cm->answers_head = (cm->answers_head + 1) % cm->config.answers;
		cm->answers_count--;
		return true;
	}
	return queue_message(cm, &cm->wire, out);
}
