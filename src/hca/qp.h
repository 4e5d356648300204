/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs of the types RC, UC, UD and XRC_SEND: create, modify, query, post, destroy. XRC_RECV begins and ends with hca/xrc.h. The
 * tables know RAW_PACKET, too; creation refuses it (BASE_ERR_UNSUPPORTED).
 *
 * Posting is begin, one call per work request, end: begin takes the send queue's lock, end gives it back. It serves both
 * posting a list (commit what was good before the first bad one) and the builders (commit all or nothing).
 *
 * Errors: named per function. Ownership: the creator destroys. Threads: any; modify calls are serialised per QP.
 */
#ifndef HCA_QP_H
#define HCA_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/ah.h"
#include "hca/qp_state.h"
#include "transport/memory.h"
#include "transport/queue.h"

struct hca_cq;
struct hca_mr;
struct hca_mw;
struct hca_pd;
struct hca_qp; /* opaque */
struct hca_srq;

struct hca_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
};

struct hca_qp_init {
	void *user;
	enum hca_qp_type type;
	struct hca_cq *send_cq, *recv_cq;
	struct hca_srq *srq;   /* NULL: a receive queue of its own */
	struct hca_qp_cap cap; /* rewritten with what it got, each at least what was asked for */
	bool sq_sig_all;
	bool block_own_groups; /* UD: of groups that it is attached to it does not get what it sent itself */
};

/* Names as in ibv_qp_attr. Which ones are valid is told by the mask. */
struct hca_qp_attr {
	uint32_t state, cur_state; /* enum hca_qp_state */
	uint32_t path_mtu;         /* a code, 1..5 */
	uint32_t path_mig_state;
	uint32_t qkey, rq_psn, sq_psn, dest_qpn;
	uint32_t access;           /* enum transport_access */
	struct hca_ah_attr ah;
	uint16_t pkey_index;
	bool en_sqd_async_notify, sq_draining;
	uint8_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry;
};

/* BIND_MW: what the window gets. The objects are borrowed until the work request is done. */
struct hca_bind {
	const struct hca_mw *mw;
	const struct hca_mr *mr; /* NULL only with length 0 */
	uint32_t rkey;           /* the window's new one */
	uint32_t access;         /* values of enum ibv_access_flags */
	uint64_t addr, length;
	bool by_type_1;          /* by the verb of type 1 */
};

/* A send work request. `sge` is borrowed until the call returns. */
struct hca_send_wr {
	uint64_t wr_id;
	const struct transport_sge *sge;
	int num_sge;
	uint32_t opcode;      /* values of enum ibv_wr_opcode; any number is survivable */
	uint32_t flags;       /* enum transport_wqe_flags */
	uint32_t imm_or_inv;  /* wire bytes of the immediate, or rkey */
	uint32_t rkey;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	const struct hca_ah *ah; /* UD; its path is copied */
	const struct hca_bind *bind; /* BIND_MW; borrowed until the call returns */
	uint32_t remote_qpn, remote_qkey; /* UD; XRC: remote_qpn is the number of the SRQ */
	uint32_t flush_access, flush_length; /* FLUSH: TRANSPORT_FLUSH_*; the range at remote_addr */
	bool flush_whole;                    /* the whole region instead of a range */
};

/*
 * BASE_ERR_UNSUPPORTED: the type; BASE_ERR_INVAL: a CQ missing, a cap above the limits, an object of another context;
 * BASE_ERR_NOMEM.
 */
int hca_qp_create(struct hca_pd *pd, struct hca_qp_init *init, struct hca_qp **out);
/* Owed ACKs get their chance, completions not polled yet vanish, events are waited for. Not a cancellation point. */
void hca_qp_destroy(struct hca_qp *qp);

/*
 * mask: enum hca_qp_attr_mask. A failed call changes nothing. BASE_ERR_INVAL by the tables and value checks; BASE_ERR_PERM:
 * privileged qkey; BASE_ERR_UNSUPPORTED: unknown mask bits; and the errors of resolve_path.
 */
int hca_qp_modify(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask);
/* All fields of both; NULL is allowed for either. */
void hca_qp_query(struct hca_qp *qp, struct hca_qp_attr *attr, struct hca_qp_init *init);
enum hca_qp_state hca_qp_state_get(const struct hca_qp *qp);
uint32_t hca_qp_number(const struct hca_qp *qp);
enum hca_qp_type hca_qp_type_get(const struct hca_qp *qp);
void *hca_qp_user(const struct hca_qp *qp);
/* For hca_async_ack(), when only the object of an event is at hand. */
void *hca_qp_async_token(struct hca_qp *qp);

void hca_qp_post_begin(struct hca_qp *qp);
/*
 * BASE_ERR_INVAL: state, opcode, SGE count, inline too long or not allowed, atomic length, UD without AH, a bind with elements or
 * without a window; BASE_ERR_NOMEM: full.
 */
int hca_qp_post_send(struct hca_qp *qp, const struct hca_send_wr *wr);
/* Makes what was posted since begin visible to the engine (commit) or forgets it, unlocks, and makes progress. */
void hca_qp_post_end(struct hca_qp *qp, bool commit);

/* One receive; no begin and end. BASE_ERR_INVAL: state RESET, SRQ attached, too many elements; BASE_ERR_NOMEM: full. */
int hca_qp_post_recv(struct hca_qp *qp, uint64_t wr_id, const struct transport_sge *sge, int num_sge);
/* What hca_async_ack() takes for an event of this object: the same token as in its events. */
void *hca_qp_async_token(struct hca_qp *qp);

#endif
