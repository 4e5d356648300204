/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's view of user memory: dma through the QP's own protection domain. */
#include "hca/qp_internal.h"

#include "dma/window.h"

#include <stddef.h>

_Static_assert(sizeof(struct transport_sge) == sizeof(struct dma_sge) &&
		       offsetof(struct transport_sge, addr) == offsetof(struct dma_sge, addr) &&
		       offsetof(struct transport_sge, length) == offsetof(struct dma_sge, length) &&
		       offsetof(struct transport_sge, lkey) == offsetof(struct dma_sge, lkey),
	       "one element, two names");
_Static_assert((int)TRANSPORT_LOCAL_WRITE == DMA_LOCAL_WRITE && (int)TRANSPORT_REMOTE_WRITE == DMA_REMOTE_WRITE &&
		       (int)TRANSPORT_REMOTE_READ == DMA_REMOTE_READ && (int)TRANSPORT_REMOTE_ATOMIC == DMA_REMOTE_ATOMIC &&
		       (int)TRANSPORT_FLUSH_GLOBAL == DMA_FLUSH_GLOBAL &&
		       (int)TRANSPORT_FLUSH_PERSISTENT == DMA_FLUSH_PERSISTENT,
	       "one set of rights, two names");

static struct dma_view *view_of(void *host)
{
	return &((struct hca_qp *)host)->view;
}

static const struct dma_sge *elements(const struct transport_sge *sge)
{
	return (const struct dma_sge *)sge;
}

static int local_check(void *host, const struct transport_sge *sge, uint32_t num_sge, uint32_t access)
{
	return dma_local_check(view_of(host), elements(sge), num_sge, access);
}

static int gather(void *host, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, void *dst, uint32_t len)
{
	return dma_gather(view_of(host), elements(sge), num_sge, offset, dst, len);
}

static int scatter(void *host, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, const void *src, uint32_t len)
{
	return dma_scatter(view_of(host), elements(sge), num_sge, offset, src, len);
}

static int remote_check(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access)
{
	return dma_remote_check(view_of(host), rkey, va, len, access);
}

static int remote_write(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src, uint32_t len)
{
	return dma_remote_write(view_of(host), rkey, va, src, len);
}

static int remote_read(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, void *dst, uint32_t len)
{
	return dma_remote_read(view_of(host), rkey, va, dst, len);
}

static int remote_atomic(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, enum transport_atomic op, uint64_t operand,
			 uint64_t compare, uint64_t *before)
{
	if (op == TRANSPORT_COMPARE_SWAP)
		return dma_remote_compare_swap(view_of(host), rkey, va, compare, operand, before);
	return dma_remote_fetch_add(view_of(host), rkey, va, operand, before);
}

static int remote_atomic_write(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src)
{
	return dma_remote_atomic_write(view_of(host), rkey, va, src);
}

static int remote_flush(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, bool whole)
{
	return dma_remote_flush(view_of(host), rkey, va, len, access, whole);
}

static int remote_invalidate(void *host, uint32_t qpn, uint32_t rkey)
{
	return dma_window_invalidate(view_of(host), rkey, true);
}

static int local_invalidate(void *host, uint32_t rkey)
{
	return dma_window_invalidate(view_of(host), rkey, false);
}

static int bind_window(void *host, const struct transport_bind *b)
{
	const struct dma_bind bind = { .window = b->window, .rkey = b->rkey, .region = b->region, .access = b->access,
				       .addr = b->addr, .length = b->length, .by_type_1 = b->by_type_1 };

	return dma_window_bind(view_of(host), &bind);
}

const struct transport_memory_ops hca_qp_memory_ops = {
	.local_check = local_check,
	.gather = gather,
	.scatter = scatter,
	.remote_check = remote_check,
	.remote_write = remote_write,
	.remote_read = remote_read,
	.remote_atomic = remote_atomic,
	.remote_invalidate = remote_invalidate,
	.local_invalidate = local_invalidate,
	.bind = bind_window,
	.remote_atomic_write = remote_atomic_write,
	.remote_flush = remote_flush,
};
