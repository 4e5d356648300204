/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is a range of this process's memory mapped, and with the rights that a registration needs? The answer is the kernel's, from
 * /proc/self/maps: by its query call where the kernel has it (Linux 6.11), else by reading the text up to the end of the range.
 *
 * Without /proc only "mapped" can be asked (mincore). Threads: any. Not for the data path: microseconds.
 */
#ifndef DMA_MAPS_H
#define DMA_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* 0, or BASE_ERR_FAULT: a byte of [addr, addr + len) is not mapped readable (and writable with `write`). Length 0 is 0. */
int dma_maps_check(uint64_t addr, uint64_t len, bool write);
/* The same by the text alone: what older kernels get. For tests. */
int dma_maps_check_text(uint64_t addr, uint64_t len, bool write);

/* Bytes of the pages that are mapped at addr; 0: not known (older kernels), or nothing there. */
uint64_t dma_maps_page_size(uint64_t addr);

#endif
