/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hca/pd_internal.h"

enum { ALIGN = 64 }; /* a cache line */

/* calloc gives large blocks as pages that nobody has touched yet, which aligned_alloc and memset would not. */
static int from_library(struct hca_buffer *buffer, size_t bytes)
{
	buffer->block = calloc(1, bytes + ALIGN);
	if (buffer->block == NULL)
		return BASE_ERR_NOMEM;
	buffer->at = (void *)(((uintptr_t)buffer->block + ALIGN) & ~(uintptr_t)(ALIGN - 1));
	return 0;
}

int hca_buffer_alloc(struct hca_buffer *buffer, struct hca_pd *pd, enum hca_resource kind, size_t bytes)
{
	void *at = NULL;

	*buffer = (struct hca_buffer){ .kind = kind };
	bytes = bytes == 0 ? ALIGN : (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (pd == NULL || pd->allocator.alloc == NULL || !pd->allocator.alloc(pd->allocator.context, bytes, ALIGN, kind, &at))
		return from_library(buffer, bytes);
	/* A block that is not aligned would be as wrong as none. */
	if (at == NULL || (uintptr_t)at % ALIGN != 0) {
		if (at != NULL)
			pd->allocator.free(pd->allocator.context, at, kind);
		return BASE_ERR_NOMEM;
	}
	memset(at, 0, bytes);
	buffer->at = buffer->block = at;
	buffer->from = pd;
	return 0;
}

void hca_buffer_free(struct hca_buffer *buffer)
{
	if (buffer->from != NULL)
		buffer->from->allocator.free(buffer->from->allocator.context, buffer->block, buffer->kind);
	else
		free(buffer->block);
	*buffer = (struct hca_buffer){ .at = NULL };
}
