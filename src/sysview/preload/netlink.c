/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NETLINK_RDMA for a process, where the kernel has none or knows none of our devices. A socket of that protocol is one of
 * NETLINK_USERSOCK instead, over which processes talk to each other: it can be bound, polled and read like any other. What the
 * program sends to the kernel over it is taken here, and the answers are sent to its port id from a socket that lives for that call.
 */
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "sysview/preload/nldev.h"
#include "sysview/preload/path.h"

#define PRELOAD_PUBLIC __attribute__((visibility("default")))
enum { SOCKETS_MAX = 64, REQUEST_MAX = 4096 };

static _Atomic int sockets[SOCKETS_MAX]; /* descriptor + 1; 0: free */
static _Atomic bool any;

typedef int socket_function(int, int, int);
typedef ssize_t sendto_function(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
typedef ssize_t sendmsg_function(int, const struct msghdr *, int);

static bool remember(int fd)
{
	for (unsigned i = 0; i < SOCKETS_MAX; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&sockets[i], &none, fd + 1)) {
			atomic_store(&any, true);
			return true;
		}
	}
	return false;
}

/* Is it one that we made? A number that was closed may be anybody's by now. */
static bool is_ours(int fd)
{
	int domain = 0, protocol = 0, saved = errno;
	socklen_t len = sizeof(domain);

	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return false;
	for (unsigned i = 0; i < SOCKETS_MAX; i++) {
		if (atomic_load(&sockets[i]) != fd + 1)
			continue;
		bool still = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_NETLINK &&
			     getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 && protocol == NETLINK_USERSOCK;
		errno = saved;
		if (!still)
			atomic_store(&sockets[i], 0);
		return still;
	}
	return false;
}

PRELOAD_PUBLIC int socket(int domain, int type, int protocol)
{
	static _Atomic(socket_function *) next;
	socket_function *call = atomic_load_explicit(&next, memory_order_relaxed);

	if (call == NULL)
		atomic_store_explicit(&next, call = (socket_function *)dlsym(RTLD_NEXT, "socket"), memory_order_relaxed);
	if (domain != AF_NETLINK || protocol != NETLINK_RDMA || preload_tree() == NULL)
		return call(domain, type, protocol);
	int fd = call(domain, type, NETLINK_USERSOCK);
	if (fd >= 0 && !remember(fd)) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	return fd;
}

struct answerer {
	int fd;
	struct sockaddr_nl to;
	sendto_function *call;
};

static void send_one(void *context, const void *message, size_t len)
{
	const struct answerer *answerer = context;

	/* The program's buffer is full: what is missing it learns as from the kernel, by never getting the end. */
	answerer->call(answerer->fd, message, len, MSG_DONTWAIT, (const struct sockaddr *)&answerer->to, sizeof(answerer->to));
}

static sendto_function *sendto_next(void)
{
	static _Atomic(sendto_function *) next;
	sendto_function *call = atomic_load_explicit(&next, memory_order_relaxed);

	if (call == NULL)
		atomic_store_explicit(&next, call = (sendto_function *)dlsym(RTLD_NEXT, "sendto"), memory_order_relaxed);
	return call;
}

static ssize_t take(int fd, const void *request, size_t len)
{
	struct answerer answerer = {.call = sendto_next(), .to = {.nl_family = AF_NETLINK}};
	socklen_t bytes = sizeof(answerer.to);

	if (getsockname(fd, (struct sockaddr *)&answerer.to, &bytes) != 0)
		return -1;
	if (answerer.to.nl_pid == 0) { /* not bound yet: the kernel would do it now */
		if (bind(fd, (struct sockaddr *)&answerer.to, sizeof(answerer.to)) != 0 ||
		    getsockname(fd, (struct sockaddr *)&answerer.to, &bytes) != 0)
			return -1;
	}
	answerer.to.nl_groups = 0;
	answerer.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	if (answerer.fd < 0)
		return -1;
	nldev_answer(preload_tree(), request, len, answerer.to.nl_pid, send_one, &answerer);
	close(answerer.fd);
	return (ssize_t)len;
}

PRELOAD_PUBLIC ssize_t sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return is_ours(fd) ? take(fd, bytes, len) : sendto_next()(fd, bytes, len, flags, to, to_len);
}

PRELOAD_PUBLIC ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	static _Atomic(sendmsg_function *) next;
	sendmsg_function *call = atomic_load_explicit(&next, memory_order_relaxed);
	uint8_t request[REQUEST_MAX];
	size_t len = 0;

	if (call == NULL)
		atomic_store_explicit(&next, call = (sendmsg_function *)dlsym(RTLD_NEXT, "sendmsg"), memory_order_relaxed);
	if (!is_ours(fd))
		return call(fd, message, flags);
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *part = &message->msg_iov[i];

		if (part->iov_len > sizeof(request) - len) {
			errno = EMSGSIZE;
			return -1;
		}
		memcpy(request + len, part->iov_base, part->iov_len);
		len += part->iov_len;
	}
	return take(fd, request, len);
}
