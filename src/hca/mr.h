/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions: the adapter's face of dma's table.
 *
 * Errors: BASE_ERR_INVAL (access flags, overflow), BASE_ERR_FAULT (not mapped, or read-only with LOCAL_WRITE), BASE_ERR_NOMEM.
 * Threads: any. hca_mr_dereg() and hca_mr_rereg() take the progress lock for a moment: when they return no access is under way.
 * With a window bound to the region they refuse: BASE_ERR_BUSY, by the profile of the specification BASE_ERR_INVAL.
 */
#ifndef HCA_MR_H
#define HCA_MR_H

#include <stdint.h>

struct hca_dm;
struct hca_pd;
struct hca_mr; /* opaque */

struct hca_mr_attr {
	uint64_t addr, length; /* in this process */
	uint64_t iova;         /* the address that SGEs and peers use; 0-based regions: 0 */
	uint32_t access;       /* values of enum ibv_access_flags; bits 20..29 are ignored */
};

/* With ZERO_BASED among the access flags iova is taken as 0. */
int hca_mr_reg(struct hca_pd *pd, const struct hca_mr_attr *attr, void *user, struct hca_mr **out);
/* Reads as zeroes, swallows what is written; no window and no peer gets at it. BASE_ERR_NOMEM. */
int hca_mr_null(struct hca_pd *pd, void *user, struct hca_mr **out);
/* A part of device memory, from address 0 on; the flags must say so. BASE_ERR_INVAL: they do not, or outside of it. */
int hca_mr_reg_dm(struct hca_pd *pd, struct hca_dm *dm, uint64_t offset, uint64_t length, uint32_t access, void *user,
		  struct hca_mr **out);
int hca_mr_dereg(struct hca_mr *mr);
/* Values of enum ibv_rereg_mr_flags. */
enum hca_rereg { HCA_REREG_TRANSLATION = 1, HCA_REREG_PD = 2, HCA_REREG_ACCESS = 4 };
/*
 * What `what` does not name keeps its value, and so does the key: peers that hold it get what it now grants. On an error the
 * region is as before. BASE_ERR_INVAL also: a null region, device memory.
 */
int hca_mr_rereg(struct hca_mr *mr, uint32_t what, struct hca_pd *pd, const struct hca_mr_attr *attr);
uint32_t hca_mr_lkey(const struct hca_mr *mr);
uint32_t hca_mr_rkey(const struct hca_mr *mr);
uint32_t hca_mr_index(const struct hca_mr *mr);
struct hca_pd *hca_mr_pd(const struct hca_mr *mr);
uint64_t hca_mr_length(const struct hca_mr *mr);
void *hca_mr_user(const struct hca_mr *mr);

#endif
