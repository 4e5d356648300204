/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device table as other processes see it: one writer (the broker), any number of readers, no round trip and no waiting.
 *
 * The memfd holds two copies and a sequence number. The newest copy is number `sequence & 1`; the writer fills the other one,
 * then counts up. A reader that finds the number unchanged after copying has one whole table; it tries again otherwise. A
 * writer that dies half way has touched only the copy nobody reads. The memfd is sealed against resizing and outlives brokers:
 * the next one goes on with it.
 *
 * Readers get a descriptor that is open for reading only. What they read is checked (counts, names, flags) before it is handed
 * on. Errors: BASE_ERR_MALFORMED (not such a memfd), BASE_ERR_NOMEM, BASE_ERR_IO. publish: one thread. The rest: any thread.
 */
#ifndef NETDEV_SHARED_H
#define NETDEV_SHARED_H

#include "netdev/netdev.h"

struct netdev_shared; /* the mapping */

/* A new memfd (owned by the caller, close on exec) and its mapping. */
int netdev_shared_create(int *fd, struct netdev_shared **out);
/* Maps what another made; the descriptor stays the caller's. */
int netdev_shared_open(int fd, bool writable, struct netdev_shared **out);
void netdev_shared_close(struct netdev_shared *shared);
/* A descriptor of the same memfd for readers. BASE_ERR_IO without /proc. */
int netdev_shared_reader(int fd);

void netdev_shared_publish(struct netdev_shared *shared, const struct netdev_table *table);
uint64_t netdev_shared_generation(const struct netdev_shared *shared);
uint32_t netdev_shared_profile(const struct netdev_shared *shared);
void netdev_shared_read(const struct netdev_shared *shared, struct netdev_table *out);
/* BASE_ERR_RANGE: no such device or index. */
int netdev_shared_device(const struct netdev_shared *shared, unsigned device, struct netdev_device *out);
int netdev_shared_gid(const struct netdev_shared *shared, unsigned device, unsigned index, struct netdev_gid *out);

#endif
