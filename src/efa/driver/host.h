/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the driver needs of the process around it: the time, and somebody who waits. Errors: none. Threads: called with the function's
 * lock held; wait() may give it back meanwhile and must have taken it again when it returns.
 */
#ifndef EFA_DRIVER_HOST_H
#define EFA_DRIVER_HOST_H

#include <stdint.h>

struct efa_driver_host_ops {
	/* Nanoseconds, never back. */
	uint64_t (*now)(void *context);
	/* Until that time, or until an interrupt may have come; sooner does no harm. The time moves on. */
	void (*wait)(void *context, uint64_t until);
};

struct efa_driver_host {
	const struct efa_driver_host_ops *ops;
	void *context;
};

static inline uint64_t efa_driver_now(const struct efa_driver_host *host)
{
	return host->ops->now(host->context);
}

static inline void efa_driver_wait(const struct efa_driver_host *host, uint64_t until)
{
	host->ops->wait(host->context, until);
}

#endif
