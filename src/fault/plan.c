/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fault/plan.h"

#include <assert.h>

void fault_plan_init(struct fault_plan *plan, uint64_t seed, uint32_t lose, uint32_t twice)
{
	lose = lose < FAULT_ALL ? lose : FAULT_ALL;
	*plan = (struct fault_plan){
		.lose = lose,
		.twice = twice < FAULT_ALL - lose ? twice : FAULT_ALL - lose,
		.random = {.state = seed},
	};
}

enum fault_verdict fault_plan_judge(struct fault_plan *plan)
{
	uint64_t lot = base_random_below(&plan->random, FAULT_ALL);
	enum fault_verdict verdict = lot < plan->lose ? FAULT_LOSE : lot < (uint64_t)plan->lose + plan->twice ?
			FAULT_TWICE : FAULT_PASS;

	plan->given[verdict]++;
	return verdict;
}

const char *fault_verdict_text(enum fault_verdict verdict)
{
	static const char *const text[] = {[FAULT_PASS] = "pass", [FAULT_LOSE] = "lose", [FAULT_TWICE] = "twice"};

	static_assert(sizeof(text) / sizeof(text[0]) == FAULT_VERDICTS, "a text for each");
	return (unsigned)verdict < FAULT_VERDICTS ? text[verdict] : "unknown";
}
