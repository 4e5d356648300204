/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device memory: a budget of bytes that belong to the adapter and not to the program, reached by copies and through regions
 * (hca/mr.h). Here it is memory of the process like any other, kept as scarce as that of an adapter, so that programs meet the
 * limits that they will meet elsewhere.
 *
 * Errors: BASE_ERR_INVAL (length 0 or above HCA_MAX_DM_BYTES, alignment, offset or length of a copy no multiple of
 * HCA_DM_COPY_UNIT), BASE_ERR_NOMEM (the device's budget or memory is used up), BASE_ERR_FAULT (a copy outside of it, or the
 * program's memory is not there), BASE_ERR_BUSY (a region is on it). Ownership: the creator frees. Threads: any; copies at the
 * same time as others are as those of memory.
 */
#ifndef HCA_DM_H
#define HCA_DM_H

#include <stdint.h>

struct hca_context;
struct hca_dm; /* opaque */

enum { HCA_DM_COPY_UNIT = 4 };

/* All zeroes; begins at a multiple of 2^log_align. */
int hca_dm_alloc(struct hca_context *context, uint64_t length, uint32_t log_align, struct hca_dm **out);
int hca_dm_free(struct hca_dm *dm);
int hca_dm_copy_to(struct hca_dm *dm, uint64_t offset, const void *from, uint64_t length);
int hca_dm_copy_from(const struct hca_dm *dm, uint64_t offset, void *to, uint64_t length);
/* Never the same for two of a process that are alive. */
uint32_t hca_dm_number(const struct hca_dm *dm);

#endif
