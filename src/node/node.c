/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "node/node.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/random.h"
#include "node/node_internal.h"

struct node *node_create(const struct node_config *config)
{
	struct node *node = calloc(1, sizeof(*node));
	uint16_t start;

	if (node == NULL)
		return NULL;
	node->config = *config;
	node->link = config->link;
	node->control_fd = config->control_fd;
	node->kept_until = node->stall_check = BASE_NEVER;
	base_random_bytes(&start, sizeof(start));
	node->next_index = start;
	node->table = calloc(NODE_QPN_INDEXES, sizeof(struct node_flow *));
	if (node->table == NULL)
		goto free_node;
	if (node_thread_start(node) != 0)
		goto free_table;
	return node;
free_table:
	free(node->table);
free_node:
	free(node);
	return NULL;
}

/*
 * Progress until nothing is ready any more, nor will be soon (an ACK that waits for an answer, transport/rc_ack.h), or the time
 * is up. Lock held.
 */
static void linger_until(struct node *node, struct node_flow *flow, uint64_t give_up)
{
	do {
		if (flow != NULL)
			node_ready(node, flow);
		node_progress(node, NODE_LOOK_ALL);
		if (flow != NULL ? !flow->ops->wants_room(flow, node->now + NODE_HELD_MAX) :
				   node->ready.first == NULL && node_timers_next(&node->timers) > node->now + NODE_HELD_MAX)
			return;
	} while (node->now < give_up);
}

void node_linger(struct node *node)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	linger_until(node, NULL, base_clock_now() + NODE_LINGER_MAX);
	node_lock_give(&node->lock);
}

void node_destroy(struct node *node)
{
	if (node == NULL)
		return;
	if (!atomic_load(&node->dead)) {
		node_thread_stop(node);
		node_linger(node);
		link_destroy(node->link);
		node_timers_fini(&node->timers);
		free(node->table);
		free(node);
	}
	/* A fork child leaves the parent's engine alone: its memory is a copy that goes with the process. */
}

void node_lock(struct node *node)
{
	if (!atomic_load_explicit(&node->dead, memory_order_relaxed))
		node_lock_take(&node->lock);
}

void node_unlock(struct node *node)
{
	if (atomic_load_explicit(&node->dead, memory_order_relaxed))
		return;
	node->now = base_clock_now();
	if (node->ready.first != NULL || node->touched.first != NULL)
		node_progress(node, 0);
	node_release(node);
}

struct link *node_link(struct node *node)
{
	return node->link;
}

int node_flow_add(struct node *node, struct node_flow *flow)
{
	int err = BASE_ERR_NOMEM;

	if (atomic_load(&node->dead))
		return BASE_ERR_GONE;
	node_lock_take(&node->lock);
	if (node->flows < NODE_QPN_INDEXES &&
	    node_timers_grow(&node->timers, node->flows + node->plain_timers + 1) == 0) {
		while (node->table[node->next_index] != NULL)
			node->next_index = (node->next_index + 1) % NODE_QPN_INDEXES;
		flow->qpn = (uint32_t)node->config.slot << 16 | node->next_index;
		flow->path.kind = LINK_NOWHERE;
		flow->path.qpn = flow->qpn;
		flow->timer_index = -1;
		flow->ready = flow->touched = flow->waiting = false;
		atomic_store(&flow->kicked, false);
		node->table[node->next_index] = flow;
		node->next_index = (node->next_index + 1) % NODE_QPN_INDEXES;
		node->flows++;
		err = 0;
	}
	node_lock_give(&node->lock);
	return err;
}

int node_timer_add(struct node *node, struct node_flow *timer)
{
	if (atomic_load(&node->dead))
		return BASE_ERR_GONE;
	node_lock_take(&node->lock);
	int err = node_timers_grow(&node->timers, node->flows + node->plain_timers + 1);
	if (err == 0) {
		node->plain_timers++;
		timer->path.kind = LINK_NOWHERE;
		timer->timer_index = -1;
		timer->ready = timer->touched = timer->waiting = false;
		atomic_store(&timer->kicked, false);
	}
	node_lock_give(&node->lock);
	return err;
}

void node_timer_remove(struct node *node, struct node_flow *timer)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	node_forget(node, timer);
	node->plain_timers--;
	node_release(node);
}

void node_timer_changed(struct node *node, struct node_flow *timer)
{
	node_touch(node, timer);
}

/* Flows that UDP may reach are why pollers look at the socket. */
static void count_udp(struct node *node, const struct node_flow *flow, int change)
{
	if (flow->path.kind != LINK_UDP)
		return;
	if (flow->ops->next_path != NULL)
		node->any_flows += (uint32_t)change;
	else
		node->udp_flows += (uint32_t)change;
}

void node_flow_remove(struct node *node, struct node_flow *flow, bool linger)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	if (linger && flow->path.kind != LINK_NOWHERE && flow->ops->wants_room(flow, base_clock_now() + NODE_HELD_MAX))
		linger_until(node, flow, base_clock_now() + NODE_LINGER_MAX);
	node_forget(node, flow);
	count_udp(node, flow, -1);
	node->table[flow->qpn & (NODE_QPN_INDEXES - 1)] = NULL;
	node->flows--;
	node_release(node);
}

void node_group_add(struct node *node, struct node_flow *groups)
{
	groups->group_next = node->groups;
	node->groups = groups;
}

void node_group_remove(struct node *node, struct node_flow *groups)
{
	struct node_flow **at = &node->groups;

	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	while (*at != NULL && *at != groups)
		at = &(*at)->group_next;
	if (*at != NULL)
		*at = groups->group_next;
	node_release(node);
}

struct node_flow *node_flow_find(struct node *node, uint32_t qpn)
{
	return qpn >> 16 == node->config.slot ? node->table[qpn & (NODE_QPN_INDEXES - 1)] : NULL;
}

void node_flow_path(struct node *node, struct node_flow *flow, const struct link_path *path)
{
	count_udp(node, flow, -1);
	flow->path = *path;
	flow->path.qpn = flow->qpn;
	count_udp(node, flow, 1);
	/* Datagrams may come as frames, too; where they may not, that was said to whoever chose such a path. */
	if (flow->ops->next_path != NULL && path->kind != LINK_NOWHERE)
		(void)link_raw_listen(node->link);
}

void node_kick(struct node *node, struct node_flow *flow)
{
	if (atomic_load_explicit(&node->dead, memory_order_relaxed))
		return;
	if (!atomic_exchange(&flow->kicked, true)) {
		struct node_flow *head = atomic_load_explicit(&node->kicked, memory_order_relaxed);

		do
			flow->kicked_next = head;
		while (!atomic_compare_exchange_weak(&node->kicked, &head, flow));
	}
	/* Flagged before the try; the holder looks again after its unlock. */
	if (!node_lock_try(&node->lock))
		return;
	int cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* nobody leaves with the lock */
	node_progress(node, 0);
	node_release(node);
	pthread_setcancelstate(cancel, NULL);
}

void node_schedule(struct node *node, struct node_flow *flow)
{
	node_ready(node, flow);
	node_touch(node, flow);
}

/*
 * Many processes may spin on few processors: a thread that polls in vain gives its turn away, at first after 16 polls. A
 * yield that comes back at once found nobody waiting, so the next one may come later; one that took long brings the 16
 * back.
 */
static void yield_after_empty_poll(void)
{
	static _Thread_local uint32_t empty, limit = NODE_EMPTY_POLLS;

	if (++empty < limit)
		return;
	uint64_t before = base_clock_now();
	sched_yield();
	empty = 0;
	if (base_clock_now() - before >= NODE_YIELD_SHORT)
		limit = NODE_EMPTY_POLLS;
	else if (limit < NODE_EMPTY_POLLS_ALONE)
		limit *= 2;
}

bool node_poll(struct node *node)
{
	if (atomic_load_explicit(&node->dead, memory_order_relaxed))
		return false;
	atomic_store_explicit(&node->polls, atomic_load_explicit(&node->polls, memory_order_relaxed) + 1, memory_order_relaxed);
	if (node_lock_is_wanted(&node->lock) || !node_lock_try(&node->lock)) {
		yield_after_empty_poll();
		return true;
	}
	int cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* nobody leaves with the lock */
	unsigned done = node_progress(node, node_poll_looks(node));
	node_release(node);
	pthread_setcancelstate(cancel, NULL);
	if (done == 0)
		yield_after_empty_poll();
	return done > 0;
}

void node_expect_wakeups(struct node *node)
{
	if (atomic_load_explicit(&node->dead, memory_order_relaxed) ||
	    atomic_load_explicit(&node->thread_mode, memory_order_relaxed) == NODE_THREAD_ARMED)
		return;
	if (!atomic_exchange(&node->arm_wanted, true))
		node_thread_poke(node);
}

void node_peer_gone(struct node *node, uint8_t slot)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	/* What the peer wrote before it died still counts: drain, a bounded number of rounds (its ring holds no more). */
	node->no_keeping = true;
	for (int rounds = 0; rounds < 256 && node_progress(node, NODE_LOOK_ALL) > 0; rounds++)
		;
	node->no_keeping = false;
	link_shm_detach(node->link, slot);
	node->pairs[slot].refused = 0;
	node_pair_settled(node, slot);
	for (uint32_t index = 0; index < NODE_QPN_INDEXES; index++) {
		struct node_flow *flow = node->table[index];

		if (flow == NULL || flow->path.kind != LINK_SHM || (flow->path.dest_qpn >> 16) != slot)
			continue;
		flow->path.kind = LINK_NOWHERE;
		if (flow->waiting)
			node_forget(node, flow);
		flow->ops->peer_gone(flow, node->now);
		node_schedule(node, flow);
	}
	node_progress(node, 0);
	node_release(node);
}

void node_pair_arrived(struct node *node, uint8_t slot)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	node->pairs[slot].refused = 0;
	node_pair_settled(node, slot);
	node_progress(node, 0);
	node_release(node);
}

void node_pair_refused(struct node *node, uint8_t slot)
{
	if (atomic_load(&node->dead))
		return;
	node_lock_take(&node->lock);
	node->now = base_clock_now();
	node->pairs[slot].refused = node->now;
	node_pair_settled(node, slot);
	node_progress(node, 0);
	node_release(node);
}

void node_fork_prepare(struct node *node)
{
	if (!atomic_load(&node->dead))
		node_lock_take(&node->lock);
}

void node_fork_parent(struct node *node)
{
	if (!atomic_load(&node->dead))
		node_release(node);
}

void node_fork_child(struct node *node)
{
	atomic_store(&node->dead, true);
	/* The thread is not here; its descriptors are the parent's business, but they must not leak into the child. */
	close(node->poke_eventfd);
	close(node->epoll_armed);
	close(node->epoll_look_in);
}
