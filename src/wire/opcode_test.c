/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The opcode table against a second one, typed in by operation: header bytes of RC, kind, place, payload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wire/opcode.h"
#include "wire/packet.h"
#include "wire/sack.h"

struct row {
	const char *name;  /* NULL: reserved */
	uint8_t rc_bytes;
	bool uc;           /* UC has it too */
	bool response;
	char place;        /* F, M, L, O */
	uint16_t kind;
	enum wire_payload payload;
};

static const struct row rows[32] = {
	[0x00] = {"SEND_FIRST", 12, true, false, 'F', WIRE_ROLE_SEND, WIRE_PAYLOAD_FULL},
	[0x01] = {"SEND_MIDDLE", 12, true, false, 'M', WIRE_ROLE_SEND, WIRE_PAYLOAD_FULL},
	[0x02] = {"SEND_LAST", 12, true, false, 'L', WIRE_ROLE_SEND, WIRE_PAYLOAD_SOME},
	[0x03] = {"SEND_LAST_WITH_IMM", 16, true, false, 'L', WIRE_ROLE_SEND, WIRE_PAYLOAD_SOME},
	[0x04] = {"SEND_ONLY", 12, true, false, 'O', WIRE_ROLE_SEND, WIRE_PAYLOAD_ANY},
	[0x05] = {"SEND_ONLY_WITH_IMM", 16, true, false, 'O', WIRE_ROLE_SEND, WIRE_PAYLOAD_ANY},
	[0x06] = {"RDMA_WRITE_FIRST", 28, true, false, 'F', WIRE_ROLE_WRITE, WIRE_PAYLOAD_FULL},
	[0x07] = {"RDMA_WRITE_MIDDLE", 12, true, false, 'M', WIRE_ROLE_WRITE, WIRE_PAYLOAD_FULL},
	[0x08] = {"RDMA_WRITE_LAST", 12, true, false, 'L', WIRE_ROLE_WRITE, WIRE_PAYLOAD_SOME},
	[0x09] = {"RDMA_WRITE_LAST_WITH_IMM", 16, true, false, 'L', WIRE_ROLE_WRITE, WIRE_PAYLOAD_SOME},
	[0x0a] = {"RDMA_WRITE_ONLY", 28, true, false, 'O', WIRE_ROLE_WRITE, WIRE_PAYLOAD_ANY},
	[0x0b] = {"RDMA_WRITE_ONLY_WITH_IMM", 32, true, false, 'O', WIRE_ROLE_WRITE, WIRE_PAYLOAD_ANY},
	[0x0c] = {"RDMA_READ_REQUEST", 28, false, false, 'O', WIRE_ROLE_READ, WIRE_PAYLOAD_NONE},
	[0x0d] = {"RDMA_READ_RESPONSE_FIRST", 16, false, true, 'F', WIRE_ROLE_READ, WIRE_PAYLOAD_FULL},
	[0x0e] = {"RDMA_READ_RESPONSE_MIDDLE", 12, false, true, 'M', WIRE_ROLE_READ, WIRE_PAYLOAD_FULL},
	[0x0f] = {"RDMA_READ_RESPONSE_LAST", 16, false, true, 'L', WIRE_ROLE_READ, WIRE_PAYLOAD_SOME},
	[0x10] = {"RDMA_READ_RESPONSE_ONLY", 16, false, true, 'O', WIRE_ROLE_READ, WIRE_PAYLOAD_ANY},
	[0x11] = {"ACKNOWLEDGE", 16, false, true, 'O', WIRE_ROLE_ACK, WIRE_PAYLOAD_NONE},
	[0x12] = {"ATOMIC_ACKNOWLEDGE", 24, false, true, 'O', WIRE_ROLE_ATOMIC, WIRE_PAYLOAD_NONE},
	[0x13] = {"COMPARE_SWAP", 40, false, false, 'O', WIRE_ROLE_ATOMIC, WIRE_PAYLOAD_NONE},
	[0x14] = {"FETCH_ADD", 40, false, false, 'O', WIRE_ROLE_ATOMIC, WIRE_PAYLOAD_NONE},
	[0x16] = {"SEND_LAST_WITH_INVALIDATE", 16, false, false, 'L', WIRE_ROLE_SEND, WIRE_PAYLOAD_SOME},
	[0x17] = {"SEND_ONLY_WITH_INVALIDATE", 16, false, false, 'O', WIRE_ROLE_SEND, WIRE_PAYLOAD_ANY},
	[0x1c] = {"FLUSH", 32, false, false, 'O', WIRE_ROLE_FLUSH, WIRE_PAYLOAD_NONE},
	[0x1d] = {"ATOMIC_WRITE", 28, false, false, 'O', WIRE_ROLE_ATOMIC_WRITE, WIRE_PAYLOAD_EIGHT},
};

static uint16_t place_bit(char place)
{
	return place == 'F' ? WIRE_ROLE_FIRST : place == 'M' ? WIRE_ROLE_MIDDLE : place == 'L' ? WIRE_ROLE_LAST : WIRE_ROLE_ONLY;
}

/* What the second table says about a code: NULL, or header bytes and name in *bytes and name. */
static const struct row *expected(int code, unsigned *bytes, char name[64])
{
	static const char *const transports[] = {"RC", "UC", "RD", "UD", "CNP", "XRC", "", ""};
	const struct row *row = &rows[code & 0x1f];
	int transport = code >> 5;

	snprintf(name, 64, "%s_%s", transports[transport], row->name == NULL ? "" : row->name);
	*bytes = row->rc_bytes;
	if (row->name == NULL)
		return NULL;
	switch (transport) {
	case WIRE_TRANSPORT_RC:
		return row;
	case WIRE_TRANSPORT_UC:
		return row->uc ? row : NULL;
	case WIRE_TRANSPORT_UD:
		*bytes += 8;
		return code == 0x64 || code == 0x65 ? row : NULL;
	case WIRE_TRANSPORT_XRC:
		*bytes += row->response ? 0 : 4;
		return row;
	}
	return NULL;
}

static void every_code_has_the_row_of_the_specification(void **state)
{
	int rows_found = 0;

	for (int code = 0; code < 256; code++) {
		char name[64];
		unsigned bytes;
		const struct row *row = expected(code, &bytes, name);
		const struct wire_opcode *op = wire_opcode_find((uint8_t)code);

		if (code == 0x80 || code == 0x81) {
			assert_non_null(op);
			assert_string_equal(op->name, "CNP");
			assert_int_equal(op->header_bytes, 28);
			assert_int_equal(op->role, WIRE_ROLE_ONLY | WIRE_ROLE_CNP);
			assert_int_equal(op->payload, WIRE_PAYLOAD_NONE);
			continue;
		}
		if (code == WIRE_SACK) {
			assert_non_null(op);
			assert_string_equal(op->name, "MAKER_SACK");
			assert_int_equal(op->header_bytes, 16);
			assert_int_equal(op->role, WIRE_ROLE_ONLY | WIRE_ROLE_RESPONSE | WIRE_ROLE_ACK);
			continue;
		}
		if (row == NULL) {
			assert_null(op);
			continue;
		}
		rows_found++;
		assert_non_null(op);
		assert_string_equal(op->name, name);
		assert_int_equal(op->code, code);
		assert_int_equal(op->transport, code >> 5);
		assert_int_equal(wire_opcode_transport((uint8_t)code), code >> 5);
		assert_int_equal(op->header_bytes, bytes);
		assert_int_equal(op->payload, row->payload);
		assert_int_equal(op->role, place_bit(row->place) | row->kind | (row->response ? WIRE_ROLE_RESPONSE : WIRE_ROLE_REQUEST));
		assert_int_equal(!!(op->has & WIRE_HAS_IMMDT), strstr(name, "WITH_IMM") != NULL);
		assert_int_equal(!!(op->has & WIRE_HAS_IETH), strstr(name, "INVALIDATE") != NULL);
		assert_in_range(op->header_bytes, WIRE_BTH_BYTES, WIRE_PACKET_MAX_HEADERS);
		if (op->payload == WIRE_PAYLOAD_ANY || op->payload == WIRE_PAYLOAD_FULL || op->payload == WIRE_PAYLOAD_SOME)
			assert_in_range(op->header_bytes + 4096 + WIRE_ICRC_BYTES, 0, WIRE_PACKET_MAX);
	}
	assert_int_equal(rows_found, 25 + 12 + 2 + 25);
}

static void payload_rules(void **state)
{
	static const struct {
		uint8_t code;
		uint32_t len;
		bool fits;
	} checks[] = {
		{WIRE_RC_SEND_FIRST, 1024, true}, {WIRE_RC_SEND_FIRST, 1023, false}, {WIRE_RC_SEND_FIRST, 1025, false},
		{WIRE_RC_SEND_LAST, 0, false}, {WIRE_RC_SEND_LAST, 1, true}, {WIRE_RC_SEND_LAST, 1024, true},
		{WIRE_RC_SEND_LAST, 1025, false}, {WIRE_RC_SEND_ONLY, 0, true}, {WIRE_RC_SEND_ONLY, 1024, true},
		{WIRE_RC_SEND_ONLY, 1025, false}, {WIRE_RC_ACKNOWLEDGE, 0, true}, {WIRE_RC_ACKNOWLEDGE, 1, false},
		{WIRE_RC_ATOMIC_WRITE, 8, true}, {WIRE_RC_ATOMIC_WRITE, 4, false},
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		assert_int_equal(wire_opcode_payload_fits(wire_opcode_find(checks[i].code), checks[i].len, 1024), checks[i].fits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_the_row_of_the_specification),
		cmocka_unit_test(payload_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
