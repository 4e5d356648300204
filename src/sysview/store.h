/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trees as directories that programs can read: $XDG_RUNTIME_DIR/softverbs, else /tmp/softverbs-UID (in a user namespace the number
 * that the user has outside). A tree is made whole, is never changed and is named by what is in it, so that all programs with the
 * same devices share one, and whoever reads an old one reads on. Trees that nobody asked for in a week go when another one is made.
 *
 * Only this user may write there; a directory of that name that is somebody else's is refused. Any thread.
 *
 * Errors: BASE_ERR_PERM, the place is not ours; BASE_ERR_RANGE, its name is too long; else what the system call left.
 */
#ifndef SYSVIEW_STORE_H
#define SYSVIEW_STORE_H

#include <limits.h>

#include "sysview/tree.h"

/* The absolute path of a directory with this tree, made if there is none yet. */
int sysview_store(const struct sysview_tree *tree, char out[PATH_MAX]);

#endif
