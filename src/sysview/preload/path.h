/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which paths are answered from the tree, and what they are there. `softverbs run` names the tree in SOFTVERBS_SYSVIEW; without it
 * every path stays as it is.
 *
 * Async-signal-safe, no allocation, errno is kept; any thread, also before constructors have run.
 */
#ifndef SYSVIEW_PRELOAD_PATH_H
#define SYSVIEW_PRELOAD_PATH_H

#include <limits.h>
#include <stddef.h>

#define PRELOAD_TREE_VARIABLE "SOFTVERBS_SYSVIEW"

/* `path` itself, or the same below the tree, in `room`. NULL stays NULL. */
const char *preload_path(const char *path, char room[PATH_MAX]);
/* The same for a path that is relative to a directory (AT_FDCWD: the current one). */
const char *preload_path_at(int directory, const char *path, char room[PATH_MAX]);
/* The other way: a path below the tree becomes what the program knows, in its place. Returns it. */
char *preload_path_shown(char *path);
/* The tree, NULL without one. */
const char *preload_tree(void);

#endif
