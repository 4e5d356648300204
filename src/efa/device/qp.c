/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/qp.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"
#include "efa/device/qp_state.h"
#include "efa/device/rq.h"
#include "efa/device/sq.h"

enum { INDEX_MASK = 0xff, QPN_GENERATION_SHIFT = 8, HANDLE_GENERATION_SHIFT = 16, QPN_RESERVED = 0xffff, RNR_RETRY_MAX = 7,
       HOST_PAGE = 4096 };

int efa_qp_table_init(struct efa_qp_table *table, uint32_t count, uint32_t uars, uint32_t llq_bytes)
{
	*table = (struct efa_qp_table){ .count = count, .llq_bytes = llq_bytes };
	table->entries = calloc(count, sizeof(*table->entries));
	table->llq = calloc(count, llq_bytes);
	if (table->entries == NULL || table->llq == NULL)
		return BASE_ERR_NOMEM;
	return efa_ids_init(&table->ids, count, uars);
}

void efa_qp_table_fini(struct efa_qp_table *table)
{
	for (uint32_t i = 0; table->entries != NULL && i < table->count; i++)
		free(table->entries[i].sends);
	free(table->entries);
	free(table->llq);
	efa_ids_fini(&table->ids);
}

void efa_qp_table_reset(struct efa_device *device)
{
	struct efa_qp_table *table = &device->qps;

	for (uint32_t i = 0; i < table->count; i++) {
		struct efa_qp *qp = &table->entries[i];

		if (qp->live)
			efa_sq_drop(device, qp);
		free(qp->sends);
		*qp = (struct efa_qp){ .generation = qp->generation };
	}
	table->live = 0;
	efa_ids_clear(&table->ids);
}

/* depth entries of entry_bytes; drivers may count the pages that they allocated. */
static bool ring_is_good(uint32_t depth, uint32_t bytes, uint32_t entry_bytes, uint32_t most)
{
	uint64_t need = (uint64_t)depth * entry_bytes;

	if (depth == 0)
		return bytes == 0;
	return efa_is_power(depth) && depth <= most && bytes >= need && bytes < need + HOST_PAGE;
}

static uint8_t check(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_qp *in = &c->in.create_qp;
	const struct efa_abi_queue_attr *limits = &device->profile.queue;
	const struct efa_cq *send_cq = efa_cq_find(device, in->send_cq), *recv_cq = efa_cq_find(device, in->recv_cq);
	bool may_unsolicited = (device->profile.device.device_caps & EFA_CAP_UNSOLICITED_WRITE_RECV) != 0 && in->type == EFA_QP_SRD;

	if (efa_pd_find(device, in->pd) == NULL)
		return efa_command_illegal(c, 4);
	if (in->type != EFA_QP_UD && in->type != EFA_QP_SRD)
		return efa_command_illegal(c, 6);
	if ((in->flags & ~(may_unsolicited ? EFA_QP_FLAG_UNSOLICITED : 0)) != 0)
		return efa_command_illegal(c, 7);
	if (efa_uar_find(device, in->uar) == NULL)
		return efa_command_illegal(c, 56);
	if (send_cq == NULL || send_cq->uar != in->uar)
		return efa_command_illegal(c, 24);
	if (recv_cq == NULL || recv_cq->uar != in->uar)
		return efa_command_illegal(c, 28);
	if (!ring_is_good(in->sq_depth, in->sq_ring_bytes, EFA_WQE_BYTES, limits->max_sq_depth) ||
	    (uint64_t)in->sq_depth * EFA_WQE_BYTES > device->qps.llq_bytes)
		return efa_command_illegal(c, 44);
	if (!ring_is_good(in->rq_depth, in->rq_ring_bytes, EFA_RQD_BYTES, limits->max_rq_depth))
		return efa_command_illegal(c, 52);
	if (in->rq_depth > 0 && in->rq_base == 0)
		return efa_command_illegal(c, 16);
	return EFA_ADMIN_OK;
}

/* The next number of an index; 0 and 0xffff are nobody's. */
static void renumber(struct efa_qp *qp)
{
	do {
		qp->generation++;
		qp->qpn = (uint16_t)(qp->generation << QPN_GENERATION_SHIFT | qp->index);
	} while (qp->qpn == 0 || qp->qpn == QPN_RESERVED);
}

/* False: no slots, or no memory; nothing is taken then. */
static bool take_parts(struct efa_uar *uar, struct efa_qp *qp)
{
	qp->sq_slot = efa_uar_slot_take(uar, EFA_SLOT_SQ, qp->index);
	qp->rq_slot = efa_uar_slot_take(uar, EFA_SLOT_RQ, qp->index);
	qp->sends = qp->sq_depth > 0 ? calloc(qp->sq_depth, sizeof(*qp->sends)) : NULL;
	if (qp->sq_slot != EFA_IDS_NONE && qp->rq_slot != EFA_IDS_NONE && (qp->sq_depth == 0 || qp->sends != NULL))
		return true;
	if (qp->sq_slot != EFA_IDS_NONE)
		efa_uar_slot_give(uar, qp->sq_slot);
	if (qp->rq_slot != EFA_IDS_NONE)
		efa_uar_slot_give(uar, qp->rq_slot);
	free(qp->sends);
	qp->sends = NULL;
	return false;
}

uint8_t efa_qp_create(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_create_qp *in = &c->in.create_qp;
	struct efa_uar *uar;
	struct efa_qp *qp;
	uint32_t id;
	uint8_t status = check(device, c);

	if (status != EFA_ADMIN_OK)
		return status;
	id = efa_ids_take(&device->qps.ids, in->uar);
	if (id == EFA_IDS_NONE)
		return EFA_ADMIN_NO_RESOURCE;
	uar = efa_uar_find(device, in->uar);
	qp = &device->qps.entries[id];
	*qp = (struct efa_qp){ .generation = qp->generation, .index = (uint16_t)id, .type = in->type, .flags = in->flags,
			       .pd = in->pd, .uar = in->uar, .send_cq = in->send_cq, .recv_cq = in->recv_cq,
			       .sq_depth = in->sq_depth, .rq_depth = in->rq_depth, .rq_base = in->rq_base };
	if (!take_parts(uar, qp)) {
		efa_ids_return(&device->qps.ids, id);
		return EFA_ADMIN_NO_RESOURCE;
	}
	qp->send_sub = (uint16_t)(id % device->cqs.entries[qp->send_cq].num_sub);
	qp->recv_sub = (uint16_t)(id % device->cqs.entries[qp->recv_cq].num_sub);
	renumber(qp);
	qp->live = true;
	device->qps.live++;
	uar->references++;
	device->pds.entries[qp->pd].references++;
	device->cqs.entries[qp->send_cq].references++;
	device->cqs.entries[qp->recv_cq].references++;
	c->out.create_qp = (struct efa_abi_create_qp_result){
		.handle = efa_qp_handle(qp), .qp_num = qp->qpn, .send_sub_cq = qp->send_sub, .recv_sub_cq = qp->recv_sub,
		.sq_db_offset = efa_uar_slot_offset(device, qp->uar, qp->sq_slot),
		.rq_db_offset = efa_uar_slot_offset(device, qp->uar, qp->rq_slot), .llq_offset = id * device->qps.llq_bytes,
	};
	return EFA_ADMIN_OK;
}

uint8_t efa_qp_destroy(struct efa_device *device, struct efa_command *c)
{
	struct efa_qp *qp = efa_qp_by_handle(device, c->in.qp.handle);
	struct efa_uar *uar;

	if (qp == NULL)
		return efa_command_illegal(c, 4);
	efa_sq_drop(device, qp); /* what is under way vanishes: no completion follows */
	free(qp->sends);
	qp->sends = NULL;
	uar = &device->uars.entries[qp->uar];
	efa_uar_slot_give(uar, qp->sq_slot);
	efa_uar_slot_give(uar, qp->rq_slot);
	uar->references--;
	device->pds.entries[qp->pd].references--;
	device->cqs.entries[qp->send_cq].references--;
	device->cqs.entries[qp->recv_cq].references--;
	qp->live = false;
	device->qps.live--;
	efa_ids_give(&device->qps.ids, qp->index, qp->uar);
	return EFA_ADMIN_OK;
}

uint8_t efa_qp_query(struct efa_device *device, struct efa_command *c)
{
	const struct efa_qp *qp = efa_qp_by_handle(device, c->in.qp.handle);

	if (qp == NULL)
		return efa_command_illegal(c, 4);
	c->out.query_qp = (struct efa_abi_query_qp_result){
		.state = qp->state, .qkey = qp->qkey, .sq_psn = qp->sq_psn, .rnr_retry = qp->rnr_retry,
		.draining = qp->state == EFA_QPS_SQD && qp->num_under_way > 0,
	};
	return EFA_ADMIN_OK;
}

/* The table, and the values of what is given. */
static uint8_t check_modify(struct efa_device *device, struct efa_command *c, const struct efa_qp *qp, uint32_t to)
{
	const struct efa_abi_modify_qp *in = &c->in.modify_qp;
	uint32_t mask = in->mask & ~(uint32_t)EFA_MODIFY_STATE, required, optional;

	if ((in->mask & ~(uint32_t)EFA_MODIFY_ALL) != 0)
		return efa_command_illegal(c, 4);
	if ((mask & EFA_MODIFY_CUR_STATE) != 0 && in->cur_state != qp->state)
		return efa_command_illegal(c, 16);
	if (!efa_qp_transition(qp->type, qp->state, to, &required, &optional))
		return efa_command_illegal(c, 12);
	if ((mask & required) != required || (mask & ~(required | optional)) != 0)
		return efa_command_illegal(c, 4);
	if ((mask & EFA_MODIFY_RNR_RETRY) != 0 &&
	    (in->rnr_retry > RNR_RETRY_MAX || (device->profile.device.device_caps & EFA_CAP_RNR_RETRY) == 0))
		return efa_command_illegal(c, 29);
	return EFA_ADMIN_OK;
}

uint8_t efa_qp_modify(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_modify_qp *in = &c->in.modify_qp;
	struct efa_qp *qp = efa_qp_by_handle(device, in->handle);
	uint32_t to;
	uint8_t status;

	if (qp == NULL)
		return efa_command_illegal(c, 8);
	to = (in->mask & EFA_MODIFY_STATE) != 0 ? in->state : qp->state;
	status = check_modify(device, c, qp, to);
	if (status != EFA_ADMIN_OK)
		return status;
	if ((in->mask & EFA_MODIFY_QKEY) != 0)
		qp->qkey = in->qkey;
	if ((in->mask & EFA_MODIFY_SQ_PSN) != 0)
		qp->sq_psn = in->sq_psn;
	if ((in->mask & EFA_MODIFY_RNR_RETRY) != 0)
		qp->rnr_retry = in->rnr_retry;
	if (to == EFA_QPS_ERR) {
		efa_qp_fail(device, qp);
		return EFA_ADMIN_OK;
	}
	qp->state = to;
	if (to == EFA_QPS_RESET) {
		efa_sq_drop(device, qp);
		qp->sq_taken = qp->sq_posted = qp->rq_taken = qp->rq_posted = 0;
		qp->qkey = qp->sq_psn = qp->rnr_retry = 0;
	}
	efa_sq_run(device, qp); /* what was posted while it might not send */
	return EFA_ADMIN_OK;
}

void efa_qp_fail(struct efa_device *device, struct efa_qp *qp)
{
	qp->state = EFA_QPS_ERR;
	efa_sq_flush(device, qp);
	efa_rq_flush(device, qp);
}

struct efa_qp *efa_qp_find(struct efa_device *device, uint32_t qpn)
{
	struct efa_qp *qp = (qpn & INDEX_MASK) < device->qps.count ? &device->qps.entries[qpn & INDEX_MASK] : NULL;

	return qp != NULL && qp->live && qp->qpn == qpn ? qp : NULL;
}

uint32_t efa_qp_handle(const struct efa_qp *qp)
{
	return (uint32_t)qp->generation << HANDLE_GENERATION_SHIFT | qp->index;
}

struct efa_qp *efa_qp_by_handle(struct efa_device *device, uint32_t handle)
{
	uint32_t index = handle & ((1u << HANDLE_GENERATION_SHIFT) - 1);
	struct efa_qp *qp = index < device->qps.count ? &device->qps.entries[index] : NULL;

	return qp != NULL && qp->live && efa_qp_handle(qp) == handle ? qp : NULL;
}
