/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * On-demand paging. Nothing is ever pinned here, so every region follows the pages of the program by itself; the flag says that
 * they need not be there at registration. What is left to do is advice: bringing pages in before they are used.
 *
 * Errors: those of ibv_advise_mr(3): BASE_ERR_UNSUPPORTED (no such advice), BASE_ERR_INVAL (no elements; a window, a null region
 * or one that is not on demand), BASE_ERR_FAULT (key, range, or memory that is not there), BASE_ERR_PERM (another domain's; writing
 * to what was registered for reading). Threads: any.
 */
#ifndef HCA_ODP_H
#define HCA_ODP_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/memory.h"

struct hca_pd;

/* Values of enum ib_uverbs_advise_mr_advice. */
enum hca_advice { HCA_PREFETCH, HCA_PREFETCH_WRITE, HCA_PREFETCH_NO_FAULT };

/* wait: the pages are there when it returns; without it, soon. Elements of length 0 are not looked at. */
int hca_odp_advise(struct hca_pd *pd, uint32_t advice, bool wait, const struct transport_sge *sge, uint32_t num_sge);

#endif
