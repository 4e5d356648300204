/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the responder targets share: memory that packets may and may not reach, receives, and runs of any shape. The including file
 * has the QP.
 */
#ifndef FUZZ_RESPONDER_H
#define FUZZ_RESPONDER_H

#include "fuzz/rc_input.h"
#include "sim/host.h"
#include "transport/run.h"
#include "wire/opcode.h"

enum { RECVS = 256, SPACE = 8192, KEY_RECV = 1, KEY_WRITE = 2, KEY_INV = 3 };

static uint8_t payload[65536];

static inline void fuzz_host_open(struct sim_host *host)
{
	struct sim_region *region;

	sim_host_init(host, 2, RECVS);
	sim_host_region(host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE, KEY_RECV);
	sim_host_region(host, 0x1000, SPACE, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE | TRANSPORT_REMOTE_READ |
			TRANSPORT_REMOTE_ATOMIC | TRANSPORT_FLUSH_GLOBAL, KEY_WRITE);
	region = sim_host_region(host, 0x1000, 8, 0, KEY_INV);
	region->invalidatable = region->immortal = true;
}

static inline void fuzz_post_recv(struct sim_host *host, struct rc_input *in)
{
	struct transport_sge sge[2] = {
		{ .addr = 0x1000 + in_u8(in), .length = in_u16(in) % SPACE, .lkey = in_u8(in) < 250 ? KEY_RECV : 9 },
		{ .addr = 0x1000, .length = in_u8(in), .lkey = KEY_RECV },
	};
	uint32_t num_sge = in_u8(in) % 3;

	if (host->recvs_posted < RECVS)
		sim_host_post_srq_recv(host, host->srqs ? 1 + in_u8(in) % host->srqs : 0, host->recvs_posted, sge, num_sge);
}

/* `before` is the PSN that the QP expects; the opcodes of the run are there already. */
static inline void fuzz_run_fill(struct transport_run *run, struct rc_input *in, uint32_t mtu, uint32_t before)
{
	struct wire_packet *head = &run->head;

	head->op = wire_opcode_find(head->bth.opcode);
	run->mtu = in_u8(in) < 3 ? in_u16(in) : mtu;
	head->bth.psn = in_u8(in) < 200 ? before : in_u8(in) < 200 ? before + in_u8(in) - 128 : in_u32(in);
	head->bth.ack_req = in_u8(in) & 1;
	head->bth.solicited = in_u8(in) & 1;
	head->bth.pkey = in_u8(in) ? 0xffff : in_u16(in);
	head->payload = payload;
	if (run->packets > 0 && in_u8(in) < 220)
		head->payload_len = (run->packets - 1u) * mtu + (in_u8(in) & 1 ? mtu : in_u16(in) % (mtu + 1));
	else
		head->payload_len = in_u16(in);
	if (head->payload_len > sizeof(payload))
		head->payload_len = sizeof(payload);
	head->reth.va = in_u8(in) < 200 ? 0x1000 + in_u16(in) % SPACE : ~0ull - in_u16(in);
	head->reth.rkey = in_u8(in) < 230 ? KEY_WRITE : in_u8(in);
	head->reth.length = in_u8(in) < 200 ? head->payload_len + (in_u8(in) & 7 ? 0 : in_u16(in)) : in_u32(in);
	head->imm = in_u32(in);
	head->inv_rkey = in_u8(in) < 240 ? KEY_INV : in_u32(in);
}

#endif
