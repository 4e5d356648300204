/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "verbs/xrc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "verbs/context.h"

/* Where nobody's data are. */
#define LOCK_AT 0x7fffffffffff0000ll

static struct verbs_xrc_file *files; /* the lock of the device list */

/* The read lock is told from a program's own by its exact place. */
static bool is_elsewhere(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK && lock.l_start == LOCK_AT && lock.l_len == 1;
}

static void lock_put(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1 };

	/* On a file system without locks others are not told: that is all. */
	if (fcntl(fd, F_OFD_SETLK, &lock) != 0)
		base_explain("XRC domain: its file cannot be locked, other processes will not be told of it");
}

static bool is_known(const struct verbs_xrc_file *file)
{
	const struct verbs_xrc_file *at = files;

	while (at != NULL && !(at->device == file->device && at->inode == file->inode && at->pid == file->pid))
		at = at->next;
	return at != NULL;
}

int verbs_xrc_file_enter(struct verbs_xrc_file *file, int fd)
{
	char path[64];
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) != 0)
		return EBADF;
	*file = (struct verbs_xrc_file){ .device = st.st_dev, .inode = st.st_ino, .pid = getpid(), .lock_fd = -1 };
	verbs_devices_lock();
	if (S_ISREG(st.st_mode)) {
		/* A description of our own: locks belong to it, not to the descriptor that the program gave us. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		file->lock_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (file->lock_fd >= 0) {
		if (!is_known(file) && is_elsewhere(file->lock_fd))
			err = EOPNOTSUPP;
		else
			lock_put(file->lock_fd);
	}
	if (err == 0) {
		file->next = files;
		files = file;
	}
	verbs_devices_unlock();
	if (err != 0) {
		base_explain("XRC domain refused: another process has one by this file, and domains live in one process");
		close(file->lock_fd);
	}
	return err;
}

void verbs_xrc_file_leave(struct verbs_xrc_file *file)
{
	verbs_devices_lock();
	for (struct verbs_xrc_file **at = &files; *at != NULL; at = &(*at)->next)
		if (*at == file) {
			*at = file->next;
			break;
		}
	verbs_devices_unlock();
	if (file->lock_fd >= 0)
		close(file->lock_fd);
}
