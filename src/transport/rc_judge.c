/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Judging a request at the expected PSN: the ladder of rc_responder.c. Each step asks one question; the first that refuses
 * gives the answer. In the order of roce-wire 13:
 *
 *   step        asks                                               refusal
 *   sequence    FIRST/ONLY between messages, MIDDLE/LAST within    NAK 0x61
 *   srq         XRC: is it in the domain; one for a whole message  NAK 0x61
 *   operation   does the QP permit it; do we know it               NAK 0x61
 *   resources   SEND: a receive at FIRST/ONLY; WRITE: at the imm   RNR NAK, nothing changes
 *               READ, atomic, FLUSH, ATOMIC WRITE:
 *               max_dest_rd_atomic                                 NAK 0x61
 *   length      whole packets, message fits receive / RETH         NAK 0x61
 *   rkey        the whole range of the RETH                        NAK 0x62
 *   execute     placement                                          SEND: NAK 0x63, all others: NAK 0x62
 *
 * A run is judged as a whole: the steps only ask questions whose answer for the run is yes just when it is yes for every packet.
 */
#include "transport/rc_internal.h"

#include "base/err.h"
#include "transport/rc_read.h"
#include "wire/opcode.h"

/* Of a FETH: bits of the placement, and the selector that leaves the range aside. */
enum { FLUSH_GLOBAL = 1, FLUSH_PERSISTENT = 2, FLUSH_REGION = 1 };

static uint64_t message_offset(const struct transport_qp *qp, const struct transport_run *run)
{
	return run->head.op->role & WIRE_ROLE_STARTS ? 0 : qp->resp.done;
}

/* roce-wire 13, "MIDDLE/LAST without FIRST; new FIRST/ONLY in the middle of a message". */
static enum rc_answer step_sequence(struct transport_qp *qp, const struct transport_run *run)
{
	uint16_t role = run->head.op->role;
	uint16_t kind = role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE);
	uint16_t wanted = role & WIRE_ROLE_STARTS ? 0 : kind;

	/* What is neither SEND nor WRITE is always ONLY, so it asks for 0 here too. */
	return qp->resp.kind == wanted ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
}

/* What it says is for the whole message, its memory included. */
static enum rc_answer step_srq(struct transport_qp *qp, const struct transport_run *run)
{
	const struct intake *in = &qp->intake;

	if (!rc_is_xrc(qp))
		return RC_ANSWER_PASS;
	if (!(run->head.op->role & WIRE_ROLE_STARTS) && run->head.xrc_srqn != qp->resp.srqn)
		return RC_ANSWER_INVALID;
	return in->ops->select(in->host, run->head.xrc_srqn) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
}

/* The rights that a FLUSH needs, of the QP and of the region. */
static uint32_t flush_access(const struct wire_feth *feth)
{
	return (feth->placement & FLUSH_GLOBAL ? TRANSPORT_FLUSH_GLOBAL : 0) |
	       (feth->placement & FLUSH_PERSISTENT ? TRANSPORT_FLUSH_PERSISTENT : 0);
}

/* roce-wire 16. What has reserved values asks for what we do not know. */
static enum rc_answer flush_operation(const struct transport_qp *qp, const struct wire_feth *feth)
{
	if ((feth->placement & ~(FLUSH_GLOBAL | FLUSH_PERSISTENT)) || feth->selector > FLUSH_REGION)
		return RC_ANSWER_INVALID;
	return flush_access(feth) & ~qp->config.access ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
}

/* roce-wire 13, "not enabled in qp_access_flags"; what this responder cannot do is not enabled either. */
static enum rc_answer step_operation(struct transport_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);

	if (last->role & WIRE_ROLE_SEND)
		return RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_FLUSH)
		return flush_operation(qp, &run->head.feth);
	if (last->role & (WIRE_ROLE_WRITE | WIRE_ROLE_ATOMIC_WRITE))
		return qp->config.access & TRANSPORT_REMOTE_WRITE ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_READ)
		return qp->config.access & TRANSPORT_REMOTE_READ ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_ATOMIC)
		return qp->config.access & TRANSPORT_REMOTE_ATOMIC ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	return RC_ANSWER_INVALID;
}

/* roce-wire 13, "No receive WQE"; "More outstanding READ/atomic than max_dest_rd_atomic". */
static enum rc_answer step_resources(struct transport_qp *qp, const struct transport_run *run)
{
	uint16_t role = run->head.op->role;
	bool needs = role & WIRE_ROLE_SEND ? (role & WIRE_ROLE_STARTS) != 0
					   : (wire_opcode_find(run->last_opcode)->has & WIRE_HAS_IMMDT) != 0;

	if (role & RC_ANSWERED)
		return rc_read_is_full(qp) ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	return !needs || intake_hold(&qp->intake) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_RNR;
}

/* roce-wire 13, "Sum of WRITE payload", "SEND longer than the receive WQE", "Atomic VA"; 4, payload per opcode. */
static enum rc_answer step_length(struct transport_qp *qp, const struct transport_run *run)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint32_t last_payload = run->head.payload_len - (run->packets - 1u) * qp->config.mtu;
	uint64_t end = message_offset(qp, run) + run->head.payload_len;
	uint64_t length;

	if (!wire_opcode_payload_fits(last, last_payload, qp->config.mtu))
		return RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_SEND) {
		if (end > qp->intake.recv.length)
			return RC_ANSWER_TOO_LONG;
		return end > WIRE_RETH_LENGTH_MAX ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	}
	if (last->role & WIRE_ROLE_ATOMIC)
		return run->head.atomic.va & 7 ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_ATOMIC_WRITE)
		return run->head.reth.va & 7 || run->head.reth.length != 8 ? RC_ANSWER_INVALID : RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_FLUSH)
		return RC_ANSWER_PASS;
	length = run->head.op->role & WIRE_ROLE_STARTS ? run->head.reth.length : qp->resp.write_length;
	if (length > WIRE_RETH_LENGTH_MAX)
		return RC_ANSWER_INVALID;
	if (last->role & WIRE_ROLE_READ)
		return RC_ANSWER_PASS;
	if (last->role & WIRE_ROLE_ENDS)
		return end == length ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
	return end < length ? RC_ANSWER_PASS : RC_ANSWER_INVALID;
}

/* roce-wire 13, "R_Key unknown / wrong PD / range / access"; zero length asks nothing. */
static enum rc_answer step_rkey(struct transport_qp *qp, const struct transport_run *run)
{
	const struct wire_reth *reth = &run->head.reth;
	const struct wire_atomiceth *atomic = &run->head.atomic;
	uint32_t access = run->head.op->role & WIRE_ROLE_READ ? TRANSPORT_REMOTE_READ : TRANSPORT_REMOTE_WRITE;

	if (run->head.op->role & WIRE_ROLE_ATOMIC)
		return qp->memory.ops->remote_check(qp->memory.host, qp->config.qpn, atomic->rkey, atomic->va, 8,
						    TRANSPORT_REMOTE_ATOMIC) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	/* A FLUSH of a whole region has no range: its key is checked when it is executed. */
	if (!(run->head.op->has & WIRE_HAS_RETH) || reth->length == 0 || (run->head.op->role & WIRE_ROLE_FLUSH))
		return RC_ANSWER_PASS;
	if (qp->memory.ops->remote_check(qp->memory.host, qp->config.qpn, reth->rkey, reth->va, reth->length,
					 access) != BASE_OK)
		return RC_ANSWER_ACCESS;
	return RC_ANSWER_PASS;
}

/* roce-wire 13, "Scatter list of the receive WQE bad"; a region that went away since the RETH was checked counts as rkey. */
static enum rc_answer step_execute(struct transport_qp *qp, const struct transport_run *run)
{
	struct rc_responder *r = &qp->resp;
	const struct transport_memory_ops *ops = qp->memory.ops;
	bool starts = run->head.op->role & WIRE_ROLE_STARTS;
	uint64_t offset = message_offset(qp, run);

	if (run->head.op->role & WIRE_ROLE_ATOMIC) {
		const struct wire_atomiceth *a = &run->head.atomic;
		enum transport_atomic op = run->last_opcode == rc_opcode(qp, WIRE_FETCH_ADD) ? TRANSPORT_FETCH_ADD :
											      TRANSPORT_COMPARE_SWAP;

		return ops->remote_atomic(qp->memory.host, qp->config.qpn, a->rkey, a->va, op, a->swap_or_add, a->compare,
					  &r->atomic_result) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	}
	if (run->head.op->role & WIRE_ROLE_FLUSH)
		return ops->remote_flush(qp->memory.host, qp->config.qpn, run->head.reth.rkey, run->head.reth.va,
					 run->head.reth.length, flush_access(&run->head.feth),
					 run->head.feth.selector == FLUSH_REGION) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	if (run->head.op->role & WIRE_ROLE_ATOMIC_WRITE)
		return ops->remote_atomic_write(qp->memory.host, qp->config.qpn, run->head.reth.rkey, run->head.reth.va,
						run->head.payload) == BASE_OK ? RC_ANSWER_PASS : RC_ANSWER_ACCESS;
	if (run->head.payload_len == 0)
		return RC_ANSWER_PASS;
	if (run->head.op->role & WIRE_ROLE_SEND) {
		if (ops->scatter(qp->memory.host, qp->intake.recv.sge, qp->intake.recv.num_sge, offset, run->head.payload,
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

static enum rc_answer (*const ladder[])(struct transport_qp *qp, const struct transport_run *run) = {
	step_sequence, step_srq, step_operation, step_resources, step_length, step_rkey, step_execute,
};

enum rc_answer rc_judge(struct transport_qp *qp, const struct transport_run *run)
{
	enum rc_answer answer = RC_ANSWER_PASS;

	for (size_t i = 0; answer == RC_ANSWER_PASS && i < sizeof(ladder) / sizeof(ladder[0]); i++)
		answer = ladder[i](qp, run);
	return answer;
}
