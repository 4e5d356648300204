/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XRC domains that are known by a file, as this process and others see them. Domains live in one process; who opens one by a
 * file that another process has one by must be told, instead of getting a second domain that looks like the first. Each open
 * domain therefore holds a read lock (fcntl(2), open file description) on one byte far behind the end of its file, which is
 * asked for. Nothing is written. What is no regular file is not asked.
 *
 * Threads: any. fork: a child's inherited domains are its parent's: to the child those of another process.
 */
#ifndef VERBS_XRC_FILE_H
#define VERBS_XRC_FILE_H

#include <sys/types.h>

struct verbs_xrc_file {
	dev_t device;
	ino_t inode;
	pid_t pid;    /* who opened it */
	int lock_fd;  /* -1: none */
	struct verbs_xrc_file *next;
};

/* EBADF; EOPNOTSUPP: another process has a domain by this file. */
int verbs_xrc_file_enter(struct verbs_xrc_file *file, int fd);
void verbs_xrc_file_leave(struct verbs_xrc_file *file);

#endif
