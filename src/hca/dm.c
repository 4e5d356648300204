/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/dm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "dma/copy.h"
#include "hca/device_internal.h"
#include "hca/dm_internal.h"
#include "hca/limits.h"

enum { LOG_ALIGN_MIN = 6, LOG_ALIGN_MAX = 16 };

static bool budget_take(struct hca_device *device, uint64_t length)
{
	uint64_t used = atomic_load(&device->dm_used);

	do {
		if (length > HCA_MAX_DM_BYTES - used)
			return false;
	} while (!atomic_compare_exchange_weak(&device->dm_used, &used, used + length));
	return true;
}

int hca_dm_alloc(struct hca_context *context, uint64_t length, uint32_t log_align, struct hca_dm **out)
{
	static _Atomic uint32_t last_number;
	struct hca_device *device = context->device;

	if (length == 0 || length > HCA_MAX_DM_BYTES || log_align > LOG_ALIGN_MAX) {
		base_explain("device memory refused: 1..%u bytes, aligned to 2^%d at most", (unsigned)HCA_MAX_DM_BYTES,
			     LOG_ALIGN_MAX);
		return BASE_ERR_INVAL;
	}
	if (!budget_take(device, length))
		return BASE_ERR_NOMEM;
	struct hca_dm *dm = calloc(1, sizeof(*dm));
	size_t align = (size_t)1 << (log_align < LOG_ALIGN_MIN ? LOG_ALIGN_MIN : log_align);
	void *bytes;
	if (dm == NULL || posix_memalign(&bytes, align, length) != 0) {
		free(dm);
		atomic_fetch_sub(&device->dm_used, length);
		return BASE_ERR_NOMEM;
	}
	memset(bytes, 0, length);
	dm->context = context;
	dm->bytes = bytes;
	dm->length = length;
	dm->number = atomic_fetch_add(&last_number, 1) + 1;
	atomic_fetch_add(&context->objects, 1);
	*out = dm;
	return 0;
}

int hca_dm_free(struct hca_dm *dm)
{
	if (atomic_load(&dm->regions) != 0)
		return BASE_ERR_BUSY;
	atomic_fetch_sub(&dm->context->device->dm_used, dm->length);
	atomic_fetch_sub(&dm->context->objects, 1);
	free(dm->bytes);
	free(dm);
	return 0;
}

static bool is_inside(const struct hca_dm *dm, uint64_t offset, uint64_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

static int copy_check(const struct hca_dm *dm, uint64_t offset, uint64_t length)
{
	if (!is_inside(dm, offset, length))
		return BASE_ERR_FAULT;
	return offset % HCA_DM_COPY_UNIT != 0 || length % HCA_DM_COPY_UNIT != 0 ? BASE_ERR_INVAL : 0;
}

int hca_dm_copy_to(struct hca_dm *dm, uint64_t offset, const void *from, uint64_t length)
{
	int err = copy_check(dm, offset, length);

	return err != 0 ? err : dma_copy_in(dm->bytes + offset, from, length);
}

int hca_dm_copy_from(const struct hca_dm *dm, uint64_t offset, void *to, uint64_t length)
{
	int err = copy_check(dm, offset, length);

	return err != 0 ? err : dma_copy_out(to, dm->bytes + offset, length);
}

int hca_dm_range(const struct hca_dm *dm, uint64_t offset, uint64_t length, uint64_t *addr)
{
	if (!is_inside(dm, offset, length))
		return BASE_ERR_INVAL;
	*addr = (uintptr_t)dm->bytes + offset;
	return 0;
}

uint32_t hca_dm_number(const struct hca_dm *dm)
{
	return dm->number;
}
