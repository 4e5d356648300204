/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One connection for each way to go wrong, and what both ends must say. The client's operation is the one that goes wrong. */
#include "peer.h"

#include <stdio.h>

enum server_does {
	RECEIVES,     /* is ready */
	COMES_LATE,   /* posts its receive when the client waits already */
	HAS_NONE,     /* never posts one */
	IS_GONE,      /* its queue pair is destroyed */
	SEES_NOTHING, /* is passive, and nothing shows there */
};

enum which_key { RIGHT_KEY, WRONG_KEY, READ_ONLY_KEY };

struct error {
	struct peer_operation operation;
	enum which_key key;
	enum server_does server;
	unsigned access; /* of the server's queue pair */
	int psn_ahead;   /* of the client's first packet, as the server sees it */
	uint8_t rnr_retry, retry;
	enum ibv_wc_status client, client_of_rxe; /* status there when the responder is ours, when it is rxe */
};

#define ALL_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define BOTH(status) .client = status, .client_of_rxe = status

static const struct error errors[] = {
	{{"no receive yet: RNR NAK, then served", IBV_WR_SEND, .len = 16}, .server = COMES_LATE, .access = ALL_ACCESS, .rnr_retry = 7,
	 .retry = 7, BOTH(IBV_WC_SUCCESS)},
	{{"never a receive: RNR NAKs run out", IBV_WR_SEND, .len = 16}, .server = HAS_NONE, .access = ALL_ACCESS, .rnr_retry = 2,
	 .retry = 7, BOTH(IBV_WC_RNR_RETRY_EXC_ERR)},
	{{"immediate without a receive: RNR NAKs run out", IBV_WR_RDMA_WRITE_WITH_IMM, .len = 16}, .server = HAS_NONE,
	 .access = ALL_ACCESS, .rnr_retry = 1, .retry = 7, BOTH(IBV_WC_RNR_RETRY_EXC_ERR)},
	/* Invalid request by the specification; Linux 6.1's rxe says operation error. */
	{{"SEND longer than the receive", IBV_WR_SEND, .len = 10000}, .server = RECEIVES, .access = ALL_ACCESS, .retry = 7,
	 .client = IBV_WC_REM_INV_REQ_ERR, .client_of_rxe = IBV_WC_REM_OP_ERR},
	{{"WRITE with a wrong key", IBV_WR_RDMA_WRITE, .len = 16}, .key = WRONG_KEY, .server = SEES_NOTHING, .access = ALL_ACCESS,
	 .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"WRITE into a region that may be read", IBV_WR_RDMA_WRITE, .len = 16}, .key = READ_ONLY_KEY, .server = SEES_NOTHING,
	 .access = ALL_ACCESS, .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"WRITE past the region's end", IBV_WR_RDMA_WRITE, .len = 16, .at = PEER_BUFFER - 8}, .server = SEES_NOTHING,
	 .access = ALL_ACCESS, .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"READ past the region's end", IBV_WR_RDMA_READ, .len = 16, .at = PEER_BUFFER - 8}, .server = SEES_NOTHING,
	 .access = ALL_ACCESS, .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"READ with a wrong key", IBV_WR_RDMA_READ, .len = 5000}, .key = WRONG_KEY, .server = SEES_NOTHING, .access = ALL_ACCESS,
	 .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"atomic in a region that may be read", IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .compare_add = 1}, .key = READ_ONLY_KEY,
	 .server = SEES_NOTHING, .access = ALL_ACCESS, .retry = 7, BOTH(IBV_WC_REM_ACCESS_ERR)},
	{{"READ that the queue pair forbids", IBV_WR_RDMA_READ, .len = 16}, .server = SEES_NOTHING, .access = IBV_ACCESS_REMOTE_WRITE,
	 .retry = 7, BOTH(IBV_WC_REM_INV_REQ_ERR)},
	{{"WRITE that the queue pair forbids", IBV_WR_RDMA_WRITE, .len = 16}, .server = SEES_NOTHING,
	 .access = IBV_ACCESS_REMOTE_READ, .retry = 7, BOTH(IBV_WC_REM_INV_REQ_ERR)},
	{{"atomic that the queue pair forbids", IBV_WR_ATOMIC_CMP_AND_SWP, .len = 8}, .server = SEES_NOTHING,
	 .access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, .retry = 7, BOTH(IBV_WC_REM_INV_REQ_ERR)},
	{{"PSN ahead: sequence NAKs until retries run out", IBV_WR_SEND, .len = 16}, .server = SEES_NOTHING, .access = ALL_ACCESS,
	 .psn_ahead = 3, .retry = 2, BOTH(IBV_WC_RETRY_EXC_ERR)},
	{{"the queue pair is gone: silence until retries run out", IBV_WR_SEND, .len = 16}, .server = IS_GONE, .access = ALL_ACCESS,
	 .retry = 2, BOTH(IBV_WC_RETRY_EXC_ERR)},
	{{"READ from a queue pair that is gone", IBV_WR_RDMA_READ, .len = 16}, .server = IS_GONE, .access = ALL_ACCESS, .retry = 1,
	 BOTH(IBV_WC_RETRY_EXC_ERR)},
};

static uint32_t key_of(const struct peer *peer, enum which_key which)
{
	switch (which) {
	case WRONG_KEY:
		return peer->there.key ^ 0x5a00;
	case READ_ONLY_KEY:
		return peer->there.key_read_only;
	case RIGHT_KEY:
		break;
	}
	return peer->there.key;
}

static void client(struct peer *peer, const struct error *error, unsigned n)
{
	static const struct peer_operation next = {"one more, which is flushed", IBV_WR_SEND, .len = 16};
	enum ibv_wc_status expected = peer->there.is_rxe ? error->client_of_rxe : error->client;

	peer_post(peer, &error->operation, n, key_of(peer, error->key));
	if (error->server == COMES_LATE)
		peer_meet(peer);
	if (expected != IBV_WC_SUCCESS)
		peer_post(peer, &next, n + 100, 0);
	peer_completion_of(peer, n, expected);
	if (expected != IBV_WC_SUCCESS)
		peer_completion_of(peer, n + 100, IBV_WC_WR_FLUSH_ERR);

	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	must(ibv_query_qp(peer->qp, &attr, IBV_QP_STATE, &init) == 0);
	must(attr.qp_state == (expected == IBV_WC_SUCCESS ? IBV_QPS_RTS : IBV_QPS_ERR));
}

static void server(struct peer *peer, const struct error *error)
{
	struct ibv_wc wc;

	switch (error->server) {
	case COMES_LATE:
		peer_meet(peer);
		peer_receive(peer, 0);
		peer_completion_of(peer, 1000, IBV_WC_SUCCESS);
		break;
	case RECEIVES: /* each stack has its own name for it; it must not be a success */
		wc = peer_completion(peer);
		must(wc.wr_id == 1000 && wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR);
		break;
	case HAS_NONE:
	case IS_GONE:
	case SEES_NOTHING:
		break;
	}
}

/* Nothing of the pattern, which the client's operations would have brought, is in the server's buffer. */
static void check_untouched(const struct peer *peer)
{
	for (size_t i = PEER_BUFFER - 16; i < PEER_BUFFER; i++)
		must(peer->buffer[i] == 0);
	for (size_t i = PEER_SLOT; i < 2 * PEER_SLOT; i++)
		must(peer->buffer[i] == 0);
}

void peer_run_errors(struct peer *peer)
{
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const struct error *error = &errors[i];
		struct peer_connection connection;

		printf("%u: %s\n", i, error->operation.words);
		peer_qp_create(peer, IBV_QPT_RC);
		connection = peer_connection_default(peer);
		connection.rnr_retry = error->rnr_retry;
		connection.retry = error->retry;
		if (!peer->is_client) {
			connection.access = error->access;
			connection.receive_psn -= (uint32_t)error->psn_ahead;
		}
		peer_qp_connect(peer, connection);
		if (!peer->is_client && error->server == RECEIVES)
			peer_receive(peer, 0);
		if (!peer->is_client && error->server == IS_GONE)
			peer_qp_destroy(peer);
		peer_meet(peer);
		if (peer->is_client)
			client(peer, error, i);
		else
			server(peer, error);
		peer_meet(peer);
		if (peer->qp != NULL)
			peer_qp_destroy(peer);
	}
	if (!peer->is_client)
		check_untouched(peer);
}
