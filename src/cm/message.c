/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/message.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "cm/message_table.h"
#include "wire/bytes.h"

/* The MAD header, 13.4.3: what does not change between messages of the CM. */
enum { BASE_VERSION = 1, CLASS_CM = 7, CLASS_VERSION = 2, METHOD_SEND = 3 };
enum { AT_TID = 8, AT_ATTRIBUTE = 16, AT_MODIFIER = 20 };

int cm_message_decode(struct cm_message *out, const uint8_t *mad, size_t len)
{
	const struct cm_message_row *row;
	uint32_t kind;

	if (len < CM_MAD_BYTES)
		return BASE_ERR_TRUNCATED;
	if (len > CM_MAD_BYTES)
		return BASE_ERR_MALFORMED;
	kind = wire_be16_load(mad + AT_ATTRIBUTE);
	if (mad[0] != BASE_VERSION || mad[1] != CLASS_CM || mad[2] != CLASS_VERSION || mad[3] != METHOD_SEND)
		return BASE_ERR_UNSUPPORTED;
	if (kind < CM_REQ || kind >= CM_MESSAGE_END)
		return BASE_ERR_UNSUPPORTED;
	memset(out, 0, sizeof(*out));
	out->kind = (enum cm_message_kind)kind;
	out->tid = wire_be64_load(mad + AT_TID);
	out->modifier = wire_be32_load(mad + AT_MODIFIER);
	row = &cm_message_rows[kind - CM_REQ];
	cm_field_decode(row->fields, row->count, mad + CM_MAD_HEADER_BYTES, &out->req);
	return 0;
}

void cm_message_encode(uint8_t mad[CM_MAD_BYTES], const struct cm_message *in)
{
	const struct cm_message_row *row = &cm_message_rows[in->kind - CM_REQ];

	assert(in->kind >= CM_REQ && in->kind < CM_MESSAGE_END);
	memset(mad, 0, CM_MAD_BYTES);
	mad[0] = BASE_VERSION;
	mad[1] = CLASS_CM;
	mad[2] = CLASS_VERSION;
	mad[3] = METHOD_SEND;
	wire_be64_store(mad + AT_TID, in->tid);
	wire_be16_store(mad + AT_ATTRIBUTE, (uint16_t)in->kind);
	wire_be32_store(mad + AT_MODIFIER, in->modifier);
	cm_field_encode(row->fields, row->count, mad + CM_MAD_HEADER_BYTES, &in->req);
}

struct cm_ece cm_message_ece(const struct cm_message *message)
{
	struct cm_ece ece = { 0, message->modifier };

	if (message->kind == CM_REQ)
		ece.vendor = message->req.ece_vendor;
	else if (message->kind == CM_REP)
		ece.vendor = message->rep.ece_vendor;
	else if (message->kind == CM_SIDR_REP)
		ece.vendor = message->sidr_rep.ece_vendor;
	/* A sender from before ECE may have anything in the modifier. */
	return ece.vendor ? ece : (struct cm_ece){ 0, 0 };
}

const char *cm_message_name(uint32_t kind)
{
	return kind < CM_REQ || kind >= CM_MESSAGE_END ? "?" : cm_message_rows[kind - CM_REQ].name;
}
