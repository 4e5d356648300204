/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows: the adapter's face of dma/window.h. They are bound and invalidated by work requests (hca/qp.h).
 *
 * Errors: BASE_ERR_INVAL (no such type), BASE_ERR_NOMEM (memory; regions and windows share one table). Ownership: the creator
 * frees; a window holds its PD. Threads: any. hca_mw_free() takes the progress lock for a moment: when it returns no access
 * through the window is under way.
 */
#ifndef HCA_MW_H
#define HCA_MW_H

#include <stdint.h>

struct hca_pd;
struct hca_mw; /* opaque */

/* Values of enum ibv_mw_type. Which of 2A and 2B the second one is, hca_device_config says. */
enum hca_mw_type { HCA_MW_TYPE_1 = 1, HCA_MW_TYPE_2 = 2 };

int hca_mw_alloc(struct hca_pd *pd, enum hca_mw_type type, struct hca_mw **out);
/* Bound or not. */
void hca_mw_free(struct hca_mw *mw);
/* The key that it has before its first bind: nothing is behind it yet. The upper 24 bits stay. */
uint32_t hca_mw_rkey(const struct hca_mw *mw);
uint32_t hca_mw_index(const struct hca_mw *mw);

#endif
