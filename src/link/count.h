/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counting in struct link_counters. One thread writes (the holder of the progress lock), anybody reads: a plain load and store
 * are enough, and cost a tenth of a locked addition.
 */
#ifndef LINK_COUNT_H
#define LINK_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

#include "link/link.h"

static inline void link_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void link_count_drop(struct link_counters *counters, enum link_drop why, uint64_t packets)
{
	link_count(&counters->drops[why], packets);
}

static inline void link_count_sent(struct link_counters *counters, enum link_kind kind, uint64_t packets, uint64_t bytes)
{
	link_count(&counters->sent_runs[kind], 1);
	link_count(&counters->sent_packets[kind], packets);
	link_count(&counters->sent_bytes[kind], bytes);
}

static inline void link_count_received(struct link_counters *counters, enum link_kind kind, uint64_t packets, uint64_t bytes)
{
	link_count(&counters->received_runs[kind], 1);
	link_count(&counters->received_packets[kind], packets);
	link_count(&counters->received_bytes[kind], bytes);
}

#endif
