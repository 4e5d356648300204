/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random numbers: a seeded generator for everything that must be repeatable (simulator, fault plan, tests), and the kernel's
 * for everything that must not be guessed (keys, generations).
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct base_random {
	uint64_t state; /* splitmix64: any value is a good seed */
};

static inline uint64_t base_random_next(struct base_random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Uniform in [0, bound); 0 when bound is 0. */
static inline uint64_t base_random_below(struct base_random *r, uint64_t bound)
{
	return bound == 0 ? 0 : (uint64_t)(((unsigned __int128)base_random_next(r) * bound) >> 64);
}

/* Fills from getrandom(2); aborts when the kernel has no randomness to give, which it documents not to happen. */
void base_random_bytes(void *out, size_t len);

#endif
