/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of device memory. Read by hca/dm.c and hca/mr.c. */
#ifndef HCA_DM_INTERNAL_H
#define HCA_DM_INTERNAL_H

#include <stdatomic.h>

#include "hca/dm.h"

struct hca_dm {
	struct hca_context *context;
	uint8_t *bytes;
	uint64_t length;
	uint32_t number;
	_Atomic uint32_t regions;
};

/* Where a part of it lies. BASE_ERR_INVAL: outside. */
int hca_dm_range(const struct hca_dm *dm, uint64_t offset, uint64_t length, uint64_t *addr);

static inline void hca_dm_get(struct hca_dm *dm)
{
	atomic_fetch_add(&dm->regions, 1);
}

static inline void hca_dm_put(struct hca_dm *dm)
{
	atomic_fetch_sub(&dm->regions, 1);
}

#endif
