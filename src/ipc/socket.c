/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ipc/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

#define CONNECT_TIMEOUT_MS 2000 /* only a full backlog makes connect wait */

void ipc_name_text(enum ipc_name name, char *out, size_t size)
{
	static const char *const suffix[IPC_NAMES] = { "", "-start", "-alive" };

	snprintf(out, size, "@softverbs-%u-v%u%s", (unsigned)geteuid(), IPC_PROTOCOL, suffix[name]);
}

static socklen_t name_address(enum ipc_name name, struct sockaddr_un *out)
{
	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	ipc_name_text(name, out->sun_path, sizeof(out->sun_path));
	size_t len = strlen(out->sun_path);
	out->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

int ipc_name_bind(enum ipc_name name, bool listening, int *out)
{
	struct sockaddr_un address;
	socklen_t len = name_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return base_err_from_errno(errno);
	if (bind(fd, (struct sockaddr *)&address, len) != 0 || (listening && listen(fd, SOMAXCONN) != 0)) {
		int err = errno == EADDRINUSE ? BASE_ERR_EXISTS : BASE_ERR_IO;

		close(fd);
		return err;
	}
	*out = fd;
	return BASE_OK;
}

static bool peer_is_ours(int fd, uint32_t *pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid())
		return false;
	if (pid != NULL)
		*pid = (uint32_t)peer.pid;
	return true;
}

int ipc_name_connect(enum ipc_name name, int *out)
{
	struct timeval timeout = { .tv_sec = CONNECT_TIMEOUT_MS / 1000 };
	struct sockaddr_un address;
	socklen_t len = name_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return base_err_from_errno(errno);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	while (connect(fd, (struct sockaddr *)&address, len) != 0) {
		if (errno == EINTR)
			continue;
		err = errno == ECONNREFUSED ? BASE_ERR_NODEV : BASE_ERR_IO;
		goto fail;
	}
	err = BASE_ERR_PERM;
	if (!peer_is_ours(fd, NULL))
		goto fail;
	*out = fd;
	return BASE_OK;
fail:
	close(fd);
	return err;
}

int ipc_accept(int listener, int *out, uint32_t *pid)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			return BASE_ERR_NOMEM;
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? BASE_ERR_AGAIN : BASE_ERR_IO;
	}
	if (!peer_is_ours(fd, pid)) {
		close(fd);
		return BASE_ERR_PERM;
	}
	*out = fd;
	return BASE_OK;
}

/*
 * The kernel lets a user have as many descriptors in flight as the sender's soft limit of open files says, over all his processes:
 * a few brokers fill the usual 1024. Up to the hard limit the sender may help himself, for the moment of the call.
 */
static ssize_t send_beyond(int fd, const struct msghdr *msg)
{
	struct rlimit usual, most;

	if (getrlimit(RLIMIT_NOFILE, &usual) != 0 || usual.rlim_cur >= usual.rlim_max) {
		errno = ETOOMANYREFS;
		return -1;
	}
	most = usual;
	most.rlim_cur = usual.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
	ssize_t sent = sendmsg(fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	int saved = errno;
	setrlimit(RLIMIT_NOFILE, &usual);
	errno = saved;
	return sent;
}

int ipc_send(int fd, const struct ipc_message *message, const struct ipc_fds *fds)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
	} control;
	uint8_t buf[IPC_MESSAGE_MAX];
	ssize_t len = ipc_message_encode(message, buf, sizeof(buf));

	if (len < 0)
		return BASE_ERR_INVAL;
	struct iovec iov = { buf, (size_t)len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (fds != NULL && fds->count > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fds->count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fds->count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds->fd, fds->count * sizeof(int));
	}
	while (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ETOOMANYREFS && send_beyond(fd, &msg) >= 0)
			break;
		if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
			return BASE_ERR_GONE;
		return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? BASE_ERR_AGAIN : BASE_ERR_IO;
	}
	return BASE_OK;
}

void ipc_fds_close(struct ipc_fds *fds)
{
	for (unsigned i = 0; i < fds->count; i++)
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	fds->count = 0;
}

/* Takes the descriptors out of the control data. More than the table holds are closed at once; false then. */
static bool control_take(struct msghdr *msg, struct ipc_fds *fds)
{
	bool all = true;

	fds->count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds->count < IPC_FDS_MAX) {
				fds->fd[fds->count++] = fd;
			} else {
				close(fd);
				all = false;
			}
		}
	}
	return all;
}

int ipc_receive(int fd, bool to_broker, uint8_t buf[IPC_MESSAGE_MAX], struct ipc_message *message, struct ipc_fds *fds)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { buf, IPC_MESSAGE_MAX };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct ipc_fds got;
	ssize_t len;

	do {
		len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	if (len < 0) {
		if (errno == EAGAIN)
			return BASE_ERR_AGAIN;
		return errno == ECONNRESET || errno == ENOTCONN || errno == EPIPE ? BASE_ERR_GONE : BASE_ERR_IO;
	}
	bool all = control_take(&msg, &got);
	int err = BASE_OK;
	if (len == 0 && got.count == 0)
		err = BASE_ERR_GONE;
	else if (msg.msg_flags & MSG_TRUNC || !all)
		err = BASE_ERR_MALFORMED;
	else if (msg.msg_flags & MSG_CTRUNC)
		err = BASE_ERR_NOMEM;
	else
		err = ipc_message_decode(message, buf, (size_t)len, got.count, to_broker);
	if (err != BASE_OK) {
		ipc_fds_close(&got);
		return err;
	}
	*fds = got;
	return BASE_OK;
}

bool ipc_memfd_is_sealed(int fd, size_t bytes)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &st) == 0 && st.st_size == (off_t)bytes;
}
