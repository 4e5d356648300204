/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel says about the interfaces of this network namespace, now, and a descriptor that says when to ask again.
 * Errors: BASE_ERR_IO (rtnetlink refused), BASE_ERR_NOMEM. Not thread-safe; may wait for the kernel's answer.
 */
#ifndef NETDEV_SCAN_H
#define NETDEV_SCAN_H

#include "netdev/netdev.h"

/* `profile` is the one member that is the caller's. */
int netdev_scan(struct netdev_scan *out);

/* A non-blocking rtnetlink descriptor for the notices of these groups (RTNLGRP_*). The caller closes it. A negative error else. */
int netdev_subscribe(const int groups[], unsigned count);
/*
 * A non-blocking descriptor that becomes readable when a link, an address or a route changes. The caller closes it. A negative
 * error else.
 */
int netdev_monitor_open(void);
/* Takes all notices. True: something may have changed (or notices were lost), scan again. */
bool netdev_monitor_drain(int fd);

#endif
