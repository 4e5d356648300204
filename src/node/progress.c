/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Theory of operation: one round.
 *
 *   kicked (LIFO, any thread) --> ready --> pump: reserve room, let the flow fill it, commit --> flush
 *                                  ^  \--> waiting (the link had no room) --room--> ready
 *   links --> receive --> touched -+
 *   timers --> tick ------> touched --> publish: completions become visible
 *
 * The order inside a round is the promise of the architecture: data is placed (receive), owed ACKs have their chance to
 * leave (pump, flush), then completions are published. Every step is bounded; what is left stays in its list, and
 * node_release() sees to it that somebody goes on. Nothing here waits.
 */
#include <stddef.h>

#include "base/err.h"
#include "node/node_internal.h"

static void queue_push(struct node_queue *queue, struct node_flow *flow, size_t link_offset)
{
	struct node_flow **link = (struct node_flow **)(void *)((char *)flow + link_offset);

	*link = NULL;
	if (queue->last == NULL)
		queue->first = flow;
	else
		*(struct node_flow **)(void *)((char *)queue->last + link_offset) = flow;
	queue->last = flow;
}

static struct node_flow *queue_pop(struct node_queue *queue, size_t link_offset)
{
	struct node_flow *flow = queue->first;

	if (flow != NULL) {
		queue->first = *(struct node_flow **)(void *)((char *)flow + link_offset);
		if (queue->first == NULL)
			queue->last = NULL;
	}
	return flow;
}

static void queue_remove(struct node_queue *queue, struct node_flow *flow, size_t link_offset)
{
	struct node_queue kept = { 0 };
	struct node_flow *each;

	while ((each = queue_pop(queue, link_offset)) != NULL)
		if (each != flow)
			queue_push(&kept, each, link_offset);
	*queue = kept;
}

#define READY_LINK offsetof(struct node_flow, ready_next)
#define TOUCHED_LINK offsetof(struct node_flow, touched_next)
#define WAITING_LINK offsetof(struct node_flow, waiting_next)

void node_ready(struct node *node, struct node_flow *flow)
{
	if (flow->ready || flow->waiting)
		return;
	flow->ready = true;
	queue_push(&node->ready, flow, READY_LINK);
}

void node_touch(struct node *node, struct node_flow *flow)
{
	if (flow->touched)
		return;
	flow->touched = true;
	queue_push(&node->touched, flow, TOUCHED_LINK);
}

static void take_kicks(struct node *node)
{
	struct node_flow *flow = atomic_exchange_explicit(&node->kicked, NULL, memory_order_acquire);

	while (flow != NULL) {
		struct node_flow *next = flow->kicked_next;

		/* From here on a new post kicks again: cleared before the flow is asked for packets. */
		atomic_exchange(&flow->kicked, false);
		node_ready(node, flow);
		flow = next;
	}
}

void node_forget(struct node *node, struct node_flow *flow)
{
	take_kicks(node);
	if (flow->ready)
		queue_remove(&node->ready, flow, READY_LINK);
	if (flow->touched)
		queue_remove(&node->touched, flow, TOUCHED_LINK);
	if (flow->waiting)
		queue_remove(&node->waiting, flow, WAITING_LINK);
	flow->ready = flow->touched = flow->waiting = false;
	node_timers_remove(&node->timers, flow);
}

/* The flows behind a group schedule those of its QPs that took something. */
static void group_arrived(struct node *node, const struct link_rx *rx)
{
	uint64_t taken = 0;

	node->received_bytes += rx->run.head.payload_len;
	for (struct node_flow *flow = node->groups; flow != NULL; flow = flow->group_next)
		taken += flow->ops->receive(flow, node->now, rx, false);
	if (taken == 0)
		atomic_fetch_add_explicit(node->config.unknown_qpn, 1, memory_order_relaxed);
	if (rx->kind == LINK_UDP)
		node->any_hot = NODE_ANY_HOT;
}

static void arrived(void *context, const struct link_rx *rx)
{
	struct node *node = context;
	struct node_flow *flow = node_flow_find(node, rx->run.head.bth.dest_qpn);

	if (rx->run.head.bth.dest_qpn == WIRE_QPN_MULTICAST) {
		group_arrived(node, rx);
		return;
	}
	if (flow == NULL) {
		atomic_fetch_add_explicit(node->config.unknown_qpn, 1, memory_order_relaxed);
		return;
	}
	node->received_bytes += rx->run.head.payload_len;
	/* Only a ring can hold something back, and only for its own sender. */
	uint64_t again = flow->ops->receive(flow, node->now, rx, rx->kind == LINK_SHM && !node->no_keeping);
	if (again != 0) {
		link_keep(node->link);
		if (again < node->kept_until)
			node->kept_until = again;
	}
	if (rx->kind == LINK_UDP)
		node->any_hot = NODE_ANY_HOT;
	node_touch(node, flow);
}

/*
 * How much of the time since the flow's last tick must not be charged to its peer: all of it if the peer (same host)
 * stood still, else the time by which this process itself came late to the timer.
 */
static uint64_t excused_time(struct node *node, struct node_flow *flow, uint64_t due)
{
	uint64_t late = node->now > due ? node->now - due : 0;

	if (flow->path.kind == LINK_SHM) {
		uint64_t progress = link_shm_peer_progress(node->link, (uint8_t)(flow->path.dest_qpn >> 16));
		bool stood_still = progress == flow->peer_progress;

		flow->peer_progress = progress;
		if (stood_still)
			return node->now - flow->last_tick;
	}
	return late > BASE_MSEC ? late : 0;
}

static void rearm(struct node *node, struct node_flow *flow)
{
	uint64_t deadline = flow->ops->deadline(flow);

	if (flow->timer_index < 0)
		flow->last_tick = node->now;
	node_timers_set(&node->timers, flow, deadline);
}

static unsigned run_timers(struct node *node)
{
	struct node_flow *flow;
	unsigned done = 0;

	while (done < NODE_TIMER_BUDGET && (flow = node_timers_take_due(&node->timers, node->now)) != NULL) {
		uint64_t due = flow->ops->deadline(flow);

		if (due <= node->now) {
			uint64_t excused = excused_time(node, flow, due);

			flow->last_tick = node->now;
			flow->ops->tick(flow, node->now, excused);
			node_ready(node, flow);
			node_touch(node, flow);
			done++;
		} else if (due != BASE_NEVER) {
			node_timers_set(&node->timers, flow, due);
		}
	}
	return done;
}

/* A lossy flow waits for this peer to read: from now on it has to move. */
static void stall_watch(struct node *node, uint8_t slot)
{
	if (node->pairs[slot].progress_at != 0)
		return;
	node->pairs[slot].progress = link_shm_peer_progress(node->link, slot);
	node->pairs[slot].progress_at = node->now;
	if (node->now + NODE_STALL < node->stall_check)
		node->stall_check = node->now + NODE_STALL;
}

/* Does the peer still stand where it stalled? */
static bool is_stalled(struct node *node, uint8_t slot)
{
	if (node->pairs[slot].stalled && link_shm_peer_progress(node->link, slot) != node->pairs[slot].progress)
		node->pairs[slot].stalled = false;
	return node->pairs[slot].stalled;
}

static void wait_for(struct node *node, struct node_flow *flow, const struct link_path *path, bool pair)
{
	if (!pair)
		link_want_room(node->link, path);
	flow->waiting = true;
	flow->wait_kind = path->kind;
	flow->wait_slot = (uint8_t)(path->dest_qpn >> 16);
	flow->wait_pair = pair;
	queue_push(&node->waiting, flow, WAITING_LINK);
	if (!pair && path->kind == LINK_SHM && flow->ops->lossy)
		stall_watch(node, flow->wait_slot);
}

static void end_of_waiting(struct node *node)
{
	uint64_t slots[4] = { 0 };
	bool udp = false;

	/* Always asked: it also sends what a full socket left queued. */
	if (!link_room_take(node->link, slots, &udp))
		return;
	struct node_queue still = { 0 };
	struct node_flow *flow;
	while ((flow = queue_pop(&node->waiting, WAITING_LINK)) != NULL) {
		unsigned slot = flow->wait_slot;
		bool has_room = flow->wait_kind == LINK_UDP || flow->wait_kind == LINK_RAW ? udp :
				flow->wait_kind == LINK_SHM ? (slots[slot / 64] >> (slot % 64) & 1) != 0 : true;

		if (!has_room || flow->wait_pair) {
			queue_push(&still, flow, WAITING_LINK);
			continue;
		}
		if (flow->wait_kind == LINK_SHM)
			node->pairs[slot].progress_at = 0;
		flow->waiting = false;
		node_ready(node, flow);
	}
	node->waiting = still;
}

/* Looks at the peers that lossy flows wait for. Those that stood still for too long are waited for no more. */
static void check_stalls(struct node *node)
{
	struct node_queue still = { 0 };
	struct node_flow *flow;

	node->stall_check = BASE_NEVER;
	while ((flow = queue_pop(&node->waiting, WAITING_LINK)) != NULL) {
		uint8_t slot = flow->wait_slot;
		uint64_t progress = link_shm_peer_progress(node->link, slot);

		if (flow->wait_pair || flow->wait_kind != LINK_SHM || !flow->ops->lossy) {
			queue_push(&still, flow, WAITING_LINK);
			continue;
		}
		if (node->pairs[slot].progress_at != 0 && progress != node->pairs[slot].progress) {
			node->pairs[slot].progress = progress;
			node->pairs[slot].progress_at = node->now;
		}
		if (node->pairs[slot].stalled || node->now - node->pairs[slot].progress_at >= NODE_STALL) {
			node->pairs[slot].stalled = true;
			flow->waiting = false;
			node_ready(node, flow);
			continue;
		}
		if (node->pairs[slot].progress_at + NODE_STALL < node->stall_check)
			node->stall_check = node->pairs[slot].progress_at + NODE_STALL;
		queue_push(&still, flow, WAITING_LINK);
	}
	node->waiting = still;
	for (unsigned slot = 0; slot < NODE_SLOTS; slot++)
		if (node->pairs[slot].stalled)
			node->pairs[slot].progress_at = 0;
}

void node_pair_settled(struct node *node, uint8_t slot)
{
	struct node_queue still = { 0 };
	struct node_flow *flow;

	node->pairs[slot].asked = node->pairs[slot].stalled = false;
	node->pairs[slot].progress_at = 0;
	while ((flow = queue_pop(&node->waiting, WAITING_LINK)) != NULL) {
		if (flow->wait_kind != LINK_SHM || flow->wait_slot != slot) {
			queue_push(&still, flow, WAITING_LINK);
			continue;
		}
		flow->waiting = flow->wait_pair = false;
		node_ready(node, flow);
	}
	node->waiting = still;
}

/* Shared memory with a slot to which there is no pair of rings. True: the flow waits for one; false: there will be none. */
static bool ask_for_pair(struct node *node, struct node_flow *flow, const struct link_path *path)
{
	uint8_t slot = (uint8_t)(path->dest_qpn >> 16);
	uint64_t refused = node->pairs[slot].refused;

	if (refused != 0 && node->now - refused < NODE_PAIR_RETRY)
		return false;
	if (!node->pairs[slot].asked) {
		if (node->config.pair_ask == NULL || node->config.pair_ask(node->config.pair_context, slot) != 0) {
			node->pairs[slot].refused = node->now;
			return false;
		}
		node->pairs[slot].asked = true;
		node->pairs[slot].refused = 0;
	}
	wait_for(node, flow, path, true);
	return true;
}

/* Sends up to the flow's quota. True: it has more to send and could. */
static bool pump_flow(struct node *node, struct node_flow *flow, unsigned *sent)
{
	static const struct link_path nowhere = { .kind = LINK_NOWHERE };

	for (unsigned runs = 0; runs < NODE_FLOW_QUOTA; runs++) {
		const struct link_path *path = &flow->path;
		enum link_drop lost = LINK_DROP_NOWHERE;
		struct transport_room room;
		struct transport_run run;
		size_t used;

		if (!flow->ops->wants_room(flow, node->now))
			return false;
		if (flow->ops->next_path != NULL) {
			path = flow->ops->next_path(flow, node->now);
			if (path == NULL)
				return false;
		}
		if (flow->ops->lossy && path->kind == LINK_SHM && is_stalled(node, (uint8_t)(path->dest_qpn >> 16))) {
			path = &nowhere;
			lost = LINK_DROP_PEER_STALLED;
		}
		int err = link_reserve(node->link, path, &room);
		if (err == BASE_ERR_AGAIN) {
			wait_for(node, flow, path, false);
			return false;
		}
		if (err != 0 && flow->ops->next_path != NULL) {
			if (path->kind == LINK_SHM && !link_shm_is_attached(node->link, (uint8_t)(path->dest_qpn >> 16)) &&
			    ask_for_pair(node, flow, path))
				return false;
			path = &nowhere; /* this packet; the next one may go elsewhere */
			link_reserve(node->link, path, &room);
		} else if (err != 0) {
			/* The ring is closed for good; what is still offered goes nowhere and the timers tell the requester. */
			flow->path.kind = LINK_NOWHERE;
			continue;
		}
		if (flow->ops->next(flow, node->now, &room, &run, &used) == 0)
			return false;
		if (lost == LINK_DROP_NOWHERE)
			link_commit(node->link, path, &run, used);
		else
			link_give_up(node->link, lost, &run);
		(*sent)++;
	}
	return flow->ops->wants_room(flow, node->now);
}

static unsigned pump(struct node *node)
{
	unsigned sent = 0;
	struct node_queue again = { 0 };
	struct node_flow *flow;

	while (sent < NODE_SEND_BUDGET && (flow = queue_pop(&node->ready, READY_LINK)) != NULL) {
		bool more = pump_flow(node, flow, &sent);

		if (more)
			queue_push(&again, flow, READY_LINK);
		else
			flow->ready = false;
		node_touch(node, flow);
	}
	/* Flows that have more go behind those that had no turn yet. */
	while ((flow = queue_pop(&again, READY_LINK)) != NULL)
		queue_push(&node->ready, flow, READY_LINK);
	return sent;
}

static void publish(struct node *node)
{
	struct node_flow *flow;

	while ((flow = queue_pop(&node->touched, TOUCHED_LINK)) != NULL) {
		flow->touched = false;
		flow->ops->publish(flow);
		rearm(node, flow);
	}
}

unsigned node_progress(struct node *node, unsigned looks)
{
	node->now = base_clock_now();
	take_kicks(node);
	/* Every kept run is offered again in the round, unless its budget ends before. */
	uint64_t kept_until = node->kept_until;
	node->kept_until = BASE_NEVER;
	/* What the link took off its socket beyond the budget, no epoll tells of again. */
	unsigned done = link_receive(node->link, (looks & NODE_LOOK_UDP) != 0 || node->receive_more, (looks & NODE_LOOK_RINGS) != 0,
				     NODE_RECEIVE_BUDGET, arrived, node);

	node->receive_more = done >= NODE_RECEIVE_BUDGET;
	if (node->receive_more && kept_until < node->kept_until)
		node->kept_until = kept_until;
	if (done > 0)
		for (struct node_flow *flow = node->touched.first; flow != NULL; flow = flow->touched_next)
			if (flow->ops->wants_room(flow, node->now))
				node_ready(node, flow);
	done += run_timers(node);
	end_of_waiting(node);
	if (node->now >= node->stall_check)
		check_stalls(node);
	if (node->ready.first != NULL) {
		unsigned sent = pump(node);

		done += sent;
	}
	link_flush(node->link);
	link_publish_progress(node->link);
	publish(node);
	return done;
}

uint64_t node_next_due(const struct node *node)
{
	uint64_t due = node_timers_next(&node->timers);

	due = node->kept_until < due ? node->kept_until : due;
	return node->stall_check < due ? node->stall_check : due;
}

bool node_has_work(const struct node *node)
{
	return node->ready.first != NULL || node->receive_more || atomic_load(&node->kicked) != NULL ||
	       node_next_due(node) <= node->now;
}

unsigned node_poll_looks(struct node *node)
{
	if (node->udp_flows > 0)
		return NODE_LOOK_UDP;
	if (node->any_flows == 0)
		return 0;
	/* A look is a system call, and a datagram QP whose traffic all stays on this host never needs it. */
	if (node->any_hot > 0)
		node->any_hot--;
	else if (++node->any_looks < NODE_ANY_LOOKS)
		return 0;
	node->any_looks = 0;
	return NODE_LOOK_UDP;
}

void node_release(struct node *node)
{
	for (;;) {
		/* The thread must be up in time for the next timer, and at once for work that this caller will not do. */
		bool work_left = node_has_work(node);
		uint64_t next = work_left ? 0 : node_next_due(node);
		uint64_t asleep_until = atomic_load(&node->sleeping_until);
		bool armed = atomic_load_explicit(&node->thread_mode, memory_order_relaxed) == NODE_THREAD_ARMED;

		node_lock_give(&node->lock);
		/* A thread that looks in comes by itself soon enough, and the caller polls. */
		if (armed && asleep_until != 0 && next < asleep_until)
			node_thread_poke(node);
		if (atomic_load(&node->kicked) == NULL || !node_lock_try(&node->lock))
			return;
		node_progress(node, 0);
	}
}
