/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/pd.h"

#include <stdlib.h>

#include "base/err.h"
#include "hca/device_internal.h"
#include "hca/pd_internal.h"

static struct hca_pd *pd_make(struct hca_context *context, void *user)
{
	struct hca_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		return NULL;
	pd->context = context;
	pd->user = user;
	atomic_fetch_add(&context->objects, 1);
	return pd;
}

int hca_pd_alloc(struct hca_context *context, void *user, struct hca_pd **out)
{
	static _Atomic uint32_t last_number;
	struct hca_pd *pd;

	if (hca_device_is_lost(context->device))
		return BASE_ERR_IO;
	pd = pd_make(context, user);
	if (pd == NULL)
		return BASE_ERR_NOMEM;
	/* 2^32 domains in one process would have to live at once, or an old number be in a region still, for two to meet. */
	do
		pd->number = atomic_fetch_add(&last_number, 1) + 1;
	while (pd->number == 0);
	*out = pd;
	return 0;
}

int hca_pd_alloc_parent(struct hca_pd *base, const struct hca_allocator *allocator, void *user, struct hca_pd **out)
{
	if (base->base != NULL)
		return BASE_ERR_INVAL;
	struct hca_pd *pd = pd_make(base->context, user);

	if (pd == NULL)
		return BASE_ERR_NOMEM;
	pd->number = base->number;
	pd->base = base;
	if (allocator != NULL)
		pd->allocator = *allocator;
	hca_pd_get(base);
	*out = pd;
	return 0;
}

int hca_pd_dealloc(struct hca_pd *pd)
{
	if (atomic_load(&pd->objects) != 0)
		return BASE_ERR_BUSY;
	if (pd->base != NULL)
		hca_pd_put(pd->base);
	atomic_fetch_sub(&pd->context->objects, 1);
	free(pd);
	return 0;
}

uint32_t hca_pd_number(const struct hca_pd *pd)
{
	return pd->number;
}

void *hca_pd_user(const struct hca_pd *pd)
{
	return pd->user;
}

bool hca_pd_is_parent(const struct hca_pd *pd)
{
	return pd->base != NULL;
}
