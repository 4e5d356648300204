/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The progress lock: a try-lock first of all. Its unlock and the flagging of work are sequentially consistent, so that a
 * thread which flags work and then fails to take the lock knows that the holder looks again after unlocking
 * (tests/platform/stranded_posts.c). Threads that must have it (modify, destroy) wait in futex(2); pollers step back
 * while somebody waits, so nobody starves.
 */
#ifndef NODE_LOCK_H
#define NODE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct node_lock {
	_Atomic uint32_t held;
	_Atomic uint32_t waiters;
};

static inline bool node_lock_try(struct node_lock *lock)
{
	return atomic_exchange(&lock->held, 1) == 0;
}

static inline bool node_lock_is_wanted(const struct node_lock *lock)
{
	return atomic_load_explicit(&lock->waiters, memory_order_relaxed) != 0;
}

/* Not recursive. */
void node_lock_take(struct node_lock *lock);
void node_lock_give(struct node_lock *lock);

#endif
