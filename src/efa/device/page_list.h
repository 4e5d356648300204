/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pages of a region, as its command names them: up to four addresses inline, one buffer of addresses, or a chain of chunks that
 * point to pages of addresses. They are read once, while the command is under way, and kept as extents: neighbouring pages are one.
 */
#ifndef EFA_DEVICE_PAGE_LIST_H
#define EFA_DEVICE_PAGE_LIST_H

#include <stdint.h>

struct efa_device;
struct efa_command;

/* Bytes from `at` on, counted from the start of the first page, up to the next extent's. */
struct efa_extent {
	uint64_t at, bus;
};

struct efa_page_list {
	struct efa_extent *extents;
	uint32_t count, room;
};

/*
 * Reads the list of a REG_MR; its page size and count have been checked. An admin status: NO_RESOURCE, MALFORMED (lengths of buffers),
 * ILLEGAL (a buffer that is not there, a page address that is not one). *out on success; its owner frees the extents.
 */
uint8_t efa_page_list_read(struct efa_device *device, struct efa_command *c, struct efa_page_list *out);

#endif
