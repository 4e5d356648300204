/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The broker as a process: sockets, pidfds, interfaces and time around the core. One thread, one epoll.
 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "netdev/netdev.h"

struct broker_server_options {
	bool cm_fast;          /* connection management with the timeouts for tests */
	enum netdev_gid_profile gids;
	bool cm_roce_v1;       /* connections and groups begin as RoCEv1 */
	uint32_t idle_seconds; /* without clients, then it ends; 0: never */
	/* Called once when clients can be served, before the first is: lets go of standard error, tells the starter. */
	void (*ready)(void *context);
	void *context;
};

/*
 * Serves until idle or until SIGTERM or SIGINT. BASE_OK: ended in order. BASE_ERR_EXISTS: another broker has the name (nothing
 * was said). Other errors: a line was said.
 */
int broker_server_run(const struct broker_server_options *options);

#endif
