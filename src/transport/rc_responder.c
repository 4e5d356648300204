/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The responder of an RC QP: takes requests in PSN order, places their payload, owes one answer.
 *
 * A packet is judged by its PSN first. Behind the expected one it is a duplicate: not executed, answered with an ACK for all
 * that was taken. Ahead of it there is a gap: one NAK, then silence until the expected PSN comes (the requester goes back by
 * itself). Exactly expected: it climbs the ladder of rc_judge.c, and the first step that refuses gives the answer; there is
 * no other way out.
 *
 * With selective repeat (rc_selective.c) what comes ahead is kept, and climbs when its turn has come.
 *
 * What passes is committed: PSN, MSN, offsets, the receive's completion. NAK 0x61..0x63 end the QP.
 *
 * Runs. A run is exactly its packets one by one, so it is cut at the expected PSN first (the front may be duplicate). What is
 * in order climbs the ladder as a whole with one placement; the steps only ask questions whose answer for the run is yes just
 * when it is yes for every packet. If a step refuses the run, nothing has been committed, and the packets climb singly: the
 * one to blame gets the answer, those before it count. Placing bytes twice is harmless. A WRITE run that ends with an
 * immediate is cut before its last packet, since only that one needs a receive.
 *
 * Owed answer. One, not a queue: an ACK always speaks for all before `expected`, so the latest says it all. But it never names
 * a PSN of a READ or atomic: where their answer was lost, a requester may take it for that (rc_read_ack). A gap report
 * beats an ACK, says the expected PSN of the moment when it leaves, and thus acknowledges too. An RNR NAK dies when its
 * packet comes again and is taken. A fatal NAK stays, in the error state as well, until the link has pulled it.
 *
 * SEND with invalidate has been accepted when it turns out that its rkey cannot be invalidated: the receive completes
 * REM_INV_REQ_ERR and the QP ends, but the message is acknowledged (roce-wire 13, class J).
 *
 * A receive that was taken completes exactly once: when its message ends, with the error that hit it, or flushed.
 */
#include "transport/rc_internal.h"

#include <string.h>

#include "base/err.h"
#include "transport/message.h"
#include "transport/rc_read.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

void rc_responder_start(struct transport_qp *qp, uint32_t psn)
{
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->resp.expected = psn & RC_PSN_MASK;
}

static void owe_ack(struct rc_responder *r)
{
	if (r->owed == RC_OWED_NONE)
		r->owed = RC_OWED_ACK;
}

/* False when the peer may not have this rkey invalidated. */
static bool invalidate(struct transport_qp *qp, uint32_t rkey)
{
	const struct transport_memory_ops *ops = qp->memory.ops;

	return ops->remote_invalidate && ops->remote_invalidate(qp->memory.host, qp->config.qpn, rkey) == BASE_OK;
}

static void finish_message(struct transport_qp *qp, const struct transport_run *run, const struct wire_opcode *last)
{
	struct rc_responder *r = &qp->resp;
	struct transport_completion c = {
		.status = TRANSPORT_SUCCESS,
		.opcode = last->role & WIRE_ROLE_SEND ? TRANSPORT_WC_RECV : TRANSPORT_WC_RECV_RDMA_WITH_IMM,
		.byte_len = (uint32_t)r->done,
		.src_qpn = qp->config.dest_qpn,
		.solicited = run->head.bth.solicited,
	};

	r->kind = 0;
	r->msn = wire_psn_add(r->msn, 1);
	if (last->has & WIRE_HAS_IMMDT) {
		c.imm_or_inv = run->head.imm;
		c.wc_flags = TRANSPORT_WC_WITH_IMM;
	} else if (last->has & WIRE_HAS_IETH) {
		c.imm_or_inv = run->head.inv_rkey;
		c.wc_flags = TRANSPORT_WC_WITH_INV;
		if (!invalidate(qp, run->head.inv_rkey)) {
			owe_ack(r);
			intake_end(&qp->intake, TRANSPORT_REM_INV_REQ_ERR, qp->config.dest_qpn);
			rc_enter_error(qp);
			return;
		}
	}
	intake_complete(&qp->intake, c);
}

static void commit(struct transport_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint16_t role = run->head.op->role;

	if (role & WIRE_ROLE_STARTS) {
		r->kind = role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE);
		r->done = 0;
		r->srqn = run->head.xrc_srqn;
		if (run->head.op->has & WIRE_HAS_RETH) {
			r->write_va = run->head.reth.va;
			r->write_rkey = run->head.reth.rkey;
			r->write_length = run->head.reth.length;
		}
	}
	r->done += run->head.payload_len;
	if (role & RC_ANSWERED)
		rc_read_add(qp, &run->head, r->atomic_result);
	if (role & WIRE_ROLE_READ)
		r->expected = wire_psn_add(r->expected, message_packets(run->head.reth.length, qp->config.mtu));
	else
		r->expected = wire_psn_add(r->expected, run->packets);
	r->gap_reported = false;
	if (r->owed == RC_OWED_RNR)
		r->owed = RC_OWED_ACK;
	if (run->head.bth.ack_req && (role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE)))
		owe_ack(r);
	qp->stats.received_packets += run->packets;
	qp->stats.received_bytes += run->head.payload_len;
	if (last->role & WIRE_ROLE_ENDS)
		finish_message(qp, run, last);
}

static enum rc_verdict refuse(struct transport_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t event, uint32_t recv_status)
{
	qp->resp.owed = RC_OWED_FATAL;
	qp->resp.owed_psn = psn;
	qp->resp.owed_syndrome = syndrome;
	qp->events |= event;
	intake_end(&qp->intake, recv_status, qp->config.dest_qpn);
	rc_enter_error(qp);
	return RC_NAKED;
}

void rc_responder_refuse_read(struct transport_qp *qp, uint32_t psn)
{
	if (qp->state != TRANSPORT_ERROR)
		refuse(qp, psn, WIRE_NAK_REMOTE_ACCESS, TRANSPORT_EVENT_ACCESS_ERR, TRANSPORT_WR_FLUSH_ERR);
}

/* One packet that did not pass. */
static enum rc_verdict give(struct transport_qp *qp, const struct transport_run *packet, enum rc_answer answer)
{
	struct rc_responder *r = &qp->resp;
	uint32_t psn = packet->head.bth.psn & RC_PSN_MASK;

	switch (answer) {
	case RC_ANSWER_PASS:
		break;
	case RC_ANSWER_RNR:
		r->owed = RC_OWED_RNR;
		r->owed_psn = psn;
		r->owed_syndrome = wire_syndrome_rnr(qp->config.min_rnr_timer);
		/* The packets behind it are on their way: they are no gap. */
		r->gap_reported = true;
		return RC_RNR;
	case RC_ANSWER_INVALID:
		return refuse(qp, psn, WIRE_NAK_INVALID_REQUEST, TRANSPORT_EVENT_REQ_ERR, TRANSPORT_REM_INV_REQ_ERR);
	case RC_ANSWER_TOO_LONG:
		return refuse(qp, psn, WIRE_NAK_INVALID_REQUEST, TRANSPORT_EVENT_REQ_ERR, TRANSPORT_LOC_LEN_ERR);
	case RC_ANSWER_ACCESS:
		return refuse(qp, psn, WIRE_NAK_REMOTE_ACCESS, TRANSPORT_EVENT_ACCESS_ERR, TRANSPORT_LOC_ACCESS_ERR);
	case RC_ANSWER_OPERATION:
		return refuse(qp, psn, WIRE_NAK_REMOTE_OPERATION, 0, TRANSPORT_LOC_PROT_ERR);
	}
	return RC_TOOK;
}

/* A run whose first PSN is the expected one. */
static enum rc_verdict take(struct transport_qp *qp, const struct transport_run *run)
{
	enum rc_answer answer = rc_judge(qp, run);
	enum rc_verdict verdict;

	if (answer == RC_ANSWER_PASS) {
		commit(qp, run);
		return RC_TOOK;
	}
	if (run->packets == 1)
		return give(qp, run, answer);
	for (uint32_t i = 0; i < run->packets; i++) {
		struct transport_run packet = transport_run_slice(run, i, 1);

		answer = rc_judge(qp, &packet);
		if (answer != RC_ANSWER_PASS) {
			verdict = give(qp, &packet, answer);
			return i > 0 && verdict == RC_RNR ? RC_TOOK : verdict;
		}
		commit(qp, &packet);
	}
	return RC_TOOK;
}

static enum rc_verdict take_in_order(struct transport_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	struct transport_run part;
	enum rc_verdict verdict;

	if (run->packets == 1 || !(last->role & WIRE_ROLE_WRITE) || !(last->has & WIRE_HAS_IMMDT))
		return take(qp, run);
	part = transport_run_slice(run, 0, run->packets - 1u);
	verdict = take(qp, &part);
	if (verdict != RC_TOOK)
		return verdict;
	part = transport_run_slice(run, run->packets - 1u, 1);
	verdict = take(qp, &part);
	return verdict == RC_RNR ? RC_TOOK : verdict;
}

static enum rc_verdict receive(struct transport_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	int32_t ahead = wire_psn_diff(run->head.bth.psn, r->expected);
	struct transport_run rest;

	transport_qp_meet(qp, &r->met);
	if (ahead > 0) {
		qp->stats.out_of_order += run->packets;
		/* (After an RNR NAK all comes again anyway.) */
		if (qp->config.selective != NULL && !r->gap_reported) {
			rc_selective_hold(qp, run);
			r->owed = RC_OWED_NAK_SEQUENCE;
			return RC_OUT_OF_ORDER;
		}
		if (!r->gap_reported) {
			r->gap_reported = true;
			r->owed = RC_OWED_NAK_SEQUENCE;
		}
		return RC_OUT_OF_ORDER;
	}
	if (ahead == 0)
		return take_in_order(qp, run);
	if (!(run->head.op->role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE))) {
		qp->stats.duplicates++;
		rc_read_repeat(qp, &run->head);
		return RC_DUPLICATE;
	}
	owe_ack(r);
	if (-ahead >= run->packets) {
		qp->stats.duplicates += run->packets;
		return RC_DUPLICATE;
	}
	qp->stats.duplicates += (uint32_t)-ahead;
	rest = transport_run_slice(run, (uint32_t)-ahead, run->packets - (uint32_t)-ahead);
	return take_in_order(qp, &rest);
}

/* What was kept goes the way of what comes, one packet after the other. */
void rc_responder_deliver(struct transport_qp *qp)
{
	struct rc_responder *r = &qp->resp;
	struct transport_run packet;
	uint32_t before;

	while ((qp->state == TRANSPORT_RTR || qp->state == TRANSPORT_RTS || qp->state == TRANSPORT_SQD) &&
	       qp->intake.count < INTAKE_COMPLETIONS && rc_selective_take(qp, &packet)) {
		before = r->expected;
		take_in_order(qp, &packet);
		rc_selective_passed(qp, before, rc_psn_distance(before, r->expected));
		/* Their own wish for an answer was heard when they came, and told of the gap. */
		owe_ack(r);
	}
	if (r->owed == RC_OWED_RNR)
		rc_selective_forget_held(qp);
}

enum rc_verdict rc_responder_receive(struct transport_qp *qp, const struct transport_run *run)
{
	uint32_t before = qp->resp.expected;
	enum rc_verdict verdict = receive(qp, run);

	if (rc_selective_holds(qp)) {
		rc_selective_passed(qp, before, rc_psn_distance(before, qp->resp.expected));
		rc_responder_deliver(qp);
	}
	return verdict;
}

/* An ACK or NAK. False when it does not fit into the room. */
static bool write_ack(struct transport_qp *qp, uint32_t psn, uint32_t msn, uint8_t syndrome,
		      const struct transport_room *room, struct transport_run *out, size_t *used)
{
	if (!transport_run_fit(0, 1, 0, qp->config.mtu, 1, 0, WIRE_AETH_BYTES, 0, room))
		return false;
	memset(&out->head, 0, sizeof(out->head));
	rc_head(qp, psn, out);
	out->head.bth.opcode = out->last_opcode = rc_opcode(qp, WIRE_ACKNOWLEDGE);
	out->head.aeth.syndrome = syndrome;
	out->head.aeth.msn = msn;
	out->packets = 1;
	return transport_run_write(out, NULL, 0, room, used) == BASE_OK;
}

bool rc_responder_holds_ack(const struct transport_qp *qp, uint64_t now)
{
	const struct rc_responder *r = &qp->resp;

	return !qp->config.lossless && r->owed == RC_OWED_ACK && rc_ack_waits(&r->ack) && now - r->ack.owed_at < RC_ACK_HOLD_NS &&
	       qp->req.una == qp->req.next_psn && !r->pending && qp->state == TRANSPORT_RTS;
}

int rc_responder_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out,
		      size_t *used)
{
	struct rc_responder *r = &qp->resp;
	uint32_t psn = 0, msn = r->msn;
	uint8_t syndrome = WIRE_ACK_UNLIMITED;

	if (r->pending) {
		if (rc_read_next(qp, room, out, used)) {
			/* It acknowledges all before it. A SACK says more. */
			if (r->owed == RC_OWED_ACK && !rc_selective_holds(qp) &&
			    wire_psn_diff(out->head.bth.psn, rc_read_ack(qp, &msn)) > 0)
				r->owed = RC_OWED_NONE;
			return 1;
		}
		if (r->pending)
			return 0; /* nothing may overtake it */
	}
	switch ((enum rc_owed)r->owed) {
	case RC_OWED_NONE:
		return 0;
	case RC_OWED_ACK:
		psn = rc_read_ack(qp, &msn);
		break;
	case RC_OWED_NAK_SEQUENCE:
		psn = r->expected;
		syndrome = WIRE_NAK_PSN_SEQUENCE;
		break;
	case RC_OWED_RNR:
	case RC_OWED_FATAL:
		psn = r->owed_psn;
		syndrome = r->owed_syndrome;
		break;
	}
	if (r->owed <= RC_OWED_NAK_SEQUENCE && qp->config.selective != NULL) {
		if (rc_selective_holds(qp)) {
			if (!rc_selective_write(qp, room, out, used))
				return 0;
			r->owed = RC_OWED_NONE;
			return 1;
		}
		/* The gap is filled, or there is nothing to tell beyond it. */
		r->owed = RC_OWED_ACK;
		psn = rc_read_ack(qp, &msn);
		syndrome = WIRE_ACK_UNLIMITED;
	}
	if (!write_ack(qp, psn, msn, syndrome, room, out, used))
		return 0;
	if (r->owed == RC_OWED_ACK) {
		qp->stats.acks_sent++;
		rc_ack_left(&r->ack, now, qp->req.una == qp->req.next_psn);
	} else if (r->owed == RC_OWED_RNR) {
		qp->stats.rnr_naks_sent++;
	} else {
		qp->stats.naks_sent++;
	}
	r->owed = RC_OWED_NONE;
	return 1;
}
