/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transports of the simulator behind one shape: an endpoint is an RC, XRC, UC or UD QP. The world calls; single-threaded. An RC QP is
 * ep->qp, a UC QP ep->uc, a UD QP ep->ud; all are configured from ep->config.
 */
#ifndef SIM_KINDS_H
#define SIM_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/run.h"

struct sim_endpoint;
struct transport_completion;

enum { SIM_QKEY = 0x1234, SIM_AH_PEER = 0, SIM_AH_SELF = 1 };

struct sim_kind {
	const char *name;
	void (*init)(struct sim_endpoint *ep);
	void (*to_rts)(struct sim_endpoint *ep);
	bool (*wants_room)(const struct sim_endpoint *ep, uint64_t now);
	/* *self: the packet goes to this endpoint itself. */
	int (*next)(struct sim_endpoint *ep, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used,
		    bool *self);
	/* False: the run was not consumed, since no receive is there. *text: NULL when it was taken. */
	bool (*receive)(struct sim_endpoint *ep, uint64_t now, const struct transport_run *run, bool give_up, const char **text);
	uint64_t (*deadline)(const struct sim_endpoint *ep);
	/* True when a timeout fired. */
	bool (*tick)(struct sim_endpoint *ep, uint64_t now, uint64_t excused_ns);
	int (*send_completion_next)(struct sim_endpoint *ep, struct transport_completion *out);
	int (*recv_completion_next)(struct sim_endpoint *ep, struct transport_completion *out);
	uint32_t (*events_take)(struct sim_endpoint *ep);
	bool (*is_error)(const struct sim_endpoint *ep);
};

extern const struct sim_kind sim_rc, sim_xrc_ini, sim_xrc_tgt, sim_uc, sim_ud;

/* The GRH area that arrives with packets of this QPN: UD_GRH_BYTES. */
void sim_grh(uint32_t src_qpn, uint8_t *grh);

#endif
