/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

struct export_reader {
	int fd;
	struct export_header header; /* as it was at open */
};

static int read_at(int fd, void *out, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t got = pread(fd, out, len, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return BASE_ERR_MALFORMED;
		out = (char *)out + got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* Strides may be longer than ours in a later minor format, never shorter. */
static bool spans_fit(const struct export_header *header)
{
	static const uint32_t least[EXPORT_TABLES] = {
		sizeof(struct export_group), sizeof(struct export_name), sizeof(uint64_t), sizeof(struct export_mr),
				sizeof(struct export_qp),
	};
	static const uint32_t most[EXPORT_TABLES] = { EXPORT_GROUPS, EXPORT_NAMES, EXPORT_VALUES, EXPORT_MRS, EXPORT_QPS };

	for (int i = 0; i < EXPORT_TABLES; i++) {
		const struct export_span *span = &header->tables[i];

		if (span->stride < least[i] || span->stride > EXPORT_PAGE || span->count > most[i] ||
				span->offset > header->bytes ||
		    (uint64_t)span->stride * span->count > header->bytes - span->offset)
			return false;
	}
	return true;
}

int export_reader_open(int fd, struct export_reader **out)
{
	struct export_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (reader == NULL)
		return BASE_ERR_NOMEM;
	reader->fd = fd;
	err = read_at(fd, &reader->header, sizeof(reader->header), 0);
	if (err == 0 && reader->header.magic != EXPORT_MAGIC)
		err = BASE_ERR_MALFORMED;
	if (err == 0 && reader->header.version != EXPORT_VERSION)
		err = BASE_ERR_UNSUPPORTED;
	if (err == 0 && (reader->header.bytes > INT64_MAX || !spans_fit(&reader->header)))
		err = BASE_ERR_MALFORMED;
	if (err != 0) {
		free(reader);
		return err;
	}
	reader->header.program[EXPORT_NAME_BYTES - 1] = 0;
	*out = reader;
	return 0;
}

void export_reader_close(struct export_reader *reader)
{
	free(reader);
}

uint32_t export_reader_pid(const struct export_reader *reader)
{
	return reader->header.pid;
}

uint32_t export_reader_slot(const struct export_reader *reader)
{
	return reader->header.slot;
}

const char *export_reader_program(const struct export_reader *reader)
{
	return reader->header.program;
}

/* The first `len` bytes of an element. */
static int element_read(const struct export_reader *reader, enum export_table table, uint32_t index, void *out, size_t len)
{
	const struct export_span *span = &reader->header.tables[table];

	if (index >= span->count)
		return BASE_ERR_RANGE;
	return read_at(reader->fd, out, len, span->offset + (uint64_t)index * span->stride);
}

int export_reader_group(const struct export_reader *reader, uint32_t index, struct export_group_view *out)
{
	struct export_group group;

	if (index >= reader->header.tables[EXPORT_TABLE_GROUPS].count)
		return BASE_ERR_NOENT;
	int err = element_read(reader, EXPORT_TABLE_GROUPS, index, &group, sizeof(group));
	if (err != 0)
		return err;
	if (group.count == 0)
		return BASE_ERR_NOENT; /* never reserved: none is behind it */
	if (group.in_use == 0)
		return BASE_ERR_AGAIN;
	uint32_t names = reader->header.tables[EXPORT_TABLE_NAMES].count,
			values = reader->header.tables[EXPORT_TABLE_VALUES].count;
	if (group.count > names || group.first_name > names - group.count || group.count > values ||
	    group.first_value > values - group.count)
		return BASE_ERR_MALFORMED;
	group.kind[EXPORT_NAME_BYTES - 1] = group.instance[EXPORT_NAME_BYTES - 1] = 0;
	memcpy(out->kind, group.kind, EXPORT_NAME_BYTES);
	memcpy(out->instance, group.instance, EXPORT_NAME_BYTES);
	out->count = group.count;
	out->first_name = group.first_name;
	out->first_value = group.first_value;
	return 0;
}

int export_reader_counter(const struct export_reader *reader, const struct export_group_view *group, uint32_t i,
			  char name[EXPORT_NAME_BYTES], uint64_t *value)
{
	struct export_name text;
	uint64_t number;

	if (i >= group->count)
		return BASE_ERR_RANGE;
	int err = element_read(reader, EXPORT_TABLE_NAMES, group->first_name + i, &text, sizeof(text));
	if (err == 0)
		err = element_read(reader, EXPORT_TABLE_VALUES, group->first_value + i, &number, sizeof(number));
	if (err != 0)
		return err;
	text.text[EXPORT_NAME_BYTES - 1] = 0;
	memcpy(name, text.text, EXPORT_NAME_BYTES);
	*value = number;
	return 0;
}

/* Moves *index over elements that lie in a hole of the file. False: nothing but holes is left. */
static bool skip_hole(const struct export_reader *reader, enum export_table table, uint32_t *index)
{
	const struct export_span *span = &reader->header.tables[table];
	uint64_t at = span->offset + (uint64_t)*index * span->stride;
	off_t data = lseek(reader->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno != ENXIO; /* a file system without the call: read the zeroes */
	if ((uint64_t)data > at) {
		uint64_t element = ((uint64_t)data - span->offset) / span->stride;

		*index = element > span->count ? span->count : (uint32_t)element;
	}
	return *index < span->count;
}

int export_reader_qp_next(const struct export_reader *reader, uint32_t *index, struct export_qp_view *out)
{
	uint32_t count = reader->header.tables[EXPORT_TABLE_QPS].count;
	struct export_qp qp;

	while (*index < count && skip_hole(reader, EXPORT_TABLE_QPS, index)) {
		int err = element_read(reader, EXPORT_TABLE_QPS, *index, &qp, sizeof(qp));

		if (err != 0)
			return err;
		(*index)++;
		if (qp.qpn == 0)
			continue;
		*out = (struct export_qp_view){
			.qpn = qp.qpn, .dest_qpn = qp.dest_qpn, .type = qp.type, .state = qp.state, .pd = qp.pd,
					.access = qp.access,
			.rq_psn = qp.rq_psn, .sq_psn = qp.sq_psn, .port = qp.port, .link_kind = qp.link_kind, .mtu = qp.mtu,
		};
		for (int i = 0; i < EXPORT_QP_COUNTERS; i++)
			out->counters[i] = qp.counters[i];
		return 0;
	}
	*index = count;
	return BASE_ERR_NOENT;
}

void export_reader_mrs(const struct export_reader *reader, uint32_t *count, uint64_t *bytes)
{
	uint32_t most = reader->header.tables[EXPORT_TABLE_MRS].count;
	struct export_mr mr;

	*count = 0;
	*bytes = 0;
	for (uint32_t i = 0; i < most && skip_hole(reader, EXPORT_TABLE_MRS, &i); i++) {
		if (element_read(reader, EXPORT_TABLE_MRS, i, &mr, sizeof(mr)) != 0)
			return;
		if (mr.key != 0) {
			(*count)++;
			*bytes += mr.length;
		}
	}
}
