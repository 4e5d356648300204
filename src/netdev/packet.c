/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/packet.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/err.h"

int netdev_packet_open(int *out)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0) {
		*out = fd;
		return BASE_OK;
	}
	switch (errno) {
	case EPERM:
	case EACCES:
		return BASE_ERR_PERM;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		return BASE_ERR_NOMEM;
	}
	return BASE_ERR_UNSUPPORTED;
}
