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

#include "base/clock.h"
#include "transport/message.h"
#include "transport/sq.h"
#include "wire/opcode.h"
#include "wire/psn.h"

void uc_init(struct uc_qp *qp, struct transport_memory memory, struct transport_sq *sq, const struct transport_recv_ops *recv,
	     void *recv_host)
{
	memset(qp, 0, sizeof(*qp));
	qp->state = UC_RESET;
	qp->memory = memory;
	qp->sq = sq;
	intake_init(&qp->intake, recv, recv_host);
}

void uc_to_init(struct uc_qp *qp)
{
	qp->state = UC_INIT;
}

void uc_to_rtr(struct uc_qp *qp, const struct uc_config *config)
{
	assert(config->mtu >= 256 && config->mtu <= 4096);
	qp->config = *config;
	qp->expected = config->rq_psn & WIRE_PSN_MASK;
	qp->kind = 0;
	qp->met = false;
	qp->state = UC_RTR;
}

void uc_to_rts(struct uc_qp *qp, const struct uc_config *config)
{
	uc_update(qp, config);
	if (qp->state == UC_RTR) {
		qp->config.sq_psn = config->sq_psn;
		qp->next_psn = config->sq_psn & WIRE_PSN_MASK;
	}
	while (qp->state == UC_SQE && transport_sq_has_work(qp->sq))
		transport_sq_finish(qp->sq, TRANSPORT_WR_FLUSH_ERR, 0);
	qp->draining = false;
	qp->state = UC_RTS;
}

void uc_update(struct uc_qp *qp, const struct uc_config *config)
{
	qp->config.access = config->access;
}

static void check_drained(struct uc_qp *qp)
{
	if (qp->draining && qp->sent == 0) {
		qp->draining = false;
		qp->events |= UC_EVENT_SQ_DRAINED;
	}
}

void uc_to_sqd(struct uc_qp *qp)
{
	if (qp->state != UC_RTS)
		return;
	qp->state = UC_SQD;
	qp->draining = true;
	check_drained(qp);
}

void uc_to_error(struct uc_qp *qp)
{
	bool idle = qp->kind != WIRE_ROLE_SEND;

	if (qp->state == UC_ERROR)
		return;
	qp->state = UC_ERROR;
	qp->events |= UC_EVENT_ENTERED_ERROR;
	qp->draining = false;
	qp->sent = 0;
	qp->kind = 0;
	/* roce-wire 13, "UC responder": an SRQ cannot have back what an abandoned message took. */
	intake_end(&qp->intake, idle && qp->config.srq ? TRANSPORT_REM_INV_REQ_ERR : TRANSPORT_WR_FLUSH_ERR, qp->config.dest_qpn);
}

void uc_reset(struct uc_qp *qp)
{
	transport_sq_forget(qp->sq);
	uc_init(qp, qp->memory, qp->sq, qp->intake.ops, qp->intake.host);
}

enum uc_state uc_state_get(const struct uc_qp *qp)
{
	return qp->state;
}

uint32_t uc_sq_psn(const struct uc_qp *qp)
{
	return qp->next_psn;
}

uint32_t uc_rq_psn(const struct uc_qp *qp)
{
	return qp->expected;
}

bool uc_is_draining(const struct uc_qp *qp)
{
	return qp->draining;
}

const struct uc_stats *uc_stats_get(const struct uc_qp *qp)
{
	return &qp->stats;
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

static void fail(struct uc_qp *qp, uint32_t status, int err)
{
	transport_sq_finish(qp->sq, status, (uint32_t)-err);
	qp->sent = 0;
	if (qp->state == UC_SQD) {
		uc_to_error(qp);
		return;
	}
	qp->state = UC_SQE;
	qp->events |= UC_EVENT_ENTERED_SQE;
}

bool uc_wants_room(const struct uc_qp *qp, uint64_t now)
{
	if (qp->state == UC_SQD)
		return qp->sent != 0;
	return qp->state == UC_RTS && transport_sq_has_work(qp->sq);
}

/* The WQE to emit from, NULL when there is none: executes what is local, finds what cannot be sent. */
static struct transport_wqe *next_wqe(struct uc_qp *qp, const struct message_path *path, uint64_t now)
{
	struct transport_wqe *wqe;
	uint32_t status;
	int err;

	while (uc_wants_room(qp, now)) {
		wqe = transport_sq_wqe(qp->sq, qp->sq->next);
		if (qp->sent)
			return wqe;
		if (wqe->op == TRANSPORT_OP_LOCAL_INV) {
			err = message_invalidate(&qp->memory, wqe);
			status = err ? TRANSPORT_LOC_QP_OP_ERR : TRANSPORT_SUCCESS;
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

int uc_next(struct uc_qp *qp, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct message_path path = { .memory = &qp->memory, .mtu = qp->config.mtu, .dest_qpn = qp->config.dest_qpn,
				     .pkey = qp->config.pkey, .transport = WIRE_TRANSPORT_UC };
	struct transport_wqe *wqe = next_wqe(qp, &path, now);
	uint32_t total, n;
	int err;

	if (wqe == NULL)
		return 0;
	total = message_packets(wqe->length, path.mtu);
	n = message_fit(&path, wqe, qp->sent, total, UINT16_MAX, room);
	if (n == 0)
		return 0;
	err = message_write(&path, wqe, qp->sent, total, n, qp->next_psn, false, room, out, used);
	if (err) {
		fail(qp, TRANSPORT_LOC_PROT_ERR, err);
		return 0;
	}
	qp->next_psn = wire_psn_add(qp->next_psn, n);
	qp->sent += n;
	qp->stats.sent_packets += n;
	qp->stats.sent_bytes += out->head.payload_len;
	if (qp->sent == total) {
		qp->sent = 0;
		transport_sq_finish(qp->sq, TRANSPORT_SUCCESS, 0);
		check_drained(qp);
	}
	return 1;
}

uint64_t uc_deadline(const struct uc_qp *qp)
{
	return BASE_NEVER;
}

void uc_tick(struct uc_qp *qp, uint64_t now, uint64_t excused_ns)
{
}

int uc_send_completion_next(struct uc_qp *qp, struct transport_completion *out)
{
	return transport_sq_reap(qp->sq, qp->state == UC_ERROR || qp->state == UC_SQE, out);
}

int uc_recv_completion_next(struct uc_qp *qp, struct transport_completion *out)
{
	return intake_completion_next(&qp->intake, out);
}

uint32_t uc_events_take(struct uc_qp *qp)
{
	uint32_t events = qp->events;

	qp->events = 0;
	return events;
}
