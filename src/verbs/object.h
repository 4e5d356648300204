/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public structs with the adapter's object behind them. The public one is first, so that a pointer to it is a pointer to ours. */
#ifndef VERBS_OBJECT_H
#define VERBS_OBJECT_H

#include <infiniband/verbs.h>

#include "hca/ah.h"
#include "hca/channel.h"
#include "hca/cq.h"
#include "hca/dm.h"
#include "hca/mr.h"
#include "hca/mw.h"
#include "hca/pd.h"
#include "hca/qp.h"
#include "hca/srq.h"
#include "verbs/newer.h"

struct verbs_pd {
	struct ibv_pd ibv;
	struct hca_pd *hca;
};

struct verbs_mr {
	struct ibv_mr ibv;
	struct hca_mr *hca;
};

struct verbs_mw {
	struct ibv_mw ibv;
	struct hca_mw *hca;
};

struct verbs_dm {
	struct ibv_dm ibv;
	struct hca_dm *hca;
};

struct verbs_channel {
	struct ibv_comp_channel ibv;
	struct hca_channel *hca;
};

struct verbs_cq {
	union {
		struct ibv_cq ibv; /* the head of the extended one */
		struct ibv_cq_ex ex;
	};
	struct hca_cq *hca;
	/* Between start_poll and end_poll; guarded by poll_lock, unless single_threaded. */
	pthread_mutex_t poll_lock;
	struct hca_wc current;
	struct hca_stamp stamp; /* of current */
	bool stamped, single_threaded;
};

struct verbs_srq {
	struct ibv_srq ibv;
	struct hca_srq *hca;
};

struct verbs_ah {
	struct ibv_ah ibv;
	struct hca_ah *hca;
};

/* The work request that ibv_wr_* calls are building. Guarded by the send queue's lock (between wr_start and complete or
 * abort). */
struct verbs_builder {
	struct hca_send_wr wr;
	struct hca_bind bind; /* of wr */
	bool open;      /* a builder was called whose request is not posted yet */
	int err;        /* the first error since wr_start */
	uint32_t sge_capacity, inline_capacity;
	struct transport_sge *sge; /* copies: the caller's arrays need not live until complete */
	uint8_t *inline_data;
	uint8_t atomic_data[8];
};

struct verbs_qp {
	union {
		struct ibv_qp_ex ex; /* ex.qp_base is the public QP */
		struct verbs_qp_ex_newer newer;
	};
	struct hca_qp *hca;
	struct hca_xrc_opener *opener; /* XRC_RECV: what this handle is to the target */
	struct ibv_qp_init_attr init;
	bool has_ex;         /* created with SEND_OPS_FLAGS: ibv_qp_to_qp_ex answers */
	struct verbs_builder builder;
};

static inline struct verbs_pd *verbs_pd_of(struct ibv_pd *pd) { return (struct verbs_pd *)(void *)pd; }
static inline struct verbs_mr *verbs_mr_of(struct ibv_mr *mr) { return (struct verbs_mr *)(void *)mr; }
static inline struct verbs_mw *verbs_mw_of(struct ibv_mw *mw) { return (struct verbs_mw *)(void *)mw; }
static inline struct verbs_dm *verbs_dm_of(struct ibv_dm *dm) { return (struct verbs_dm *)(void *)dm; }
static inline struct verbs_channel *verbs_channel_of(struct ibv_comp_channel *c) { return (struct verbs_channel *)(void *)c; }
static inline struct verbs_cq *verbs_cq_of(struct ibv_cq *cq) { return (struct verbs_cq *)(void *)cq; }
static inline struct verbs_srq *verbs_srq_of(struct ibv_srq *srq) { return (struct verbs_srq *)(void *)srq; }
static inline struct verbs_ah *verbs_ah_of(struct ibv_ah *ah) { return (struct verbs_ah *)(void *)ah; }
static inline struct verbs_qp *verbs_qp_of(struct ibv_qp *qp) { return (struct verbs_qp *)(void *)qp; }

/* cq.c: a queue for both kinds; fills user, channel and what it got into attr. NULL and errno. */
struct verbs_cq *verbs_cq_create(struct ibv_context *context, struct hca_cq_attr *attr, void *cq_context,
				 struct ibv_comp_channel *channel);

/* memory.c: the public face of mr->hca; with an error, frees it and answers NULL and errno. */
struct ibv_mr *verbs_mr_init(struct verbs_mr *mr, struct ibv_pd *pd, void *addr, size_t length, int err);
/* window.c: a bind as the adapter knows it. */
void verbs_bind_in(struct hca_bind *out, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info);
/* dm.c: the public face of dm->hca. */
void verbs_dm_init(struct verbs_dm *dm, struct ibv_context *context);
/* qp.c: the public part of a QP whose `hca` and `init` are set; pd: NULL for XRC_RECV. srq.c: that of an SRQ. */
void verbs_qp_fill(struct verbs_qp *qp, struct ibv_context *context, struct ibv_pd *pd);
void verbs_srq_fill(struct verbs_srq *srq, struct ibv_pd *pd, void *srq_context);

/* qp_ex.c: the function pointers of ibv_wr_*, for the operations asked for. EOPNOTSUPP for one that cannot be done; ENOMEM. */
int verbs_builder_init(struct verbs_qp *qp, uint64_t send_ops_flags);
void verbs_builder_fini(struct verbs_qp *qp);

#endif
