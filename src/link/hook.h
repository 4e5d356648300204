/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calling the hooks of link.h in one order for all links: the fault plan judges first, what it lets pass is observed.
 * For src/link/ alone.
 */
#ifndef LINK_HOOK_H
#define LINK_HOOK_H

#include <stdbool.h>

#include "link/link.h"

static inline bool link_hooks_any(const struct link_hooks *hooks)
{
	return hooks->judge != NULL || hooks->observe != NULL;
}

/* What the plan wants of this run; LINK_PASS without one. */
enum link_verdict link_hooks_run(const struct link_hooks *hooks, bool outgoing, const struct link_path *path,
		const struct transport_run *run);
/* The way in: gives rx to the sink as often as the plan wants (0, 1 or 2 times). */
void link_hooks_sink(const struct link_hooks *hooks, struct link_counters *counters, const struct link_rx *rx,
		link_sink *sink, void *context);

#endif
