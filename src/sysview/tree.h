/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files that a kernel makes for RDMA devices, as a list of directories, files and links that is told to a sink: what lies below
 * /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband. Paths begin without the first slash; a directory comes
 * before what is in it.
 *
 * `devices`, beside sys/ and dev/, is for our own readers: a line for each device, in the order of the list, fields divided by
 * blanks: index, name, node GUID as 16 digits, port state, physical state, interface index, interface name.
 *
 * A function of its inputs. Errors: those of the sink, the first of which ends it.
 */
#ifndef SYSVIEW_TREE_H
#define SYSVIEW_TREE_H

#include "netdev/netdev.h"
#include "sysview/attribute.h"

struct sysview_sink {
	int (*directory)(void *context, const char *path);
	int (*file)(void *context, const char *path, const char *text); /* with its newline */
	int (*link)(void *context, const char *path, const char *target);
	void *context;
};

struct sysview_tree {
	const struct netdev_table *table;
	const uint8_t *order; /* indexes of the devices to show, in the order to list them */
	unsigned count;
	const char *firmware, *node_desc;
	unsigned cpus;        /* of this host, all of which are near */
};

int sysview_tree_tell(const struct sysview_tree *tree, const struct sysview_sink *sink);

#endif
