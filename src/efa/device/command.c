/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/command.h"

#include <string.h>

#include "efa/device/device_internal.h"
#include "efa/device/feature.h"

/* The bytes of a request where the layout ends and data begins that only the handler knows. */
enum { CHECK_FROM = 4 };

static uint8_t switched_off(struct efa_device *device, struct efa_command *c)
{
	(void)device;
	(void)c;
	return EFA_ADMIN_UNSUPPORTED;
}

static uint8_t (*const handlers[EFA_OP_COUNT])(struct efa_device *device, struct efa_command *c) = {
	[EFA_OP_CREATE_QP] = efa_qp_create,
	[EFA_OP_MODIFY_QP] = efa_qp_modify,
	[EFA_OP_QUERY_QP] = efa_qp_query,
	[EFA_OP_DESTROY_QP] = efa_qp_destroy,
	[EFA_OP_CREATE_AH] = efa_ah_create,
	[EFA_OP_DESTROY_AH] = efa_ah_destroy,
	[EFA_OP_REG_MR] = efa_mr_register,
	[EFA_OP_DEREG_MR] = efa_mr_deregister,
	[EFA_OP_CREATE_CQ] = efa_cq_create,
	[EFA_OP_DESTROY_CQ] = efa_cq_destroy,
	[EFA_OP_GET_FEATURE] = efa_feature_get,
	[EFA_OP_SET_FEATURE] = efa_feature_set,
	[EFA_OP_GET_STATS] = efa_feature_stats,
	[EFA_OP_ALLOC_PD] = efa_pd_alloc,
	[EFA_OP_DEALLOC_PD] = efa_pd_dealloc,
	[EFA_OP_ALLOC_UAR] = efa_uar_alloc,
	[EFA_OP_DEALLOC_UAR] = efa_uar_dealloc,
	[EFA_OP_CREATE_EQ] = efa_eq_create,
	[EFA_OP_DESTROY_EQ] = efa_eq_destroy,
	[EFA_OP_ALLOC_MR] = switched_off, /* regions for fast registration: the kernel's own use of the adapter */
};

/* SET_FEATURE's inline data is no field: its handler looks at it. */
static bool rest_is_zero(const struct efa_abi_command *row, const uint8_t *entry, uint8_t opcode)
{
	struct efa_abi_layout request = row->request;

	if (opcode == EFA_OP_SET_FEATURE)
		request.bytes = EFA_SET_FEATURE_DATA_AT;
	return efa_abi_rest_is_zero(&request, entry, CHECK_FROM);
}

uint8_t efa_command_execute(struct efa_device *device, const uint8_t *entry, uint8_t *completion, uint16_t *extended)
{
	struct efa_command c = { .entry = entry, .head = efa_abi_aq_head_load(entry) };
	const struct efa_abi_command *row = efa_abi_command_of(c.head.opcode);
	uint8_t status;

	if (row == NULL)
		return EFA_ADMIN_BAD_OPCODE;
	if (!rest_is_zero(row, entry, c.head.opcode)) {
		device->stats.bad_commands++;
		return EFA_ADMIN_MALFORMED;
	}
	efa_abi_load(&row->request, &c.in, entry);
	status = handlers[c.head.opcode](device, &c);
	*extended = c.extended;
	if (status != EFA_ADMIN_OK)
		return status;
	memcpy(completion + EFA_ACQ_RESULT_AT, c.result, sizeof(c.result));
	efa_abi_store(&row->result, completion, &c.out);
	return EFA_ADMIN_OK;
}
