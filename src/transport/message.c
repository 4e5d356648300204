/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/message.h"

#include <string.h>

#include "base/err.h"
#include "wire/opcode.h"

static uint8_t opcode_of(uint8_t transport, uint8_t wr_op, uint32_t index, uint32_t total)
{
	enum { FIRST, MIDDLE, LAST, ONLY, PLACES };
	static const uint8_t operations[TRANSPORT_OP_COUNT][PLACES] = {
		[TRANSPORT_OP_RDMA_WRITE] = { WIRE_RDMA_WRITE_FIRST, WIRE_RDMA_WRITE_MIDDLE, WIRE_RDMA_WRITE_LAST,
					      WIRE_RDMA_WRITE_ONLY },
		[TRANSPORT_OP_RDMA_WRITE_WITH_IMM] = { WIRE_RDMA_WRITE_FIRST, WIRE_RDMA_WRITE_MIDDLE,
						       WIRE_RDMA_WRITE_LAST_WITH_IMM, WIRE_RDMA_WRITE_ONLY_WITH_IMM },
		[TRANSPORT_OP_SEND] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST, WIRE_SEND_ONLY },
		[TRANSPORT_OP_SEND_WITH_IMM] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST_WITH_IMM,
						 WIRE_SEND_ONLY_WITH_IMM },
		[TRANSPORT_OP_SEND_WITH_INV] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST_WITH_INVALIDATE,
						 WIRE_SEND_ONLY_WITH_INVALIDATE },
		[TRANSPORT_OP_ATOMIC_WRITE] = { [ONLY] = WIRE_ATOMIC_WRITE },
	};
	uint32_t place = total == 1 ? ONLY : index == 0 ? FIRST : index == total - 1 ? LAST : MIDDLE;

	return (uint8_t)WIRE_OPCODE(transport, operations[wr_op][place]);
}

uint32_t message_obstacle(const struct message_path *path, const struct transport_wqe *wqe, int *err)
{
	const struct transport_memory *memory = path->memory;
	const struct wire_opcode *op;

	*err = 0;
	switch (wqe->op) {
	case TRANSPORT_OP_SEND:
	case TRANSPORT_OP_SEND_WITH_IMM:
	case TRANSPORT_OP_SEND_WITH_INV:
	case TRANSPORT_OP_RDMA_WRITE:
	case TRANSPORT_OP_RDMA_WRITE_WITH_IMM:
		break;
	default:
		return TRANSPORT_LOC_QP_OP_ERR;
	}
	/* What the wire has no opcode for, the transport cannot do: UC no invalidate, UD no WRITE. */
	op = wire_opcode_find(opcode_of(path->transport, wqe->op, 0, 1));
	if (op == NULL)
		return TRANSPORT_LOC_QP_OP_ERR;
	if (wqe->length > WIRE_RETH_LENGTH_MAX)
		return TRANSPORT_LOC_LEN_ERR;
	/* A single packet is checked by its gather; a longer message must be good as a whole before its first packet leaves. */
	if (!(wqe->flags & TRANSPORT_WQE_INLINE) && wqe->length > path->mtu)
		*err = memory->ops->local_check(memory->host, wqe->sge, wqe->num_sge, TRANSPORT_LOCAL_READ);
	return *err ? TRANSPORT_LOC_PROT_ERR : TRANSPORT_SUCCESS;
}

uint32_t message_fit(const struct message_path *path, const struct transport_wqe *wqe, uint32_t index, uint32_t total,
		     uint32_t limit, const struct transport_room *room)
{
	size_t first = message_is_write(wqe) ? WIRE_RETH_BYTES : path->transport == WIRE_TRANSPORT_UD ? WIRE_DETH_BYTES : 0;
	size_t last = message_has_imm(wqe) ? WIRE_IMMDT_BYTES : wqe->op == TRANSPORT_OP_SEND_WITH_INV ? WIRE_IETH_BYTES : 0;

	return transport_run_fit(index, total, wqe->length - (uint64_t)index * path->mtu, path->mtu, limit,
				 message_each_header(path), first, last, room);
}

uint32_t message_execute(const struct transport_memory *memory, const struct transport_wqe *wqe, int *err)
{
	const struct transport_memory_ops *ops = memory->ops;

	*err = BASE_ERR_UNSUPPORTED;
	if (wqe->op == TRANSPORT_OP_BIND_MW) {
		const struct transport_bind bind = transport_wqe_bind(wqe);

		if (ops->bind)
			*err = ops->bind(memory->host, &bind);
		return *err ? TRANSPORT_MW_BIND_ERR : TRANSPORT_SUCCESS;
	}
	if (ops->local_invalidate)
		*err = ops->local_invalidate(memory->host, wqe->imm_or_inv);
	return *err ? TRANSPORT_LOC_QP_OP_ERR : TRANSPORT_SUCCESS;
}

void message_head(const struct message_path *path, uint32_t psn, struct transport_run *out)
{
	memset(&out->head.bth, 0, sizeof(out->head.bth));
	out->head.bth.migreq = true;
	out->head.bth.pkey = path->pkey;
	out->head.bth.dest_qpn = path->dest_qpn;
	out->head.bth.psn = psn;
	out->head.xrc_srqn = path->xrc_srqn;
	out->mtu = path->mtu;
}

struct gathering {
	const struct transport_memory *memory;
	struct transport_wqe *wqe;
};

static int fetch(void *of, uint64_t offset, uint8_t *dst, uint32_t len)
{
	const struct gathering *g = of;

	if (g->wqe->flags & TRANSPORT_WQE_INLINE) {
		memcpy(dst, (const uint8_t *)transport_wqe_inline(g->wqe) + offset, len);
		return 0;
	}
	return g->memory->ops->gather(g->memory->host, g->wqe->sge, g->wqe->num_sge, offset, dst, len);
}

int message_write(const struct message_path *path, struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t n,
		  uint32_t psn, bool ack_req, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct gathering from = { path->memory, wqe };
	bool last = index + n == total;
	uint64_t offset = (uint64_t)index * path->mtu;
	struct wire_packet *head = &out->head;

	message_head(path, psn, out);
	head->bth.opcode = opcode_of(path->transport, wqe->op, index, total);
	head->bth.ack_req = ack_req;
	head->bth.solicited = last && (wqe->flags & TRANSPORT_WQE_SOLICITED) && wqe->op != TRANSPORT_OP_RDMA_WRITE;
	head->deth = path->deth;
	head->reth.va = wqe->remote_addr;
	head->reth.rkey = wqe->rkey;
	head->reth.length = wqe->length;
	head->imm = head->inv_rkey = wqe->imm_or_inv;
	head->payload_len = last ? (uint32_t)(wqe->length - offset) : n * path->mtu;
	out->packets = (uint16_t)n;
	out->last_opcode = opcode_of(path->transport, wqe->op, index + n - 1, total);
	return transport_run_write(out, &(struct transport_source){ fetch, &from }, offset, room, used);
}
