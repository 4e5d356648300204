/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/sound.h"

#include "efa/device/device_internal.h"

static const char *check_pds(const struct efa_device *d)
{
	uint32_t live = 0;

	for (uint32_t pd = 0; pd < d->pds.count; pd++) {
		uint32_t references = 0;

		for (uint32_t i = 0; i < d->mrs.ids.fresh; i++)
			references += d->mrs.entries[i].live && d->mrs.entries[i].pd == pd;
		for (uint32_t i = 0; i < d->qps.count; i++)
			references += d->qps.entries[i].live && d->qps.entries[i].pd == pd;
		for (uint32_t i = 0; i < d->ahs.count; i++) {
			for (uint32_t k = 0; d->ahs.entries[i].live && k < d->ahs.entries[i].num_uses; k++)
				references += d->ahs.entries[i].uses[k].pd == pd ? d->ahs.entries[i].uses[k].count : 0;
		}
		if (d->pds.entries[pd].live ? d->pds.entries[pd].references != references : references != 0)
			return "references of a PD";
		live += d->pds.entries[pd].live;
	}
	return live == d->pds.live ? NULL : "count of PDs";
}

static const char *check_uars(const struct efa_device *d)
{
	for (uint32_t uar = 0; uar < d->uars.count; uar++) {
		const struct efa_uar *u = &d->uars.entries[uar];
		uint32_t references = 0, wanted = 0, slots = 0;

		for (uint32_t i = 0; i < d->qps.count; i++) {
			references += d->qps.entries[i].live && d->qps.entries[i].uar == uar;
			wanted += d->qps.entries[i].live && d->qps.entries[i].uar == uar ? 2 : 0;
		}
		for (uint32_t i = 0; i < d->cqs.count; i++) {
			references += d->cqs.entries[i].live && d->cqs.entries[i].uar == uar;
			wanted += d->cqs.entries[i].live && d->cqs.entries[i].uar == uar;
		}
		for (uint32_t i = 0; u->live && i < EFA_UAR_SLOTS; i++)
			slots += u->slots[i].kind != EFA_SLOT_FREE;
		if (u->references != references || slots != wanted || (!u->live && references != 0))
			return "references of a UAR";
	}
	return NULL;
}

static const char *check_cqs(const struct efa_device *d)
{
	for (uint32_t cq = 0; cq < d->cqs.count; cq++) {
		const struct efa_cq *c = &d->cqs.entries[cq];
		uint32_t references = 0;

		for (uint32_t i = 0; i < d->qps.count; i++)
			references += d->qps.entries[i].live ? (d->qps.entries[i].send_cq == cq) + (d->qps.entries[i].recv_cq == cq) : 0;
		if (c->live ? c->references != references : references != 0)
			return "references of a CQ";
		if (c->live && c->has_events && !d->eqs.entries[c->eqn].live)
			return "a CQ without its event queue";
	}
	for (uint32_t eq = 0; eq < d->eqs.count; eq++) {
		uint32_t references = 0;

		for (uint32_t i = 0; i < d->cqs.count; i++)
			references += d->cqs.entries[i].live && d->cqs.entries[i].has_events && d->cqs.entries[i].eqn == eq;
		if (d->eqs.entries[eq].live && d->eqs.entries[eq].references != references)
			return "references of an event queue";
	}
	return NULL;
}

static const char *check_qps(const struct efa_device *d)
{
	for (uint32_t i = 0; i < d->qps.count; i++) {
		const struct efa_qp *qp = &d->qps.entries[i];
		uint32_t under_way = 0, idle = 0;

		if (!qp->live)
			continue;
		for (const struct efa_device_send *s = qp->under_way; s != NULL; s = s->next, under_way++) {
			if (under_way > qp->sq_depth || s->qp != qp || (s->next != NULL && s->next->previous != s))
				return "a list of sends under way";
		}
		for (const struct efa_device_send *s = qp->free; s != NULL && idle <= qp->sq_depth; s = s->next)
			idle++;
		if (under_way != qp->num_under_way || under_way + idle != qp->sends_fresh || qp->sends_fresh > qp->sq_depth)
			return "the sends of a queue pair";
		if ((uint16_t)(qp->sq_posted - qp->sq_taken) > qp->sq_depth || (uint16_t)(qp->rq_posted - qp->rq_taken) > qp->rq_depth)
			return "counters of a queue pair";
		if (qp->sq_running || qp->state >= EFA_QPS_COUNT || qp->state == EFA_QPS_SQE)
			return "the state of a queue pair";
		if ((qp->state == EFA_QPS_ERR || qp->state == EFA_QPS_RESET) && under_way > 0)
			return "a queue pair that is stopped and sends";
	}
	return NULL;
}

static const char *check_mrs(const struct efa_device *d)
{
	uint32_t extents = 0, live = 0;

	for (uint32_t i = 0; i < d->mrs.ids.fresh; i++) {
		const struct efa_mr *mr = &d->mrs.entries[i];

		live += mr->live;
		extents += mr->live ? mr->pages.count : 0;
		if (mr->live && (mr->pages.count == 0 || mr->pages.extents[0].at != 0 || mr->length == 0))
			return "pages of a region";
		for (uint32_t k = 1; mr->live && k < mr->pages.count; k++) {
			if (mr->pages.extents[k].at <= mr->pages.extents[k - 1].at)
				return "order of a region's pages";
		}
	}
	return live == d->mrs.live && extents == d->mrs.extents ? NULL : "count of regions";
}

const char *efa_device_unsound(const struct efa_device *device)
{
	static const char *(*const checks[])(const struct efa_device *d) = { check_pds, check_uars, check_cqs, check_qps, check_mrs };
	const char *what = NULL;

	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && what == NULL; i++)
		what = checks[i](device);
	return what;
}
