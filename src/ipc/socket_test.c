/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ipc/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"

static int open_count(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_names(void **state)
{
	int first, second, client, server, waiting;
	uint32_t pid;

	assert_int_equal(ipc_name_bind(IPC_NAME_ALIVE, true, &first), BASE_OK);
	assert_int_equal(ipc_name_bind(IPC_NAME_ALIVE, true, &second), BASE_ERR_EXISTS);
	assert_int_equal(ipc_accept(first, &server, &pid), BASE_ERR_AGAIN);
	assert_int_equal(ipc_name_connect(IPC_NAME_ALIVE, &client), BASE_OK);
	assert_int_equal(ipc_accept(first, &server, &pid), BASE_OK);
	assert_int_equal(pid, getpid());
	/* One that was never accepted hears of the listener's end: that is how processes wait for a starter. */
	assert_int_equal(ipc_name_connect(IPC_NAME_ALIVE, &waiting), BASE_OK);
	struct pollfd p = { .fd = waiting, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 0), 0);
	close(first);
	assert_int_equal(poll(&p, 1, 5000), 1);
	close(waiting);
	close(client);
	close(server);
	assert_int_equal(ipc_name_connect(IPC_NAME_ALIVE, &client), BASE_ERR_NODEV);
	assert_int_equal(ipc_name_bind(IPC_NAME_ALIVE, false, &first), BASE_OK);
	close(first);
}

static void test_messages_with_descriptors(void **state)
{
	struct ipc_message m = { .type = IPC_PAIR, .pair = { 7, 9, 11 } }, out;
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_fds fds, none = { 0 };
	int ends[2], before = open_count();

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	int pipe_ends[2];
	assert_int_equal(pipe(pipe_ends), 0);
	struct ipc_fds four = { 4, { pipe_ends[0], pipe_ends[1], pipe_ends[0], pipe_ends[1] } };
	assert_int_equal(ipc_receive(ends[1], false, buf, &out, &fds), BASE_ERR_AGAIN);
	assert_int_equal(ipc_send(ends[0], &m, &four), BASE_OK);
	assert_int_equal(ipc_receive(ends[1], false, buf, &out, &fds), BASE_OK);
	assert_int_equal(fds.count, 4);
	assert_int_equal(out.pair.slot, 9);
	assert_int_equal(write(fds.fd[1], "x", 1), 1);
	assert_int_equal(read(pipe_ends[0], buf, 1), 1);
	assert_true(fcntl(fds.fd[0], F_GETFD) & FD_CLOEXEC);
	ipc_fds_close(&fds);
	assert_int_equal(fds.count, 0);

	/* Descriptors that come with nonsense, with too many of their kind or in the wrong direction are closed. */
	int open_now = open_count();
	assert_int_equal(ipc_send(ends[0], &m, &none), BASE_OK);
	assert_int_equal(ipc_receive(ends[1], false, buf, &out, &fds), BASE_ERR_MALFORMED);
	assert_int_equal(ipc_send(ends[0], &m, &four), BASE_OK);
	assert_int_equal(ipc_receive(ends[1], true, buf, &out, &fds), BASE_ERR_MALFORMED);
	assert_int_equal(open_count(), open_now);
	assert_int_equal(send(ends[0], "nonsense", 8, 0), 8);
	assert_int_equal(ipc_receive(ends[1], true, buf, &out, &fds), BASE_ERR_MALFORMED);
	uint8_t big[IPC_MESSAGE_MAX + 1] = { IPC_RESUME_DONE };
	assert_int_equal(send(ends[0], big, sizeof(big), 0), sizeof(big));
	assert_int_equal(ipc_receive(ends[1], true, buf, &out, &fds), BASE_ERR_MALFORMED);

	unsigned sent = 0;
	while (ipc_send(ends[0], &m, &four) == BASE_OK)
		sent++;
	assert_true(sent > 10);
	assert_int_equal(ipc_send(ends[0], &m, &four), BASE_ERR_AGAIN);
	close(ends[1]);
	assert_int_equal(ipc_send(ends[0], &m, NULL), BASE_ERR_GONE);
	close(ends[0]);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	assert_int_equal(open_count(), before);
}

static void test_sealed(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_false(ipc_memfd_is_sealed(fd, 4096));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	assert_true(ipc_memfd_is_sealed(fd, 4096));
	assert_false(ipc_memfd_is_sealed(fd, 8192));
	close(fd);
	assert_false(ipc_memfd_is_sealed(STDIN_FILENO, 0));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),                     /* one holder, and an end that is heard */
		cmocka_unit_test(test_messages_with_descriptors), /* they arrive, or are closed */
		cmocka_unit_test(test_sealed),                    /* what may be mapped */
	};

	/* The names are per network namespace: a broker of this user must not be met. */
	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		print_message("skipped: no network namespace of its own can be made\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
