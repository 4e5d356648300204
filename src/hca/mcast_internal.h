/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of groups in a device. Read by hca/device*.c, hca/mcast.c and hca/qp.c. */
#ifndef HCA_MCAST_INTERNAL_H
#define HCA_MCAST_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "node/flow.h"
#include "wire/gid.h"

struct hca_qp;

enum { HCA_MCAST_BUCKETS = 64 }; /* a power of two */

/* Progress lock. */
struct hca_mcast_member {
	struct hca_mcast_member *next;
	struct wire_gid mgid;
	uint32_t ifindex; /* of the interface that the device is; 0: any */
	struct hca_qp *qp;
};

struct hca_mcast {
	struct node_flow flow; /* for its receive() alone */
	bool listening;        /* the engine has it */
	struct hca_mcast_member *members[HCA_MCAST_BUCKETS];
};

/* The QP is about to go. Takes the progress lock. */
void hca_mcast_forget(struct hca_qp *qp);

#endif
