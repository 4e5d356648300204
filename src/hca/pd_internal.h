/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of protection domains. Read by hca/ alone. */
#ifndef HCA_PD_INTERNAL_H
#define HCA_PD_INTERNAL_H

#include <stdatomic.h>

#include "hca/pd.h"

struct hca_pd {
	struct hca_context *context;
	void *user;
	uint32_t number;          /* never 0, never the same for two of a process, but for a parent domain and its base */
	_Atomic uint32_t objects; /* MRs, QPs, SRQs, AHs, CQs, parent domains */
	struct hca_pd *base;      /* of a parent domain, else NULL */
	struct hca_allocator allocator; /* alloc NULL: the C library */
};

static inline void hca_pd_get(struct hca_pd *pd)
{
	atomic_fetch_add(&pd->objects, 1);
}

static inline void hca_pd_put(struct hca_pd *pd)
{
	atomic_fetch_sub(&pd->objects, 1);
}

#endif
