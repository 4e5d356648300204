/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UC QP as its host sees it: its life, and its requester. (uc_responder.c takes what comes.)
 *
 * The WQE at sq->next is the only one under way: `sent` of its packets are out, and the one whose last packet was pulled is
 * done at that moment, so sq->next and sq->done are the same. Nothing is sent twice.
 *
 * A WQE that cannot be sent completes with its error and the QP goes to SQE; in SQD, which has no way to SQE, to the error
 * state. If its first packets are out already (memory went away in between), the peer sees a message without an end.
 */
#include "transport/uc.h"

#include <assert.h>
#include <string.h>

#include "transport/message.h"
#include "transport/sq.h"
#include "wire/opcode.h"
#include "wire/psn.h"

void uc_to_rtr(struct transport_qp *qp, const struct transport_config *config)
{
	assert(config->mtu >= 256 && config->mtu <= 4096);
	qp->config = *config;
	qp->uc.expected = config->rq_psn & WIRE_PSN_MASK;
	qp->uc.kind = 0;
	qp->uc.met = false;
	qp->state = TRANSPORT_RTR;
}

void uc_to_rts(struct transport_qp *qp, const struct transport_config *config)
{
	uc_update(qp, config);
	if (qp->state == TRANSPORT_RTR) {
		qp->config.sq_psn = config->sq_psn;
		qp->uc.next_psn = config->sq_psn & WIRE_PSN_MASK;
	}
	qp->uc.draining = false;
	transport_qp_enter_rts(qp);
}

void uc_update(struct transport_qp *qp, const struct transport_config *config)
{
	qp->config.access = config->access;
}

static void check_drained(struct transport_qp *qp)
{
	if (qp->uc.draining && qp->uc.sent == 0) {
		qp->uc.draining = false;
		qp->events |= TRANSPORT_EVENT_SQ_DRAINED;
	}
}

void uc_to_sqd(struct transport_qp *qp)
{
	if (qp->state != TRANSPORT_RTS)
		return;
	qp->state = TRANSPORT_SQD;
	qp->uc.draining = true;
	check_drained(qp);
}

void uc_to_error(struct transport_qp *qp)
{
	bool idle = qp->uc.kind != WIRE_ROLE_SEND;

	if (!transport_qp_enter_error(qp))
		return;
	qp->uc.draining = false;
	qp->uc.sent = 0;
	qp->uc.kind = 0;
	/* roce-wire 13, "UC responder": an SRQ cannot have back what an abandoned message took. */
	intake_end(&qp->intake, idle && qp->config.srq ? TRANSPORT_REM_INV_REQ_ERR : TRANSPORT_WR_FLUSH_ERR, qp->config.dest_qpn);
}

uint32_t uc_sq_psn(const struct transport_qp *qp)
{
	return qp->uc.next_psn;
}

uint32_t uc_rq_psn(const struct transport_qp *qp)
{
	return qp->uc.expected;
}

bool uc_is_draining(const struct transport_qp *qp)
{
	return qp->uc.draining;
}

const char *uc_verdict_text(enum uc_verdict verdict)
{
	static const char *const texts[] = {
		[UC_TOOK] = "took",
		[UC_NO_RECV] = "no receive",
		[UC_DROPPED_NO_RECV] = "dropped: no receive",
		[UC_DROPPED_GAP] = "dropped: gap",
		[UC_DROPPED_OLD] = "dropped: old",
		[UC_DROPPED_LENGTH] = "dropped: length",
		[UC_DROPPED_ACCESS] = "dropped: access",
		[UC_FAILED] = "failed",
		[UC_DROPPED_STATE] = "dropped: state",
		[UC_DROPPED_OPCODE] = "dropped: opcode",
		[UC_DROPPED_PKEY] = "dropped: P_Key",
	};

	_Static_assert(sizeof(texts) / sizeof(texts[0]) == UC_VERDICTS, "one text per verdict");
	return (unsigned int)verdict < UC_VERDICTS ? texts[verdict] : "?";
}

static void fail(struct transport_qp *qp, uint32_t status, int err)
{
	bool draining = qp->state == TRANSPORT_SQD;

	qp->uc.sent = 0;
	transport_qp_enter_sqe(qp, status, (uint32_t)-err);
	if (draining)
		uc_to_error(qp);
}

bool uc_wants_room(const struct transport_qp *qp, uint64_t now)
{
	if (transport_pace_holds(&qp->pace, now))
		return false;
	if (qp->state == TRANSPORT_SQD)
		return qp->uc.sent != 0;
	return qp->state == TRANSPORT_RTS && transport_sq_has_work(qp->sq);
}

/* The WQE to emit from, NULL when there is none: executes what is local, finds what cannot be sent. */
static struct transport_wqe *next_wqe(struct transport_qp *qp, const struct message_path *path, uint64_t now)
{
	struct transport_wqe *wqe;
	uint32_t status;
	int err;

	while (uc_wants_room(qp, now)) {
		wqe = transport_sq_wqe(qp->sq, qp->sq->next);
		if (qp->uc.sent)
			return wqe;
		if (message_is_local(wqe)) {
			status = message_execute(&qp->memory, wqe, &err);
			if (status == TRANSPORT_SUCCESS) {
				transport_sq_finish(qp->sq, TRANSPORT_SUCCESS, 0);
				continue;
			}
		} else {
			status = message_obstacle(path, wqe, &err);
			if (status == TRANSPORT_SUCCESS)
				return wqe;
		}
		fail(qp, status, err);
	}
	return NULL;
}

int uc_next(struct transport_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct message_path path = { .memory = &qp->memory, .mtu = qp->config.mtu, .dest_qpn = qp->config.dest_qpn,
				     .pkey = qp->config.pkey, .transport = WIRE_TRANSPORT_UC };
	struct transport_wqe *wqe = next_wqe(qp, &path, now);
	uint32_t total, n;
	int err;

	if (wqe == NULL)
		return 0;
	total = message_packets(wqe->length, path.mtu);
	n = message_fit(&path, wqe, qp->uc.sent, total, UINT16_MAX, room);
	if (n == 0)
		return 0;
	err = message_write(&path, wqe, qp->uc.sent, total, n, qp->uc.next_psn, false, room, out, used);
	if (err) {
		fail(qp, TRANSPORT_LOC_PROT_ERR, err);
		return 0;
	}
	qp->uc.next_psn = wire_psn_add(qp->uc.next_psn, n);
	qp->uc.sent += n;
	transport_pace_charge(&qp->pace, now, out);
	qp->stats.sent_packets += n;
	qp->stats.sent_bytes += out->head.payload_len;
	if (qp->uc.sent == total) {
		qp->uc.sent = 0;
		transport_sq_finish(qp->sq, TRANSPORT_SUCCESS, 0);
		check_drained(qp);
	}
	return 1;
}

const struct transport_ops uc_ops = {
	.wire = WIRE_TRANSPORT_UC,
	.to_rtr = uc_to_rtr,
	.to_rts = uc_to_rts,
	.update = uc_update,
	.to_sqd = uc_to_sqd,
	.to_error = uc_to_error,
	.is_draining = uc_is_draining,
	.sq_psn = uc_sq_psn,
	.rq_psn = uc_rq_psn,
	.next = uc_next,
	.wants_room = uc_wants_room,
};
