/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/rc_one.h"

#include <assert.h>
#include <string.h>

#include "wire/opcode.h"

uint8_t buf[128 * 1024];

enum { FLUSH = TRANSPORT_FLUSH_GLOBAL | TRANSPORT_FLUSH_PERSISTENT };

struct one *open_as(const struct transport_ops *ops, bool lossless)
{
	static struct one o;

	memset(&o, 0, sizeof(o));
	sim_host_init(&o.host, 64, 64);
	sim_host_region(&o.host, 0x1000, 1 << 20, 15 | FLUSH, KEY);
	sim_host_region(&o.host, 0x1000, 1 << 16, 15, KEY_GOING)->invalidatable = true;
	o.now = T;
	o.config = (struct transport_config){ .qpn = 1, .dest_qpn = 2, .mtu = MTU, .sq_psn = 100, .rq_psn = 200, .access = 14 | FLUSH,
				       .timeout = 14,
				       .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12, .max_rd_atomic = 2, .max_dest_rd_atomic = 2,
				       .lossless = lossless, .pkey = 0xffff };
	transport_qp_init(&o.qp, ops, (struct transport_memory){ &sim_host_memory_ops, &o.host }, &o.host.sq, &sim_host_recv_ops, &o.host);
	transport_qp_to_init(&o.qp);
	rc_to_rtr(&o.qp, &o.config);
	return &o;
}

struct one *open_qp(bool lossless)
{
	return open_as(&rc_ops, lossless);
}

struct one *open_rts(bool lossless)
{
	struct one *o = open_qp(lossless);

	rc_to_rts(&o->qp, &o->config);
	return o;
}

void close_qp(struct one *o)
{
	sim_host_fini(&o->host);
}

void post_op(struct one *o, uint8_t op, uint8_t flags, uint32_t length, uint32_t key, uint32_t imm_or_inv)
{
	uint32_t n = atomic_load(&o->host.sq.posted);
	struct transport_sge sge = { .addr = 0x1000, .length = length, .lkey = key };
	struct transport_wqe wqe = { .wr_id = n, .op = op, .flags = flags, .length = length, .num_sge = 1, .rkey = KEY,
				     .remote_addr = 0x1000, .imm_or_inv = imm_or_inv };
	bool posted = sim_host_post_send(&o->host, &wqe, &sge, sizeof(sge));

	assert(posted);
	(void)posted;
}

void post(struct one *o, uint32_t length, uint32_t key)
{
	post_op(o, TRANSPORT_OP_RDMA_WRITE, 0, length, key, 0);
}

bool pull_run(struct one *o, struct transport_run *run)
{
	struct transport_room room = { .buf = buf, .bytes = sizeof(buf), .packets = 1 };
	size_t used;

	return rc_next(&o->qp, o->now, &room, run, &used);
}

int64_t pull(struct one *o)
{
	struct transport_run run;

	return pull_run(o, &run) ? (int64_t)run.head.bth.psn : -1;
}

int pull_answer(struct one *o, uint32_t *psn)
{
	struct transport_run run;

	if (!pull_run(o, &run))
		return -1;
	*psn = run.head.bth.psn;
	return run.head.aeth.syndrome;
}

struct transport_run packet_of(uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct transport_run run = { .packets = 1, .last_opcode = opcode, .mtu = MTU };

	run.head.bth.opcode = opcode;
	run.head.bth.psn = psn;
	run.head.bth.pkey = 0xffff;
	run.head.reth = (struct wire_reth){ .va = 0x1000, .rkey = KEY, .length = len };
	run.head.atomic = (struct wire_atomiceth){ .va = 0x1000, .rkey = KEY, .swap_or_add = 1 };
	run.head.op = wire_opcode_find(opcode);
	run.head.payload = buf;
	run.head.payload_len = len;
	return run;
}

enum rc_verdict answer(struct one *o, uint32_t psn, uint8_t syndrome)
{
	struct transport_run run = packet_of(WIRE_RC_ACKNOWLEDGE, psn, 0);

	run.head.aeth.syndrome = syndrome;
	return rc_receive(&o->qp, o->now, &run);
}

enum rc_verdict request(struct one *o, uint8_t opcode, uint32_t psn, uint32_t len, bool ack_req)
{
	struct transport_run run = packet_of(opcode, psn, len);

	run.head.bth.ack_req = ack_req;
	return rc_receive(&o->qp, o->now, &run);
}

int done(struct one *o)
{
	struct transport_completion c;

	return transport_qp_send_done(&o->qp, &c) ? (int)c.status : -1;
}
