/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A flow: what the node sees of a QP. An interface only: adapters (below the node) embed struct node_flow and fill the ops.
 */
#ifndef NODE_FLOW_H
#define NODE_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "link/link.h"
#include "transport/run.h"

struct node_flow;

/* What an adapter's QP answers. All are called with the progress lock held; none may take it or block. */
struct node_flow_ops {
	/*
	 * A run for this QPN arrived; the adapter checks addresses against its own path. Places data, may owe a response. 0: it is
	 * dealt with. With may_wait the adapter may answer a time instead: nothing was consumed, and the same run comes again, with
	 * every round, before anything else of its sender, and at that time at the latest (see node_kick(): work for the flow makes a
	 * round). The adapter sees to it that this ends soon.
	 */
	uint64_t (*receive)(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait);
	/* Pull: as rc_next(). */
	int (*next)(struct node_flow *flow, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used);
	/* A hint without false negatives: would next() yield something? */
	bool (*wants_room)(struct node_flow *flow, uint64_t now);
	/* Make completions and events visible. Called after owed responses had their chance to leave. */
	void (*publish)(struct node_flow *flow);
	uint64_t (*deadline)(struct node_flow *flow);
	void (*tick)(struct node_flow *flow, uint64_t now, uint64_t excused_ns);
	/* The process behind path.dest slot died. */
	void (*peer_gone)(struct node_flow *flow, uint64_t now);
	/*
	 * Optional, for flows whose packets go to different places (UD): where the run that next() would yield goes, borrowed until
	 * the next op; NULL: there is nothing to send. Without it that is flow->path. Asked before each next().
	 */
	const struct link_path *(*next_path)(struct node_flow *flow, uint64_t now);
	/* Its packets may be dropped (UC, UD): a process of this host that stands still for 1 s gets no more of them. */
	bool lossy;
};

/* Embedded in each QP. The adapter fills ops; path is set through node_flow_path();
 * the rest is node's. */
struct node_flow {
	const struct node_flow_ops *ops;
	/* Kind LINK_NOWHERE until RTR. With next_path only the kind counts: LINK_UDP says that packets may come over UDP. */
	struct link_path path;
	/* node's */
	uint32_t qpn;
	_Atomic bool kicked;
	struct node_flow *kicked_next;
	struct node_flow *ready_next, *touched_next, *waiting_next;
	bool ready, touched, waiting;
	/* waiting: for room on the link, or (shm) for a pair of rings with that slot */
	enum link_kind wait_kind;
	uint8_t wait_slot;
	bool wait_pair;
	struct node_flow *group_next; /* flows of groups, which are in no other list */
	uint64_t timer_at;
	int32_t timer_index; /* place in the heap, -1: none */
	uint64_t last_tick;
	uint64_t peer_progress; /* shm: what the peer's count was at the last tick */
};

#endif
