/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What holds for all layouts alike: order, bounds, round trips of random values, and that no byte is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/random.h"
#include "efa/abi/command.h"
#include "efa/abi/cqe.h"
#include "efa/abi/feature.h"
#include "efa/abi/wqe.h"

enum { PLAIN_MAX = 256, ENTRY_MAX = 192 };

static void fill(struct base_random *r, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)base_random_next(r);
}

static void one_layout(const struct efa_abi_layout *l, uint32_t from)
{
	struct base_random random = { 17 };
	uint32_t end = from;

	assert_in_range(l->bytes, 1, ENTRY_MAX);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct efa_abi_field *f = &l->fields[i];

		assert_true(f->unit == 1 || f->unit == 2 || f->unit == 4 || f->unit == 8);
		assert_true(f->at >= end);
		end = f->at + f->unit * f->count;
		assert_true(end <= l->bytes);
		assert_true(f->member + f->unit * f->count <= PLAIN_MAX);
	}
	for (uint32_t round = 0; round < 50; round++) {
		uint8_t plain[PLAIN_MAX], again[PLAIN_MAX] = { 0 }, entry[ENTRY_MAX] = { 0 }, second[ENTRY_MAX] = { 0 };

		fill(&random, plain, sizeof(plain));
		efa_abi_store(l, entry, plain);
		assert_true(efa_abi_rest_is_zero(l, entry, from));
		efa_abi_load(l, again, entry);
		for (uint32_t i = 0; i < l->count; i++)
			assert_memory_equal(plain + l->fields[i].member, again + l->fields[i].member,
					    l->fields[i].unit * l->fields[i].count);
		efa_abi_store(l, second, again);
		assert_memory_equal(entry, second, sizeof(entry));
	}
	/* Every bit belongs to a field, which shows it, or to none, which is noticed. */
	for (uint32_t bit = from * 8; bit < l->bytes * 8u; bit++) {
		uint8_t plain[PLAIN_MAX] = { 0 }, zero[PLAIN_MAX] = { 0 }, entry[ENTRY_MAX] = { 0 };

		entry[bit / 8] = (uint8_t)(1 << bit % 8);
		efa_abi_load(l, plain, entry);
		assert_true(memcmp(plain, zero, sizeof(plain)) != 0 || !efa_abi_rest_is_zero(l, entry, from));
		assert_false(memcmp(plain, zero, sizeof(plain)) != 0 && !efa_abi_rest_is_zero(l, entry, from));
	}
}

/* Goal: each command's request and result go through their bytes unharmed. */
static void commands(void **state)
{
	uint32_t rows = 0;

	(void)state;
	for (uint32_t op = 0; op < 256; op++) {
		const struct efa_abi_command *c = efa_abi_command_of(op);

		if (c == NULL)
			continue;
		rows++;
		assert_string_equal(c->name, efa_abi_opcode_text(op));
		one_layout(&c->request, 4);
		one_layout(&c->result, EFA_ACQ_RESULT_AT);
	}
	assert_int_equal(rows, 20);
}

/* Goal: the same for features; the counts of statistics are the documented ones. */
static void features(void **state)
{
	static const uint32_t counts[] = { 6, 4, 4, 4, 5, 0 };
	uint32_t rows = 0;

	(void)state;
	for (uint32_t id = 0; id < 64; id++) {
		const struct efa_abi_layout *l = efa_abi_feature_layout(id);

		if (l != NULL) {
			one_layout(l, 0);
			rows++;
		}
	}
	assert_int_equal(rows, 8);
	for (uint32_t type = 0; type < 6; type++)
		assert_int_equal(efa_abi_stats_count(type), counts[type]);
	assert_null(efa_abi_stats_text(EFA_STATS_TYPES, 0));
	assert_string_equal(efa_abi_stats_text(EFA_STATS_BASIC, 5), "qkey_viol");
}

/* Goal: any bytes are some descriptor; what is loaded from them is stored as it was, but for reserved bytes. */
static void descriptors(void **state)
{
	struct base_random random = { 3 };

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		uint8_t entry[EFA_WQE_BYTES], second[EFA_WQE_BYTES];
		struct efa_abi_wqe w, again;
		struct efa_abi_rqd d;
		struct efa_abi_cqe c, c2;

		fill(&random, entry, sizeof(entry));
		efa_abi_wqe_load(&w, entry);
		efa_abi_wqe_store(second, &w);
		efa_abi_wqe_load(&again, second);
		assert_memory_equal(&w, &again, sizeof(w));
		d = efa_abi_rqd_load(entry);
		efa_abi_rqd_store(second, &d);
		assert_memory_equal(entry, second, EFA_RQD_BYTES);
		for (uint32_t bytes = EFA_CQE_BYTES; bytes <= EFA_CQE_WIDE_BYTES; bytes *= 2) {
			memset(&c2, 0, sizeof(c2));
			efa_abi_cqe_load(&c, entry, bytes);
			efa_abi_cqe_store(second, &c, bytes);
			efa_abi_cqe_load(&c2, second, bytes);
			assert_memory_equal(&c, &c2, sizeof(c));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(features),
		cmocka_unit_test(descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
