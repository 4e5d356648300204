/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * File access below /sys: ibv_devinfo reads board_id this way, librdmacm and Open MPI ask for the path. No kernel makes files for
 * our devices; those that programs ask for by these calls are answered from here.
 */
#include "verbs/sysfs.h"

#include "base/err.h"
#include "sysview/attribute.h"
#include "verbs/driver.h"
#include "verbs/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t sysfs_once = PTHREAD_ONCE_INIT;
static char *sysfs_copy;
static verbs_sysfs_describe *_Atomic describe_now;

static void sysfs_find(void)
{
	const char *env = secure_getenv("SYSFS_PATH");

	if (env == NULL || env[0] == '\0')
		return;
	sysfs_copy = strdup(env);
	if (sysfs_copy == NULL)
		return;
	for (size_t len = strlen(sysfs_copy); len > 1 && sysfs_copy[len - 1] == '/'; len--)
		sysfs_copy[len - 1] = '\0';
}

VERBS_PUBLIC const char *ibv_get_sysfs_path(void)
{
	pthread_once(&sysfs_once, sysfs_find);
	return sysfs_copy != NULL ? sysfs_copy : "/sys";
}

void verbs_sysfs_set(verbs_sysfs_describe *describe)
{
	atomic_store(&describe_now, describe);
}

/* A file of a device of ours that the kernel does not have. Its length, -1: there is none. */
static int own_file(const char *dir, const char *file, char *buf, size_t size)
{
	verbs_sysfs_describe *describe = atomic_load(&describe_now);
	struct verbs_description device;

	if (describe == NULL || !describe(dir, &device)) {
		errno = ENOENT;
		return -1;
	}
	const struct sysview_identity identity = { .node_guid = device.node_guid, .sys_image_guid = device.node_guid,
		.firmware = device.firmware, .node_desc = device.node_desc };
	int len = sysview_device_text(&identity, file, buf, size);
	if (len < 0)
		errno = len == BASE_ERR_RANGE ? EMSGSIZE : ENOENT;
	return len < 0 ? -1 : len;
}

VERBS_PUBLIC int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char *path;
	ssize_t len;
	int fd;

	if (asprintf(&path, "%s/%s", dir, file) < 0) {
		errno = ENOMEM;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return errno == ENOENT ? own_file(dir, file, buf, size) : -1;
	do
		len = read(fd, buf, size);
	while (len < 0 && errno == EINTR);
	if (len < 0) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	close(fd);
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	if ((size_t)len < size) {
		buf[len] = '\0';
		return (int)len;
	}
	/* No room for the terminator: the caller would run past the end. */
	errno = EMSGSIZE;
	return -1;
}
