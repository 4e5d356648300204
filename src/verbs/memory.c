/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains and memory regions. (dm.c has regions of device memory, window.c windows.) */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "hca/odp.h"
#include "verbs/context.h"
#include "verbs/domain.h"
#include "verbs/import.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

VERBS_PUBLIC struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	struct verbs_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_pd_alloc(verbs_context_of(context)->hca, pd, &pd->hca);
	if (err != 0) {
		free(pd);
		return verbs_null(err);
	}
	pd->ibv.context = context;
	pd->ibv.handle = hca_pd_number(pd->hca);
	verbs_handle_add(VERBS_HANDLE_PD, pd->ibv.handle, verbs_context_of(context)->hca, pd->hca);
	return &pd->ibv;
}

VERBS_PUBLIC int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (verbs_is_inherited(pd->context))
		return 0;
	bool is_parent = hca_pd_is_parent(verbs_pd_of(pd)->hca);
	int err = hca_pd_dealloc(verbs_pd_of(pd)->hca);

	if (err != 0)
		return base_err_to_errno(err);
	verbs_handle_remove(VERBS_HANDLE_PD, pd->handle, verbs_pd_of(pd)->hca);
	if (is_parent)
		verbs_parent_end(pd);
	free(pd);
	return 0;
}

struct ibv_mr *verbs_mr_init(struct verbs_mr *mr, struct ibv_pd *pd, void *addr, size_t length, int err)
{
	if (err != 0) {
		free(mr);
		return verbs_null(err);
	}
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.handle = hca_mr_index(mr->hca);
	mr->ibv.lkey = hca_mr_lkey(mr->hca);
	mr->ibv.rkey = hca_mr_rkey(mr->hca);
	verbs_handle_add(VERBS_HANDLE_MR, mr->ibv.handle, verbs_context_of(pd->context)->hca, mr->hca);
	return &mr->ibv;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	const struct hca_mr_attr attr = { .addr = (uintptr_t)addr, .length = length, .iova = iova, .access = access };
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	return verbs_mr_init(mr, pd, addr, length, hca_mr_reg(verbs_pd_of(pd)->hca, &attr, mr, &mr->hca));
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return reg_mr(pd, addr, length, iova, (unsigned int)access);
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return reg_mr(pd, addr, length, iova, access);
}

/* The memory of another device, lent to ours: nothing that a software adapter could reach by itself. */
VERBS_PUBLIC struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
	int access)
{
	return verbs_null(BASE_ERR_UNSUPPORTED);
}

/* Only its lkey means something. */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	return verbs_mr_init(mr, pd, NULL, SIZE_MAX, hca_mr_null(verbs_pd_of(pd)->hca, mr, &mr->hca));
}

int verbs_advise_mr(struct ibv_pd *pd, enum ib_uverbs_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
		    uint32_t num_sge)
{
	if (verbs_is_inherited(pd->context))
		return EIO;
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) != 0 || (sg_list == NULL && num_sge > 0))
		return EINVAL;
	return base_err_to_errno(hca_odp_advise(verbs_pd_of(pd)->hca, advice, (flags & IBV_ADVISE_MR_FLAG_FLUSH) != 0,
						(const struct transport_sge *)(const void *)sg_list, num_sge));
}

VERBS_PUBLIC int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const struct hca_mr_attr attr = { .addr = (uintptr_t)addr, .length = length, .iova = (uintptr_t)addr,
					  .access = (uint32_t)access };
	const int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	struct verbs_mr *self = verbs_mr_of(mr);

	if (flags == 0 || (flags & ~known) != 0 || ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == NULL) ||
	    ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0 && (addr == NULL || length == 0))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (verbs_is_inherited(mr->context)) {
		errno = EIO;
		return IBV_REREG_MR_ERR_CMD;
	}
	int err = hca_mr_rereg(self->hca, (uint32_t)flags, pd == NULL ? NULL : verbs_pd_of(pd)->hca, &attr);
	if (err != 0) {
		errno = base_err_to_errno(err);
		return IBV_REREG_MR_ERR_CMD;
	}
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		mr->addr = addr;
		mr->length = length;
	}
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
		mr->pd = pd;
		mr->context = pd->context;
	}
	mr->lkey = hca_mr_lkey(self->hca);
	mr->rkey = hca_mr_rkey(self->hca);
	return 0;
}

VERBS_PUBLIC int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (verbs_is_inherited(mr->context))
		return 0;
	int err = hca_mr_dereg(verbs_mr_of(mr)->hca);

	if (err != 0)
		return base_err_to_errno(err);
	verbs_handle_remove(VERBS_HANDLE_MR, mr->handle, verbs_mr_of(mr)->hca);
	free(mr);
	return 0;
}
