/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

struct export_writer {
	int fd;
	uint8_t *map;
	uint64_t bytes;
	pid_t owner;
	pthread_mutex_t lock; /* of what follows */
	uint32_t groups, names, values;
};

static const struct {
	uint32_t stride, count;
} table_shapes[EXPORT_TABLES] = {
	[EXPORT_TABLE_GROUPS] = { sizeof(struct export_group), EXPORT_GROUPS },
	[EXPORT_TABLE_NAMES] = { sizeof(struct export_name), EXPORT_NAMES },
	[EXPORT_TABLE_VALUES] = { sizeof(uint64_t), EXPORT_VALUES },
	[EXPORT_TABLE_MRS] = { sizeof(struct export_mr), EXPORT_MRS },
	[EXPORT_TABLE_QPS] = { sizeof(struct export_qp), EXPORT_QPS },
};

static struct export_header *header_of(const struct export_writer *writer)
{
	return (struct export_header *)(void *)writer->map;
}

static void *element(const struct export_writer *writer, enum export_table table, uint32_t index)
{
	const struct export_span *span = &header_of(writer)->tables[table];

	return writer->map + span->offset + (uint64_t)index * span->stride;
}

static void text_copy(char out[EXPORT_NAME_BYTES], const char *text)
{
	size_t len = strnlen(text, EXPORT_NAME_BYTES - 1);

	memset(out, 0, EXPORT_NAME_BYTES);
	memcpy(out, text, len);
}

static uint64_t page_round(uint64_t bytes)
{
	return (bytes + EXPORT_PAGE - 1) & ~(uint64_t)(EXPORT_PAGE - 1);
}

int export_writer_create(uint8_t slot, struct export_writer **out)
{
	struct export_writer *writer = calloc(1, sizeof(*writer));
	struct export_span spans[EXPORT_TABLES];
	uint64_t bytes = page_round(sizeof(struct export_header));

	if (writer == NULL)
		return BASE_ERR_NOMEM;
	for (int i = 0; i < EXPORT_TABLES; i++) {
		spans[i] = (struct export_span){ .offset = bytes, .stride = table_shapes[i].stride,
				.count = table_shapes[i].count };
		bytes += page_round((uint64_t)table_shapes[i].stride * table_shapes[i].count);
	}
	writer->fd = memfd_create("softverbs-export", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (writer->fd < 0)
		goto free_writer;
	if (ftruncate(writer->fd, (off_t)bytes) != 0 || fcntl(writer->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
		goto close_fd;
	writer->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
	if (writer->map == MAP_FAILED)
		goto close_fd;
	/* A child that wrote here would speak for its parent. */
	madvise(writer->map, bytes, MADV_DONTFORK);
	madvise(writer->map, bytes, MADV_DONTDUMP);
	writer->bytes = bytes;
	writer->owner = getpid();
	pthread_mutex_init(&writer->lock, NULL);

	struct export_header *header = header_of(writer);
	header->version = EXPORT_VERSION;
	header->pid = (uint32_t)getpid();
	header->bytes = bytes;
	text_copy(header->program, program_invocation_short_name);
	memcpy(header->tables, spans, sizeof(spans));
	atomic_store_explicit(&header->slot, slot, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	header->magic = EXPORT_MAGIC;
	*out = writer;
	return 0;

close_fd:
	close(writer->fd);
free_writer:
	free(writer);
	base_error("no memory for the shared tables of this process");
	return BASE_ERR_NOMEM;
}

void export_writer_fork_child(struct export_writer *writer)
{
	void *map = mmap(writer->map, writer->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (map != writer->map)
		base_error("a forked child cannot use the RDMA objects it inherited: their address is taken");
}

void export_writer_destroy(struct export_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->owner == getpid())
		munmap(writer->map, writer->bytes);
	close(writer->fd);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

int export_writer_fd(const struct export_writer *writer)
{
	return writer->fd;
}

void export_writer_slot_set(struct export_writer *writer, uint8_t slot)
{
	atomic_store_explicit(&header_of(writer)->slot, slot, memory_order_relaxed);
}

struct export_mr *export_writer_mrs(struct export_writer *writer)
{
	return element(writer, EXPORT_TABLE_MRS, 0);
}

struct export_qp *export_writer_qp(struct export_writer *writer, uint32_t qpn)
{
	return element(writer, EXPORT_TABLE_QPS, qpn & (EXPORT_QPS - 1));
}

/* Where these names stand already, or are put now. Lock held. */
static bool names_place(struct export_writer *writer, const char *kind, const char *const *names, uint32_t count, uint32_t *first)
{
	for (uint32_t i = 0; i < writer->groups; i++) {
		const struct export_group *group = element(writer, EXPORT_TABLE_GROUPS, i);
		bool same = strncmp(group->kind, kind, EXPORT_NAME_BYTES - 1) == 0 && group->count == count;

		for (uint32_t k = 0; same && k < count; k++) {
			const struct export_name *name = element(writer, EXPORT_TABLE_NAMES, group->first_name + k);
			same = strncmp(name->text, names[k], EXPORT_NAME_BYTES - 1) == 0;
		}
		if (same) {
			*first = group->first_name;
			return true;
		}
	}
	if (count > EXPORT_NAMES - writer->names)
		return false;
	*first = writer->names;
	for (uint32_t k = 0; k < count; k++)
		text_copy(((struct export_name *)element(writer, EXPORT_TABLE_NAMES, writer->names++))->text, names[k]);
	return true;
}

static struct export_group *retired_group(struct export_writer *writer, uint32_t first_name, uint32_t count, uint32_t *index)
{
	for (uint32_t i = 0; i < writer->groups; i++) {
		struct export_group *group = element(writer, EXPORT_TABLE_GROUPS, i);

		if (atomic_load_explicit(&group->in_use, memory_order_relaxed) == 0 && group->first_name == first_name &&
		    group->count == count) {
			*index = i;
			return group;
		}
	}
	return NULL;
}

int export_counters_reserve(struct export_writer *writer, const char *kind, const char *instance, const char *const *names,
			    uint32_t count, uint32_t *group, _Atomic uint64_t **values)
{
	uint32_t first_name, index = 0;
	int err = BASE_ERR_NOMEM;

	pthread_mutex_lock(&writer->lock);
	if (!names_place(writer, kind, names, count, &first_name))
		goto unlock;
	struct export_group *at = retired_group(writer, first_name, count, &index);
	if (at == NULL) {
		if (writer->groups == EXPORT_GROUPS || count > EXPORT_VALUES - writer->values)
			goto unlock;
		index = writer->groups++;
		at = element(writer, EXPORT_TABLE_GROUPS, index);
		at->first_name = first_name;
		at->first_value = writer->values;
		at->count = count;
		text_copy(at->kind, kind);
		writer->values += count;
	}
	text_copy(at->instance, instance);
	_Atomic uint64_t *first = element(writer, EXPORT_TABLE_VALUES, at->first_value);
	for (uint32_t k = 0; k < count; k++)
		atomic_store_explicit(&first[k], 0, memory_order_relaxed);
	atomic_store_explicit(&at->in_use, 1, memory_order_release);
	atomic_store_explicit(&header_of(writer)->groups, writer->groups, memory_order_release);
	if (group != NULL)
		*group = index;
	*values = first;
	err = 0;
unlock:
	pthread_mutex_unlock(&writer->lock);
	return err;
}

void export_counters_retire(struct export_writer *writer, uint32_t group)
{
	struct export_group *at = element(writer, EXPORT_TABLE_GROUPS, group);

	atomic_store_explicit(&at->in_use, 0, memory_order_release);
}
