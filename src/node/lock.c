/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "node/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About as long as a round takes: a futex costs both sides more. */
enum { SPINS_BEFORE_SLEEP = 100 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

void node_lock_take(struct node_lock *lock)
{
	if (node_lock_try(lock))
		return;
	atomic_fetch_add(&lock->waiters, 1);
	for (int spins = 0; !node_lock_try(lock); spins++) {
		if (spins < SPINS_BEFORE_SLEEP)
			relax();
		else
			futex(&lock->held, FUTEX_WAIT, 1);
	}
	atomic_fetch_sub(&lock->waiters, 1);
}

void node_lock_give(struct node_lock *lock)
{
	atomic_store(&lock->held, 0);
	/* A waiter that has not yet slept finds `held` 0 in futex(2) itself. */
	if (atomic_load(&lock->waiters) != 0)
		futex(&lock->held, FUTEX_WAKE, 1);
}
