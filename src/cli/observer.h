/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A look at the broker: a connection in the role of an observer, which has no slot and costs the broker nothing.
 *
 * Every call waits for its answer, OBSERVER_PATIENCE_MS at most. Errors are BASE_ERR_*; what went wrong was said on
 * standard error, except where a comment says otherwise. One thread.
 */
#ifndef CLI_OBSERVER_H
#define CLI_OBSERVER_H

#include <stdbool.h>

#include "export/reader.h"
#include "ipc/message.h"
#include "netdev/netdev.h"

#define OBSERVER_PATIENCE_MS 5000

struct observer; /* opaque */

/* The tables of one process. */
struct observer_export {
	struct export_reader *reader; /* NULL: none */
	int fd;			      /* what it reads from */
};

/* With `start` a broker is started if none runs; without, BASE_ERR_NODEV (silent) when none does. */
int observer_open(bool start, struct observer **out);
void observer_close(struct observer *observer);

/* What the broker said at the beginning: its version, process id, whether the wire works and if not why. */
const struct ipc_welcome *observer_welcome(const struct observer *observer);
/* The newest device table; heap, the caller frees it. */
int observer_devices(const struct observer *observer, struct netdev_table **out);
int observer_summary(struct observer *observer, struct ipc_stat_summary *out);
/* Up to `room` clients in the order of their slots; *count is how many. */
int observer_clients(struct observer *observer, struct ipc_stat_client *out, unsigned room, unsigned *count);
/* The tables that the process of this slot shows. BASE_ERR_NOENT (silent): it shows none, or is gone by now. */
int observer_export(struct observer *observer, uint8_t slot, struct observer_export *out);
void observer_export_close(struct observer_export *export);

#endif
