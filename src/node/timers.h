/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A binary heap of flows by timer_at. Lazy: a flow whose deadline moved later stays where it is and is asked again when
 * its old time comes; only earlier deadlines move it. Progress lock held for every call.
 */
#ifndef NODE_TIMERS_H
#define NODE_TIMERS_H

#include <stdint.h>

#include "node/flow.h"

struct node_timers {
	struct node_flow **heap;
	uint32_t count, capacity;
};

void node_timers_fini(struct node_timers *timers);
/* Room for one more flow, so that node_timers_set() cannot fail. BASE_ERR_NOMEM. Call once per flow added. */
int node_timers_grow(struct node_timers *timers, uint32_t flows);
/* Wake the flow at `at` (BASE_NEVER: not at all) at the latest. */
void node_timers_set(struct node_timers *timers, struct node_flow *flow, uint64_t at);
void node_timers_remove(struct node_timers *timers, struct node_flow *flow);
/* The earliest flow if it is due at `now`, taken out; NULL otherwise. */
struct node_flow *node_timers_take_due(struct node_timers *timers, uint64_t now);
/* BASE_NEVER when empty. */
uint64_t node_timers_next(const struct node_timers *timers);

#endif
