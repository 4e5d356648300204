/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What each admin command asks and answers, as plain structures in host order, and their layouts: one row per opcode. Offsets
 * count from the start of the 64-byte entry, heads included.
 */
#ifndef EFA_ABI_COMMAND_H
#define EFA_ABI_COMMAND_H

#include <stdint.h>

#include "efa/abi/admin.h"
#include "efa/abi/field.h"

enum efa_abi_qp_type { EFA_QP_UD = 1, EFA_QP_SRD = 2 };
/* Values of enum ibv_qp_state. */
enum efa_abi_qp_state {
	EFA_QPS_RESET, EFA_QPS_INIT, EFA_QPS_RTR, EFA_QPS_RTS, EFA_QPS_SQD, EFA_QPS_SQE, EFA_QPS_ERR, EFA_QPS_COUNT
};
enum { EFA_QP_FLAG_SQ_VIRT = 1, EFA_QP_FLAG_RQ_VIRT = 2, EFA_QP_FLAG_UNSOLICITED = 4 };

struct efa_abi_create_qp {
	uint64_t sq_base, rq_base;
	uint32_t send_cq, recv_cq, sq_lkey, rq_lkey, sq_ring_bytes, sq_depth, rq_ring_bytes, rq_depth;
	uint16_t pd, uar;
	uint8_t type, flags, sl;
};

struct efa_abi_create_qp_result {
	uint32_t handle, sq_db_offset, rq_db_offset, llq_offset;
	uint16_t qp_num, send_sub_cq, recv_sub_cq;
};

enum efa_abi_modify_mask {
	EFA_MODIFY_STATE = 1, EFA_MODIFY_CUR_STATE = 2, EFA_MODIFY_QKEY = 4, EFA_MODIFY_SQ_PSN = 8, EFA_MODIFY_SQD_NOTIFY = 16,
	EFA_MODIFY_RNR_RETRY = 32, EFA_MODIFY_ALL = 63
};

struct efa_abi_modify_qp {
	uint32_t mask, handle, state, cur_state, qkey, sq_psn;
	uint8_t sqd_notify, rnr_retry;
};

struct efa_abi_qp_handle { /* QUERY_QP, DESTROY_QP */
	uint32_t handle;
};

struct efa_abi_query_qp_result {
	uint32_t state, qkey, sq_psn;
	uint8_t draining, rnr_retry;
};

struct efa_abi_create_ah {
	uint8_t gid[16];
	uint16_t pd;
};

struct efa_abi_ah { /* the result of CREATE_AH: ah alone; DESTROY_AH: both */
	uint16_t ah, pd;
};

/* The first 32 bytes of what names the pages: addresses themselves, or the buffer (12 bytes) that holds a list of them. */
enum {
	EFA_MR_INLINE_PAGES = 4,
	EFA_MR_SHIFT_MASK = 0x1f,
	EFA_MR_PHYSICAL = 0x80,
	EFA_MR_LOCAL_WRITE = 1,
	EFA_MR_REMOTE_WRITE = 2,
	EFA_MR_REMOTE_READ = 4,
	EFA_MR_PERMS = 7
};

struct efa_abi_reg_mr {
	uint8_t pages[32]; /* as they lie; efa_abi_mr_page() and efa_abi_buffer_load() read them */
	uint64_t length, iova;
	uint32_t page_num;
	uint16_t pd;
	uint8_t flags, perms;
};

struct efa_abi_reg_mr_result {
	uint32_t lkey, rkey;
	uint8_t validity, recv_ic, read_ic, write_recv_ic; /* interconnect ids, of which validity says which are meant */
};

struct efa_abi_lkey {
	uint32_t lkey;
};

/* A page list too long for one buffer comes in chunks: one page of pointers to pages of addresses, chained. */
enum {
	EFA_CHUNK_BYTES = 4096,
	EFA_CHUNK_POINTERS = 510,              /* what fits before the next chunk's buffer descriptor */
	EFA_CHUNK_NEXT_AT = EFA_CHUNK_POINTERS * 8,
	EFA_CHUNK_FULL_LENGTH = EFA_CHUNK_NEXT_AT + EFA_ABI_BUFFER_BYTES,
	EFA_LIST_PAGE_BYTES = 4096,
	EFA_LIST_PAGE_ENTRIES = EFA_LIST_PAGE_BYTES / 8
};

enum { EFA_CQ_CAPS_INTERRUPT = 1 << 5, EFA_CQ_CAPS_VIRT = 1 << 6, EFA_CQ_CAPS_SRC_ADDR = 1 << 5, EFA_CQ_CAPS_WORDS = 0x1f,
       EFA_CQ_DB_VALID = 1 };

struct efa_abi_create_cq {
	uint64_t base;
	uint32_t lkey;
	uint16_t sub_cq_depth, eqn, num_sub_cqs, uar;
	uint8_t caps1, caps2;
};

struct efa_abi_create_cq_result {
	uint32_t db_offset, flags;
	uint16_t cq_idx, actual_depth;
};

struct efa_abi_cq_idx {
	uint16_t cq_idx;
};

struct efa_abi_feature { /* GET_FEATURE, SET_FEATURE; the inline data of SET is the descriptor at EFA_SET_FEATURE_DATA_AT */
	uint8_t buffer[EFA_ABI_BUFFER_BYTES];
	uint8_t select, id;
};
enum { EFA_SET_FEATURE_DATA_AT = 20, EFA_SET_FEATURE_DATA_BYTES = 44 };

struct efa_abi_get_stats {
	uint8_t buffer[EFA_ABI_BUFFER_BYTES];
	uint8_t type, scope;
	uint16_t modifier;
};

struct efa_abi_pd {
	uint16_t pd;
};

struct efa_abi_uar {
	uint16_t uar;
};

enum { EFA_EQ_CAPS_WORDS = 0x1f, EFA_EQ_ENTRY_WORDS = 4, EFA_EQ_EVENT_COMPLETION = 1 };

struct efa_abi_create_eq {
	uint64_t base;
	uint32_t event_mask;
	uint16_t depth;
	uint8_t vector, caps;
};

struct efa_abi_eqn {
	uint16_t eqn;
};

struct efa_abi_alloc_mr {
	uint32_t max_pages;
	uint16_t pd;
};

struct efa_abi_command {
	const char *name;
	struct efa_abi_layout request, result;
};

/* The row of an opcode; NULL where there is none. SET_FEATURE's request does not list its inline data. */
const struct efa_abi_command *efa_abi_command_of(uint32_t opcode);

static inline uint64_t efa_abi_mr_page(const struct efa_abi_reg_mr *mr, uint32_t i)
{
	uint64_t page = 0;

	for (int k = 7; k >= 0; k--)
		page = page << 8 | mr->pages[i * 8 + k];
	return page;
}

#endif
