/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/reason.h"

#include <assert.h>
#include <stddef.h>

#define TEXT(table, number, unknown) ((number) < sizeof(table) / sizeof(table[0]) && table[number] ? table[number] : unknown)

const char *cm_reject_text(uint32_t reason)
{
	static const char *const text[] = {
		[CM_REJ_NO_QP] = "no QP available",
		[CM_REJ_NO_EEC] = "no EEC available",
		[CM_REJ_NO_RESOURCES] = "no resources",
		[CM_REJ_TIMEOUT] = "timeout",
		[CM_REJ_UNSUPPORTED] = "unsupported request",
		[CM_REJ_INVALID_COMM_ID] = "invalid communication id",
		[CM_REJ_INVALID_COMM_INSTANCE] = "invalid communication instance",
		[CM_REJ_INVALID_SERVICE_ID] = "invalid service id: nobody listens",
		[CM_REJ_INVALID_TRANSPORT_TYPE] = "invalid transport type",
		[CM_REJ_STALE_CONN] = "stale connection",
		[CM_REJ_RDC_NOT_EXIST] = "RDC does not exist",
		[CM_REJ_INVALID_GID] = "primary GID rejected",
		[CM_REJ_INVALID_LID] = "primary LID rejected",
		[CM_REJ_INVALID_SL] = "primary SL rejected",
		[CM_REJ_INVALID_TRAFFIC_CLASS] = "primary traffic class rejected",
		[CM_REJ_INVALID_HOP_LIMIT] = "primary hop limit rejected",
		[CM_REJ_INVALID_PACKET_RATE] = "primary packet rate rejected",
		[CM_REJ_INVALID_ALT_GID] = "alternate GID rejected",
		[CM_REJ_INVALID_ALT_LID] = "alternate LID rejected",
		[CM_REJ_INVALID_ALT_SL] = "alternate SL rejected",
		[CM_REJ_INVALID_ALT_TRAFFIC_CLASS] = "alternate traffic class rejected",
		[CM_REJ_INVALID_ALT_HOP_LIMIT] = "alternate hop limit rejected",
		[CM_REJ_INVALID_ALT_PACKET_RATE] = "alternate packet rate rejected",
		[CM_REJ_PORT_CM_REDIRECT] = "port and CM redirection",
		[CM_REJ_PORT_REDIRECT] = "port redirection",
		[CM_REJ_INVALID_MTU] = "invalid path MTU",
		[CM_REJ_INSUFFICIENT_RESP_RESOURCES] = "insufficient responder resources",
		[CM_REJ_CONSUMER] = "refused by the program",
		[CM_REJ_INVALID_RNR_RETRY] = "invalid RNR retry count",
		[CM_REJ_DUPLICATE_LOCAL_COMM_ID] = "duplicate local communication id",
		[CM_REJ_INVALID_CLASS_VERSION] = "unsupported class version",
		[CM_REJ_INVALID_FLOW_LABEL] = "primary flow label rejected",
		[CM_REJ_INVALID_ALT_FLOW_LABEL] = "alternate flow label rejected",
		[CM_REJ_VENDOR_OPTION] = "vendor options (ECE) not supported",
	};

	static_assert(sizeof(text) / sizeof(text[0]) == CM_REJECT_REASONS, "a text per reason");
	return TEXT(text, reason, "unknown reason");
}

const char *cm_sidr_text(uint32_t status)
{
	static const char *const text[] = { "ok", "service id not supported: nobody listens", "refused by the program",
					    "no QP available", "redirection", "unsupported version" };

	static_assert(sizeof(text) / sizeof(text[0]) == CM_SIDR_STATUSES, "a text per status");
	return TEXT(text, status, "unknown status");
}

const char *cm_apr_text(uint32_t status)
{
	static const char *const text[] = { "ok", "invalid communication id", "alternate paths not supported", "refused", "redirection",
					    "is the current path", "invalid QP number", "LID rejected", "GID rejected",
					    "flow label rejected", "traffic class rejected", "hop limit rejected", "packet rate rejected",
					    "SL rejected" };

	static_assert(sizeof(text) / sizeof(text[0]) == CM_APR_STATUSES, "a text per status");
	return TEXT(text, status, "unknown status");
}
