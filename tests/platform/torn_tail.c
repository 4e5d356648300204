/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: bytes placed in ascending order, the last ones (as many as one aligned store covers, at most 8) by a release
 * store, are complete for a reader that polls the last byte and then reads the rest.
 * Without it: programs that poll the last byte of a WRITE (ib_write_lat, most MPIs) would read a message whose beginning is
 * still old. --wrong places with memcpy, which stores its last vectors in the order that suits it and lets a store cross a
 * line.
 * A polling reader is a data race by the language's rules; what counts here is what the CPU and the compiler do.
 */
#include "platform/probe.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

#define LEN_MIN 16
#define LEN_MAX 256
#define ROOM (LEN_MAX + 128)

/* The target buffer, on lines of its own, and the turn taking beside it. */
static _Alignas(128) uint8_t target[ROOM];
static _Alignas(128) _Atomic uint64_t placed; /* rounds the writer may start: one ahead of what the reader has judged */
static _Alignas(128) _Atomic uint32_t shape;  /* offset << 16 | length of the round that is being written */
static atomic_bool over;
static uint64_t torn, rounds;
static uint32_t torn_shape;

/* Not inlined: a length the compiler knows would become a few moves of its choice. */
__attribute__((noinline)) static void place_plain(uint8_t *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
}

/* The largest store that ends at `end` and is aligned, at most 8 bytes. */
static size_t tail_size(const uint8_t *end, size_t len)
{
	size_t size = 8;

	while (((uintptr_t)end & (size - 1)) != 0 || size > len)
		size /= 2;
	return size;
}

__attribute__((noinline)) static void place_ordered(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t tail = tail_size(to + len, len), head = len - tail;
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	memcpy(to, from, head);
	to += head;
	from += head;
	switch (tail) {
	case 8:
		memcpy(&v8, from, 8);
		__atomic_store_n((uint64_t *)(void *)to, v8, __ATOMIC_RELEASE);
		break;
	case 4:
		memcpy(&v4, from, 4);
		__atomic_store_n((uint32_t *)(void *)to, v4, __ATOMIC_RELEASE);
		break;
	case 2:
		memcpy(&v2, from, 2);
		__atomic_store_n((uint16_t *)(void *)to, v2, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n(to, *from, __ATOMIC_RELEASE);
	}
}

static void *writer_run(void *unused)
{
	uint8_t source[ROOM];

	for (uint64_t round = 1;; round++) {
		uint32_t s;

		while (atomic_load_explicit(&placed, memory_order_acquire) < round)
			if (atomic_load_explicit(&over, memory_order_relaxed))
				return unused;
		s = atomic_load_explicit(&shape, memory_order_relaxed);
		memset(source, (int)(round & 0xff), sizeof(source));
		if (probe.wrong)
			place_plain(target + (s >> 16), source, s & 0xffff);
		else
			place_ordered(target + (s >> 16), source, s & 0xffff);
	}
}

/*
 * Polls the last byte as a program does, and looks at another one right behind it, every round at a different one: what is torn
 * is torn for nanoseconds. Then at the whole.
 */
static bool round_read(uint64_t round, uint32_t offset, uint32_t len)
{
	const volatile uint8_t *base = target + offset, *last = base + len - 1, *suspect = last - 1 - round * 11 % (len - 1);
	uint8_t mark = (uint8_t)(round & 0xff), seen, other;

	do {
		seen = __atomic_load_n(last, __ATOMIC_ACQUIRE);
		other = *suspect;
	} while (seen != mark);
	if (other != mark)
		return false;
	for (uint32_t i = len; i-- > 0;)
		if (base[i] != mark)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t until;
	pthread_t writer;

	probe_begin(argc, argv);
	if (PROBE_TSAN)
		SKIP("the reader races on purpose");
	if (probe_cpus() < 2)
		SKIP("one CPU shows no torn reads");
	until = base_clock_now() + (probe.long_form ? 60 : probe.wrong ? 3 : 1) * BASE_SEC;
	SETUP(pthread_create(&writer, NULL, writer_run, NULL) == 0);
	for (uint64_t round = 1; base_clock_now() < until && !(probe.wrong && torn); round++, rounds++) {
		uint32_t len = LEN_MIN + (uint32_t)(round * 7 / 3 % (LEN_MAX - LEN_MIN + 1)), offset = (uint32_t)(round * 13 % 128);

		/* No byte of the target may carry this round's mark by chance: clear what an older shape left. */
		if ((round & 0xff) == 0)
			memset(target, 1, sizeof(target));
		if ((round & 0xff) == 1)
			memset(target, 0, sizeof(target));
		atomic_store_explicit(&shape, offset << 16 | len, memory_order_relaxed);
		atomic_store_explicit(&placed, round, memory_order_release);
		if (!round_read(round, offset, len)) {
			torn++;
			torn_shape = offset << 16 | len;
		}
	}
	atomic_store(&over, true);
	pthread_join(writer, NULL);
	EXPECT(torn == 0, "%llu of %llu placements torn, one of %u bytes at offset %u of a line", (unsigned long long)torn,
		(unsigned long long)rounds + 1, torn_shape & 0xffff, (torn_shape >> 16) % 64);
	printf("%llu placements, none torn\n", (unsigned long long)rounds);
	if (probe.wrong)
		SKIP("memcpy did not tear in its time");
	return PROBE_PASS;
}
