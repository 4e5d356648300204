/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QP attributes that follow from a connection: what rdma_init_qp_attr gives, in own words. States, mask bits and access bits have
 * the values of libibverbs. port_num and sgid_index are the host's: it knows them by path.port and path.sgid.
 */
#ifndef CM_QP_ATTR_H
#define CM_QP_ATTR_H

#include <stdint.h>

#include "cm/address.h"

enum cm_qp_state { CM_QP_INIT = 1, CM_QP_RTR = 2, CM_QP_RTS = 3 };

enum cm_qp_mask { /* of enum ibv_qp_attr_mask */
	CM_QP_STATE = 1 << 0,
	CM_QP_ACCESS_FLAGS = 1 << 3,
	CM_QP_PKEY_INDEX = 1 << 4,
	CM_QP_PORT = 1 << 5,
	CM_QP_QKEY = 1 << 6,
	CM_QP_AV = 1 << 7,
	CM_QP_PATH_MTU = 1 << 8,
	CM_QP_TIMEOUT = 1 << 9,
	CM_QP_RETRY_CNT = 1 << 10,
	CM_QP_RNR_RETRY = 1 << 11,
	CM_QP_RQ_PSN = 1 << 12,
	CM_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	CM_QP_MIN_RNR_TIMER = 1 << 15,
	CM_QP_SQ_PSN = 1 << 16,
	CM_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	CM_QP_DEST_QPN = 1 << 20,
};

enum cm_access { CM_REMOTE_WRITE = 1 << 1, CM_REMOTE_READ = 1 << 2, CM_REMOTE_ATOMIC = 1 << 3 };

struct cm_qp_attr {
	uint32_t mask;             /* which of the following count */
	enum cm_qp_state state;
	uint32_t access;           /* enum cm_access */
	uint32_t qkey;
	struct cm_path path;       /* PORT and AV: always filled; all zeros if the id has no path yet */
	uint8_t path_mtu;          /* code */
	uint32_t dest_qpn, sq_psn, rq_psn;
	uint8_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer;
	uint8_t timeout, retry_cnt, rnr_retry;
};

#endif
