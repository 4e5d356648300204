/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/feature.h"

#define FIELD EFA_ABI_FIELD
#define ARRAY EFA_ABI_ARRAY
#define T(name) struct efa_abi_##name
#define LAYOUT(table, size) { .fields = (table), .count = sizeof(table) / sizeof((table)[0]), .bytes = (size) }

static const struct efa_abi_field device_attr[] = {
	FIELD(T(device_attr), supported_features, 0), FIELD(T(device_attr), page_size_cap, 8), FIELD(T(device_attr), fw_version, 16),
	FIELD(T(device_attr), admin_api_version, 20), FIELD(T(device_attr), device_version, 24), FIELD(T(device_attr), db_bar, 28),
	FIELD(T(device_attr), phys_addr_width, 30), FIELD(T(device_attr), virt_addr_width, 31),
	FIELD(T(device_attr), device_caps, 32), FIELD(T(device_attr), max_rdma_size, 36), FIELD(T(device_attr), guid, 40),
	FIELD(T(device_attr), max_link_speed_gbps, 48),
};

static const struct efa_abi_field aenq_config[] = { FIELD(T(aenq_config), supported, 0), FIELD(T(aenq_config), enabled, 4) };
static const struct efa_abi_field network_attr[] = { ARRAY(T(network_attr), gid, 0), FIELD(T(network_attr), mtu, 16) };

static const struct efa_abi_field queue_attr[] = {
	FIELD(T(queue_attr), max_qp, 0), FIELD(T(queue_attr), max_sq_depth, 4), FIELD(T(queue_attr), inline_buf_size, 8),
	FIELD(T(queue_attr), max_rq_depth, 12), FIELD(T(queue_attr), max_cq, 16), FIELD(T(queue_attr), max_cq_depth, 20),
	FIELD(T(queue_attr), sub_cqs_per_cq, 24), FIELD(T(queue_attr), min_sq_depth, 26),
	FIELD(T(queue_attr), max_send_sges, 28), FIELD(T(queue_attr), max_recv_sges, 30), FIELD(T(queue_attr), max_mr, 32),
	FIELD(T(queue_attr), max_mr_pages, 36), FIELD(T(queue_attr), max_pd, 40), FIELD(T(queue_attr), max_ah, 44),
	FIELD(T(queue_attr), max_llq_size, 48), FIELD(T(queue_attr), max_rdma_sges, 52), FIELD(T(queue_attr), max_tx_batch, 54),
};

static const struct efa_abi_field hw_hints[] = {
	FIELD(T(hw_hints), mmio_read_timeout, 0), FIELD(T(hw_hints), watchdog, 2), FIELD(T(hw_hints), admin_timeout, 4),
	FIELD(T(hw_hints), poll_interval, 6),
};

static const struct efa_abi_field host_info[] = {
	ARRAY(T(host_info), os_dist, 0), FIELD(T(host_info), os_type, 128), ARRAY(T(host_info), kernel, 132),
	FIELD(T(host_info), kernel_version, 164), FIELD(T(host_info), driver_version, 168), FIELD(T(host_info), bdf, 172),
	FIELD(T(host_info), spec_version, 174), FIELD(T(host_info), flags, 176),
};

static const struct efa_abi_field event_queue_attr[] = {
	FIELD(T(event_queue_attr), max_eq, 0), FIELD(T(event_queue_attr), max_eq_depth, 4),
	FIELD(T(event_queue_attr), event_bitmask, 8),
};

static const struct efa_abi_field queue_attr_2[] = { FIELD(T(queue_attr_2), inline_buf_size_ex, 0) };

static const struct efa_abi_layout layouts[EFA_FEATURE_COUNT] = {
	[EFA_FEATURE_DEVICE_ATTR] = LAYOUT(device_attr, EFA_DESCRIPTOR_BYTES),
	[EFA_FEATURE_AENQ_CONFIG] = LAYOUT(aenq_config, EFA_SET_AENQ_BYTES),
	[EFA_FEATURE_NETWORK_ATTR] = LAYOUT(network_attr, 20),
	[EFA_FEATURE_QUEUE_ATTR] = LAYOUT(queue_attr, EFA_DESCRIPTOR_BYTES),
	[EFA_FEATURE_HW_HINTS] = LAYOUT(hw_hints, 8),
	[EFA_FEATURE_HOST_INFO] = LAYOUT(host_info, EFA_HOST_INFO_BYTES),
	[EFA_FEATURE_EVENT_QUEUE_ATTR] = LAYOUT(event_queue_attr, 12),
	[EFA_FEATURE_QUEUE_ATTR_2] = LAYOUT(queue_attr_2, 2),
};

static const char *const stats[EFA_STATS_TYPES][EFA_STATS_MAX] = {
	[EFA_STATS_BASIC] = { "tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops", "qkey_viol" },
	[EFA_STATS_MESSAGES] = { "send_bytes", "send_wrs", "recv_bytes", "recv_wrs" },
	[EFA_STATS_RDMA_READ] = { "rdma_read_wrs", "rdma_read_bytes", "rdma_read_wr_err", "rdma_read_resp_bytes" },
	[EFA_STATS_RDMA_WRITE] = { "rdma_write_wrs", "rdma_write_bytes", "rdma_write_wr_err", "rdma_write_recv_bytes" },
	[EFA_STATS_NETWORK] = { "retrans_bytes", "retrans_pkts", "retrans_timeout_events", "unresponsive_remote_events",
				"impaired_remote_conn_events" },
};

const struct efa_abi_layout *efa_abi_feature_layout(uint32_t id)
{
	return id < EFA_FEATURE_COUNT && layouts[id].bytes != 0 ? &layouts[id] : NULL;
}

uint32_t efa_abi_stats_count(uint32_t type)
{
	uint32_t n = 0;

	while (type < EFA_STATS_TYPES && n < EFA_STATS_MAX && stats[type][n] != NULL)
		n++;
	return n;
}

const char *efa_abi_stats_text(uint32_t type, uint32_t counter)
{
	return type < EFA_STATS_TYPES && counter < EFA_STATS_MAX ? stats[type][counter] : NULL;
}
