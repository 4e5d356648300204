/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies between our memory and the application's. `user` may be any address: BASE_ERR_FAULT instead of a signal (dma/guard.h).
 * Threads: any. Sanitizers do not look inside: the application may change its memory at the same time, as with hardware.
 */
#ifndef DMA_COPY_H
#define DMA_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Stable read: each byte of user memory once, ascending; dst is ours. */
int dma_copy_in(void *dst, const void *user, size_t len);
/*
 * Ordered placement: ascending; the bytes in the last aligned 8-byte word by release stores, one store when they fill it. A
 * program that sees the last byte sees all of them. On BASE_ERR_FAULT a prefix is written.
 */
int dma_copy_out(void *user, const void *src, size_t len);
/* One CPU instruction; user must be 8-byte aligned. */
int dma_copy_compare_swap(uint64_t *user, uint64_t compare, uint64_t swap, uint64_t *before);
int dma_copy_fetch_add(uint64_t *user, uint64_t add, uint64_t *before);
/* What the pages of this range hold reaches the file behind them, if there is one. No cancellation point; may take long. */
int dma_copy_persist(const void *user, uint64_t len);

#endif
