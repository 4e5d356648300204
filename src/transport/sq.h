/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every requester does with its send queue (queue.h). Read by transport alone; no call fails. Progress lock. */
#ifndef TRANSPORT_SQ_H
#define TRANSPORT_SQ_H

#include "transport/queue.h"

static inline uint32_t transport_sq_posted(const struct transport_sq *sq)
{
	return atomic_load_explicit(&sq->posted, memory_order_acquire);
}

static inline bool transport_sq_has_work(const struct transport_sq *sq)
{
	return sq->done != transport_sq_posted(sq);
}

/* The oldest unfinished WQE ends like this, and emission goes on behind it. */
void transport_sq_finish(struct transport_sq *sq, uint32_t status, uint32_t vendor_err);
/* The next finished WQE as a completion: 1, or 0. When flushing, unfinished ones end with WR_FLUSH_ERR first. */
int transport_sq_reap(struct transport_sq *sq, bool flushing, struct transport_completion *out);
/* All that was posted vanishes. */
void transport_sq_forget(struct transport_sq *sq);

#endif
