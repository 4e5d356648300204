/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes count from the end of the MAD header, bits of a byte from 7 down to 0, as in the specification (12.6 - 12.11). */
#include "cm/message_table.h"

#include <assert.h>

/* A number of `width` bits whose most significant one is bit `top` of byte `byte`. */
#define NUMBER(type, member, byte, top, bits) NUMBER_PART(type, member, byte, top, bits, 0)
/* Bits [low, low + bits) of a number that is split. */
#define NUMBER_PART(type, member, byte, top, bits, low) \
	{ #member, (byte) * 8 + 7 - (top), bits, offsetof(type, member), sizeof(((type *)0)->member), low }
#define WHOLE(type, member, byte) NUMBER(type, member, byte, 7, 8 * sizeof(((type *)0)->member))
#define BYTES(type, member, byte) \
	{ #member, (byte) * 8, 8 * sizeof(((type *)0)->member), offsetof(type, member), 0, 0 }

#define IDS(type) WHOLE(type, local_id, 0), WHOLE(type, remote_id, 4)

/* 12.6.5; ECE's vendor id by annex A21 (release 1.4), in bytes that were reserved. */
static const struct cm_field req[] = {
	WHOLE(struct cm_req, local_id, 0),
	NUMBER(struct cm_req, ece_vendor, 5, 7, 24),
	WHOLE(struct cm_req, service_id, 8),
	WHOLE(struct cm_req, ca_guid, 16),
	WHOLE(struct cm_req, qkey, 28),
	NUMBER(struct cm_req, qpn, 32, 7, 24),
	WHOLE(struct cm_req, responder_resources, 35),
	NUMBER(struct cm_req, eecn, 36, 7, 24),
	WHOLE(struct cm_req, initiator_depth, 39),
	NUMBER(struct cm_req, remote_eecn, 40, 7, 24),
	NUMBER(struct cm_req, remote_timeout, 43, 7, 5),
	NUMBER(struct cm_req, transport, 43, 2, 2),
	NUMBER(struct cm_req, flow_control, 43, 0, 1),
	NUMBER(struct cm_req, starting_psn, 44, 7, 24),
	NUMBER(struct cm_req, local_timeout, 47, 7, 5),
	NUMBER(struct cm_req, retry_count, 47, 2, 3),
	WHOLE(struct cm_req, pkey, 48),
	NUMBER(struct cm_req, mtu, 50, 7, 4),
	NUMBER(struct cm_req, rdc_exists, 50, 3, 1),
	NUMBER(struct cm_req, rnr_retry_count, 50, 2, 3),
	NUMBER(struct cm_req, max_cm_retries, 51, 7, 4),
	NUMBER(struct cm_req, srq, 51, 3, 1),
	NUMBER(struct cm_req, extended_transport, 51, 2, 3),
	WHOLE(struct cm_req, primary.local_lid, 52),
	WHOLE(struct cm_req, primary.remote_lid, 54),
	BYTES(struct cm_req, primary.local_gid, 56),
	BYTES(struct cm_req, primary.remote_gid, 72),
	NUMBER(struct cm_req, primary.flow_label, 88, 7, 20),
	NUMBER(struct cm_req, primary.rate, 91, 5, 6),
	WHOLE(struct cm_req, primary.traffic_class, 92),
	WHOLE(struct cm_req, primary.hop_limit, 93),
	NUMBER(struct cm_req, primary.sl, 94, 7, 4),
	NUMBER(struct cm_req, primary.subnet_local, 94, 3, 1),
	NUMBER(struct cm_req, primary.ack_timeout, 95, 7, 5),
	WHOLE(struct cm_req, alternate.local_lid, 96),
	WHOLE(struct cm_req, alternate.remote_lid, 98),
	BYTES(struct cm_req, alternate.local_gid, 100),
	BYTES(struct cm_req, alternate.remote_gid, 116),
	NUMBER(struct cm_req, alternate.flow_label, 132, 7, 20),
	NUMBER(struct cm_req, alternate.rate, 135, 5, 6),
	WHOLE(struct cm_req, alternate.traffic_class, 136),
	WHOLE(struct cm_req, alternate.hop_limit, 137),
	NUMBER(struct cm_req, alternate.sl, 138, 7, 4),
	NUMBER(struct cm_req, alternate.subnet_local, 138, 3, 1),
	NUMBER(struct cm_req, alternate.ack_timeout, 139, 7, 5),
	NUMBER(struct cm_req, sap_supported, 139, 2, 1),
	BYTES(struct cm_req, private_data, 140),
};

/* 12.6.6 */
static const struct cm_field mra[] = {
	IDS(struct cm_mra),
	NUMBER(struct cm_mra, about, 8, 7, 2),
	NUMBER(struct cm_mra, service_timeout, 9, 7, 5),
	BYTES(struct cm_mra, private_data, 10),
};

/* 12.6.7 */
static const struct cm_field rej[] = {
	IDS(struct cm_rej),
	NUMBER(struct cm_rej, about, 8, 7, 2),
	NUMBER(struct cm_rej, info_len, 9, 7, 7),
	WHOLE(struct cm_rej, reason, 10),
	BYTES(struct cm_rej, info, 12),
	BYTES(struct cm_rej, private_data, 84),
};

/* 12.6.8; ECE's vendor id in three bytes that were reserved. */
static const struct cm_field rep[] = {
	IDS(struct cm_rep),
	WHOLE(struct cm_rep, qkey, 8),
	NUMBER(struct cm_rep, qpn, 12, 7, 24),
	NUMBER_PART(struct cm_rep, ece_vendor, 15, 7, 8, 16),
	NUMBER(struct cm_rep, eecn, 16, 7, 24),
	NUMBER_PART(struct cm_rep, ece_vendor, 19, 7, 8, 8),
	NUMBER(struct cm_rep, starting_psn, 20, 7, 24),
	NUMBER_PART(struct cm_rep, ece_vendor, 23, 7, 8, 0),
	WHOLE(struct cm_rep, responder_resources, 24),
	WHOLE(struct cm_rep, initiator_depth, 25),
	NUMBER(struct cm_rep, target_ack_delay, 26, 7, 5),
	NUMBER(struct cm_rep, failover, 26, 2, 2),
	NUMBER(struct cm_rep, flow_control, 26, 0, 1),
	NUMBER(struct cm_rep, rnr_retry_count, 27, 7, 3),
	NUMBER(struct cm_rep, srq, 27, 4, 1),
	WHOLE(struct cm_rep, ca_guid, 28),
	BYTES(struct cm_rep, private_data, 36),
};

/* 12.6.9 */
static const struct cm_field rtu[] = {
	IDS(struct cm_rtu),
	BYTES(struct cm_rtu, private_data, 8),
};

/* 12.6.10 */
static const struct cm_field dreq[] = {
	IDS(struct cm_dreq),
	NUMBER(struct cm_dreq, remote_qpn, 8, 7, 24),
	BYTES(struct cm_dreq, private_data, 12),
};

/* 12.6.11 */
static const struct cm_field drep[] = {
	IDS(struct cm_drep),
	BYTES(struct cm_drep, private_data, 8),
};

/* 12.11.1.1 */
static const struct cm_field sidr_req[] = {
	WHOLE(struct cm_sidr_req, request_id, 0),
	WHOLE(struct cm_sidr_req, pkey, 4),
	WHOLE(struct cm_sidr_req, service_id, 8),
	BYTES(struct cm_sidr_req, private_data, 16),
};

/* 12.11.1.2; ECE's vendor id in three bytes that were reserved. */
static const struct cm_field sidr_rep[] = {
	WHOLE(struct cm_sidr_rep, request_id, 0),
	WHOLE(struct cm_sidr_rep, status, 4),
	WHOLE(struct cm_sidr_rep, info_len, 5),
	NUMBER_PART(struct cm_sidr_rep, ece_vendor, 6, 7, 16, 8),
	NUMBER(struct cm_sidr_rep, qpn, 8, 7, 24),
	NUMBER_PART(struct cm_sidr_rep, ece_vendor, 11, 7, 8, 0),
	WHOLE(struct cm_sidr_rep, service_id, 12),
	WHOLE(struct cm_sidr_rep, qkey, 20),
	BYTES(struct cm_sidr_rep, info, 24),
	BYTES(struct cm_sidr_rep, private_data, 96),
};

/* 12.8.1 */
static const struct cm_field lap[] = {
	IDS(struct cm_lap),
	NUMBER(struct cm_lap, remote_qpn, 12, 7, 24),
	NUMBER(struct cm_lap, remote_timeout, 15, 7, 5),
	WHOLE(struct cm_lap, alternate.local_lid, 20),
	WHOLE(struct cm_lap, alternate.remote_lid, 22),
	BYTES(struct cm_lap, alternate.local_gid, 24),
	BYTES(struct cm_lap, alternate.remote_gid, 40),
	NUMBER(struct cm_lap, alternate.flow_label, 56, 7, 20),
	WHOLE(struct cm_lap, alternate.traffic_class, 59),
	WHOLE(struct cm_lap, alternate.hop_limit, 60),
	NUMBER(struct cm_lap, alternate.rate, 61, 5, 6),
	NUMBER(struct cm_lap, alternate.sl, 62, 7, 4),
	NUMBER(struct cm_lap, alternate.subnet_local, 62, 3, 1),
	NUMBER(struct cm_lap, alternate.ack_timeout, 63, 7, 5),
	BYTES(struct cm_lap, private_data, 64),
};

/* 12.8.2 */
static const struct cm_field apr[] = {
	IDS(struct cm_apr),
	WHOLE(struct cm_apr, info_len, 8),
	WHOLE(struct cm_apr, status, 9),
	BYTES(struct cm_apr, info, 12),
	BYTES(struct cm_apr, private_data, 84),
};

#define ROW(kind, table) [CM_##kind - CM_REQ] = { #kind, table, sizeof(table) / sizeof(table[0]), CM_ROOM_##kind }

const struct cm_message_row cm_message_rows[] = {
	ROW(REQ, req),
	ROW(MRA, mra),
	ROW(REJ, rej),
	ROW(REP, rep),
	ROW(RTU, rtu),
	ROW(DREQ, dreq),
	ROW(DREP, drep),
	ROW(SIDR_REQ, sidr_req),
	ROW(SIDR_REP, sidr_rep),
	ROW(LAP, lap),
	ROW(APR, apr),
};
static_assert(sizeof(cm_message_rows) / sizeof(cm_message_rows[0]) == CM_MESSAGE_KINDS, "every message has its table");
