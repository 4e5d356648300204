/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/shared.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define SHARED_MAGIC 0x6e765373u /* "sSvn" */
#define SHARED_VERSION 3u
#define SHARED_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct netdev_shared {
	uint32_t magic, version;
	uint64_t table_bytes;
	_Atomic uint64_t sequence;
	_Atomic uint64_t generation;
	struct netdev_table copies[2];
};

_Static_assert(sizeof(struct netdev_table) % 4 == 0 && sizeof(struct netdev_device) % 4 == 0 &&
	sizeof(struct netdev_gid) % 4 == 0, "copied by words");

/* By words with relaxed loads and stores: a reader may race with the writer, and finds out afterwards. */
static void words_load(void *out, const void *in, size_t bytes)
{
	const _Atomic uint32_t *from = in;
	uint32_t *to = out;

	for (size_t i = 0; i < bytes / 4; i++)
		to[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
}

static void words_store(void *out, const void *in, size_t bytes)
{
	_Atomic uint32_t *to = out;
	const uint32_t *from = in;

	for (size_t i = 0; i < bytes / 4; i++)
		atomic_store_explicit(&to[i], from[i], memory_order_relaxed);
}

int netdev_shared_create(int *fd, struct netdev_shared **out)
{
	int memfd = memfd_create("softverbs-netdev", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (memfd < 0)
		return BASE_ERR_NOMEM;
	if (ftruncate(memfd, sizeof(struct netdev_shared)) != 0 || fallocate(memfd, 0, 0, sizeof(struct netdev_shared)) != 0 ||
		fcntl(memfd, F_ADD_SEALS, SHARED_SEALS) != 0) {
		close(memfd);
		return BASE_ERR_NOMEM;
	}
	struct netdev_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (shared == MAP_FAILED) {
		close(memfd);
		return BASE_ERR_NOMEM;
	}
	shared->magic = SHARED_MAGIC;
	shared->version = SHARED_VERSION;
	shared->table_bytes = sizeof(struct netdev_table);
	*fd = memfd;
	*out = shared;
	return BASE_OK;
}

int netdev_shared_open(int fd, bool writable, struct netdev_shared **out)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SHARED_SEALS) != SHARED_SEALS || fstat(fd, &st) != 0 || st.st_size != sizeof(struct netdev_shared))
		return BASE_ERR_MALFORMED;
	struct netdev_shared *shared = mmap(NULL, sizeof(*shared), writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return BASE_ERR_NOMEM;
	if (shared->magic != SHARED_MAGIC || shared->version != SHARED_VERSION ||
		shared->table_bytes != sizeof(struct netdev_table)) {
		netdev_shared_close(shared);
		return BASE_ERR_MALFORMED;
	}
	*out = shared;
	return BASE_OK;
}

void netdev_shared_close(struct netdev_shared *shared)
{
	if (shared != NULL)
		munmap(shared, sizeof(*shared));
}

int netdev_shared_reader(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	return reader >= 0 ? reader : BASE_ERR_IO;
}

static size_t table_used(uint32_t count)
{
	return offsetof(struct netdev_table, devices) + count * sizeof(struct netdev_device);
}

void netdev_shared_publish(struct netdev_shared *shared, const struct netdev_table *table)
{
	uint64_t sequence = atomic_load_explicit(&shared->sequence, memory_order_relaxed) + 1;

	/* Readers of the last publish but one, still copying this half, must see the newer number when they look again. */
	atomic_thread_fence(memory_order_seq_cst);
	words_store(&shared->copies[sequence & 1], table, table_used(table->count));
	atomic_store_explicit(&shared->sequence, sequence, memory_order_release);
	atomic_store_explicit(&shared->generation, table->generation, memory_order_release);
}

uint64_t netdev_shared_generation(const struct netdev_shared *shared)
{
	return atomic_load_explicit(&shared->generation, memory_order_acquire);
}

/* The loop of every reader: begin, copy, and again if that says so. */
static const struct netdev_table *read_begin(const struct netdev_shared *shared, uint64_t *sequence)
{
	*sequence = atomic_load_explicit(&shared->sequence, memory_order_acquire);
	return &shared->copies[*sequence & 1];
}

static bool read_again(const struct netdev_shared *shared, uint64_t sequence)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&shared->sequence, memory_order_relaxed) != sequence;
}

static uint32_t count_load(const struct netdev_table *table)
{
	uint32_t count;

	words_load(&count, &table->count, sizeof(count));
	return count <= NETDEV_MAX_DEVICES ? count : NETDEV_MAX_DEVICES;
}

uint32_t netdev_shared_profile(const struct netdev_shared *shared)
{
	uint64_t sequence;
	uint32_t profile;

	do {
		const struct netdev_table *table = read_begin(shared, &sequence);

		words_load(&profile, &table->profile, sizeof(profile));
	} while (read_again(shared, sequence));
	return profile;
}

void netdev_shared_read(const struct netdev_shared *shared, struct netdev_table *out)
{
	uint64_t sequence;

	do {
		const struct netdev_table *table = read_begin(shared, &sequence);
		uint32_t count = count_load(table);

		words_load(out, table, table_used(count));
		out->count = count;
	} while (read_again(shared, sequence));
	for (uint32_t i = 0; i < out->count; i++) {
		out->devices[i].name[NETDEV_NAME_MAX - 1] = '\0';
		out->devices[i].ifname[NETDEV_IFNAME_MAX - 1] = '\0';
	}
}

int netdev_shared_device(const struct netdev_shared *shared, unsigned device, struct netdev_device *out)
{
	uint64_t sequence;
	bool found;

	do {
		const struct netdev_table *table = read_begin(shared, &sequence);

		found = device < count_load(table);
		if (found)
			words_load(out, &table->devices[device], sizeof(*out));
	} while (read_again(shared, sequence));
	if (!found)
		return BASE_ERR_RANGE;
	out->name[NETDEV_NAME_MAX - 1] = '\0';
	out->ifname[NETDEV_IFNAME_MAX - 1] = '\0';
	return BASE_OK;
}

int netdev_shared_gid(const struct netdev_shared *shared, unsigned device, unsigned index, struct netdev_gid *out)
{
	struct netdev_gid gid = { 0 };
	uint64_t sequence;
	bool found;

	do {
		const struct netdev_table *table = read_begin(shared, &sequence);

		found = device < count_load(table) && index < NETDEV_MAX_GIDS;
		if (found)
			words_load(&gid, &table->devices[device].gids[index], sizeof(gid));
	} while (read_again(shared, sequence));
	if (!found)
		return BASE_ERR_RANGE;
	*out = gid;
	return BASE_OK;
}
