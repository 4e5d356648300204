/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The net under accesses to user memory: a fault (SIGSEGV, SIGBUS) inside a guarded access comes back as an error instead of a
 * signal.
 *
 * Theory. dma_guard_install(), called at each registration, puts our handler in front of the application's for both signals. A
 * guarded access notes in a thread-local where to return to and which range it touches; the handler returns there when the
 * fault is in that range, and hands every other fault to the handler that was there before. Cost of a guarded access: a few
 * nanoseconds.
 *
 * Two things make the net useless: the application replaced our handler later, or the thread has the signals blocked (the
 * kernel kills it on a fault then). dma_guard_enter() notices both within DMA_GUARD_RECHECK accesses of a thread and says "no":
 * the caller then goes through the kernel (process_vm_readv and writev), which answers instead of faulting. Should the handler
 * come back, so does the fast way.
 */
#ifndef DMA_GUARD_H
#define DMA_GUARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DMA_GUARD_RECHECK = 1024 };

/*
 * The compiler's own jump is the fastest. ThreadSanitizer must see the jump to leave its notion of "in a handler", and runs
 * handlers with every signal blocked, so that the mask must be put back.
 */
#if defined(__SANITIZE_THREAD__)
#define DMA_GUARD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DMA_GUARD_TSAN 1
#endif
#endif
#ifndef DMA_GUARD_TSAN
#define DMA_GUARD_TSAN 0
#endif
#if defined(__x86_64__) && !DMA_GUARD_TSAN
#define DMA_GUARD_BUILTIN 1
#else
#define DMA_GUARD_BUILTIN 0
#endif

struct dma_guard {
#if DMA_GUARD_BUILTIN
	void *env[5];
#else
	sigjmp_buf env;
#endif
	uintptr_t start, end;
};

/* The guarded access of this thread, NULL outside of one. */
extern __thread struct dma_guard *volatile dma_guard_current;
/* Accesses of this thread until the next look at signal mask and handlers. 0 at first: the first access looks. */
extern __thread int32_t dma_guard_left;

/* Installs the handlers if they are not ours yet. Cheap when they are; any thread. */
void dma_guard_install(void);
/* Looks at handlers and mask; true: this thread may use the fast way. */
bool dma_guard_recheck(void);

static inline bool dma_guard_is_safe(void)
{
	if (__builtin_expect(--dma_guard_left > 0, 1))
		return true;
	return dma_guard_recheck();
}

/*
 * 0: the access may be made now, up to dma_guard_leave(). Not 0: it faulted. A macro because the frame must live on.
 *
 *	struct dma_guard guard;
 *	if (dma_guard_enter(&guard, user, len) != 0)
 *		return BASE_ERR_FAULT;
 *	touch(user); a call that is not inlined: compilers take nothing else for a place to jump from
 *	dma_guard_leave();
 */
#if DMA_GUARD_BUILTIN
#define DMA_GUARD_SETJMP(guard) __builtin_setjmp((guard)->env)
#else
#define DMA_GUARD_SETJMP(guard) sigsetjmp((guard)->env, DMA_GUARD_TSAN)
#endif
#define dma_guard_enter(guard, user, len) \
	((guard)->start = (uintptr_t)(user), (guard)->end = (uintptr_t)(user) + (len), \
	 DMA_GUARD_SETJMP(guard) != 0 ? 1 : (__atomic_signal_fence(__ATOMIC_SEQ_CST), dma_guard_current = (guard), \
					     __atomic_signal_fence(__ATOMIC_SEQ_CST), 0))
static inline void dma_guard_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	dma_guard_current = NULL;
}

#endif
