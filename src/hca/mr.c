/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/mr.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "dma/mr.h"
#include "export/layout.h"
#include "hca/device_internal.h"
#include "hca/limits.h"
#include "hca/pd_internal.h"

/* The export shows dma's entries as they are. */
_Static_assert(sizeof(struct export_mr) == sizeof(struct dma_entry), "");
_Static_assert((int)EXPORT_MRS == (int)DMA_ENTRIES_MAX && (int)HCA_MAX_MR == (int)EXPORT_MRS, "");
_Static_assert(offsetof(struct export_mr, key) == offsetof(struct dma_entry, key), "");
_Static_assert(offsetof(struct export_mr, pd) == offsetof(struct dma_entry, pd), "");
_Static_assert(offsetof(struct export_mr, access) == offsetof(struct dma_entry, access), "");
_Static_assert(offsetof(struct export_mr, generation) == offsetof(struct dma_entry, generation), "");
_Static_assert(offsetof(struct export_mr, iova) == offsetof(struct dma_entry, iova), "");
_Static_assert(offsetof(struct export_mr, length) == offsetof(struct dma_entry, length), "");
_Static_assert(offsetof(struct export_mr, addr) == offsetof(struct dma_entry, addr), "");
_Static_assert(offsetof(struct export_mr, revocation) == offsetof(struct dma_entry, revocation), "");

struct hca_mr {
	struct hca_pd *pd;
	void *user;
	struct hca_mr_attr attr;
	uint32_t index, key;
};

static struct dma_table *table_of(const struct hca_pd *pd)
{
	return pd->context->device->config.memory;
}

static int table_reg(struct hca_pd *pd, const struct hca_mr_attr *attr, uint32_t *index, uint32_t *key)
{
	struct dma_region region = {
		.addr = attr->addr,
		.length = attr->length,
		.iova = attr->access & DMA_ZERO_BASED ? 0 : attr->iova,
		.pd = pd->number,
		.access = attr->access,
	};

	return dma_table_reg(table_of(pd), &region, index, key);
}

/*
 * Takes a key away: when this returns nothing that looked it up before is under way, because all lookups hold the progress
 * lock.
 */
static void table_dereg(struct hca_pd *pd, uint32_t index)
{
	const struct hca_engine *engine = hca_context_engine(pd->context);

	dma_table_revoke(table_of(pd), index);
	engine->ops->lock(engine->context);
	engine->ops->unlock(engine->context);
	dma_table_free(table_of(pd), index);
}

int hca_mr_reg(struct hca_pd *pd, const struct hca_mr_attr *attr, void *user, struct hca_mr **out)
{
	struct hca_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return BASE_ERR_NOMEM;
	int err = table_reg(pd, attr, &mr->index, &mr->key);
	if (err != 0) {
		free(mr);
		return err;
	}
	mr->pd = pd;
	mr->user = user;
	mr->attr = *attr;
	hca_pd_get(pd);
	*out = mr;
	return 0;
}

int hca_mr_dereg(struct hca_mr *mr)
{
	table_dereg(mr->pd, mr->index);
	hca_pd_put(mr->pd);
	free(mr);
	return 0;
}

int hca_mr_rereg(struct hca_mr *mr, uint32_t what, struct hca_pd *pd, const struct hca_mr_attr *attr)
{
	struct hca_mr_attr merged = mr->attr;
	uint32_t index, key;

	if (what == 0 || (what & ~(uint32_t)(HCA_REREG_TRANSLATION | HCA_REREG_PD | HCA_REREG_ACCESS)) ||
	    ((what & HCA_REREG_PD) && pd == NULL))
		return BASE_ERR_INVAL;
	if (what & HCA_REREG_TRANSLATION) {
		merged.addr = attr->addr;
		merged.length = attr->length;
		merged.iova = attr->iova;
	}
	if (what & HCA_REREG_ACCESS)
		merged.access = attr->access;
	if (!(what & HCA_REREG_PD))
		pd = mr->pd;
	/* The new one first: if it is refused, the old one is untouched. */
	int err = table_reg(pd, &merged, &index, &key);
	if (err != 0)
		return err;
	table_dereg(mr->pd, mr->index);
	hca_pd_get(pd);
	hca_pd_put(mr->pd);
	mr->pd = pd;
	mr->attr = merged;
	mr->index = index;
	mr->key = key;
	return 0;
}

uint32_t hca_mr_lkey(const struct hca_mr *mr)
{
	return mr->key;
}

uint32_t hca_mr_rkey(const struct hca_mr *mr)
{
	return mr->key;
}

uint32_t hca_mr_index(const struct hca_mr *mr)
{
	return mr->index;
}

void *hca_mr_user(const struct hca_mr *mr)
{
	return mr->user;
}
