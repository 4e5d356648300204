/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Second handles of an object, within one process. Whichever handle destroys the object ends it for all; the others are then good
 * for unimport alone.
 */
#include "verbs/import.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/symbol.h"

enum { BUCKETS = 4096 };

struct handle {
	struct handle *next;
	enum verbs_handle_kind kind;
	uint32_t number;
	const struct hca_context *context;
	void *object; /* the adapter's */
};

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct handle *handles[BUCKETS];                          /* by number; guarded by handles_lock */

void verbs_handles_lock(void)
{
	pthread_mutex_lock(&handles_lock);
}

void verbs_handles_unlock(void)
{
	pthread_mutex_unlock(&handles_lock);
}

void verbs_handle_add(enum verbs_handle_kind kind, uint32_t number, const struct hca_context *context, void *object)
{
	struct handle *handle = malloc(sizeof(*handle));

	if (handle == NULL)
		return;
	*handle = (struct handle){ .kind = kind, .number = number, .context = context, .object = object };
	pthread_mutex_lock(&handles_lock);
	handle->next = handles[number % BUCKETS];
	handles[number % BUCKETS] = handle;
	pthread_mutex_unlock(&handles_lock);
}

void verbs_handle_remove(enum verbs_handle_kind kind, uint32_t number, const void *object)
{
	struct handle *found = NULL;

	pthread_mutex_lock(&handles_lock);
	for (struct handle **at = &handles[number % BUCKETS]; *at != NULL; at = &(*at)->next)
		if ((*at)->kind == kind && (*at)->number == number && (*at)->object == object) {
			found = *at;
			*at = found->next;
			break;
		}
	pthread_mutex_unlock(&handles_lock);
	free(found);
}

static void *find(enum verbs_handle_kind kind, uint32_t number, struct ibv_context *context)
{
	const struct hca_context *hca = verbs_context_of(context)->hca;
	void *object = NULL;

	pthread_mutex_lock(&handles_lock);
	for (struct handle *at = handles[number % BUCKETS]; at != NULL && object == NULL; at = at->next)
		if (at->kind == kind && at->number == number && at->context == hca)
			object = at->object;
	pthread_mutex_unlock(&handles_lock);
	if (object == NULL)
		base_explain("import refused: the context has no such object with handle %u", number);
	return object;
}

VERBS_PUBLIC struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	struct hca_pd *hca = find(VERBS_HANDLE_PD, pd_handle, context);
	struct verbs_pd *pd = hca == NULL ? NULL : calloc(1, sizeof(*pd));

	if (pd == NULL)
		return verbs_null(hca == NULL ? BASE_ERR_NOENT : BASE_ERR_NOMEM);
	pd->hca = hca;
	pd->ibv.context = context;
	pd->ibv.handle = pd_handle;
	return &pd->ibv;
}

VERBS_PUBLIC void ibv_unimport_pd(struct ibv_pd *pd)
{
	free(verbs_pd_of(pd));
}

/* Its address is the business of who registered it. */
VERBS_PUBLIC struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct hca_mr *hca = find(VERBS_HANDLE_MR, mr_handle, pd->context);
	struct verbs_mr *mr = hca == NULL ? NULL : calloc(1, sizeof(*mr));

	if (mr == NULL)
		return verbs_null(hca == NULL ? BASE_ERR_NOENT : BASE_ERR_NOMEM);
	mr->hca = hca;
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.length = hca_mr_length(hca);
	mr->ibv.handle = mr_handle;
	mr->ibv.lkey = hca_mr_lkey(hca);
	mr->ibv.rkey = hca_mr_rkey(hca);
	return &mr->ibv;
}

VERBS_PUBLIC void ibv_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_mr_of(mr));
}

VERBS_PUBLIC struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	if (verbs_is_inherited(context))
		return verbs_null_inherited();
	struct hca_dm *hca = find(VERBS_HANDLE_DM, dm_handle, context);
	struct verbs_dm *dm = hca == NULL ? NULL : calloc(1, sizeof(*dm));

	if (dm == NULL)
		return verbs_null(hca == NULL ? BASE_ERR_NOENT : BASE_ERR_NOMEM);
	dm->hca = hca;
	verbs_dm_init(dm, context);
	return &dm->ibv;
}

VERBS_PUBLIC void ibv_unimport_dm(struct ibv_dm *dm)
{
	free(verbs_dm_of(dm));
}
