/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "node/timers.h"

enum { FLOWS = 100, STEPS = 20000 };

static struct node_flow flows[FLOWS];
static struct node_timers timers;

static int set_up(void **state)
{
	timers = (struct node_timers){ 0 };
	for (int i = 0; i < FLOWS; i++)
		flows[i] = (struct node_flow){ .timer_index = -1 };
	assert_int_equal(node_timers_grow(&timers, FLOWS), 0);
	return 0;
}

static int tear_down(void **state)
{
	node_timers_fini(&timers);
	return 0;
}

/* Random sets, removals and expiries against a plain array; the heap's order and indexes hold after every step. */
static void matches_a_model(void **state)
{
	struct base_random random = { 7 };
	uint64_t model[FLOWS];

	for (int i = 0; i < FLOWS; i++)
		model[i] = BASE_NEVER;
	for (int step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)base_random_below(&random, FLOWS);
		uint64_t at = base_random_below(&random, 1000);

		switch (base_random_below(&random, 3)) {
		case 0:
			node_timers_set(&timers, &flows[i], at);
			if (model[i] == BASE_NEVER || at < model[i])
				model[i] = at;
			break;
		case 1:
			node_timers_remove(&timers, &flows[i]);
			model[i] = BASE_NEVER;
			break;
		case 2: {
			uint64_t earliest = BASE_NEVER;

			for (int j = 0; j < FLOWS; j++)
				earliest = model[j] < earliest ? model[j] : earliest;
			assert_int_equal(node_timers_next(&timers), earliest);
			struct node_flow *due = node_timers_take_due(&timers, at);
			if (earliest > at) {
				assert_null(due);
			} else {
				assert_non_null(due);
				assert_int_equal(model[due - flows], earliest);
				model[due - flows] = BASE_NEVER;
			}
			break;
		}
		}
		for (uint32_t k = 0; k < timers.count; k++) {
			assert_int_equal(timers.heap[k]->timer_index, k);
			if (k > 0)
				assert_true(timers.heap[(k - 1) / 2]->timer_at <= timers.heap[k]->timer_at);
		}
	}
}

static void never_is_no_timer(void **state)
{
	node_timers_set(&timers, &flows[0], BASE_NEVER);
	assert_int_equal(node_timers_next(&timers), BASE_NEVER);
	assert_int_equal(flows[0].timer_index, -1);
}

/* Lazy: a later deadline leaves the flow in its place, to be asked again when the old time comes. */
static void later_does_not_move(void **state)
{
	node_timers_set(&timers, &flows[0], 10);
	node_timers_set(&timers, &flows[0], 20);
	assert_int_equal(node_timers_next(&timers), 10);
	assert_ptr_equal(node_timers_take_due(&timers, 10), &flows[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(matches_a_model, set_up, tear_down),
		cmocka_unit_test_setup_teardown(never_is_no_timer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(later_does_not_move, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
