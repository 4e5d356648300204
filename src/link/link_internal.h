/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a link consists of. For link.c, the tests and the fuzz targets of this folder.
 */
#ifndef LINK_LINK_INTERNAL_H
#define LINK_LINK_INTERNAL_H

#include "link/link.h"
#include "link/raw.h"
#include "link/shm.h"
#include "link/udp.h"

struct link {
	struct link_shm shm;
	struct link_udp udp;
	struct link_raw raw;
	struct link_counters *counters;
	struct ipc_wake *own;
	uint8_t nowhere[LINK_RING_PAYLOAD_MAX]; /* what goes to nobody is written here */
};

#endif
