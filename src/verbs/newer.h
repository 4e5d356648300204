/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Public functions of rdma-core releases newer than the headers we are built with at the least (44). The structures stay opaque
 * here: a feature that a software adapter grows gets an offset table of its own. Prototypes agree with the newer headers,
 * so that the build works with those as well. Programs reach these by name only if they were built on a newer system.
 */
#ifndef VERBS_NEWER_H
#define VERBS_NEWER_H

#include <infiniband/verbs.h>

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* What struct ibv_qp_ex has gained at its end since 44, by its offset. */
struct verbs_qp_ex_newer {
	unsigned char known[352];
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type, uint8_t level);
};
/* Values of newer enumerators. */
enum {
	VERBS_QP_EX_WITH_FLUSH = 1 << 11,
	VERBS_WR_FLUSH = 14,
	VERBS_ACCESS_FLUSH_GLOBAL = 1 << 8,
	VERBS_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	VERBS_FLUSH_GLOBAL = 1,     /* type, bits */
	VERBS_FLUSH_PERSISTENT = 2,
	VERBS_FLUSH_RANGE = 0,      /* level */
	VERBS_FLUSH_MR = 1,
};
#define VERBS_DEVICE_FLUSH_GLOBAL (1ull << 38)
#define VERBS_DEVICE_FLUSH_PERSISTENT (1ull << 39)
#define VERBS_DEVICE_ATOMIC_WRITE (1ull << 40)

const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode);

/* DMA handles (steering tags); buffers and registrations by attribute. Pointers: NULL and errno; int: a positive errno. */
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access);

/* A descriptor, or -1 and errno. */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);

/* In units of 100 Mbit/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);

/* Completion counters. */
int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t size);
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter, struct ibv_qp_attach_comp_cntr_attr *attr);
int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);

#endif
