/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/rq.h"

#include <assert.h>
#include <string.h>

#include "efa/device/device_internal.h"
#include "efa/device/qp_state.h"

enum { GRH_BYTES = 40, GRH_VERSION = 0x60, GRH_LENGTH_AT = 4, GRH_NEXT_AT = 6, GRH_HOPS_AT = 7, GRH_SOURCE_AT = 8,
       GRH_DESTINATION_AT = 24, GRH_NEXT_BTH = 0x1b };

static_assert(EFA_MAX_RECV_SGES <= sizeof(((struct efa_device_receive *)0)->sge) / sizeof(struct efa_abi_sge),
	      "a receive has room for the most elements");

/* A work request as it lies in the ring. */
struct posted {
	uint16_t req_id, descriptors;
	uint8_t num_sge;
	uint64_t bytes;
	struct efa_abi_sge sge[EFA_MAX_RECV_SGES];
};

enum peek { PEEK_OK, PEEK_EMPTY, PEEK_BAD };

static bool read_descriptor(struct efa_device *device, const struct efa_qp *qp, uint16_t at, struct efa_abi_rqd *out)
{
	uint8_t entry[EFA_RQD_BYTES];

	if (efa_device_read(device, qp->rq_base + (uint64_t)(at & (qp->rq_depth - 1)) * sizeof(entry), entry, sizeof(entry)) != 0)
		return false;
	*out = efa_abi_rqd_load(entry);
	return true;
}

/* The oldest work request; nothing is taken. */
static enum peek look(struct efa_device *device, const struct efa_qp *qp, struct posted *out)
{
	uint16_t waiting = (uint16_t)(qp->rq_posted - qp->rq_taken);

	*out = (struct posted){ .descriptors = 0 };
	if (waiting == 0)
		return PEEK_EMPTY;
	for (;;) {
		struct efa_abi_rqd d;

		if (out->descriptors == waiting || out->num_sge == device->profile.queue.max_recv_sges ||
		    !read_descriptor(device, qp, (uint16_t)(qp->rq_taken + out->descriptors), &d) ||
		    ((d.lkey_ctrl & EFA_RQD_FIRST) != 0) != (out->num_sge == 0))
			return PEEK_BAD;
		if (out->num_sge == 0)
			out->req_id = d.req_id;
		out->sge[out->num_sge++] = (struct efa_abi_sge){ .length = d.length, .lkey = d.lkey_ctrl & EFA_LKEY_MASK,
								 .addr = d.addr };
		out->descriptors++;
		out->bytes += d.length;
		if ((d.lkey_ctrl & EFA_RQD_LAST) != 0)
			return PEEK_OK;
	}
}

static void push(struct efa_device *device, struct efa_qp *qp, struct efa_abi_cqe *cqe)
{
	cqe->queue = EFA_CQE_QUEUE_RECV;
	cqe->qp_num = qp->qpn;
	efa_cq_push(device, &device->cqs.entries[qp->recv_cq], qp->recv_sub, cqe);
}

static void push_error(struct efa_device *device, struct efa_qp *qp, uint16_t req_id, uint8_t status)
{
	struct efa_abi_cqe cqe = { .req_id = req_id, .status = status, .ah = EFA_AH_UNKNOWN };

	push(device, qp, &cqe);
}

void efa_rq_flush(struct efa_device *device, struct efa_qp *qp)
{
	while (qp->rq_taken != qp->rq_posted) {
		struct efa_abi_rqd d;

		/* One completion for each that begins a work request: what follows it up to the last is part of it. */
		if (read_descriptor(device, qp, qp->rq_taken++, &d) && (d.lkey_ctrl & EFA_RQD_FIRST) != 0)
			push_error(device, qp, d.req_id, EFA_STATUS_FLUSHED);
	}
}

void efa_rq_doorbell(struct efa_device *device, struct efa_qp *qp, uint16_t posted)
{
	uint16_t waiting = (uint16_t)(posted - qp->rq_taken);

	if (waiting > qp->rq_depth || waiting < (uint16_t)(qp->rq_posted - qp->rq_taken)) {
		device->stats.bad_doorbells++;
		return;
	}
	qp->rq_posted = posted;
	if (qp->state == EFA_QPS_ERR)
		efa_rq_flush(device, qp);
}

/* Takes a work request for `need` bytes. */
static uint8_t take(struct efa_device *device, struct efa_qp *qp, uint64_t need, struct efa_device_receive *receive)
{
	struct posted wr;

	switch (look(device, qp, &wr)) {
	case PEEK_EMPTY:
		return EFA_STATUS_REMOTE_RNR;
	case PEEK_BAD:
		push_error(device, qp, wr.req_id, EFA_STATUS_QP_INTERNAL);
		qp->rq_taken = (uint16_t)(qp->rq_taken + (wr.descriptors > 0 ? wr.descriptors : 1));
		efa_qp_fail(device, qp);
		return EFA_STATUS_REMOTE_QPN; /* it is in ERR: that is all that concerns the sender */
	case PEEK_OK:
		break;
	}
	if (wr.bytes < need)
		return EFA_STATUS_REMOTE_LENGTH; /* and stays for a shorter one */
	qp->rq_taken = (uint16_t)(qp->rq_taken + wr.descriptors);
	for (uint32_t i = 0; i < wr.num_sge; i++) {
		const struct efa_abi_sge *sge = &wr.sge[i];

		if (sge->length > 0 &&
		    efa_mr_by_lkey(device, qp->pd, sge->lkey, sge->addr, sge->length, EFA_MR_LOCAL_WRITE) == NULL) {
			push_error(device, qp, wr.req_id, EFA_STATUS_INVALID_LKEY);
			return EFA_STATUS_REMOTE_LENGTH;
		}
	}
	receive->req_id = wr.req_id;
	receive->num_sge = wr.num_sge;
	memcpy(receive->sge, wr.sge, wr.num_sge * sizeof(wr.sge[0]));
	return EFA_STATUS_OK;
}

/* The queue pair that this may reach; NULL and the status: none. */
static struct efa_qp *target(struct efa_device *device, uint16_t qpn, bool is_srd, uint32_t qkey)
{
	struct efa_qp *qp = efa_qp_find(device, qpn);

	if (qp == NULL || !efa_qp_state_receives(qp->state) || (qp->type == EFA_QP_SRD) != is_srd)
		return NULL;
	if (qp->qkey != qkey) {
		device->stats.answered[EFA_STATS_BASIC][EFA_BASIC_QKEY_VIOL]++;
		return NULL;
	}
	return qp;
}

static uint32_t prefix_of(const struct efa_device_arrival *arrival)
{
	return arrival->is_srd ? 0 : GRH_BYTES;
}

uint8_t efa_device_receive_begin(struct efa_device *device, const struct efa_device_arrival *arrival,
				 struct efa_device_receive *receive)
{
	struct efa_qp *qp = target(device, arrival->dest_qpn, arrival->is_srd, arrival->qkey);
	uint64_t need = arrival->is_write ? 0 : (uint64_t)arrival->length + prefix_of(arrival);
	uint8_t status = EFA_STATUS_OK;

	if (qp == NULL)
		return EFA_STATUS_REMOTE_QPN;
	*receive = (struct efa_device_receive){ .arrival = *arrival, .qp = efa_qp_handle(qp),
						.unsolicited = arrival->is_write && (qp->flags & EFA_QP_FLAG_UNSOLICITED) != 0 };
	if (!receive->unsolicited)
		status = take(device, qp, need, receive);
	return status;
}

/* Bytes of the work request's buffer, from its start. */
static uint8_t scatter(struct efa_device *device, const struct efa_qp *qp, const struct efa_device_receive *receive, uint32_t offset,
		       const void *src, uint32_t len)
{
	const uint8_t *p = src;

	for (uint32_t i = 0; i < receive->num_sge && len > 0; i++) {
		const struct efa_abi_sge *sge = &receive->sge[i];
		uint32_t some;
		struct efa_mr *mr;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		some = sge->length - offset < len ? sge->length - offset : len;
		mr = efa_mr_by_lkey(device, qp->pd, sge->lkey, sge->addr + offset, some, EFA_MR_LOCAL_WRITE);
		if (mr == NULL || efa_mr_write(device, mr, sge->addr + offset, p, some) != 0)
			return EFA_STATUS_REMOTE_LENGTH;
		p += some;
		len -= some;
		offset = 0;
	}
	return len == 0 ? EFA_STATUS_OK : EFA_STATUS_REMOTE_LENGTH;
}

uint8_t efa_device_receive_place(struct efa_device *device, const struct efa_device_receive *receive, uint32_t offset,
				 const void *src, uint32_t len)
{
	const struct efa_qp *qp = efa_qp_by_handle(device, receive->qp);

	if (qp == NULL || !efa_qp_state_receives(qp->state))
		return EFA_STATUS_REMOTE_QPN;
	if (receive->arrival.is_write || offset > receive->arrival.length || len > receive->arrival.length - offset)
		return EFA_STATUS_REMOTE_LENGTH;
	return scatter(device, qp, receive, offset + prefix_of(&receive->arrival), src, len);
}

uint8_t efa_device_receive_end(struct efa_device *device, struct efa_device_receive *receive, uint8_t status)
{
	const struct efa_device_arrival *a = &receive->arrival;
	struct efa_qp *qp = efa_qp_by_handle(device, receive->qp);
	struct efa_abi_cqe cqe = { .req_id = receive->req_id, .status = status, .has_imm = a->has_imm, .imm = a->imm,
				   .op = a->is_write ? EFA_WQE_RDMA_WRITE : EFA_WQE_SEND, .src_qpn = a->src_qpn,
				   .length = a->length + prefix_of(a), .unsolicited = receive->unsolicited };

	if (qp == NULL)
		return EFA_STATUS_REMOTE_QPN;
	if (!efa_qp_state_receives(qp->state)) { /* it failed, or was reset, meanwhile */
		if (qp->state == EFA_QPS_ERR)
			push_error(device, qp, receive->req_id, EFA_STATUS_FLUSHED);
		return EFA_STATUS_REMOTE_QPN;
	}
	cqe.ah = efa_ah_number(device, qp->pd, a->src_gid);
	cqe.has_gid = cqe.ah == EFA_AH_UNKNOWN;
	memcpy(cqe.gid, a->src_gid, sizeof(cqe.gid));
	if (status == EFA_STATUS_OK) {
		device->stats.answered[EFA_STATS_MESSAGES][EFA_MESSAGES_RECV_BYTES] += a->is_write ? 0 : a->length;
		device->stats.answered[EFA_STATS_MESSAGES][EFA_MESSAGES_RECV_WRS]++;
	}
	push(device, qp, &cqe);
	return EFA_STATUS_OK;
}

/* The header that a datagram's receive begins with: addresses as InfiniBand would show them. */
static void make_grh(uint8_t grh[GRH_BYTES], const struct efa_device *device, const struct efa_device_arrival *a)
{
	memset(grh, 0, GRH_BYTES);
	grh[0] = GRH_VERSION;
	grh[GRH_LENGTH_AT] = (uint8_t)(a->length >> 8);
	grh[GRH_LENGTH_AT + 1] = (uint8_t)a->length;
	grh[GRH_NEXT_AT] = GRH_NEXT_BTH;
	grh[GRH_HOPS_AT] = 1;
	memcpy(grh + GRH_SOURCE_AT, a->src_gid, sizeof(a->src_gid));
	memcpy(grh + GRH_DESTINATION_AT, device->gid, sizeof(device->gid));
}

bool efa_device_datagram(struct efa_device *device, const struct efa_device_arrival *arrival, const void *payload)
{
	struct efa_device_receive receive;
	uint8_t grh[GRH_BYTES], status;
	const struct efa_qp *qp;

	if (arrival->is_srd || arrival->is_write ||
	    efa_device_receive_begin(device, arrival, &receive) != EFA_STATUS_OK) {
		device->stats.answered[EFA_STATS_BASIC][EFA_BASIC_RX_DROPS]++;
		return false;
	}
	make_grh(grh, device, arrival);
	qp = efa_qp_by_handle(device, receive.qp);
	status = scatter(device, qp, &receive, 0, grh, sizeof(grh));
	if (status == EFA_STATUS_OK)
		status = efa_device_receive_place(device, &receive, 0, payload, arrival->length);
	/* The memory went away between the check and now: that is the receiver's own fault, and it is told. */
	efa_device_receive_end(device, &receive, status == EFA_STATUS_OK ? EFA_STATUS_OK : EFA_STATUS_INVALID_LKEY);
	return status == EFA_STATUS_OK;
}

static struct efa_mr *access_region(struct efa_device *device, const struct efa_device_access *a, uint32_t offset, uint32_t len,
				    uint8_t *status)
{
	uint8_t perm = a->write ? EFA_MR_REMOTE_WRITE : EFA_MR_REMOTE_READ;
	const struct efa_qp *qp;
	struct efa_mr *mr;

	*status = EFA_STATUS_UNSUPPORTED_OP;
	if ((device->profile.device.device_caps & (a->write ? EFA_CAP_RDMA_WRITE : EFA_CAP_RDMA_READ)) == 0)
		return NULL;
	*status = EFA_STATUS_REMOTE_QPN;
	qp = target(device, a->dest_qpn, true, a->qkey);
	if (qp == NULL)
		return NULL;
	*status = EFA_STATUS_REMOTE_NO_AH;
	if (efa_ah_number(device, qp->pd, a->src_gid) == EFA_AH_UNKNOWN)
		return NULL;
	*status = EFA_STATUS_REMOTE_ADDRESS;
	if (offset > a->length || len > a->length - offset || a->addr + a->length < a->addr)
		return NULL;
	mr = efa_mr_by_rkey(device, qp->pd, a->rkey, a->addr + offset, len, perm);
	if (mr != NULL)
		*status = EFA_STATUS_OK;
	return mr;
}

uint8_t efa_device_access_check(struct efa_device *device, const struct efa_device_access *access)
{
	uint8_t status;

	access_region(device, access, 0, access->length, &status);
	return status;
}

uint8_t efa_device_access_write(struct efa_device *device, const struct efa_device_access *access, uint32_t offset, const void *src,
				uint32_t len)
{
	uint8_t status;
	struct efa_mr *mr = access_region(device, access, offset, len, &status);

	if (mr == NULL || !access->write)
		return mr == NULL ? status : EFA_STATUS_REMOTE_ADDRESS;
	if (efa_mr_write(device, mr, access->addr + offset, src, len) != 0)
		return EFA_STATUS_REMOTE_ADDRESS;
	device->stats.answered[EFA_STATS_RDMA_WRITE][EFA_WRITE_RECV_BYTES] += len;
	return EFA_STATUS_OK;
}

uint8_t efa_device_access_read(struct efa_device *device, const struct efa_device_access *access, uint32_t offset, void *dst,
			       uint32_t len)
{
	uint8_t status;
	struct efa_mr *mr = access_region(device, access, offset, len, &status);

	if (mr == NULL || access->write)
		return mr == NULL ? status : EFA_STATUS_REMOTE_ADDRESS;
	if (efa_mr_read(device, mr, access->addr + offset, dst, len) != 0)
		return EFA_STATUS_REMOTE_ADDRESS;
	device->stats.answered[EFA_STATS_RDMA_READ][EFA_READ_RESP_BYTES] += len;
	return EFA_STATUS_OK;
}
