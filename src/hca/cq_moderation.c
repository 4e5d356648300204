/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moderation of a completion queue's events. The count is looked at when an entry is added; the period is a timer of the engine,
 * a flow without packets that exists from the first hca_cq_moderate() on.
 */
#include "base/clock.h"
#include "base/err.h"
#include "hca/cq_internal.h"

static struct hca_cq *cq_of(struct node_flow *timer)
{
	return (struct hca_cq *)(void *)((char *)timer - offsetof(struct hca_cq, timer));
}

static uint64_t timer_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	return 0;
}

static int timer_next(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out,
		      size_t *used)
{
	return 0;
}

static bool timer_wants_room(struct node_flow *flow, uint64_t now)
{
	return false;
}

static void timer_publish(struct node_flow *flow)
{
}

static uint64_t timer_deadline(struct node_flow *flow)
{
	struct hca_cq *cq = cq_of(flow);

	pthread_mutex_lock(&cq->lock);
	uint64_t at = cq->moderation.fire_at;
	pthread_mutex_unlock(&cq->lock);
	return at;
}

/* What is held back counts as told. CQ lock held. */
static void release(struct hca_cq *cq)
{
	cq->armed = HCA_CQ_NOT_ARMED;
	cq->moderation.held = 0;
	cq->moderation.fire_at = BASE_NEVER;
}

static void timer_tick(struct node_flow *flow, uint64_t now, uint64_t excused_ns)
{
	struct hca_cq *cq = cq_of(flow);

	pthread_mutex_lock(&cq->lock);
	bool due = cq->moderation.fire_at <= now;
	if (due)
		release(cq);
	pthread_mutex_unlock(&cq->lock);
	if (due && cq->channel != NULL)
		hca_channel_fire(cq->channel, cq);
}

static void timer_peer_gone(struct node_flow *flow, uint64_t now)
{
}

static const struct node_flow_ops timer_ops = {
	.receive = timer_receive,
	.next = timer_next,
	.wants_room = timer_wants_room,
	.publish = timer_publish,
	.deadline = timer_deadline,
	.tick = timer_tick,
	.peer_gone = timer_peer_gone,
};

void hca_cq_moderation_init(struct hca_cq *cq)
{
	cq->moderation.fire_at = BASE_NEVER;
	cq->timer.ops = &timer_ops;
	pthread_mutex_init(&cq->moderation_lock, NULL);
}

void hca_cq_moderation_fini(struct hca_cq *cq)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);

	if (cq->has_timer)
		engine->ops->timer_remove(engine->context, &cq->timer);
	pthread_mutex_destroy(&cq->moderation_lock);
}

bool hca_cq_moderation_passes(struct hca_cq *cq, uint64_t now, bool *later)
{
	struct hca_cq_moderation *m = &cq->moderation;

	if (m->count > 1 && ++m->held < m->count) {
		if (m->held == 1) {
			m->fire_at = now + m->period_ns;
			*later = true;
		}
		return false;
	}
	release(cq);
	return true;
}

/* A timer that is there stays: the queue was moderated once and may be again. */
static int timer_make(struct hca_cq *cq)
{
	const struct hca_engine *engine = hca_context_engine(cq->context);
	int err = cq->has_timer ? 0 : engine->ops->timer_add(engine->context, &cq->timer);

	cq->has_timer = err == 0;
	return err;
}

int hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t period_us)
{
	bool on = count > 1 && period_us > 0, fire;
	int err = 0;

	pthread_mutex_lock(&cq->moderation_lock);
	if (on)
		err = timer_make(cq);
	if (err == 0) {
		pthread_mutex_lock(&cq->lock);
		cq->moderation.count = on ? count : 0;
		cq->moderation.period_ns = period_us * BASE_USEC;
		/* What the old rule held back is told now. */
		fire = cq->moderation.held > 0;
		if (fire)
			release(cq);
		pthread_mutex_unlock(&cq->lock);
		if (fire && cq->channel != NULL)
			hca_channel_fire(cq->channel, cq);
	}
	pthread_mutex_unlock(&cq->moderation_lock);
	return err;
}
