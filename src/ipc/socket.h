/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages over abstract AF_UNIX sockets, with descriptors. Abstract names do not cross network namespaces and vanish with their
 * last holder; the user's id is in the name, and the peer's credentials are checked on both ends all the same.
 *
 *   softverbs-<uid>-v<protocol>          the broker listens here: whoever binds it is the broker
 *   softverbs-<uid>-v<protocol>-start    whoever listens here is starting a broker; the others connect and wait for its end
 *   softverbs-<uid>-v<protocol>-alive    bound as long as any process holds the vault of this user
 *
 * Thread-safe. Descriptors are close-on-exec.
 */
#ifndef IPC_SOCKET_H
#define IPC_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/message.h"

enum ipc_name { IPC_NAME_BROKER, IPC_NAME_START, IPC_NAME_ALIVE, IPC_NAMES };

struct ipc_fds {
	unsigned count;
	int fd[IPC_FDS_MAX];
};

/* The name as people see it, with '@' for the NUL; size >= 64. */
void ipc_name_text(enum ipc_name name, char *out, size_t size);

/* A bound SOCK_SEQPACKET socket. BASE_ERR_EXISTS: somebody has the name; BASE_ERR_IO. */
int ipc_name_bind(enum ipc_name name, bool listening, int *out);
/* Connected to the name's holder, who is of our user. BASE_ERR_NODEV: nobody; BASE_ERR_PERM: of another user; BASE_ERR_IO. */
int ipc_name_connect(enum ipc_name name, int *out);
/*
 * The next connection of a non-blocking listener, of our user. BASE_ERR_AGAIN: none; BASE_ERR_PERM: refused; BASE_ERR_NOMEM;
 * BASE_ERR_IO.
 */
int ipc_accept(int listener, int *out, uint32_t *pid);

/*
 * Sends without waiting; descriptors stay the caller's. BASE_ERR_AGAIN: no room, errno says of what; BASE_ERR_GONE: the other end
 * is closed; BASE_ERR_INVAL: not encodable; BASE_ERR_IO.
 */
int ipc_send(int fd, const struct ipc_message *message, const struct ipc_fds *fds);
/*
 * Receives without waiting. Received descriptors are the caller's, only on success. The message may point into buf.
 * BASE_ERR_AGAIN: nothing there; BASE_ERR_GONE: end of file or connection reset; BASE_ERR_NOMEM: descriptors got lost for lack of
 * room; BASE_ERR_TRUNCATED, BASE_ERR_MALFORMED: not a message; BASE_ERR_IO.
 */
int ipc_receive(int fd, bool to_broker, uint8_t buf[IPC_MESSAGE_MAX], struct ipc_message *message, struct ipc_fds *fds);

/* Closes all, forgets them. */
void ipc_fds_close(struct ipc_fds *fds);
/* True for a memfd of exactly `bytes` that can no longer change its size. */
bool ipc_memfd_is_sealed(int fd, size_t bytes);

#endif
