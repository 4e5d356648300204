/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two exhaustive looks at the responder of RC.
 *
 *   ladder  every combination of packet and situation gets exactly one answer, the one that roce-wire 13 names. The
 *           expectation is worked out here from flags ("what is wrong with it") and an order of precedence, apart from the
 *           responder's code.
 *   runs    a run does what its packets do one by one: two QPs get the same hostile stream, one in runs and one in packets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "sim/host.h"
#include "transport/rc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

enum { ALL = TRANSPORT_REMOTE_WRITE | TRANSPORT_REMOTE_READ | TRANSPORT_REMOTE_ATOMIC | TRANSPORT_FLUSH_GLOBAL };
enum { MTU = 256, FIRST_PSN = 0xfffffd, KEY_RECV = 1, KEY_WRITE = 2, KEY_BAD = 3, VA = 0x4000, SPACE = 16384 };

struct bench {
	struct transport_qp qp;
	struct sim_host host;
};

static uint8_t payload[SPACE];
static uint8_t ring[SPACE + 64];

static void bench_open(struct bench *b, uint32_t access, uint8_t slots)
{
	struct transport_config config = { .qpn = 7, .dest_qpn = 8, .mtu = MTU, .rq_psn = FIRST_PSN, .access = access, .min_rnr_timer = 5,
				    .max_dest_rd_atomic = slots, .pkey = 0xffff };
	struct sim_region *r;

	sim_host_init(&b->host, 2, 64);
	r = sim_host_region(&b->host, VA, SPACE, TRANSPORT_LOCAL_WRITE, KEY_RECV);
	memset(r->bytes, 0, SPACE);
	r = sim_host_region(&b->host, VA, SPACE, TRANSPORT_LOCAL_WRITE | ALL, KEY_WRITE);
	r->invalidatable = true;
	memset(r->bytes, 0, SPACE);
	transport_qp_init(&b->qp, &rc_ops, (struct transport_memory){ &sim_host_memory_ops, &b->host }, &b->host.sq,
			  &sim_host_recv_ops, &b->host);
	transport_qp_to_init(&b->qp);
	rc_to_rtr(&b->qp, &config);
}

static void post(struct bench *b, uint32_t length, uint32_t lkey)
{
	struct transport_sge sge = { .addr = VA, .length = length, .lkey = lkey };

	sim_host_post_recv(&b->host, b->host.recvs_posted, &sge, 1);
}

static struct transport_run packet(uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct transport_run run = { .packets = 1, .last_opcode = opcode, .mtu = MTU };

	run.head.bth.opcode = opcode;
	run.head.bth.psn = psn & 0xffffff;
	run.head.bth.pkey = 0xffff;
	run.head.bth.dest_qpn = 7;
	run.head.op = wire_opcode_find(opcode);
	run.head.payload = payload;
	run.head.payload_len = len;
	run.head.reth.rkey = KEY_WRITE;
	run.head.reth.va = VA;
	run.head.atomic = (struct wire_atomiceth){ .va = VA, .rkey = KEY_WRITE };
	run.head.inv_rkey = KEY_WRITE;
	return run;
}

static bool answer(struct bench *b, uint8_t *syndrome, uint32_t *psn)
{
	struct transport_room room = { .buf = ring, .bytes = sizeof(ring), .packets = 64 };
	struct transport_run run;
	size_t used;

	if (!rc_next(&b->qp, 1, &room, &run, &used))
		return false;
	*syndrome = run.head.aeth.syndrome;
	*psn = run.head.bth.psn;
	return true;
}

/* ---- ladder ---- */

enum context { BETWEEN, IN_SEND, IN_WRITE, CONTEXTS };
enum receives { NONE_POSTED, TOO_SHORT, FITTING, BAD_LKEY, RECEIVES };
/* For READ and atomics: none permitted, one free, one taken by a READ of 4 bytes that waits for its response, or that has left. */
enum slots { NO_SLOT, FREE_SLOT, FULL_SLOT, ANSWERED_SLOT, SLOTS };

struct situation {
	int ahead; /* -1, 0, 1 */
	bool reported;
	enum context context;
	enum receives receives;
	uint32_t access;
	uint8_t opcode;
	uint32_t len;
	uint32_t total; /* RETH or what is left of the WRITE under way */
	uint32_t rkey;
	bool ack_req, odd_va;
	enum slots slots;
};

struct outcome {
	enum rc_verdict verdict;
	int syndrome; /* -1: silence */
	uint32_t psn, expected;
	int recv_status; /* -1: no completion */
	uint32_t event;
};

/* What roce-wire 13 says. */
static struct outcome law(const struct situation *s)
{
	const struct wire_opcode *op = wire_opcode_find(s->opcode);
	bool remembered = s->slots >= FULL_SLOT;
	uint32_t before = (s->context != BETWEEN) + remembered; /* packets that made the context */
	uint32_t expected = wire_psn_add(FIRST_PSN, before + 1 /* a WRITE_ONLY in front of all */);
	bool send = op->role & WIRE_ROLE_SEND, write = op->role & WIRE_ROLE_WRITE;
	bool starts = op->role & WIRE_ROLE_STARTS, ends = op->role & WIRE_ROLE_ENDS;
	bool consumes = (send && starts) || (write && (op->has & WIRE_HAS_IMMDT));
	bool has_recv = s->context == IN_SEND; /* taken before this packet */
	uint32_t offset = starts ? 0 : MTU;
	uint32_t room = s->receives == TOO_SHORT ? MTU + 10 : SPACE;
	struct outcome o = { .verdict = RC_TOOK, .syndrome = -1, .psn = expected, .expected = expected, .recv_status = -1 };
	bool read = op->role & WIRE_ROLE_READ, atomic = op->role & WIRE_ROLE_ATOMIC, inv = op->has & WIRE_HAS_IETH;
	bool flush = op->role & WIRE_ROLE_FLUSH, store = op->role & WIRE_ROLE_ATOMIC_WRITE;
	bool answered = read || atomic || flush || store;
	bool wrong_place, forbidden, no_receive, no_slot, wrong_size, too_long, bad_key, bad_list;

	if (s->ahead > 0) {
		o.verdict = RC_OUT_OF_ORDER;
		if (!s->reported)
			o.syndrome = 0x60;
		/* The report of the situation itself has been pulled. */
		return o;
	}
	if (s->ahead < 0) {
		o.verdict = RC_DUPLICATE;
		if (!send && !write) {
			/* Only the very READ that is remembered, or its tail, is answered again. */
			if (read && s->slots == ANSWERED_SLOT && s->context == BETWEEN && s->rkey == KEY_WRITE && s->total <= 4) {
				o.syndrome = 0x1f;
				o.psn = wire_psn_add(expected, 0xffffff);
			}
			return o;
		}
		o.syndrome = 0x1f;
		o.psn = wire_psn_add(expected, 0xffffff);
		return o;
	}
	wrong_place = starts ? s->context != BETWEEN : (send && s->context != IN_SEND) || (write && s->context != IN_WRITE);
	forbidden = (flush && !(s->access & TRANSPORT_FLUSH_GLOBAL)) || ((write || store) && !(s->access & TRANSPORT_REMOTE_WRITE)) ||
		    (read && !(s->access & TRANSPORT_REMOTE_READ)) || (atomic && !(s->access & TRANSPORT_REMOTE_ATOMIC));
	no_slot = answered && (s->slots == NO_SLOT || s->slots == FULL_SLOT);
	no_receive = consumes && s->receives == NONE_POSTED;
	if (answered)
		wrong_place = s->context != BETWEEN;
	wrong_size = ends ? s->len > MTU || (!starts && s->len == 0) : s->len != MTU;
	if (write && ends && offset + s->len != s->total)
		wrong_size = true;
	if (write && !ends && offset + s->len >= s->total)
		wrong_size = true;
	if ((write || read) && s->total > 0x80000000u)
		wrong_size = true;
	if ((read || atomic || flush) && s->len)
		wrong_size = true;
	if (store && (s->len != 8 || s->total != 8))
		wrong_size = true;
	if ((atomic || store) && s->odd_va)
		wrong_size = true;
	too_long = send && offset + s->len > room;
	bad_key = (write || read || store) && starts && s->total && (s->rkey != KEY_WRITE || s->total > SPACE);
	if (flush)
		bad_key = s->rkey != KEY_WRITE || s->total > SPACE;
	if (atomic && s->rkey != KEY_WRITE)
		bad_key = true;
	bad_list = send && s->receives == BAD_LKEY && s->len;
	if (consumes && !wrong_place && !forbidden)
		has_recv = true;

	if (!wrong_place && !forbidden && no_receive) {
		o.verdict = RC_RNR;
		o.syndrome = 0x25;
		return o;
	}
	if (wrong_place || forbidden || no_slot || wrong_size || too_long) {
		o.syndrome = 0x61;
		o.event = TRANSPORT_EVENT_REQ_ERR;
		o.recv_status = !wrong_place && !forbidden && !wrong_size ? TRANSPORT_LOC_LEN_ERR : TRANSPORT_REM_INV_REQ_ERR;
	} else if (bad_key) {
		o.syndrome = 0x62;
		o.event = TRANSPORT_EVENT_ACCESS_ERR;
		o.recv_status = TRANSPORT_LOC_ACCESS_ERR;
	} else if (bad_list) {
		o.syndrome = 0x63;
		o.recv_status = TRANSPORT_LOC_PROT_ERR;
	} else {
		o.expected = wire_psn_add(expected, read && s->total > MTU ? (s->total + MTU - 1) / MTU : 1);
		if (inv && s->rkey != KEY_WRITE) {
			/* Class J: accepted and acknowledged, and the end all the same. */
			o.syndrome = 0x1f;
			o.recv_status = TRANSPORT_REM_INV_REQ_ERR;
			o.event = TRANSPORT_EVENT_ENTERED_ERROR;
			return o;
		}
		if (s->ack_req || answered)
			o.syndrome = 0x1f;
		if (ends && (consumes || s->context == IN_SEND))
			o.recv_status = TRANSPORT_SUCCESS;
		return o;
	}
	o.verdict = RC_NAKED;
	o.event |= TRANSPORT_EVENT_ENTERED_ERROR;
	if (!has_recv)
		o.recv_status = -1;
	return o;
}

static struct outcome happens(const struct situation *s)
{
	struct bench b;
	struct transport_run run;
	struct transport_completion c;
	struct outcome o = { .syndrome = -1, .recv_status = -1 };
	uint32_t psn = FIRST_PSN;
	uint8_t syndrome;

	bench_open(&b, ALL, s->slots == NO_SLOT ? 0 : 1);
	run = packet(WIRE_RC_RDMA_WRITE_ONLY, psn++, 0);
	run.head.reth.length = 0;
	rc_receive(&b.qp, 1, &run);
	if (s->slots >= FULL_SLOT) {
		run = packet(WIRE_RC_RDMA_READ_REQUEST, psn++, 0);
		run.head.reth.length = 4;
		rc_receive(&b.qp, 1, &run);
		if (s->slots == ANSWERED_SLOT && !answer(&b, &syndrome, &o.psn))
			o.syndrome = 2000;
	}
	if (s->context == IN_SEND || s->receives != NONE_POSTED)
		post(&b, s->receives == TOO_SHORT ? MTU + 10 : SPACE, KEY_RECV);
	if (s->context != BETWEEN) {
		run = packet(s->context == IN_SEND ? WIRE_RC_SEND_FIRST : WIRE_RC_RDMA_WRITE_FIRST, psn++, MTU);
		run.head.reth.length = s->context == IN_WRITE && s->total > MTU && s->total <= SPACE ? s->total : 2 * MTU;
		rc_receive(&b.qp, 1, &run);
	}
	if (s->context == IN_SEND && s->receives == NONE_POSTED && b.qp.intake.recv.sge)
		b.host.recvs_taken = b.host.recvs_posted;
	if (s->receives == BAD_LKEY)
		b.host.recvs[0].sge[0].lkey = KEY_BAD;
	b.qp.config.access = s->access;
	if (s->reported) {
		run = packet(WIRE_RC_SEND_ONLY, psn + 5, 0);
		rc_receive(&b.qp, 1, &run);
		if (s->slots == FULL_SLOT)
			b.qp.resp.pending = 0; /* what is owed behind the response alone */
		answer(&b, &syndrome, &o.psn);
		if (s->slots == FULL_SLOT)
			b.qp.resp.pending = 1;
	}
	transport_qp_events_take(&b.qp);

	run = packet(s->opcode, psn + (uint32_t)s->ahead, s->len);
	run.head.reth.length = s->total;
	run.head.reth.rkey = run.head.atomic.rkey = run.head.inv_rkey = s->rkey;
	run.head.atomic.va += s->odd_va ? 4 : 0;
	run.head.reth.va += s->odd_va ? 4 : 0;
	run.head.feth.placement = 1;
	run.head.bth.ack_req = s->ack_req;
	o.verdict = rc_receive(&b.qp, 1, &run);
	o.psn = b.qp.resp.expected;
	if (s->slots == FULL_SLOT && !answer(&b, &syndrome, &o.psn))
		o.syndrome = 3000; /* the response that was there before */
	if (answer(&b, &syndrome, &o.psn))
		o.syndrome = syndrome;
	if (answer(&b, &syndrome, &o.psn))
		o.syndrome = 1000; /* two answers */
	if (transport_qp_recv_done(&b.qp, &c))
		o.recv_status = (int)c.status;
	if (transport_qp_recv_done(&b.qp, &c))
		o.recv_status = 1000;
	o.expected = rc_rq_psn(&b.qp);
	o.event = transport_qp_events_take(&b.qp);
	sim_host_fini(&b.host);
	return o;
}

static bool check_ladder(void)
{
	static const uint32_t lens[] = { 0, 1, 8, MTU - 1, MTU, MTU + 1 };
	uint64_t combinations = 0;
	uint32_t answers[RC_VERDICTS] = { 0 };

	for (uint64_t n = 0; n < 3ull * 2 * CONTEXTS * RECEIVES * 3 * 32 * 6 * 6 * 2 * 2 * 2 * SLOTS; n++) {
		uint64_t i = n;
		struct situation s;
		struct outcome want, got;
		const struct wire_opcode *op;

		s.ahead = (int)(i % 3) - 1, i /= 3;
		s.reported = i % 2, i /= 2;
		s.context = (enum context)(i % CONTEXTS), i /= CONTEXTS;
		s.receives = (enum receives)(i % RECEIVES), i /= RECEIVES;
		s.access = (uint32_t[]){ 0, TRANSPORT_REMOTE_WRITE, ALL }[i % 3], i /= 3;
		s.opcode = (uint8_t)(i % 32), i /= 32;
		s.len = lens[i % 6], i /= 6;
		op = wire_opcode_find(s.opcode);
		if (op == NULL || !(op->role & WIRE_ROLE_REQUEST))
			continue;
		/* RETH length: too short by one, right, too long by one, long, longer than the region, longer than a message may be. */
		s.total = (uint32_t[]){ s.len - 1, s.len, s.len + 1, s.len + 3 * MTU, SPACE + 1, 0x80000001u }[i % 6], i /= 6;
		if (!(op->has & WIRE_HAS_RETH)) {
			if (s.total > SPACE || s.total + 1 == 0)
				continue;
			s.total = s.context == IN_WRITE ? s.total + MTU : 2 * MTU;
			if (s.total <= MTU)
				s.total = 2 * MTU;
		}
		s.rkey = i % 2 ? KEY_WRITE : KEY_BAD, i /= 2;
		s.ack_req = i % 2, i /= 2;
		s.odd_va = i % 2, i /= 2;
		s.slots = (enum slots)i;
		/* Nobody else asks for these. */
		if (s.odd_va && !(op->role & (WIRE_ROLE_ATOMIC | WIRE_ROLE_ATOMIC_WRITE)))
			continue;
		if (s.slots != FREE_SLOT && !(op->role & (WIRE_ROLE_READ | WIRE_ROLE_ATOMIC | WIRE_ROLE_FLUSH | WIRE_ROLE_ATOMIC_WRITE)))
			continue;
		want = law(&s);
		got = happens(&s);
		combinations++;
		answers[got.verdict]++;
		if (want.verdict != got.verdict || want.syndrome != got.syndrome || want.expected != got.expected ||
		    want.recv_status != got.recv_status || want.event != got.event || (want.syndrome >= 0 && want.psn != got.psn)) {
			fprintf(stderr, "%s %+d%s context %d receives %d access %u len %u total %u rkey %u slots %d:\n"
				"  want %s, syndrome %x psn %06x expected %06x recv %d event %x\n"
				"  got  %s, syndrome %x psn %06x expected %06x recv %d event %x\n", op->name, s.ahead,
				s.reported ? " reported" : "", s.context, s.receives, s.access, s.len, s.total, s.rkey, s.slots,
				rc_verdict_text(want.verdict), (unsigned)want.syndrome, want.psn, want.expected, want.recv_status, want.event,
				rc_verdict_text(got.verdict), (unsigned)got.syndrome, got.psn, got.expected, got.recv_status, got.event);
			return false;
		}
	}
	printf("ladder: %llu combinations;", (unsigned long long)combinations);
	for (int v = 0; v < RC_VERDICTS; v++)
		if (answers[v])
			printf(" %s %u", rc_verdict_text((enum rc_verdict)v), answers[v]);
	printf("\n");
	return true;
}

/* ---- runs ---- */

static struct transport_run random_run(struct base_random *r, const struct bench *b)
{
	static const uint8_t firsts[] = { WIRE_RC_SEND_FIRST, WIRE_RC_SEND_MIDDLE, WIRE_RC_RDMA_WRITE_FIRST, WIRE_RC_RDMA_WRITE_MIDDLE };
	static const uint8_t lasts[2][5] = {
		{ WIRE_RC_SEND_MIDDLE, WIRE_RC_SEND_LAST, WIRE_RC_SEND_LAST_WITH_IMM, WIRE_RC_SEND_LAST, WIRE_RC_SEND_LAST_WITH_INVALIDATE },
		{ WIRE_RC_RDMA_WRITE_MIDDLE, WIRE_RC_RDMA_WRITE_LAST, WIRE_RC_RDMA_WRITE_LAST_WITH_IMM, WIRE_RC_RDMA_WRITE_LAST,
		  WIRE_RC_RDMA_WRITE_LAST_WITH_IMM },
	};
	static const uint8_t onlys[] = { WIRE_RC_SEND_ONLY, WIRE_RC_SEND_ONLY_WITH_IMM, WIRE_RC_RDMA_WRITE_ONLY,
					 WIRE_RC_RDMA_WRITE_ONLY_WITH_IMM };
	uint32_t packets = (uint32_t)(base_random_below(r, 3) ? 2 + base_random_below(r, 6) : 1);
	bool in = b->qp.resp.kind && base_random_below(r, 20);
	bool write = in ? b->qp.resp.kind & WIRE_ROLE_WRITE : base_random_below(r, 2);
	uint8_t first = firsts[2 * write + in], last = lasts[write][base_random_below(r, base_random_below(r, 30) ? 4 : 5)];
	uint32_t psn = b->qp.resp.expected, len;
	struct transport_run run;

	if (base_random_below(r, 4) == 0)
		psn = wire_psn_add(psn, (uint32_t)base_random_below(r, 8) - 6);
	len = last == WIRE_RC_SEND_MIDDLE || last == WIRE_RC_RDMA_WRITE_MIDDLE ? MTU : (uint32_t)base_random_below(r, MTU + 1);
	if (base_random_below(r, 100) == 0)
		len = (uint32_t)base_random_below(r, MTU + 1);
	if (packets == 1) {
		first = base_random_below(r, 3) ? first : onlys[base_random_below(r, 4)];
		last = first = in && base_random_below(r, 3) ? last : first;
		if (wire_opcode_find(first)->payload == WIRE_PAYLOAD_FULL)
			len = MTU;
	}
	run = packet(first, psn, (packets - 1) * MTU + len);
	run.packets = (uint16_t)packets;
	run.last_opcode = last;
	run.head.bth.ack_req = base_random_below(r, 3) == 0;
	run.head.bth.solicited = base_random_below(r, 3) == 0;
	run.head.imm = (uint32_t)base_random_next(r);
	run.head.reth.length = run.head.payload_len;
	if (packets > 1 && wire_opcode_find(last)->role & WIRE_ROLE_MIDDLE)
		run.head.reth.length += 4 * MTU;
	else if (packets == 1 && first == WIRE_RC_RDMA_WRITE_FIRST)
		run.head.reth.length += (uint32_t)base_random_below(r, 4 * MTU);
	if (base_random_below(r, 50) == 0)
		run.head.reth.length -= (uint32_t)base_random_below(r, 2 * MTU);
	if (write && in) {
		/* Usually the message fits its end. */
		uint64_t left = b->qp.resp.write_length - b->qp.resp.done;

		if (base_random_below(r, 20) && (wire_opcode_find(last)->role & (WIRE_ROLE_LAST | WIRE_ROLE_WRITE)) ==
		    (WIRE_ROLE_LAST | WIRE_ROLE_WRITE) && left && left <= SPACE) {
			run.packets = (uint16_t)((left + MTU - 1) / MTU);
			run.head.payload_len = (uint32_t)left;
			if (run.packets == 1)
				run.head.bth.opcode = last, run.head.op = wire_opcode_find(last);
			else
				run.head.bth.opcode = WIRE_RC_RDMA_WRITE_MIDDLE, run.head.op = wire_opcode_find(WIRE_RC_RDMA_WRITE_MIDDLE);
		}
	}
	if (base_random_below(r, 100) == 0)
		run.head.reth.rkey = run.head.inv_rkey = KEY_BAD;
	return run;
}

/* Packet i of a run, cut without the transport's help. */
static struct transport_run nth(const struct transport_run *run, uint32_t i)
{
	bool last = i == run->packets - 1u;
	bool send = run->head.bth.opcode <= WIRE_RC_SEND_ONLY_WITH_IMM || run->last_opcode == WIRE_RC_SEND_LAST_WITH_INVALIDATE;
	uint8_t opcode = i == 0 ? run->head.bth.opcode : last ? run->last_opcode : send ? WIRE_RC_SEND_MIDDLE : WIRE_RC_RDMA_WRITE_MIDDLE;
	struct transport_run one = packet(opcode, run->head.bth.psn + i, last ? run->head.payload_len - i * MTU : MTU);

	one.head.payload = run->head.payload + i * MTU;
	one.head.bth.ack_req = last && run->head.bth.ack_req;
	one.head.bth.solicited = last && run->head.bth.solicited;
	one.head.imm = run->head.imm;
	one.head.reth = run->head.reth;
	one.head.inv_rkey = run->head.inv_rkey;
	return one;
}

static bool same_state(struct bench *a, struct bench *b, const char **what)
{
	struct rc_responder *x = &a->qp.resp, *y = &b->qp.resp;
	struct transport_completion ca, cb;
	int na, nb;

#define SAME(field) if (x->field != y->field) { *what = #field; return false; }
	SAME(expected) SAME(msn) SAME(kind) SAME(gap_reported) SAME(owed)
	if (x->kind)
		SAME(done)
	if (x->owed > RC_OWED_NAK_SEQUENCE)
		SAME(owed_psn)
	if (x->owed > RC_OWED_NAK_SEQUENCE)
		SAME(owed_syndrome)
#undef SAME
	*what = "state";
	if (a->qp.intake.held != b->qp.intake.held)
		return false;
	if (a->qp.state != b->qp.state || transport_qp_events_take(&a->qp) != transport_qp_events_take(&b->qp))
		return false;
	*what = "receives taken";
	if (a->host.recvs_taken != b->host.recvs_taken)
		return false;
	*what = "memory";
	for (int i = 0; i < 2 && a->qp.state != TRANSPORT_ERROR; i++)
		if (memcmp(a->host.regions[i].bytes, b->host.regions[i].bytes, SPACE) != 0)
			return false;
	*what = "completions";
	memset(&ca, 0, sizeof(ca));
	memset(&cb, 0, sizeof(cb));
	do {
		na = transport_qp_recv_done(&a->qp, &ca);
		nb = transport_qp_recv_done(&b->qp, &cb);
		if (na != nb || ca.wr_id != cb.wr_id || ca.status != cb.status || ca.byte_len != cb.byte_len || ca.opcode != cb.opcode ||
		    ca.imm_or_inv != cb.imm_or_inv || ca.solicited != cb.solicited || ca.wc_flags != cb.wc_flags)
			return false;
	} while (na);
	return true;
}

static bool check_runs(uint64_t seed, uint64_t rounds)
{
	struct base_random r = { seed };
	uint64_t runs = 0, naked = 0;

	for (uint64_t n = 0; n < rounds; n++) {
		struct bench a, b;
		const char *what = "";

		bench_open(&a, base_random_below(&r, 10) ? TRANSPORT_REMOTE_WRITE : 0, 0);
		bench_open(&b, a.qp.config.access, 0);
		for (int i = 0; i < 40 && a.qp.state != TRANSPORT_ERROR; i++) {
			struct transport_run run = random_run(&r, &a);
			enum rc_verdict v = RC_TOOK;

			for (uint32_t k = 0; k < run.head.payload_len; k++)
				payload[k] = (uint8_t)base_random_next(&r);
			if (base_random_below(&r, 2) && a.host.recvs_posted < 60) {
				uint32_t length = (uint32_t)base_random_below(&r, 10) ? SPACE : (uint32_t)base_random_below(&r, 5 * MTU);
				uint32_t lkey = base_random_below(&r, 30) ? KEY_RECV : KEY_BAD;

				post(&a, length, lkey);
				post(&b, length, lkey);
			}
			v = rc_receive(&a.qp, 1, &run);
			for (uint32_t k = 0; k < run.packets; k++) {
				struct transport_run one = nth(&run, k);

				rc_receive(&b.qp, 1, &one);
			}
			runs++;
			naked += v == RC_NAKED;
			if (!same_state(&a, &b, &what)) {
				fprintf(stderr, "runs: seed %llu round %llu run %d (%s..%02x, %u packets, psn %06x, len %u): %s differs\n",
					(unsigned long long)seed, (unsigned long long)n, i, run.head.op->name, run.last_opcode, run.packets,
					run.head.bth.psn, run.head.payload_len, what);
				return false;
			}
			if (base_random_below(&r, 2)) {
				uint8_t sa = 0, sb = 0;
				uint32_t pa = 0, pb = 0;

				if (answer(&a, &sa, &pa) != answer(&b, &sb, &pb) || sa != sb || pa != pb)
					return false;
			}
		}
		sim_host_fini(&a.host);
		sim_host_fini(&b.host);
	}
	printf("runs: %llu compared, %llu refused\n", (unsigned long long)runs, (unsigned long long)naked);
	return true;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	return check_ladder() && check_runs(seed, 20000) ? 0 : 1;
}
