/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a transport reaches the memory of its host. The host (dma behind hca, or the simulator's) answers synchronously and never
 * calls back. `host` is the QP's own view: it carries the protection domain, so keys of another domain are BASE_ERR_KEY.
 *
 * Every call returns 0 or: BASE_ERR_KEY (unknown, stale, foreign or insufficient key), BASE_ERR_RANGE (outside the region),
 * BASE_ERR_FAULT (the memory behind a valid key went away). On an error nothing is promised about how much was copied.
 */
#ifndef TRANSPORT_MEMORY_H
#define TRANSPORT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct transport_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* Rights, with the values of enum ibv_access_flags, so that the edge passes them through. */
enum transport_access {
	TRANSPORT_LOCAL_READ = 0,
	TRANSPORT_LOCAL_WRITE = 1,
	TRANSPORT_REMOTE_WRITE = 2,
	TRANSPORT_REMOTE_READ = 4,
	TRANSPORT_REMOTE_ATOMIC = 8,
	TRANSPORT_FLUSH_GLOBAL = 0x100,
	TRANSPORT_FLUSH_PERSISTENT = 0x200,
};

enum transport_atomic { TRANSPORT_COMPARE_SWAP, TRANSPORT_FETCH_ADD };

/* A memory window gets a part of a region. */
struct transport_bind {
	uint32_t window, rkey, region; /* the window by a key of it, its new key, the region by its key */
	uint32_t access;               /* values of enum ibv_access_flags */
	uint64_t addr, length;
	bool by_type_1;
};

struct transport_memory_ops {
	/* May all of these elements be used with this right (LOCAL_READ or LOCAL_WRITE)? Touches no user memory. */
	int (*local_check)(void *host, const struct transport_sge *sge, uint32_t num_sge, uint32_t access);
	/* Stable read: copies [offset, offset + len) of the concatenated elements to dst, each byte read once. */
	int (*gather)(void *host, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, void *dst, uint32_t len);
	/* Ordered placement: bytes ascending, the last up to 8 by a release store. */
	int (*scatter)(void *host, const struct transport_sge *sge, uint32_t num_sge, uint64_t offset, const void *src,
		       uint32_t len);
	/* May a peer of QP qpn use rkey with this right over [va, va + len)? Zero length asks nothing and is 0. */
	int (*remote_check)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access);
	/* Placement as in scatter, access checked again (the region may have been revoked since). */
	int (*remote_write)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src, uint32_t len);
	int (*remote_read)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, void *dst, uint32_t len);
	/* One CPU instruction on the target, which must be 8-byte aligned (the transport has checked that). */
	int (*remote_atomic)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, enum transport_atomic op, uint64_t operand,
			     uint64_t compare, uint64_t *before);
	/*
	 * 8 bytes by one release store; the transport has checked that va is aligned. BASE_ERR_RANGE: the place in memory is not.
	 * Needs REMOTE_WRITE.
	 */
	int (*remote_atomic_write)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, const void *src);
	/*
	 * What was placed before is globally visible or persistent when this returns: `access` says which, TRANSPORT_FLUSH_* of
	 * which the region must grant all. whole: the region as it is, va and len mean nothing. May take as long as its storage does.
	 */
	int (*remote_flush)(void *host, uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, bool whole);
	/*
	 * Optional: NULL says that this host can invalidate nothing. rkey must afterwards be refused to every peer; any error
	 * says that it cannot be invalidated here, and changes nothing. remote: asked for by the peer of QP qpn (SEND with
	 * invalidate); local: by a LOCAL_INV work request.
	 */
	int (*remote_invalidate)(void *host, uint32_t qpn, uint32_t rkey);
	int (*local_invalidate)(void *host, uint32_t rkey);
	/* Optional, as above. What the window granted before is taken away with it; an error changes nothing. */
	int (*bind)(void *host, const struct transport_bind *bind);
};

struct transport_memory {
	const struct transport_memory_ops *ops;
	void *host;
};

#endif
