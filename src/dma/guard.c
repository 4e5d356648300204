/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct dma_guard *volatile dma_guard_current;
__thread int32_t dma_guard_left;

static const int guarded_signals[2] = { SIGSEGV, SIGBUS };
static struct sigaction previous[2];
static _Atomic bool installed;
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

/* Someone else's fault: do what would have happened without us. */
static void chain(int which, int sig, siginfo_t *info, void *context)
{
	struct sigaction old = previous[which];
	bool from_program = info->si_code <= 0; /* kill, sigqueue: no instruction will fault again */

	if (!(old.sa_flags & SA_SIGINFO) && (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN)) {
		if (from_program && old.sa_handler == SIG_IGN)
			return;
		struct sigaction dfl = { .sa_handler = SIG_DFL };
		sigaction(sig, &dfl, NULL);
		if (from_program)
			syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
		return; /* the instruction faults again and meets the default action */
	}
	if (old.sa_flags & (int)SA_RESETHAND) {
		memset(&previous[which], 0, sizeof(previous[which]));
		previous[which].sa_handler = SIG_DFL;
	}
	sigset_t mask = old.sa_mask, before;
	if (!(old.sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	pthread_sigmask(SIG_BLOCK, &mask, &before);
	if (old.sa_flags & SA_SIGINFO)
		old.sa_sigaction(sig, info, context);
	else
		old.sa_handler(sig);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct dma_guard *guard = dma_guard_current;
	uintptr_t at = (uintptr_t)info->si_addr;

	/* A non-canonical address comes as SI_KERNEL without an address; inside of a guarded access nothing else can fault. */
	if (guard != NULL && info->si_code > 0 && ((at >= guard->start && at < guard->end) || info->si_code == SI_KERNEL)) {
		dma_guard_current = NULL;
#if DMA_GUARD_BUILTIN
		__builtin_longjmp(guard->env, 1);
#else
		siglongjmp(guard->env, 1);
#endif
	}
	dma_guard_current = NULL; /* a handler that jumps away must not leave it behind */
	chain(sig == SIGBUS, sig, info, context);
	dma_guard_current = guard;
}

static bool is_ours(int which)
{
	struct sigaction now;

	return sigaction(guarded_signals[which], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
}

void dma_guard_install(void)
{
	if (atomic_load_explicit(&installed, memory_order_acquire))
		return; /* once: taking the place back from an application that took ours could chain in a circle */
	pthread_mutex_lock(&install_lock);
	if (!atomic_load_explicit(&installed, memory_order_relaxed)) {
		for (int i = 0; i < 2; i++) {
			/* SA_NODEFER and an empty mask: leaving the handler by a jump leaves no signal blocked. */
			struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

			sigemptyset(&action.sa_mask);
			sigaction(guarded_signals[i], NULL, &previous[i]); /* known before the first fault can come */
			sigaction(guarded_signals[i], &action, NULL);
		}
		atomic_store_explicit(&installed, true, memory_order_release);
	}
	pthread_mutex_unlock(&install_lock);
}

bool dma_guard_recheck(void)
{
	sigset_t mask;
	bool safe = atomic_load_explicit(&installed, memory_order_acquire) && is_ours(0) && is_ours(1) &&
		    pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS);

	dma_guard_left = safe ? DMA_GUARD_RECHECK : 0;
	return safe;
}
