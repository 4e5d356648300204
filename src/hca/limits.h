/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bounds of the adapter, each in one place. What a program is told (struct hca_device_attr) is made from these. */
#ifndef HCA_LIMITS_H
#define HCA_LIMITS_H

#include <assert.h>

enum {
	HCA_MAX_QP = 65536 - 2,    /* indexes of a slot, less QP0 and QP1 */
	HCA_MAX_QP_WR = 65536,
	HCA_MAX_SGE = 32,
	HCA_MAX_INLINE = 512,      /* bytes: what the SGE array of the longest work request takes */
	HCA_MAX_CQ = 65536,
	HCA_MAX_CQE = 1 << 22,
	HCA_MAX_SRQ = 65536,
	HCA_MAX_SRQ_WR = 65536,
	HCA_MAX_SRQ_SGE = 32,
	HCA_MAX_MR = 1 << 18,      /* and windows: they share one table */
	HCA_MAX_DM_BYTES = 1 << 18, /* of a device and process, in all */
	HCA_MAX_PD = 1 << 20,
	HCA_MAX_AH = 1 << 20,
	HCA_MAX_MCAST_GROUPS = 8192,
	HCA_MAX_MCAST_QP = 256,    /* attached to one group */
	HCA_MAX_RD_ATOM = 16,
	HCA_COMP_VECTORS = 8,
	HCA_PORTS = 1,
	HCA_PKEY = 0xffff,
	HCA_MAX_DEVICES = 64,      /* per process, as many port entries as the export has room for */
};
#define HCA_MAX_MSG_BYTES 0x80000000u

static_assert((HCA_MAX_QP_WR & (HCA_MAX_QP_WR - 1)) == 0, "the send ring is masked");
static_assert(HCA_MAX_INLINE == HCA_MAX_SGE * 16, "inline bytes lie where the SGEs would");

#endif
