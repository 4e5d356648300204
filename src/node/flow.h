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
	/* A run for this QPN arrived; the adapter checks addresses against its own path. Places data, may owe a response. */
	void (*receive)(struct node_flow *flow, uint64_t now, const struct link_rx *rx);
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
};

/* Embedded in each QP. The adapter fills ops; path is set through node_flow_path();
 * the rest is node's. */
struct node_flow {
	const struct node_flow_ops *ops;
	struct link_path path; /* kind LINK_NOWHERE until RTR */
	/* node's */
	uint32_t qpn;
	_Atomic bool kicked;
	struct node_flow *kicked_next;
	struct node_flow *ready_next, *touched_next, *waiting_next;
	bool ready, touched, waiting;
	uint64_t timer_at;
	int32_t timer_index; /* place in the heap, -1: none */
	uint64_t last_tick;
	uint64_t peer_progress; /* shm: what the peer's count was at the last tick */
};

#endif
