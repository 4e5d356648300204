/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/mr.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "dma/mr.h"
#include "dma/window.h"
#include "export/layout.h"
#include "hca/device_internal.h"
#include "hca/dm_internal.h"
#include "hca/limits.h"
#include "hca/pd_internal.h"
#include "hca/profile.h"

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
_Static_assert(offsetof(struct export_mr, kind) == offsetof(struct dma_entry, kind), "");
_Static_assert(offsetof(struct export_mr, link) == offsetof(struct dma_entry, link), "");
_Static_assert(offsetof(struct export_mr, owner) == offsetof(struct dma_entry, owner), "");

enum mr_kind { MR_MEMORY, MR_DEVICE, MR_NULL };

struct hca_mr {
	struct hca_pd *pd;
	void *user;
	enum mr_kind kind;
	struct hca_dm *dm;
	struct hca_mr_attr attr;
	uint32_t index, key;
};

static struct dma_table *table_of(const struct hca_pd *pd)
{
	return pd->context->device->config.memory;
}

static struct dma_region region_of(const struct hca_pd *pd, const struct hca_mr_attr *attr)
{
	return (struct dma_region){
		.addr = attr->addr,
		.length = attr->length,
		.iova = attr->access & DMA_ZERO_BASED ? 0 : attr->iova,
		.pd = pd->number,
		.access = attr->access,
	};
}

static struct hca_mr *mr_make(struct hca_pd *pd, enum mr_kind kind, const struct hca_mr_attr *attr, void *user)
{
	struct hca_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return NULL;
	mr->pd = pd;
	mr->user = user;
	mr->kind = kind;
	mr->attr = *attr;
	return mr;
}

static int mr_reg(struct hca_pd *pd, enum mr_kind kind, const struct hca_mr_attr *attr, void *user, struct hca_mr **out)
{
	const struct dma_region region = region_of(pd, attr);
	struct hca_mr *mr = mr_make(pd, kind, attr, user);

	if (mr == NULL)
		return BASE_ERR_NOMEM;
	int err = kind == MR_NULL ? dma_table_reg_null(table_of(pd), pd->number, &mr->index, &mr->key) :
				    dma_table_reg(table_of(pd), &region, &mr->index, &mr->key);
	if (err != 0) {
		free(mr);
		return err;
	}
	hca_pd_get(pd);
	*out = mr;
	return 0;
}

int hca_mr_reg(struct hca_pd *pd, const struct hca_mr_attr *attr, void *user, struct hca_mr **out)
{
	return mr_reg(pd, MR_MEMORY, attr, user, out);
}

int hca_mr_null(struct hca_pd *pd, void *user, struct hca_mr **out)
{
	return mr_reg(pd, MR_NULL, &(struct hca_mr_attr){ .length = UINT64_MAX }, user, out);
}

int hca_mr_reg_dm(struct hca_pd *pd, struct hca_dm *dm, uint64_t offset, uint64_t length, uint32_t access, void *user,
		  struct hca_mr **out)
{
	struct hca_mr_attr attr = { .length = length, .access = access };
	int err = hca_dm_range(dm, offset, length, &attr.addr);

	if (err != 0)
		return err;
	if (!(access & DMA_ZERO_BASED) || (access & (DMA_ON_DEMAND | DMA_HUGETLB)) ||
	    dm->context->device != pd->context->device) {
		base_explain("device memory: registered from 0 on, on the device that it is of, and never on demand");
		return BASE_ERR_INVAL;
	}
	err = mr_reg(pd, MR_DEVICE, &attr, user, out);
	if (err == 0) {
		(*out)->dm = dm;
		hca_dm_get(dm);
	}
	return err;
}

/* The progress lock, held: no lookup is under way, and no bind can begin. Not 0 and the lock given back: a window is bound. */
static int quiesce(struct hca_mr *mr)
{
	const struct hca_engine *engine = hca_context_engine(mr->pd->context);

	engine->ops->lock(engine->context);
	if (dma_window_count(table_of(mr->pd), mr->index) == 0)
		return 0;
	engine->ops->unlock(engine->context);
	base_explain("memory region 0x%08x: a memory window is still bound to it", mr->key);
	return hca_profile_is_spec() ? BASE_ERR_INVAL : BASE_ERR_BUSY;
}

static void resume(struct hca_mr *mr)
{
	const struct hca_engine *engine = hca_context_engine(mr->pd->context);

	engine->ops->unlock(engine->context);
}

int hca_mr_dereg(struct hca_mr *mr)
{
	int err = quiesce(mr);

	if (err != 0)
		return err;
	dma_table_revoke(table_of(mr->pd), mr->index);
	resume(mr);
	dma_table_free(table_of(mr->pd), mr->index);
	if (mr->dm != NULL)
		hca_dm_put(mr->dm);
	hca_pd_put(mr->pd);
	free(mr);
	return 0;
}

int hca_mr_rereg(struct hca_mr *mr, uint32_t what, struct hca_pd *pd, const struct hca_mr_attr *attr)
{
	struct hca_mr_attr merged = mr->attr;

	if (what == 0 || (what & ~(uint32_t)(HCA_REREG_TRANSLATION | HCA_REREG_PD | HCA_REREG_ACCESS)) ||
	    ((what & HCA_REREG_PD) && (pd == NULL || pd->context->device != mr->pd->context->device)) || mr->kind != MR_MEMORY)
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
	const struct dma_region region = region_of(pd, &merged);
	int err = dma_table_check(&region);
	if (err == 0)
		err = quiesce(mr);
	if (err != 0)
		return err;
	dma_table_change(table_of(pd), mr->index, &region);
	resume(mr);
	hca_pd_get(pd);
	hca_pd_put(mr->pd);
	mr->pd = pd;
	mr->attr = merged;
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

struct hca_pd *hca_mr_pd(const struct hca_mr *mr)
{
	return mr->pd;
}

uint64_t hca_mr_length(const struct hca_mr *mr)
{
	return mr->attr.length;
}

void *hca_mr_user(const struct hca_mr *mr)
{
	return mr->user;
}
