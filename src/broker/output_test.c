/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

static int ends[2];
static struct broker_output output;

static int start(void **state)
{
	output = (struct broker_output){ 0 };
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
}

static int stop(void **state)
{
	broker_output_clear(&output);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* What is sent lies in memory that is gone when the message leaves. */
static int send_event(uint8_t value)
{
	uint8_t bytes[300];
	const struct ipc_message m = { .type = IPC_CM_EVENT, .cm = { .len = sizeof(bytes), .bytes = bytes } };

	memset(bytes, value, sizeof(bytes));
	int err = broker_output_send(&output, ends[0], &m, NULL);
	memset(bytes, 0xee, sizeof(bytes));
	return err;
}

static int send_gone(void)
{
	const struct ipc_message m = { .type = IPC_PEER_GONE, .peer = { 1, 1 } };

	return broker_output_send(&output, ends[0], &m, NULL);
}

static void test_what_waits_stays_as_it_was(void **state)
{
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message m;
	struct ipc_fds fds;
	unsigned sent = 0;

	while (output.count < 100)
		assert_int_equal(send_event((uint8_t)sent++), BASE_OK);
	for (unsigned i = 0; i < sent; i++) {
		int err = ipc_receive(ends[1], false, buf, &m, &fds);

		if (err == BASE_ERR_AGAIN) {
			broker_output_flush(&output, ends[0]);
			err = ipc_receive(ends[1], false, buf, &m, &fds);
		}
		assert_int_equal(err, BASE_OK);
		assert_int_equal(m.type, IPC_CM_EVENT);
		assert_int_equal(m.cm.len, 300);
		assert_int_equal(m.cm.bytes[0], (uint8_t)i);
		assert_int_equal(m.cm.bytes[299], (uint8_t)i);
	}
	assert_true(broker_output_is_empty(&output));
}

static void test_limits(void **state)
{
	unsigned events = 0;

	while (send_event(1) == BASE_OK)
		events++;
	assert_int_equal(output.count, BROKER_OUTPUT_CM_MAX);
	assert_int_equal(send_gone(), BASE_ERR_NOMEM);
	broker_output_clear(&output);
	while (send_gone() == BASE_OK)
		;
	assert_int_equal(output.count, BROKER_OUTPUT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_waits_stays_as_it_was, start, stop),
		cmocka_unit_test_setup_teardown(test_limits, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
