/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an adapter claims to be: identity, limits, features. "v1" is the first release of the hardware (datagrams only, no event
 * queues), "full" has all that this model can do. Fields may be changed in a copy before the adapter is made.
 */
#ifndef EFA_DEVICE_PROFILE_H
#define EFA_DEVICE_PROFILE_H

#include <stdint.h>

#include "base/clock.h"
#include "efa/abi/feature.h"
#include "efa/abi/regs.h"

enum { EFA_VENDOR = 0x1d0f, EFA_PART_0 = 0xefa0, EFA_PART_1 = 0xefa1, EFA_PART_2 = 0xefa2, EFA_PART_3 = 0xefa3 };

/* The bounds of any profile; tables and identifiers are made for them. */
enum {
	EFA_MAX_QP = 256,           /* the low 8 bits of a QP number */
	EFA_MAX_MR = 1 << 18,       /* the low 18 bits of a key */
	EFA_MAX_CQ = 32768,
	EFA_MAX_PD = 32768,
	EFA_MAX_AH = 32768,
	EFA_MAX_EQ = 31,            /* one vector each, besides vector 0 */
	EFA_MAX_UAR = 1024,
	EFA_MAX_DEPTH = 32768,      /* 16-bit counters */
	EFA_MAX_SEND_SGES = 2,
	EFA_MAX_RECV_SGES = 16,
	EFA_MAX_SUB_CQS = 8,
};

struct efa_device_profile {
	const char *name;
	uint16_t part;
	uint32_t version, controller_version;
	struct efa_abi_caps caps;
	struct efa_abi_device_attr device;
	struct efa_abi_queue_attr queue;
	struct efa_abi_event_queue_attr events;
	uint32_t aenq_groups;   /* 1 << group */
	uint32_t mtu;
	uint32_t max_uar;
	uint32_t max_extents;   /* of all regions together: what page lists of a driver may cost */
	uint32_t vectors;
	uint64_t keep_alive;    /* nanoseconds between two; BASE_NEVER: none */
};

/* NULL: no such name. */
const struct efa_device_profile *efa_device_profile_find(const char *name);
/* BASE_ERR_INVAL: a limit is zero or beyond the bounds above, a needed feature is missing, or the parts contradict each other. */
int efa_device_profile_check(const struct efa_device_profile *profile);

#endif
