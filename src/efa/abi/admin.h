/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The admin queue pair: heads of its 64-byte entries, opcodes, statuses. What follows the heads is in efa/abi/command.h.
 *
 * Phase bits start at 1 and flip at each wrap of their ring. In the submission ring the doorbell starts work and the phase is a
 * check; in the completion ring the producer stores the byte with the phase last.
 */
#ifndef EFA_ABI_ADMIN_H
#define EFA_ABI_ADMIN_H

#include <stdint.h>

enum {
	EFA_ADMIN_ENTRY_BYTES = 64,
	EFA_AQ_DEPTH = 32,
	EFA_AENQ_DEPTH = 16,
	EFA_AQ_ID_MASK = 0xfff,
	EFA_AQ_FLAG_PHASE = 1 << 0,
	EFA_AQ_FLAG_CTRL_DATA = 1 << 1,
	EFA_AQ_FLAG_CTRL_INDIRECT = 1 << 2,
	EFA_AQ_FLAGS_AT = 3,  /* the byte that holds the phase, in both rings */
	EFA_ACQ_RESULT_AT = 8,
	EFA_ACQ_RESULT_BYTES = 56,
};

enum efa_abi_opcode {
	EFA_OP_CREATE_QP = 1,
	EFA_OP_MODIFY_QP,
	EFA_OP_QUERY_QP,
	EFA_OP_DESTROY_QP,
	EFA_OP_CREATE_AH,
	EFA_OP_DESTROY_AH,
	EFA_OP_REG_MR,
	EFA_OP_DEREG_MR,
	EFA_OP_CREATE_CQ,
	EFA_OP_DESTROY_CQ,
	EFA_OP_GET_FEATURE,
	EFA_OP_SET_FEATURE,
	EFA_OP_GET_STATS,
	EFA_OP_ALLOC_PD,
	EFA_OP_DEALLOC_PD,
	EFA_OP_ALLOC_UAR,
	EFA_OP_DEALLOC_UAR,
	EFA_OP_CREATE_EQ,
	EFA_OP_DESTROY_EQ,
	EFA_OP_ALLOC_MR,
	EFA_OP_COUNT
};

enum efa_abi_admin_status {
	EFA_ADMIN_OK,
	EFA_ADMIN_NO_RESOURCE,  /* a table is full */
	EFA_ADMIN_BAD_OPCODE,
	EFA_ADMIN_UNSUPPORTED,  /* known, and switched off here */
	EFA_ADMIN_MALFORMED,    /* reserved bits, lengths, phase, command id */
	EFA_ADMIN_ILLEGAL,      /* handle, owner, size, flag; the extended status says which */
	EFA_ADMIN_UNKNOWN,
	EFA_ADMIN_BUSY,         /* others still refer to the object */
	EFA_ADMIN_STATUSES
};

struct efa_abi_aq_head {
	uint16_t command_id;
	uint8_t opcode, flags;
};

struct efa_abi_acq_head {
	uint16_t command_id;
	uint8_t status, flags;
	uint16_t extended_status;
	uint16_t sq_head; /* how far the submission ring has been taken */
};

/* A buffer beside the command: bytes 4 to 15 of commands that may have one, and the end of each chunk of a page list. */
struct efa_abi_buffer {
	uint32_t length;
	uint64_t addr;
};
enum { EFA_ABI_BUFFER_BYTES = 12 };

struct efa_abi_aq_head efa_abi_aq_head_load(const uint8_t *entry);
void efa_abi_aq_head_store(uint8_t *entry, const struct efa_abi_aq_head *head);
struct efa_abi_acq_head efa_abi_acq_head_load(const uint8_t *entry);
void efa_abi_acq_head_store(uint8_t *entry, const struct efa_abi_acq_head *head);
struct efa_abi_buffer efa_abi_buffer_load(const uint8_t *p);
void efa_abi_buffer_store(uint8_t *p, const struct efa_abi_buffer *buffer);

/* For people; "?" for anything else. */
const char *efa_abi_opcode_text(uint32_t opcode);
const char *efa_abi_admin_status_text(uint32_t status);

#endif
