/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The node: the engine of a process. It owns the progress lock, the table of QP numbers, the timers, the progress
 * thread, and moves runs between flows (the QPs of all adapters) and links.
 *
 * Whoever holds the progress lock makes progress for everybody. Posting threads flag work and *try* the lock; pollers
 * try it when their CQ is empty; the progress thread sleeps in epoll and takes over when nobody polls. Work is flagged
 * before the try and looked for again after unlocking (tests/platform/stranded_posts.c).
 *
 * Lock order: progress lock, then any lock of an adapter (SQ, RQ, CQ). A call that takes the progress lock must not be
 * made with one of those held.
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "link/link.h"
#include "node/flow.h"

struct node;

struct node_config {
	struct link *link;      /* handed over: destroyed with the node */
	uint8_t slot;
	int udp_socket;         /* -1: none; borrowed */
	int raw_socket;         /* the link's packet socket, watched as the other; 0 or less: none; borrowed */
	int wake_eventfd;       /* peers write it while we sleep; borrowed */
	int control_fd;         /* -1: none */
	_Atomic uint64_t *unknown_qpn; /* counts runs dropped because nobody has their QPN; borrowed */
	/*
	 * Called by the progress thread, without the lock, when control_fd is readable or has hung up. May change
	 * control_fd: returns the one to watch.
	 */
	int (*control)(void *context);
	void *control_context;
	/*
	 * Asks for a pair of rings with this slot, without waiting, progress lock held: the answer is node_pair_arrived() or
	 * node_pair_refused(), never from inside. An error is a refusal. NULL: there are no pairs.
	 */
	int (*pair_ask)(void *context, uint8_t slot);
	void *pair_context;
};

/* Starts the progress thread (all signals blocked but SIGSEGV, SIGBUS). NULL: out of memory or threads. */
struct node *node_create(const struct node_config *config);
/* Stops the thread, pushes owed responses for 50 ms at most. All flows must be removed. */
void node_destroy(struct node *node);

/* The progress lock, for everything that changes a flow or a link: modify, destroy, attach. */
void node_lock(struct node *node);
void node_unlock(struct node *node); /* looks for work flagged meanwhile */
struct link *node_link(struct node *node);

/*
 * Gives the flow a free QPN of this slot (indexes start at random and rise). BASE_ERR_NOMEM when all are taken. Takes
 * the lock.
 */
int node_flow_add(struct node *node, struct node_flow *flow);
/*
 * Forgets the flow: when it returns no ops of it run and none will. With `linger` owed responses get up to 50 ms to
 * leave first. Takes the lock.
 */
void node_flow_remove(struct node *node, struct node_flow *flow, bool linger);
/*
 * Sets the flow's path (at RTR, at reset: kind LINK_NOWHERE). Lock held. The path's qpn is filled in.
 */
void node_flow_path(struct node *node, struct node_flow *flow, const struct link_path *path);
/*
 * A flow of which only receive() is called, for packets to the multicast QPN; it answers how many QPs it was for. add: lock held.
 * When remove returns it is not called any more.
 */
void node_group_add(struct node *node, struct node_flow *groups);
void node_group_remove(struct node *node, struct node_flow *groups);
/* NULL if nobody has it. Lock held. */
struct node_flow *node_flow_find(struct node *node, uint32_t qpn);

/*
 * A timer: a flow without a QPN that nothing is sent to or by, for its deadline() and tick() alone; they are called as those of
 * other flows are, publish() and wants_room() too. BASE_ERR_NOMEM, BASE_ERR_GONE. Both take the lock; after the second no op runs.
 */
int node_timer_add(struct node *node, struct node_flow *timer);
void node_timer_remove(struct node *node, struct node_flow *timer);
/* Its deadline moved. Lock held; the timer is asked before the lock is given back. */
void node_timer_changed(struct node *node, struct node_flow *timer);

/* New work was posted on the flow: flags it and tries to make progress in this thread. Any thread, no adapter lock held. */
void node_kick(struct node *node, struct node_flow *flow);
/* The same with the lock held, e.g. at the end of a modify: the flow is looked at before the lock is released. */
void node_schedule(struct node *node, struct node_flow *flow);
/*
 * A CQ was found empty: makes bounded progress if nobody else does. True: progress was made or is being made by another
 * thread right now.
 */
bool node_poll(struct node *node);
/* Somebody waits for events instead of polling (req_notify, blocking get_cq_event): the thread arms its wake-ups at once. */
void node_expect_wakeups(struct node *node);

/* Gives what is owed and ready up to 50 ms to leave, e.g. before the process ends. Takes the lock. */
void node_linger(struct node *node);

/* Broker news, from the control callback; they take the lock. */
void node_peer_gone(struct node *node, uint8_t slot);
/* The link has a pair to this slot now. Wakes the flows that wait for it. */
void node_pair_arrived(struct node *node, uint8_t slot);
/* There will be none: what flows send there goes nowhere, and is counted, until somebody asks again after 100 ms. */
void node_pair_refused(struct node *node, uint8_t slot);

/*
 * fork: prepare takes the lock; parent releases it; in the child the node is dead: every call on it is a no-op or
 * BASE_ERR_GONE.
 */
void node_fork_prepare(struct node *node);
void node_fork_parent(struct node *node);
void node_fork_child(struct node *node);

#endif
