/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A private mount namespace in which /sys/class holds a tree's classes: for programs that no preloaded library reaches. Who may
 * mount keeps user and rights, and whatever else is mounted later is seen on both sides; who may not gets a user namespace of its own,
 * with the same user and group, and no other (decision 0084 has what that costs).
 *
 * For a process of one thread that is about to execute a program. Errors leave everything as it is, but for a user namespace that was
 * already entered: BASE_ERR_PERM, namespaces or mounts are not allowed here; BASE_ERR_UNSUPPORTED, /sys is no mount of its own;
 * else what the system call left.
 */
#ifndef SYSVIEW_GRAFT_H
#define SYSVIEW_GRAFT_H

#include <stdbool.h>

/* May this process mount without a user namespace? */
bool sysview_graft_is_free(void);
/* `tree`: what sysview_store() gave. */
int sysview_graft(const char *tree);

#endif
