/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/command.h"

#define FIELD EFA_ABI_FIELD
#define ARRAY EFA_ABI_ARRAY
#define T(name) struct efa_abi_##name
#define LAYOUT(table) { .fields = (table), .count = sizeof(table) / sizeof((table)[0]), .bytes = EFA_ADMIN_ENTRY_BYTES }
#define NOTHING { .fields = NULL, .count = 0, .bytes = EFA_ADMIN_ENTRY_BYTES }

static const struct efa_abi_field create_qp[] = {
	FIELD(T(create_qp), pd, 4), FIELD(T(create_qp), type, 6), FIELD(T(create_qp), flags, 7),
	FIELD(T(create_qp), sq_base, 8), FIELD(T(create_qp), rq_base, 16), FIELD(T(create_qp), send_cq, 24),
	FIELD(T(create_qp), recv_cq, 28), FIELD(T(create_qp), sq_lkey, 32), FIELD(T(create_qp), rq_lkey, 36),
	FIELD(T(create_qp), sq_ring_bytes, 40), FIELD(T(create_qp), sq_depth, 44), FIELD(T(create_qp), rq_ring_bytes, 48),
	FIELD(T(create_qp), rq_depth, 52), FIELD(T(create_qp), uar, 56), FIELD(T(create_qp), sl, 58),
};

static const struct efa_abi_field create_qp_result[] = {
	FIELD(T(create_qp_result), handle, 8), FIELD(T(create_qp_result), qp_num, 12),
	FIELD(T(create_qp_result), send_sub_cq, 16), FIELD(T(create_qp_result), recv_sub_cq, 18),
	FIELD(T(create_qp_result), sq_db_offset, 20), FIELD(T(create_qp_result), rq_db_offset, 24),
	FIELD(T(create_qp_result), llq_offset, 28),
};

static const struct efa_abi_field modify_qp[] = {
	FIELD(T(modify_qp), mask, 4), FIELD(T(modify_qp), handle, 8), FIELD(T(modify_qp), state, 12),
	FIELD(T(modify_qp), cur_state, 16), FIELD(T(modify_qp), qkey, 20), FIELD(T(modify_qp), sq_psn, 24),
	FIELD(T(modify_qp), sqd_notify, 28), FIELD(T(modify_qp), rnr_retry, 29),
};

static const struct efa_abi_field qp_handle[] = { FIELD(T(qp_handle), handle, 4) };

static const struct efa_abi_field query_qp_result[] = {
	FIELD(T(query_qp_result), state, 8), FIELD(T(query_qp_result), qkey, 12), FIELD(T(query_qp_result), sq_psn, 16),
	FIELD(T(query_qp_result), draining, 20), FIELD(T(query_qp_result), rnr_retry, 21),
};

static const struct efa_abi_field create_ah[] = { ARRAY(T(create_ah), gid, 4), FIELD(T(create_ah), pd, 20) };
static const struct efa_abi_field create_ah_result[] = { FIELD(T(ah), ah, 8) };
static const struct efa_abi_field destroy_ah[] = { FIELD(T(ah), ah, 4), FIELD(T(ah), pd, 6) };

static const struct efa_abi_field reg_mr[] = {
	FIELD(T(reg_mr), pd, 4), ARRAY(T(reg_mr), pages, 8), FIELD(T(reg_mr), length, 40), FIELD(T(reg_mr), flags, 48),
	FIELD(T(reg_mr), perms, 49), FIELD(T(reg_mr), page_num, 52), FIELD(T(reg_mr), iova, 56),
};

static const struct efa_abi_field reg_mr_result[] = {
	FIELD(T(reg_mr_result), lkey, 8), FIELD(T(reg_mr_result), rkey, 12), FIELD(T(reg_mr_result), validity, 16),
	FIELD(T(reg_mr_result), recv_ic, 17), FIELD(T(reg_mr_result), read_ic, 18), FIELD(T(reg_mr_result), write_recv_ic, 19),
};

static const struct efa_abi_field dereg_mr[] = { FIELD(T(lkey), lkey, 4) };

static const struct efa_abi_field create_cq[] = {
	FIELD(T(create_cq), caps1, 4), FIELD(T(create_cq), caps2, 5), FIELD(T(create_cq), sub_cq_depth, 6),
	FIELD(T(create_cq), eqn, 8), FIELD(T(create_cq), base, 12), FIELD(T(create_cq), lkey, 20),
	FIELD(T(create_cq), num_sub_cqs, 24), FIELD(T(create_cq), uar, 26),
};

static const struct efa_abi_field create_cq_result[] = {
	FIELD(T(create_cq_result), cq_idx, 8), FIELD(T(create_cq_result), actual_depth, 10),
	FIELD(T(create_cq_result), db_offset, 12), FIELD(T(create_cq_result), flags, 16),
};

static const struct efa_abi_field destroy_cq[] = { FIELD(T(cq_idx), cq_idx, 4) };

static const struct efa_abi_field feature[] = {
	ARRAY(T(feature), buffer, 4), FIELD(T(feature), select, 16), FIELD(T(feature), id, 17),
};

static const struct efa_abi_field get_stats[] = {
	ARRAY(T(get_stats), buffer, 4), FIELD(T(get_stats), type, 16), FIELD(T(get_stats), scope, 17),
	FIELD(T(get_stats), modifier, 18),
};

static const struct efa_abi_field pd_result[] = { FIELD(T(pd), pd, 8) };
static const struct efa_abi_field dealloc_pd[] = { FIELD(T(pd), pd, 4) };
static const struct efa_abi_field uar_result[] = { FIELD(T(uar), uar, 8) };
static const struct efa_abi_field dealloc_uar[] = { FIELD(T(uar), uar, 4) };

static const struct efa_abi_field create_eq[] = {
	FIELD(T(create_eq), depth, 4), FIELD(T(create_eq), vector, 6), FIELD(T(create_eq), caps, 7),
	FIELD(T(create_eq), base, 8), FIELD(T(create_eq), event_mask, 16),
};

static const struct efa_abi_field eqn_result[] = { FIELD(T(eqn), eqn, 8) };
static const struct efa_abi_field destroy_eq[] = { FIELD(T(eqn), eqn, 4) };
static const struct efa_abi_field alloc_mr[] = { FIELD(T(alloc_mr), pd, 4), FIELD(T(alloc_mr), max_pages, 8) };
static const struct efa_abi_field alloc_mr_result[] = { FIELD(T(reg_mr_result), lkey, 8), FIELD(T(reg_mr_result), rkey, 12) };

static const struct efa_abi_command commands[EFA_OP_COUNT] = {
	[EFA_OP_CREATE_QP] = { "CREATE_QP", LAYOUT(create_qp), LAYOUT(create_qp_result) },
	[EFA_OP_MODIFY_QP] = { "MODIFY_QP", LAYOUT(modify_qp), NOTHING },
	[EFA_OP_QUERY_QP] = { "QUERY_QP", LAYOUT(qp_handle), LAYOUT(query_qp_result) },
	[EFA_OP_DESTROY_QP] = { "DESTROY_QP", LAYOUT(qp_handle), NOTHING },
	[EFA_OP_CREATE_AH] = { "CREATE_AH", LAYOUT(create_ah), LAYOUT(create_ah_result) },
	[EFA_OP_DESTROY_AH] = { "DESTROY_AH", LAYOUT(destroy_ah), NOTHING },
	[EFA_OP_REG_MR] = { "REG_MR", LAYOUT(reg_mr), LAYOUT(reg_mr_result) },
	[EFA_OP_DEREG_MR] = { "DEREG_MR", LAYOUT(dereg_mr), NOTHING },
	[EFA_OP_CREATE_CQ] = { "CREATE_CQ", LAYOUT(create_cq), LAYOUT(create_cq_result) },
	[EFA_OP_DESTROY_CQ] = { "DESTROY_CQ", LAYOUT(destroy_cq), NOTHING },
	[EFA_OP_GET_FEATURE] = { "GET_FEATURE", LAYOUT(feature), NOTHING },
	[EFA_OP_SET_FEATURE] = { "SET_FEATURE", LAYOUT(feature), NOTHING },
	[EFA_OP_GET_STATS] = { "GET_STATS", LAYOUT(get_stats), NOTHING },
	[EFA_OP_ALLOC_PD] = { "ALLOC_PD", NOTHING, LAYOUT(pd_result) },
	[EFA_OP_DEALLOC_PD] = { "DEALLOC_PD", LAYOUT(dealloc_pd), NOTHING },
	[EFA_OP_ALLOC_UAR] = { "ALLOC_UAR", NOTHING, LAYOUT(uar_result) },
	[EFA_OP_DEALLOC_UAR] = { "DEALLOC_UAR", LAYOUT(dealloc_uar), NOTHING },
	[EFA_OP_CREATE_EQ] = { "CREATE_EQ", LAYOUT(create_eq), LAYOUT(eqn_result) },
	[EFA_OP_DESTROY_EQ] = { "DESTROY_EQ", LAYOUT(destroy_eq), NOTHING },
	[EFA_OP_ALLOC_MR] = { "ALLOC_MR", LAYOUT(alloc_mr), LAYOUT(alloc_mr_result) },
};

const struct efa_abi_command *efa_abi_command_of(uint32_t opcode)
{
	return opcode < EFA_OP_COUNT && commands[opcode].name != NULL ? &commands[opcode] : NULL;
}
