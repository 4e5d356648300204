/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/kinds.h"

#include <assert.h>

#include "sim/world.h"

static struct transport_memory memory_of(struct sim_endpoint *ep)
{
	return (struct transport_memory){ &sim_host_memory_ops, &ep->host };
}

/* ---- RC ---- */

static void rc_open(struct sim_endpoint *ep)
{
	transport_qp_init(&ep->qp, &rc_ops, memory_of(ep), &ep->host.sq, &sim_host_recv_ops, &ep->host);
}

static void xrc_ini_open(struct sim_endpoint *ep)
{
	transport_qp_init(&ep->qp, &rc_xrc_ini_ops, memory_of(ep), &ep->host.sq, &sim_host_recv_ops, &ep->host);
}

static void xrc_tgt_open(struct sim_endpoint *ep)
{
	transport_qp_init(&ep->qp, &rc_xrc_tgt_ops, memory_of(ep), &ep->host.sq, &sim_host_recv_ops, &ep->host);
}

static void rc_go(struct sim_endpoint *ep)
{
	transport_qp_to_init(&ep->qp);
	rc_to_rtr(&ep->qp, &ep->config);
	rc_to_rts(&ep->qp, &ep->config);
}

static bool rc_wants(const struct sim_endpoint *ep, uint64_t now)
{
	return rc_wants_room(&ep->qp, now);
}

static int rc_pull(struct sim_endpoint *ep, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used,
		   bool *self)
{
	return rc_next(&ep->qp, now, room, out, used);
}

static bool rc_give(struct sim_endpoint *ep, uint64_t now, const struct transport_run *run, bool give_up, const char **text)
{
	enum rc_verdict verdict = rc_receive(&ep->qp, now, run);

	ep->verdicts[verdict]++;
	*text = verdict == RC_TOOK ? NULL : rc_verdict_text(verdict);
	return true;
}

static uint64_t rc_when(const struct sim_endpoint *ep)
{
	return rc_deadline(&ep->qp);
}

static bool rc_time(struct sim_endpoint *ep, uint64_t now, uint64_t excused_ns)
{
	uint64_t before = transport_qp_stats(&ep->qp)->timeouts;

	rc_tick(&ep->qp, now, excused_ns);
	return transport_qp_stats(&ep->qp)->timeouts != before;
}

static int rc_sent(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_send_done(&ep->qp, out);
}

static int rc_received(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_recv_done(&ep->qp, out);
}

static uint32_t rc_events(struct sim_endpoint *ep)
{
	return transport_qp_events_take(&ep->qp);
}

static bool rc_failed(const struct sim_endpoint *ep)
{
	return transport_qp_state(&ep->qp) == TRANSPORT_ERROR;
}

const struct sim_kind sim_rc = { "RC", rc_open, rc_go, rc_wants, rc_pull, rc_give, rc_when, rc_time, rc_sent, rc_received, rc_events,
				 rc_failed };

const struct sim_kind sim_xrc_ini = { "XRC", xrc_ini_open, rc_go, rc_wants, rc_pull, rc_give, rc_when, rc_time, rc_sent, rc_received,
				      rc_events, rc_failed };
const struct sim_kind sim_xrc_tgt = { "XRC", xrc_tgt_open, rc_go, rc_wants, rc_pull, rc_give, rc_when, rc_time, rc_sent, rc_received,
				      rc_events, rc_failed };

/* ---- UC ---- */

static void uc_open(struct sim_endpoint *ep)
{
	transport_qp_init(&ep->uc, &uc_ops, memory_of(ep), &ep->host.sq, &sim_host_recv_ops, &ep->host);
}

static void uc_go(struct sim_endpoint *ep)
{
	const struct transport_config *c = &ep->config;
	struct transport_config config = { .qpn = c->qpn, .dest_qpn = c->dest_qpn, .mtu = c->mtu, .sq_psn = c->sq_psn, .rq_psn = c->rq_psn,
				    .access = c->access, .pkey = c->pkey };

	transport_qp_to_init(&ep->uc);
	uc_to_rtr(&ep->uc, &config);
	uc_to_rts(&ep->uc, &config);
}

static bool uc_wants(const struct sim_endpoint *ep, uint64_t now)
{
	return uc_wants_room(&ep->uc, now);
}

static int uc_pull(struct sim_endpoint *ep, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used,
		   bool *self)
{
	return uc_next(&ep->uc, now, room, out, used);
}

static bool uc_give(struct sim_endpoint *ep, uint64_t now, const struct transport_run *run, bool give_up, const char **text)
{
	enum uc_verdict verdict = uc_receive(&ep->uc, now, run, give_up);

	ep->verdicts[verdict]++;
	*text = verdict == UC_TOOK ? NULL : uc_verdict_text(verdict);
	return verdict != UC_NO_RECV;
}

static uint64_t uc_when(const struct sim_endpoint *ep)
{
	return transport_qp_deadline(&ep->uc);
}

static bool uc_time(struct sim_endpoint *ep, uint64_t now, uint64_t excused_ns)
{
	transport_qp_tick(&ep->uc, now, excused_ns);
	return false;
}

static int uc_sent(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_send_done(&ep->uc, out);
}

static int uc_received(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_recv_done(&ep->uc, out);
}

static uint32_t uc_events(struct sim_endpoint *ep)
{
	return transport_qp_events_take(&ep->uc);
}

static bool uc_failed(const struct sim_endpoint *ep)
{
	return transport_qp_state(&ep->uc) == TRANSPORT_ERROR;
}

const struct sim_kind sim_uc = { "UC", uc_open, uc_go, uc_wants, uc_pull, uc_give, uc_when, uc_time, uc_sent, uc_received, uc_events,
				 uc_failed };

/* ---- UD ---- */

void sim_grh(uint32_t src_qpn, uint8_t *grh)
{
	for (uint32_t i = 0; i < UD_GRH_BYTES; i++)
		grh[i] = (uint8_t)(src_qpn + 7 * i);
}

static void ud_open(struct sim_endpoint *ep)
{
	transport_qp_init(&ep->ud, &ud_ops, memory_of(ep), &ep->host.sq, &sim_host_recv_ops, &ep->host);
}

static void ud_go(struct sim_endpoint *ep)
{
	struct transport_config config = { .qpn = ep->config.qpn, .mtu = ep->config.mtu, .sq_psn = ep->config.sq_psn, .qkey = SIM_QKEY,
				    .pkey = ep->config.pkey };

	transport_qp_to_init(&ep->ud);
	ud_to_rtr(&ep->ud, &config);
	ud_to_rts(&ep->ud, &config);
}

static bool ud_wants(const struct sim_endpoint *ep, uint64_t now)
{
	return ud_wants_room(&ep->ud, now);
}

static int ud_pull(struct sim_endpoint *ep, uint64_t now, const struct transport_room *room, struct transport_run *out, size_t *used,
		   bool *self)
{
	uint32_t ah = 99, again = 98;

	if (!ud_next_ah(&ep->ud, &ah))
		return 0;
	assert(ud_next_ah(&ep->ud, &again) == 1 && again == ah); /* asking changes nothing */
	*self = ah == SIM_AH_SELF;
	return ud_next(&ep->ud, now, room, out, used);
}

static bool ud_give(struct sim_endpoint *ep, uint64_t now, const struct transport_run *run, bool give_up, const char **text)
{
	uint8_t grh[UD_GRH_BYTES];
	enum ud_verdict verdict;

	sim_grh(run->head.deth.src_qpn, grh);
	verdict = ud_receive(&ep->ud, now, run, grh, give_up);
	ep->verdicts[verdict]++;
	*text = verdict == UD_TOOK ? NULL : ud_verdict_text(verdict);
	return verdict != UD_NO_RECV;
}

static uint64_t ud_when(const struct sim_endpoint *ep)
{
	return transport_qp_deadline(&ep->ud);
}

static bool ud_time(struct sim_endpoint *ep, uint64_t now, uint64_t excused_ns)
{
	transport_qp_tick(&ep->ud, now, excused_ns);
	return false;
}

static int ud_sent(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_send_done(&ep->ud, out);
}

static int ud_received(struct sim_endpoint *ep, struct transport_completion *out)
{
	return transport_qp_recv_done(&ep->ud, out);
}

static uint32_t ud_events(struct sim_endpoint *ep)
{
	return transport_qp_events_take(&ep->ud);
}

static bool ud_failed(const struct sim_endpoint *ep)
{
	return transport_qp_state(&ep->ud) == TRANSPORT_ERROR;
}

const struct sim_kind sim_ud = { "UD", ud_open, ud_go, ud_wants, ud_pull, ud_give, ud_when, ud_time, ud_sent, ud_received, ud_events,
				 ud_failed };
