/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a port as Linux names them in counters/ and hw_counters/, and which of an adapter's own counters each is made of.
 * Constant tables; any thread.
 */
#ifndef SYSVIEW_COUNTER_H
#define SYSVIEW_COUNTER_H

#include <stdbool.h>
#include <stddef.h>

struct sysview_counter {
	const char *file;
	const char *source; /* a counter of the group "port" in export/; NULL: nothing that an adapter of functions could meet */
	unsigned divisor;   /* Linux counts data in words of 4 bytes */
};

/* Counter `number` of counters/ (or hw_counters/), from 0 on. NULL after the last. */
const struct sysview_counter *sysview_counter_at(bool hw, unsigned number);
const struct sysview_counter *sysview_counter_find(bool hw, const char *file);

#endif
