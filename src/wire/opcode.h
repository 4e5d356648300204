/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The opcode table of the transport: which headers follow the BTH, what the packet is for, how long its payload may be. One
 * row per opcode that a receiver acts on; a code without a row is dropped in silence (all of RD, and the reserved ones).
 * The table is constant: any thread.
 */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits 7:5 of an opcode. */
enum wire_transport {
	WIRE_TRANSPORT_RC = 0,
	WIRE_TRANSPORT_UC = 1,
	WIRE_TRANSPORT_RD = 2,
	WIRE_TRANSPORT_UD = 3,
	WIRE_TRANSPORT_CNP = 4,
	WIRE_TRANSPORT_XRC = 5,
	WIRE_TRANSPORT_MAKER = 6 /* manufacturers' own: of ours, wire/sack.h */
};

/* Bits 4:0. */
enum wire_operation {
	WIRE_SEND_FIRST = 0x00,
	WIRE_SEND_MIDDLE = 0x01,
	WIRE_SEND_LAST = 0x02,
	WIRE_SEND_LAST_WITH_IMM = 0x03,
	WIRE_SEND_ONLY = 0x04,
	WIRE_SEND_ONLY_WITH_IMM = 0x05,
	WIRE_RDMA_WRITE_FIRST = 0x06,
	WIRE_RDMA_WRITE_MIDDLE = 0x07,
	WIRE_RDMA_WRITE_LAST = 0x08,
	WIRE_RDMA_WRITE_LAST_WITH_IMM = 0x09,
	WIRE_RDMA_WRITE_ONLY = 0x0a,
	WIRE_RDMA_WRITE_ONLY_WITH_IMM = 0x0b,
	WIRE_RDMA_READ_REQUEST = 0x0c,
	WIRE_RDMA_READ_RESPONSE_FIRST = 0x0d,
	WIRE_RDMA_READ_RESPONSE_MIDDLE = 0x0e,
	WIRE_RDMA_READ_RESPONSE_LAST = 0x0f,
	WIRE_RDMA_READ_RESPONSE_ONLY = 0x10,
	WIRE_ACKNOWLEDGE = 0x11,
	WIRE_ATOMIC_ACKNOWLEDGE = 0x12,
	WIRE_COMPARE_SWAP = 0x13,
	WIRE_FETCH_ADD = 0x14,
	WIRE_RESYNC = 0x15, /* RD alone */
	WIRE_SEND_LAST_WITH_INVALIDATE = 0x16,
	WIRE_SEND_ONLY_WITH_INVALIDATE = 0x17,
	WIRE_FLUSH = 0x1c,
	WIRE_ATOMIC_WRITE = 0x1d
};

#define WIRE_OPCODE(transport, operation) ((transport) << 5 | (operation))

enum wire_opcode_number {
	WIRE_RC_SEND_FIRST = 0x00,
	WIRE_RC_SEND_MIDDLE = 0x01,
	WIRE_RC_SEND_LAST = 0x02,
	WIRE_RC_SEND_LAST_WITH_IMM = 0x03,
	WIRE_RC_SEND_ONLY = 0x04,
	WIRE_RC_SEND_ONLY_WITH_IMM = 0x05,
	WIRE_RC_RDMA_WRITE_FIRST = 0x06,
	WIRE_RC_RDMA_WRITE_MIDDLE = 0x07,
	WIRE_RC_RDMA_WRITE_LAST = 0x08,
	WIRE_RC_RDMA_WRITE_LAST_WITH_IMM = 0x09,
	WIRE_RC_RDMA_WRITE_ONLY = 0x0a,
	WIRE_RC_RDMA_WRITE_ONLY_WITH_IMM = 0x0b,
	WIRE_RC_RDMA_READ_REQUEST = 0x0c,
	WIRE_RC_RDMA_READ_RESPONSE_FIRST = 0x0d,
	WIRE_RC_RDMA_READ_RESPONSE_MIDDLE = 0x0e,
	WIRE_RC_RDMA_READ_RESPONSE_LAST = 0x0f,
	WIRE_RC_RDMA_READ_RESPONSE_ONLY = 0x10,
	WIRE_RC_ACKNOWLEDGE = 0x11,
	WIRE_RC_ATOMIC_ACKNOWLEDGE = 0x12,
	WIRE_RC_COMPARE_SWAP = 0x13,
	WIRE_RC_FETCH_ADD = 0x14,
	WIRE_RC_SEND_LAST_WITH_INVALIDATE = 0x16,
	WIRE_RC_SEND_ONLY_WITH_INVALIDATE = 0x17,
	WIRE_RC_FLUSH = 0x1c,
	WIRE_RC_ATOMIC_WRITE = 0x1d,

	WIRE_UC_SEND_FIRST = 0x20,
	WIRE_UC_SEND_MIDDLE = 0x21,
	WIRE_UC_SEND_LAST = 0x22,
	WIRE_UC_SEND_LAST_WITH_IMM = 0x23,
	WIRE_UC_SEND_ONLY = 0x24,
	WIRE_UC_SEND_ONLY_WITH_IMM = 0x25,
	WIRE_UC_RDMA_WRITE_FIRST = 0x26,
	WIRE_UC_RDMA_WRITE_MIDDLE = 0x27,
	WIRE_UC_RDMA_WRITE_LAST = 0x28,
	WIRE_UC_RDMA_WRITE_LAST_WITH_IMM = 0x29,
	WIRE_UC_RDMA_WRITE_ONLY = 0x2a,
	WIRE_UC_RDMA_WRITE_ONLY_WITH_IMM = 0x2b,

	/* RD, 0x40 up: no row in the table, nobody implements it. */
	WIRE_RD_SEND_FIRST = 0x40,
	WIRE_RD_RESYNC = 0x55,

	WIRE_UD_SEND_ONLY = 0x64,
	WIRE_UD_SEND_ONLY_WITH_IMM = 0x65,

	/* Congestion notification. 0x81 is what adapters send; some tables name 0x80, so both are accepted. */
	WIRE_CNP_ALTERNATE = 0x80,
	WIRE_CNP = 0x81,

	WIRE_XRC_SEND_FIRST = 0xa0,
	WIRE_XRC_SEND_MIDDLE = 0xa1,
	WIRE_XRC_SEND_LAST = 0xa2,
	WIRE_XRC_SEND_LAST_WITH_IMM = 0xa3,
	WIRE_XRC_SEND_ONLY = 0xa4,
	WIRE_XRC_SEND_ONLY_WITH_IMM = 0xa5,
	WIRE_XRC_RDMA_WRITE_FIRST = 0xa6,
	WIRE_XRC_RDMA_WRITE_MIDDLE = 0xa7,
	WIRE_XRC_RDMA_WRITE_LAST = 0xa8,
	WIRE_XRC_RDMA_WRITE_LAST_WITH_IMM = 0xa9,
	WIRE_XRC_RDMA_WRITE_ONLY = 0xaa,
	WIRE_XRC_RDMA_WRITE_ONLY_WITH_IMM = 0xab,
	WIRE_XRC_RDMA_READ_REQUEST = 0xac,
	WIRE_XRC_RDMA_READ_RESPONSE_FIRST = 0xad,
	WIRE_XRC_RDMA_READ_RESPONSE_MIDDLE = 0xae,
	WIRE_XRC_RDMA_READ_RESPONSE_LAST = 0xaf,
	WIRE_XRC_RDMA_READ_RESPONSE_ONLY = 0xb0,
	WIRE_XRC_ACKNOWLEDGE = 0xb1,
	WIRE_XRC_ATOMIC_ACKNOWLEDGE = 0xb2,
	WIRE_XRC_COMPARE_SWAP = 0xb3,
	WIRE_XRC_FETCH_ADD = 0xb4,
	WIRE_XRC_SEND_LAST_WITH_INVALIDATE = 0xb6,
	WIRE_XRC_SEND_ONLY_WITH_INVALIDATE = 0xb7,
	WIRE_XRC_FLUSH = 0xbc,
	WIRE_XRC_ATOMIC_WRITE = 0xbd
};

/* The headers after the BTH; their order in a packet is the order here. */
enum wire_header {
	WIRE_HAS_DETH = 1 << 0,
	WIRE_HAS_XRCETH = 1 << 1,
	WIRE_HAS_FETH = 1 << 2,
	WIRE_HAS_RETH = 1 << 3,
	WIRE_HAS_ATOMICETH = 1 << 4,
	WIRE_HAS_AETH = 1 << 5,
	WIRE_HAS_ATOMICACKETH = 1 << 6,
	WIRE_HAS_IMMDT = 1 << 7,
	WIRE_HAS_IETH = 1 << 8,
	WIRE_HAS_CNP_RESERVED = 1 << 9 /* 16 zero bytes */
};

enum wire_role {
	/* Place in the message: exactly one for SEND, WRITE and READ responses, ONLY for all else. */
	WIRE_ROLE_FIRST = 1 << 0,
	WIRE_ROLE_MIDDLE = 1 << 1,
	WIRE_ROLE_LAST = 1 << 2,
	WIRE_ROLE_ONLY = 1 << 3,
	/* Direction: neither for CNP. */
	WIRE_ROLE_REQUEST = 1 << 4,
	WIRE_ROLE_RESPONSE = 1 << 5,
	/* Kind: a READ request and its responses are READ, an atomic and its acknowledgement ATOMIC. */
	WIRE_ROLE_SEND = 1 << 6,
	WIRE_ROLE_WRITE = 1 << 7,
	WIRE_ROLE_READ = 1 << 8,
	WIRE_ROLE_ATOMIC = 1 << 9,
	WIRE_ROLE_ACK = 1 << 10, /* ACKNOWLEDGE: ACK, RNR NAK or NAK */
	WIRE_ROLE_FLUSH = 1 << 11,
	WIRE_ROLE_ATOMIC_WRITE = 1 << 12,
	WIRE_ROLE_CNP = 1 << 13
};

#define WIRE_ROLE_STARTS (WIRE_ROLE_FIRST | WIRE_ROLE_ONLY) /* begins a message */
#define WIRE_ROLE_ENDS (WIRE_ROLE_LAST | WIRE_ROLE_ONLY)    /* completes one */

enum wire_payload {
	WIRE_PAYLOAD_NONE,   /* 0 bytes */
	WIRE_PAYLOAD_FULL,   /* exactly the path MTU */
	WIRE_PAYLOAD_SOME,   /* 1 .. path MTU */
	WIRE_PAYLOAD_ANY,    /* 0 .. path MTU */
	WIRE_PAYLOAD_EIGHT   /* exactly 8 */
};

struct wire_opcode {
	const char *name;     /* "RC_SEND_FIRST"; NULL in the rows of the table that are empty */
	uint16_t has;         /* enum wire_header */
	uint16_t role;        /* enum wire_role */
	uint8_t code;
	uint8_t transport;    /* enum wire_transport */
	uint8_t header_bytes; /* BTH and the headers in `has` */
	uint8_t payload;      /* enum wire_payload */
};

extern const struct wire_opcode wire_opcode_table[256];

/* The row of an opcode; NULL when it is unknown and the packet is to be dropped. */
static inline const struct wire_opcode *wire_opcode_find(uint8_t opcode)
{
	const struct wire_opcode *row = &wire_opcode_table[opcode];

	return row->name == NULL ? NULL : row;
}

static inline enum wire_transport wire_opcode_transport(uint8_t opcode)
{
	return (enum wire_transport)(opcode >> 5);
}

/* Whether a payload (without pad) of this length is allowed on a path of this MTU. */
bool wire_opcode_payload_fits(const struct wire_opcode *op, uint32_t payload_len, uint32_t path_mtu);

#endif
