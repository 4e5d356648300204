/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What ibv_read_sysfs_file() answers for our devices, for which no kernel makes files. Whoever has the devices says how to find
 * one; until then there is none. Thread-safe.
 */
#ifndef VERBS_SYSFS_H
#define VERBS_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

#define VERBS_DESCRIPTION_TEXT 64 /* with the zero, as a setting may be long */

struct verbs_description {
	uint64_t node_guid; /* host order */
	char firmware[VERBS_DESCRIPTION_TEXT], node_desc[VERBS_DESCRIPTION_TEXT];
};

/* False: no device of ours has this path. Called without a lock. */
typedef bool verbs_sysfs_describe(const char *ibdev_path, struct verbs_description *out);
void verbs_sysfs_set(verbs_sysfs_describe *describe);

#endif
