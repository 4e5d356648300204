/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/storm.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool trace_on;

static void print_line(struct sim_world *world, const char *line)
{
	puts(line);
}

void (*storm_trace(void))(struct sim_world *world, const char *line)
{
	return trace_on ? print_line : NULL;
}

bool storm_all_untouched(const uint8_t *bytes, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (bytes[i] != STORM_UNTOUCHED)
			return false;
	return true;
}

void storm_fill(struct base_random *random, uint8_t *bytes, uint64_t len)
{
	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t v = base_random_next(random);

		memcpy(bytes + i, &v, len - i < 8 ? len - i : 8);
	}
}

int storm_main(int argc, char **argv, bool (*run)(uint64_t seed), void (*report)(uint64_t runs, uint64_t seed))
{
	static const struct option options[] = {
		{ "runs", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "trace", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t runs = 2000, seed = 1, failures = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			runs = strtoull(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			trace_on = true;
		else {
			fprintf(stderr, "usage: %s [--runs N] [--seed S] [--trace]\n", argv[0]);
			return 2;
		}
	}
	for (uint64_t i = 0; i < runs && failures < 5; i++)
		failures += !run(seed + i);
	report(runs, seed);
	return failures ? 1 : 0;
}
