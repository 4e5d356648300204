/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The in-process bus: what is mapped is reached, in its direction, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/random.h"
#include "dma/guard.h"
#include "efa/bus/local.h"

enum { BYTES = 256 };

struct fixture {
	struct efa_bus_local bus;
	struct efa_bus_host host;
	struct efa_bus_function function;
	uint8_t memory[BYTES];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	efa_bus_local_init(&f->bus);
	f->host = efa_bus_local_host(&f->bus);
	f->function = efa_bus_local_function(&f->bus);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	efa_bus_local_fini(&f->bus);
	free(f);
	return 0;
}

/* Goal: a bus address is no pointer, directions are held to, and unmapping ends it. */
static void directions(void **state)
{
	struct fixture *f = *state;
	uint8_t byte = 9;
	uint64_t in, out;

	assert_int_equal(f->function.ops->map(&f->bus, f->memory, 64, EFA_BUS_TO_DEVICE, &in), 0);
	assert_int_equal(f->function.ops->map(&f->bus, f->memory + 128, 64, EFA_BUS_FROM_DEVICE, &out), 0);
	assert_true(in != (uintptr_t)f->memory);
	assert_int_equal(in & 0x1fffff, (uintptr_t)f->memory & 0x1fffff);
	f->memory[63] = 7;
	assert_int_equal(f->host.ops->read(&f->bus, in + 63, &byte, 1), 0);
	assert_int_equal(byte, 7);
	assert_int_equal(f->host.ops->write(&f->bus, in, &byte, 1), BASE_ERR_RANGE);
	assert_int_equal(f->host.ops->read(&f->bus, in + 60, f->memory + 200, 5), BASE_ERR_RANGE);
	assert_int_equal(f->host.ops->read(&f->bus, (uintptr_t)f->memory, &byte, 1), BASE_ERR_RANGE);
	assert_int_equal(f->host.ops->read(&f->bus, UINT64_MAX, &byte, 1), BASE_ERR_RANGE);
	assert_int_equal(f->host.ops->read(&f->bus, out, &byte, 1), BASE_ERR_RANGE);
	assert_int_equal(f->host.ops->write(&f->bus, out, &byte, 1), 0);
	assert_int_equal(f->memory[128], 7);
	f->function.ops->unmap(&f->bus, out, 64, EFA_BUS_FROM_DEVICE);
	assert_int_equal(f->host.ops->write(&f->bus, out, &byte, 1), BASE_ERR_RANGE);
	assert_int_equal(f->bus.stats.refused, 6);
	assert_int_equal(f->function.ops->map(&f->bus, f->memory, 0, EFA_BUS_BOTH, &in), BASE_ERR_INVAL);
	assert_int_equal(f->function.ops->map(&f->bus, f->memory, UINT64_MAX, EFA_BUS_BOTH, &in), BASE_ERR_INVAL);
}

/* Goal: an entry arrives whole; memory that went away is an error and no signal. */
static void entries(void **state)
{
	struct fixture *f = *state;
	uint8_t entry[64];
	uint64_t addr;
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint32_t i = 0; i < sizeof(entry); i++)
		entry[i] = (uint8_t)(i + 1);
	assert_int_equal(f->function.ops->map(&f->bus, page, 4096, EFA_BUS_BOTH, &addr), 0);
	for (uint32_t flag = 0; flag < 64; flag++) {
		memset(page, 0, 64);
		assert_int_equal(f->host.ops->publish(&f->bus, addr, entry, 64, flag), 0);
		assert_memory_equal(page, entry, 64);
	}
	munmap(page, 4096);
	dma_guard_left = 0; /* the test runner took the fault signals over: that is looked for now and then */
	assert_int_equal(f->host.ops->publish(&f->bus, addr, entry, 64, 3), BASE_ERR_FAULT);
	assert_int_equal(f->host.ops->read(&f->bus, addr, entry, 64), BASE_ERR_FAULT);
	assert_int_equal(f->bus.stats.faults, 2);
}

static void count(void *context, uint32_t vector)
{
	*(uint32_t *)context += vector;
}

/* Goal: interrupts are collected, told of, and taken once. */
static void interrupts(void **state)
{
	struct fixture *f = *state;
	uint32_t sum = 0;

	f->bus.notify = count;
	f->bus.notify_context = &sum;
	f->host.ops->interrupt(&f->bus, 3);
	f->host.ops->interrupt(&f->bus, 0);
	f->host.ops->interrupt(&f->bus, 3);
	assert_int_equal(sum, 6);
	assert_int_equal(f->function.ops->interrupts(&f->bus), 9);
	assert_int_equal(f->function.ops->interrupts(&f->bus), 0);
}

/* Goal: overlapping mappings agree with a table that counts each address by itself. */
static void overlaps(void **state)
{
	enum { SPACE = 64, MAPPINGS = 12 };
	struct { uint64_t start, end; bool readable, writable; } mapped[MAPPINGS] = { { 0 } };
	uint32_t counts[2][SPACE] = { { 0 } };
	struct base_random random = { 4 };
	struct efa_bus_map map;

	(void)state;
	efa_bus_map_init(&map);
	for (uint32_t round = 0; round < 4000; round++) {
		uint32_t k = (uint32_t)base_random_below(&random, MAPPINGS);
		int add = mapped[k].end == 0;

		if (add) {
			mapped[k].start = base_random_below(&random, SPACE - 1);
			mapped[k].end = mapped[k].start + 1 + base_random_below(&random, SPACE - mapped[k].start);
			mapped[k].readable = base_random_next(&random) & 1;
			mapped[k].writable = !mapped[k].readable || (base_random_next(&random) & 1);
			assert_int_equal(efa_bus_map_add(&map, mapped[k].start, mapped[k].end, mapped[k].readable,
							 mapped[k].writable), 0);
		} else {
			assert_int_equal(efa_bus_map_remove(&map, mapped[k].start, mapped[k].end, mapped[k].readable,
							    mapped[k].writable), 0);
		}
		for (uint64_t i = mapped[k].start; i < mapped[k].end; i++) {
			counts[0][i] += mapped[k].readable ? (add ? 1 : -1) : 0;
			counts[1][i] += mapped[k].writable ? (add ? 1 : -1) : 0;
		}
		if (!add)
			mapped[k].end = 0;
		for (uint32_t write = 0; write < 2; write++) {
			uint64_t start = base_random_below(&random, SPACE), end = start;

			for (; end < SPACE && counts[write][end] > 0; end++)
				assert_true(efa_bus_map_has(&map, start, end + 1, write));
			assert_true(efa_bus_map_has(&map, start, start, write));
			assert_false(efa_bus_map_has(&map, start, end + 1, write));
		}
		for (uint32_t i = 0; i < map.count; i++) {
			assert_true(map.segments[i].start < map.segments[i].end);
			assert_true(i == 0 || map.segments[i - 1].end <= map.segments[i].start);
		}
	}
	assert_int_equal(efa_bus_map_remove(&map, SPACE, SPACE + 1, true, false), BASE_ERR_NOENT);
	efa_bus_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(directions, setup, teardown),
		cmocka_unit_test_setup_teardown(entries, setup, teardown),
		cmocka_unit_test_setup_teardown(interrupts, setup, teardown),
		cmocka_unit_test(overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
