/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state machine of queue pairs as data: which transitions a modify may make, which attributes each needs and allows, per
 * type. Pure functions; any thread. Types that the adapter cannot create are in the tables all the same.
 */
#ifndef HCA_QP_STATE_H
#define HCA_QP_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Values of enum ibv_qp_type. */
enum hca_qp_type {
	HCA_QPT_RC = 2,
	HCA_QPT_UC = 3,
	HCA_QPT_UD = 4,
	HCA_QPT_RAW_PACKET = 8,
	HCA_QPT_XRC_SEND = 9,
	HCA_QPT_XRC_RECV = 10,
};

/* Values of enum ibv_qp_state. */
enum hca_qp_state { HCA_QPS_RESET, HCA_QPS_INIT, HCA_QPS_RTR, HCA_QPS_RTS, HCA_QPS_SQD, HCA_QPS_SQE, HCA_QPS_ERR, HCA_QPS_COUNT };

/* Values of enum ibv_qp_attr_mask. */
enum hca_qp_attr_mask {
	HCA_QP_STATE = 1 << 0,
	HCA_QP_CUR_STATE = 1 << 1,
	HCA_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	HCA_QP_ACCESS_FLAGS = 1 << 3,
	HCA_QP_PKEY_INDEX = 1 << 4,
	HCA_QP_PORT = 1 << 5,
	HCA_QP_QKEY = 1 << 6,
	HCA_QP_AV = 1 << 7,
	HCA_QP_PATH_MTU = 1 << 8,
	HCA_QP_TIMEOUT = 1 << 9,
	HCA_QP_RETRY_CNT = 1 << 10,
	HCA_QP_RNR_RETRY = 1 << 11,
	HCA_QP_RQ_PSN = 1 << 12,
	HCA_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	HCA_QP_ALT_PATH = 1 << 14,
	HCA_QP_MIN_RNR_TIMER = 1 << 15,
	HCA_QP_SQ_PSN = 1 << 16,
	HCA_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	HCA_QP_PATH_MIG_STATE = 1 << 18,
	HCA_QP_CAP = 1 << 19,
	HCA_QP_DEST_QPN = 1 << 20,
	HCA_QP_LEGACY = 0xf << 21, /* once the kernel's own; masked out */
	HCA_QP_RATE_LIMIT = 1 << 25,
	HCA_QP_KNOWN = (1 << 26) - 1,
};

/* Does the transition exist for this type at all? */
bool hca_qp_transition_exists(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to);
/* The attributes that it must have, and may have besides those; STATE is in neither. 0 where it does not exist. */
uint32_t hca_qp_transition_required(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to);
uint32_t hca_qp_transition_optional(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to);
/*
 * The whole table check for a mask (legacy bits cleared). 0; BASE_ERR_UNSUPPORTED: bits outside the known set; BASE_ERR_INVAL:
 * no such transition, an attribute missing or not allowed. *missing and *refused (NULL allowed) get the attributes that were
 * wrong.
 */
int hca_qp_transition_check(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to, uint32_t mask, uint32_t *missing,
			    uint32_t *refused);
/* "RESET", ... for people; "?" for anything else. */
const char *hca_qp_state_text(uint32_t state);
/* "PKEY_INDEX", ... for one bit of the mask; "?" for anything else. */
const char *hca_qp_attr_text(uint32_t bit);

#endif
