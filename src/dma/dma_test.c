/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys, registration rules, copies, order of placement. (guard_test.c has what happens when memory goes away.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/random.h"
#include "dma/access.h"
#include "dma/copy.h"
#include "dma/key.h"
#include "dma/maps.h"
#include "dma/mr.h"

enum { COUNT = 64, PD = 7 };

struct fixture {
	struct dma_entry *entries;
	struct dma_table *table;
	struct dma_view view;
	uint8_t *bytes;
};
enum { BYTES = 3 * 4096 };

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->entries = calloc(COUNT, sizeof(*f->entries));
	f->table = dma_table_create(f->entries, COUNT);
	dma_view_init(&f->view, f->table, PD);
	f->bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*state = f;
	return f->bytes == MAP_FAILED;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	munmap(f->bytes, BYTES);
	dma_table_destroy(f->table);
	free(f->entries);
	free(f);
	return 0;
}

static struct dma_region region(struct fixture *f, uint32_t access)
{
	return (struct dma_region){ .addr = (uintptr_t)f->bytes, .length = BYTES, .iova = (uintptr_t)f->bytes, .pd = PD,
			.access = access };
}

static void dereg(struct fixture *f, uint32_t index)
{
	dma_table_revoke(f->table, index);
	dma_table_free(f->table, index);
}

static void key_mixing_is_a_bijection(void **state)
{
	struct dma_key_secret secret;
	uint8_t *seen = calloc(1 << 24, 1);

	base_random_bytes(&secret, sizeof(secret));
	for (uint32_t i = 0; i < 1 << 24; i++) {
		uint32_t mixed = dma_key_mix(&secret, i);

		if (mixed >= 1 << 24 || seen[mixed]++ || dma_key_unmix(&secret, mixed) != i)
			fail_msg("value %u", i);
	}
	free(seen);
}

/* Goal: neighbours in the table are not neighbours in the keys, and another process has other keys. */
static void keys_are_not_dense(void **state)
{
	struct fixture *f = *state;
	struct dma_entry *other_entries = calloc(COUNT, sizeof(*other_entries));
	struct dma_table *other = dma_table_create(other_entries, COUNT);
	struct dma_region r = region(f, 0);
	uint32_t keys[COUNT], others[COUNT], index, near = 0, same = 0;

	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(dma_table_reg(f->table, &r, &index, &keys[i]), 0);
		assert_int_equal(dma_table_reg(other, &r, &index, &others[i]), 0);
		assert_int_not_equal(keys[i], 0);
		for (int k = 0; k < i; k++)
			near += (keys[i] > keys[k] ? keys[i] - keys[k] : keys[k] - keys[i]) < 0x1000;
		same += keys[i] == others[i];
	}
	assert_in_range(near, 0, 4); /* 2016 pairs at 2^-19 each: one is rare already */
	assert_in_range(same, 0, 1);
	dma_table_destroy(other);
	free(other_entries);
}

static void guesses_do_not_hit(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, 0xf);
	struct base_random random = { 1 };
	uint32_t index, key, hits = 0;

	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	for (int i = 0; i < 1000000; i++)
		hits += dma_remote_check(&f->view, (uint32_t)base_random_next(&random), (uintptr_t)f->bytes, 8, 0) == 0;
	assert_in_range(hits, 0, 1);
	for (uint32_t bit = 0; bit < 32; bit++)
		assert_int_equal(dma_remote_check(&f->view, key ^ 1u << bit, (uintptr_t)f->bytes, 8, 0), BASE_ERR_KEY);
	assert_int_equal(dma_remote_check(&f->view, 0, (uintptr_t)f->bytes, 8, 0), BASE_ERR_KEY);
}

static void stale_keys_fail(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, 0xf);
	uint32_t keys[4 * COUNT], index;

	/* Every entry is used several times; no key ever comes back. */
	for (int i = 0; i < 4 * COUNT; i++) {
		assert_int_equal(dma_table_reg(f->table, &r, &index, &keys[i]), 0);
		assert_int_equal(dma_remote_check(&f->view, keys[i], (uintptr_t)f->bytes, 1, DMA_REMOTE_READ), 0);
		dereg(f, index);
		for (int k = 0; k <= i; k++) {
			assert_int_equal(dma_remote_check(&f->view, keys[k], (uintptr_t)f->bytes, 1, 0), BASE_ERR_KEY);
			assert_true(k == i || keys[k] != keys[i]);
		}
	}
	assert_int_equal(dma_table_used(f->table), 0);
}

static void oldest_freed_is_reused_first(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, 0);
	uint32_t index[COUNT], key, again;

	for (int i = 0; i < COUNT; i++)
		assert_int_equal(dma_table_reg(f->table, &r, &index[i], &key), 0);
	assert_int_equal(dma_table_reg(f->table, &r, &again, &key), BASE_ERR_NOMEM);
	dereg(f, index[9]);
	dereg(f, index[3]);
	assert_int_equal(dma_table_reg(f->table, &r, &again, &key), 0);
	assert_int_equal(again, index[9]);
	assert_int_equal(dma_table_reg(f->table, &r, &again, &key), 0);
	assert_int_equal(again, index[3]);
}

static void registration_rules(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t access;
		int err;
	} cases[] = {
		{ 0, 0 }, { 1, 0 }, { 4, 0 }, { 5, 0 }, { 0x3f, 0 },
		{ 2, BASE_ERR_INVAL }, { 8, BASE_ERR_INVAL }, { 6, BASE_ERR_INVAL }, { 0xa, BASE_ERR_INVAL }, { 3, 0 }, { 9, 0 },
		{ 1 << 20, 0 }, { 1 << 29 | 1, 0 }, /* optional: ignored */
		{ 0x40, 0 }, { 0x80, 0 }, { 0x100, 0 }, { 0x304, 0 }, { 0x400, BASE_ERR_INVAL },
		{ 1 << 19, BASE_ERR_INVAL }, { 1 << 30, BASE_ERR_INVAL }, { 1u << 31, BASE_ERR_INVAL },
	};
	uint32_t index, key;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dma_region r = region(f, cases[i].access);

		assert_int_equal(dma_table_reg(f->table, &r, &index, &key), cases[i].err);
	}
	struct dma_region r = region(f, 0);
	r.length = 0;
	r.addr = 0;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	assert_int_equal(dma_remote_check(&f->view, key, 0, 0, 0), 0);
	r.length = UINT64_MAX;
	r.addr = 4096;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), BASE_ERR_INVAL);
	/* A hole in the middle; then read-only memory. */
	munmap(f->bytes + 4096, 4096);
	r = region(f, 1);
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), BASE_ERR_FAULT);
	r.length = 4096;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	r.length = 4097;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), BASE_ERR_FAULT);
	mprotect(f->bytes, 4096, PROT_READ);
	r.length = 4096;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), BASE_ERR_FAULT);
	r.access = DMA_REMOTE_READ;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	mprotect(f->bytes, 4096, PROT_NONE);
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), BASE_ERR_FAULT);
}

/* Goal: both ways of asking the kernel agree, over neighbours of different rights. */
static void maps_agree(void **state)
{
	struct fixture *f = *state;

	mprotect(f->bytes + 4096, 4096, PROT_READ);
	for (uint64_t from = 0; from < BYTES; from += 1024)
		for (uint64_t len = 0; from + len <= BYTES + 4096; len += 1024)
			for (int write = 0; write < 2; write++) {
				uint64_t addr = (uintptr_t)f->bytes + from;

				assert_int_equal(dma_maps_check(addr, len, write), dma_maps_check_text(addr, len, write));
			}
	assert_int_equal(dma_maps_check((uintptr_t)f->bytes, BYTES, false), 0);
	assert_int_equal(dma_maps_check((uintptr_t)f->bytes, BYTES, true), BASE_ERR_FAULT);
	assert_int_equal(dma_maps_check((uintptr_t)f->bytes, 4096, true), 0);
	assert_int_equal(dma_maps_check_text((uintptr_t)f->bytes, 4097, true), BASE_ERR_FAULT);
	assert_int_equal(dma_maps_check_text((uintptr_t)&state, 8, true), 0);
}

static void access_checks(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, DMA_LOCAL_WRITE | DMA_REMOTE_WRITE);
	struct dma_view stranger;
	uint64_t base, before;
	uint32_t index, key;
	uint8_t buf[16] = { 0 };

	r.iova = base = 0x100000000000;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	dma_view_init(&stranger, f->table, PD + 1);
	assert_int_equal(dma_remote_write(&stranger, key, base, buf, 1), BASE_ERR_KEY);
	assert_int_equal(dma_remote_write(&f->view, key, base, buf, 1), 0);
	assert_int_equal(dma_remote_read(&f->view, key, base, buf, 1), BASE_ERR_KEY);
	assert_int_equal(dma_remote_fetch_add(&f->view, key, base, 1, &before), BASE_ERR_KEY);
	assert_int_equal(dma_remote_write(&f->view, key, base + BYTES - 1, buf, 1), 0);
	assert_int_equal(dma_remote_write(&f->view, key, base + BYTES - 1, buf, 2), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_write(&f->view, key, base + BYTES, buf, 1), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_write(&f->view, key, base - 1, buf, 2), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_write(&f->view, key, UINT64_MAX, buf, 16), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_check(&f->view, key, base, UINT64_MAX, DMA_REMOTE_WRITE), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_write(&f->view, 0x1234, 0, buf, 0), 0); /* nothing is asked */
	const struct dma_sge sge[3] = { { base, 3, key }, { 0, 0, 0xdead }, { base + 10, 2, key } };
	assert_int_equal(dma_local_check(&f->view, sge, 3, DMA_LOCAL_WRITE), 0);
	assert_int_equal(dma_gather(&f->view, sge, 3, 0, buf, 5), 0);
	assert_int_equal(dma_gather(&f->view, sge, 3, 0, buf, 6), BASE_ERR_RANGE);
	assert_int_equal(dma_gather(&f->view, sge, 3, 5, buf, 0), 0);
	assert_int_equal(dma_scatter(&f->view, sge, 3, 1, "abcd", 4), 0);
	assert_memory_equal(f->bytes + 1, "ab", 2);
	assert_memory_equal(f->bytes + 10, "cd", 2);
	/* Read-only for us: gathers, but takes nothing. */
	r.access = 0;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	const struct dma_sge ro = { base, 4, key };
	assert_int_equal(dma_gather(&f->view, &ro, 1, 0, buf, 4), 0);
	assert_int_equal(dma_scatter(&f->view, &ro, 1, 0, buf, 4), BASE_ERR_KEY);
}

static void copies_are_exact(void **state)
{
	struct fixture *f = *state;
	uint8_t ours[700], back[700];

	for (size_t at = 0; at < 17; at++)
		for (size_t len = 0; len < 300; len++) {
			memset(f->bytes, 0xee, 700);
			for (size_t i = 0; i < len; i++)
				ours[i] = (uint8_t)(i * 13 + len + at);
			memset(back, 0xdd, sizeof(back));
			assert_int_equal(dma_copy_out(f->bytes + at, ours, len), 0);
			assert_int_equal(dma_copy_in(back, f->bytes + at, len), 0);
			if (memcmp(back, ours, len) != 0 || back[len] != 0xdd || f->bytes[at + len] != 0xee || (at &&
					f->bytes[at - 1] != 0xee))
				fail_msg("at %zu, %zu bytes", at, len);
		}
}

static void atomics_are_atomic(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, 0xf);
	uint64_t *word = (uint64_t *)(void *)f->bytes, before;
	uint32_t index, key;

	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	*word = 5;
	assert_int_equal(dma_remote_fetch_add(&f->view, key, (uintptr_t)word, 3, &before), 0);
	assert_int_equal(before, 5);
	assert_int_equal(*word, 8);
	assert_int_equal(dma_remote_compare_swap(&f->view, key, (uintptr_t)word, 7, 1, &before), 0);
	assert_int_equal(before, 8);
	assert_int_equal(*word, 8);
	assert_int_equal(dma_remote_compare_swap(&f->view, key, (uintptr_t)word, 8, 1, &before), 0);
	assert_int_equal(before, 8);
	assert_int_equal(*word, 1);
	assert_int_equal(dma_remote_fetch_add(&f->view, key, (uintptr_t)word + 4, 3, &before), BASE_ERR_RANGE);
}

/* Goal: an atomic write needs the right to write and an aligned place, and touches 8 bytes. */
static void atomic_writes(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, DMA_LOCAL_WRITE | DMA_REMOTE_WRITE);
	uint32_t index, key;

	r.iova += 4; /* aligned for the peer is not aligned here */
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	memset(f->bytes, 0xee, 24);
	assert_int_equal(dma_remote_atomic_write(&f->view, key, r.iova + 4, "abcdefgh"), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_atomic_write(&f->view, key, r.iova + 8, "abcdefgh"), 0);
	assert_memory_equal(f->bytes, "\xee\xee\xee\xee\xee\xee\xee\xee" "abcdefgh" "\xee\xee\xee\xee\xee\xee\xee\xee", 24);
	assert_int_equal(dma_remote_atomic_write(&f->view, key, r.iova + BYTES - 4, "abcdefgh"), BASE_ERR_RANGE);
	r.access = DMA_LOCAL_WRITE | DMA_REMOTE_ATOMIC;
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	assert_int_equal(dma_remote_atomic_write(&f->view, key, r.iova + 8, "abcdefgh"), BASE_ERR_KEY);
}

/* Goal: a flush needs each right that it uses, and its range; what it makes persistent is in the file. */
static void flushes(void **state)
{
	struct fixture *f = *state;
	struct dma_region r = region(f, DMA_FLUSH_GLOBAL);
	char name[] = "/tmp/dma_test.XXXXXX";
	uint32_t index, key;
	uint8_t *file;
	int fd = mkstemp(name);

	assert_true(fd >= 0 && ftruncate(fd, BYTES) == 0);
	unlink(name);
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	assert_int_equal(dma_remote_flush(&f->view, key, r.iova + 5, BYTES - 5, DMA_FLUSH_GLOBAL, false), 0);
	assert_int_equal(dma_remote_flush(&f->view, key, r.iova + 5, BYTES - 4, DMA_FLUSH_GLOBAL, false), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_flush(&f->view, key, 0, UINT64_MAX, DMA_FLUSH_GLOBAL, true), 0);
	assert_int_equal(dma_remote_flush(&f->view, key, r.iova, 8, DMA_FLUSH_PERSISTENT, false), BASE_ERR_KEY);
	assert_int_equal(dma_remote_flush(&f->view, key + 1, r.iova, 8, DMA_FLUSH_GLOBAL, true), BASE_ERR_KEY);
	file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	r = (struct dma_region){ .addr = (uintptr_t)file, .length = BYTES, .iova = 0x1000, .pd = PD,
				 .access = DMA_FLUSH_GLOBAL | DMA_FLUSH_PERSISTENT };
	assert_int_equal(dma_table_reg(f->table, &r, &index, &key), 0);
	file[BYTES - 1] = 1;
	assert_int_equal(dma_remote_flush(&f->view, key, 0x1003, 5000, DMA_FLUSH_PERSISTENT, false), 0);
	assert_int_equal(dma_remote_flush(&f->view, key, 0x1003, 0, DMA_FLUSH_PERSISTENT, false), 0);
	assert_int_equal(dma_remote_flush(&f->view, key, 0, 0, DMA_FLUSH_GLOBAL | DMA_FLUSH_PERSISTENT, true), 0);
	/* Memory that went away is an error, not a signal. */
	munmap(file + 4096, 4096);
	assert_int_equal(dma_remote_flush(&f->view, key, 0, 0, DMA_FLUSH_PERSISTENT, true), BASE_ERR_FAULT);
	munmap(file, BYTES);
	close(fd);
}

/* Goal: regions come and go in one thread while another looks them up: no data race, no wrong answer. */
struct churn {
	struct fixture *f;
	pthread_mutex_t progress;
	_Atomic uint32_t key;
	_Atomic bool stop;
};

static void *churn_lookups(void *context)
{
	struct churn *c = context;
	uint8_t buf[8];

	while (!atomic_load(&c->stop)) {
		pthread_mutex_lock(&c->progress);
		for (int i = 0; i < 16; i++) {
			uint32_t key = atomic_load(&c->key);
			int err = dma_remote_read(&c->f->view, key, 0x5000, buf, 8);

			if (err != 0 && err != BASE_ERR_KEY)
				abort();
		}
		pthread_mutex_unlock(&c->progress);
	}
	return NULL;
}

static void regions_come_and_go(void **state)
{
	struct churn c = { .f = *state };
	struct dma_region r = region(c.f, DMA_REMOTE_READ);
	pthread_t thread;

	r.iova = 0x5000;
	pthread_mutex_init(&c.progress, NULL);
	pthread_create(&thread, NULL, churn_lookups, &c);
	for (int i = 0; i < 1000; i++) {
		uint32_t index, key;

		assert_int_equal(dma_table_reg(c.f->table, &r, &index, &key), 0);
		atomic_store(&c.key, key);
		dma_table_revoke(c.f->table, index);
		pthread_mutex_lock(&c.progress);
		pthread_mutex_unlock(&c.progress);
		dma_table_free(c.f->table, index);
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	pthread_mutex_destroy(&c.progress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_mixing_is_a_bijection),
		cmocka_unit_test_setup_teardown(keys_are_not_dense, setup, teardown),
		cmocka_unit_test_setup_teardown(guesses_do_not_hit, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_keys_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(oldest_freed_is_reused_first, setup, teardown),
		cmocka_unit_test_setup_teardown(registration_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(maps_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(access_checks, setup, teardown),
		cmocka_unit_test_setup_teardown(copies_are_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(atomics_are_atomic, setup, teardown),
		cmocka_unit_test_setup_teardown(atomic_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(flushes, setup, teardown),
		cmocka_unit_test_setup_teardown(regions_come_and_go, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
