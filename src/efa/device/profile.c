/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/profile.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "efa/abi/event.h"
#include "efa/abi/wqe.h"
#include "efa/bus/bus.h"

#define FEATURE(name) (1ull << EFA_FEATURE_##name)
/* A driver refuses an adapter without these. */
#define FEATURES_NEEDED (FEATURE(DEVICE_ATTR) | FEATURE(AENQ_CONFIG) | FEATURE(NETWORK_ATTR) | FEATURE(QUEUE_ATTR) | FEATURE(HW_HINTS))

/* What hardware of part 0xefa1 reports, as far as it is known. */
#define COMMON \
	.part = EFA_PART_1, .version = 1, .controller_version = 0x53000001, \
	.caps = { .reset_timeout = 10, .dma_width = 48, .admin_timeout = 15 }, \
	.queue = { .max_qp = EFA_MAX_QP, .max_sq_depth = 4096, .inline_buf_size = EFA_WQE_INLINE_BYTES, .max_rq_depth = 32768, \
		   .max_cq = 512, .max_cq_depth = 32768, .sub_cqs_per_cq = 1, .max_send_sges = EFA_MAX_SEND_SGES, \
		   .max_recv_sges = 3, .max_mr = EFA_MAX_MR, .max_mr_pages = 25165824, .max_pd = 256, .max_ah = 1024, \
		   .max_llq_size = 262144, .max_rdma_sges = 1 }, \
	.aenq_groups = EFA_AENQ_WANTED, .mtu = 8928, .max_uar = 64, .max_extents = 1u << 24, .vectors = EFA_BUS_VECTORS, \
	.keep_alive = BASE_SEC

#define DEVICE(features, capabilities, op_size) \
	{ .supported_features = (features), .page_size_cap = 0xfffff000, .admin_api_version = 1, .device_version = EFA_PART_1, \
	  .device_caps = (capabilities), .max_rdma_size = (op_size), .db_bar = EFA_BAR_DOORBELL, .phys_addr_width = 48, \
	  .virt_addr_width = 48, .max_link_speed_gbps = 100 }

static const struct efa_device_profile profiles[] = {
	{ .name = "v1", COMMON, .device = DEVICE(FEATURES_NEEDED | FEATURE(HOST_INFO), 0, 0) },
	{ .name = "full", COMMON,
	  .device = DEVICE(FEATURES_NEEDED | FEATURE(HOST_INFO) | FEATURE(EVENT_QUEUE_ATTR),
			   EFA_CAP_RDMA_READ | EFA_CAP_RNR_RETRY | EFA_CAP_RDMA_WRITE | EFA_CAP_UNSOLICITED_WRITE_RECV, 1u << 30),
	  .events = { .max_eq = EFA_MAX_EQ, .max_eq_depth = 1024, .event_bitmask = 1 } },
};

const struct efa_device_profile *efa_device_profile_find(const char *name)
{
	for (uint32_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	}
	return NULL;
}

static bool within(uint64_t value, uint64_t most)
{
	return value >= 1 && value <= most;
}

static bool is_power(uint32_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

int efa_device_profile_check(const struct efa_device_profile *p)
{
	const struct efa_abi_queue_attr *q = &p->queue;
	bool has_eq = (p->device.supported_features & FEATURE(EVENT_QUEUE_ATTR)) != 0;

	if ((p->device.supported_features & FEATURES_NEEDED) != FEATURES_NEEDED)
		return BASE_ERR_INVAL;
	if (!within(q->max_qp, EFA_MAX_QP) || !within(q->max_cq, EFA_MAX_CQ) || !within(q->max_mr, EFA_MAX_MR) ||
	    !within(q->max_pd, EFA_MAX_PD) || !within(q->max_ah, EFA_MAX_AH) || !within(p->max_uar, EFA_MAX_UAR))
		return BASE_ERR_INVAL;
	if (!is_power(q->max_sq_depth) || q->max_sq_depth > EFA_MAX_DEPTH || !is_power(q->max_rq_depth) ||
	    q->max_rq_depth > EFA_MAX_DEPTH || !is_power(q->max_cq_depth) || q->max_cq_depth > EFA_MAX_DEPTH)
		return BASE_ERR_INVAL;
	if (q->inline_buf_size > EFA_WQE_INLINE_BYTES || !within(q->max_send_sges, EFA_MAX_SEND_SGES) ||
	    !within(q->max_recv_sges, EFA_MAX_RECV_SGES) || !within(q->sub_cqs_per_cq, EFA_MAX_SUB_CQS))
		return BASE_ERR_INVAL;
	if (!is_power(q->max_llq_size) || q->max_llq_size < EFA_WQE_BYTES || !within(p->vectors, EFA_BUS_VECTORS) || p->mtu == 0)
		return BASE_ERR_INVAL;
	if (has_eq && (!within(p->events.max_eq, EFA_MAX_EQ) || p->events.max_eq >= p->vectors ||
		       p->events.max_eq_depth < q->max_cq)) /* one event of each CQ fits: there is no consumer index */
		return BASE_ERR_INVAL;
	if (p->device.db_bar >= EFA_BARS || (p->device.db_bar == EFA_BAR_LLQ))
		return BASE_ERR_INVAL;
	return 0;
}
