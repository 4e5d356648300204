/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rsockets are not built yet: rsocket() refuses, so no descriptor is an rsocket and the calls that take one answer EBADF. The
 * calls that wait are complete even so: they accept ordinary descriptors beside rsockets, and those are all there are.
 */
#include "rdmacm/newer.h"
#include "rdmacm/symbol.h"

#include <rdma/rsocket.h>

#include <errno.h>
#include <stdarg.h>

static int not_an_rsocket(void)
{
	errno = EBADF;
	return -1;
}

RDMACM_PUBLIC int rsocket(int domain, int type, int protocol)
{
	errno = EOPNOTSUPP;
	return -1;
}

RDMACM_PUBLIC int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return poll(fds, nfds, timeout);
}

RDMACM_PUBLIC int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	return select(nfds, readfds, writefds, exceptfds, timeout);
}

RDMACM_PUBLIC int repoll_create(int size)
{
	return epoll_create(size);
}

RDMACM_PUBLIC int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return epoll_ctl(epfd, op, fd, event);
}

RDMACM_PUBLIC int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return epoll_wait(epfd, events, maxevents, timeout);
}

RDMACM_PUBLIC int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rlisten(int socket, int backlog)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rshutdown(int socket, int how)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rclose(int socket)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr, socklen_t *addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const struct sockaddr *dest_addr,
	socklen_t addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rread(int socket, void *buf, size_t count)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int rfcntl(int socket, int cmd, ...)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC int riounmap(int socket, void *buf, size_t len)
{
	return not_an_rsocket();
}

RDMACM_PUBLIC size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	return (size_t)not_an_rsocket();
}
