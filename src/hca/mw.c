/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/mw.h"

#include <stdlib.h>

#include "base/err.h"
#include "dma/window.h"
#include "hca/device_internal.h"
#include "hca/pd_internal.h"

struct hca_mw {
	struct hca_pd *pd;
	uint32_t index, key;
};

int hca_mw_alloc(struct hca_pd *pd, enum hca_mw_type type, struct hca_mw **out)
{
	const struct hca_device_config *config = &pd->context->device->config;
	enum dma_kind kind = type == HCA_MW_TYPE_1 ? DMA_WINDOW_1 : config->windows_2a ? DMA_WINDOW_2A : DMA_WINDOW_2B;

	if (type != HCA_MW_TYPE_1 && type != HCA_MW_TYPE_2)
		return BASE_ERR_INVAL;
	struct hca_mw *mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return BASE_ERR_NOMEM;
	int err = dma_window_alloc(config->memory, pd->number, kind, &mw->index, &mw->key);
	if (err != 0) {
		free(mw);
		return err;
	}
	mw->pd = pd;
	hca_pd_get(pd);
	*out = mw;
	return 0;
}

void hca_mw_free(struct hca_mw *mw)
{
	const struct hca_engine *engine = hca_context_engine(mw->pd->context);
	struct dma_table *table = mw->pd->context->device->config.memory;

	engine->ops->lock(engine->context);
	dma_window_revoke(table, mw->index);
	engine->ops->unlock(engine->context);
	dma_table_free(table, mw->index);
	hca_pd_put(mw->pd);
	free(mw);
}

uint32_t hca_mw_rkey(const struct hca_mw *mw)
{
	return mw->key;
}

uint32_t hca_mw_index(const struct hca_mw *mw)
{
	return mw->index;
}
