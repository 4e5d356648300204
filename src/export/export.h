/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The writer's side: makes the memfd of this process and hands out places in it.
 *
 * Promise: what is handed out stays where it is until export_writer_destroy(). Counters are plain atomics: whoever owns them adds
 * without asking. Errors: NULL or BASE_ERR_*. Threads: reserving and retiring in any thread; a place belongs to whoever got it.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdint.h>

#include "export/layout.h"

struct export_writer; /* opaque */

/* BASE_ERR_NOMEM: memory or descriptors. The descriptor is close-on-exec and sealed against shrinking and growing. */
int export_writer_create(uint8_t slot, struct export_writer **out);
/*
 * In a fork child, whose mapping was not inherited: memory of its own in the same place, so that inherited objects may go
 * on writing.
 * Nobody reads it. Async-signal-safe but for the complaint when the place is taken.
 */
void export_writer_fork_child(struct export_writer *writer);
/* Unmaps and closes. A fork child calls it too: the mapping is not inherited (MADV_DONTFORK), the descriptor is. */
void export_writer_destroy(struct export_writer *writer);
int export_writer_fd(const struct export_writer *writer);
void export_writer_slot_set(struct export_writer *writer, uint8_t slot);

/* The MR table: EXPORT_MRS entries of zeroes at first. */
struct export_mr *export_writer_mrs(struct export_writer *writer);
/* The entry of a QP; only the low 16 bits of qpn count. */
struct export_qp *export_writer_qp(struct export_writer *writer, uint32_t qpn);

/*
 * `count` counters, zeroed, for `instance` of `kind`, with one name each (cut to EXPORT_NAME_BYTES - 1). A retired group of the
 * same kind and count is used again. *group may be NULL. BASE_ERR_NOMEM: a table is full.
 */
int export_counters_reserve(struct export_writer *writer, const char *kind, const char *instance, const char *const *names,
			    uint32_t count, uint32_t *group, _Atomic uint64_t **values);
void export_counters_retire(struct export_writer *writer, uint32_t group);

/* For a counter with one writer at a time (a lock's holder): no locked instruction. */
static inline void export_counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
