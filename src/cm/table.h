/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash tables of slots, by chains of indexes: no memory of their own but the heads. One id stands at most once in each table.
 * The tables do not know their keys: who looks up walks a chain and compares.
 */
#ifndef CM_TABLE_H
#define CM_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define CM_NIL UINT32_MAX

enum cm_table_name {
	CM_BY_LOCAL,  /* our communication id */
	CM_BY_REMOTE, /* the peer's communication id and GUID; SIDR: request id and GID */
	CM_BY_QPN,    /* the peer's QP number and GUID */
	CM_BY_PORT,   /* port space and port: bound ids */
	CM_BY_OWNER,  /* the first id of each owner */
	CM_TABLES
};

struct cm_link {
	uint32_t next, prev; /* slots, CM_NIL at the ends */
	uint32_t bucket;     /* CM_NIL: in no chain */
};

struct cm_table {
	uint32_t *heads;
	uint32_t mask; /* buckets - 1 */
};

struct cm;
struct cm_id;

/* The first of the chain in which `key` would be, or NULL; and the one after. */
struct cm_id *cm_table_first(const struct cm *cm, enum cm_table_name table, uint64_t key);
struct cm_id *cm_table_next(const struct cm *cm, enum cm_table_name table, const struct cm_id *id);
void cm_table_add(struct cm *cm, enum cm_table_name table, uint64_t key, struct cm_id *id);
/* Nothing happens if it is in no chain. */
void cm_table_remove(struct cm *cm, enum cm_table_name table, struct cm_id *id);

#endif
