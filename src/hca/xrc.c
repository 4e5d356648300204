/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains, and the SRQs in them. */
#include "hca/xrc.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/random.h"
#include "hca/qp_internal.h"
#include "hca/xrc_internal.h"

enum { NUMBER_MASK = 0xffffff };

static void domain_free(struct hca_xrc_domain *domain)
{
	if (domain->cq != NULL)
		hca_cq_destroy(domain->cq);
	if (domain->pd != NULL)
		hca_pd_dealloc(domain->pd);
	pthread_cond_destroy(&domain->context.async_acked);
	pthread_mutex_destroy(&domain->context.async_lock);
	free(domain);
}

static int domain_create(struct hca_device *device, const struct hca_xrcd_key *key, struct hca_xrc_domain **out)
{
	struct hca_xrc_domain *domain = calloc(1, sizeof(*domain));
	struct hca_cq_attr cq = { .cqe = 1 };

	if (domain == NULL)
		return BASE_ERR_NOMEM;
	domain->device = device;
	domain->is_keyed = key != NULL;
	if (key != NULL)
		domain->key = *key;
	domain->context.device = device;
	domain->context.async_fd = -1;
	pthread_mutex_init(&domain->context.async_lock, NULL);
	pthread_cond_init(&domain->context.async_acked, NULL);
	int err = hca_pd_alloc(&domain->context, NULL, &domain->pd);
	if (err == 0)
		err = hca_cq_create(&domain->context, &cq, &domain->cq);
	if (err != 0) {
		domain_free(domain);
		return err;
	}
	*out = domain;
	return 0;
}

/* The device's lock is held. */
static int domain_get(struct hca_device *device, const struct hca_xrcd_key *key, struct hca_xrc_domain **out)
{
	struct hca_xrc_domain *domain = key == NULL ? NULL : device->xrc_domains;

	while (domain != NULL && !(domain->is_keyed && domain->key.device == key->device && domain->key.inode == key->inode))
		domain = domain->next;
	if (domain != NULL && key->exclusive)
		return BASE_ERR_INVAL;
	if (domain == NULL && key != NULL && !key->create)
		return BASE_ERR_AGAIN;
	if (domain == NULL) {
		int err = domain_create(device, key, &domain);

		if (err != 0)
			return err;
		domain->next = device->xrc_domains;
		device->xrc_domains = domain;
	}
	domain->references++;
	*out = domain;
	return 0;
}

int hca_xrcd_open(struct hca_context *context, const struct hca_xrcd_key *key, struct hca_xrcd **out)
{
	struct hca_device *device = context->device;
	struct hca_xrcd *xrcd = calloc(1, sizeof(*xrcd));

	if (xrcd == NULL)
		return BASE_ERR_NOMEM;
	pthread_mutex_lock(&device->lock);
	int err = domain_get(device, key, &xrcd->domain);
	pthread_mutex_unlock(&device->lock);
	if (err != 0) {
		free(xrcd);
		return err;
	}
	xrcd->context = context;
	atomic_fetch_add(&context->objects, 1);
	*out = xrcd;
	return 0;
}

int hca_xrcd_close(struct hca_xrcd *xrcd)
{
	struct hca_xrc_domain *domain = xrcd->domain;
	struct hca_device *device = domain->device;

	if (atomic_load(&xrcd->users) != 0)
		return BASE_ERR_BUSY;
	pthread_mutex_lock(&device->lock);
	bool is_last = --domain->references == 0;
	for (struct hca_xrc_domain **at = &device->xrc_domains; is_last && *at != NULL; at = &(*at)->next)
		if (*at == domain) {
			*at = domain->next;
			break;
		}
	pthread_mutex_unlock(&device->lock);
	/* Each SRQ and target has a user of some reference: nothing is left in it. */
	if (is_last)
		domain_free(domain);
	atomic_fetch_sub(&xrcd->context->objects, 1);
	free(xrcd);
	return 0;
}

struct hca_srq *hca_xrc_srq_find(const struct hca_xrc_domain *domain, uint32_t number)
{
	struct hca_srq *srq = domain->srqs[number % HCA_XRC_BUCKETS];

	while (srq != NULL && srq->number != number)
		srq = srq->next;
	return srq;
}

/* Numbers rise from a random one, so that one out of an earlier life finds nobody. */
static void srq_enter(struct hca_xrc_domain *domain, struct hca_srq *srq)
{
	static uint32_t last; /* progress lock */
	const struct hca_engine *engine = &domain->device->config.engine;
	uint32_t number;

	engine->ops->lock(engine->context);
	if (last == 0)
		base_random_bytes(&last, sizeof(last));
	do
		number = ++last & NUMBER_MASK;
	while (number == 0 || hca_xrc_srq_find(domain, number) != NULL);
	srq->number = number;
	srq->next = domain->srqs[number % HCA_XRC_BUCKETS];
	domain->srqs[number % HCA_XRC_BUCKETS] = srq;
	engine->ops->unlock(engine->context);
}

void hca_xrc_srq_leave(struct hca_srq *srq)
{
	struct hca_xrc_domain *domain = srq->xrcd->domain;
	const struct hca_engine *engine = &domain->device->config.engine;

	engine->ops->lock(engine->context);
	for (struct hca_srq **at = &domain->srqs[srq->number % HCA_XRC_BUCKETS]; *at != NULL; at = &(*at)->next)
		if (*at == srq) {
			*at = srq->next;
			break;
		}
	for (struct hca_qp *qp = domain->targets; qp != NULL; qp = qp->xrc_next)
		hca_qp_srq_gone(qp, srq);
	engine->ops->unlock(engine->context);
	atomic_fetch_sub(&srq->cq->users, 1);
	atomic_fetch_sub(&srq->xrcd->users, 1);
}

int hca_xrc_srq_create(struct hca_xrcd *xrcd, struct hca_pd *pd, struct hca_cq *cq, struct hca_srq_attr *attr, void *user,
		       struct hca_srq **out)
{
	struct hca_srq *srq;

	if (pd->context != xrcd->context || cq->context != xrcd->context)
		return BASE_ERR_INVAL;
	int err = hca_srq_create(pd, attr, user, &srq);
	if (err != 0)
		return err;
	srq->xrcd = xrcd;
	srq->cq = cq;
	atomic_fetch_add(&xrcd->users, 1);
	atomic_fetch_add(&cq->users, 1);
	srq_enter(xrcd->domain, srq);
	*out = srq;
	return 0;
}

uint32_t hca_xrc_srq_number(const struct hca_srq *srq)
{
	return srq->number;
}
