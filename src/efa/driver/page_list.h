/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a region's pages are told to the adapter: up to four in the command itself, up to a page of addresses in one buffer, more in a
 * chain of chunks (efa/abi/command.h). The list is needed only while the command is under way.
 */
#ifndef EFA_DRIVER_PAGE_LIST_H
#define EFA_DRIVER_PAGE_LIST_H

#include <stdint.h>

#include "efa/abi/command.h"
#include "efa/driver/memory.h"

struct efa_pages {
	struct efa_driver_memory list, chunks; /* without memory where they are not needed */
};

/*
 * Fills in->pages and in->page_num from `count` page addresses, of which the i-th is page_of(context, i); *flags gets what the
 * command's head needs. BASE_ERR_NOMEM. Until efa_pages_fini() the memory is the adapter's to read.
 */
int efa_pages_init(struct efa_pages *pages, const struct efa_bus_function *function, uint32_t count,
		   uint64_t (*page_of)(const void *context, uint32_t i), const void *context, struct efa_abi_reg_mr *in,
		   uint8_t *flags);
void efa_pages_fini(struct efa_pages *pages, const struct efa_bus_function *function);

/*
 * The page size for a region that lies in one piece on the bus, as a shift: the largest that helps, that the adapter takes (cap: its
 * page_size_cap), and in which the region's addresses and those of the bus agree. difference: the exclusive or of both; of the bus
 * only the low 21 bits count, more is not promised. 0: they do not even agree in the smallest page.
 */
uint32_t efa_pages_shift(uint64_t cap, uint64_t length, uint64_t difference);

#endif
