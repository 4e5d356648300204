/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What librdmacm does without a connection manager: event names, and waiting on descriptors that are no rsockets. */
#include "rdmacm/newer.h"

#include <rdma/rsocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

static void test_event_names(void **state)
{
	for (int i = RDMA_CM_EVENT_ADDR_RESOLVED; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		assert_int_equal(strncmp(rdma_event_str((enum rdma_cm_event_type)i), "RDMA_CM_EVENT_", 14), 0);
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_REJECTED), "RDMA_CM_EVENT_REJECTED");
	assert_string_equal(rdma_event_str((enum rdma_cm_event_type)-1), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str((enum rdma_cm_event_type)(RDMA_CM_EVENT_TIMEWAIT_EXIT + 1)), "UNKNOWN EVENT");
}

/* rpoll, rselect and repoll_* serve ordinary descriptors; everything else refuses them. */
static void test_ordinary_descriptors(void **state)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd waiting;
	struct timeval zero = { 0 };
	fd_set readable;
	char byte;
	int fds[2], set;

	assert_int_equal(pipe(fds), 0);
	waiting = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	assert_int_equal(rpoll(&waiting, 1, 0), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(rpoll(&waiting, 1, 0), 1);
	assert_int_equal(waiting.revents, POLLIN);
	FD_ZERO(&readable);
	FD_SET(fds[0], &readable);
	assert_int_equal(rselect(fds[0] + 1, &readable, NULL, NULL, &zero), 1);
	set = repoll_create(1);
	assert_true(set >= 0);
	assert_int_equal(repoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event), 0);
	assert_int_equal(repoll_wait(set, &event, 1, 0), 1);

	errno = 0;
	assert_int_equal(rrecv(fds[0], &byte, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	errno = 0;
	assert_int_equal(rclose(fds[0]), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(riowrite(fds[0], &byte, 1, 0, 0), (size_t)-1);
	assert_int_equal(riomap(fds[0], &byte, 1, 0, 0, -1), (off_t)-1);
	close(set);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_names), cmocka_unit_test(test_ordinary_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
