/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/admin.h"

#include <assert.h>

#include "efa/abi/bytes.h"

static const char *const opcodes[] = {
	"?", "CREATE_QP", "MODIFY_QP", "QUERY_QP", "DESTROY_QP", "CREATE_AH", "DESTROY_AH", "REG_MR", "DEREG_MR", "CREATE_CQ",
	"DESTROY_CQ", "GET_FEATURE", "SET_FEATURE", "GET_STATS", "ALLOC_PD", "DEALLOC_PD", "ALLOC_UAR", "DEALLOC_UAR",
	"CREATE_EQ", "DESTROY_EQ", "ALLOC_MR",
};
static_assert(sizeof(opcodes) / sizeof(opcodes[0]) == EFA_OP_COUNT, "each opcode has a name");

static const char *const statuses[] = {
	"success", "out of resources", "bad opcode", "unsupported opcode", "malformed", "illegal parameter", "unknown error", "busy",
};
static_assert(sizeof(statuses) / sizeof(statuses[0]) == EFA_ADMIN_STATUSES, "each status has a text");

struct efa_abi_aq_head efa_abi_aq_head_load(const uint8_t *entry)
{
	return (struct efa_abi_aq_head){ .command_id = efa_abi_le16_load(entry), .opcode = entry[2], .flags = entry[3] };
}

void efa_abi_aq_head_store(uint8_t *entry, const struct efa_abi_aq_head *head)
{
	efa_abi_le16_store(entry, head->command_id);
	entry[2] = head->opcode;
	entry[3] = head->flags;
}

struct efa_abi_acq_head efa_abi_acq_head_load(const uint8_t *entry)
{
	return (struct efa_abi_acq_head){ .command_id = efa_abi_le16_load(entry), .status = entry[2], .flags = entry[3],
					  .extended_status = efa_abi_le16_load(entry + 4),
					  .sq_head = efa_abi_le16_load(entry + 6) };
}

void efa_abi_acq_head_store(uint8_t *entry, const struct efa_abi_acq_head *head)
{
	efa_abi_le16_store(entry, head->command_id);
	entry[2] = head->status;
	entry[3] = head->flags;
	efa_abi_le16_store(entry + 4, head->extended_status);
	efa_abi_le16_store(entry + 6, head->sq_head);
}

struct efa_abi_buffer efa_abi_buffer_load(const uint8_t *p)
{
	return (struct efa_abi_buffer){ .length = efa_abi_le32_load(p), .addr = efa_abi_le64_load(p + 4) };
}

void efa_abi_buffer_store(uint8_t *p, const struct efa_abi_buffer *buffer)
{
	efa_abi_le32_store(p, buffer->length);
	efa_abi_le64_store(p + 4, buffer->addr);
}

const char *efa_abi_opcode_text(uint32_t opcode)
{
	return opcode < EFA_OP_COUNT ? opcodes[opcode] : "?";
}

const char *efa_abi_admin_status_text(uint32_t status)
{
	return status < EFA_ADMIN_STATUSES ? statuses[status] : "?";
}
