/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers: unique while taken, oldest first, and kept for their owner until he is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "efa/device/ids.h"

/* Goal: without owners: fresh ones, then the one that has been free longest. */
static void order(void **state)
{
	struct efa_ids ids;

	(void)state;
	assert_int_equal(efa_ids_init(&ids, 4, 0), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(efa_ids_take(&ids, 0), i);
	assert_int_equal(efa_ids_take(&ids, 0), EFA_IDS_NONE);
	efa_ids_give(&ids, 2, 0);
	efa_ids_give(&ids, 0, 0);
	efa_ids_give(&ids, 3, 0);
	assert_int_equal(efa_ids_take(&ids, 0), 2);
	assert_int_equal(efa_ids_take(&ids, 0), 0);
	assert_int_equal(efa_ids_take(&ids, 0), 3);
	assert_int_equal(efa_ids_take(&ids, 0), EFA_IDS_NONE);
	efa_ids_clear(&ids);
	assert_int_equal(efa_ids_take(&ids, 0), 0);
	efa_ids_fini(&ids);
}

/* Goal: what an owner gave back nobody else gets before he is gone; he gets it when there is nothing else, or enough of it. */
static void owners(void **state)
{
	struct efa_ids ids;

	(void)state;
	assert_int_equal(efa_ids_init(&ids, 64, 3), 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(efa_ids_take(&ids, 1), i);
	for (uint32_t i = 0; i < 15; i++)
		efa_ids_give(&ids, i, 1);
	assert_int_equal(efa_ids_take(&ids, 1), 40);
	efa_ids_give(&ids, 15, 1);
	assert_int_equal(efa_ids_take(&ids, 1), 0); /* sixteen are kept: the oldest again */
	for (uint32_t i = 41; i < 64; i++)
		assert_int_equal(efa_ids_take(&ids, 2), i);
	assert_int_equal(efa_ids_take(&ids, 2), EFA_IDS_NONE);
	assert_int_equal(efa_ids_take(&ids, 1), 1); /* his own, fewer though they are */
	efa_ids_release(&ids, 1);
	assert_int_equal(efa_ids_take(&ids, 2), 2);
	efa_ids_fini(&ids);
}

/* Goal: random traffic of three owners: never two of a number, never another owner's. */
static void traffic(void **state)
{
	enum { IDS = 100, OWNERS = 3, FREE = 255 };
	struct base_random random = { 6 };
	uint8_t holder[IDS], last[IDS];
	struct efa_ids ids;

	(void)state;
	assert_int_equal(efa_ids_init(&ids, IDS, OWNERS), 0);
	for (uint32_t i = 0; i < IDS; i++)
		holder[i] = last[i] = FREE;
	for (uint32_t round = 0; round < 100000; round++) {
		uint32_t owner = (uint32_t)base_random_below(&random, OWNERS), id = (uint32_t)base_random_below(&random, IDS);

		if (base_random_below(&random, 500) == 0) {
			efa_ids_release(&ids, owner);
			for (uint32_t i = 0; i < IDS; i++)
				last[i] = last[i] == owner ? FREE : last[i];
		} else if (holder[id] != FREE) {
			last[id] = holder[id];
			efa_ids_give(&ids, id, holder[id]);
			holder[id] = FREE;
		} else {
			id = efa_ids_take(&ids, owner);
			if (id == EFA_IDS_NONE)
				continue;
			assert_int_equal(holder[id], FREE);
			assert_true(last[id] == FREE || last[id] == owner);
			holder[id] = (uint8_t)owner;
			last[id] = FREE;
		}
	}
	efa_ids_fini(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(owners),
		cmocka_unit_test(traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
