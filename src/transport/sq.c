/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/sq.h"

#include <string.h>

void transport_sq_finish(struct transport_sq *sq, uint32_t status, uint32_t vendor_err)
{
	struct transport_wqe *wqe = transport_sq_wqe(sq, sq->done);

	wqe->status = (uint8_t)status;
	wqe->vendor_err = transport_vendor_err(status, vendor_err);
	sq->done++;
	sq->next = sq->done;
}

int transport_sq_reap(struct transport_sq *sq, bool flushing, struct transport_completion *out)
{
	static const uint8_t opcodes[TRANSPORT_OP_COUNT] = {
		[TRANSPORT_OP_RDMA_WRITE] = TRANSPORT_WC_RDMA_WRITE,
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = TRANSPORT_WC_RDMA_WRITE,
		[TRANSPORT_OP_SEND] = TRANSPORT_WC_SEND,
		[TRANSPORT_OP_SEND_WITH_IMM] = TRANSPORT_WC_SEND,
		[TRANSPORT_OP_RDMA_READ] = TRANSPORT_WC_RDMA_READ,
		[TRANSPORT_OP_COMPARE_SWAP] = TRANSPORT_WC_COMPARE_SWAP,
		[TRANSPORT_OP_FETCH_ADD] = TRANSPORT_WC_FETCH_ADD,
		[TRANSPORT_OP_LOCAL_INV] = TRANSPORT_WC_LOCAL_INV,
		[TRANSPORT_OP_BIND_MW] = TRANSPORT_WC_BIND_MW,
		[TRANSPORT_OP_SEND_WITH_INV] = TRANSPORT_WC_SEND,
		[TRANSPORT_OP_FLUSH] = TRANSPORT_WC_FLUSH,
		[TRANSPORT_OP_ATOMIC_WRITE] = TRANSPORT_WC_ATOMIC_WRITE,
	};
	const struct transport_wqe *wqe;

	if (sq->reaped == sq->done) {
		if (!flushing || !transport_sq_has_work(sq))
			return 0;
		transport_sq_finish(sq, TRANSPORT_WR_FLUSH_ERR, 0);
	}
	wqe = transport_sq_wqe(sq, sq->reaped);
	memset(out, 0, sizeof(*out));
	out->wr_id = wqe->wr_id;
	out->status = wqe->status;
	out->opcode = wqe->op < TRANSPORT_OP_COUNT ? opcodes[wqe->op] : (uint8_t)TRANSPORT_WC_SEND;
	out->byte_len = wqe->length;
	out->vendor_err = wqe->vendor_err;
	out->index = sq->reaped;
	out->signaled = (wqe->flags & TRANSPORT_WQE_SIGNALED) || wqe->status != TRANSPORT_SUCCESS;
	sq->reaped++;
	return 1;
}

void transport_sq_forget(struct transport_sq *sq)
{
	sq->next = sq->done = sq->reaped = transport_sq_posted(sq);
}
