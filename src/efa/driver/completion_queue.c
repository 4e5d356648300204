/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/completion_queue.h"

#include <string.h>

#include "base/err.h"
#include "efa/abi/event.h"
#include "efa/driver/command.h"
#include "efa/driver/queue_pair.h"
#include "efa/driver/ring.h"

static uint32_t power_of(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

int efa_completion_queue_init(struct efa_completion_queue *cq, struct efa_driver *driver, const struct efa_queue_pairs *pairs,
			      const struct efa_completion_queue_attr *attr)
{
	uint32_t bytes = attr->wants_gid ? EFA_CQE_WIDE_BYTES : EFA_CQE_BYTES;
	struct efa_abi_create_cq in = { .uar = attr->uar, .num_sub_cqs = driver->queue.sub_cqs_per_cq };
	struct efa_abi_create_cq_result out;
	int err;

	if (attr->entries == 0 || attr->entries > driver->queue.max_cq_depth || in.num_sub_cqs > EFA_SUB_CQS_MAX)
		return BASE_ERR_INVAL;
	memset(cq, 0, sizeof(*cq));
	cq->driver = driver;
	cq->pairs = pairs;
	cq->depth = power_of(attr->entries);
	cq->entry_bytes = bytes;
	cq->num_sub = in.num_sub_cqs;
	cq->has_events = attr->has_events;
	in.sub_cq_depth = (uint16_t)cq->depth;
	in.caps2 = (uint8_t)(bytes / 4 | (attr->wants_gid ? EFA_CQ_CAPS_SRC_ADDR : 0));
	if (attr->has_events) {
		in.caps1 = EFA_CQ_CAPS_INTERRUPT;
		err = efa_driver_pick_eq(driver, attr->vector, &in.eqn);
		if (err != 0)
			return err;
	}
	err = efa_driver_memory_init(&cq->ring, &driver->com.function, (uint64_t)cq->depth * cq->num_sub * bytes, EFA_BUS_FROM_DEVICE);
	if (err != 0)
		return err;
	in.base = cq->ring.bus;
	err = efa_com_create_cq(&driver->com, &in, &out);
	if (err != 0) {
		efa_driver_memory_fini(&cq->ring, &driver->com.function);
		return err;
	}
	cq->index = out.cq_idx;
	cq->doorbell = out.db_offset;
	cq->has_doorbell = (out.flags & EFA_CQ_DB_VALID) != 0;
	return 0;
}

int efa_completion_queue_fini(struct efa_completion_queue *cq)
{
	int err = efa_com_destroy_cq(&cq->driver->com, cq->index);

	if (err != 0 && err != BASE_ERR_NODEV)
		return err;
	efa_driver_memory_fini(&cq->ring, &cq->driver->com.function);
	return 0;
}

/* The next entry of any of the rings, in turn. */
static bool take(struct efa_completion_queue *cq, struct efa_abi_cqe *out)
{
	uint8_t entry[EFA_CQE_WIDE_BYTES];

	for (uint32_t i = 0; i < cq->num_sub; i++) {
		uint32_t sub = (cq->next_sub + i) % cq->num_sub;

		if (!efa_ring_take(cq->ring.bytes + (uint64_t)sub * cq->depth * cq->entry_bytes, cq->depth, cq->entry_bytes,
				   EFA_CQE_FLAGS_AT, cq->taken[sub], entry))
			continue;
		cq->taken[sub]++;
		cq->all_taken++;
		cq->next_sub = (sub + 1) % cq->num_sub;
		efa_abi_cqe_load(out, entry, cq->entry_bytes);
		return true;
	}
	return false;
}

int efa_completion_queue_poll(struct efa_completion_queue *cq, struct efa_completion *out)
{
	while (take(cq, &out->cqe)) {
		out->qp = efa_queue_pairs_find(cq->pairs, out->cqe.qp_num);
		if (out->qp == NULL)
			continue; /* it was destroyed with this completion unread */
		out->is_send = out->cqe.queue == EFA_CQE_QUEUE_SEND;
		if (out->cqe.unsolicited) {
			out->wr_id = 0;
			return 0;
		}
		return efa_queue_pair_complete(out->qp, out->is_send, out->cqe.req_id, &out->wr_id) ? 0 : BASE_ERR_MALFORMED;
	}
	return BASE_ERR_AGAIN;
}

static void ring(struct efa_completion_queue *cq, bool arm)
{
	struct efa_abi_cq_db db = { .consumer = cq->all_taken, .sn = cq->sn, .arm = arm };

	if (cq->has_doorbell)
		efa_driver_doorbell(cq->driver, cq->doorbell, efa_abi_cq_db_pack(&db));
}

void efa_completion_queue_advance(struct efa_completion_queue *cq)
{
	ring(cq, false);
}

int efa_completion_queue_arm(struct efa_completion_queue *cq)
{
	if (!cq->has_events || !cq->has_doorbell)
		return BASE_ERR_UNSUPPORTED;
	ring(cq, true);
	return 0;
}

void efa_completion_queue_event_taken(struct efa_completion_queue *cq)
{
	cq->sn = (cq->sn + 1) & 3;
}
