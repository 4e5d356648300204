/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/wqe.h"

#include <string.h>

#include "efa/abi/bytes.h"

enum { REMOTE_AT = EFA_WQE_META_BYTES, LOCAL_AT = REMOTE_AT + 16, SGE_BYTES = 16 };

static void sge_load(struct efa_abi_sge *out, const uint8_t *p)
{
	out->length = efa_abi_le32_load(p);
	out->lkey = efa_abi_le32_load(p + 4) & EFA_LKEY_MASK;
	out->addr = efa_abi_le64_load(p + 8);
}

static void sge_store(uint8_t *p, const struct efa_abi_sge *sge)
{
	efa_abi_le32_store(p, sge->length);
	efa_abi_le32_store(p + 4, sge->lkey & EFA_LKEY_MASK);
	efa_abi_le64_store(p + 8, sge->addr);
}

void efa_abi_wqe_load(struct efa_abi_wqe *out, const uint8_t *entry)
{
	memset(out, 0, sizeof(*out));
	out->req_id = efa_abi_le16_load(entry);
	out->ctrl1 = entry[2];
	out->ctrl2 = entry[3];
	out->dest_qpn = efa_abi_le16_load(entry + 4);
	out->length = efa_abi_le16_load(entry + 6);
	out->imm = efa_abi_le32_load(entry + 8);
	out->ah = efa_abi_le16_load(entry + 12);
	out->hints = entry[14] & 3;
	out->qkey = efa_abi_le32_load(entry + 16);
	for (uint32_t i = 0; i < 3; i++)
		out->req_id_ex[i] = efa_abi_le16_load(entry + 26 + 2 * i);
	if (efa_abi_wqe_is_rdma(out)) {
		out->remote = (struct efa_abi_remote){ .length = efa_abi_le32_load(entry + REMOTE_AT),
						       .rkey = efa_abi_le32_load(entry + REMOTE_AT + 4),
						       .addr = efa_abi_le64_load(entry + REMOTE_AT + 8) };
		sge_load(&out->sge[0], entry + LOCAL_AT);
	} else if (out->ctrl1 & EFA_WQE_INLINE) {
		memcpy(out->bytes, entry + EFA_WQE_META_BYTES, EFA_WQE_INLINE_BYTES);
	} else {
		for (uint32_t i = 0; i < EFA_WQE_SGES; i++)
			sge_load(&out->sge[i], entry + EFA_WQE_META_BYTES + SGE_BYTES * i);
	}
}

void efa_abi_wqe_store(uint8_t *entry, const struct efa_abi_wqe *w)
{
	memset(entry, 0, EFA_WQE_BYTES);
	efa_abi_le16_store(entry, w->req_id);
	entry[2] = w->ctrl1;
	entry[3] = w->ctrl2;
	efa_abi_le16_store(entry + 4, w->dest_qpn);
	efa_abi_le16_store(entry + 6, w->length);
	efa_abi_le32_store(entry + 8, w->imm);
	efa_abi_le16_store(entry + 12, w->ah);
	entry[14] = w->hints & 3;
	efa_abi_le32_store(entry + 16, w->qkey);
	for (uint32_t i = 0; i < 3; i++)
		efa_abi_le16_store(entry + 26 + 2 * i, w->req_id_ex[i]);
	if (efa_abi_wqe_is_rdma(w)) {
		efa_abi_le32_store(entry + REMOTE_AT, w->remote.length);
		efa_abi_le32_store(entry + REMOTE_AT + 4, w->remote.rkey);
		efa_abi_le64_store(entry + REMOTE_AT + 8, w->remote.addr);
		sge_store(entry + LOCAL_AT, &w->sge[0]);
	} else if (w->ctrl1 & EFA_WQE_INLINE) {
		memcpy(entry + EFA_WQE_META_BYTES, w->bytes, EFA_WQE_INLINE_BYTES);
	} else {
		for (uint32_t i = 0; i < EFA_WQE_SGES; i++)
			sge_store(entry + EFA_WQE_META_BYTES + SGE_BYTES * i, &w->sge[i]);
	}
}

struct efa_abi_rqd efa_abi_rqd_load(const uint8_t *entry)
{
	return (struct efa_abi_rqd){ .addr = efa_abi_le64_load(entry), .req_id = efa_abi_le16_load(entry + 8),
				     .length = efa_abi_le16_load(entry + 10), .lkey_ctrl = efa_abi_le32_load(entry + 12) };
}

void efa_abi_rqd_store(uint8_t *entry, const struct efa_abi_rqd *d)
{
	efa_abi_le64_store(entry, d->addr);
	efa_abi_le16_store(entry + 8, d->req_id);
	efa_abi_le16_store(entry + 10, d->length);
	efa_abi_le32_store(entry + 12, d->lkey_ctrl);
}
