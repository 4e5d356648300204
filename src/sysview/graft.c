/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/graft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/err.h"

#define CLASS_DIRECTORY "/sys/class"

static const char *const own_classes[] = {"infiniband", "infiniband_verbs"};

/* The effective set. */
static bool has_capability(unsigned capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) == 0 && (data[capability / 32].effective >> (capability % 32) & 1) != 0;
}

bool sysview_graft_is_free(void)
{
	return has_capability(CAP_SYS_ADMIN);
}

static int write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return base_err_from_errno(errno);
	int err = write(fd, text, strlen(text)) < 0 ? base_err_from_errno(errno) : 0;
	close(fd);
	return err;
}

/* A user namespace in which this user and this group are what they were. */
static int enter_user(uid_t uid, gid_t gid)
{
	char map[64];
	int err;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return errno == EINVAL || errno == ENOSPC || errno == EUSERS ? BASE_ERR_PERM : base_err_from_errno(errno);
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	err = write_proc("/proc/self/setgroups", "deny");
	if (err == 0)
		err = write_proc("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return err != 0 ? err : write_proc("/proc/self/gid_map", map);
}

static bool is_own(const char *name)
{
	for (size_t i = 0; i < sizeof(own_classes) / sizeof(own_classes[0]); i++)
		if (strcmp(own_classes[i], name) == 0)
			return true;
	return false;
}

/* What the kernel has in its place goes to the same name in the new directory. */
static int keep(int from, const char *name)
{
	char source[64 + NAME_MAX], target[sizeof(CLASS_DIRECTORY) + 1 + NAME_MAX], link[PATH_MAX];
	struct stat st;
	ssize_t len;

	snprintf(target, sizeof(target), CLASS_DIRECTORY "/%s", name);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return base_err_from_errno(errno);
	if (S_ISLNK(st.st_mode)) {
		len = readlinkat(from, name, link, sizeof(link) - 1);
		if (len < 0)
			return base_err_from_errno(errno);
		link[len] = '\0';
		return symlink(link, target) == 0 ? 0 : base_err_from_errno(errno);
	}
	if (!S_ISDIR(st.st_mode)) /* sysfs has none there */
		return 0;
	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
	if (mkdir(target, 0755) != 0 || mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0)
		return base_err_from_errno(errno);
	return 0;
}

static int keep_all(DIR *before)
{
	struct dirent *entry;
	int err = 0;

	while (err == 0 && (entry = readdir(before)) != NULL)
		if (entry->d_name[0] != '.' && !is_own(entry->d_name))
			err = keep(dirfd(before), entry->d_name);
	return err;
}

static int add_own(const char *tree)
{
	char source[PATH_MAX], target[64];

	for (size_t i = 0; i < sizeof(own_classes) / sizeof(own_classes[0]); i++) {
		if (snprintf(source, sizeof(source), "%s" CLASS_DIRECTORY "/%s", tree, own_classes[i]) >= (int)sizeof(source))
			return BASE_ERR_RANGE;
		snprintf(target, sizeof(target), CLASS_DIRECTORY "/%s", own_classes[i]);
		if (mkdir(target, 0755) != 0 || mount(source, target, NULL, MS_BIND, NULL) != 0)
			return base_err_from_errno(errno);
	}
	return 0;
}

/* The kernel makes no directories in sysfs for us: a new /sys/class, with all that was in the old one, and ours. */
static int replace_class(const char *tree)
{
	/* What we mount below /sys is not to be seen outside; what others mount elsewhere stays shared. */
	if (mount(NULL, "/sys", NULL, MS_PRIVATE, NULL) != 0)
		return errno == EINVAL ? BASE_ERR_UNSUPPORTED : base_err_from_errno(errno);
	DIR *before = opendir(CLASS_DIRECTORY);
	if (before == NULL)
		return base_err_from_errno(errno);
	if (mount("softverbs", CLASS_DIRECTORY, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=1m") != 0) {
		int err = base_err_from_errno(errno);

		closedir(before);
		return err;
	}
	int err = keep_all(before);
	closedir(before);
	if (err == 0)
		err = add_own(tree);
	if (err == 0 && mount(NULL, CLASS_DIRECTORY, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		err = base_err_from_errno(errno);
	if (err != 0)
		umount2(CLASS_DIRECTORY, MNT_DETACH);
	return err;
}

int sysview_graft(const char *tree)
{
	int err = 0;

	if (!sysview_graft_is_free())
		err = enter_user(geteuid(), getegid());
	else if (unshare(CLONE_NEWNS) != 0)
		err = base_err_from_errno(errno);
	return err != 0 ? err : replace_class(tree);
}
