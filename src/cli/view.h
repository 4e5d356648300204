/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files of RDMA devices for a program that is about to be executed: makes the tree (sysview/), and sets the environment, or the
 * namespace, in which the program finds it.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>

enum view_form {
	VIEW_AUTO,    /* both forms for who may mount, else the library, else (a static program) a user namespace */
	VIEW_PRELOAD, /* the library alone */
	VIEW_MOUNT,   /* a mount namespace, and the library for what is not below /sys */
	VIEW_OFF,
	VIEW_FORMS
};

/* "auto", "preload", "mount", "off". VIEW_FORMS: none of these. */
enum view_form view_form_named(const char *name);
/*
 * `program`: the path that will be executed. False: the form that was asked for cannot be had (said why on standard error). Without a
 * wish it is true whatever happens: a program runs without files, too; SOFTVERBS_DEBUG=1 says what is in the way.
 */
bool view_prepare(enum view_form form, const char *program);

#endif
