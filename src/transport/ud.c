/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UD QP. Both directions are one packet per message, so there is next to no state: a PSN that counts what was sent, and a
 * receive that a datagram found too small for itself and that waits for the next one (but not one of an SRQ, which ends).
 */
#include "transport/ud.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "transport/message.h"
#include "transport/sq.h"
#include "wire/ip.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define UD_CONTROLLED 0x80000000u /* in a WR's Q_Key: use that of the QP */

void ud_to_rtr(struct transport_qp *qp, const struct transport_config *config)
{
	assert(config->mtu >= 256 && config->mtu <= 4096);
	qp->config = *config;
	qp->state = TRANSPORT_RTR;
}

void ud_to_rts(struct transport_qp *qp, const struct transport_config *config)
{
	ud_update(qp, config);
	if (qp->state == TRANSPORT_RTR) {
		qp->config.sq_psn = config->sq_psn;
		qp->ud_psn = config->sq_psn & WIRE_PSN_MASK;
	}
	transport_qp_enter_rts(qp);
}

void ud_update(struct transport_qp *qp, const struct transport_config *config)
{
	qp->config.qkey = config->qkey;
	qp->config.pkey = config->pkey;
}

void ud_to_sqd(struct transport_qp *qp)
{
	if (qp->state != TRANSPORT_RTS)
		return;
	/* No message is ever half sent. */
	qp->state = TRANSPORT_SQD;
	qp->events |= TRANSPORT_EVENT_SQ_DRAINED;
}

void ud_to_error(struct transport_qp *qp)
{
	if (!transport_qp_enter_error(qp))
		return;
	intake_end(&qp->intake, TRANSPORT_WR_FLUSH_ERR, 0);
}

uint32_t ud_sq_psn(const struct transport_qp *qp)
{
	return qp->ud_psn;
}

const char *ud_verdict_text(enum ud_verdict verdict)
{
	static const char *const texts[] = {
		[UD_TOOK] = "took",
		[UD_NO_RECV] = "no receive",
		[UD_DROPPED_NO_RECV] = "dropped: no receive",
		[UD_DROPPED_LENGTH] = "dropped: length",
		[UD_FAILED] = "failed",
		[UD_DROPPED_QKEY] = "dropped: Q_Key",
		[UD_DROPPED_PKEY] = "dropped: P_Key",
		[UD_DROPPED_STATE] = "dropped: state",
		[UD_DROPPED_OPCODE] = "dropped: opcode",
	};

	_Static_assert(sizeof(texts) / sizeof(texts[0]) == UD_VERDICTS, "one text per verdict");
	return (unsigned int)verdict < UD_VERDICTS ? texts[verdict] : "?";
}

/* ---- receiving ---- */

/* roce-wire 18: QP 1 has the well-known Q_Key, whatever its attributes say. */
static uint32_t own_qkey(const struct transport_qp *qp)
{
	return qp->config.qpn == 1 ? WIRE_QKEY_GSI : qp->config.qkey;
}

static int place(struct transport_qp *qp, const struct transport_run *run, const uint8_t *grh)
{
	const struct transport_memory_ops *ops = qp->memory.ops;
	const struct transport_recv *recv = &qp->intake.recv;
	int err = ops->scatter(qp->memory.host, recv->sge, recv->num_sge, 0, grh, UD_GRH_BYTES);

	if (err || run->head.payload_len == 0)
		return err;
	return ops->scatter(qp->memory.host, recv->sge, recv->num_sge, UD_GRH_BYTES, run->head.payload, run->head.payload_len);
}

/* Told from the area itself: an IPv4 header leaves its front half alone, and version 6 stands at the front of the others. */
static uint8_t network_of(const uint8_t grh[UD_GRH_BYTES])
{
	if (grh[0] >> 4 != 6)
		return grh[UD_GRH_BYTES - WIRE_IPV4_BYTES] >> 4 == 4 ? TRANSPORT_WC_UNDER_IPV4 : TRANSPORT_WC_UNDER_GRH;
	return grh[6] == WIRE_PROTOCOL_UDP ? TRANSPORT_WC_UNDER_IPV6 : TRANSPORT_WC_UNDER_GRH;
}

enum ud_verdict ud_receive(struct transport_qp *qp, uint64_t now, const struct transport_run *run, const uint8_t *grh, bool give_up)
{
	const struct wire_opcode *op = wire_opcode_find(run->head.bth.opcode);
	uint32_t payload = run->head.payload_len;
	bool imm;

	if (op == NULL || op != run->head.op || op->transport != WIRE_TRANSPORT_UD || run->packets != 1 ||
	    run->last_opcode != run->head.bth.opcode)
		return UD_DROPPED_OPCODE;
	if (qp->state < TRANSPORT_RTR || qp->state > TRANSPORT_SQE)
		return UD_DROPPED_STATE;
	if (!transport_pkey_matches(run->head.bth.pkey, qp->config.pkey))
		return UD_DROPPED_PKEY;
	if (run->head.deth.qkey != own_qkey(qp))
		return UD_DROPPED_QKEY;
	if (!wire_opcode_payload_fits(op, payload, qp->config.mtu))
		return UD_DROPPED_LENGTH;
	if (intake_hold(&qp->intake) != BASE_OK)
		return give_up ? UD_DROPPED_NO_RECV : UD_NO_RECV;
	if ((uint64_t)payload + UD_GRH_BYTES > qp->intake.recv.length) {
		/* roce-wire 17: an SRQ cannot have it back, and another QP may be waiting for it. */
		if (qp->config.srq)
			intake_end(&qp->intake, TRANSPORT_LOC_LEN_ERR, run->head.deth.src_qpn);
		return UD_DROPPED_LENGTH;
	}
	if (place(qp, run, grh) != BASE_OK) {
		intake_end(&qp->intake, TRANSPORT_LOC_PROT_ERR, run->head.deth.src_qpn);
		ud_to_error(qp);
		return UD_FAILED;
	}
	imm = op->has & WIRE_HAS_IMMDT;
	qp->stats.received_packets++;
	qp->stats.received_bytes += payload;
	intake_complete(&qp->intake, (struct transport_completion){
		.status = TRANSPORT_SUCCESS,
		.opcode = TRANSPORT_WC_RECV,
		.byte_len = payload + UD_GRH_BYTES,
		.imm_or_inv = imm ? run->head.imm : 0,
		.src_qpn = run->head.deth.src_qpn,
		.wc_flags = (uint8_t)(TRANSPORT_WC_GRH | (imm ? TRANSPORT_WC_WITH_IMM : 0)),
		.sl = network_of(grh),
		.solicited = run->head.bth.solicited,
	});
	return UD_TOOK;
}

/* ---- sending ---- */

static struct message_path path_to(const struct transport_qp *qp, const struct transport_wqe *wqe)
{
	uint32_t qkey = wqe->remote_qkey & UD_CONTROLLED ? qp->config.qkey : wqe->remote_qkey;

	return (struct message_path){
		.memory = &qp->memory,
		.mtu = qp->config.mtu,
		.dest_qpn = wqe->remote_qpn & 0xffffff,
		.pkey = qp->config.pkey,
		.transport = WIRE_TRANSPORT_UD,
		.deth = { .qkey = qp->config.qpn == 1 ? WIRE_QKEY_GSI : qkey, .src_qpn = qp->config.qpn },
	};
}

bool ud_wants_room(const struct transport_qp *qp, uint64_t now)
{
	return qp->state == TRANSPORT_RTS && transport_sq_has_work(qp->sq) && !transport_pace_holds(&qp->pace, now);
}

/* The WQE to emit, NULL when there is none: finishes those that emit nothing. */
static struct transport_wqe *next_wqe(struct transport_qp *qp)
{
	while (qp->state == TRANSPORT_RTS && transport_sq_has_work(qp->sq)) {
		struct transport_wqe *wqe = transport_sq_wqe(qp->sq, qp->sq->next);
		bool is_send = wqe->op == TRANSPORT_OP_SEND || wqe->op == TRANSPORT_OP_SEND_WITH_IMM;
		struct message_path path;
		uint32_t status;
		int err;

		if (is_send && wqe->length > qp->config.mtu) {
			qp->stats.oversized++;
			if (qp->config.oversized_fails)
				transport_qp_enter_sqe(qp, TRANSPORT_LOC_LEN_ERR, 0);
			else
				transport_sq_finish(qp->sq, TRANSPORT_SUCCESS, 0);
			continue;
		}
		path = path_to(qp, wqe);
		status = message_obstacle(&path, wqe, &err);
		if (status == TRANSPORT_SUCCESS)
			return wqe;
		transport_qp_enter_sqe(qp, status, (uint32_t)-err);
	}
	return NULL;
}

int ud_next_ah(struct transport_qp *qp, uint32_t *ah)
{
	const struct transport_wqe *wqe = next_wqe(qp);

	if (wqe == NULL)
		return 0;
	*ah = wqe->ah;
	return 1;
}

int ud_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct transport_wqe *wqe = next_wqe(qp);
	struct message_path path;
	int err;

	if (wqe == NULL)
		return 0;
	path = path_to(qp, wqe);
	if (!message_fit(&path, wqe, 0, 1, 1, room))
		return 0;
	err = message_write(&path, wqe, 0, 1, 1, qp->ud_psn, false, room, out, used);
	if (err) {
		transport_qp_enter_sqe(qp, TRANSPORT_LOC_PROT_ERR, (uint32_t)-err);
		return 0;
	}
	qp->ud_psn = wire_psn_add(qp->ud_psn, 1);
	transport_pace_charge(&qp->pace, now, out);
	qp->stats.sent_packets++;
	qp->stats.sent_bytes += out->head.payload_len;
	transport_sq_finish(qp->sq, TRANSPORT_SUCCESS, 0);
	return 1;
}

const struct transport_ops ud_ops = {
	.wire = WIRE_TRANSPORT_UD,
	.to_rtr = ud_to_rtr,
	.to_rts = ud_to_rts,
	.update = ud_update,
	.to_sqd = ud_to_sqd,
	.to_error = ud_to_error,
	.sq_psn = ud_sq_psn,
	.next = ud_next,
	.wants_room = ud_wants_room,
};
