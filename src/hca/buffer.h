/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of queues: rings of work requests and of completions. It comes from the C library, or from the allocator of the
 * parent domain that the queue was made in. Zeroed. Read by hca/ alone.
 *
 * Errors: BASE_ERR_NOMEM. Ownership: the caller's until freed; the domain must outlive it. Threads: as the program's allocator.
 */
#ifndef HCA_BUFFER_H
#define HCA_BUFFER_H

#include <stddef.h>

#include "hca/pd.h"

struct hca_buffer {
	void *at;
	void *block; /* what was allocated; `at` is aligned */
	enum hca_resource kind;
	struct hca_pd *from; /* whose allocator gave it; NULL: the C library did */
};

/* pd NULL, or one without an allocator: from the C library. No lock of the adapter may be held: the program is called. */
int hca_buffer_alloc(struct hca_buffer *buffer, struct hca_pd *pd, enum hca_resource kind, size_t bytes);
/* All zeroes is a buffer that frees to nothing. */
void hca_buffer_free(struct hca_buffer *buffer);

#endif
