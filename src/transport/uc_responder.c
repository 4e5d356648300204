/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a UC QP does with packets. The law is short (roce-wire 13, "UC responder"): a message is delivered when all of its
 * packets come in order and nothing is wrong with them; else it is abandoned in silence, and the next FIRST or ONLY begins
 * anew.
 *
 * PSN. Not the expected one: something was lost, so the message under way is abandoned, and the packet is taken if it begins
 * one. What lies up to UC_OLD_PSNS behind was overtaken or doubled on the way and is dropped, so that no message is delivered
 * twice or out of order. Farther behind it is taken for ahead: the peer may have sent to nobody for a long time.
 *
 * Receives. One is held from a SEND's first packet on (WRITE: when its immediate comes) until a message completes it. An
 * abandoned message leaves it to the next one. When there is none, nothing has been consumed: not the PSN, no byte placed.
 *
 * Runs are judged as a whole and never in part; whatever is wrong with one packet costs the message anyway.
 */
#include "transport/uc.h"

#include "base/err.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { UC_OLD_PSNS = 4096 };

/* The message under way ends here without an end. */
static void abandon(struct transport_qp *qp)
{
	if (qp->uc.kind)
		qp->stats.abandoned++;
	qp->uc.kind = 0;
}

/* A run that is not taken, with the rest of its message. */
static enum uc_verdict drop(struct transport_qp *qp, const struct transport_run *run, enum uc_verdict verdict)
{
	if (qp->uc.kind == 0 && (run->head.op->role & WIRE_ROLE_STARTS))
		qp->stats.abandoned++;
	abandon(qp);
	qp->uc.expected = wire_psn_add(run->head.bth.psn, run->packets);
	return verdict;
}

static bool length_is_wrong(const struct transport_qp *qp, const struct transport_run *run, const struct wire_opcode *last, uint64_t end)
{
	uint32_t last_payload = run->head.payload_len - (run->packets - 1u) * qp->config.mtu;
	uint64_t length = run->head.op->role & WIRE_ROLE_STARTS ? run->head.reth.length : qp->uc.write_length;

	if (!wire_opcode_payload_fits(last, last_payload, qp->config.mtu) || end > WIRE_RETH_LENGTH_MAX)
		return true;
	if (last->role & WIRE_ROLE_SEND)
		return end > qp->intake.recv.length;
	if (length > WIRE_RETH_LENGTH_MAX)
		return true;
	return last->role & WIRE_ROLE_ENDS ? end != length : end >= length;
}

static bool rkey_is_wrong(struct transport_qp *qp, const struct wire_reth *reth)
{
	return reth->length && qp->memory.ops->remote_check(qp->memory.host, qp->config.qpn, reth->rkey, reth->va, reth->length,
							    TRANSPORT_REMOTE_WRITE) != BASE_OK;
}

static int place(struct transport_qp *qp, const struct transport_run *run)
{
	const struct transport_memory_ops *ops = qp->memory.ops;
	const struct transport_recv *recv = &qp->intake.recv;
	const struct wire_packet *head = &run->head;

	if (head->payload_len == 0)
		return BASE_OK;
	if (head->op->role & WIRE_ROLE_SEND)
		return ops->scatter(qp->memory.host, recv->sge, recv->num_sge, qp->uc.done, head->payload, head->payload_len);
	return ops->remote_write(qp->memory.host, qp->config.qpn, qp->uc.write_rkey, qp->uc.write_va + qp->uc.done, head->payload,
				 head->payload_len);
}

static void finish_message(struct transport_qp *qp, const struct transport_run *run, const struct wire_opcode *last)
{
	bool imm = last->has & WIRE_HAS_IMMDT;

	qp->uc.kind = 0;
	/* A plain WRITE does not touch a receive that an abandoned message left. */
	if (!imm && !(last->role & WIRE_ROLE_SEND))
		return;
	intake_complete(&qp->intake, (struct transport_completion){
		.status = TRANSPORT_SUCCESS,
		.opcode = last->role & WIRE_ROLE_SEND ? TRANSPORT_WC_RECV : TRANSPORT_WC_RECV_RDMA_WITH_IMM,
		.byte_len = (uint32_t)qp->uc.done,
		.imm_or_inv = imm ? run->head.imm : 0,
		.src_qpn = qp->config.dest_qpn,
		.wc_flags = imm ? TRANSPORT_WC_WITH_IMM : 0,
		.solicited = run->head.bth.solicited,
	});
}

/* A run that continues the message under way or begins one. */
static enum uc_verdict take(struct transport_qp *qp, const struct transport_run *run, bool give_up)
{
	const struct wire_opcode *last = wire_opcode_find(run->last_opcode);
	uint16_t role = run->head.op->role;
	bool starts = role & WIRE_ROLE_STARTS;

	if ((role & WIRE_ROLE_WRITE) && !(qp->config.access & TRANSPORT_REMOTE_WRITE))
		return drop(qp, run, UC_DROPPED_ACCESS);
	if (((starts && (role & WIRE_ROLE_SEND)) || (last->has & WIRE_HAS_IMMDT)) && intake_hold(&qp->intake) != BASE_OK)
		return give_up ? drop(qp, run, UC_DROPPED_NO_RECV) : UC_NO_RECV;
	if (length_is_wrong(qp, run, last, (starts ? 0 : qp->uc.done) + run->head.payload_len))
		return drop(qp, run, UC_DROPPED_LENGTH);
	if (starts && (role & WIRE_ROLE_WRITE)) {
		if (rkey_is_wrong(qp, &run->head.reth))
			return drop(qp, run, UC_DROPPED_ACCESS);
		qp->uc.write_va = run->head.reth.va;
		qp->uc.write_rkey = run->head.reth.rkey;
		qp->uc.write_length = run->head.reth.length;
	}
	if (starts) {
		qp->uc.kind = role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE);
		qp->uc.done = 0;
	}
	if (place(qp, run) != BASE_OK) {
		if (role & WIRE_ROLE_WRITE)
			return drop(qp, run, UC_DROPPED_ACCESS);
		drop(qp, run, UC_FAILED);
		intake_end(&qp->intake, TRANSPORT_LOC_PROT_ERR, qp->config.dest_qpn);
		uc_to_error(qp);
		return UC_FAILED;
	}
	qp->uc.done += run->head.payload_len;
	qp->uc.expected = wire_psn_add(run->head.bth.psn, run->packets);
	qp->stats.received_packets += run->packets;
	qp->stats.received_bytes += run->head.payload_len;
	if (last->role & WIRE_ROLE_ENDS)
		finish_message(qp, run, last);
	return UC_TOOK;
}

static enum uc_verdict receive_upto(struct transport_qp *qp, const struct transport_run *run, bool give_up)
{
	int32_t ahead = wire_psn_diff(run->head.bth.psn, qp->uc.expected);
	uint16_t role = run->head.op->role;
	struct transport_run rest;

	if (ahead < 0 && ahead >= -UC_OLD_PSNS) {
		if (-ahead >= run->packets)
			return UC_DROPPED_OLD;
		rest = transport_run_slice(run, (uint32_t)-ahead, run->packets - (uint32_t)-ahead);
		return receive_upto(qp, &rest, give_up);
	}
	/* Lost packets, or a new message where the old one has not ended. */
	if (ahead != 0 || (role & WIRE_ROLE_STARTS))
		abandon(qp);
	if (!(role & WIRE_ROLE_STARTS) && qp->uc.kind != (role & (WIRE_ROLE_SEND | WIRE_ROLE_WRITE)))
		return drop(qp, run, UC_DROPPED_GAP);
	return take(qp, run, give_up);
}

enum uc_verdict uc_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run, bool give_up)
{
	const struct wire_opcode *op = wire_opcode_find(run->head.bth.opcode);

	if (op == NULL || op != run->head.op || op->transport != WIRE_TRANSPORT_UC ||
	    !transport_run_is_coherent(run, qp->config.mtu))
		return UC_DROPPED_OPCODE;
	if (qp->state < TRANSPORT_RTR || qp->state > TRANSPORT_SQE)
		return UC_DROPPED_STATE;
	if (!transport_pkey_matches(run->head.bth.pkey, qp->config.pkey))
		return UC_DROPPED_PKEY;
	transport_qp_meet(qp, &qp->uc.met);
	return receive_upto(qp, run, give_up);
}
