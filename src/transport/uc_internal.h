/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of a UC QP. Read by transport/uc*.c alone; included by transport/uc.h after the types it needs. */
#ifndef TRANSPORT_UC_INTERNAL_H
#define TRANSPORT_UC_INTERNAL_H

#include "transport/uc.h"

struct uc_qp {
	enum uc_state state;
	uint32_t events;
	struct uc_config config;
	struct transport_memory memory;
	struct transport_sq *sq;

	/* Requester. */
	uint32_t next_psn;
	uint32_t sent; /* packets of the WQE at sq->next that are out; 0: it is not started */
	bool draining; /* SQD was asked for, a message is half sent */

	/* Responder. */
	uint32_t expected; /* PSN */
	uint16_t kind;     /* of the message under way: WIRE_ROLE_SEND or _WRITE; 0 between messages and while one is abandoned */
	bool met;          /* a request was seen */
	uint64_t done;     /* bytes of the message under way that are placed */
	uint64_t write_va, write_length;
	uint32_t write_rkey;
	struct intake intake;

	struct uc_stats stats;
};

#endif
