/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keys that cannot be guessed: a secret, per-table bijection of 24 bits (index and low generation bits) above an 8-bit tag
 * (high generation bits plus a secret of the index). A Feistel network of four rounds: cheap to undo, no table in the cache. It
 * hides order and density from a peer that guesses; it is no cipher against one that can try 2^32 keys, which the tag and the
 * protection domain face.
 */
#ifndef DMA_KEY_H
#define DMA_KEY_H

#include <stdint.h>

enum { DMA_KEY_ROUNDS = 4, DMA_KEY_HALF_BITS = 12 };

struct dma_key_secret {
	uint32_t multiply[DMA_KEY_ROUNDS], add[DMA_KEY_ROUNDS];
	uint32_t tag;
};

static inline uint32_t dma_key_round(const struct dma_key_secret *s, int i, uint32_t x)
{
	uint32_t y = (x + s->add[i]) * (s->multiply[i] | 1);

	y ^= y >> 15;
	return ((y * 0x9e3779b1u) >> 20) & 0xfff;
}

static inline uint32_t dma_key_mix(const struct dma_key_secret *s, uint32_t value24)
{
	uint32_t left = value24 >> DMA_KEY_HALF_BITS, right = value24 & 0xfff;

	for (int i = 0; i < DMA_KEY_ROUNDS; i++) {
		uint32_t next = left ^ dma_key_round(s, i, right);

		left = right;
		right = next;
	}
	return left << DMA_KEY_HALF_BITS | right;
}

static inline uint32_t dma_key_unmix(const struct dma_key_secret *s, uint32_t mixed24)
{
	uint32_t left = mixed24 >> DMA_KEY_HALF_BITS, right = mixed24 & 0xfff;

	for (int i = DMA_KEY_ROUNDS - 1; i >= 0; i--) {
		uint32_t before = right ^ dma_key_round(s, i, left);

		right = left;
		left = before;
	}
	return left << DMA_KEY_HALF_BITS | right;
}

#endif
