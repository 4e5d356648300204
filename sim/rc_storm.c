/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_storm: random traffic of RC and XRC QPs over random hostile links, with checkers outside of the transport.
 *
 *   rc_storm [--runs N] [--seed S] [--trace]
 *
 * Run i of seed S has the seed S + i; a failure prints that seed, and `--seed <it> --runs 1 --trace` shows the same run
 * packet by packet.
 *
 * What the checkers hold: every posted WR completes exactly once, in order, with its own wr_id; a completed message is in the
 * peer's memory, byte for byte, and so are all before it; receives complete in posting order with length, immediate and
 * opcode of their message, from the SRQ that it named; a completed FLUSH has seen what was written before; an atomic is executed
 * once and in its turn; a message after a failed one leaves no byte; no byte
 * outside of the buffers changes; all of it within bounded time. In an error run one operation of direction a>b is spoiled,
 * and both ends must end with the statuses of the error map.
 */
#include "sim/rc_storm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const char *const rc_storm_error_names[STORM_ERRORS] = {
	"none", "bad rkey", "out of range", "read-only region", "QP forbids WRITE", "SEND too long", "receive with bad lkey",
	"local bad lkey", "unknown operation", "bad LOCAL_INV", "never ready", "bad SEND_WITH_INV", "bad SRQ number", "peer gone",
	"peer silent",
	"closed here", "closed there",
};


static uint64_t total_packets, total_bytes, total_ops, total_retransmitted, total_probes, total_timeouts, total_rnr;
static uint64_t total_sacks, total_selective, total_held;
static uint64_t error_runs[STORM_ERRORS];

void rc_storm_fail(struct storm *s, const char *format, ...)
{
	va_list ap;

	if (s->bad)
		return;
	s->bad = true;
	fflush(stdout);
	fprintf(stderr, "rc_storm: seed %llu (%s%s%s%s, error: %s): ", (unsigned long long)s->seed, s->xrc ? "XRC, " : "",
		s->selective ? "selective, " : "", s->lossless ? "lossless" : "lossy",
		s->mode == STORM_HARSH ? ", harsh" : s->mode == STORM_GARBAGE ? ", garbage" : "", rc_storm_error_names[s->error]);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nrc_storm: repeat with --seed %llu --runs 1 --trace\n", (unsigned long long)s->seed);
}

/* ---- the application ---- */

static void post_op(struct side *me, const struct op *op)
{
	struct transport_wqe wqe = {
		.wr_id = me->posted,
		.remote_addr = op->remote_addr,
		.rkey = op->rkey,
		.compare = op->atomic_before,
		.swap_or_add = op->op == TRANSPORT_OP_FETCH_ADD ? 1 : op->atomic_before + 1,
		.imm_or_inv = op->imm,
		.length = op->length,
		.remote_qpn = op->srqn,
		.op = op->op,
		.flags = op->flags,
		.num_sge = (uint8_t)op->num_sge,
	};
	bool is_inline = op->flags & TRANSPORT_WQE_INLINE;

	if (sim_host_post_send(&me->ep->host, &wqe, is_inline ? (const void *)op->data : op->sge,
			       is_inline ? op->length : op->num_sge * (uint32_t)sizeof(op->sge[0])))
		me->posted++;
}

static uint64_t pause_and_resume(struct side *me, uint64_t now, uint64_t next)
{
	struct sim_endpoint *ep = me->ep;
	struct storm *s = me->storm;

	if (me->sqd_at && now >= me->sqd_at && transport_qp_state(&ep->qp) == TRANSPORT_RTS) {
		me->sqd_at = 0;
		ep->events = 0;
		rc_to_sqd(&ep->qp);
		CHECK(s, transport_qp_state(&ep->qp) == TRANSPORT_SQD, "%s: SQD refused", ep->name);
	}
	ep->events |= transport_qp_events_take(&ep->qp);
	if (transport_qp_state(&ep->qp) == TRANSPORT_SQD) {
		if (!me->drained && (ep->events & TRANSPORT_EVENT_SQ_DRAINED)) {
			me->drained = true;
			me->drained_packets = rc_sq_psn(&ep->qp);
			me->rts_at = now + 1 + below(s, 50000);
			CHECK(s, !rc_is_draining(&ep->qp), "%s: drained and draining", ep->name);
		}
		if (me->drained && now >= me->rts_at) {
			CHECK(s, rc_sq_psn(&ep->qp) == me->drained_packets, "%s: sent while drained", ep->name);
			rc_to_rts(&ep->qp, &ep->config);
		} else if (me->drained && me->rts_at < next) {
			next = me->rts_at;
		}
	} else if (me->sqd_at && me->sqd_at > now && me->sqd_at < next) {
		next = me->sqd_at;
	}
	return next;
}

static void act(struct side *me)
{
	struct storm *s = me->storm;
	struct sim_endpoint *ep = me->ep;

	switch (s->error) {
	case STORM_PEER_GONE:
		sim_kill(ep->peer);
		rc_peer_gone(&ep->qp, s->world.now);
		break;
	case STORM_PEER_SILENT:
		sim_kill(ep->peer);
		break;
	case STORM_CLOSE_HERE:
		rc_to_error(&ep->qp);
		break;
	case STORM_CLOSE_THERE:
		rc_to_error(&ep->peer->qp);
		sim_wake(ep->peer, s->world.now);
		break;
	default:
		break;
	}
}

uint64_t rc_storm_app(struct sim_endpoint *ep, uint64_t now)
{
	struct side *me = ep->user;
	uint64_t next = BASE_NEVER;

	while (me->recvs_posted < me->num_recvs && now >= me->recvs[me->recvs_posted].post_at) {
		struct recv *r = &me->recvs[me->recvs_posted];

		sim_host_post_srq_recv(&ep->host, r->srqn, me->recvs_posted++, r->sge, r->num_sge);
	}
	if (me->recvs_posted < me->num_recvs)
		next = me->recvs[me->recvs_posted].post_at;
	while (me->posted < me->num_ops && now >= me->ops[me->posted].post_at) {
		uint32_t before = me->posted;

		post_op(me, &me->ops[me->posted]);
		if (me->posted == before)
			break; /* full: the next completion steps this endpoint anyway */
	}
	if (me->posted < me->num_ops && me->ops[me->posted].post_at > now && me->ops[me->posted].post_at < next)
		next = me->ops[me->posted].post_at;
	else if (me->posted < me->num_ops && transport_qp_state(&ep->qp) == TRANSPORT_ERROR)
		next = now + 1;
	if (me->act_at && now >= me->act_at) {
		me->act_at = 0;
		act(me);
		next = now + 1;
	} else if (me->act_at && me->act_at < next) {
		next = me->act_at;
	}
	return pause_and_resume(me, now, next);
}

/* ---- runs ---- */

static bool is_over(const struct storm *s)
{
	for (int i = 0; i < 2; i++)
		if (!s->ep[i].dead && s->side[i].done < s->side[i].num_ops)
			return false;
	return true;
}

static bool run(uint64_t seed)
{
	struct storm *s = calloc(1, sizeof(*s));
	uint64_t limit, grace = BASE_NEVER;
	bool ok;

	if (s == NULL)
		abort();
	s->seed = seed;
	sim_world_init(&s->world, seed);
	limit = s->world.now + 600 * BASE_SEC;
	s->world.trace = storm_trace();
	if (rc_storm_plan(s)) {
		error_runs[s->error]++;
		sim_connect(&s->ep[0], &s->ep[1]);
		while (!s->bad && s->world.now < grace && sim_world_step(&s->world)) {
			CHECK(s, s->world.now < limit && s->world.events_done < 20000000, "no end: %u of %u and %u of %u operations",
			      s->side[0].done, s->side[0].num_ops, s->side[1].done, s->side[1].num_ops);
			/* Some time more, for what still flies. */
			if (grace == BASE_NEVER && is_over(s))
				grace = s->world.now + 20 * BASE_MSEC;
		}
		rc_storm_check_end(s);
	}
	for (int i = 0; i < 2; i++) {
		const struct transport_stats *st = transport_qp_stats(&s->ep[i].qp);

		total_packets += st->sent_packets;
		total_bytes += st->sent_bytes;
		total_ops += s->side[i].done;
		total_retransmitted += st->retransmitted_packets;
		total_probes += st->tail_probes;
		total_timeouts += st->timeouts;
		total_rnr += st->rnr_naks_received;
		total_sacks += st->sacks_sent;
		total_selective += st->selective_retransmits;
		total_held += st->held_packets;
	}
	ok = !s->bad;
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < s->side[i].num_ops; k++)
			free(s->side[i].ops[k].data);
		sim_endpoint_fini(&s->ep[i]);
	}
	sim_world_fini(&s->world);
	free(s);
	return ok;
}

static void report(uint64_t runs, uint64_t seed)
{
	printf("%llu runs from seed %llu: %llu operations, %llu packets (%llu again), %.1f MB, %llu probes, %llu timeouts, %llu RNR\n",
	       (unsigned long long)runs, (unsigned long long)seed, (unsigned long long)total_ops, (unsigned long long)total_packets,
	       (unsigned long long)total_retransmitted, (double)total_bytes / 1e6, (unsigned long long)total_probes,
	       (unsigned long long)total_timeouts, (unsigned long long)total_rnr);
	printf("selective repeat: %llu SACKs, %llu packets again, %llu kept\n", (unsigned long long)total_sacks,
	       (unsigned long long)total_selective, (unsigned long long)total_held);
	printf("errors:");
	for (int i = 1; i < STORM_ERRORS; i++)
		printf(" %s %llu%s", rc_storm_error_names[i], (unsigned long long)error_runs[i], i < STORM_ERRORS - 1 ? "," : "\n");
}

int main(int argc, char **argv)
{
	return storm_main(argc, argv, run, report);
}
