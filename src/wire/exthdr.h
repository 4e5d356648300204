/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The extended transport headers, in the order of the specification; AETH has its own file. Every decoder returns the bytes
 * used or BASE_ERR_TRUNCATED and judges nothing; every encoder writes WIRE_<name>_BYTES, for which the caller has room.
 */
#ifndef WIRE_EXTHDR_H
#define WIRE_EXTHDR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/bytes.h"

#define WIRE_DETH_BYTES 8
#define WIRE_XRCETH_BYTES 4
#define WIRE_FETH_BYTES 4
#define WIRE_RETH_BYTES 16
#define WIRE_ATOMICETH_BYTES 28
#define WIRE_ATOMICACKETH_BYTES 8
#define WIRE_IMMDT_BYTES 4
#define WIRE_IETH_BYTES 4

#define WIRE_QKEY_GSI 0x80010000u
#define WIRE_RETH_LENGTH_MAX 0x80000000u /* the longest message there is: 2^31 bytes */

/* Datagram. */
struct wire_deth {
	uint32_t qkey;
	uint32_t src_qpn; /* 24 bits */
};

static inline ssize_t wire_deth_decode(struct wire_deth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_DETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->qkey = wire_be32_load(buf);
	out->src_qpn = wire_be24_load(buf + 5);
	return WIRE_DETH_BYTES;
}

static inline size_t wire_deth_encode(uint8_t *buf, const struct wire_deth *in)
{
	wire_be32_store(buf, in->qkey);
	wire_be32_store(buf + 4, in->src_qpn & 0xffffff);
	return WIRE_DETH_BYTES;
}

/* Extended reliable connection. */
struct wire_xrceth {
	uint32_t srqn; /* 24 bits */
};

static inline ssize_t wire_xrceth_decode(struct wire_xrceth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_XRCETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->srqn = wire_be24_load(buf + 1);
	return WIRE_XRCETH_BYTES;
}

static inline size_t wire_xrceth_encode(uint8_t *buf, const struct wire_xrceth *in)
{
	wire_be32_store(buf, in->srqn & 0xffffff);
	return WIRE_XRCETH_BYTES;
}

/* FLUSH. */
struct wire_feth {
	uint8_t placement; /* 4 bits: 1 = global visibility, 2 = persistence */
	uint8_t selector;  /* 2 bits: 0 = the range in the RETH, 1 = the whole region */
};

static inline ssize_t wire_feth_decode(struct wire_feth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_FETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->placement = buf[3] & 0xf;
	out->selector = buf[3] >> 4 & 3;
	return WIRE_FETH_BYTES;
}

static inline size_t wire_feth_encode(uint8_t *buf, const struct wire_feth *in)
{
	wire_be32_store(buf, (uint32_t)(in->selector & 3) << 4 | (in->placement & 0xf));
	return WIRE_FETH_BYTES;
}

/* RDMA. */
struct wire_reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t length; /* of the whole message */
};

static inline ssize_t wire_reth_decode(struct wire_reth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_RETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->va = wire_be64_load(buf);
	out->rkey = wire_be32_load(buf + 8);
	out->length = wire_be32_load(buf + 12);
	return WIRE_RETH_BYTES;
}

static inline size_t wire_reth_encode(uint8_t *buf, const struct wire_reth *in)
{
	wire_be64_store(buf, in->va);
	wire_be32_store(buf + 8, in->rkey);
	wire_be32_store(buf + 12, in->length);
	return WIRE_RETH_BYTES;
}

/* Atomic. */
struct wire_atomiceth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_or_add;
	uint64_t compare;
};

static inline ssize_t wire_atomiceth_decode(struct wire_atomiceth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_ATOMICETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->va = wire_be64_load(buf);
	out->rkey = wire_be32_load(buf + 8);
	out->swap_or_add = wire_be64_load(buf + 12);
	out->compare = wire_be64_load(buf + 20);
	return WIRE_ATOMICETH_BYTES;
}

static inline size_t wire_atomiceth_encode(uint8_t *buf, const struct wire_atomiceth *in)
{
	wire_be64_store(buf, in->va);
	wire_be32_store(buf + 8, in->rkey);
	wire_be64_store(buf + 12, in->swap_or_add);
	wire_be64_store(buf + 20, in->compare);
	return WIRE_ATOMICETH_BYTES;
}

/* Atomic acknowledgement. */
struct wire_atomicacketh {
	uint64_t original;
};

static inline ssize_t wire_atomicacketh_decode(struct wire_atomicacketh *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_ATOMICACKETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->original = wire_be64_load(buf);
	return WIRE_ATOMICACKETH_BYTES;
}

static inline size_t wire_atomicacketh_encode(uint8_t *buf, const struct wire_atomicacketh *in)
{
	wire_be64_store(buf, in->original);
	return WIRE_ATOMICACKETH_BYTES;
}

/* Immediate data. */
struct wire_immdt {
	uint32_t imm; /* the four bytes as they are on the wire: a __be32 value, never swapped */
};

static inline ssize_t wire_immdt_decode(struct wire_immdt *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_IMMDT_BYTES)
		return BASE_ERR_TRUNCATED;
	out->imm = wire_raw32_load(buf);
	return WIRE_IMMDT_BYTES;
}

static inline size_t wire_immdt_encode(uint8_t *buf, const struct wire_immdt *in)
{
	wire_raw32_store(buf, in->imm);
	return WIRE_IMMDT_BYTES;
}

/* Invalidate. */
struct wire_ieth {
	uint32_t rkey;
};

static inline ssize_t wire_ieth_decode(struct wire_ieth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_IETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->rkey = wire_be32_load(buf);
	return WIRE_IETH_BYTES;
}

static inline size_t wire_ieth_encode(uint8_t *buf, const struct wire_ieth *in)
{
	wire_be32_store(buf, in->rkey);
	return WIRE_IETH_BYTES;
}

#endif
