/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every operation of RC, UC and UD, one at a time: those of the captures in tests/captures, in their order. */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ATOMIC_AT 65528u

/* The bytes that a WRITE has left; those beyond are not asked for: another may have been there. */
static void check_written(const struct peer *peer, const struct peer_operation *operation)
{
	for (uint32_t i = 0; i < operation->len; i++)
		must(peer->buffer[operation->at + i] == peer_pattern(i));
}

static void take(struct peer *peer, const struct peer_operation *operation, unsigned n, unsigned receive)
{
	struct ibv_wc wc = peer_completion_of(peer, 1000 + receive, IBV_WC_SUCCESS);
	bool is_write = operation->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	must(wc.opcode == (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	must(wc.byte_len == operation->len);
	must(((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == peer_has_immediate(operation->opcode));
	if (peer_has_immediate(operation->opcode))
		must(ntohl(wc.imm_data) == 0xa0b0c000u + n);
	if (is_write)
		check_written(peer, operation);
	else
		for (uint32_t i = 0; i < operation->len; i++)
			must(peer->buffer[receive % 8 * PEER_SLOT + i] == peer_pattern(i));
}

/* The client posts one after the other; the server takes what shows there. */
static void run(struct peer *peer, const struct peer_operation *list, size_t count)
{
	unsigned receives = 0;

	for (size_t i = 0; i < count && !peer->is_client; i++)
		if (peer_takes_receive(list[i].opcode))
			peer_receive(peer, receives++);
	peer_meet(peer);
	receives = 0;
	for (unsigned i = 0; i < count; i++) {
		if (peer->is_client) {
			if (list[i].opcode == IBV_WR_RDMA_READ)
				memset(peer->buffer, 0, list[i].len);
			peer_post(peer, &list[i], i, peer->there.key);
			peer_completion_of(peer, i, IBV_WC_SUCCESS);
			if (list[i].opcode == IBV_WR_RDMA_READ && list[i].at == 8192) /* what the WRITE there has left */
				for (uint32_t at = 0; at < list[i].len; at++)
					must(peer->buffer[at] == peer_pattern(at));
		} else if (peer_takes_receive(list[i].opcode)) {
			take(peer, &list[i], i, receives++);
		}
		peer_meet(peer); /* before the next may come to where this one lies */
	}
}

void peer_run_rc(struct peer *peer)
{
	static const struct peer_operation list[] = {
		{"SEND", IBV_WR_SEND, .len = 16},
		{"SEND", IBV_WR_SEND, .len = 5},
		{"SEND", IBV_WR_SEND, .len = 0},
		{"SEND inline, solicited", IBV_WR_SEND, .len = 64, .flags = IBV_SEND_INLINE | IBV_SEND_SOLICITED},
		{"SEND", IBV_WR_SEND, .len = 3001},
		{"SEND with immediate", IBV_WR_SEND_WITH_IMM, .len = 100},
		{"SEND with immediate", IBV_WR_SEND_WITH_IMM, .len = 2048},
		{"WRITE", IBV_WR_RDMA_WRITE, .len = 64},
		{"WRITE", IBV_WR_RDMA_WRITE, .len = 0},
		{"WRITE", IBV_WR_RDMA_WRITE, .len = 5003, .at = 8192},
		{"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 0},
		{"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 33, .at = 1},
		{"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 2049, .at = 4096},
		{"READ", IBV_WR_RDMA_READ, .len = 64},
		{"READ", IBV_WR_RDMA_READ, .len = 4097, .at = 8192},
		{"READ, fenced", IBV_WR_RDMA_READ, .len = 3, .at = 7, .flags = IBV_SEND_FENCE},
		{"COMPARE AND SWAP that matches", IBV_WR_ATOMIC_CMP_AND_SWP, .len = 8, .at = ATOMIC_AT, .swap = 0x1122334455667788},
		{"COMPARE AND SWAP that does not", IBV_WR_ATOMIC_CMP_AND_SWP, .len = 8, .at = ATOMIC_AT, .compare_add = 1,
		 .swap = 2},
		{"FETCH AND ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .at = ATOMIC_AT, .compare_add = 0x0000000100000001},
	};
	uint64_t value;

	peer_qp_create(peer, IBV_QPT_RC);
	peer_qp_connect(peer, peer_connection_default(peer));
	run(peer, list, sizeof(list) / sizeof(list[0]));
	memcpy(&value, peer->buffer + (peer->is_client ? 0 : ATOMIC_AT), sizeof(value));
	/* The client has what was there before the addition. */
	must(value == (peer->is_client ? 0x1122334455667788 : 0x1122334555667789));
	peer_qp_destroy(peer);
}

void peer_run_uc(struct peer *peer)
{
	static const struct peer_operation list[] = {
		{"SEND", IBV_WR_SEND, .len = 16},
		{"SEND", IBV_WR_SEND, .len = 3001},
		{"SEND with immediate", IBV_WR_SEND_WITH_IMM, .len = 7},
		{"SEND with immediate", IBV_WR_SEND_WITH_IMM, .len = 1500},
		{"WRITE", IBV_WR_RDMA_WRITE, .len = 64},
		{"WRITE", IBV_WR_RDMA_WRITE, .len = 4000, .at = 8192},
		{"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 9, .at = 3},
		{"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 3000, .at = 4096},
	};

	peer_qp_create(peer, IBV_QPT_UC);
	peer_qp_connect(peer, peer_connection_default(peer));
	run(peer, list, sizeof(list) / sizeof(list[0]));
	if (!peer->is_client)
		check_written(peer, &list[5]);
	peer_qp_destroy(peer);
}

void peer_run_ud(struct peer *peer)
{
	static const uint32_t lens[] = {0, 1, 4, 33, 1024};
	struct ibv_ah_attr path;
	struct ibv_ah *ah;

	peer_qp_create(peer, IBV_QPT_UD);
	peer_qp_connect(peer, peer_connection_default(peer));
	path = peer_path(peer);
	ah = ibv_create_ah(peer->pd, &path);
	must(ah != NULL);
	for (unsigned i = 0; i < 10 && !peer->is_client; i++)
		peer_receive(peer, i);
	peer_meet(peer);
	for (unsigned i = 0; i < 10; i++) {
		uint32_t len = lens[i / 2];
		struct ibv_sge part = {(uintptr_t)peer->buffer, len, peer->mr->lkey};
		struct ibv_send_wr wr = {
			.wr_id = i,
			.sg_list = &part,
			.num_sge = len > 0,
			.opcode = i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			.imm_data = i & 1 ? htonl(0xa0b0c000u + i) : 0,
			.wr.ud = {.ah = ah, .remote_qpn = peer->there.qpn, .remote_qkey = PEER_QKEY},
		}, *bad;

		if (peer->is_client) {
			must(ibv_post_send(peer->qp, &wr, &bad) == 0);
			peer_completion_of(peer, i, IBV_WC_SUCCESS);
			continue;
		}
		struct ibv_wc wc = peer_completion_of(peer, 1000 + i, IBV_WC_SUCCESS);

		must(wc.byte_len == 40 + len && wc.src_qp == peer->there.qpn && wc.wc_flags & IBV_WC_GRH);
		must(((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == ((i & 1) != 0));
		must(!(i & 1) || ntohl(wc.imm_data) == 0xa0b0c000u + i);
		for (uint32_t at = 0; at < len; at++)
			must(peer->buffer[i % 8 * PEER_SLOT + 40 + at] == peer_pattern(at));
	}
	peer_meet(peer);
	must(ibv_destroy_ah(ah) == 0);
	peer_qp_destroy(peer);
}

/* The server binds a window, the client writes through it and sends with invalidate; then the window is closed. */
void peer_run_invalidate(struct peer *peer)
{
	static const struct peer_operation write = {"WRITE through a window", IBV_WR_RDMA_WRITE, .len = 300};
	static const struct peer_operation invalidate = {"SEND with invalidate", IBV_WR_SEND_WITH_INV, .len = 20};
	struct ibv_mw *window = NULL;
	uint32_t key = 0, theirs;

	peer_qp_create(peer, IBV_QPT_RC);
	peer_qp_connect(peer, peer_connection_default(peer));
	if (!peer->is_client) {
		window = ibv_alloc_mw(peer->pd, IBV_MW_TYPE_2);
		if (window == NULL && (errno == EOPNOTSUPP || errno == ENOSYS))
			peer_skip("no memory windows");
		must(window != NULL);
		key = ibv_inc_rkey(window->rkey);
		struct ibv_send_wr bind = {.wr_id = 50, .opcode = IBV_WR_BIND_MW}, *bad;

		bind.bind_mw.mw = window;
		bind.bind_mw.rkey = key;
		bind.bind_mw.bind_info = (struct ibv_mw_bind_info){peer->mr, (uintptr_t)peer->buffer, 4096, IBV_ACCESS_REMOTE_WRITE};
		peer_receive(peer, 7);
		must(ibv_post_send(peer->qp, &bind, &bad) == 0);
		peer_completion_of(peer, 50, IBV_WC_SUCCESS);
	}
	peer_swap(peer, &key, &theirs, sizeof(key));
	if (peer->is_client) {
		peer_post(peer, &write, 0, theirs);
		peer_completion_of(peer, 0, IBV_WC_SUCCESS);
		peer_post(peer, &invalidate, 1, theirs);
		peer_completion_of(peer, 1, IBV_WC_SUCCESS);
		peer_meet(peer);
		peer_post(peer, &write, 2, theirs);
		peer_completion_of(peer, 2, IBV_WC_REM_ACCESS_ERR);
	} else {
		struct ibv_wc wc = peer_completion_of(peer, 1007, IBV_WC_SUCCESS);

		/* Linux 6.1's rxe hands out the kernel's number for the flag, 4. */
		must(wc.wc_flags & (peer->here.is_rxe ? 4u | IBV_WC_WITH_INV : IBV_WC_WITH_INV));
		must(wc.invalidated_rkey == key);
		check_written(peer, &write);
		must(peer->buffer[300] == 0);
		peer_meet(peer);
	}
	peer_meet(peer);
	peer_qp_destroy(peer);
	if (window != NULL)
		must(ibv_dealloc_mw(window) == 0);
}
