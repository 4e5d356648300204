/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/event_fd.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"

int hca_event_fd_create(void)
{
	int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);

	return fd < 0 ? BASE_ERR_NOMEM : fd;
}

void hca_event_fd_close(int fd)
{
	int cancel;

	/* No cancellation point, and not by syscall(2): ThreadSanitizer must see that the number is free for others. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	close(fd);
	pthread_setcancelstate(cancel, NULL);
}

void hca_event_fd_raise(int fd)
{
	uint64_t one = 1;

	/*
	 * syscall(2) because write(3) is a cancellation point and this is called under locks. It fails only at 2^64 - 2 events.
	 */
	syscall(SYS_write, fd, &one, sizeof(one));
}

void hca_event_fd_lower(int fd)
{
	uint64_t token;
	struct iovec iov = { &token, sizeof(token) };

	/*
	 * Whoever took the token first finds the queue one short and waits again; so does everybody on kernels without the
	 * flag.
	 */
	syscall(SYS_preadv2, fd, &iov, 1ul, -1l, -1l, RWF_NOWAIT);
}

int hca_event_fd_wait(int fd)
{
	uint64_t token;

	if (read(fd, &token, sizeof(token)) == sizeof(token))
		return 0;
	return errno == EAGAIN ? BASE_ERR_AGAIN : BASE_ERR_IO;
}
