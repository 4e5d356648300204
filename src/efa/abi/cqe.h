/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions: 16 bytes, or 32 with the source's GID. The phase starts at 1 and flips at each wrap; the byte that holds it is
 * written last.
 */
#ifndef EFA_ABI_CQE_H
#define EFA_ABI_CQE_H

#include <stdbool.h>
#include <stdint.h>

enum efa_abi_status {
	EFA_STATUS_OK,
	EFA_STATUS_FLUSHED,
	EFA_STATUS_QP_INTERNAL,     /* 2: the only one that moves a queue pair to ERR */
	EFA_STATUS_UNSUPPORTED_OP,
	EFA_STATUS_INVALID_AH,
	EFA_STATUS_INVALID_LKEY,    /* 5: or an address outside of it */
	EFA_STATUS_BAD_LENGTH,
	EFA_STATUS_REMOTE_ADDRESS,  /* 7: rkey, range or right */
	EFA_STATUS_REMOTE_ABORT,
	EFA_STATUS_REMOTE_QPN,      /* 9: no such queue pair, or another Q_Key */
	EFA_STATUS_REMOTE_RNR,      /* 10 */
	EFA_STATUS_REMOTE_LENGTH,   /* 11 */
	EFA_STATUS_REMOTE_STATUS,   /* 12: the responder answered with something unknown */
	EFA_STATUS_UNRESPONSIVE,    /* 13: answered once, and no more */
	EFA_STATUS_REMOTE_NO_AH,    /* 14: RDMA from somebody the target has no address handle for */
	EFA_STATUS_UNREACHABLE,     /* 15: never answered */
	EFA_STATUS_FEATURE_MISMATCH = 18,
	EFA_STATUS_COUNT
};

enum {
	EFA_CQE_BYTES = 16,
	EFA_CQE_WIDE_BYTES = 32,
	EFA_CQE_FLAGS_AT = 3,
	EFA_CQE_PHASE = 1 << 0,
	EFA_CQE_QUEUE_SHIFT = 1,
	EFA_CQE_QUEUE_SEND = 1,
	EFA_CQE_QUEUE_RECV = 2,
	EFA_CQE_HAS_IMM = 1 << 3,
	EFA_CQE_OP_SHIFT = 4,
	EFA_CQE_OP_MASK = 7,
	EFA_CQE_UNSOLICITED = 1 << 7,
};
#define EFA_AH_UNKNOWN 0xffffu

struct efa_abi_cqe {
	uint16_t req_id, qp_num;
	uint8_t status, queue, op;
	bool phase, has_imm, unsolicited;
	/* Of sends. */
	uint16_t req_id_ex[3];
	/* Of receives. */
	uint32_t length; /* the upper half only in wide entries, and only for writes with immediate data */
	uint32_t imm;
	uint16_t ah, src_qpn;
	bool has_gid;
	uint8_t gid[16];
};

/* bytes: EFA_CQE_BYTES or EFA_CQE_WIDE_BYTES. In what is loaded, has_gid says that the entry is wide and its source unknown. */
void efa_abi_cqe_load(struct efa_abi_cqe *out, const uint8_t *entry, uint32_t bytes);
void efa_abi_cqe_store(uint8_t *entry, const struct efa_abi_cqe *cqe, uint32_t bytes);
const char *efa_abi_status_text(uint32_t status);

#endif
