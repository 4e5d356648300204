/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * When an ACK that is owed on a wire waits for the application's answer, so that both leave together.
 *
 * A ping-pong (MPI, RPC, ib_send_lat) answers each message within microseconds. An ACK of its own then costs two system calls
 * and a wake-up for nothing: the answer could have carried it. So a QP learns:
 *
 *   an ACK left alone, and a packet of ours follows within RC_ACK_HOLD_NS     the application answers: one more in a row
 *   an ACK left alone, and the next one is due without a packet between       it does not: the count begins anew
 *
 * After RC_ACK_ANSWERS in a row an ACK is held while nothing of ours is under way, for RC_ACK_HOLD_NS at most. Our next packet
 * takes it along (the packet first: whoever waits for the ACK finds the answer placed already). If none comes in that time the
 * ACK leaves alone and the count begins anew; it has to go twice as far if fewer than RC_ACK_PROVEN held ACKs were answered.
 * Only messages that complete a receive: programs that spin on memory written by a plain WRITE call nothing that could send,
 * and were slowed (docs/decisions/0060). NAKs, READ responses, other states than RTS and a requester with packets under way hold
 * nothing, and lossless links neither: over shared memory the peer works on the ACK while we work on the answer.
 *
 * Part of an RC QP: functions for transport/rc*.c alone, under the progress lock.
 */
#ifndef TRANSPORT_RC_ACK_H
#define TRANSPORT_RC_ACK_H

#include <stdbool.h>
#include <stdint.h>

#define RC_ACK_HOLD_NS 50000ull /* a held ACK leaves after this at the latest */
enum { RC_ACK_ANSWERS = 8, RC_ACK_ANSWERS_MAX = 256, RC_ACK_PROVEN = 64 };

/* All zero at first. */
struct rc_ack {
	uint64_t owed_at;  /* when the ACK became owed */
	uint64_t alone_at; /* when the last one left */
	uint16_t answers;  /* in a row, up to wanted + RC_ACK_PROVEN */
	uint16_t wanted;   /* how many it takes; 0: RC_ACK_ANSWERS */
	bool alone;        /* nothing of ours left since alone_at */
	bool completes;    /* the application polls for what is owed: a receive completes */
};

/* An ACK is owed that was not before. `completes`: for a message that completes a receive. */
void rc_ack_owed(struct rc_ack *ack, uint64_t now, bool completes);
/* The ACK left; `alone`: nothing of ours is under way. */
void rc_ack_left(struct rc_ack *ack, uint64_t now, bool alone);
/* A packet of ours left. */
void rc_ack_answered(struct rc_ack *ack, uint64_t now);
/* A held ACK waited for its time: the hold has failed. */
void rc_ack_failed(struct rc_ack *ack);
static inline uint16_t rc_ack_wanted(const struct rc_ack *ack)
{
	return ack->wanted ? ack->wanted : RC_ACK_ANSWERS;
}

/* Would an ACK that is owed wait until owed_at + RC_ACK_HOLD_NS? */
static inline bool rc_ack_waits(const struct rc_ack *ack)
{
	return ack->completes && ack->answers >= rc_ack_wanted(ack);
}

#endif
