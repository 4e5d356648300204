/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast at the adapter: which QPs of a device hear which group. A datagram to the multicast QPN is given to each QP that is
 * attached to its destination GID, a copy for each, and each judges it for itself (state, P_Key, Q_Key, length). The sender's own
 * QP is no exception: attached, it hears itself.
 *
 * Attaching filters and does not join: which groups reach this process at all is settled where groups are joined (broker/member.h).
 *
 * Errors: named at each function. Threads: any; attach and detach take the progress lock, which guards the table. Owner: the table
 * holds a borrowed QP until it is detached or destroyed. Specification: IBTA 10.5.2, C10-180 ff.
 */
#ifndef HCA_MCAST_H
#define HCA_MCAST_H

#include <stdbool.h>

#include "wire/gid.h"

struct hca_qp;

/*
 * Once more for the same group changes nothing. BASE_ERR_INVAL: not a UD QP, or not a multicast GID. BASE_ERR_NOMEM: no memory, or
 * HCA_MAX_MCAST_QP are attached to the group.
 */
int hca_mcast_attach(struct hca_qp *qp, const struct wire_gid *mgid);
/* BASE_ERR_INVAL: it is not attached, or as above. */
int hca_mcast_detach(struct hca_qp *qp, const struct wire_gid *mgid);
/* To any group. */
bool hca_mcast_is_attached(struct hca_qp *qp);

#endif
