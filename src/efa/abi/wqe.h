/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors that the client writes: 64-byte entries of the send queue, which lies in the adapter's memory (LLQ), and 16-byte
 * entries of the receive queue, which lies in the host's.
 *
 * The phase of a send queue starts at 0 and flips at each wrap; receive descriptors have none. Both doorbells are free-running
 * 16-bit counts.
 */
#ifndef EFA_ABI_WQE_H
#define EFA_ABI_WQE_H

#include <stdbool.h>
#include <stdint.h>

enum efa_abi_wqe_op {
	EFA_WQE_SEND, EFA_WQE_RDMA_READ, EFA_WQE_RDMA_WRITE, EFA_WQE_FAST_REG, EFA_WQE_FAST_INVALIDATE, EFA_WQE_OPS
};

enum {
	EFA_WQE_BYTES = 64,
	EFA_WQE_META_BYTES = 32,
	EFA_WQE_INLINE_BYTES = 32,
	EFA_WQE_SGES = 2,
	EFA_WQE_RDMA_SGES = 1,
	/* ctrl1 */
	EFA_WQE_OP_MASK = 0xf,
	EFA_WQE_HAS_IMM = 1 << 4,
	EFA_WQE_INLINE = 1 << 5,
	EFA_WQE_META_EXTENSION = 1 << 6,
	EFA_WQE_META_DESC = 1 << 7,
	/* ctrl2 */
	EFA_WQE_PHASE = 1 << 0,
	EFA_WQE_FIRST = 1 << 2,
	EFA_WQE_LAST = 1 << 3,
	EFA_WQE_COMP_REQ = 1 << 4,
	EFA_LKEY_MASK = 0xffffff,
};

struct efa_abi_sge {
	uint32_t length, lkey;
	uint64_t addr;
};

struct efa_abi_remote {
	uint32_t length, rkey;
	uint64_t addr;
};

struct efa_abi_wqe {
	uint16_t req_id, dest_qpn, ah;
	uint16_t length; /* inline: bytes; else how many SGEs */
	uint32_t imm;    /* as it lies: the big-endian value of the client, never converted */
	uint32_t qkey;
	uint8_t ctrl1, ctrl2, hints;
	uint16_t req_id_ex[3];
	/* By operation: SEND has sge[2] or bytes, RDMA has remote and sge[0]. The others are zero. */
	struct efa_abi_sge sge[EFA_WQE_SGES];
	struct efa_abi_remote remote;
	uint8_t bytes[EFA_WQE_INLINE_BYTES];
};

static inline uint8_t efa_abi_wqe_op(const struct efa_abi_wqe *w)
{
	return w->ctrl1 & EFA_WQE_OP_MASK;
}

static inline bool efa_abi_wqe_is_rdma(const struct efa_abi_wqe *w)
{
	return efa_abi_wqe_op(w) == EFA_WQE_RDMA_READ || efa_abi_wqe_op(w) == EFA_WQE_RDMA_WRITE;
}

/* Total functions: any 64 bytes are some entry; whether it is a good one the adapter says. */
void efa_abi_wqe_load(struct efa_abi_wqe *out, const uint8_t *entry);
void efa_abi_wqe_store(uint8_t *entry, const struct efa_abi_wqe *w);

enum { EFA_RQD_BYTES = 16 };
#define EFA_RQD_FIRST (1u << 30)
#define EFA_RQD_LAST (1u << 31)

/* One SGE of a receive. The request id counts where `first` is set. */
struct efa_abi_rqd {
	uint64_t addr;
	uint32_t lkey_ctrl;
	uint16_t req_id, length;
};

struct efa_abi_rqd efa_abi_rqd_load(const uint8_t *entry);
void efa_abi_rqd_store(uint8_t *entry, const struct efa_abi_rqd *d);

#endif
