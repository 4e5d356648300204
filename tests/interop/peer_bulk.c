/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many messages through one RC connection, for a wire that loses packets: SENDs of 4 to 3000 bytes, every sixteenth a READ, a
 * WRITE or an atomic in turn. Each SEND carries its number; the server wants them all, once, in order and whole. The atomics
 * add up to their number: none is executed twice.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>

#define WINDOW 32u
#define SLOT 3072u
#define COUNTER_AT 4096u /* in the server's buffer, where no WRITE goes */
#define ROUND 16u

static uint32_t len_of(uint32_t n)
{
	return 4 + n * 2654435761u % 2997;
}

static void fill(uint8_t *at, uint32_t n)
{
	uint32_t len = len_of(n);

	memcpy(at, &n, 4);
	for (uint32_t i = 4; i < len; i++)
		at[i] = (uint8_t)(n + i);
}

static bool is_right(const uint8_t *at, uint32_t n)
{
	uint32_t len = len_of(n), got;

	memcpy(&got, at, 4);
	if (got != n)
		return false;
	for (uint32_t i = 4; i < len; i++)
		if (at[i] != (uint8_t)(n + i))
			return false;
	return true;
}

static void receive(struct peer *peer, uint8_t *slots, uint32_t lkey, uint32_t n)
{
	struct ibv_sge to = {(uintptr_t)slots + n % WINDOW * SLOT, SLOT, lkey};
	struct ibv_recv_wr wr = {.wr_id = n, .sg_list = &to, .num_sge = 1}, *bad;

	must(ibv_post_recv(peer->qp, &wr, &bad) == 0);
}

static void post(struct peer *peer, uint8_t *slots, uint32_t lkey, uint32_t n)
{
	uint8_t *slot = slots + n % WINDOW * SLOT;
	struct ibv_sge part = {(uintptr_t)slot, len_of(n), lkey};
	struct ibv_send_wr wr = {.wr_id = n, .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

	if (n % ROUND == ROUND - 1) {
		static const enum ibv_wr_opcode turn[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD};

		wr.opcode = turn[n / ROUND % 3];
	}
	wr.wr.rdma.remote_addr = peer->there.address + PEER_SLOT;
	wr.wr.rdma.rkey = peer->there.key;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		part.length = 8;
		wr.wr.atomic.remote_addr = peer->there.address + COUNTER_AT;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = peer->there.key;
	} else {
		fill(slot, n);
	}
	must(ibv_post_send(peer->qp, &wr, &bad) == 0);
}

static void client(struct peer *peer, uint8_t *slots, uint32_t lkey, uint32_t count)
{
	uint32_t posted = 0, done = 0;

	while (done < count) {
		while (posted < count && posted - done < WINDOW)
			post(peer, slots, lkey, posted++);
		peer_completion_of(peer, done++, IBV_WC_SUCCESS);
	}
}

static void server(struct peer *peer, uint8_t *slots, uint32_t lkey, uint32_t sends)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < sends; i++, number++) {
		if (number % ROUND == ROUND - 1)
			number++;
		struct ibv_wc wc = peer_completion_of(peer, i, IBV_WC_SUCCESS);

		must(wc.byte_len == len_of(number) && is_right(slots + i % WINDOW * SLOT, number));
		receive(peer, slots, lkey, i + WINDOW);
	}
}

void peer_run_bulk(struct peer *peer)
{
	static _Alignas(4096) uint8_t slots[WINDOW * SLOT];
	struct ibv_mr *mr = ibv_reg_mr(peer->pd, slots, sizeof(slots), IBV_ACCESS_LOCAL_WRITE);
	uint32_t count = (uint32_t)peer->count, others = count / ROUND;
	uint64_t sum;

	must(mr != NULL);
	peer->depth = WINDOW;
	peer_qp_create(peer, IBV_QPT_RC);
	peer_qp_connect(peer, peer_connection_default(peer));
	for (uint32_t i = 0; i < WINDOW && !peer->is_client; i++)
		receive(peer, slots, mr->lkey, i);
	peer_meet(peer);
	if (peer->is_client)
		client(peer, slots, mr->lkey, count);
	else
		server(peer, slots, mr->lkey, count - others);
	peer_meet(peer);
	memcpy(&sum, peer->buffer + COUNTER_AT, sizeof(sum));
	if (!peer->is_client)
		must(sum == others / 3);
	printf("%u messages\n", count);
	peer_qp_destroy(peer);
	must(ibv_dereg_mr(mr) == 0);
}
