/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/odp.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "dma/access.h"
#include "dma/maps.h"
#include "hca/device_internal.h"
#include "hca/pd_internal.h"

/* Newer than the oldest headers; older kernels answer EINVAL. */
enum { POPULATE_READ = 22, POPULATE_WRITE = 23 };

static int find(const struct hca_pd *pd, const struct transport_sge *sge, struct dma_range *out)
{
	const struct hca_engine *engine = hca_context_engine(pd->context);
	struct dma_view view;

	dma_view_init(&view, pd->context->device->config.memory, pd->number);
	engine->ops->lock(engine->context);
	int err = dma_local_range(&view, sge->lkey, sge->addr, sge->length, out);
	engine->ops->unlock(engine->context);
	return err == BASE_ERR_KEY || err == BASE_ERR_RANGE ? BASE_ERR_FAULT : err;
}

/* The program may unmap meanwhile; then there is nothing to bring in, and the kernel says so. */
static int bring_in(const struct dma_range *range, uint64_t length, bool write, bool wait)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = range->addr & ~(page - 1), end = range->addr + length;
	int err = dma_maps_check(range->addr, length, write);

	if (err != 0)
		return err;
	if (!wait) {
		madvise((void *)(uintptr_t)start, end - start, MADV_WILLNEED);
		return 0;
	}
	if (madvise((void *)(uintptr_t)start, end - start, write ? POPULATE_WRITE : POPULATE_READ) == 0 || errno == EINVAL)
		return 0;
	return errno == ENOMEM ? BASE_ERR_FAULT : base_err_from_errno(errno);
}

int hca_odp_advise(struct hca_pd *pd, uint32_t advice, bool wait, const struct transport_sge *sge, uint32_t num_sge)
{
	if (advice > HCA_PREFETCH_NO_FAULT)
		return BASE_ERR_UNSUPPORTED;
	if (num_sge == 0)
		return BASE_ERR_INVAL;
	for (uint32_t i = 0; i < num_sge; i++) {
		struct dma_range range;

		if (sge[i].length == 0)
			continue;
		int err = find(pd, &sge[i], &range);
		if (err == 0 && !(range.access & DMA_ON_DEMAND))
			err = BASE_ERR_INVAL;
		if (err == 0 && advice == HCA_PREFETCH_WRITE && !(range.access & DMA_LOCAL_WRITE))
			err = BASE_ERR_PERM;
		/* NO_FAULT shows the adapter what is there already: it sees that without being told. */
		if (err == 0 && advice != HCA_PREFETCH_NO_FAULT)
			err = bring_in(&range, sge[i].length, advice == HCA_PREFETCH_WRITE, wait);
		if (err != 0)
			return err;
	}
	return 0;
}
