/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receives of one QP between its receive queue and its completions: at most one is held for the message under way, a few
 * are finished and wait for the host. A receive that was taken completes exactly once.
 *
 * Part of struct transport_qp; read by transport alone. No call fails but intake_hold(), none allocates. The holder of
 * the node's progress lock.
 */
#ifndef TRANSPORT_INTAKE_H
#define TRANSPORT_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/queue.h"

enum { INTAKE_COMPLETIONS = 4 }; /* finished receives that wait for the host; more than that: none is taken */

struct intake {
	const struct transport_recv_ops *ops;
	void *host;
	bool held; /* recv was taken and has not completed */
	uint8_t first, count;
	struct transport_recv recv;
	struct transport_completion completions[INTAKE_COMPLETIONS];
};

void intake_init(struct intake *in, const struct transport_recv_ops *ops, void *host);
/* Makes sure that a receive is held. BASE_ERR_AGAIN: none is posted, or the host has not fetched its completions. */
int intake_hold(struct intake *in);
/* The held receive completes; wr_id, index and signaled are filled in here. None held: nothing happens. */
void intake_complete(struct intake *in, struct transport_completion completion);
/* It completes with this status and no data. */
void intake_end(struct intake *in, uint32_t status, uint32_t src_qpn);
int intake_completion_next(struct intake *in, struct transport_completion *out);

#endif
