/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/sq.h"

#include <string.h>

#include "base/err.h"
#include "efa/device/device_internal.h"
#include "efa/device/qp_state.h"

/* A descriptor of the pool; NULL: as many are under way as the queue is deep, which an honest client never reaches. */
static struct efa_device_send *take(struct efa_qp *qp)
{
	struct efa_device_send *send = qp->free;

	if (send != NULL)
		qp->free = send->next;
	else if (qp->sends_fresh < qp->sq_depth)
		send = &qp->sends[qp->sends_fresh++];
	return send;
}

static void give(struct efa_qp *qp, struct efa_device_send *send)
{
	send->next = qp->free;
	qp->free = send;
}

static void link_in(struct efa_qp *qp, struct efa_device_send *send)
{
	send->previous = NULL;
	send->next = qp->under_way;
	if (send->next != NULL)
		send->next->previous = send;
	qp->under_way = send;
	qp->num_under_way++;
}

static void unlink_it(struct efa_qp *qp, struct efa_device_send *send)
{
	if (send->next != NULL)
		send->next->previous = send->previous;
	if (send->previous != NULL)
		send->previous->next = send->next;
	else
		qp->under_way = send->next;
	qp->num_under_way--;
}

static void count(struct efa_device *device, const struct efa_device_send *send, uint8_t status)
{
	static const uint8_t rows[] = { EFA_STATS_MESSAGES, EFA_STATS_RDMA_READ, EFA_STATS_RDMA_WRITE };
	uint64_t *c = device->stats.answered[rows[send->op]];

	if (send->op == EFA_WQE_SEND) {
		if (status == EFA_STATUS_OK) {
			c[EFA_MESSAGES_SEND_BYTES] += send->length;
			c[EFA_MESSAGES_SEND_WRS]++;
		}
		return;
	}
	/* Reads count requests before bytes, as writes do. */
	c[EFA_READ_WRS]++;
	if (status == EFA_STATUS_OK)
		c[EFA_READ_BYTES] += send->length;
	else
		c[EFA_READ_WR_ERR]++;
}

static void complete(struct efa_device *device, struct efa_qp *qp, const struct efa_abi_wqe *w, uint8_t status)
{
	struct efa_abi_cqe cqe = { .req_id = w->req_id, .qp_num = qp->qpn, .status = status, .queue = EFA_CQE_QUEUE_SEND,
				   .op = efa_abi_wqe_op(w) & EFA_CQE_OP_MASK,
				   .req_id_ex = { w->req_id_ex[0], w->req_id_ex[1], w->req_id_ex[2] } };

	efa_cq_push(device, &device->cqs.entries[qp->send_cq], qp->send_sub, &cqe);
}

/* Is it a descriptor at all? Its phase is the parity of the lap: 0 in the first. */
static bool is_sound(const struct efa_qp *qp, const struct efa_abi_wqe *w, uint16_t at)
{
	bool phase = (at / qp->sq_depth & 1) != 0;
	const uint8_t whole = EFA_WQE_FIRST | EFA_WQE_LAST;

	return (w->ctrl1 & EFA_WQE_META_DESC) != 0 && (w->ctrl1 & EFA_WQE_META_EXTENSION) == 0 && (w->ctrl2 & whole) == whole &&
	       ((w->ctrl2 & EFA_WQE_PHASE) != 0) == phase;
}

static uint8_t check_rdma(const struct efa_device *device, const struct efa_qp *qp, const struct efa_abi_wqe *w)
{
	uint32_t cap = efa_abi_wqe_op(w) == EFA_WQE_RDMA_READ ? EFA_CAP_RDMA_READ : EFA_CAP_RDMA_WRITE;

	if (qp->type != EFA_QP_SRD || (device->profile.device.device_caps & cap) == 0 ||
	    ((w->ctrl1 & EFA_WQE_HAS_IMM) != 0 && cap == EFA_CAP_RDMA_READ))
		return EFA_STATUS_UNSUPPORTED_OP;
	if ((w->ctrl1 & EFA_WQE_INLINE) != 0 || w->length > device->profile.queue.max_rdma_sges)
		return EFA_STATUS_QP_INTERNAL;
	if (w->remote.length > device->profile.device.max_rdma_size || (w->length > 0 ? w->sge[0].length : 0) != w->remote.length)
		return EFA_STATUS_BAD_LENGTH;
	return EFA_STATUS_OK;
}

static uint8_t check_sges(struct efa_device *device, const struct efa_qp *qp, const struct efa_abi_wqe *w)
{
	uint8_t perms = efa_abi_wqe_op(w) == EFA_WQE_RDMA_READ ? EFA_MR_LOCAL_WRITE : 0;

	for (uint32_t i = 0; i < w->length; i++) {
		if (w->sge[i].length > 0 &&
		    efa_mr_by_lkey(device, qp->pd, w->sge[i].lkey, w->sge[i].addr, w->sge[i].length, perms) == NULL)
			return EFA_STATUS_INVALID_LKEY;
	}
	return EFA_STATUS_OK;
}

/* All that can be said before anything leaves; fills *send and what the engine reads of it. */
static uint8_t judge(struct efa_device *device, struct efa_qp *qp, const struct efa_abi_wqe *w, uint16_t at,
		     struct efa_device_send *send)
{
	const struct efa_ah *ah = efa_ah_find(device, qp->pd, w->ah);
	bool is_inline = (w->ctrl1 & EFA_WQE_INLINE) != 0;
	uint64_t length = is_inline ? w->length : 0;
	uint8_t status = EFA_STATUS_OK;

	if (!is_sound(qp, w, at))
		return EFA_STATUS_QP_INTERNAL;
	if (efa_abi_wqe_op(w) > EFA_WQE_RDMA_WRITE)
		return EFA_STATUS_UNSUPPORTED_OP;
	if (efa_abi_wqe_is_rdma(w))
		status = check_rdma(device, qp, w);
	else if (w->length > (is_inline ? device->profile.queue.inline_buf_size : device->profile.queue.max_send_sges))
		status = EFA_STATUS_QP_INTERNAL;
	if (status != EFA_STATUS_OK)
		return status;
	if (ah == NULL)
		return EFA_STATUS_INVALID_AH;
	for (uint32_t i = 0; !is_inline && i < w->length; i++)
		length += w->sge[i].length;
	if (!efa_abi_wqe_is_rdma(w) && length > device->profile.mtu)
		return EFA_STATUS_BAD_LENGTH;
	if (!is_inline)
		status = check_sges(device, qp, w);
	if (status != EFA_STATUS_OK)
		return status;
	*send = (struct efa_device_send){
		.is_srd = qp->type == EFA_QP_SRD, .has_imm = (w->ctrl1 & EFA_WQE_HAS_IMM) != 0, .op = efa_abi_wqe_op(w),
		.rnr_retry = qp->rnr_retry, .src_qpn = qp->qpn, .dest_qpn = w->dest_qpn, .qkey = w->qkey, .imm = w->imm,
		.length = (uint32_t)length, .remote = w->remote, .qp = qp, .req_id = w->req_id, .ah = w->ah,
		.req_id_ex = { w->req_id_ex[0], w->req_id_ex[1], w->req_id_ex[2] }, .num_sge = is_inline ? 0 : (uint8_t)w->length,
		.is_inline = is_inline,
	};
	memcpy(send->dest_gid, ah->gid, sizeof(send->dest_gid));
	memcpy(send->sge, w->sge, sizeof(send->sge));
	memcpy(send->bytes, w->bytes, sizeof(send->bytes));
	return EFA_STATUS_OK;
}

/* The engine has it, or it is over. BASE_ERR_AGAIN: neither. */
static int hand_over(struct efa_device *device, struct efa_qp *qp, struct efa_device_send *send)
{
	int err;

	link_in(qp, send);
	if (device->engine.ops == NULL) {
		efa_device_send_done(device, send, EFA_STATUS_UNREACHABLE);
		return 0;
	}
	err = device->engine.ops->send(device->engine.context, send);
	if (err == 0)
		return 0;
	unlink_it(qp, send);
	give(qp, send);
	return BASE_ERR_AGAIN;
}

/* One descriptor. False: no more for now. */
static bool step(struct efa_device *device, struct efa_qp *qp)
{
	uint16_t at = qp->sq_taken;
	const uint8_t *llq = device->qps.llq + (size_t)qp->index * device->qps.llq_bytes;
	uint8_t entry[EFA_WQE_BYTES];
	struct efa_abi_wqe w;
	struct efa_device_send *send;
	uint8_t status;

	/* The client may write on: what is judged is a copy. */
	memcpy(entry, llq + (size_t)(at & (qp->sq_depth - 1)) * EFA_WQE_BYTES, sizeof(entry));
	efa_abi_wqe_load(&w, entry);
	if (qp->state == EFA_QPS_ERR) {
		qp->sq_taken++;
		complete(device, qp, &w, EFA_STATUS_FLUSHED);
		return true;
	}
	send = take(qp);
	status = send != NULL ? judge(device, qp, &w, at, send) : EFA_STATUS_QP_INTERNAL;
	if (status == EFA_STATUS_OK) {
		/* Before the engine has it: it may complete, and the client post, within the call. */
		qp->sq_taken++;
		if (hand_over(device, qp, send) == 0)
			return true;
		qp->sq_taken--;
		qp->sq_stalled = true;
		return false;
	}
	if (send != NULL)
		give(qp, send);
	qp->sq_taken++;
	if (efa_abi_wqe_is_rdma(&w))
		device->stats.answered[efa_abi_wqe_op(&w) == EFA_WQE_RDMA_READ ? EFA_STATS_RDMA_READ : EFA_STATS_RDMA_WRITE]
				      [EFA_READ_WR_ERR]++;
	complete(device, qp, &w, status);
	if (status == EFA_STATUS_QP_INTERNAL)
		efa_qp_fail(device, qp);
	return true;
}

void efa_sq_run(struct efa_device *device, struct efa_qp *qp)
{
	if (qp->sq_running)
		return; /* the loop below is further up in this call */
	qp->sq_running = true;
	qp->sq_stalled = false;
	while (qp->sq_taken != qp->sq_posted && (efa_qp_state_sends(qp->state) || qp->state == EFA_QPS_ERR)) {
		if (!step(device, qp))
			break;
	}
	qp->sq_running = false;
}

void efa_sq_doorbell(struct efa_device *device, struct efa_qp *qp, uint16_t posted)
{
	uint16_t waiting = (uint16_t)(posted - qp->sq_taken);

	if (waiting > qp->sq_depth || waiting < (uint16_t)(qp->sq_posted - qp->sq_taken)) {
		device->stats.bad_doorbells++;
		return;
	}
	qp->sq_posted = posted;
	efa_sq_run(device, qp);
}

void efa_device_resume(struct efa_device *device)
{
	for (uint32_t i = 0; i < device->qps.count; i++) {
		if (device->qps.entries[i].live && device->qps.entries[i].sq_stalled)
			efa_sq_run(device, &device->qps.entries[i]);
	}
}

void efa_device_send_done(struct efa_device *device, struct efa_device_send *send, uint8_t status)
{
	struct efa_qp *qp = send->qp;
	struct efa_abi_wqe w = { .req_id = send->req_id, .ctrl1 = send->op,
				 .req_id_ex = { send->req_id_ex[0], send->req_id_ex[1], send->req_id_ex[2] } };

	unlink_it(qp, send);
	count(device, send, status);
	give(qp, send);
	complete(device, qp, &w, status);
}

static void flush_one(struct efa_device *device, struct efa_device_send *send)
{
	device->engine.ops->cancel(device->engine.context, send);
	efa_device_send_done(device, send, EFA_STATUS_FLUSHED);
}

void efa_sq_flush(struct efa_device *device, struct efa_qp *qp)
{
	while (qp->under_way != NULL)
		flush_one(device, qp->under_way);
	efa_sq_run(device, qp);
}

void efa_sq_flush_ah(struct efa_device *device, uint16_t pd, uint16_t ah)
{
	for (uint32_t i = 0; i < device->qps.count; i++) {
		struct efa_qp *qp = &device->qps.entries[i];

		for (struct efa_device_send *send = qp->live && qp->pd == pd ? qp->under_way : NULL, *next; send != NULL; send = next) {
			next = send->next;
			if (send->ah == ah)
				flush_one(device, send);
		}
	}
}

void efa_sq_drop(struct efa_device *device, struct efa_qp *qp)
{
	while (qp->under_way != NULL) {
		struct efa_device_send *send = qp->under_way;

		device->engine.ops->cancel(device->engine.context, send);
		unlink_it(qp, send);
		give(qp, send);
	}
	qp->sq_stalled = false;
}

/* Walks the elements; write says in which direction. */
static uint8_t move(struct efa_device *device, const struct efa_device_send *send, uint32_t offset, void *bytes, uint32_t len,
		    bool write)
{
	uint8_t *p = bytes;

	for (uint32_t i = 0; i < send->num_sge && len > 0; i++) {
		const struct efa_abi_sge *sge = &send->sge[i];
		uint32_t some;
		struct efa_mr *mr;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		some = sge->length - offset < len ? sge->length - offset : len;
		mr = efa_mr_by_lkey(device, send->qp->pd, sge->lkey, sge->addr + offset, some, write ? EFA_MR_LOCAL_WRITE : 0);
		if (mr == NULL || (write ? efa_mr_write(device, mr, sge->addr + offset, p, some)
					 : efa_mr_read(device, mr, sge->addr + offset, p, some)) != 0)
			return EFA_STATUS_INVALID_LKEY;
		p += some;
		len -= some;
		offset = 0;
	}
	return len == 0 ? EFA_STATUS_OK : EFA_STATUS_INVALID_LKEY;
}

uint8_t efa_device_send_read(struct efa_device *device, const struct efa_device_send *send, uint32_t offset, void *dst, uint32_t len)
{
	if (!send->is_inline)
		return move(device, send, offset, dst, len, false);
	if (offset > send->length || len > send->length - offset)
		return EFA_STATUS_BAD_LENGTH;
	memcpy(dst, send->bytes + offset, len);
	return EFA_STATUS_OK;
}

uint8_t efa_device_send_place(struct efa_device *device, const struct efa_device_send *send, uint32_t offset, const void *src,
			      uint32_t len)
{
	if (send->op != EFA_WQE_RDMA_READ)
		return EFA_STATUS_UNSUPPORTED_OP;
	return move(device, send, offset, (void *)(uintptr_t)src, len, true);
}
