/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Membership of a slot's socket in IP groups. Each socket of port 4791 that is in a group gets a copy of its datagrams, whatever
 * the selector of the port says (tests/platform/mcast_all.c), and none that is not in it gets one.
 *
 * Errors: 0 or a positive errno value, ENOMEM for more groups than the kernel has per socket (net.ipv4.igmp_max_memberships), ENODEV
 * for an interface that is gone. Any thread. Specification: roce-wire 20.
 */
#ifndef BROKER_MEMBER_H
#define BROKER_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/gid.h"

/* Entering twice, or leaving what was not entered, is no error. */
int broker_member_set(int fd, const struct wire_gid *mgid, uint32_t ifindex, bool enter);

#endif
