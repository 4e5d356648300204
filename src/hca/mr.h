/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions: the adapter's face of dma's table.
 *
 * Errors: BASE_ERR_INVAL (access flags, overflow), BASE_ERR_FAULT (not mapped, or read-only with LOCAL_WRITE), BASE_ERR_NOMEM.
 * Threads: any. hca_mr_dereg() and hca_mr_rereg() take the progress lock for a moment: when they return no access is under way.
 */
#ifndef HCA_MR_H
#define HCA_MR_H

#include <stdint.h>

struct hca_pd;
struct hca_mr; /* opaque */

struct hca_mr_attr {
	uint64_t addr, length; /* in this process */
	uint64_t iova;         /* the address that SGEs and peers use; 0-based regions: 0 */
	uint32_t access;       /* values of enum ibv_access_flags; bits 20..29 are ignored */
};

/* With ZERO_BASED among the access flags iova is taken as 0. */
int hca_mr_reg(struct hca_pd *pd, const struct hca_mr_attr *attr, void *user, struct hca_mr **out);
int hca_mr_dereg(struct hca_mr *mr);
/* Values of enum ibv_rereg_mr_flags. */
enum hca_rereg { HCA_REREG_TRANSLATION = 1, HCA_REREG_PD = 2, HCA_REREG_ACCESS = 4 };
/* What `what` does not name keeps its value. The key changes. On an error the region is as before. */
int hca_mr_rereg(struct hca_mr *mr, uint32_t what, struct hca_pd *pd, const struct hca_mr_attr *attr);
uint32_t hca_mr_lkey(const struct hca_mr *mr);
uint32_t hca_mr_rkey(const struct hca_mr *mr);
uint32_t hca_mr_index(const struct hca_mr *mr);
void *hca_mr_user(const struct hca_mr *mr);

#endif
