/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

#define TREE_PREFIX "sysview-"
#define UNUSED_SECONDS (7 * 24 * 3600)
#define DEPTH_MAX 16 /* of a directory that is removed; a tree has 8 */

/* --- the name: FNV-1a over all that is told ---------------------------------- */

#define HASH_START 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull

static void hash_text(uint64_t *hash, const char *text)
{
	do
		*hash = (*hash ^ (uint8_t)*text) * HASH_PRIME;
	while (*text++ != '\0');
}

static int hash_directory(void *context, const char *path)
{
	hash_text(context, path);
	return 0;
}

static int hash_pair(void *context, const char *path, const char *text)
{
	hash_text(context, path);
	hash_text(context, text);
	return 0;
}

static int name_of(const struct sysview_tree *tree, char out[64])
{
	uint64_t hash = HASH_START;
	const struct sysview_sink sink = {hash_directory, hash_pair, hash_pair, &hash};
	int err = sysview_tree_tell(tree, &sink);

	snprintf(out, 64, TREE_PREFIX "%016llx", (unsigned long long)hash);
	return err;
}

/* --- the directory ------------------------------------------------------------ */

static int write_directory(void *context, const char *path)
{
	return mkdirat(*(int *)context, path, 0755) == 0 ? 0 : base_err_from_errno(errno);
}

static int write_file(void *context, const char *path, const char *text)
{
	int fd = openat(*(int *)context, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	size_t len = strlen(text);

	if (fd < 0)
		return base_err_from_errno(errno);
	ssize_t written = write(fd, text, len);
	int err = written < 0 ? base_err_from_errno(errno) : (size_t)written < len ? BASE_ERR_IO : 0;
	if (close(fd) != 0 && err == 0)
		err = BASE_ERR_IO;
	return err;
}

static int write_link(void *context, const char *path, const char *target)
{
	return symlinkat(target, *(int *)context, path) == 0 ? 0 : base_err_from_errno(errno);
}

/* Removes what is below a directory and itself; what cannot be removed stays. */
static void remove_directory(int parent, const char *name, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) != 0 && depth < DEPTH_MAX)
			remove_directory(fd, entry->d_name, depth + 1);
	}
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_unused(int base)
{
	int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	time_t now = time(NULL);

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, TREE_PREFIX, strlen(TREE_PREFIX)) == 0 &&
		    fstatat(base, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < now - UNUSED_SECONDS)
			remove_directory(base, entry->d_name, 0);
	closedir(dir);
}

/* Opens a directory that nobody but us may write into, and makes it if need be. */
static int place_open(const char *path, int *out)
{
	struct stat st;

	mkdir(path, 0755);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? BASE_ERR_PERM : base_err_from_errno(errno);
	if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		close(fd);
		return BASE_ERR_PERM;
	}
	*out = fd;
	return 0;
}

/*
 * Our user as the files' names have him: the root of a user namespace is another one than the host's, to whom /tmp/softverbs-0
 * belongs, and is somebody outside whose directory is his.
 */
static uid_t user_outside(void)
{
	uid_t uid = geteuid();
	unsigned int inside, outside, count;
	FILE *map = fopen("/proc/self/uid_map", "re");

	while (map != NULL && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
		if (uid >= inside && uid - inside < count) {
			uid = outside + (uid - inside);
			break;
		}
	if (map != NULL)
		fclose(map);
	return uid;
}

static int base_open(char path[PATH_MAX], int *out)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int len;

	if (runtime != NULL && runtime[0] == '/' && stat(runtime, &st) == 0 && st.st_uid == geteuid() && S_ISDIR(st.st_mode))
		len = snprintf(path, PATH_MAX, "%s/softverbs", runtime);
	else
		len = snprintf(path, PATH_MAX, "/tmp/softverbs-%u", user_outside());
	return len < 0 || len >= PATH_MAX - 128 ? BASE_ERR_RANGE : place_open(path, out);
}

/* Makes the tree under another name first: it appears whole, or not at all. */
static int make(int base, const struct sysview_tree *tree, const char *name)
{
	char fresh[96];
	mode_t mask = umask(022);
	int fd, err = 0;

	snprintf(fresh, sizeof(fresh), "%s.%d", name, (int)getpid());
	remove_directory(base, fresh, 0); /* of a process with our number that died over it */
	if (mkdirat(base, fresh, 0755) != 0 || (fd = openat(base, fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		umask(mask);
		return base_err_from_errno(errno);
	}
	const struct sysview_sink sink = {write_directory, write_file, write_link, &fd};
	err = sysview_tree_tell(tree, &sink);
	close(fd);
	umask(mask);
	/* Another process may have been faster: then that one's serves, and ours goes. */
	if (err == 0 && renameat(base, fresh, base, name) != 0 && errno != EEXIST && errno != ENOTEMPTY)
		err = base_err_from_errno(errno);
	remove_directory(base, fresh, 0);
	return err;
}

int sysview_store(const struct sysview_tree *tree, char out[PATH_MAX])
{
	char path[PATH_MAX], name[64];
	int base = -1, err = name_of(tree, name);

	if (err != 0)
		return err;
	err = base_open(path, &base);
	if (err != 0)
		return err;
	if (utimensat(base, name, NULL, 0) != 0) { /* it is not there; if it is, it has been asked for today */
		remove_unused(base);
		err = make(base, tree, name);
	}
	close(base);
	if (err == 0 && snprintf(out, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
		err = BASE_ERR_RANGE;
	return err;
}
