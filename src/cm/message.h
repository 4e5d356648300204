/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages of connection management (12.6 - 12.11), as plain structs in host order, and their codec. Each kind of message is
 * one table of fields in message_table.c, in the order of the specification; encoding and decoding are loops over it.
 *
 * A message is a MAD: 24 bytes of header, 232 of message, always whole. Reserved bytes are written as 0 and not read. Decoding
 * reads every value that fits into its bits: what makes sense is the engine's business. Pure functions: any thread.
 */
#ifndef CM_MESSAGE_H
#define CM_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/gid.h"

enum {
	CM_MAD_BYTES = 256,
	CM_MAD_HEADER_BYTES = 24,
	CM_ARI_BYTES = 72,       /* additional information of REJ, APR, SIDR_REP */
	CM_ROOM_REQ = 92,        /* private data */
	CM_ROOM_MRA = 222,
	CM_ROOM_REJ = 148,
	CM_ROOM_REP = 196,
	CM_ROOM_RTU = 224,
	CM_ROOM_DREQ = 220,
	CM_ROOM_DREP = 224,
	CM_ROOM_SIDR_REQ = 216,
	CM_ROOM_SIDR_REP = 136,
	CM_ROOM_LAP = 168,
	CM_ROOM_APR = 148,
	CM_PRIVATE_MAX = 224,
};

/* Attribute ids, in their order. */
enum cm_message_kind {
	CM_REQ = 0x10, CM_MRA, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP, CM_SIDR_REQ, CM_SIDR_REP, CM_LAP, CM_APR,
	CM_MESSAGE_END,
	CM_MESSAGE_KINDS = CM_MESSAGE_END - CM_REQ
};

/* Enhanced Connection Establishment: the vendor (24 bits) and its options, a MAD's attribute modifier. Vendor 0: no ECE. */
struct cm_ece {
	uint32_t vendor;
	uint32_t options;
};

/* Which message an MRA or REJ speaks of. */
enum cm_about { CM_ABOUT_REQ = 0, CM_ABOUT_REP = 1, CM_ABOUT_OTHER = 2 /* REJ: other, none; MRA: LAP */ };

/* Transport service types of the REQ, 12.6.5. */
enum cm_transport { CM_TRANSPORT_RC = 0, CM_TRANSPORT_UC = 1, CM_TRANSPORT_RD = 2, CM_TRANSPORT_EXTENDED = 3 };
enum { CM_EXTENDED_XRC = 1 };

struct cm_req_path {
	uint16_t local_lid, remote_lid;
	struct wire_gid local_gid, remote_gid; /* from the sender's point of view */
	uint32_t flow_label;
	uint8_t rate, traffic_class, hop_limit, sl, subnet_local, ack_timeout;
};

struct cm_req {
	uint32_t local_id;
	uint32_t ece_vendor;
	uint64_t service_id, ca_guid;
	uint32_t qkey, qpn, eecn, remote_eecn;
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_timeout, local_timeout; /* CM response timeouts, codes */
	uint8_t transport, extended_transport, flow_control;
	uint32_t starting_psn;
	uint8_t retry_count, rnr_retry_count, max_cm_retries, mtu, rdc_exists, srq;
	uint16_t pkey;
	struct cm_req_path primary, alternate;
	uint8_t sap_supported;
	uint8_t private_data[CM_ROOM_REQ];
};

struct cm_mra {
	uint32_t local_id, remote_id;
	uint8_t about, service_timeout;
	uint8_t private_data[CM_ROOM_MRA];
};

struct cm_rej {
	uint32_t local_id, remote_id;
	uint8_t about, info_len;
	uint16_t reason;
	uint8_t info[CM_ARI_BYTES];
	uint8_t private_data[CM_ROOM_REJ];
};

struct cm_rep {
	uint32_t local_id, remote_id;
	uint32_t qkey, qpn, eecn, starting_psn; /* XRC has its QP number in eecn */
	uint32_t ece_vendor;
	uint8_t responder_resources, initiator_depth;
	uint8_t target_ack_delay, failover, flow_control, rnr_retry_count, srq;
	uint64_t ca_guid;
	uint8_t private_data[CM_ROOM_REP];
};

struct cm_rtu {
	uint32_t local_id, remote_id;
	uint8_t private_data[CM_ROOM_RTU];
};

struct cm_dreq {
	uint32_t local_id, remote_id;
	uint32_t remote_qpn;
	uint8_t private_data[CM_ROOM_DREQ];
};

struct cm_drep {
	uint32_t local_id, remote_id;
	uint8_t private_data[CM_ROOM_DREP];
};

struct cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	uint8_t private_data[CM_ROOM_SIDR_REQ];
};

struct cm_sidr_rep {
	uint32_t request_id;
	uint8_t status, info_len;
	uint32_t ece_vendor;
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[CM_ARI_BYTES];
	uint8_t private_data[CM_ROOM_SIDR_REP];
};

struct cm_lap {
	uint32_t local_id, remote_id;
	uint32_t remote_qpn;
	uint8_t remote_timeout;
	struct cm_req_path alternate;
	uint8_t private_data[CM_ROOM_LAP];
};

struct cm_apr {
	uint32_t local_id, remote_id;
	uint8_t info_len, status;
	uint8_t info[CM_ARI_BYTES];
	uint8_t private_data[CM_ROOM_APR];
};

struct cm_message {
	enum cm_message_kind kind;
	uint64_t tid;
	uint32_t modifier; /* the attribute modifier: ECE options in REQ, REP and SIDR_REP that have a vendor, else 0 */
	union {
		struct cm_req req;
		struct cm_mra mra;
		struct cm_rej rej;
		struct cm_rep rep;
		struct cm_rtu rtu;
		struct cm_dreq dreq;
		struct cm_drep drep;
		struct cm_sidr_req sidr_req;
		struct cm_sidr_rep sidr_rep;
		struct cm_lap lap;
		struct cm_apr apr;
	};
};

/*
 * Errors, all of which mean "drop", with *out undefined:
 *   BASE_ERR_TRUNCATED    shorter than a MAD
 *   BASE_ERR_MALFORMED    longer than a MAD
 *   BASE_ERR_UNSUPPORTED  base version, class, class version, method or attribute is none of the CM's
 */
int cm_message_decode(struct cm_message *out, const uint8_t *mad, size_t len) __attribute__((warn_unused_result));
/* Writes CM_MAD_BYTES; bits of a value beyond its field are cut off. `in->kind` is one of the enum. */
void cm_message_encode(uint8_t mad[CM_MAD_BYTES], const struct cm_message *in);
/* What REQ, REP or SIDR_REP say of ECE; {0, 0} when there is no vendor, and for all other messages. */
struct cm_ece cm_message_ece(const struct cm_message *message);
/* "REQ", "MRA", ...; "?" for a number that is none. */
const char *cm_message_name(uint32_t kind);

#endif
