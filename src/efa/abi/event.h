/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the adapter says unasked: entries of the asynchronous event ring and of event queues, and the words that arm them. */
#ifndef EFA_ABI_EVENT_H
#define EFA_ABI_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum efa_abi_aenq_group {
	EFA_AENQ_FATAL = 1,
	EFA_AENQ_WARNING = 2,
	EFA_AENQ_NOTIFICATION = 3,
	EFA_AENQ_KEEP_ALIVE = 4,
	EFA_AENQ_GROUPS
};
enum { EFA_AENQ_ENTRY_BYTES = 64, EFA_AENQ_FLAGS_AT = 4, EFA_AENQ_WANTED = 0x1e };

struct efa_abi_aenq {
	uint16_t group, syndrome;
	bool phase;
	uint64_t time;
	uint32_t data[12];
};

struct efa_abi_aenq efa_abi_aenq_load(const uint8_t *entry);
void efa_abi_aenq_store(uint8_t *entry, const struct efa_abi_aenq *event);

/* Event queues: 16-byte entries, the phase in their first word. */
enum { EFA_EQE_BYTES = 16, EFA_EQE_COMPLETION = 0 };

struct efa_abi_eqe {
	bool phase;
	uint8_t type;
	uint16_t cqn;
};

struct efa_abi_eqe efa_abi_eqe_load(const uint8_t *entry);
void efa_abi_eqe_store(uint8_t *entry, const struct efa_abi_eqe *event);

/* The doorbell of a CQ: how far it has been read, and whether an event is wanted. */
struct efa_abi_cq_db {
	uint16_t consumer;
	uint8_t sn; /* 2 bits: counts the events that the client has taken */
	bool arm;
};

static inline uint32_t efa_abi_cq_db_pack(const struct efa_abi_cq_db *db)
{
	return db->consumer | (uint32_t)(db->sn & 3) << 29 | (uint32_t)db->arm << 31;
}

static inline struct efa_abi_cq_db efa_abi_cq_db_unpack(uint32_t word)
{
	return (struct efa_abi_cq_db){ .consumer = word & 0xffff, .sn = word >> 29 & 3, .arm = word >> 31 };
}

#endif
