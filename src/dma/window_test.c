/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Windows: who may use which, what a bind may ask for, what invalidation takes away, what is left of a window that was freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/random.h"
#include "dma/window.h"

enum { COUNT = 16, PD = 7, OTHER_PD = 8, BYTES = 4096 };
enum { ALL = DMA_REMOTE_READ | DMA_REMOTE_WRITE | DMA_REMOTE_ATOMIC };

struct fixture {
	struct dma_entry entries[COUNT];
	struct dma_table *table;
	struct dma_view a, b, other; /* two queue pairs of a domain, one of another */
	uint64_t words[BYTES / 8];
	uint64_t base;
	uint32_t region, region_key, window[DMA_KINDS], key[DMA_KINDS];
};

static uint32_t reg(struct fixture *f, uint32_t pd, uint32_t access, uint32_t *key)
{
	struct dma_region r = { .addr = (uintptr_t)f->words, .length = BYTES, .iova = f->base, .pd = pd, .access = access };
	uint32_t index;

	if (access & DMA_ZERO_BASED)
		r.iova = 0;
	assert_int_equal(dma_table_reg(f->table, &r, &index, key), 0);
	return index;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->table = dma_table_create(f->entries, COUNT);
	f->base = 0x700000000000; /* not where it lies: addresses are the region's */
	dma_view_init(&f->a, f->table, PD);
	dma_view_init(&f->b, f->table, PD);
	dma_view_init(&f->other, f->table, OTHER_PD);
	f->a.owner = 1;
	f->b.owner = 2;
	f->other.owner = 3;
	f->region = reg(f, PD, DMA_LOCAL_WRITE | DMA_MW_BIND, &f->region_key);
	for (uint32_t kind = DMA_WINDOW_1; kind < DMA_KINDS; kind++)
		assert_int_equal(dma_window_alloc(f->table, PD, (enum dma_kind)kind, &f->window[kind], &f->key[kind]), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dma_table_destroy(f->table);
	free(f);
	return 0;
}

static struct dma_bind bind_of(const struct fixture *f, enum dma_kind kind, uint64_t at, uint64_t len, uint32_t access)
{
	return (struct dma_bind){ .window = f->key[kind], .rkey = f->key[kind] ^ 0x5a, .region = f->region_key, .access = access,
				  .addr = f->base + at, .length = len, .by_type_1 = kind == DMA_WINDOW_1 };
}

static int reads(struct dma_view *view, uint32_t rkey, uint64_t va, uint32_t len)
{
	uint8_t bytes[BYTES];

	return dma_remote_read(view, rkey, va, bytes, len);
}

/* Goal: the table of the header. In this order: the queue pair that bound, one of its domain, one of another domain. */
static void who_may_use_it(void **state)
{
	static const bool may[DMA_KINDS][3] = {
		[DMA_WINDOW_1] = { true, true, false }, [DMA_WINDOW_2A] = { true, false, false },
		[DMA_WINDOW_2B] = { true, false, false },
	};
	struct fixture *f = *state;
	struct dma_view *const views[3] = { &f->a, &f->b, &f->other };

	for (uint32_t kind = DMA_WINDOW_1; kind < DMA_KINDS; kind++) {
		struct dma_bind bind = bind_of(f, (enum dma_kind)kind, 8, 64, ALL);

		assert_int_equal(reads(&f->a, f->key[kind], f->base + 8, 64), BASE_ERR_KEY);
		assert_int_equal(dma_window_bind(&f->a, &bind), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(reads(views[i], bind.rkey, f->base + 8, 64), may[kind][i] ? 0 : BASE_ERR_KEY);
		assert_int_equal(reads(&f->a, f->key[kind], f->base + 8, 64), BASE_ERR_KEY);
	}
	/* The domain counts for 2B alone. */
	f->a.pd = OTHER_PD;
	assert_int_equal(reads(&f->a, f->key[DMA_WINDOW_2A] ^ 0x5a, f->base + 8, 64), 0);
	assert_int_equal(reads(&f->a, f->key[DMA_WINDOW_2B] ^ 0x5a, f->base + 8, 64), BASE_ERR_KEY);
	assert_int_equal(dma_window_count(f->table, f->region), 3);
}

/* Goal: the bytes that the window names, and not one more; only what it grants, though the region grants nothing to peers. */
static void part_and_rights(void **state)
{
	struct fixture *f = *state;
	struct dma_bind bind = bind_of(f, DMA_WINDOW_2B, 16, 32, DMA_REMOTE_WRITE | DMA_LOCAL_WRITE);
	uint64_t before, value = 0x1122334455667788;
	struct dma_sge sge = { f->base + 16, 8, bind.rkey };

	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	assert_int_equal(dma_remote_write(&f->a, bind.rkey, f->base + 40, &value, 8), 0);
	assert_int_equal(f->words[5], value);
	assert_int_equal(dma_remote_write(&f->a, bind.rkey, f->base + 41, &value, 8), BASE_ERR_RANGE);
	assert_int_equal(dma_remote_write(&f->a, bind.rkey, f->base + 8, &value, 8), BASE_ERR_RANGE);
	assert_int_equal(reads(&f->a, bind.rkey, f->base + 16, 8), BASE_ERR_KEY);
	assert_int_equal(dma_remote_fetch_add(&f->a, bind.rkey, f->base + 16, 1, &before), BASE_ERR_KEY);
	assert_int_equal(dma_local_check(&f->a, &sge, 1, 0), BASE_ERR_KEY);

	bind = bind_of(f, DMA_WINDOW_2A, 16, 32, ALL | DMA_ZERO_BASED);
	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	assert_int_equal(dma_remote_fetch_add(&f->a, bind.rkey, 24, 1, &before), 0);
	assert_int_equal(before, value);
	assert_int_equal(f->words[5], value + 1);
	assert_int_equal(reads(&f->a, bind.rkey, 24, 9), BASE_ERR_RANGE);
	assert_int_equal(reads(&f->a, bind.rkey, f->base + 16, 8), BASE_ERR_RANGE);
}

/* Goal: every clause that refuses a bind, alone; none of them changes anything. */
static void binds_that_are_refused(void **state)
{
	struct fixture *f = *state;
	uint32_t no_bind, foreign, based, read_only, none;

	reg(f, PD, DMA_LOCAL_WRITE, &no_bind);
	reg(f, OTHER_PD, DMA_LOCAL_WRITE | DMA_MW_BIND, &foreign);
	reg(f, PD, DMA_LOCAL_WRITE | DMA_MW_BIND | DMA_ZERO_BASED, &based);
	reg(f, PD, DMA_MW_BIND, &read_only);
	assert_int_equal(dma_table_reg_null(f->table, PD, &none, &none), 0);
	const struct {
		enum dma_kind kind;
		uint32_t region;
		uint64_t at, len;
		uint32_t access;
		int err;
	} rows[] = {
		{ DMA_WINDOW_2B, no_bind, 0, 8, 0, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, foreign, 0, 8, 0, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, none, 0, 8, 0, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, f->region_key ^ 1, 0, 8, 0, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, f->key[DMA_WINDOW_1], 0, 8, 0, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, based, 0, 8, 0, BASE_ERR_INVAL },
		{ DMA_WINDOW_2B, read_only, 0, 8, DMA_REMOTE_WRITE, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, read_only, 0, 8, DMA_REMOTE_ATOMIC, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, f->region_key, 0, 8, DMA_FLUSH_GLOBAL, BASE_ERR_KEY },
		{ DMA_WINDOW_2B, f->region_key, 0, 8, DMA_MW_BIND, BASE_ERR_INVAL },
		{ DMA_WINDOW_2B, f->region_key, 0, 8, 1u << 31, BASE_ERR_INVAL },
		{ DMA_WINDOW_2B, f->region_key, 0, 0, 0, BASE_ERR_INVAL },
		{ DMA_WINDOW_2B, f->region_key, 0, BYTES + 1, 0, BASE_ERR_RANGE },
		{ DMA_WINDOW_2B, f->region_key, BYTES, 1, 0, BASE_ERR_RANGE },
		{ DMA_WINDOW_2B, f->region_key, (uint64_t)-1, 2, 0, BASE_ERR_RANGE },
		{ DMA_WINDOW_2B, f->region_key, 8, UINT64_MAX, 0, BASE_ERR_RANGE },
		{ DMA_WINDOW_1, f->region_key, 0, 8, DMA_ZERO_BASED, BASE_ERR_INVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dma_bind bind = bind_of(f, rows[i].kind, rows[i].at, rows[i].len, rows[i].access);

		bind.region = rows[i].region;
		if (rows[i].region == based)
			bind.addr = 0;
		if (dma_window_bind(&f->a, &bind) != rows[i].err)
			fail_msg("row %zu", i);
	}
	struct dma_bind bind = bind_of(f, DMA_WINDOW_2B, 0, 8, 0);
	bind.by_type_1 = true;
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_INVAL);
	bind.by_type_1 = false;
	assert_int_equal(dma_window_bind(&f->other, &bind), BASE_ERR_KEY);
	bind.rkey ^= 0x100; /* the upper 24 bits are not the program's */
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_KEY);
	bind.window ^= 0x100;
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_KEY);
	bind.window = f->region_key;
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_KEY);
	bind = bind_of(f, DMA_WINDOW_2B, 0, 8, 0);
	f->a.owner = 0;
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_INVAL);
	assert_int_equal(dma_window_count(f->table, f->region), 0);
	for (uint32_t kind = DMA_WINDOW_1; kind < DMA_KINDS; kind++)
		assert_int_equal(atomic_load(&f->entries[f->window[kind]].key), 0);
}

/* Goal: type 1 moves as often as one likes and is unbound by length 0; type 2 must be invalidated first. */
static void binding_again(void **state)
{
	struct fixture *f = *state;
	struct dma_bind bind = bind_of(f, DMA_WINDOW_1, 0, 8, ALL);

	for (uint32_t i = 0; i < 300; i++) {
		uint32_t before = bind.rkey;

		assert_int_equal(dma_window_bind(&f->a, &bind), 0);
		assert_int_equal(dma_window_count(f->table, f->region), 1);
		bind.rkey = (before & ~0xffu) | (uint8_t)(before + 1);
		assert_int_equal(reads(&f->b, before, bind.addr, 8), 0);
		assert_int_equal(reads(&f->b, bind.rkey, bind.addr, 8), BASE_ERR_KEY);
		bind.addr += 8;
	}
	uint64_t revocations = atomic_load(&f->entries[f->window[DMA_WINDOW_1]].revocation);
	bind.length = 0;
	bind.region = 0;
	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	assert_int_equal(atomic_load(&f->entries[f->window[DMA_WINDOW_1]].revocation), revocations + 1);
	assert_int_equal(dma_window_bind(&f->a, &bind), 0); /* is not bound: nothing to do */
	assert_int_equal(dma_window_count(f->table, f->region), 0);

	bind = bind_of(f, DMA_WINDOW_2B, 0, 8, ALL);
	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_BUSY);
	assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, false), 0);
	bind.rkey ^= 1;
	assert_int_equal(dma_window_bind(&f->b, &bind), 0);
	assert_int_equal(reads(&f->a, bind.rkey, f->base, 8), BASE_ERR_KEY);
	assert_int_equal(reads(&f->b, bind.rkey, f->base, 8), 0);
}

/* Goal: only what is bound, of type 2, by its whole key; a peer only through the queue pair that it was bound on. */
static void invalidation(void **state)
{
	struct fixture *f = *state;

	for (uint32_t kind = DMA_WINDOW_2A; kind < DMA_KINDS; kind++) {
		struct dma_bind bind = bind_of(f, (enum dma_kind)kind, 0, 8, ALL);

		assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, false), BASE_ERR_KEY);
		assert_int_equal(dma_window_bind(&f->a, &bind), 0);
		assert_int_equal(dma_window_invalidate(&f->a, bind.rkey ^ 1, true), BASE_ERR_KEY);
		assert_int_equal(dma_window_invalidate(&f->other, bind.rkey, true), BASE_ERR_KEY);
		assert_int_equal(dma_window_invalidate(&f->other, bind.rkey, false), BASE_ERR_KEY);
		assert_int_equal(dma_window_invalidate(&f->b, bind.rkey, true), BASE_ERR_KEY);
		assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, true), 0);
		assert_int_equal(reads(&f->a, bind.rkey, f->base, 8), BASE_ERR_KEY);
		assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, true), BASE_ERR_KEY);
		assert_int_equal(dma_window_bind(&f->a, &bind), 0);
		assert_int_equal(dma_window_invalidate(&f->b, bind.rkey, false), 0);
	}
	struct dma_bind bind = bind_of(f, DMA_WINDOW_1, 0, 8, ALL);
	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, false), BASE_ERR_INVAL);
	assert_int_equal(dma_window_invalidate(&f->a, bind.rkey, true), BASE_ERR_INVAL);
	assert_int_equal(dma_window_invalidate(&f->a, f->region_key, true), BASE_ERR_INVAL);
	assert_int_equal(dma_window_invalidate(&f->a, f->region_key, false), BASE_ERR_INVAL);
	assert_int_equal(dma_window_count(f->table, f->region), 1);
}

/* Goal: nothing that was known of a freed window leads anywhere, whatever its entry becomes. */
static void freed_windows(void **state)
{
	struct fixture *f = *state;
	struct dma_bind bind = bind_of(f, DMA_WINDOW_2B, 0, 8, ALL);
	uint32_t index, key;

	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	dma_window_revoke(f->table, f->window[DMA_WINDOW_2B]);
	assert_int_equal(dma_window_count(f->table, f->region), 0);
	for (int life = 0; life < 40; life++) {
		assert_int_equal(dma_window_bind(&f->a, &bind), BASE_ERR_KEY);
		for (uint32_t low = 0; low < 256; low++) {
			uint32_t rkey = (bind.rkey & ~0xffu) | low;

			assert_int_equal(reads(&f->a, rkey, f->base, 8), BASE_ERR_KEY);
			assert_int_equal(dma_window_invalidate(&f->a, rkey, true), BASE_ERR_KEY);
		}
		/* The last free entry of the table is the one that was freed, sooner or later. */
		if (life > 0) {
			if (life & 1)
				dma_window_revoke(f->table, index);
			else
				dma_table_revoke(f->table, index);
			dma_table_free(f->table, index);
		} else {
			dma_table_free(f->table, f->window[DMA_WINDOW_2B]);
		}
		if (life & 1)
			index = reg(f, PD, DMA_LOCAL_WRITE | DMA_REMOTE_READ | DMA_MW_BIND, &key);
		else
			assert_int_equal(dma_window_alloc(f->table, PD, DMA_WINDOW_2B, &index, &key), 0);
	}
}

/* Goal: 2^20 guesses by a peer of the domain find neither the window nor a key to take away. */
static void guesses(void **state)
{
	struct fixture *f = *state;
	struct dma_bind bind = bind_of(f, DMA_WINDOW_2B, 0, 8, ALL);
	struct base_random random = { 99 };
	uint32_t hits = 0;

	assert_int_equal(dma_window_bind(&f->a, &bind), 0);
	for (uint32_t i = 0; i < 1 << 20; i++) {
		uint32_t key = (uint32_t)base_random_next(&random);

		hits += dma_window_invalidate(&f->a, key, true) == 0;
		bind.window = bind.rkey = key;
		bind.by_type_1 = i & 1;
		hits += dma_window_bind(&f->a, &bind) == 0;
	}
	assert_in_range(hits, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_may_use_it, setup, teardown),
		cmocka_unit_test_setup_teardown(part_and_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(binds_that_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(binding_again, setup, teardown),
		cmocka_unit_test_setup_teardown(invalidation, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(guesses, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
