/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the storms share: their command line, and small things that they check with. */
#ifndef SIM_STORM_H
#define SIM_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

struct sim_world;

enum { STORM_UNTOUCHED = 0xee };

/*
 * Does run(seed), run(seed + 1), ... as `[--runs N] [--seed S] [--trace]` says, until five of them failed, then report() once. The
 * exit status of main(): 0, 1 after a failure, 2 for a command line that is none.
 */
int storm_main(int argc, char **argv, bool (*run)(uint64_t seed), void (*report)(uint64_t runs, uint64_t seed));
/* --trace was given: for sim_world.trace, NULL when not. */
void (*storm_trace(void))(struct sim_world *world, const char *line);
bool storm_all_untouched(const uint8_t *bytes, uint64_t len);
void storm_fill(struct base_random *random, uint8_t *bytes, uint64_t len);

#endif
