/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The UC responder under packets of any shape: opcodes, PSNs, lengths, keys and run descriptions come from the fuzzer, as do
 * receives, patience, and the moments at which the host looks for completions.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/responder.h"
#include "transport/uc.h"
#include "wire/psn.h"

struct state {
	struct transport_qp qp;
	struct sim_host host;
	uint32_t completed;
	uint32_t mtu;
};

static void receive(struct state *s, struct rc_input *in)
{
	struct transport_run run = { .packets = 0 };
	uint32_t before = uc_rq_psn(&s->qp), taken = s->host.recvs_taken;
	uint64_t placed = s->host.placed_calls;
	bool give_up, was_error = transport_qp_state(&s->qp) == TRANSPORT_ERROR;
	enum uc_verdict verdict;

	run.packets = in_u8(in) & 1 ? 1 : in_u8(in) % 40;
	run.head.bth.opcode = in_u8(in) < 250 ? 0x20 | (in_u8(in) % 12) : in_u8(in);
	run.last_opcode = run.packets == 1 && in_u8(in) < 250 ? run.head.bth.opcode : 0x20 | (in_u8(in) % 16);
	fuzz_run_fill(&run, in, s->mtu, before);
	give_up = in_u8(in) & 1;

	verdict = uc_receive(&s->qp, 1000, &run, give_up);
	assert((int)verdict >= 0 && verdict < UC_VERDICTS);
	assert(verdict != UC_NO_RECV || !give_up);
	if (verdict == UC_NO_RECV || verdict == UC_DROPPED_NO_RECV)
		assert(placed == s->host.placed_calls && taken == s->host.recvs_taken);
	/* Whatever it was, what comes behind it comes next; or it has not been. */
	if (verdict <= UC_FAILED && verdict != UC_NO_RECV && verdict != UC_DROPPED_OLD)
		assert(uc_rq_psn(&s->qp) == wire_psn_add(run.head.bth.psn, run.packets));
	else
		assert(uc_rq_psn(&s->qp) == before);
	assert((transport_qp_state(&s->qp) == TRANSPORT_ERROR) == (was_error || verdict == UC_FAILED));
}

static void completions(struct state *s, uint32_t most)
{
	struct transport_completion c;

	for (uint32_t i = 0; i < most && transport_qp_recv_done(&s->qp, &c); i++) {
		assert(c.wr_id == s->completed);
		assert(c.status != TRANSPORT_SUCCESS || c.opcode == TRANSPORT_WC_RECV || c.opcode == TRANSPORT_WC_RECV_RDMA_WITH_IMM);
		s->completed++;
	}
}

static void check(const struct state *s)
{
	const struct intake *in = &s->qp.intake;

	assert(in->count <= INTAKE_COMPLETIONS);
	assert(s->host.recvs_taken == s->completed + in->count + in->held);
	assert(transport_qp_state(&s->qp) != TRANSPORT_ERROR || !in->held);
	assert(s->qp.uc.expected <= 0xffffff);
	assert(s->qp.uc.kind != WIRE_ROLE_SEND || in->held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_input in = { data, size };
	struct state s = { .mtu = 256u << (in_u8(&in) % 5) };
	struct transport_config config = { .qpn = 1, .dest_qpn = 2, .mtu = s.mtu, .pkey = 0xffff };

	fuzz_host_open(&s.host);
	transport_qp_init(&s.qp, &uc_ops, (struct transport_memory){ &sim_host_memory_ops, &s.host }, &s.host.sq, &sim_host_recv_ops, &s.host);
	config.access = in_u8(&in) < 240 ? 15 : in_u8(&in);
	config.rq_psn = 0xffffff - in_u8(&in);
	config.srq = in_u8(&in) & 1;
	transport_qp_to_init(&s.qp);
	uc_to_rtr(&s.qp, &config);
	while (in.left) {
		switch (in_u8(&in) % 6) {
		case 0:
			fuzz_post_recv(&s.host, &in);
			break;
		case 1:
			completions(&s, in_u8(&in) % 8);
			break;
		default:
			receive(&s, &in);
			break;
		}
		check(&s);
	}
	if (size & 1)
		uc_to_error(&s.qp);
	check(&s);
	completions(&s, UINT32_MAX);
	assert(s.host.recvs_taken == s.completed + s.qp.intake.held);
	sim_host_fini(&s.host);
	return 0;
}
