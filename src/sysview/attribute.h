/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The texts of a device's files below /sys/class/infiniband, as Linux writes them, without the newline. ibv_read_sysfs_file() and
 * the tree of `softverbs run` answer from here, so that both say the same.
 *
 * Functions of their inputs; any thread. Errors: BASE_ERR_NOENT, no such file; BASE_ERR_RANGE, the room does not do.
 */
#ifndef SYSVIEW_ATTRIBUTE_H
#define SYSVIEW_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gid.h"

#define SYSVIEW_TEXT 64 /* room for any of the texts, with the zero */

struct sysview_identity {
	uint64_t node_guid, sys_image_guid; /* host order */
	const char *firmware, *node_desc;   /* borrowed */
};

/* The files of a device by number, from 0 on: names that are directly below it. NULL after the last. */
const char *sysview_device_file(unsigned number);
int sysview_device_text(const struct sysview_identity *identity, const char *file, char *out, size_t room);

/* The port's state and physical state: the numbers of the specification, and "4: ACTIVE", "5: LinkUp". */
unsigned sysview_port_state(bool up);
unsigned sysview_port_phys(bool up);
const char *sysview_port_state_text(bool up);
const char *sysview_port_phys_text(bool up);
/* "fe80:0000:0000:0000:0200:00ff:fe00:0001" */
void sysview_gid_text(const struct wire_gid *gid, char out[SYSVIEW_TEXT]);
/* "IB/RoCE v1", "RoCE v2" */
const char *sysview_gid_type_text(enum wire_gid_type type);

#endif
