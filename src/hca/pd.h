/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection domains: a number that memory regions and queue pairs must share. A parent domain is another handle of a domain:
 * the same number, and an allocator for the queues that are made in it.
 *
 * Errors: BASE_ERR_NOMEM; BASE_ERR_BUSY at free while an MR, QP, SRQ, AH, CQ or parent domain is still on it. Threads: any.
 */
#ifndef HCA_PD_H
#define HCA_PD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hca_context;
struct hca_pd; /* opaque */

/* What an allocator is asked for. */
enum hca_resource {
	HCA_RESOURCE_SEND_QUEUE = 1,
	HCA_RESOURCE_RECEIVE_QUEUE = 2,
	HCA_RESOURCE_COMPLETION_QUEUE = 3,
	HCA_RESOURCE_SHARED_RECEIVE_QUEUE = 4,
};

/* The program's. Called without any lock of ours. */
struct hca_allocator {
	/*
	 * False: take the memory from elsewhere. True: *out is a block of that many bytes, aligned to `align`, or NULL: there is
	 * none.
	 */
	bool (*alloc)(void *context, size_t bytes, size_t align, enum hca_resource kind, void **out);
	void (*free)(void *context, void *block, enum hca_resource kind);
	void *context;
};

int hca_pd_alloc(struct hca_context *context, void *user, struct hca_pd **out);
/* allocator NULL: none. The base must not be a parent domain itself: BASE_ERR_INVAL. It stays in use until this one is freed. */
int hca_pd_alloc_parent(struct hca_pd *base, const struct hca_allocator *allocator, void *user, struct hca_pd **out);
int hca_pd_dealloc(struct hca_pd *pd);
uint32_t hca_pd_number(const struct hca_pd *pd);
void *hca_pd_user(const struct hca_pd *pd);
bool hca_pd_is_parent(const struct hca_pd *pd);

#endif
