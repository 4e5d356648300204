/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers of a vendor library to a device that is not its own. The direct-verbs interfaces of real adapters (mlx5dv_* and
 * so on) reach into their hardware, so a software adapter has nothing to offer; but programs link these libraries and
 * must start, ask, hear "not this device" and go on with the common verbs.
 *
 * One macro per return convention; each defines one public function. The arguments are never looked at, therefore the
 * definitions take none: where the caller lays out and removes the arguments (every Linux calling convention) that is
 * the same function, and we do not depend on vendor headers that change with each release. A test calls every
 * one and compares the answer with the prototype in the installed headers.
 */
#ifndef STUBS_ANSWERS_H
#define STUBS_ANSWERS_H

#include "verbs/symbol.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* int functions that return an errno value */
#define STUBS_ERRNO(name) \
	VERBS_PUBLIC int name(void); \
	int name(void) \
	{ \
		return EOPNOTSUPP; \
	}

/* functions that return an object, or NULL and errno */
#define STUBS_POINTER(name) \
	VERBS_PUBLIC void *name(void); \
	void *name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return NULL; \
	}

/* functions that return a descriptor or a byte count, or -1 and errno */
#define STUBS_MINUS_ONE(name) \
	VERBS_PUBLIC ptrdiff_t name(void); \
	ptrdiff_t name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return -1; \
	}

/* "is this device yours?" */
#define STUBS_FALSE(name) \
	VERBS_PUBLIC bool name(void); \
	bool name(void) \
	{ \
		return false; \
	}

/* release functions: no object of theirs can exist */
#define STUBS_VOID(name) \
	VERBS_PUBLIC void name(void); \
	void name(void) \
	{ \
	}

#endif
