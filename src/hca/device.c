/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hca/device_internal.h"
#include "hca/event_fd.h"
#include "hca/limits.h"
#include "hca/qp_internal.h"
#include "hca/qp_type.h"
#include "wire/mtu.h"
#include "wire/speed.h"

/* Values of enum ibv_device_cap_flags. */
enum {
	CAP_BAD_PKEY_CNTR = 1 << 1,
	CAP_BAD_QKEY_CNTR = 1 << 2,
	CAP_CHANGE_PHY_PORT = 1 << 5,
	CAP_UD_AV_PORT_ENFORCE = 1 << 6,
	CAP_PORT_ACTIVE_EVENT = 1 << 10,
	CAP_SYS_IMAGE_GUID = 1 << 11,
	CAP_RC_RNR_NAK_GEN = 1 << 12,
	CAP_SRQ_RESIZE = 1 << 13,
	CAP_XRC = 1 << 20,
	CAP_MEM_WINDOW = 1 << 17,
	CAP_MEM_WINDOW_TYPE_2A = 1 << 23,
	CAP_MEM_WINDOW_TYPE_2B = 1 << 24,
};
enum { PORT_CAP_CM_SUP = 1 << 16, PHYS_STATE_DISABLED = 3, PHYS_STATE_LINK_UP = 5 };
static const char *const port_counter_names[HCA_PORT_COUNTERS] = {
	[HCA_PORT_SENT_PACKETS] = "sent_packets",
	[HCA_PORT_SENT_BYTES] = "sent_bytes",
	[HCA_PORT_RECEIVED_PACKETS] = "received_packets",
	[HCA_PORT_RECEIVED_BYTES] = "received_bytes",
	[HCA_PORT_TOOK_RUNS] = "took_runs",
	[HCA_PORT_DUPLICATE] = "duplicate",
	[HCA_PORT_OUT_OF_ORDER] = "out_of_order",
	[HCA_PORT_RNR] = "receiver_not_ready",
	[HCA_PORT_NAKED] = "refused",
	[HCA_PORT_DROP_STATE] = "drop_state",
	[HCA_PORT_DROP_OPCODE] = "drop_opcode",
	[HCA_PORT_DROP_PSN] = "drop_psn",
	[HCA_PORT_DROP_PKEY] = "drop_pkey",
	[HCA_PORT_DROP_QKEY] = "drop_qkey",
	[HCA_PORT_DROP_NO_RECV] = "drop_no_receive",
	[HCA_PORT_DROP_GAP] = "drop_gap",
	[HCA_PORT_DROP_LENGTH] = "drop_length",
	[HCA_PORT_DROP_ACCESS] = "drop_access",
	[HCA_PORT_RECV_FAILED] = "receive_failed",
	[HCA_PORT_DROP_ADDRESS] = "drop_address",
	[HCA_PORT_CQ_OVERRUN] = "cq_overrun",
};

/*
 * perftest 4.5 chooses inline sizes by the part id alone (but for Chelsio's and Intel's vendor ids) and turns inline data off
 * for parts that it does not know. 4119 is one of those it knows. The vendor id is nobody's, as rxe's is: programs that load a
 * vendor's own provider look for vendor and part together, and must not find them.
 */
void hca_identity_default(struct hca_identity *out)
{
	*out = (struct hca_identity){ .vendor_id = 0xffffff, .vendor_part_id = 4119, .fw_ver = "0.1.0" };
}

int hca_device_create(const struct hca_device_config *config, struct hca_device **out)
{
	if (config->engine.ops == NULL || config->ops == NULL || config->memory == NULL || config->export == NULL ||
	    wire_mtu_bytes(config->active_mtu) == 0)
		return BASE_ERR_INVAL;
	struct hca_device *device = calloc(1, sizeof(*device));
	if (device == NULL)
		return BASE_ERR_NOMEM;
	device->config = *config;
	device->config.name[sizeof(device->config.name) - 1] = 0;
	device->config.identity.fw_ver[sizeof(device->config.identity.fw_ver) - 1] = 0;
	int err = export_counters_reserve(config->export, "port", device->config.name, port_counter_names, HCA_PORT_COUNTERS,
					  &device->port_group, &device->counters);
	if (err != 0) {
		free(device);
		return err;
	}
	err = export_counters_reserve(config->export, "qp", device->config.name, hca_qp_counter_names, HCA_QP_COUNTERS,
				      &device->qp_group, &(_Atomic uint64_t *){ NULL });
	if (err != 0) {
		export_counters_retire(config->export, device->port_group);
		free(device);
		return err;
	}
	atomic_init(&device->active_mtu, config->active_mtu);
	atomic_init(&device->active, config->port_active);
	atomic_init(&device->speed, config->speed);
	pthread_mutex_init(&device->lock, NULL);
	*out = device;
	return 0;
}

int hca_device_destroy(struct hca_device *device)
{
	pthread_mutex_lock(&device->lock);
	bool busy = device->contexts != NULL;
	pthread_mutex_unlock(&device->lock);
	if (busy)
		return BASE_ERR_BUSY;
	if (device->mcast.listening)
		device->config.engine.ops->group_remove(device->config.engine.context, &device->mcast.flow);
	export_counters_retire(device->config.export, device->port_group);
	export_counters_retire(device->config.export, device->qp_group);
	pthread_mutex_destroy(&device->lock);
	free(device);
	return 0;
}

void hca_device_query(const struct hca_device *device, struct hca_device_attr *out)
{
	*out = (struct hca_device_attr){
		.identity = device->config.identity,
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.max_dm_size = HCA_MAX_DM_BYTES,
		.cap_flags = CAP_BAD_PKEY_CNTR | CAP_BAD_QKEY_CNTR | CAP_CHANGE_PHY_PORT | CAP_UD_AV_PORT_ENFORCE |
			     CAP_PORT_ACTIVE_EVENT | CAP_SYS_IMAGE_GUID | CAP_RC_RNR_NAK_GEN | CAP_SRQ_RESIZE | CAP_XRC |
			     CAP_MEM_WINDOW |
			     (device->config.windows_2a ? CAP_MEM_WINDOW_TYPE_2A : CAP_MEM_WINDOW_TYPE_2B),
		.max_qp = HCA_MAX_QP, .max_qp_wr = HCA_MAX_QP_WR, .max_sge = HCA_MAX_SGE, .max_sge_rd = HCA_MAX_SGE,
		.max_cq = HCA_MAX_CQ, .max_cqe = HCA_MAX_CQE, .max_mr = HCA_MAX_MR, .max_mw = HCA_MAX_MR, .max_pd = HCA_MAX_PD,
		.max_qp_rd_atom = HCA_MAX_RD_ATOM, .max_res_rd_atom = HCA_MAX_RD_ATOM * HCA_MAX_QP,
				.max_qp_init_rd_atom = HCA_MAX_RD_ATOM,
		.max_ah = HCA_MAX_AH, .max_srq = HCA_MAX_SRQ, .max_srq_wr = HCA_MAX_SRQ_WR, .max_srq_sge = HCA_MAX_SRQ_SGE,
		.max_mcast_groups = HCA_MAX_MCAST_GROUPS, .max_mcast_qp = HCA_MAX_MCAST_QP,
		.max_inline = HCA_MAX_INLINE, .comp_vectors = HCA_COMP_VECTORS,
		.atomics = true, .max_pkeys = 1, .local_ca_ack_delay = 15, .phys_port_cnt = HCA_PORTS,
	};
}

/* Those of the port attributes are 16 bits that do not wrap. */
static uint32_t violations(const struct hca_device *device, enum hca_port_counter counter)
{
	uint64_t n = atomic_load_explicit(&device->counters[counter], memory_order_relaxed);

	return n < UINT16_MAX ? (uint32_t)n : UINT16_MAX;
}

void hca_device_query_port(const struct hca_device *device, struct hca_port_attr *out)
{
	bool active = atomic_load_explicit(&device->active, memory_order_relaxed);
	struct wire_speed speed = wire_speed_of_ethernet(atomic_load_explicit(&device->speed, memory_order_relaxed));

	*out = (struct hca_port_attr){
		.state = active ? HCA_PORT_ACTIVE : HCA_PORT_DOWN,
		.max_mtu = WIRE_MTU_CODE_MAX,
		.active_mtu = atomic_load_explicit(&device->active_mtu, memory_order_relaxed),
		.port_cap_flags = PORT_CAP_CM_SUP,
		.max_msg_sz = HCA_MAX_MSG_BYTES,
		.bad_pkey_cntr = violations(device, HCA_PORT_DROP_PKEY),
		.qkey_viol_cntr = violations(device, HCA_PORT_DROP_QKEY),
		.pkey_tbl_len = 1,
		.phys_state = active ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED,
		.active_width = speed.width,
		.active_speed = speed.speed,
		.max_vl_num = 1,
	};
}

static void raise_on_contexts(struct hca_device *device, enum hca_async_type type)
{
	pthread_mutex_lock(&device->lock);
	for (struct hca_context *context = device->contexts; context != NULL; context = context->next)
		hca_async_raise(&context->self, type);
	pthread_mutex_unlock(&device->lock);
}

void hca_device_port_set(struct hca_device *device, bool active, int active_mtu, uint32_t speed)
{
	atomic_store_explicit(&device->speed, speed, memory_order_relaxed);
	if (wire_mtu_bytes(active_mtu) != 0)
		atomic_store_explicit(&device->active_mtu, active_mtu, memory_order_relaxed);
	if (atomic_exchange_explicit(&device->active, active, memory_order_relaxed) != active)
		raise_on_contexts(device, active ? HCA_ASYNC_PORT_ACTIVE : HCA_ASYNC_PORT_ERR);
}

void hca_device_gids_changed(struct hca_device *device)
{
	raise_on_contexts(device, HCA_ASYNC_GID_CHANGE);
}

void hca_device_lost(struct hca_device *device)
{
	const struct hca_engine *engine = &device->config.engine;

	if (atomic_exchange(&device->lost, true))
		return;
	hca_device_port_set(device, false, WIRE_MTU_CODE_MIN, 0);
	raise_on_contexts(device, HCA_ASYNC_DEVICE_FATAL);
	/* Whoever moves a QP looks at `lost` under this lock, so none is missed that has left RESET. */
	engine->ops->lock(engine->context);
	for (struct hca_qp *qp = device->qps; qp != NULL; qp = hca_qp_device_next(qp))
		hca_qp_lost(qp);
	engine->ops->unlock(engine->context);
}

bool hca_device_is_lost(const struct hca_device *device)
{
	return atomic_load(&device->lost);
}

int hca_context_open(struct hca_device *device, void *user, struct hca_context **out)
{
	struct hca_context *context = calloc(1, sizeof(*context));

	if (context == NULL)
		return BASE_ERR_NOMEM;
	context->async_fd = hca_event_fd_create();
	if (context->async_fd < 0) {
		free(context);
		return BASE_ERR_NOMEM;
	}
	context->device = device;
	context->user = user;
	pthread_mutex_init(&context->async_lock, NULL);
	pthread_cond_init(&context->async_acked, NULL);
	hca_async_source_init(&context->self, context, user);
	context->self.counted = false;
	context->self.port = 1;
	pthread_mutex_lock(&device->lock);
	context->next = device->contexts;
	device->contexts = context;
	pthread_mutex_unlock(&device->lock);
	*out = context;
	return 0;
}

int hca_context_close(struct hca_context *context)
{
	struct hca_device *device = context->device;

	if (atomic_load(&context->objects) != 0)
		return BASE_ERR_BUSY;
	pthread_mutex_lock(&device->lock);
	for (struct hca_context **at = &device->contexts; *at != NULL; at = &(*at)->next)
		if (*at == context) {
			*at = context->next;
			break;
		}
	pthread_mutex_unlock(&device->lock);
	hca_event_fd_close(context->async_fd);
	pthread_cond_destroy(&context->async_acked);
	pthread_mutex_destroy(&context->async_lock);
	free(context);
	return 0;
}

struct hca_device *hca_context_device(const struct hca_context *context)
{
	return context->device;
}

void *hca_context_user(const struct hca_context *context)
{
	return context->user;
}
