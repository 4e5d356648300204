/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Device memory: ibv_alloc_dm, its copies, ibv_reg_dm_mr. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/import.h"
#include "verbs/object.h"
#include "verbs/ops.h"

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	return base_err_to_errno(hca_dm_copy_to(verbs_dm_of(dm)->hca, offset, from, length));
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	return base_err_to_errno(hca_dm_copy_from(verbs_dm_of(dm)->hca, offset, to, length));
}

void verbs_dm_init(struct verbs_dm *dm, struct ibv_context *context)
{
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = memcpy_to_dm;
	dm->ibv.memcpy_from_dm = memcpy_from_dm;
	dm->ibv.handle = hca_dm_number(dm->hca);
}

/* Also in a fork child, for itself: it takes no lock that may have been held at the fork, and rdma-core's tests do so. */
struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	if (attr->comp_mask != 0)
		return verbs_null(BASE_ERR_INVAL);
	struct verbs_dm *dm = calloc(1, sizeof(*dm));

	if (dm == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_dm_alloc(verbs_context_of(context)->hca, attr->length, attr->log_align_req, &dm->hca);
	if (err != 0) {
		free(dm);
		return verbs_null(err);
	}
	verbs_dm_init(dm, context);
	if (!verbs_is_inherited(context))
		verbs_handle_add(VERBS_HANDLE_DM, dm->ibv.handle, verbs_context_of(context)->hca, dm->hca);
	return &dm->ibv;
}

/* A fork child frees its copy only: the device is its parent's. */
int verbs_free_dm(struct ibv_dm *dm)
{
	bool inherited = verbs_is_inherited(dm->context);
	int err = hca_dm_free(verbs_dm_of(dm)->hca);

	if (inherited)
		err = 0;
	else if (err == 0)
		verbs_handle_remove(VERBS_HANDLE_DM, dm->handle, verbs_dm_of(dm)->hca);
	if (err == 0)
		free(dm);
	return base_err_to_errno(err);
}

struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	int err = hca_mr_reg_dm(verbs_pd_of(pd)->hca, verbs_dm_of(dm)->hca, offset, length, access, mr, &mr->hca);
	return verbs_mr_init(mr, pd, NULL, length, err);
}
