/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/copy.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "dma/guard.h"
#include "dma/maps.h"

/* Not instrumented: races with the application are its own business, and instrumentation calls out inside of a guarded access. */
#if defined(__clang__)
#define UNWATCHED __attribute__((noinline, no_sanitize("address", "thread", "undefined")))
#define OPAQUE
#else
#define UNWATCHED __attribute__((noinline, no_sanitize_address, no_sanitize_thread, no_sanitize_undefined, \
				 optimize("no-tree-loop-distribute-patterns")))
#define OPAQUE __attribute__((noipa))
#endif
enum {
	STRING_MOVE_MIN = 1024, /* below it the start of a string move costs more than it saves */
	/*
	 * How far ahead of the copy lines are fetched from the core that wrote them: the processor's own fetcher stops at the end of
	 * each page, which is once per packet of MTU 4096. Measured: 512 is slower than none, 2048 to 6144 are 10 % faster.
	 */
	FETCH_AHEAD = 2048,
	FETCH_MIN = 1024, /* shorter copies leave alone what follows them: its writer is at it */
};

#define UNALIGNED __attribute__((aligned(1), may_alias))

typedef uint64_t vec_t __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t u64_t UNALIGNED;
typedef uint32_t u32_t UNALIGNED;
typedef uint16_t u16_t UNALIGNED;

/* volatile on the user's side: the compiler makes each access once, in this order. */
#define MOVE_IN(type) (*(type *)dst = *(const volatile type *)src, dst += sizeof(type), src += sizeof(type), len -= sizeof(type))
#define MOVE_OUT(type) (*(volatile type *)dst = *(const type *)src, dst += sizeof(type), src += sizeof(type), len -= sizeof(type))
#define MOVE_RELEASE(type, unaligned) \
	(__atomic_store_n((type *)(void *)dst, *(const unaligned *)src, __ATOMIC_RELEASE), dst += sizeof(type), \
	 src += sizeof(type), len -= sizeof(type))

#define BODY(MOVE) do { \
	while (len >= 64) { \
		MOVE(vec_t); MOVE(vec_t); MOVE(vec_t); MOVE(vec_t); \
	} \
	while (len >= 16) \
		MOVE(vec_t); \
	if (len >= 8) \
		MOVE(u64_t); \
	if (len >= 4) \
		MOVE(u32_t); \
	if (len >= 2) \
		MOVE(u16_t); \
	if (len >= 1) \
		MOVE(uint8_t); \
} while (0)

/*
 * What touches user memory is called, not inlined, by what sets the net: compilers take only calls for places that a jump can
 * come from, and drop the way back when there is none (gcc 12 does).
 */
OPAQUE UNWATCHED static void move_in(uint8_t *dst, const uint8_t *src, size_t len)
{
#if defined(__x86_64__)
	/*
	 * Into a ring that another core reads: a string move writes whole lines without fetching them from that core first, 20 GB/s
	 * where a loop of loads and stores gets 5. It reads each byte once. Its stores have no order among themselves, which only
	 * move_out() needs.
	 */
	if (len >= STRING_MOVE_MIN) {
		__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
		return;
	}
#endif
	BODY(MOVE_IN);
}

UNWATCHED static int guarded_in(uint8_t *dst, const uint8_t *src, size_t len)
{
	struct dma_guard guard;

	if (dma_guard_enter(&guard, src, len) != 0)
		return BASE_ERR_FAULT;
	move_in(dst, src, len);
	dma_guard_leave();
	return 0;
}

/* Stores of the largest size that the place is aligned to: none can be torn, and the last byte is in the last one. */
#define TAIL() do { \
	while (len > 0) { \
		uintptr_t at = (uintptr_t)dst; \
		if (len >= 8 && (at & 7) == 0) \
			MOVE_RELEASE(uint64_t, u64_t); \
		else if (len >= 4 && (at & 3) == 0) \
			MOVE_RELEASE(uint32_t, u32_t); \
		else if (len >= 2 && (at & 1) == 0) \
			MOVE_RELEASE(uint16_t, u16_t); \
		else \
			MOVE_RELEASE(uint8_t, uint8_t); \
	} \
} while (0)

/* How many of len bytes at dst lie before the aligned word of the last one. */
static inline size_t body_length(const uint8_t *dst, size_t len)
{
	uintptr_t word = ((uintptr_t)dst + len - 1) & ~(uintptr_t)7;

	return word > (uintptr_t)dst ? word - (uintptr_t)dst : 0;
}

OPAQUE UNWATCHED static void move_out(uint8_t *dst, const uint8_t *src, size_t body, size_t tail)
{
	size_t len = body;

	if (len >= FETCH_MIN) {
		for (; len >= 64; __builtin_prefetch(src + FETCH_AHEAD)) {
			MOVE_OUT(vec_t); MOVE_OUT(vec_t); MOVE_OUT(vec_t); MOVE_OUT(vec_t);
		}
	}
	BODY(MOVE_OUT);
	len = tail;
	TAIL();
}

UNWATCHED static int guarded_out(uint8_t *dst, const uint8_t *src, size_t body, size_t tail)
{
	struct dma_guard guard;

	if (dma_guard_enter(&guard, dst, body + tail) != 0)
		return BASE_ERR_FAULT;
	move_out(dst, src, body, tail);
	dma_guard_leave();
	return 0;
}

/* Returns what was there. */
OPAQUE UNWATCHED static uint64_t compare_swap(uint64_t *user, uint64_t compare, uint64_t swap)
{
	__atomic_compare_exchange_n(user, &compare, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return compare;
}

UNWATCHED static int guarded_compare_swap(uint64_t *user, uint64_t compare, uint64_t swap, uint64_t *before)
{
	struct dma_guard guard;

	if (dma_guard_enter(&guard, user, sizeof(*user)) != 0)
		return BASE_ERR_FAULT;
	*before = compare_swap(user, compare, swap);
	dma_guard_leave();
	return 0;
}

OPAQUE UNWATCHED static uint64_t fetch_add(uint64_t *user, uint64_t add)
{
	return __atomic_fetch_add(user, add, __ATOMIC_SEQ_CST);
}

UNWATCHED static int guarded_fetch_add(uint64_t *user, uint64_t add, uint64_t *before)
{
	struct dma_guard guard;

	if (dma_guard_enter(&guard, user, sizeof(*user)) != 0)
		return BASE_ERR_FAULT;
	*before = fetch_add(user, add);
	dma_guard_leave();
	return 0;
}

/* The way through the kernel, for threads that the net does not cover. 1: the kernel refuses the call itself. */
static int kernel_copy(void *ours, uintptr_t user, size_t len, bool out)
{
	while (len > 0) {
		struct iovec local = { ours, len }, remote = { (void *)user, len };
		ssize_t done = out ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) :
				     process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

		if (done <= 0)
			return done < 0 && (errno == EPERM || errno == ENOSYS) ? 1 : BASE_ERR_FAULT;
		ours = (char *)ours + done;
		user += (size_t)done;
		len -= (size_t)done;
	}
	return 0;
}

int dma_copy_in(void *dst, const void *user, size_t len)
{
	if (len == 0)
		return 0;
	if (__builtin_expect(!dma_guard_is_safe(), 0)) {
		int err = kernel_copy(dst, (uintptr_t)user, len, false);

		if (err <= 0)
			return err;
		if (dma_maps_check((uintptr_t)user, len, false) != 0)
			return BASE_ERR_FAULT;
	}
	return guarded_in(dst, user, len);
}

int dma_copy_out(void *user, const void *src, size_t len)
{
	if (len == 0)
		return 0;
	size_t body = body_length(user, len);
	if (__builtin_expect(!dma_guard_is_safe(), 0)) {
		/* The last word in a call of its own: the kernel promises no order within one. */
		int err = kernel_copy((void *)(uintptr_t)src, (uintptr_t)user, body, true);

		if (err == 0)
			err = kernel_copy((char *)(uintptr_t)src + body, (uintptr_t)user + body, len - body, true);
		if (err <= 0)
			return err;
		if (dma_maps_check((uintptr_t)user, len, true) != 0)
			return BASE_ERR_FAULT;
	}
	return guarded_out(user, src, body, len - body);
}

/* The kernel has no atomic for us: without the net we ask whether the word is there and then touch it. */
static int atomic_is_safe(const uint64_t *user)
{
	return dma_guard_is_safe() ? 0 : dma_maps_check((uintptr_t)user, sizeof(*user), true);
}

int dma_copy_compare_swap(uint64_t *user, uint64_t compare, uint64_t swap, uint64_t *before)
{
	int err = atomic_is_safe(user);

	return err != 0 ? err : guarded_compare_swap(user, compare, swap, before);
}

int dma_copy_fetch_add(uint64_t *user, uint64_t add, uint64_t *before)
{
	int err = atomic_is_safe(user);

	return err != 0 ? err : guarded_fetch_add(user, add, before);
}

int dma_copy_persist(const void *user, uint64_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)user & ~(page - 1);

	if (len == 0)
		return 0;
	/* The C library's msync() is a cancellation point, and our caller holds the progress lock. */
	return syscall(SYS_msync, from, (uintptr_t)user + len - from, MS_SYNC) == 0 ? 0 : BASE_ERR_FAULT;
}
