/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of pairs, as ops of the core (core.h): memfds made here or reported by survivors, of which the broker maps the first
 * page. The context is not used.
 */
#ifndef BROKER_PAIRMEM_H
#define BROKER_PAIRMEM_H

#include <stdint.h>

#include "ipc/pair.h"

int broker_pairmem_create(void *context, uint8_t low, uint8_t high, uint64_t generation, int *fd,
	struct ipc_pair_header **header);
int broker_pairmem_map(void *context, uint8_t low, uint8_t high, uint64_t generation, int fd, struct ipc_pair_header **header);
void broker_pairmem_unmap(void *context, struct ipc_pair_header *header);

#endif
