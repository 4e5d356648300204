/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of fields behind cm/message.h; for message.c and its test. */
#ifndef CM_MESSAGE_TABLE_H
#define CM_MESSAGE_TABLE_H

#include "cm/field.h"
#include "cm/message.h"

struct cm_message_row {
	const char *name;
	const struct cm_field *fields; /* in the order of the specification; offsets within the message's own struct */
	size_t count;
	size_t private_room;
};

/* By kind - CM_REQ. */
extern const struct cm_message_row cm_message_rows[CM_MESSAGE_KINDS];

#endif
