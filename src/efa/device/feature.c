/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/feature.h"

#include <string.h>

#include "efa/abi/bytes.h"
#include "efa/device/command.h"
#include "efa/device/device_internal.h"

enum { TYPE_AT = 16, SCOPE_AT = 17 };

static bool is_supported(const struct efa_device *device, uint32_t id)
{
	return id < 32 && (device->profile.device.supported_features & 1ull << id) != 0 && efa_abi_feature_layout(id) != NULL;
}

uint8_t efa_feature_get(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = c->in.feature.id;
	const struct efa_abi_layout *layout = efa_abi_feature_layout(id);
	struct efa_abi_aenq_config aenq = { .supported = device->profile.aenq_groups, .enabled = device->aenq.enabled };
	struct efa_abi_network_attr network = { .mtu = device->profile.mtu };
	struct efa_abi_hw_hints hints = { 0 }; /* "use your own": drivers misread anything else */
	struct efa_abi_queue_attr_2 queue2 = { .inline_buf_size_ex = (uint16_t)device->profile.queue.inline_buf_size };

	if (!is_supported(device, id))
		return EFA_ADMIN_UNSUPPORTED;
	memcpy(network.gid, device->gid, sizeof(network.gid));
	switch (id) {
	case EFA_FEATURE_DEVICE_ATTR:
		efa_abi_store(layout, c->result, &device->profile.device);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_AENQ_CONFIG:
		efa_abi_store(layout, c->result, &aenq);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_NETWORK_ATTR:
		efa_abi_store(layout, c->result, &network);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_QUEUE_ATTR:
		efa_abi_store(layout, c->result, &device->profile.queue);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_HW_HINTS:
		efa_abi_store(layout, c->result, &hints);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_EVENT_QUEUE_ATTR:
		efa_abi_store(layout, c->result, &device->profile.events);
		return EFA_ADMIN_OK;
	case EFA_FEATURE_QUEUE_ATTR_2:
		efa_abi_store(layout, c->result, &queue2);
		return EFA_ADMIN_OK;
	default: /* what can only be set */
		return EFA_ADMIN_UNSUPPORTED;
	}
}

static uint8_t set_aenq(struct efa_device *device, struct efa_command *c)
{
	struct efa_abi_aenq_config config;

	efa_abi_load(efa_abi_feature_layout(EFA_FEATURE_AENQ_CONFIG), &config, c->entry + EFA_SET_FEATURE_DATA_AT);
	for (uint32_t i = EFA_SET_FEATURE_DATA_AT + EFA_SET_AENQ_BYTES; i < EFA_ADMIN_ENTRY_BYTES; i++) {
		if (c->entry[i] != 0)
			return EFA_ADMIN_MALFORMED;
	}
	if ((config.enabled & ~device->profile.aenq_groups) != 0)
		return efa_command_illegal(c, EFA_SET_FEATURE_DATA_AT + 4);
	device->aenq.enabled = config.enabled;
	return EFA_ADMIN_OK;
}

static uint8_t set_host_info(struct efa_device *device, struct efa_command *c)
{
	struct efa_abi_buffer buffer = efa_abi_buffer_load(c->in.feature.buffer);
	uint8_t bytes[EFA_HOST_INFO_BYTES];

	if ((c->head.flags & EFA_AQ_FLAG_CTRL_DATA) == 0 || (c->head.flags & EFA_AQ_FLAG_CTRL_INDIRECT) != 0 ||
	    buffer.length != sizeof(bytes))
		return EFA_ADMIN_MALFORMED;
	if (efa_device_read(device, buffer.addr, bytes, sizeof(bytes)) != 0)
		return efa_command_illegal(c, 8);
	efa_abi_load(efa_abi_feature_layout(EFA_FEATURE_HOST_INFO), &device->host_info, bytes);
	return EFA_ADMIN_OK;
}

uint8_t efa_feature_set(struct efa_device *device, struct efa_command *c)
{
	uint32_t id = c->in.feature.id;

	if (!is_supported(device, id))
		return EFA_ADMIN_UNSUPPORTED;
	if (id == EFA_FEATURE_AENQ_CONFIG)
		return set_aenq(device, c);
	if (id == EFA_FEATURE_HOST_INFO)
		return set_host_info(device, c);
	return EFA_ADMIN_UNSUPPORTED;
}

uint8_t efa_feature_stats(struct efa_device *device, struct efa_command *c)
{
	const struct efa_abi_get_stats *in = &c->in.get_stats;
	uint32_t count = efa_abi_stats_count(in->type);

	if (count == 0)
		return efa_command_illegal(c, TYPE_AT);
	if (in->scope != EFA_STATS_SCOPE_ALL)
		return efa_command_illegal(c, SCOPE_AT);
	for (uint32_t i = 0; i < count; i++)
		efa_abi_le64_store(c->result + 8 * i, device->stats.answered[in->type][i]);
	return EFA_ADMIN_OK;
}
