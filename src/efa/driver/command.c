/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/command.h"

#include <string.h>

#include "base/err.h"
#include "efa/abi/bytes.h"

static void fill(uint8_t *entry, uint8_t opcode, uint8_t flags, const void *in)
{
	struct efa_abi_aq_head head = { .opcode = opcode, .flags = flags };

	memset(entry, 0, EFA_ADMIN_ENTRY_BYTES);
	efa_abi_aq_head_store(entry, &head);
	efa_abi_store(&efa_abi_command_of(opcode)->request, entry, in);
}

static int run_flags(struct efa_com *com, uint8_t opcode, uint8_t flags, const void *in, void *out)
{
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES], answer[EFA_ADMIN_ENTRY_BYTES];
	int err;

	fill(entry, opcode, flags, in);
	err = efa_com_execute(com, entry, answer);
	if (err == 0 && out != NULL)
		efa_abi_load(&efa_abi_command_of(opcode)->result, out, answer);
	return err;
}

static int run(struct efa_com *com, uint8_t opcode, const void *in, void *out)
{
	return run_flags(com, opcode, 0, in, out);
}

int efa_com_create_qp(struct efa_com *com, const struct efa_abi_create_qp *in, struct efa_abi_create_qp_result *out)
{
	return run(com, EFA_OP_CREATE_QP, in, out);
}

int efa_com_modify_qp(struct efa_com *com, const struct efa_abi_modify_qp *in)
{
	return run(com, EFA_OP_MODIFY_QP, in, NULL);
}

int efa_com_query_qp(struct efa_com *com, uint32_t handle, struct efa_abi_query_qp_result *out)
{
	return run(com, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ handle }, out);
}

int efa_com_destroy_qp(struct efa_com *com, uint32_t handle)
{
	return run(com, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ handle }, NULL);
}

int efa_com_create_ah(struct efa_com *com, uint16_t pd, const uint8_t gid[16], uint16_t *ah)
{
	struct efa_abi_create_ah in = { .pd = pd };
	struct efa_abi_ah out;
	int err;

	memcpy(in.gid, gid, sizeof(in.gid));
	err = run(com, EFA_OP_CREATE_AH, &in, &out);
	if (err == 0)
		*ah = out.ah;
	return err;
}

int efa_com_destroy_ah(struct efa_com *com, uint16_t pd, uint16_t ah)
{
	return run(com, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ .ah = ah, .pd = pd }, NULL);
}

int efa_com_reg_mr(struct efa_com *com, const struct efa_abi_reg_mr *in, uint8_t flags, struct efa_abi_reg_mr_result *out)
{
	return run_flags(com, EFA_OP_REG_MR, flags, in, out);
}

int efa_com_dereg_mr(struct efa_com *com, uint32_t lkey)
{
	return run(com, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ lkey }, NULL);
}

int efa_com_create_cq(struct efa_com *com, const struct efa_abi_create_cq *in, struct efa_abi_create_cq_result *out)
{
	return run(com, EFA_OP_CREATE_CQ, in, out);
}

int efa_com_destroy_cq(struct efa_com *com, uint16_t cq_idx)
{
	return run(com, EFA_OP_DESTROY_CQ, &(struct efa_abi_cq_idx){ cq_idx }, NULL);
}

int efa_com_get_feature(struct efa_com *com, enum efa_abi_feature_id id, void *out)
{
	struct efa_abi_feature in = { .id = (uint8_t)id };
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES], answer[EFA_ADMIN_ENTRY_BYTES];
	const struct efa_abi_layout *layout = efa_abi_feature_layout(id);
	int err;

	if (layout == NULL || layout->bytes > EFA_DESCRIPTOR_BYTES)
		return BASE_ERR_INVAL;
	fill(entry, EFA_OP_GET_FEATURE, 0, &in);
	err = efa_com_execute(com, entry, answer);
	if (err == 0)
		efa_abi_load(layout, out, answer + EFA_ACQ_RESULT_AT);
	return err;
}

int efa_com_set_aenq(struct efa_com *com, uint32_t enabled)
{
	struct efa_abi_feature in = { .id = EFA_FEATURE_AENQ_CONFIG };
	struct efa_abi_aenq_config config = { .enabled = enabled };
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES];

	fill(entry, EFA_OP_SET_FEATURE, 0, &in);
	efa_abi_store(efa_abi_feature_layout(EFA_FEATURE_AENQ_CONFIG), entry + EFA_SET_FEATURE_DATA_AT, &config);
	return efa_com_execute(com, entry, NULL);
}

int efa_com_set_host_info(struct efa_com *com, const struct efa_abi_host_info *info)
{
	struct efa_abi_feature in = { .id = EFA_FEATURE_HOST_INFO };
	struct efa_driver_memory memory;
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES];
	struct efa_abi_buffer buffer = { .length = EFA_HOST_INFO_BYTES };
	int err = efa_driver_memory_init(&memory, &com->function, EFA_HOST_INFO_BYTES, EFA_BUS_TO_DEVICE);

	if (err != 0)
		return err;
	efa_abi_store(efa_abi_feature_layout(EFA_FEATURE_HOST_INFO), memory.bytes, info);
	buffer.addr = memory.bus;
	efa_abi_buffer_store(in.buffer, &buffer);
	fill(entry, EFA_OP_SET_FEATURE, EFA_AQ_FLAG_CTRL_DATA, &in);
	err = efa_com_execute(com, entry, NULL);
	efa_driver_memory_fini(&memory, &com->function);
	return err;
}

int efa_com_get_stats(struct efa_com *com, enum efa_abi_stats_type type, uint64_t *out)
{
	struct efa_abi_get_stats in = { .type = (uint8_t)type, .scope = EFA_STATS_SCOPE_ALL };
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES], answer[EFA_ADMIN_ENTRY_BYTES];
	int err;

	fill(entry, EFA_OP_GET_STATS, 0, &in);
	err = efa_com_execute(com, entry, answer);
	for (uint32_t i = 0; err == 0 && i < efa_abi_stats_count(type); i++)
		out[i] = efa_abi_le64_load(answer + EFA_ACQ_RESULT_AT + 8 * i);
	return err;
}

int efa_com_alloc_pd(struct efa_com *com, uint16_t *pd)
{
	struct efa_abi_pd out;
	int err = run(com, EFA_OP_ALLOC_PD, NULL, &out);

	if (err == 0)
		*pd = out.pd;
	return err;
}

int efa_com_dealloc_pd(struct efa_com *com, uint16_t pd)
{
	return run(com, EFA_OP_DEALLOC_PD, &(struct efa_abi_pd){ pd }, NULL);
}

int efa_com_alloc_uar(struct efa_com *com, uint16_t *uar)
{
	struct efa_abi_uar out;
	int err = run(com, EFA_OP_ALLOC_UAR, NULL, &out);

	if (err == 0)
		*uar = out.uar;
	return err;
}

int efa_com_dealloc_uar(struct efa_com *com, uint16_t uar)
{
	return run(com, EFA_OP_DEALLOC_UAR, &(struct efa_abi_uar){ uar }, NULL);
}

int efa_com_create_eq(struct efa_com *com, const struct efa_abi_create_eq *in, uint16_t *eqn)
{
	struct efa_abi_eqn out;
	int err = run(com, EFA_OP_CREATE_EQ, in, &out);

	if (err == 0)
		*eqn = out.eqn;
	return err;
}

int efa_com_destroy_eq(struct efa_com *com, uint16_t eqn)
{
	return run(com, EFA_OP_DESTROY_EQ, &(struct efa_abi_eqn){ eqn }, NULL);
}

int efa_com_alloc_mr(struct efa_com *com, uint16_t pd, uint32_t max_pages, struct efa_abi_reg_mr_result *out)
{
	return run(com, EFA_OP_ALLOC_MR, &(struct efa_abi_alloc_mr){ .pd = pd, .max_pages = max_pages }, out);
}
