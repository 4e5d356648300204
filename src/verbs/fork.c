/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork() and registered memory. An adapter that writes to pinned pages must keep copy-on-write away from them; ours writes
 * through the process's own page tables, so nothing needs protection and the answer is always "not needed" (which libfabric's
 * EFA provider looks for).
 */
#include "verbs/driver.h"

#include "verbs/symbol.h"

VERBS_PUBLIC int ibv_fork_init(void)
{
	return 0;
}

VERBS_PUBLIC enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

VERBS_PUBLIC int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

VERBS_PUBLIC int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}
