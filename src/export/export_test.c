/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writer and reader of the shared tables; a reader before hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/random.h"
#include "export/export.h"
#include "export/reader.h"

static const char *const names[3] = { "alpha", "beta", "a name that is longer than the thirty-one bytes there are" };

static void counters_are_named_and_read(void **state)
{
	struct export_writer *writer;
	struct export_reader *reader;
	struct export_group_view group;
	_Atomic uint64_t *values, *others;
	char name[EXPORT_NAME_BYTES];
	uint64_t value;
	uint32_t first, second;

	assert_int_equal(export_writer_create(9, &writer), 0);
	assert_int_equal(export_counters_reserve(writer, "port", "sv_lo", names, 3, &first, &values), 0);
	assert_int_equal(export_counters_reserve(writer, "port", "sv_eth0", names, 3, &second, &others), 0);
	export_counter_add(&values[1], 41);
	export_counter_add(&values[1], 1);
	export_counter_add(&others[1], 7);
	assert_int_equal(export_reader_open(export_writer_fd(writer), &reader), 0);
	assert_int_equal(export_reader_pid(reader), getpid());
	assert_int_equal(export_reader_slot(reader), 9);
	assert_string_equal(export_reader_program(reader), "export_test");
	assert_int_equal(export_reader_group(reader, first, &group), 0);
	assert_string_equal(group.kind, "port");
	assert_string_equal(group.instance, "sv_lo");
	assert_int_equal(group.count, 3);
	assert_int_equal(export_reader_counter(reader, &group, 1, name, &value), 0);
	assert_string_equal(name, "beta");
	assert_int_equal(value, 42);
	assert_int_equal(export_reader_counter(reader, &group, 2, name, &value), 0);
	assert_int_equal(strlen(name), EXPORT_NAME_BYTES - 1);
	assert_int_equal(export_reader_counter(reader, &group, 3, name, &value), BASE_ERR_RANGE);
	assert_int_equal(export_reader_group(reader, second, &group), 0);
	assert_int_equal(group.first_name, 0); /* names are shared */
	assert_int_equal(export_reader_group(reader, second + 1, &group), BASE_ERR_NOENT);
	/* A retired place is used again, from zero. */
	export_counters_retire(writer, first);
	assert_int_equal(export_reader_group(reader, first, &group), BASE_ERR_AGAIN);
	assert_int_equal(export_counters_reserve(writer, "port", "sv_new", names, 3, &second, &values), 0);
	assert_int_equal(second, first);
	assert_int_equal(export_reader_group(reader, first, &group), 0);
	assert_string_equal(group.instance, "sv_new");
	assert_int_equal(export_reader_counter(reader, &group, 1, name, &value), 0);
	assert_int_equal(value, 0);
	export_reader_close(reader);
	export_writer_destroy(writer);
}

static void tables_run_full_without_harm(void **state)
{
	struct export_writer *writer;
	_Atomic uint64_t *values;
	int err = 0, groups = 0;

	assert_int_equal(export_writer_create(1, &writer), 0);
	while ((err = export_counters_reserve(writer, "port", "x", names, 3, NULL, &values)) == 0)
		groups++;
	assert_int_equal(err, BASE_ERR_NOMEM);
	assert_int_equal(groups, EXPORT_GROUPS);
	export_writer_destroy(writer);
}

static void qps_and_mrs_are_found(void **state)
{
	struct export_writer *writer;
	struct export_reader *reader;
	struct export_qp_view qp;
	uint32_t index = 0, count;
	uint64_t bytes;

	assert_int_equal(export_writer_create(3, &writer), 0);
	assert_int_equal(export_reader_open(export_writer_fd(writer), &reader), 0);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), BASE_ERR_NOENT);
	atomic_store(&export_writer_qp(writer, 0x03ffff)->qpn, 0x03ffff);
	atomic_store(&export_writer_qp(writer, 0x030002)->qpn, 0x030002);
	atomic_store(&export_writer_qp(writer, 0x030002)->counters[23], 5);
	index = 0;
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), 0);
	assert_int_equal(qp.qpn, 0x030002);
	assert_int_equal(qp.counters[23], 5);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), 0);
	assert_int_equal(qp.qpn, 0x03ffff);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), BASE_ERR_NOENT);
	for (uint32_t at = 0; at < EXPORT_MRS; at += EXPORT_MRS / 4 + 3) {
		export_writer_mrs(writer)[at].length = 100;
		atomic_store(&export_writer_mrs(writer)[at].key, 1);
	}
	export_reader_mrs(reader, &count, &bytes);
	assert_int_equal(count, 4);
	assert_int_equal(bytes, 400);
	export_reader_close(reader);
	export_writer_destroy(writer);
}

static void look_at_everything(int fd)
{
	struct export_reader *reader;
	struct export_group_view group;
	struct export_qp_view qp;
	char name[EXPORT_NAME_BYTES];
	uint32_t index = 0, count, qps = 0;
	uint64_t value, bytes;

	if (export_reader_open(fd, &reader) != 0)
		return;
	assert_true(strlen(export_reader_program(reader)) < EXPORT_NAME_BYTES);
	for (uint32_t i = 0; export_reader_group(reader, i, &group) != BASE_ERR_NOENT && i < 2 * EXPORT_GROUPS; i++)
		for (uint32_t k = 0; export_reader_counter(reader, &group, k, name, &value) == 0; k++)
			assert_true(strlen(name) < EXPORT_NAME_BYTES);
	while (export_reader_qp_next(reader, &index, &qp) == 0)
		assert_in_range(++qps, 1, EXPORT_QPS);
	export_reader_mrs(reader, &count, &bytes);
	export_reader_close(reader);
}

/* Goal: whatever stands in the header and the groups, and however short the file is: an answer, no crash, no endless walk. */
static void hostile_files(void **state)
{
	struct export_writer *writer;
	_Atomic uint64_t *values;
	struct base_random random = { 7 };
	struct { struct export_header header; struct export_group groups[64]; } image;
	uint8_t *bytes = (uint8_t *)&image;

	assert_int_equal(export_writer_create(3, &writer), 0);
	assert_int_equal(export_counters_reserve(writer, "port", "x", names, 3, NULL, &values), 0);
	for (int round = 0; round < 3000; round++) {
		int fd = memfd_create("hostile", 0);

		assert_int_equal(pread(export_writer_fd(writer), &image.header, sizeof(image.header), 0), sizeof(image.header));
		assert_int_equal(pread(export_writer_fd(writer), image.groups, sizeof(image.groups), EXPORT_PAGE),
				sizeof(image.groups));
		for (uint64_t n = base_random_below(&random, 12); n > 0; n--)
			bytes[8 + base_random_below(&random, sizeof(image) - 8)] = (uint8_t)base_random_next(&random);
		if (round % 2 == 0)
			image.header.tables[base_random_below(&random,
					EXPORT_TABLES)].offset = base_random_next(&random) >> (round % 64);
		assert_int_equal(pwrite(fd, &image.header, sizeof(image.header), 0), sizeof(image.header));
		assert_int_equal(pwrite(fd, image.groups, sizeof(image.groups), EXPORT_PAGE), sizeof(image.groups));
		if (round % 3 == 0)
			assert_int_equal(ftruncate(fd, (off_t)base_random_below(&random, 100000)), 0);
		look_at_everything(fd);
		close(fd);
	}
	export_writer_destroy(writer);
}

static void refusals(void **state)
{
	struct export_writer *writer;
	struct export_reader *reader = NULL;
	struct export_header header;
	int fd = memfd_create("empty", 0);

	assert_int_equal(export_reader_open(fd, &reader), BASE_ERR_MALFORMED);
	assert_int_equal(export_writer_create(3, &writer), 0);
	assert_int_equal(pread(export_writer_fd(writer), &header, sizeof(header), 0), sizeof(header));
	header.version++;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(export_reader_open(fd, &reader), BASE_ERR_UNSUPPORTED);
	header.version--;
	header.tables[EXPORT_TABLE_QPS].count++;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(export_reader_open(fd, &reader), BASE_ERR_MALFORMED);
	assert_null(reader);
	/* Nobody cuts the writer's own file off. */
	assert_int_equal(ftruncate(export_writer_fd(writer), 4096), -1);
	assert_int_equal(fcntl(export_writer_fd(writer), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	export_writer_destroy(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_named_and_read),
		cmocka_unit_test(tables_run_full_without_harm),
		cmocka_unit_test(qps_and_mrs_are_found),
		cmocka_unit_test(hostile_files),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
