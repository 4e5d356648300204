/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ipc/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"

static const uint8_t datagram[IPC_STRAY_MAX] = { 1, 2, 3 };

/* One good message of each type, with a right number of descriptors and a direction. */
static const struct {
	struct ipc_message message;
	unsigned fds;
	bool to_broker;
} good[] = {
	{ { .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, false, 0, 0, 77,
		"ib_write_bw" } }, 3, true },
	{ { .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, true, 9, 5, 77,
		"ib_write_bw" } }, 5, true },
	{ { .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_OBSERVER, false, 0, 0, 0, "" } }, 0, true },
	{ { .type = IPC_WELCOME, .welcome = { IPC_PROTOCOL, 254, true, 1ull << 40, 3, "0.1.0", "" } }, 4, false },
	{ { .type = IPC_REFUSED, .refused = { BASE_ERR_NOMEM, "all slots are taken" } }, 0, false },
	{ { .type = IPC_PAIR_REQUEST, .pair_request = { 1, 254 } }, 0, true },
	{ { .type = IPC_PAIR, .pair = { 0, 1, 0xfedcba9876543210ull } }, 4, false },
	{ { .type = IPC_PAIR_REFUSED, .pair_refused = { 8, 1, BASE_ERR_NOENT } }, 0, false },
	{ { .type = IPC_PAIR_REPORT, .peer = { 3, 4 } }, 1, true },
	{ { .type = IPC_RESUME_DONE }, 0, true },
	{ { .type = IPC_PEER_GONE, .peer = { 3, 4 } }, 0, false },
	{ { .type = IPC_NETDEV_CHANGED, .netdev_changed = { 5, 6 } }, 0, false },
	{ { .type = IPC_STRAY, .stray = { 3, { .sin6_family = AF_INET6, .sin6_port = 0x1234, .sin6_scope_id = 2 },
		IPC_STRAY_MAX, datagram } },
		0, true },
	{ { .type = IPC_EXPORT_SET }, 1, true },
	{ { .type = IPC_EXPORT_REQUEST, .export = { 1, 2 } }, 0, true },
	{ { .type = IPC_EXPORT, .export = { 1, 2 } }, 1, false },
	{ { .type = IPC_STAT_REQUEST, .stat_request = { 1, IPC_STAT_OF_PAIRS, 128 } }, 0, true },
	{ { .type = IPC_STAT_SUMMARY, .stat_summary = { .id = 1, .clients = 2, .wire = true, .strays = 9, .cm = { 5, 1, 2, 3 },
		.gsi = { 1ull << 40, 2, 3, 4, 5, 6 }, .version = "1", .reason = "x" } }, 0,
		false },
	{ { .type = IPC_STAT_CLIENT_LIST, .stat_clients = { 1, 0, 2, { { 1, true, false, 5, 1, "a" }, { 2, false, true, 6,
		1, "b" } } } }, 0,
		false },
	{ { .type = IPC_STAT_PAIR_LIST, .stat_pairs = { 1, 128, 1, { { 1, 2, 3 } } } }, 0, false },
	{ { .type = IPC_CM_CALL, .cm = { 1, 0, 8, datagram } }, 0, true },
	{ { .type = IPC_CM_ANSWER, .cm = { 1, 22, 0, NULL } }, 0, false },
	{ { .type = IPC_CM_ANSWER, .cm = { 1, 0, IPC_CM_MAX, datagram } }, 0, false },
	{ { .type = IPC_CM_EVENT, .cm = { 0, 0, 336, datagram } }, 0, false },
	{ { .type = IPC_CM_KEEP, .cm = { 7, 0, 0, NULL } }, 0, false },
	{ { .type = IPC_CM_ADOPT, .cm = { 7, 0, 100, datagram } }, 0, true },
};
#define GOOD (sizeof(good) / sizeof(good[0]))

static void test_round_trip(void **state)
{
	uint8_t first[IPC_MESSAGE_MAX], second[IPC_MESSAGE_MAX];
	struct ipc_message out;

	for (size_t i = 0; i < GOOD; i++) {
		ssize_t len = ipc_message_encode(&good[i].message, first, sizeof(first));

		assert_true(len >= (ssize_t)IPC_HEADER_BYTES);
		assert_int_equal(ipc_message_decode(&out, first, (size_t)len, good[i].fds, good[i].to_broker), BASE_OK);
		assert_int_equal(out.type, good[i].message.type);
		assert_int_equal(ipc_message_encode(&out, second, sizeof(second)), len);
		assert_memory_equal(first, second, (size_t)len);
		assert_int_equal(ipc_message_encode(&out, second, (size_t)len - 1), BASE_ERR_RANGE);
	}
	/* Bytes on the wire, once by hand. */
	const uint8_t gone[] = { IPC_PEER_GONE, 0, 0, 0, 9, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0 };
	assert_int_equal(ipc_message_decode(&out, gone, sizeof(gone), 0, false), BASE_OK);
	assert_int_equal(out.peer.slot, 3);
	assert_true(out.peer.generation == 4);
}

static void test_refusals(void **state)
{
	uint8_t buf[IPC_MESSAGE_MAX + 1];
	struct ipc_message out;

	for (size_t i = 0; i < GOOD; i++) {
		ssize_t len = ipc_message_encode(&good[i].message, buf, IPC_MESSAGE_MAX);

		for (size_t cut = 0; cut < (size_t)len; cut++)
			assert_int_equal(ipc_message_decode(&out, buf, cut, good[i].fds, good[i].to_broker), BASE_ERR_TRUNCATED);
		buf[len] = 0;
		assert_int_equal(ipc_message_decode(&out, buf, (size_t)len + 1, good[i].fds, good[i].to_broker), BASE_ERR_MALFORMED);
		for (unsigned fds = 0; fds <= IPC_FDS_MAX; fds++)
			if (fds == 2 || fds > 5 || (fds == 0 && good[i].fds > 1))
				assert_int_equal(ipc_message_decode(&out, buf, (size_t)len, fds, good[i].to_broker), BASE_ERR_MALFORMED);
		if (good[i].message.type != IPC_STRAY)
			assert_int_equal(ipc_message_decode(&out, buf, (size_t)len, good[i].fds, !good[i].to_broker), BASE_ERR_MALFORMED);
		buf[2] = 1; /* reserved */
		assert_int_equal(ipc_message_decode(&out, buf, (size_t)len, good[i].fds, good[i].to_broker), BASE_ERR_MALFORMED);
	}
}

/* What the decoder refuses is not encoded either. */
static void test_bad_values(void **state)
{
	static const struct ipc_message bad[] = {
		{ .type = (enum ipc_type)0 },
		{ .type = IPC_TYPES },
		{ .type = IPC_HELLO, .hello = { 1, IPC_PROTOCOL } },
		{ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLES } },
		{ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, true, 0, 1 } },
		{ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, true, 255, 1 } },
		{ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, false, 1, 0 } },
		{ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_OBSERVER, true, 1, 1 } },
		{ .type = IPC_REFUSED, .refused = { 0, "" } },
		{ .type = IPC_REFUSED, .refused = { -BASE_ERR_COUNT, "" } },
		{ .type = IPC_PAIR_REQUEST, .pair_request = { 1, 0 } },
		{ .type = IPC_PAIR_REQUEST, .pair_request = { 1, 255 } },
		{ .type = IPC_PAIR_REQUEST, .pair_request = { 0, 1 } },
		{ .type = IPC_STRAY, .stray = { 3, { .sin6_family = AF_INET6 }, 0, datagram } },
		{ .type = IPC_STRAY, .stray = { 3, { .sin6_family = AF_INET6 }, IPC_STRAY_MAX + 1, datagram } },
		{ .type = IPC_STAT_CLIENT_LIST, .stat_clients = { 1, 0, IPC_STAT_CLIENTS + 1 } },
		{ .type = IPC_STAT_PAIR_LIST, .stat_pairs = { 1, 0, IPC_STAT_PAIRS + 1 } },
	};
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message out;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ipc_message_encode(&bad[i], buf, sizeof(buf)), BASE_ERR_INVAL);
	/* A NUL inside a text. */
	const uint8_t refused[] = { IPC_REFUSED, 0, 0, 0, 8, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 3, 'a', 0, 'b' };
	assert_int_equal(ipc_message_decode(&out, refused, sizeof(refused), 0, false), BASE_ERR_MALFORMED);
}

/* Another version's HELLO is understood as far as the version, whatever follows. */
static void test_other_version(void **state)
{
	uint8_t hello[] = { IPC_HELLO, 0, 0, 0, 12, 0, 0, 0, 0x73, 0x53, 0x76, 0x48, 99, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };
	struct ipc_message out;

	assert_int_equal(ipc_message_decode(&out, hello, sizeof(hello), 3, true), BASE_OK);
	assert_int_equal(out.hello.protocol, 99);
}

static void test_noise(void **state)
{
	struct base_random r = { 20 };
	uint8_t buf[256];
	struct ipc_message out;
	unsigned accepted = 0;

	for (unsigned i = 0; i < 300000; i++) {
		size_t row = base_random_below(&r, GOOD), len = base_random_below(&r, sizeof(buf));

		for (size_t b = 0; b < len; b++)
			buf[b] = (uint8_t)(base_random_below(&r, 4) == 0 ? base_random_next(&r) : base_random_below(&r, 3));
		if (len >= IPC_HEADER_BYTES) {
			memset(buf, 0, IPC_HEADER_BYTES);
			buf[0] = (uint8_t)good[row].message.type;
			buf[4] = (uint8_t)(len - IPC_HEADER_BYTES);
		}
		accepted += ipc_message_decode(&out, buf, len, good[row].fds, good[row].to_broker) == BASE_OK;
	}
	assert_true(accepted > 0 && accepted < 300000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),    /* every type, and bytes by hand */
		cmocka_unit_test(test_refusals),      /* every truncation, surplus, direction, number of descriptors */
		cmocka_unit_test(test_bad_values),    /* every range */
		cmocka_unit_test(test_other_version), /* so that versions can tell each other */
		cmocka_unit_test(test_noise),         /* random bytes never crash */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
