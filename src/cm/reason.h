/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The numbers in which one CM refuses another: reasons of REJ, statuses of SIDR_REP and APR (12.6.7.2, 12.11.2.4, 12.8.2.3). */
#ifndef CM_REASON_H
#define CM_REASON_H

#include <stdint.h>

enum cm_reject_reason {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_EEC = 2,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,                    /* ARI: the node GUID of the rejecter, 8 bytes */
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_COMM_ID = 6,
	CM_REJ_INVALID_COMM_INSTANCE = 7,
	CM_REJ_INVALID_SERVICE_ID = 8,         /* nobody listens */
	CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	CM_REJ_STALE_CONN = 10,
	CM_REJ_RDC_NOT_EXIST = 11,
	CM_REJ_INVALID_GID = 12,               /* ARI: an acceptable GID, 16 bytes */
	CM_REJ_INVALID_LID = 13,
	CM_REJ_INVALID_SL = 14,
	CM_REJ_INVALID_TRAFFIC_CLASS = 15,
	CM_REJ_INVALID_HOP_LIMIT = 16,
	CM_REJ_INVALID_PACKET_RATE = 17,
	CM_REJ_INVALID_ALT_GID = 18,           /* ARI as 12 */
	CM_REJ_INVALID_ALT_LID = 19,
	CM_REJ_INVALID_ALT_SL = 20,
	CM_REJ_INVALID_ALT_TRAFFIC_CLASS = 21,
	CM_REJ_INVALID_ALT_HOP_LIMIT = 22,
	CM_REJ_INVALID_ALT_PACKET_RATE = 23,
	CM_REJ_PORT_CM_REDIRECT = 24,
	CM_REJ_PORT_REDIRECT = 25,
	CM_REJ_INVALID_MTU = 26,
	CM_REJ_INSUFFICIENT_RESP_RESOURCES = 27,
	CM_REJ_CONSUMER = 28,                  /* the program said no */
	CM_REJ_INVALID_RNR_RETRY = 29,
	CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	CM_REJ_INVALID_CLASS_VERSION = 31,
	CM_REJ_INVALID_FLOW_LABEL = 32,
	CM_REJ_INVALID_ALT_FLOW_LABEL = 33,
	CM_REJ_UNASSIGNED_34 = 34,
	CM_REJ_VENDOR_OPTION = 35,             /* the ECE options are not supported */
	CM_REJECT_REASONS                      /* one past the last */
};
/* A short text for people; "unknown reason" for a number that is none. Never NULL. */
const char *cm_reject_text(uint32_t reason);

enum cm_sidr_status {
	CM_SIDR_OK = 0,
	CM_SIDR_UNSUPPORTED = 1, /* nobody listens */
	CM_SIDR_REJECT = 2,
	CM_SIDR_NO_QP = 3,
	CM_SIDR_REDIRECT = 4,
	CM_SIDR_UNSUPPORTED_VERSION = 5,
	CM_SIDR_STATUSES
};
const char *cm_sidr_text(uint32_t status);

enum cm_apr_status {
	CM_APR_OK = 0,
	CM_APR_INVALID_COMM_ID = 1,
	CM_APR_UNSUPPORTED = 2,
	CM_APR_REJECT = 3,
	CM_APR_REDIRECT = 4,
	CM_APR_IS_CURRENT = 5,
	CM_APR_INVALID_QPN = 6,
	CM_APR_INVALID_LID = 7,
	CM_APR_INVALID_GID = 8,
	CM_APR_INVALID_FLOW_LABEL = 9,
	CM_APR_INVALID_TRAFFIC_CLASS = 10,
	CM_APR_INVALID_HOP_LIMIT = 11,
	CM_APR_INVALID_PACKET_RATE = 12,
	CM_APR_INVALID_SL = 13,
	CM_APR_STATUSES
};
const char *cm_apr_text(uint32_t status);

#endif
