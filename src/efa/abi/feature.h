/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What GET_FEATURE, SET_FEATURE and GET_STATS carry. Offsets of the layouts count from the start of the descriptor. */
#ifndef EFA_ABI_FEATURE_H
#define EFA_ABI_FEATURE_H

#include <stdint.h>

#include "efa/abi/field.h"

enum efa_abi_feature_id {
	EFA_FEATURE_DEVICE_ATTR = 1,
	EFA_FEATURE_AENQ_CONFIG = 2,
	EFA_FEATURE_NETWORK_ATTR = 3,
	EFA_FEATURE_QUEUE_ATTR = 4,
	EFA_FEATURE_HW_HINTS = 5,
	EFA_FEATURE_HOST_INFO = 6,
	EFA_FEATURE_EVENT_QUEUE_ATTR = 7,
	EFA_FEATURE_QUEUE_ATTR_2 = 9,
	EFA_FEATURE_COUNT
};

enum efa_abi_device_cap {
	EFA_CAP_RDMA_READ = 1,
	EFA_CAP_RNR_RETRY = 2,
	EFA_CAP_DATA_POLLING_128 = 4,
	EFA_CAP_RDMA_WRITE = 8,
	EFA_CAP_UNSOLICITED_WRITE_RECV = 16,
};

struct efa_abi_device_attr {
	uint64_t supported_features; /* 1 << enum efa_abi_feature_id */
	uint64_t page_size_cap;
	uint32_t fw_version, admin_api_version, device_version;
	uint32_t device_caps, max_rdma_size;
	uint64_t guid;
	uint16_t db_bar, max_link_speed_gbps;
	uint8_t phys_addr_width, virt_addr_width;
};

struct efa_abi_aenq_config {
	uint32_t supported, enabled; /* 1 << enum efa_abi_aenq_group */
};

struct efa_abi_network_attr {
	uint8_t gid[16];
	uint32_t mtu; /* bytes of payload */
};

struct efa_abi_queue_attr {
	uint32_t max_qp, max_sq_depth, inline_buf_size, max_rq_depth, max_cq, max_cq_depth;
	uint16_t sub_cqs_per_cq, min_sq_depth, max_send_sges, max_recv_sges;
	uint32_t max_mr, max_mr_pages, max_pd, max_ah, max_llq_size;
	uint16_t max_rdma_sges, max_tx_batch; /* max_tx_batch: units of 64 bytes between doorbells, 0: no limit */
};

/* Milliseconds; 0: the driver's own. Drivers store these in other units than they say, so that an adapter reports 0. */
struct efa_abi_hw_hints {
	uint16_t mmio_read_timeout, watchdog, admin_timeout, poll_interval;
};

struct efa_abi_event_queue_attr {
	uint32_t max_eq, max_eq_depth, event_bitmask;
};

struct efa_abi_queue_attr_2 {
	uint16_t inline_buf_size_ex;
};

/* By control buffer. */
struct efa_abi_host_info {
	char os_dist[128];
	char kernel[32];
	uint32_t os_type, kernel_version, driver_version;
	uint16_t bdf, spec_version;
	uint32_t flags;
};
enum { EFA_HOST_INFO_BYTES = 180, EFA_DESCRIPTOR_BYTES = 56, EFA_SET_AENQ_BYTES = 8 };

enum efa_abi_stats_type {
	EFA_STATS_BASIC,
	EFA_STATS_MESSAGES,
	EFA_STATS_RDMA_READ,
	EFA_STATS_RDMA_WRITE,
	EFA_STATS_NETWORK,
	EFA_STATS_TYPES
};
enum { EFA_STATS_MAX = 6, EFA_STATS_SCOPE_ALL = 0, EFA_STATS_SCOPE_QUEUE = 1 };

/* How many counters a type has, and their names in that order; 0 and NULL for no type. */
uint32_t efa_abi_stats_count(uint32_t type);
const char *efa_abi_stats_text(uint32_t type, uint32_t counter);

/* The layout of a feature's descriptor; NULL: no such feature. */
const struct efa_abi_layout *efa_abi_feature_layout(uint32_t id);

#endif
