/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static void *must_alloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (p == NULL)
		abort();
	return p;
}

void sim_host_init(struct sim_host *host, uint32_t sq_depth, uint32_t recvs_max)
{
	memset(host, 0, sizeof(*host));
	host->sq.depth = sq_depth;
	host->sq.stride = sizeof(struct transport_wqe) + SIM_SGE_MAX * sizeof(struct transport_sge);
	_Static_assert(SIM_INLINE_MAX <= SIM_SGE_MAX * sizeof(struct transport_sge), "inline bytes fit where SGEs do");
	host->sq.slots = must_alloc(sq_depth, host->sq.stride);
	host->recvs = must_alloc(recvs_max, sizeof(*host->recvs));
	host->recvs_max = recvs_max;
}

void sim_host_fini(struct sim_host *host)
{
	for (uint32_t i = 0; i < host->num_regions; i++) {
		free(host->regions[i].bytes);
		free(host->regions[i].flushed);
	}
	free(host->sq.slots);
	free(host->recvs);
	memset(host, 0, sizeof(*host));
}

struct sim_region *sim_host_region(struct sim_host *host, uint64_t base, uint64_t length, uint32_t access, uint32_t key)
{
	struct sim_region *r = &host->regions[host->num_regions++];

	assert(host->num_regions <= SIM_REGIONS);
	*r = (struct sim_region){ .key = key, .access = access, .base = base, .length = length, .bytes = must_alloc(length, 1) };
	if (access & (TRANSPORT_FLUSH_GLOBAL | TRANSPORT_FLUSH_PERSISTENT))
		r->flushed = must_alloc(length, 1);
	return r;
}

static struct sim_region *region_of(struct sim_host *host, uint32_t key, uint32_t access)
{
	for (uint32_t i = 0; i < host->num_regions; i++) {
		struct sim_region *r = &host->regions[i];

		if (r->key == key && !r->revoked)
			return (r->access & access) == access ? r : NULL;
	}
	return NULL;
}

/* Is it of the protection domain that counts? */
static bool is_near(const struct sim_host *host, const struct sim_region *r)
{
	return r->srqn == 0 || r->srqn == host->selected;
}

static int place(const struct sim_region *r, uint64_t addr, uint64_t length, uint8_t **bytes)
{
	if (addr < r->base || length > r->length || addr - r->base > r->length - length)
		return BASE_ERR_RANGE;
	*bytes = r->bytes + (addr - r->base);
	return BASE_OK;
}

static int lookup(struct sim_host *host, uint32_t key, uint64_t addr, uint64_t length, uint32_t access, uint8_t **bytes)
{
	const struct sim_region *r = region_of(host, key, access);

	return r == NULL || !is_near(host, r) ? BASE_ERR_KEY : place(r, addr, length, bytes);
}

uint8_t *sim_host_bytes(struct sim_host *host, uint32_t key, uint64_t addr, uint64_t length)
{
	const struct sim_region *r = region_of(host, key, 0);
	uint8_t *bytes;

	return r && place(r, addr, length, &bytes) == BASE_OK ? bytes : NULL;
}

/* Walks the part [offset, offset + len) of the elements; dst or src is the other side, both NULL only checks. */
static int walk(struct sim_host *host, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, uint64_t len,
		uint32_t access, uint8_t *dst, const uint8_t *src)
{
	for (uint32_t i = 0; i < num_sge && len; i++) {
		uint64_t part;
		uint8_t *bytes;
		int err;

		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		part = sge[i].length - offset;
		if (part > len)
			part = len;
		err = lookup(host, sge[i].lkey, sge[i].addr + offset, part, access, &bytes);
		if (err)
			return err;
		if (dst) {
			memcpy(dst, bytes, part);
			dst += part;
		}
		if (src) {
			memcpy(bytes, src, part);
			src += part;
		}
		len -= part;
		offset = 0;
	}
	return len ? BASE_ERR_RANGE : BASE_OK;
}

static int host_local_check(void *h, const struct transport_sge *sge, uint32_t num_sge, uint32_t access)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < num_sge; i++)
		total += sge[i].length;
	return walk(h, sge, num_sge, 0, total, access, NULL, NULL);
}

static int host_gather(void *h, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, void *dst, uint32_t len)
{
	return walk(h, sge, num_sge, offset, len, TRANSPORT_LOCAL_READ, dst, NULL);
}

static int host_scatter(void *h, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, const void *src, uint32_t len)
{
	((struct sim_host *)h)->placed_calls++;
	return walk(h, sge, num_sge, offset, len, TRANSPORT_LOCAL_WRITE, NULL, src);
}

static int host_remote_check(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access)
{
	uint8_t *bytes;

	return len ? lookup(h, rkey, va, len, access, &bytes) : BASE_OK;
}

static int host_remote_write(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src, uint32_t len)
{
	uint8_t *bytes;
	int err = lookup(h, rkey, va, len, TRANSPORT_REMOTE_WRITE, &bytes);

	((struct sim_host *)h)->placed_calls++;
	if (err == BASE_OK)
		memcpy(bytes, src, len);
	return err;
}

static int host_remote_read(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, void *dst, uint32_t len)
{
	uint8_t *bytes;
	int err = lookup(h, rkey, va, len, TRANSPORT_REMOTE_READ, &bytes);

	if (err == BASE_OK)
		memcpy(dst, bytes, len);
	return err;
}

static int host_remote_atomic(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, enum transport_atomic op, uint64_t operand,
			      uint64_t compare, uint64_t *before)
{
	uint8_t *bytes;
	uint64_t value;
	int err = lookup(h, rkey, va, 8, TRANSPORT_REMOTE_ATOMIC, &bytes);

	if (err)
		return err;
	memcpy(&value, bytes, 8);
	*before = value;
	if (op == TRANSPORT_FETCH_ADD)
		value += operand;
	else if (value == compare)
		value = operand;
	memcpy(bytes, &value, 8);
	return BASE_OK;
}

static int host_remote_atomic_write(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src)
{
	assert(va % 8 == 0);
	return host_remote_write(h, qpn, rkey, va, src, 8);
}

static int host_remote_flush(void *h, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, bool whole)
{
	struct sim_region *r = region_of(h, rkey, access);
	uint8_t *bytes;
	int err;

	if (r == NULL)
		return BASE_ERR_KEY;
	if (whole) {
		va = r->base;
		len = r->length;
	}
	err = lookup(h, rkey, va, len, access, &bytes);
	if (err == BASE_OK && access)
		memcpy(r->flushed + (va - r->base), bytes, len);
	return err;
}

static int host_local_invalidate(void *h, uint32_t rkey)
{
	struct sim_host *host = h;

	for (uint32_t i = 0; i < host->num_regions; i++) {
		struct sim_region *r = &host->regions[i];

		if (r->key != rkey || r->revoked)
			continue;
		if (!r->invalidatable)
			return BASE_ERR_PERM;
		r->revoked = !r->immortal;
		r->invalidated++;
		return BASE_OK;
	}
	return BASE_ERR_KEY;
}

static int host_remote_invalidate(void *h, uint32_t qpn, uint32_t rkey)
{
	return host_local_invalidate(h, rkey);
}

const struct transport_memory_ops sim_host_memory_ops = {
	.local_check = host_local_check,
	.gather = host_gather,
	.scatter = host_scatter,
	.remote_check = host_remote_check,
	.remote_write = host_remote_write,
	.remote_read = host_remote_read,
	.remote_atomic = host_remote_atomic,
	.remote_atomic_write = host_remote_atomic_write,
	.remote_flush = host_remote_flush,
	.remote_invalidate = host_remote_invalidate,
	.local_invalidate = host_local_invalidate,
};

bool sim_host_post_send(struct sim_host *host, const struct transport_wqe *wqe, const void *tail, uint32_t tail_bytes)
{
	uint32_t posted = atomic_load_explicit(&host->sq.posted, memory_order_relaxed);
	struct transport_wqe *slot = transport_sq_wqe(&host->sq, posted);

	if (posted - host->sq.reaped >= host->sq.depth)
		return false;
	assert(tail_bytes <= SIM_SGE_MAX * sizeof(struct transport_sge));
	*slot = *wqe;
	if (tail_bytes)
		memcpy(slot->sge, tail, tail_bytes);
	atomic_store_explicit(&host->sq.posted, posted + 1, memory_order_release);
	return true;
}

void sim_host_post_recv(struct sim_host *host, uint64_t wr_id, const struct transport_sge *sge, uint32_t num_sge)
{
	sim_host_post_srq_recv(host, 0, wr_id, sge, num_sge);
}

void sim_host_post_srq_recv(struct sim_host *host, uint32_t srqn, uint64_t wr_id, const struct transport_sge *sge, uint32_t num_sge)
{
	struct sim_recv *r = &host->recvs[host->recvs_posted];

	assert(host->recvs_posted < host->recvs_max && num_sge <= SIM_SGE_MAX);
	r->recv = (struct transport_recv){ .wr_id = wr_id, .sge = r->sge, .num_sge = num_sge, .index = host->recvs_posted,
					  .srqn = srqn };
	for (uint32_t i = 0; i < num_sge; i++) {
		r->sge[i] = sge[i];
		r->recv.length += sge[i].length;
	}
	host->recvs_posted++;
}

static int host_take(void *h, struct transport_recv *out)
{
	struct sim_host *host = h;
	uint32_t *next = &host->recvs_next[host->selected];

	while (*next < host->recvs_posted && host->recvs[*next].recv.srqn != host->selected)
		++*next;
	if (*next == host->recvs_posted)
		return BASE_ERR_AGAIN;
	*out = host->recvs[(*next)++].recv;
	host->recvs_taken++;
	return BASE_OK;
}

static int host_select(void *h, uint32_t srqn)
{
	struct sim_host *host = h;

	if (srqn == 0 || srqn > host->srqs)
		return BASE_ERR_KEY;
	host->selected = srqn;
	return BASE_OK;
}

int sim_host_flush_recv(struct sim_host *host, uint64_t *wr_id)
{
	struct transport_recv recv;

	/* An SRQ keeps what it has. */
	if (host->srqs || host_take(host, &recv) != BASE_OK)
		return 0;
	*wr_id = recv.wr_id;
	return 1;
}

const struct transport_recv_ops sim_host_recv_ops = { .take = host_take, .select = host_select };
