/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The responder of an RC QP: takes requests in PSN order, places their payload, owes one answer.
 *
 * A packet is judged by its PSN first. Behind the expected one it is a duplicate: not executed, answered with an ACK for all
 * that was taken. Ahead of it there is a gap: one NAK, then silence until the expected PSN comes (the requester goes back by
 * itself). Exactly expected: it climbs the ladder below, step by step, and the first step that refuses gives the answer;
 * there is no other way out.
 *
 *   step        asks                                               refusal
 *   sequence    FIRST/ONLY between messages, MIDDLE/LAST within    NAK 0x61
 *   operation   does the QP permit it; do we know it               NAK 0x61
 *   resources   SEND: a receive at FIRST/ONLY; WRITE: at the imm   RNR NAK, nothing changes
 *               READ, atomic: max_dest_rd_atomic                   NAK 0x61
 *   length      whole packets, message fits receive / RETH         NAK 0x61
 *   rkey        the whole range of the RETH                        NAK 0x62
 *   execute     placement                                          SEND: NAK 0x63, WRITE: NAK 0x62
 *
 * What passes is committed: PSN, MSN, offsets, the receive's completion. NAK 0x61..0x63 end the QP.
 *
 * Runs. A run is exactly its packets one by one, so it is cut at the expected PSN first (the front may be duplicate). What is
 * in order climbs the ladder as a whole with one placement; the steps only ask questions whose answer for the run is yes just
 * when it is yes for every packet. If a step refuses the run, nothing has been committed, and the packets climb singly: the
 * one to blame gets the answer, those before it count. Placing bytes twice is harmless. A WRITE run that ends with an
 * immediate is cut before its last packet, since only that one needs a receive.
 *
 * Owed answer. One, not a queue: an ACK always speaks for all before `expected`, so the latest says it all. A gap report
 * beats an ACK, says the expected PSN of the moment when it leaves, and thus acknowledges too. An RNR NAK dies when its
 * packet comes again and is taken. A fatal NAK stays, in the error state as well, until the link has pulled it.
 *
 * A receive that was taken completes exactly once: when its message ends, with the error that hit it, or flushed.
 */
#include "transport/rc.h"

#include <string.h>

#include "base/err.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "transport/rc_read.h"
#include "transport/rc_run.h"

enum rc_answer {
	RC_ANSWER_PASS,
	RC_ANSWER_RNR,
	RC_ANSWER_INVALID,   /* 0x61 */
	RC_ANSWER_TOO_LONG,  /* 0x61, and the receive was too short */
	RC_ANSWER_ACCESS,    /* 0x62 */
	RC_ANSWER_OPERATION, /* 0x63 */
};

void rc_responder_start(struct rc_qp *qp, uint32_t psn)
{
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->resp.expected = psn & RC_PSN_MASK;
}

static void responder_complete(struct rc_qp *qp, const struct transport_completion *c)
{
	struct rc_responder *r = &qp->resp;

	/* step_resources() takes no receive without a free entry here. */
	r->completions[(r->completion_first + r->completion_count++) % RC_RECV_COMPLETIONS] = *c;
	r->has_recv = false;
}

void rc_responder_end_recv(struct rc_qp *qp, uint32_t status)
{
	struct transport_completion c = {
		.wr_id = qp->resp.recv.wr_id,
		.status = status,
		.opcode = TRANSPORT_WC_RECV,
		.src_qpn = qp->config.dest_qpn,
		.index = qp->resp.recv.index,
		.signaled = true,
	};

	if (qp->resp.has_recv)
		responder_complete(qp, &c);
}

static uint64_t message_offset(const struct rc_qp *qp, const struct transport_run *run)
{
	return run->head.op->role & WIRE_ROLE_STARTS ? 0 : qp->resp.done;
}

/* roce-wire 13, "MIDDLE/LAST without FIRST; new FIRST/ONLY in the middle of a message". */
static enum rc_answer step_sequence(struct rc_qp *qp, const struct transport_run *run)
{
	uint16_t role = run->head.op->role;
	uint16_t kind = role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE);
	uint16_t wanted = role & WIRE_ROLE_STARTS ? 0 : kind;

	/* What is neither SEND nor WRITE is always ONLY, so it asks for 0 here too. */
	return qp->resp.kind == wanted ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
}

/* roce-wire 13, "not enabled in qp_access_flags"; what this responder cannot do is not enabled either. */
static enum rc_answer step_operation(struct rc_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);

	if (last->has & WIRE_HAS_IETH)
		return RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_SEND)
		return RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_WRITE)
		return qp->config.access & TRANSPORT_REMOTE_WRITE ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_READ)
		return qp->config.access & TRANSPORT_REMOTE_READ ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_ATOMIC)
		return qp->config.access & TRANSPORT_REMOTE_ATOMIC ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	return RC_ANSWER_INVALID;
}

/* roce-wire 13, "No receive WQE"; "More outstanding READ/atomic than max_dest_rd_atomic". */
static enum rc_answer step_resources(struct rc_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	uint16_t role = run->head.op->role;
	bool needs = role & WIRE_ROLE_SEND ? (role & WIRE_ROLE_STARTS) != 0
					   : (wire_opcode_find(run->last_opcode)->has & WIRE_HAS_IMMDT) != 0;

	if (role & (WIRE_ROLE_READ | WIRE_ROLE_ATOMIC))
		return rc_read_is_full(qp) ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	if (!needs || r->has_recv)
		return RC_ANSWER_PASS;
	if (r->completion_count == RC_RECV_COMPLETIONS)
		return RC_ANSWER_RNR;
	if (qp->recv_ops->take(qp->recv_host, &r->recv) != BASE_OK)
		return RC_ANSWER_RNR;
	r->has_recv = true;
	return RC_ANSWER_PASS;
}

/* roce-wire 13, "Sum of WRITE payload", "SEND longer than the receive WQE", "Atomic VA"; 4, payload per opcode. */
static enum rc_answer step_length(struct rc_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint32_t last_payload = run->head.payload_len - (run->packets - 1u) * qp->config.mtu;
	uint64_t end = message_offset(qp, run) + run->head.payload_len;
	uint64_t length;

	if (!wire_opcode_payload_fits(last, last_payload, qp->config.mtu))
		return RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_SEND) {
		if (end > qp->resp.recv.length)
			return RC_ANSWER_TOO_LONG;
		return end > RC_MAX_MESSAGE ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	}
	if (last->role & WIRE_ROLE_ATOMIC)
		return run->head.atomic.va & 7 ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	length = run->head.op->role & WIRE_ROLE_STARTS ? run->head.reth.length : qp->resp.write_length;
	if (length > RC_MAX_MESSAGE)
		return RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_READ)
		return RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_ENDS)
		return end == length ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	return end < length ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
}

/* roce-wire 13, "R_Key unknown / wrong PD / range / access"; zero length asks nothing. */
static enum rc_answer step_rkey(struct rc_qp *qp, const struct transport_run *run)
{
	const struct wire_reth *reth = &run->head.reth;
	const struct wire_atomiceth *atomic = &run->head.atomic;
	uint32_t access = run->head.op->role & WIRE_ROLE_READ ? TRANSPORT_REMOTE_READ : TRANSPORT_REMOTE_WRITE;

	if (run->head.op->role & WIRE_ROLE_ATOMIC)
		return qp->memory.ops->remote_check(qp->memory.host, qp->config.qpn, atomic->rkey, atomic->va, 8,
						    TRANSPORT_REMOTE_ATOMIC) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	if (!(run->head.op->has & WIRE_HAS_RETH) || reth->length == 0)
		return RC_ANSWER_PASS;
	if (qp->memory.ops->remote_check(qp->memory.host, qp->config.qpn, reth->rkey, reth->va, reth->length,
					 access) != BASE_OK)
		return RC_ANSWER_ACCESS;
	return RC_ANSWER_PASS;
}

/* roce-wire 13, "Scatter list of the receive WQE bad"; a region that went away since the RETH was checked counts as rkey. */
static enum rc_answer step_execute(struct rc_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	const struct transport_memory_ops *ops = qp->memory.ops;
	bool starts = run->head.op->role & WIRE_ROLE_STARTS;
	uint64_t offset = message_offset(qp, run);

	if (run->head.op->role & WIRE_ROLE_ATOMIC) {
		const struct wire_atomiceth *a = &run->head.atomic;
		enum transport_atomic op = run->last_opcode == WIRE_RC_FETCH_ADD ? TRANSPORT_FETCH_ADD : TRANSPORT_COMPARE_SWAP;

		return ops->remote_atomic(qp->memory.host, qp->config.qpn, a->rkey, a->va, op, a->swap_or_add, a->compare,
					  &r->atomic_result) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	}
	if (run->head.payload_len == 0)
		return RC_ANSWER_PASS;
	if (run->head.op->role & WIRE_ROLE_SEND) {
		if (ops->scatter(qp->memory.host, r->recv.sge, r->recv.num_sge, offset, run->head.payload,
				 run->head.payload_len) != BASE_OK)
			return RC_ANSWER_OPERATION;
		return RC_ANSWER_PASS;
	}
	if (ops->remote_write(qp->memory.host, qp->config.qpn, starts ? run->head.reth.rkey : r->write_rkey,
			      (starts ? run->head.reth.va : r->write_va) + offset, run->head.payload,
			      run->head.payload_len) != BASE_OK)
		return RC_ANSWER_ACCESS;
	return RC_ANSWER_PASS;
}

/* In the order of roce-wire 13. */
static enum rc_answer (*const ladder[])(struct rc_qp *qp, const struct transport_run *run) = {
	step_sequence, step_operation, step_resources, step_length, step_rkey, step_execute,
};

static enum rc_answer climb(struct rc_qp *qp, const struct transport_run *run)
{
	enum rc_answer answer = RC_ANSWER_PASS;

	for (size_t i = 0; answer == RC_ANSWER_PASS && i < sizeof(ladder) / sizeof(ladder[0]); i++)
		answer = ladder[i](qp, run);
	return answer;
}

static void owe_ack(struct rc_responder *r)
{
	if (r->owed == RC_OWED_NONE)
		r->owed = RC_OWED_ACK;
}

static void finish_message(struct rc_qp *qp, const struct transport_run *run, const struct wire_opcode *last)
{
	struct rc_responder *r = &qp->resp;
	bool imm = last->has & WIRE_HAS_IMMDT;
	struct transport_completion c = {
		.wr_id = r->recv.wr_id,
		.status = TRANSPORT_SUCCESS,
		.opcode = last->role & WIRE_ROLE_SEND ? TRANSPORT_WC_RECV : TRANSPORT_WC_RECV_RDMA_WITH_IMM,
		.byte_len = (uint32_t)r->done,
		.imm_or_inv = imm ? run->head.imm : 0,
		.src_qpn = qp->config.dest_qpn,
		.index = r->recv.index,
		.wc_flags = imm ? TRANSPORT_WC_WITH_IMM : 0,
		.solicited = run->head.bth.solicited,
		.signaled = true,
	};

	r->kind = 0;
	r->msn = wire_psn_add(r->msn, 1);
	if (r->has_recv)
		responder_complete(qp, &c);
}

static void commit(struct rc_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint16_t role = run->head.op->role;

	if (role & WIRE_ROLE_STARTS) {
		r->kind = role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE);
		r->done = 0;
		if (run->head.op->has & WIRE_HAS_RETH) {
			r->write_va = run->head.reth.va;
			r->write_rkey = run->head.reth.rkey;
			r->write_length = run->head.reth.length;
		}
	}
	r->done += run->head.payload_len;
	if (role & (WIRE_ROLE_READ | WIRE_ROLE_ATOMIC))
		rc_read_add(qp, &run->head, r->atomic_result);
	if (role & WIRE_ROLE_READ)
		r->expected = wire_psn_add(r->expected, rc_read_psns(run->head.reth.length, qp->config.mtu));
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

static enum rc_verdict refuse(struct rc_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t event, uint32_t recv_status)
{
	qp->resp.owed = RC_OWED_FATAL;
	qp->resp.owed_psn = psn;
	qp->resp.owed_syndrome = syndrome;
	qp->events |= event;
	rc_responder_end_recv(qp, recv_status);
	rc_enter_error(qp);
	return RC_NAKED;
}

void rc_responder_refuse_read(struct rc_qp *qp, uint32_t psn)
{
	if (qp->state != RC_ERROR)
		refuse(qp, psn, WIRE_NAK_REMOTE_ACCESS, RC_EVENT_ACCESS_ERR, TRANSPORT_WR_FLUSH_ERR);
}

/* One packet that did not pass. */
static enum rc_verdict give(struct rc_qp *qp, const struct transport_run *packet, enum rc_answer answer)
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
		return refuse(qp, psn, WIRE_NAK_INVALID_REQUEST, RC_EVENT_REQ_ERR, TRANSPORT_REM_INV_REQ_ERR);
	case RC_ANSWER_TOO_LONG:
		return refuse(qp, psn, WIRE_NAK_INVALID_REQUEST, RC_EVENT_REQ_ERR, TRANSPORT_LOC_LEN_ERR);
	case RC_ANSWER_ACCESS:
		return refuse(qp, psn, WIRE_NAK_REMOTE_ACCESS, RC_EVENT_ACCESS_ERR, TRANSPORT_LOC_ACCESS_ERR);
	case RC_ANSWER_OPERATION:
		return refuse(qp, psn, WIRE_NAK_REMOTE_OPERATION, 0, TRANSPORT_LOC_PROT_ERR);
	}
	return RC_TOOK;
}

/* A run whose first PSN is the expected one. */
static enum rc_verdict take(struct rc_qp *qp, const struct transport_run *run)
{
	enum rc_answer answer = climb(qp, run);
	enum rc_verdict verdict;

	if (answer == RC_ANSWER_PASS) {
		commit(qp, run);
		return RC_TOOK;
	}
	if (run->packets == 1)
		return give(qp, run, answer);
	for (uint32_t i = 0; i < run->packets; i++) {
		struct transport_run packet = rc_run_slice(run, i, 1);

		answer = climb(qp, &packet);
		if (answer != RC_ANSWER_PASS) {
			verdict = give(qp, &packet, answer);
			return i > 0 && verdict == RC_RNR ? RC_TOOK : verdict;
		}
		commit(qp, &packet);
	}
	return RC_TOOK;
}

static enum rc_verdict take_in_order(struct rc_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	struct transport_run part;
	enum rc_verdict verdict;

	if (run->packets == 1 || !(last->role & WIRE_ROLE_WRITE) || !(last->has & WIRE_HAS_IMMDT))
		return take(qp, run);
	part = rc_run_slice(run, 0, run->packets - 1u);
	verdict = take(qp, &part);
	if (verdict != RC_TOOK)
		return verdict;
	part = rc_run_slice(run, run->packets - 1u, 1);
	verdict = take(qp, &part);
	return verdict == RC_RNR ? RC_TOOK : verdict;
}

enum rc_verdict rc_responder_receive(struct rc_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	int32_t ahead = wire_psn_diff(run->head.bth.psn, r->expected);
	struct transport_run rest;

	if (!r->met) {
		r->met = true;
		if (qp->state == RC_RTR)
			qp->events |= RC_EVENT_COMM_EST;
	}
	if (ahead > 0) {
		qp->stats.out_of_order += run->packets;
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
	rest = rc_run_slice(run, (uint32_t)-ahead, run->packets - (uint32_t)-ahead);
	return take_in_order(qp, &rest);
}

int rc_responder_next(struct rc_qp *qp, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_responder *r = &qp->resp;
	uint32_t psn = 0;
	uint8_t syndrome = WIRE_ACK_UNLIMITED;

	if (r->pending) {
		if (rc_read_next(qp, room, out, used))
			return 1;
		if (r->pending)
			return 0; /* nothing may overtake it */
	}
	switch ((enum rc_owed)r->owed) {
	case RC_OWED_NONE:
		return 0;
	case RC_OWED_ACK:
		psn = wire_psn_add(r->expected, RC_PSN_MASK);
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
	if (!rc_run_write_ack(qp, psn, syndrome, r->msn, room, out, used))
		return 0;
	if (r->owed == RC_OWED_ACK)
		qp->stats.acks_sent++;
	else if (r->owed == RC_OWED_RNR)
		qp->stats.rnr_naks_sent++;
	else
		qp->stats.naks_sent++;
	r->owed = RC_OWED_NONE;
	return 1;
}

int rc_responder_completion_next(struct rc_qp *qp, struct transport_completion *out)
{
	struct rc_responder *r = &qp->resp;

	if (r->completion_count == 0)
		return 0;
	*out = r->completions[r->completion_first];
	r->completion_first = (uint8_t)((r->completion_first + 1) % RC_RECV_COMPLETIONS);
	r->completion_count--;
	return 1;
}
