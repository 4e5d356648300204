/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Targets and their openers. */
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/qp_internal.h"
#include "hca/xrc.h"
#include "hca/xrc_internal.h"

static struct hca_xrc_opener *opener_create(struct hca_xrcd *xrcd, void *user)
{
	struct hca_xrc_opener *opener = calloc(1, sizeof(*opener));

	if (opener == NULL)
		return NULL;
	opener->xrcd = xrcd;
	hca_async_source_init(&opener->source, xrcd->context, user);
	return opener;
}

/* Progress lock held. */
static void opener_enter(struct hca_xrc_opener *opener, struct hca_qp *qp)
{
	opener->qp = qp;
	opener->next = qp->xrc_openers;
	qp->xrc_openers = opener;
	atomic_fetch_add(&opener->xrcd->users, 1);
}

int hca_xrc_target_create(struct hca_xrcd *xrcd, struct hca_qp_init *init, void *user, struct hca_qp **qp,
			  struct hca_xrc_opener **out)
{
	struct hca_xrc_domain *domain = xrcd->domain;
	const struct hca_engine *engine = &domain->device->config.engine;
	struct hca_xrc_opener *opener = opener_create(xrcd, user);
	struct hca_qp_init bare = { .type = HCA_QPT_XRC_RECV, .send_cq = domain->cq, .recv_cq = domain->cq };
	int err;

	if (opener == NULL)
		return BASE_ERR_NOMEM;
	/* It has no queues of its own: what was asked of them is not looked at. */
	err = hca_qp_create(domain->pd, &bare, qp);
	if (err != 0) {
		free(opener);
		return err;
	}
	engine->ops->lock(engine->context);
	(*qp)->xrc = domain;
	opener_enter(opener, *qp);
	(*qp)->xrc_next = domain->targets;
	domain->targets = *qp;
	engine->ops->unlock(engine->context);
	init->cap = (struct hca_qp_cap){ 0 };
	*out = opener;
	return 0;
}

int hca_xrc_target_open(struct hca_xrcd *xrcd, uint32_t qpn, void *user, struct hca_qp **qp, struct hca_xrc_opener **out)
{
	struct hca_xrc_domain *domain = xrcd->domain;
	const struct hca_engine *engine = &domain->device->config.engine;
	struct hca_xrc_opener *opener = opener_create(xrcd, user);

	if (opener == NULL)
		return BASE_ERR_NOMEM;
	engine->ops->lock(engine->context);
	struct hca_qp *target = domain->targets;
	/* Without an opener it is about to end. */
	while (target != NULL && (target->flow.qpn != qpn || target->xrc_openers == NULL))
		target = target->xrc_next;
	if (target != NULL)
		opener_enter(opener, target);
	engine->ops->unlock(engine->context);
	if (target == NULL) {
		base_explain("open of QP 0x%06x refused: the XRC domain has no target of this number", qpn);
		free(opener);
		return BASE_ERR_INVAL;
	}
	*qp = target;
	*out = opener;
	return 0;
}

void hca_xrc_target_close(struct hca_xrc_opener *opener)
{
	struct hca_qp *qp = opener->qp;
	struct hca_xrc_domain *domain = opener->xrcd->domain;
	const struct hca_engine *engine = &domain->device->config.engine;

	engine->ops->lock(engine->context);
	for (struct hca_xrc_opener **at = &qp->xrc_openers; *at != NULL; at = &(*at)->next)
		if (*at == opener) {
			*at = opener->next;
			break;
		}
	bool is_last = qp->xrc_openers == NULL;
	engine->ops->unlock(engine->context);
	if (is_last)
		hca_qp_destroy(qp);
	hca_async_source_fini(&opener->source);
	atomic_fetch_sub(&opener->xrcd->users, 1);
	free(opener);
}

void hca_xrc_target_leave(struct hca_qp *qp)
{
	struct hca_xrc_domain *domain = qp->xrc;
	const struct hca_engine *engine = &domain->device->config.engine;

	engine->ops->lock(engine->context);
	/* It gives back what it took before an SRQ can go without asking it. */
	hca_qp_receives_forget(qp);
	for (struct hca_qp **at = &domain->targets; *at != NULL; at = &(*at)->xrc_next)
		if (*at == qp) {
			*at = qp->xrc_next;
			break;
		}
	engine->ops->unlock(engine->context);
}

void hca_xrc_target_raise(struct hca_qp *qp, enum hca_async_type type)
{
	for (struct hca_xrc_opener *opener = qp->xrc_openers; opener != NULL; opener = opener->next)
		hca_async_raise(&opener->source, type);
}

void *hca_xrc_opener_async_token(struct hca_xrc_opener *opener)
{
	return &opener->source;
}
