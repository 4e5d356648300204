/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/pairmem.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "ipc/socket.h"

int broker_pairmem_create(void *context, uint8_t low, uint8_t high, uint64_t generation, int *fd,
	struct ipc_pair_header **header)
{
	int memfd = memfd_create("softverbs-pair", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* Allocated now: memory that is short later would be a SIGBUS in the data path. */
	if (memfd < 0 || ftruncate(memfd, IPC_PAIR_BYTES) != 0 || fallocate(memfd, 0, 0, IPC_PAIR_BYTES) != 0 ||
		fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		goto fail;
	struct ipc_pair_header *h = mmap(NULL, IPC_PAIR_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (h == MAP_FAILED)
		goto fail;
	h->magic = IPC_PAIR_MAGIC;
	h->version = IPC_PAIR_VERSION;
	h->generation = generation;
	h->slot[0] = low;
	h->slot[1] = high;
	*fd = memfd;
	*header = h;
	return BASE_OK;
fail:
	base_warn("no memory or descriptors for the rings between two processes (%u KiB of shared memory per pair); free "
		"some, or raise the limit of open files", IPC_PAIR_BYTES / 1024);
	if (memfd >= 0)
		close(memfd);
	return BASE_ERR_NOMEM;
}

int broker_pairmem_map(void *context, uint8_t low, uint8_t high, uint64_t generation, int fd, struct ipc_pair_header **header)
{
	if (!ipc_memfd_is_sealed(fd, IPC_PAIR_BYTES))
		return BASE_ERR_MALFORMED;
	struct ipc_pair_header *h = mmap(NULL, IPC_PAIR_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return BASE_ERR_MALFORMED;
	if (h->magic != IPC_PAIR_MAGIC || h->version != IPC_PAIR_VERSION || h->generation != generation || h->slot[0] != low ||
		h->slot[1] != high) {
		munmap(h, IPC_PAIR_PAGE);
		return BASE_ERR_MALFORMED;
	}
	*header = h;
	return BASE_OK;
}

void broker_pairmem_unmap(void *context, struct ipc_pair_header *header)
{
	munmap(header, IPC_PAIR_PAGE);
}
