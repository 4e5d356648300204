/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One RC QP with nothing around it, for tests that play link, peer, clock and application by hand. There is one at a time.
 * The peer's memory, as far as it is asked for, is the QP's own host: KEY grants all, KEY_GOING is there to be revoked.
 */
#ifndef SIM_RC_ONE_H
#define SIM_RC_ONE_H

#include "sim/host.h"
#include "transport/rc.h"

enum { MTU = 256, KEY = 1, KEY_GOING = 2, T = 1000000 };

extern uint8_t buf[128 * 1024]; /* payload of both directions */

struct one {
	struct transport_qp qp;
	struct sim_host host;
	struct transport_config config;
	uint64_t now;
};

struct one *open_as(const struct transport_ops *ops, bool lossless); /* in RTR */
struct one *open_qp(bool lossless);                                  /* an RC QP */
struct one *open_rts(bool lossless);
void close_qp(struct one *o);
/* A work request with one SGE at 0x1000; remote address 0x1000, rkey KEY. */
void post_op(struct one *o, uint8_t op, uint8_t flags, uint32_t length, uint32_t key, uint32_t imm_or_inv);
void post(struct one *o, uint32_t length, uint32_t key); /* a WRITE */
/* One packet at most; its PSN, -1 when there is none. */
int64_t pull(struct one *o);
/* The same with all of its headers. False: none. */
bool pull_run(struct one *o, struct transport_run *run);
int pull_answer(struct one *o, uint32_t *psn);
enum rc_verdict answer(struct one *o, uint32_t psn, uint8_t syndrome);
/* A packet with this opcode, everything in it pointing to 0x1000 with KEY. */
struct transport_run packet_of(uint8_t opcode, uint32_t psn, uint32_t len);
enum rc_verdict request(struct one *o, uint8_t opcode, uint32_t psn, uint32_t len, bool ack_req);
int done(struct one *o);

#endif
