/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fault/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Over many packets each verdict comes as often as it was asked for, within four standard deviations. */
static void chances_are_kept(void **state)
{
	struct fault_plan plan;

	fault_plan_init(&plan, 11, 20000, 5000);
	for (int i = 0; i < 1000000; i++)
		fault_plan_judge(&plan);
	assert_in_range(plan.given[FAULT_LOSE], 20000 - 560, 20000 + 560);
	assert_in_range(plan.given[FAULT_TWICE], 5000 - 283, 5000 + 283);
	assert_int_equal(plan.given[FAULT_PASS] + plan.given[FAULT_LOSE] + plan.given[FAULT_TWICE], 1000000);
}

static void same_seed_same_fate(void **state)
{
	struct fault_plan a, b, c;
	unsigned differ = 0;

	fault_plan_init(&a, 5, 300000, 300000);
	fault_plan_init(&b, 5, 300000, 300000);
	fault_plan_init(&c, 6, 300000, 300000);
	for (int i = 0; i < 1000; i++) {
		enum fault_verdict verdict = fault_plan_judge(&a);

		assert_int_equal(verdict, fault_plan_judge(&b));
		differ += verdict != fault_plan_judge(&c);
	}
	assert_true(differ > 100);
}

static void extremes(void **state)
{
	struct fault_plan none, all, cut;

	fault_plan_init(&none, 1, 0, 0);
	fault_plan_init(&all, 1, UINT32_MAX, UINT32_MAX);
	fault_plan_init(&cut, 1, 1, UINT32_MAX);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(fault_plan_judge(&none), FAULT_PASS);
		assert_int_equal(fault_plan_judge(&all), FAULT_LOSE);
		assert_int_not_equal(fault_plan_judge(&cut), FAULT_PASS);
	}
	assert_string_equal(fault_verdict_text(FAULT_TWICE), "twice");
	assert_string_equal(fault_verdict_text((enum fault_verdict)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chances_are_kept),
		cmocka_unit_test(same_seed_same_fate),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
