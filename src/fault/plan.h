/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fault plan: what becomes of packets, by chance and by seed. The same plan gives the same verdicts for the same
 * sequence of questions, so that a failure can be played again. Links ask it through their hook (link.h), one thread
 * at a time.
 */
#ifndef FAULT_PLAN_H
#define FAULT_PLAN_H

#include <stdint.h>

#include "base/random.h"

/* In millionths of all packets; the sum is at most a million, what is left passes. */
#define FAULT_ALL 1000000u

enum fault_verdict { FAULT_PASS, FAULT_LOSE, FAULT_TWICE, FAULT_VERDICTS };

struct fault_plan {
	uint32_t lose, twice;
	struct base_random random;
	uint64_t given[FAULT_VERDICTS]; /* how often each verdict was given */
};

/* Cuts chances that exceed FAULT_ALL together: losing has the first claim. Cannot fail. */
void fault_plan_init(struct fault_plan *plan, uint64_t seed, uint32_t lose, uint32_t twice);
/* The fate of the next packet. */
enum fault_verdict fault_plan_judge(struct fault_plan *plan);
/* Lower-case name for people, never NULL. */
const char *fault_verdict_text(enum fault_verdict verdict);

#endif
