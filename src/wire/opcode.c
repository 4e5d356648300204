/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/opcode.h"

#include "wire/aeth.h"
#include "wire/bth.h"
#include "wire/exthdr.h"
#include "wire/packet.h"
#include "wire/sack.h"

#define LENGTH(has) \
	(WIRE_BTH_BYTES + ((has) & WIRE_HAS_DETH ? WIRE_DETH_BYTES : 0) + ((has) & WIRE_HAS_XRCETH ? WIRE_XRCETH_BYTES : 0) + \
	 ((has) & WIRE_HAS_FETH ? WIRE_FETH_BYTES : 0) + ((has) & WIRE_HAS_RETH ? WIRE_RETH_BYTES : 0) + \
	 ((has) & WIRE_HAS_ATOMICETH ? WIRE_ATOMICETH_BYTES : 0) + ((has) & WIRE_HAS_AETH ? WIRE_AETH_BYTES : 0) + \
	 ((has) & WIRE_HAS_ATOMICACKETH ? WIRE_ATOMICACKETH_BYTES : 0) + ((has) & WIRE_HAS_IMMDT ? WIRE_IMMDT_BYTES : 0) + \
	 ((has) & WIRE_HAS_IETH ? WIRE_IETH_BYTES : 0) + ((has) & WIRE_HAS_CNP_RESERVED ? WIRE_CNP_RESERVED_BYTES : 0))

#define ROW(transport_, operation, headers, roles, rule) \
	[WIRE_##transport_##_##operation] = { \
		.name = #transport_ "_" #operation, \
		.has = (headers), \
		.role = (roles), \
		.code = WIRE_##transport_##_##operation, \
		.transport = WIRE_TRANSPORT_##transport_, \
		.header_bytes = LENGTH(headers), \
		.payload = WIRE_PAYLOAD_##rule, \
	}

#define REQ(place, kind) (WIRE_ROLE_REQUEST | WIRE_ROLE_##place | WIRE_ROLE_##kind)
#define RSP(place, kind) (WIRE_ROLE_RESPONSE | WIRE_ROLE_##place | WIRE_ROLE_##kind)

/* The operations that RC, UC and XRC share; `also` are headers that each request of the transport carries. */
#define SENDS_AND_WRITES(t, also) \
	ROW(t, SEND_FIRST, also, REQ(FIRST, SEND), FULL), \
	ROW(t, SEND_MIDDLE, also, REQ(MIDDLE, SEND), FULL), \
	ROW(t, SEND_LAST, also, REQ(LAST, SEND), SOME), \
	ROW(t, SEND_LAST_WITH_IMM, also | WIRE_HAS_IMMDT, REQ(LAST, SEND), SOME), \
	ROW(t, SEND_ONLY, also, REQ(ONLY, SEND), ANY), \
	ROW(t, SEND_ONLY_WITH_IMM, also | WIRE_HAS_IMMDT, REQ(ONLY, SEND), ANY), \
	ROW(t, RDMA_WRITE_FIRST, also | WIRE_HAS_RETH, REQ(FIRST, WRITE), FULL), \
	ROW(t, RDMA_WRITE_MIDDLE, also, REQ(MIDDLE, WRITE), FULL), \
	ROW(t, RDMA_WRITE_LAST, also, REQ(LAST, WRITE), SOME), \
	ROW(t, RDMA_WRITE_LAST_WITH_IMM, also | WIRE_HAS_IMMDT, REQ(LAST, WRITE), SOME), \
	ROW(t, RDMA_WRITE_ONLY, also | WIRE_HAS_RETH, REQ(ONLY, WRITE), ANY), \
	ROW(t, RDMA_WRITE_ONLY_WITH_IMM, also | WIRE_HAS_RETH | WIRE_HAS_IMMDT, REQ(ONLY, WRITE), ANY)

/* And those that are reliable only. Responses carry none of `also`. */
#define READS_AND_ATOMICS(t, also) \
	ROW(t, RDMA_READ_REQUEST, also | WIRE_HAS_RETH, REQ(ONLY, READ), NONE), \
	ROW(t, RDMA_READ_RESPONSE_FIRST, WIRE_HAS_AETH, RSP(FIRST, READ), FULL), \
	ROW(t, RDMA_READ_RESPONSE_MIDDLE, 0, RSP(MIDDLE, READ), FULL), \
	ROW(t, RDMA_READ_RESPONSE_LAST, WIRE_HAS_AETH, RSP(LAST, READ), SOME), \
	ROW(t, RDMA_READ_RESPONSE_ONLY, WIRE_HAS_AETH, RSP(ONLY, READ), ANY), \
	ROW(t, ACKNOWLEDGE, WIRE_HAS_AETH, RSP(ONLY, ACK), NONE), \
	ROW(t, ATOMIC_ACKNOWLEDGE, WIRE_HAS_AETH | WIRE_HAS_ATOMICACKETH, RSP(ONLY, ATOMIC), NONE), \
	ROW(t, COMPARE_SWAP, also | WIRE_HAS_ATOMICETH, REQ(ONLY, ATOMIC), NONE), \
	ROW(t, FETCH_ADD, also | WIRE_HAS_ATOMICETH, REQ(ONLY, ATOMIC), NONE), \
	ROW(t, SEND_LAST_WITH_INVALIDATE, also | WIRE_HAS_IETH, REQ(LAST, SEND), SOME), \
	ROW(t, SEND_ONLY_WITH_INVALIDATE, also | WIRE_HAS_IETH, REQ(ONLY, SEND), ANY), \
	ROW(t, FLUSH, also | WIRE_HAS_FETH | WIRE_HAS_RETH, REQ(ONLY, FLUSH), NONE), \
	ROW(t, ATOMIC_WRITE, also | WIRE_HAS_RETH, REQ(ONLY, ATOMIC_WRITE), EIGHT)

#define CNP_ROW(number) \
	[number] = { \
		.name = "CNP", \
		.has = WIRE_HAS_CNP_RESERVED, \
		.role = WIRE_ROLE_ONLY | WIRE_ROLE_CNP, \
		.code = number, \
		.transport = WIRE_TRANSPORT_CNP, \
		.header_bytes = LENGTH(WIRE_HAS_CNP_RESERVED), \
		.payload = WIRE_PAYLOAD_NONE, \
	}

const struct wire_opcode wire_opcode_table[256] = {
	SENDS_AND_WRITES(RC, 0),
	READS_AND_ATOMICS(RC, 0),
	SENDS_AND_WRITES(UC, 0),
	ROW(UD, SEND_ONLY, WIRE_HAS_DETH, REQ(ONLY, SEND), ANY),
	ROW(UD, SEND_ONLY_WITH_IMM, WIRE_HAS_DETH | WIRE_HAS_IMMDT, REQ(ONLY, SEND), ANY),
	CNP_ROW(WIRE_CNP_ALTERNATE),
	CNP_ROW(WIRE_CNP),
	SENDS_AND_WRITES(XRC, WIRE_HAS_XRCETH),
	READS_AND_ATOMICS(XRC, WIRE_HAS_XRCETH),
	[WIRE_SACK] = {
		.name = "MAKER_SACK",
		.has = WIRE_HAS_AETH,
		.role = RSP(ONLY, ACK),
		.code = WIRE_SACK,
		.transport = WIRE_TRANSPORT_MAKER,
		.header_bytes = LENGTH(WIRE_HAS_AETH),
		.payload = WIRE_PAYLOAD_SOME,
	},
};

bool wire_opcode_payload_fits(const struct wire_opcode *op, uint32_t payload_len, uint32_t path_mtu)
{
	switch ((enum wire_payload)op->payload) {
	case WIRE_PAYLOAD_NONE:
		return payload_len == 0;
	case WIRE_PAYLOAD_FULL:
		return payload_len == path_mtu;
	case WIRE_PAYLOAD_SOME:
		return payload_len >= 1 && payload_len <= path_mtu;
	case WIRE_PAYLOAD_ANY:
		return payload_len <= path_mtu;
	case WIRE_PAYLOAD_EIGHT:
		return payload_len == 8;
	}
	return false;
}
