/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of libc that take paths: each hands the path through preload_path() and calls the next one of its name, so that
 * sanitizers and other preloaded libraries go on working. The library has no other public names than these and those of
 * netlink.c.
 */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sysview/preload/path.h"

#define PRELOAD_PUBLIC __attribute__((visibility("default")))

/* Names that headers do not declare, or only for checked builds. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int directory, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int directory, const char *path, struct stat64 *st, int flags);
char *__realpath_chk(const char *path, char *out, size_t room);
ssize_t __readlink_chk(const char *path, char *out, size_t bytes, size_t room);
ssize_t __readlinkat_chk(int directory, const char *path, char *out, size_t bytes, size_t room);
char *__getcwd_chk(char *out, size_t bytes, size_t room);

/* The next definition of the function we are in. It is looked up once; a second thread finds the same. */
#define NEXT(name)                                                                  \
	({                                                                          \
		static __typeof__(&name) next;                                      \
		__typeof__(&name) known = __atomic_load_n(&next, __ATOMIC_RELAXED); \
		if (known == NULL) {                                                \
			known = (__typeof__(&name))dlsym(RTLD_NEXT, #name);         \
			__atomic_store_n(&next, known, __ATOMIC_RELAXED);           \
		}                                                                   \
		known;                                                              \
	})

/* A function whose first argument is the path: result, name, the further parameters, and how they are passed on. */
#define BY_PATH(type, name, parameters, ...)                                            \
	PRELOAD_PUBLIC type name(const char *path PARAMETERS parameters)                \
	{                                                                               \
		char room[PATH_MAX];                                                    \
		return NEXT(name)(preload_path(path, room) __VA_OPT__(, ) __VA_ARGS__); \
	}
/* The same behind a directory. */
#define BY_PATH_AT(type, name, parameters, ...)                                                               \
	PRELOAD_PUBLIC type name(int directory, const char *path PARAMETERS parameters)                       \
	{                                                                                                     \
		char room[PATH_MAX];                                                                          \
		return NEXT(name)(directory, preload_path_at(directory, path, room) __VA_OPT__(, ) __VA_ARGS__); \
	}
#define PARAMETERS(...) __VA_OPT__(, ) __VA_ARGS__

/* --- open -------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list args)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                         \
	PRELOAD_PUBLIC int name(const char *path, int flags, ...)          \
	{                                                                  \
		char room[PATH_MAX];                                       \
		va_list args;                                              \
		va_start(args, flags);                                     \
		mode_t mode = mode_of(flags, args);                        \
		va_end(args);                                              \
		return NEXT(name)(preload_path(path, room), flags, mode);  \
	}
#define OPEN_AT(name)                                                                                   \
	PRELOAD_PUBLIC int name(int directory, const char *path, int flags, ...)                        \
	{                                                                                               \
		char room[PATH_MAX];                                                                    \
		va_list args;                                                                           \
		va_start(args, flags);                                                                  \
		mode_t mode = mode_of(flags, args);                                                     \
		va_end(args);                                                                           \
		return NEXT(name)(directory, preload_path_at(directory, path, room), flags, mode);      \
	}
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
BY_PATH(int, __open_2, (int flags), flags)
BY_PATH(int, __open64_2, (int flags), flags)
BY_PATH_AT(int, __openat_2, (int flags), flags)
BY_PATH_AT(int, __openat64_2, (int flags), flags)
BY_PATH(FILE *, fopen, (const char *mode), mode)
BY_PATH(FILE *, fopen64, (const char *mode), mode)
BY_PATH(FILE *, freopen, (const char *mode, FILE *stream), mode, stream)
BY_PATH(FILE *, freopen64, (const char *mode, FILE *stream), mode, stream)

/* --- directories -------------------------------------------------------------- */

typedef int filter(const struct dirent *);
typedef int filter64(const struct dirent64 *);
typedef int compare(const struct dirent **, const struct dirent **);
typedef int compare64(const struct dirent64 **, const struct dirent64 **);
BY_PATH(DIR *, opendir, ())
BY_PATH(int, scandir, (struct dirent ***list, filter *f, compare *c), list, f, c)
BY_PATH(int, scandir64, (struct dirent64 ***list, filter64 *f, compare64 *c), list, f, c)
BY_PATH(int, chdir, ())
BY_PATH(int, nftw, (__nftw_func_t f, int depth, int flags), f, depth, flags)
BY_PATH(int, nftw64, (__nftw64_func_t f, int depth, int flags), f, depth, flags)
BY_PATH(int, glob, (int flags, int (*error)(const char *, int), glob_t *out), flags, error, out)
BY_PATH(int, glob64, (int flags, int (*error)(const char *, int), glob64_t *out), flags, error, out)

/* --- questions ---------------------------------------------------------------- */

BY_PATH(int, stat, (struct stat *st), st)
BY_PATH(int, stat64, (struct stat64 *st), st)
BY_PATH(int, lstat, (struct stat *st), st)
BY_PATH(int, lstat64, (struct stat64 *st), st)
BY_PATH_AT(int, fstatat, (struct stat *st, int flags), st, flags)
BY_PATH_AT(int, fstatat64, (struct stat64 *st, int flags), st, flags)
BY_PATH_AT(int, statx, (int flags, unsigned mask, struct statx *st), flags, mask, st)
BY_PATH(int, statfs, (struct statfs *st), st)
BY_PATH(int, statfs64, (struct statfs64 *st), st)
BY_PATH(int, access, (int mode), mode)
BY_PATH(int, eaccess, (int mode), mode)
BY_PATH(int, euidaccess, (int mode), mode)
BY_PATH_AT(int, faccessat, (int mode, int flags), mode, flags)
BY_PATH(ssize_t, getxattr, (const char *name, void *value, size_t bytes), name, value, bytes)
BY_PATH(ssize_t, lgetxattr, (const char *name, void *value, size_t bytes), name, value, bytes)
BY_PATH(ssize_t, listxattr, (char *list, size_t bytes), list, bytes)
BY_PATH(ssize_t, llistxattr, (char *list, size_t bytes), list, bytes)

/* Programs built against glibc before 2.33 have these for stat and its kin. */
#define BY_VERSION(name, buffer)                                                              \
	PRELOAD_PUBLIC int name(int version, const char *path, buffer *st)                    \
	{                                                                                     \
		char room[PATH_MAX];                                                          \
		return NEXT(name)(version, preload_path(path, room), st);                     \
	}
#define BY_VERSION_AT(name, buffer)                                                                            \
	PRELOAD_PUBLIC int name(int version, int directory, const char *path, buffer *st, int flags)           \
	{                                                                                                      \
		char room[PATH_MAX];                                                                           \
		return NEXT(name)(version, directory, preload_path_at(directory, path, room), st, flags);      \
	}
BY_VERSION(__xstat, struct stat)
BY_VERSION(__xstat64, struct stat64)
BY_VERSION(__lxstat, struct stat)
BY_VERSION(__lxstat64, struct stat64)
BY_VERSION_AT(__fxstatat, struct stat)
BY_VERSION_AT(__fxstatat64, struct stat64)

/* --- links -------------------------------------------------------------------- */

/* Links of the tree are relative or lead out of it, so that their texts are the same on both sides. */
BY_PATH(ssize_t, readlink, (char *out, size_t bytes), out, bytes)
BY_PATH(ssize_t, __readlink_chk, (char *out, size_t bytes, size_t size), out, bytes, size)
BY_PATH_AT(ssize_t, readlinkat, (char *out, size_t bytes), out, bytes)
BY_PATH_AT(ssize_t, __readlinkat_chk, (char *out, size_t bytes, size_t size), out, bytes, size)

PRELOAD_PUBLIC char *realpath(const char *path, char *out)
{
	char room[PATH_MAX];

	return preload_path_shown(NEXT(realpath)(preload_path(path, room), out));
}

PRELOAD_PUBLIC char *__realpath_chk(const char *path, char *out, size_t size)
{
	char room[PATH_MAX];

	return preload_path_shown(NEXT(__realpath_chk)(preload_path(path, room), out, size));
}

PRELOAD_PUBLIC char *canonicalize_file_name(const char *path)
{
	char room[PATH_MAX];

	return preload_path_shown(NEXT(canonicalize_file_name)(preload_path(path, room)));
}

PRELOAD_PUBLIC char *getcwd(char *out, size_t bytes)
{
	return preload_path_shown(NEXT(getcwd)(out, bytes));
}

PRELOAD_PUBLIC char *__getcwd_chk(char *out, size_t bytes, size_t size)
{
	return preload_path_shown(NEXT(__getcwd_chk)(out, bytes, size));
}

PRELOAD_PUBLIC char *get_current_dir_name(void)
{
	return preload_path_shown(NEXT(get_current_dir_name)());
}
