/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QP 1 over RoCEv1: its MADs as Ethernet frames, on a packet socket of the broker's own, where it may have one.
 *
 * Frames are hostile: what is no RoCEv1 frame to slot 0 and to this host's MAC is dropped and counted. One thread.
 */
#ifndef BROKER_GSI_RAW_H
#define BROKER_GSI_RAW_H

#include "broker/gsi.h"

enum { BROKER_GSI_FRAME_MAX = 512 }; /* longer than any frame with a MAD */

/* A packet socket that hears what is for slot 0; the caller closes it. -1: this broker may have none. */
int broker_gsi_raw_open(void);
/* The next frame, taken apart up to the BTH; *out points into `buf`. False: nothing is there any more. `len` 0: dropped, go on. */
bool broker_gsi_raw_read(struct broker_gsi *gsi, uint8_t buf[BROKER_GSI_FRAME_MAX], struct broker_gsi_packet *out);
/* Sends ib[0..len), with its ICRC, to the peer of out->path. What has no MAC address yet is lost, and repeated by the engine. */
void broker_gsi_raw_send(struct broker_gsi *gsi, const struct netdev_table *table, const struct cm_send *out, const uint8_t *ib,
			 size_t len);

#endif
