/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work queues as a transport sees them. The host allocates the memory and posts; the transport executes and finishes. Nothing
 * here allocates or blocks.
 *
 * Send queue: a ring of `depth` (a power of two) slots of `stride` bytes, each a transport_wqe with its SGE array or inline bytes
 * behind it. Indexes run freely in 32 bits and are masked on use:
 *
 *     reaped <= done <= next <= posted,   posted - (what the host has freed) <= depth
 *
 *   posted  written by the posting thread (release) after the slot is filled; read by the transport (acquire).
 *   next    the WQE that the requester emits from; it may be partly emitted.
 *   done    WQEs before it are finished: their `status` is valid.
 *   reaped  WQEs before it have been reported by transport_qp_send_done().
 * All but `posted` belong to whoever holds the node's progress lock.
 */
#ifndef TRANSPORT_QUEUE_H
#define TRANSPORT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/memory.h"

/* Values of enum ibv_wr_opcode: the edge passes them through. */
enum transport_op {
	TRANSPORT_OP_RDMA_WRITE = 0,
	TRANSPORT_OP_RDMA_WRITE_WITH_IMM = 1,
	TRANSPORT_OP_SEND = 2,
	TRANSPORT_OP_SEND_WITH_IMM = 3,
	TRANSPORT_OP_RDMA_READ = 4,
	TRANSPORT_OP_COMPARE_SWAP = 5,
	TRANSPORT_OP_FETCH_ADD = 6,
	TRANSPORT_OP_LOCAL_INV = 7,
	TRANSPORT_OP_BIND_MW = 8,
	TRANSPORT_OP_SEND_WITH_INV = 9,
	TRANSPORT_OP_FLUSH = 14,
	TRANSPORT_OP_ATOMIC_WRITE = 15,
	TRANSPORT_OP_COUNT = 16,
};

/* Values of enum ibv_send_flags. */
enum transport_wqe_flags {
	TRANSPORT_WQE_FENCE = 1,
	TRANSPORT_WQE_SIGNALED = 2, /* the host also sets it when the QP signals all */
	TRANSPORT_WQE_SOLICITED = 4,
	TRANSPORT_WQE_INLINE = 8,
	TRANSPORT_WQE_WHOLE = 0x80, /* FLUSH: the whole region. Not one of enum ibv_send_flags */
};

/* Values of enum ibv_wc_status. */
enum transport_status {
	TRANSPORT_SUCCESS = 0,
	TRANSPORT_LOC_LEN_ERR = 1,
	TRANSPORT_LOC_QP_OP_ERR = 2,
	TRANSPORT_LOC_PROT_ERR = 4,
	TRANSPORT_WR_FLUSH_ERR = 5,
	TRANSPORT_MW_BIND_ERR = 6,
	TRANSPORT_BAD_RESP_ERR = 7,
	TRANSPORT_LOC_ACCESS_ERR = 8,
	TRANSPORT_REM_INV_REQ_ERR = 9,
	TRANSPORT_REM_ACCESS_ERR = 10,
	TRANSPORT_REM_OP_ERR = 11,
	TRANSPORT_RETRY_EXC_ERR = 12,
	TRANSPORT_RNR_RETRY_EXC_ERR = 13,
	TRANSPORT_REM_INV_RD_REQ_ERR = 15,
	TRANSPORT_FATAL_ERR = 19,
	TRANSPORT_GENERAL_ERR = 21,
};

struct transport_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t swap_or_add; /* atomics: what FETCH_ADD adds or COMPARE_SWAP stores */
	uint64_t compare;
	uint32_t rkey;
	uint32_t imm_or_inv; /* immediate as its four wire bytes (a __be32), or the rkey to invalidate in host order; FLUSH:
				TRANSPORT_FLUSH_* of the remote side */
	uint32_t length;     /* of the message: sum of the SGEs or the inline bytes; FLUSH: of the remote range */
	uint32_t remote_qpn; /* UD; XRC: the number of the remote SRQ */
	uint32_t remote_qkey; /* UD */
	uint32_t ah;          /* UD: the host's own handle of the address */
	uint8_t op;           /* enum transport_op */
	uint8_t flags;        /* enum transport_wqe_flags */
	uint8_t num_sge;      /* 0 with inline data */
	uint8_t status;       /* enum transport_status; valid once done */
	/* The requester's own, valid from the first packet on. */
	uint32_t first_psn;
	uint32_t last_psn;
	uint32_t vendor_err; /* 0: success or flushed; else a detail for debugging: the AETH syndrome, a base_err, the status */
	uint32_t reserved;
	/* sge[num_sge], or `length` inline bytes */
	struct transport_sge sge[];
};

/* BIND_MW has no memory of its own to name: it lies in fields that have no other meaning for it. */
enum { TRANSPORT_WQE_BIND_TYPE_1 = 1u << 30 }; /* beside the rights */

static inline void transport_wqe_bind_set(struct transport_wqe *wqe, const struct transport_bind *bind)
{
	wqe->remote_addr = bind->addr;
	wqe->swap_or_add = bind->length;
	wqe->compare = (uint64_t)bind->window << 32 | bind->region;
	wqe->rkey = bind->rkey;
	wqe->imm_or_inv = bind->access & ~(uint32_t)TRANSPORT_WQE_BIND_TYPE_1;
	if (bind->by_type_1)
		wqe->imm_or_inv |= TRANSPORT_WQE_BIND_TYPE_1;
}

static inline struct transport_bind transport_wqe_bind(const struct transport_wqe *wqe)
{
	return (struct transport_bind){
		.addr = wqe->remote_addr, .length = wqe->swap_or_add, .window = (uint32_t)(wqe->compare >> 32),
		.region = (uint32_t)wqe->compare, .rkey = wqe->rkey,
		.access = wqe->imm_or_inv & ~(uint32_t)TRANSPORT_WQE_BIND_TYPE_1,
		.by_type_1 = wqe->imm_or_inv & TRANSPORT_WQE_BIND_TYPE_1,
	};
}

static inline void *transport_wqe_inline(struct transport_wqe *wqe)
{
	return wqe->sge;
}

struct transport_sq {
	uint8_t *slots;
	uint32_t stride;
	uint32_t depth;
	_Atomic uint32_t posted;
	uint32_t next;
	uint32_t done;
	uint32_t reaped;
};

static inline struct transport_wqe *transport_sq_wqe(const struct transport_sq *sq, uint32_t index)
{
	return (struct transport_wqe *)(void *)(sq->slots + (uint64_t)(index & (sq->depth - 1)) * sq->stride);
}

/* A receive that the transport took from its RQ or SRQ. `sge` stays valid until the completion has been reported. */
struct transport_recv {
	uint64_t wr_id;
	const struct transport_sge *sge;
	uint32_t num_sge;
	uint32_t index; /* the host's own: which slot to free */
	uint64_t length; /* sum of the SGEs */
	uint32_t srqn;   /* XRC targets: the SRQ that it is from */
};

/* Where receives come from. Called with the progress lock held; the host may take its own queue lock inside, nothing else. */
struct transport_recv_ops {
	/* The oldest receive, moved out of the queue; BASE_ERR_AGAIN when there is none. */
	int (*take)(void *host, struct transport_recv *out);
	/*
	 * Asked of XRC targets alone: until the next call all that this QP takes, and all memory that it touches, is that of the SRQ
	 * of this number and of its protection domain. BASE_ERR_KEY: the QP's domain has no such SRQ; nothing changes then.
	 */
	int (*select)(void *host, uint32_t srqn);
};

/* What a finished send or receive looks like; the host turns it into a CQE. Values of opcode: enum ibv_wc_opcode. */
enum transport_wc_opcode {
	TRANSPORT_WC_SEND = 0,
	TRANSPORT_WC_RDMA_WRITE = 1,
	TRANSPORT_WC_RDMA_READ = 2,
	TRANSPORT_WC_COMPARE_SWAP = 3,
	TRANSPORT_WC_FETCH_ADD = 4,
	TRANSPORT_WC_BIND_MW = 5,
	TRANSPORT_WC_LOCAL_INV = 6,
	TRANSPORT_WC_FLUSH = 8,
	TRANSPORT_WC_ATOMIC_WRITE = 9,
	TRANSPORT_WC_RECV = 128,
	TRANSPORT_WC_RECV_RDMA_WITH_IMM = 129,
};
/* Values of enum ibv_wc_flags. */
enum transport_wc_flags { TRANSPORT_WC_GRH = 1, TRANSPORT_WC_WITH_IMM = 2, TRANSPORT_WC_WITH_INV = 8 };

/*
 * What a datagram came under: the flag that annex 17 (A17.4.5.1) has in a completion. It stands in ibv_wc.sl, as from adapters whose
 * programs look there to know how much of the GRH area is an IPv4 header (decision 0098).
 */
enum transport_wc_network { TRANSPORT_WC_UNDER_GRH = 0, TRANSPORT_WC_UNDER_IPV6 = 8 | 1, TRANSPORT_WC_UNDER_IPV4 = 8 | 2 };

struct transport_completion {
	uint64_t wr_id;
	uint32_t status;     /* enum transport_status */
	uint32_t opcode;     /* enum transport_wc_opcode, set on errors too */
	uint32_t byte_len;
	uint32_t imm_or_inv; /* as in the WQE */
	uint32_t src_qpn;
	uint32_t vendor_err;
	uint32_t index;      /* send: the SQ index; receive: transport_recv.index */
	uint32_t srqn;       /* receives of XRC targets: transport_recv.srqn */
	uint8_t wc_flags;
	uint8_t sl;          /* received datagrams: enum transport_wc_network, else 0 */
	bool solicited;      /* the message asked for an event (SE), receives only */
	bool signaled;       /* sends: false means: free the slot, write no CQE */
};

/* Whatever ended with an error of its own has a detail: if there is no better one, the status. */
static inline uint32_t transport_vendor_err(uint32_t status, uint32_t vendor_err)
{
	return vendor_err != 0 || status == TRANSPORT_WR_FLUSH_ERR ? vendor_err : status;
}

#endif
