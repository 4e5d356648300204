/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/cqe.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "efa/abi/bytes.h"
#include "efa/abi/wqe.h"

enum { TAIL_AT = 16 };

void efa_abi_cqe_load(struct efa_abi_cqe *out, const uint8_t *entry, uint32_t bytes)
{
	uint8_t flags = entry[EFA_CQE_FLAGS_AT];

	memset(out, 0, sizeof(*out));
	out->req_id = efa_abi_le16_load(entry);
	out->status = entry[2];
	out->phase = flags & EFA_CQE_PHASE;
	out->queue = flags >> EFA_CQE_QUEUE_SHIFT & 3;
	out->has_imm = (flags & EFA_CQE_HAS_IMM) != 0;
	out->op = flags >> EFA_CQE_OP_SHIFT & EFA_CQE_OP_MASK;
	out->unsolicited = (flags & EFA_CQE_UNSOLICITED) != 0;
	out->qp_num = efa_abi_le16_load(entry + 4);
	if (out->queue != EFA_CQE_QUEUE_RECV) {
		for (uint32_t i = 0; i < 3; i++)
			out->req_id_ex[i] = efa_abi_le16_load(entry + 6 + 2 * i);
		return;
	}
	out->length = efa_abi_le16_load(entry + 6);
	out->ah = efa_abi_le16_load(entry + 8);
	out->src_qpn = efa_abi_le16_load(entry + 10);
	out->imm = efa_abi_le32_load(entry + 12);
	if (bytes < EFA_CQE_WIDE_BYTES)
		return;
	if (out->ah == EFA_AH_UNKNOWN) {
		out->has_gid = true;
		memcpy(out->gid, entry + TAIL_AT, sizeof(out->gid));
	} else if (out->op == EFA_WQE_RDMA_WRITE) {
		out->length |= (uint32_t)efa_abi_le16_load(entry + TAIL_AT) << 16;
	}
}

void efa_abi_cqe_store(uint8_t *entry, const struct efa_abi_cqe *cqe, uint32_t bytes)
{
	memset(entry, 0, bytes);
	efa_abi_le16_store(entry, cqe->req_id);
	entry[2] = cqe->status;
	entry[EFA_CQE_FLAGS_AT] = (uint8_t)((cqe->phase ? EFA_CQE_PHASE : 0) | (cqe->queue & 3) << EFA_CQE_QUEUE_SHIFT |
					    (cqe->has_imm ? EFA_CQE_HAS_IMM : 0) | (cqe->op & EFA_CQE_OP_MASK) << EFA_CQE_OP_SHIFT |
					    (cqe->unsolicited ? EFA_CQE_UNSOLICITED : 0));
	efa_abi_le16_store(entry + 4, cqe->qp_num);
	if (cqe->queue != EFA_CQE_QUEUE_RECV) {
		for (uint32_t i = 0; i < 3; i++)
			efa_abi_le16_store(entry + 6 + 2 * i, cqe->req_id_ex[i]);
		return;
	}
	efa_abi_le16_store(entry + 6, (uint16_t)cqe->length);
	efa_abi_le16_store(entry + 8, cqe->ah);
	efa_abi_le16_store(entry + 10, cqe->src_qpn);
	efa_abi_le32_store(entry + 12, cqe->imm);
	if (bytes < EFA_CQE_WIDE_BYTES)
		return;
	if (cqe->ah == EFA_AH_UNKNOWN && cqe->has_gid)
		memcpy(entry + TAIL_AT, cqe->gid, sizeof(cqe->gid));
	else if (cqe->op == EFA_WQE_RDMA_WRITE)
		efa_abi_le16_store(entry + TAIL_AT, (uint16_t)(cqe->length >> 16));
}

static const char *const texts[] = {
	"ok", "flushed", "QP internal error", "unsupported operation", "invalid AH", "invalid lkey", "bad length",
	"bad remote address", "remote abort", "bad destination QPN", "receiver not ready", "receiver's buffers too short",
	"unexpected status", "unresponsive", "no AH at the remote", "unreachable", NULL, NULL, "feature mismatch",
};
static_assert(sizeof(texts) / sizeof(texts[0]) == EFA_STATUS_COUNT, "each status has a text");

const char *efa_abi_status_text(uint32_t status)
{
	return status < EFA_STATUS_COUNT && texts[status] != NULL ? texts[status] : "?";
}
