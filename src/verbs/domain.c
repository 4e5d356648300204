/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "verbs/domain.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/ops.h"

struct verbs_td {
	struct ibv_td ibv; /* first */
	_Atomic uint32_t parents;
};

struct verbs_parent {
	struct verbs_pd pd; /* first: programs and ibv_dealloc_pd() see a domain */
	struct verbs_td *td; /* or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *context, size_t size, size_t align, uint64_t kind);
	void (*free)(struct ibv_pd *pd, void *context, void *block, uint64_t kind);
	void *context;
};

static struct verbs_td *td_of(struct ibv_td *td)
{
	return (struct verbs_td *)(void *)td;
}

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	if (attr->comp_mask != 0)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_td *td = calloc(1, sizeof(*td));

	if (td == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	td->ibv.context = context;
	return &td->ibv;
}

int verbs_dealloc_td(struct ibv_td *td)
{
	if (atomic_load(&td_of(td)->parents) != 0)
		return EBUSY;
	free(td_of(td));
	return 0;
}

/* The kinds of the adapter are the codes that the program gets; the upper half, a driver id, is 0: unknown. */
static bool program_alloc(void *context, size_t bytes, size_t align, enum hca_resource kind, void **out)
{
	struct verbs_parent *parent = context;
	void *block = parent->alloc(&parent->pd.ibv, parent->context, bytes, align, kind);

	if (block == IBV_ALLOCATOR_USE_DEFAULT)
		return false;
	*out = block;
	return true;
}

static void program_free(void *context, void *block, enum hca_resource kind)
{
	struct verbs_parent *parent = context;

	parent->free(&parent->pd.ibv, parent->context, block, kind);
}

static bool is_valid(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (attr->pd == NULL || attr->pd->context != context || (attr->td != NULL && attr->td->context != context))
		return false;
	if ((attr->comp_mask & ~known) != 0)
		return false;
	return (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) == 0 || (attr->alloc != NULL && attr->free != NULL);
}

struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	if (!is_valid(context, attr))
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_parent *parent = calloc(1, sizeof(*parent));
	const struct hca_allocator allocator = { program_alloc, program_free, parent };
	bool allocates = (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0;

	if (parent == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_pd_alloc_parent(verbs_pd_of(attr->pd)->hca, allocates ? &allocator : NULL, parent, &parent->pd.hca);
	if (err != 0) {
		free(parent);
		return verbs_null(err);
	}
	parent->pd.ibv.context = context;
	parent->pd.ibv.handle = hca_pd_number(parent->pd.hca);
	parent->alloc = attr->alloc;
	parent->free = attr->free;
	parent->context = (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0 ? attr->pd_context : NULL;
	if (attr->td != NULL) {
		parent->td = td_of(attr->td);
		atomic_fetch_add(&parent->td->parents, 1);
	}
	return &parent->pd.ibv;
}

void verbs_parent_end(struct ibv_pd *pd)
{
	struct verbs_parent *parent = (struct verbs_parent *)(void *)pd;

	if (parent->td != NULL)
		atomic_fetch_sub(&parent->td->parents, 1);
}
