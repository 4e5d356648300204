/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A message comes: to whom it goes, by its kind. */
#include "cm/cm_internal.h"

typedef void handler(struct cm *cm, const struct cm_path *from, const struct cm_message *message);

/* There are no alternate paths on Ethernet; Linux ignores who asks for one. */
static void unwanted(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	cm_drop(cm, CM_DROP_UNWANTED);
}

static handler *const handlers[] = {
	[CM_REQ - CM_REQ] = cm_on_req,
	[CM_MRA - CM_REQ] = cm_on_mra,
	[CM_REJ - CM_REQ] = cm_on_rej,
	[CM_REP - CM_REQ] = cm_on_rep,
	[CM_RTU - CM_REQ] = cm_on_rtu,
	[CM_DREQ - CM_REQ] = cm_on_dreq,
	[CM_DREP - CM_REQ] = cm_on_drep,
	[CM_SIDR_REQ - CM_REQ] = cm_on_sidr_req,
	[CM_SIDR_REP - CM_REQ] = cm_on_sidr_rep,
	[CM_LAP - CM_REQ] = unwanted,
	[CM_APR - CM_REQ] = unwanted,
};
static_assert(sizeof(handlers) / sizeof(handlers[0]) == CM_MESSAGE_KINDS, "every message has its handler");

int cm_deliver(struct cm *cm, const struct cm_path *from, const uint8_t *mad, size_t len)
{
	struct cm_message message;
	int err = cm_message_decode(&message, mad, len);

	if (err) {
		cm_drop(cm, err == BASE_ERR_UNSUPPORTED ? CM_DROP_FOREIGN : CM_DROP_FORM);
		return err;
	}
	cm->stats.received[message.kind - CM_REQ]++;
	handlers[message.kind - CM_REQ](cm, from, &message);
	return 0;
}

int cm_receive(struct cm *cm, uint64_t now, const struct cm_path *from, const uint8_t *mad, size_t len)
{
	int err;

	cm->now = now;
	err = cm_deliver(cm, from, mad, len);
	cm_output_settle(cm);
	return err;
}
