/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RC or XRC QP as its host sees it: life, and who gets what. Requests and owed responses are rc_responder.c's, sending is
 * rc_requester.c's, acknowledgements rc_response.c's, clocks rc_timer.c's.
 */
#include "transport/rc.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "transport/message.h"
#include "transport/rc_internal.h"
#include "transport/rc_read.h"
#include "transport/sq.h"
#include "wire/opcode.h"

static uint8_t at_most(uint8_t value, uint8_t limit)
{
	return value < limit ? value : limit;
}

void rc_to_rtr(struct transport_qp *qp, const struct transport_config *config)
{
	assert(config->mtu >= 256 && config->mtu <= 4096);
	qp->config = *config;
	qp->config.max_dest_rd_atomic = at_most(config->max_dest_rd_atomic, RC_RD_ATOMIC_MAX);
	rc_responder_start(qp, config->rq_psn);
	rc_selective_forget_held(qp);
	rc_selective_forget_sent(qp);
	qp->state = TRANSPORT_RTR;
}

void rc_to_rts(struct transport_qp *qp, const struct transport_config *config)
{
	enum transport_state from = qp->state;

	rc_update(qp, config);
	if (from == TRANSPORT_RTR) {
		qp->config.sq_psn = config->sq_psn;
		rc_requester_start(qp, config->sq_psn);
		if (qp->config.selective != config->selective) {
			rc_selective_forget_held(qp);
			qp->config.selective = config->selective;
		}
	}
	qp->req.draining = false;
	transport_qp_enter_rts(qp);
}

void rc_update(struct transport_qp *qp, const struct transport_config *config)
{
	qp->config.access = config->access;
	qp->config.min_rnr_timer = config->min_rnr_timer;
	qp->config.timeout = config->timeout;
	qp->config.retry_cnt = config->retry_cnt;
	qp->config.rnr_retry = config->rnr_retry;
	qp->config.max_rd_atomic = at_most(config->max_rd_atomic, RC_RD_ATOMIC_MAX);
	qp->config.max_dest_rd_atomic = at_most(config->max_dest_rd_atomic, RC_RD_ATOMIC_MAX);
	if (qp->req.retry_left > config->retry_cnt)
		qp->req.retry_left = config->retry_cnt;
	if (qp->req.rnr_left > config->rnr_retry)
		qp->req.rnr_left = config->rnr_retry;
}

void rc_to_sqd(struct transport_qp *qp)
{
	if (qp->state != TRANSPORT_RTS)
		return;
	qp->state = TRANSPORT_SQD;
	qp->req.draining = true;
	rc_requester_check_drained(qp);
}

void rc_enter_error(struct transport_qp *qp)
{
	if (!transport_qp_enter_error(qp))
		return;
	qp->req.draining = false;
	qp->req.stopped = false;
	qp->req.probe_owed = false;
	qp->req.timer_runs = false;
	intake_end(&qp->intake, TRANSPORT_WR_FLUSH_ERR, qp->config.dest_qpn);
}

void rc_head(const struct transport_qp *qp, uint32_t psn, struct transport_run *out)
{
	struct message_path path = { .mtu = qp->config.mtu, .dest_qpn = qp->config.dest_qpn, .pkey = qp->config.pkey };

	message_head(&path, psn, out);
}

void rc_to_error(struct transport_qp *qp)
{
	rc_read_forget(qp);
	rc_enter_error(qp);
}

uint32_t rc_sq_psn(const struct transport_qp *qp)
{
	return qp->req.high;
}

uint32_t rc_rq_psn(const struct transport_qp *qp)
{
	return qp->resp.expected;
}

bool rc_is_draining(const struct transport_qp *qp)
{
	return qp->req.draining;
}

const char *rc_verdict_text(enum rc_verdict verdict)
{
	static const char *const texts[] = {
		[RC_TOOK] = "took",
		[RC_DUPLICATE] = "duplicate",
		[RC_OUT_OF_ORDER] = "out of order",
		[RC_RNR] = "receiver not ready",
		[RC_NAKED] = "refused",
		[RC_DROPPED_STATE] = "dropped: state",
		[RC_DROPPED_OPCODE] = "dropped: opcode",
		[RC_DROPPED_PSN] = "dropped: PSN",
		[RC_DROPPED_PKEY] = "dropped: P_Key",
	};

	_Static_assert(sizeof(texts) / sizeof(texts[0]) == RC_VERDICTS, "one text per verdict");
	return (unsigned int)verdict < RC_VERDICTS ? texts[verdict] : "?";
}

static enum rc_verdict receive_request(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	bool completes = (last->role & WIRE_ROLE_ENDS) && ((last->role & WIRE_ROLE_SEND) || (last->has & WIRE_HAS_IMMDT));
	bool was_owed = qp->resp.owed != RC_OWED_NONE;
	enum rc_verdict verdict = rc_responder_receive(qp, run);

	if (!was_owed)
		rc_ack_owed(&qp->resp.ack, now, completes);
	return verdict;
}

enum rc_verdict rc_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run)
{
	const struct wire_opcode *op = wire_opcode_find(run->head.bth.opcode);
	bool is_sack = run->head.bth.opcode == WIRE_SACK && qp->config.selective != NULL && run->packets == 1;

	if (op == NULL || op != run->head.op || (op->transport != qp->ops->wire && !is_sack) || !transport_run_is_coherent(run, qp->config.mtu))
		return RC_DROPPED_OPCODE;
	if (qp->ops == (op->role & WIRE_ROLE_REQUEST ? &rc_xrc_ini_ops : &rc_xrc_tgt_ops))
		return RC_DROPPED_OPCODE;
	if (op->role & WIRE_ROLE_REQUEST) {
		if (qp->state != TRANSPORT_RTR && qp->state != TRANSPORT_RTS && qp->state != TRANSPORT_SQD)
			return RC_DROPPED_STATE;
		if (!transport_pkey_matches(run->head.bth.pkey, qp->config.pkey))
			return RC_DROPPED_PKEY;
		return receive_request(qp, now, run);
	}
	if (qp->state != TRANSPORT_RTS && qp->state != TRANSPORT_SQD)
		return RC_DROPPED_STATE;
	if (!transport_pkey_matches(run->head.bth.pkey, qp->config.pkey))
		return RC_DROPPED_PKEY;
	return is_sack ? rc_requester_receive_sack(qp, now, run) : rc_requester_receive(qp, now, run);
}

int rc_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	bool held = rc_responder_holds_ack(qp, now);
	int n = held ? 0 : rc_responder_next(qp, now, room, out, used);

	if (n == 0 && (held || (qp->resp.owed == RC_OWED_NONE && qp->resp.pending == 0))) {
		rc_requester_check_gone(qp);
		n = rc_requester_next(qp, now, room, out, used);
		if (n > 0)
			rc_ack_answered(&qp->resp.ack, now);
	}
	return n;
}

bool rc_wants_room(const struct transport_qp *qp, uint64_t now)
{
	return (qp->resp.owed != RC_OWED_NONE && !rc_responder_holds_ack(qp, now)) || qp->resp.pending ||
	       rc_requester_wants_room(qp, now);
}

uint64_t rc_deadline(const struct transport_qp *qp)
{
	return rc_timer_deadline(qp);
}

void rc_tick(struct transport_qp *qp, uint64_t now, uint64_t excused_ns)
{
	rc_timer_tick(qp, now, excused_ns);
}

void rc_hurry(struct transport_qp *qp)
{
	rc_ack_failed(&qp->resp.ack);
}

void rc_peer_gone(struct transport_qp *qp, uint64_t now)
{
	qp->req.peer_gone = true;
	rc_requester_check_gone(qp);
}

/* Each half as a whole is there for all; what differs is which packets are let in. */
#define RC_OPS \
	.to_rtr = rc_to_rtr, .to_rts = rc_to_rts, .update = rc_update, .to_sqd = rc_to_sqd, .to_error = rc_to_error, \
	.is_draining = rc_is_draining, .sq_psn = rc_sq_psn, .rq_psn = rc_rq_psn, .next = rc_next, .wants_room = rc_wants_room, \
	.deadline = rc_deadline, .tick = rc_tick, .peer_gone = rc_peer_gone, .hurry = rc_hurry, \
	.settle = rc_requester_check_gone

const struct transport_ops rc_ops = { .wire = WIRE_TRANSPORT_RC, RC_OPS, .deliver = rc_responder_deliver };
const struct transport_ops rc_xrc_ini_ops = { .wire = WIRE_TRANSPORT_XRC, RC_OPS };
const struct transport_ops rc_xrc_tgt_ops = { .wire = WIRE_TRANSPORT_XRC, RC_OPS };
