/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the adapter needs of the engine above it (the node), as an ops struct handed over at device creation. The adapter calls
 * the engine through this alone.
 *
 * Contract of the engine: a flow that was kicked or scheduled gets next() while wants_room(), and then publish(), even when it
 * had nothing to send. All node_flow_ops run under the progress lock, which is not recursive.
 */
#ifndef HCA_ENGINE_H
#define HCA_ENGINE_H

#include <stdbool.h>

#include "hca/cq.h"
#include "node/flow.h"

struct hca_engine_ops {
	/* New work was posted: flags it and tries to make progress in this thread. Any thread; no lock of the adapter held. */
	void (*kick)(void *engine, struct node_flow *flow);
	/* The same with the progress lock held: the flow is looked at before the lock is released. */
	void (*schedule)(void *engine, struct node_flow *flow);
	/* The progress lock. No lock of the adapter may be held when it is taken. */
	void (*lock)(void *engine);
	void (*unlock)(void *engine);
	/* A CQ was found empty. True: progress was made, or another thread is making it. No lock of the adapter held. */
	bool (*poll)(void *engine);
	/* Gives the flow its QPN (flow->qpn). BASE_ERR_NOMEM: all taken. Takes the lock. */
	int (*flow_add)(void *engine, struct node_flow *flow);
	/* When it returns no op of the flow runs or will. linger: owed responses get up to 50 ms to leave. Takes the lock. */
	void (*flow_remove)(void *engine, struct node_flow *flow, bool linger);
	/* Sets flow->path, telling the links. Progress lock held. */
	void (*flow_path)(void *engine, struct node_flow *flow, const struct link_path *path);
	/*
	 * A timer: a flow that never has packets, for its deadline() and tick() alone. BASE_ERR_NOMEM. Both take the lock; when remove
	 * returns no op of it runs or will.
	 */
	int (*timer_add)(void *engine, struct node_flow *timer);
	void (*timer_remove)(void *engine, struct node_flow *timer);
	/* Its deadline moved: it is asked for it before the lock is given back. Progress lock held. */
	void (*timer_changed)(void *engine, struct node_flow *timer);
	/*
	 * Packets to the multicast QPN go to receive() of every group flow, which has no other op and no number; may_wait is false, and
	 * it answers how many QPs it was for. add is called with the progress lock held, remove takes it.
	 */
	void (*group_add)(void *engine, struct node_flow *groups);
	void (*group_remove)(void *engine, struct node_flow *groups);
	/* What time it is; `raw` is the clock of all deadlines. Any thread, any lock. */
	void (*clock)(void *engine, struct hca_stamp *out);
	/* Somebody is about to wait for events instead of polling. Any thread. */
	void (*expect_wakeups)(void *engine);
};

struct hca_engine {
	const struct hca_engine_ops *ops;
	void *context;
};

#endif
