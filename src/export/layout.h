/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that a process shows to others: one memfd, sealed against shrinking, with a header and index-addressed tables.
 * Readers map it read-only. This header is its format; change it and count EXPORT_VERSION up.
 *
 *   header | counter groups | counter names | counter values | MR table | QP table
 *
 * The tables are sparse: pages that nobody wrote cost nothing. Every word that changes while readers look is atomic, and
 * readers take each for itself: there is no snapshot.
 */
#ifndef EXPORT_LAYOUT_H
#define EXPORT_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define EXPORT_MAGIC 0x45765373u /* "sSvE" as bytes in memory */
#define EXPORT_VERSION 2u

enum {
	EXPORT_PAGE = 4096,
	EXPORT_GROUPS = 256,        /* sets of counters: one per port, one for the link, one per anything */
	EXPORT_NAMES = 4096,        /* counter names, shared by groups of one kind */
	EXPORT_VALUES = 16384,
	EXPORT_MRS = 1 << 18,
	EXPORT_QPS = 65536,         /* by the low 16 bits of the QPN */
	EXPORT_NAME_BYTES = 32,     /* with the final 0 */
	EXPORT_QP_COUNTERS = 24,
};

enum export_table {
	EXPORT_TABLE_GROUPS,
	EXPORT_TABLE_NAMES,
	EXPORT_TABLE_VALUES,
	EXPORT_TABLE_MRS,
	EXPORT_TABLE_QPS,
	EXPORT_TABLES
};

struct export_span {
	uint64_t offset; /* bytes from the start, a multiple of EXPORT_PAGE */
	uint32_t stride; /* bytes per element */
	uint32_t count;
};

struct export_header {
	uint32_t magic, version;
	uint32_t pid;
	uint32_t reserved;
	uint64_t bytes;
	_Atomic uint32_t slot;
	_Atomic uint32_t groups; /* how many are in use, published with release */
	char program[EXPORT_NAME_BYTES];
	struct export_span tables[EXPORT_TABLES];
};

/* Counters `first_value`... of `count` values, named by `first_name`... */
struct export_group {
	char kind[EXPORT_NAME_BYTES];     /* "port", "link", "qp": what the names mean */
	char instance[EXPORT_NAME_BYTES]; /* "sv_lo", or empty */
	uint32_t first_name, first_value, count;
	_Atomic uint32_t in_use;          /* 0: retired, may be taken again for the same kind */
};

struct export_name {
	char text[EXPORT_NAME_BYTES];
};

/* A memory region or window; what each word means is dma's (struct dma_entry, the same 64 bytes). */
struct export_mr {
	_Atomic uint32_t key;
	uint32_t pd, access, generation;
	uint64_t iova, length, addr;
	_Atomic uint64_t revocation;
	_Atomic uint32_t kind;
	uint32_t link;
	uint64_t owner;
};
_Static_assert(sizeof(struct export_mr) == 64, "part of the format");

/* A QP as its responder presents it, and its counters, named by the group of kind "qp". */
struct export_qp {
	_Atomic uint32_t qpn;   /* 0: nobody's */
	_Atomic uint32_t dest_qpn;
	_Atomic uint32_t type, state;
	_Atomic uint32_t pd, access;
	_Atomic uint32_t rq_psn, sq_psn; /* next expected, next to send */
	_Atomic uint32_t port;  /* which group of kind "port" it belongs to */
	_Atomic uint32_t link_kind;
	_Atomic uint32_t mtu;   /* bytes */
	_Atomic uint32_t reserved[5];
	_Atomic uint64_t counters[EXPORT_QP_COUNTERS];
};
_Static_assert(sizeof(struct export_qp) == 256, "part of the format");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared between processes");

#endif
