/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/preload/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/stat.h>

/* A whole component must follow: infiniband_mad is somebody else's. */
static const char *const tops[] = {"sys/class/infiniband", "sys/class/infiniband_verbs", "dev/infiniband"};

static char tree[PATH_MAX / 2];
static _Atomic int tree_known; /* 0: not yet; 1: there is none; 2: in `tree` */

static bool tree_find(void)
{
	int known = atomic_load_explicit(&tree_known, memory_order_acquire);

	if (known == 0) {
		const char *value = getenv(PRELOAD_TREE_VARIABLE);

		known = value != NULL && value[0] == '/' && strlen(value) < sizeof(tree) ? 2 : 1;
		/* Two threads at once write the same. */
		if (known == 2)
			memcpy(tree, value, strlen(value) + 1);
		atomic_store_explicit(&tree_known, known, memory_order_release);
	}
	return known == 2;
}

__attribute__((constructor)) static void tree_find_early(void)
{
	tree_find(); /* before the program changes its environment */
}

const char *preload_tree(void)
{
	return tree_find() ? tree : NULL;
}

/* What of `path` follows `top`, from its slash on; NULL when it does not begin with it. Slashes may be doubled. */
static const char *after(const char *path, const char *top)
{
	while (*top != '\0') {
		if (*path++ != *top)
			return NULL;
		if (*top++ == '/')
			while (*path == '/')
				path++;
	}
	return *path == '\0' || *path == '/' ? path : NULL;
}

/* `path` without its first slashes. */
static const char *translate(const char *path, char room[PATH_MAX])
{
	if (path[0] != 's' && path[0] != 'd')
		return NULL;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		const char *rest = after(path, tops[i]);

		if (rest == NULL || !tree_find())
			continue;
		size_t at = strlen(tree), middle = strlen(tops[i]), end = strlen(rest);
		if (at + 1 + middle + end >= PATH_MAX)
			return NULL;
		memcpy(room, tree, at);
		room[at++] = '/';
		memcpy(room + at, tops[i], middle);
		memcpy(room + at + middle, rest, end + 1);
		return room;
	}
	return NULL;
}

const char *preload_path(const char *path, char room[PATH_MAX])
{
	if (path == NULL || path[0] != '/')
		return path;
	const char *relative = path;
	while (*relative == '/')
		relative++;
	const char *found = translate(relative, room);
	return found != NULL ? found : path;
}

/* By the system call: stat() is one of ours. */
static bool is_root(int directory)
{
	struct statx here, root;
	int saved = errno;
	bool same = syscall(SYS_statx, directory, directory == AT_FDCWD ? "." : "", directory == AT_FDCWD ? 0 : AT_EMPTY_PATH, STATX_INO,
			    &here) == 0 &&
		    syscall(SYS_statx, AT_FDCWD, "/", 0, STATX_INO, &root) == 0 && here.stx_ino == root.stx_ino &&
		    here.stx_dev_major == root.stx_dev_major && here.stx_dev_minor == root.stx_dev_minor;

	errno = saved;
	return same;
}

const char *preload_path_at(int directory, const char *path, char room[PATH_MAX])
{
	if (path == NULL || path[0] == '/')
		return preload_path(path, room);
	/* hwloc and others read everything relative to a descriptor of the root. */
	const char *found = translate(path, room);
	return found != NULL && is_root(directory) ? found : path;
}

char *preload_path_shown(char *path)
{
	size_t len;

	if (path == NULL || path[0] != '/' || !tree_find())
		return path;
	len = strlen(tree);
	if (strncmp(path, tree, len) == 0 && path[len] == '/')
		memmove(path, path + len, strlen(path + len) + 1);
	return path;
}
