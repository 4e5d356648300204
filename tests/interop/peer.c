/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 *   peer -d DEVICE -x GID-INDEX -p PORT [-m PATH-MTU] [-n MESSAGES] SCENARIO [SERVER]
 *
 * Without SERVER it is the server and waits for one client.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PSN_CLIENT 0xfffffau /* soon past the end */
#define PSN_SERVER 0x123456u

void peer_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", file, line, what, strerror(errno));
	exit(1);
}

void peer_skip(const char *why)
{
	fprintf(stderr, "skipped: %s\n", why);
	exit(77);
}

/* ---- the line beside the traffic ---- */

static int line_open(const char *server, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | (server ? 0 : AI_PASSIVE)}, *found;
	int yes = 1, accepted;

	hints.ai_family = server ? AF_UNSPEC : AF_INET6; /* the server takes both families */
	must(getaddrinfo(server, port, &hints, &found) == 0);
	int fd = socket(found->ai_family, SOCK_STREAM, 0);

	must(fd >= 0);
	if (server) {
		must(connect(fd, found->ai_addr, found->ai_addrlen) == 0);
	} else {
		must(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0);
		must(bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0);
		accepted = accept(fd, NULL, NULL);
		must(accepted >= 0);
		close(fd);
		fd = accepted;
	}
	freeaddrinfo(found);
	return fd;
}

void peer_swap(struct peer *peer, const void *mine, void *theirs, size_t len)
{
	must(write(peer->line, mine, len) == (ssize_t)len);
	for (size_t have = 0; have < len;) {
		ssize_t n = read(peer->line, (char *)theirs + have, len - have);

		must(n > 0);
		have += (size_t)n;
	}
}

void peer_meet(struct peer *peer)
{
	char mine = '.', theirs;

	peer_swap(peer, &mine, &theirs, 1);
}

/* ---- device and queue pairs ---- */

static void device_open(struct peer *peer, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t i = 0;

	must(list != NULL);
	while (list[i] != NULL && name != NULL && strcmp(ibv_get_device_name(list[i]), name) != 0)
		i++;
	must(list[i] != NULL);
	peer->here.is_rxe = strncmp(ibv_get_device_name(list[i]), "rxe", 3) == 0;
	peer->context = ibv_open_device(list[i]);
	must(peer->context != NULL);
	ibv_free_device_list(list);
	must(ibv_query_gid(peer->context, 1, peer->gid_index, &peer->here.gid) == 0);
	peer->pd = ibv_alloc_pd(peer->context);
	peer->cq = ibv_create_cq(peer->context, 512, NULL, NULL, 0);
	peer->buffer = aligned_alloc(4096, PEER_BUFFER);
	must(peer->pd != NULL && peer->cq != NULL && peer->buffer != NULL);
	for (size_t at = 0; at < PEER_BUFFER; at++)
		peer->buffer[at] = peer->is_client ? peer_pattern(at) : 0;

	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	peer->mr = ibv_reg_mr(peer->pd, peer->buffer, PEER_BUFFER, all | IBV_ACCESS_MW_BIND);
	if (peer->mr == NULL) /* no memory windows here */
		peer->mr = ibv_reg_mr(peer->pd, peer->buffer, PEER_BUFFER, all);
	peer->mr_read_only = ibv_reg_mr(peer->pd, peer->buffer, PEER_BUFFER, IBV_ACCESS_REMOTE_READ);
	must(peer->mr != NULL && peer->mr_read_only != NULL);
}

void peer_qp_create(struct peer *peer, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr want = {
		.send_cq = peer->cq,
		.recv_cq = peer->cq,
		.qp_type = type,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = peer->depth, .max_recv_wr = peer->depth, .max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = 64},
	};

	peer->qp = ibv_create_qp(peer->pd, &want);
	must(peer->qp != NULL);
	peer->here.qpn = peer->qp->qp_num;
	peer->here.psn = peer->is_client ? PSN_CLIENT : PSN_SERVER;
	peer->here.key = peer->mr->rkey;
	peer->here.key_read_only = peer->mr_read_only->rkey;
	peer->here.address = (uintptr_t)peer->buffer;
	peer_swap(peer, &peer->here, &peer->there, sizeof(peer->here));
}

struct ibv_ah_attr peer_path(const struct peer *peer)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = peer->there.gid, .sgid_index = peer->gid_index, .hop_limit = 64, .traffic_class = 0x60,
			.flow_label = 0x12345},
	};
}

struct peer_connection peer_connection_default(const struct peer *peer)
{
	return (struct peer_connection){
		.receive_psn = peer->there.psn,
		.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.rnr_timer = 12,
		.rnr_retry = 7,
		.retry = 7,
		.timeout = 14,
	};
}

void peer_qp_connect(struct peer *peer, struct peer_connection connection)
{
	enum ibv_qp_type type = peer->qp->qp_type;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = PEER_QKEY,
		.qp_access_flags = type == IBV_QPT_RC ? connection.access : connection.access & IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = peer->mtu,
		.dest_qp_num = peer->there.qpn,
		.rq_psn = connection.receive_psn & 0xffffff,
		.sq_psn = peer->here.psn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = connection.rnr_timer,
		.rnr_retry = connection.rnr_retry,
		.retry_cnt = connection.retry,
		.timeout = connection.timeout,
		.ah_attr = peer_path(peer),
	};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	init |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (type != IBV_QPT_UD)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	attr.qp_state = IBV_QPS_INIT;
	must(ibv_modify_qp(peer->qp, &attr, init) == 0);
	attr.qp_state = IBV_QPS_RTR;
	must(ibv_modify_qp(peer->qp, &attr, rtr) == 0);
	attr.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(peer->qp, &attr, rts) == 0);
}

void peer_qp_destroy(struct peer *peer)
{
	struct ibv_wc wc;

	must(ibv_destroy_qp(peer->qp) == 0);
	peer->qp = NULL;
	while (ibv_poll_cq(peer->cq, 1, &wc) > 0) /* what was flushed */
		;
}

/* ---- work ---- */

void peer_receive(struct peer *peer, unsigned n)
{
	struct ibv_sge to = {(uintptr_t)peer->buffer + n % 8 * PEER_SLOT, PEER_SLOT, peer->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1000 + n, .sg_list = &to, .num_sge = 1}, *bad;

	must(ibv_post_recv(peer->qp, &wr, &bad) == 0);
}

bool peer_takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		opcode == IBV_WR_SEND_WITH_INV;
}

bool peer_has_immediate(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

void peer_post(struct peer *peer, const struct peer_operation *operation, unsigned n, uint32_t key)
{
	struct ibv_sge part = {(uintptr_t)peer->buffer, operation->len, peer->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = n,
		.sg_list = &part,
		.num_sge = operation->len > 0,
		.opcode = operation->opcode,
		.send_flags = operation->flags,
	}, *bad;

	if (peer_has_immediate(operation->opcode))
		wr.imm_data = htonl(0xa0b0c000u + n);
	if (operation->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = key;
	if (operation->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || operation->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = peer->there.address + operation->at;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = operation->compare_add;
		wr.wr.atomic.swap = operation->swap;
	} else {
		wr.wr.rdma.remote_addr = peer->there.address + operation->at;
		wr.wr.rdma.rkey = key;
	}
	printf("%2u: %s, %u bytes\n", n, operation->words, operation->len);
	must(ibv_post_send(peer->qp, &wr, &bad) == 0);
}

struct ibv_wc peer_completion(struct peer *peer)
{
	struct ibv_wc wc;
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		int n = ibv_poll_cq(peer->cq, 1, &wc);

		must(n >= 0);
		if (n == 1)
			return wc;
		clock_gettime(CLOCK_MONOTONIC, &now);
		must((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < PEER_WAIT_MS);
	}
}

struct ibv_wc peer_completion_of(struct peer *peer, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = peer_completion(peer);

	if (wc.status != status || wc.wr_id != wr_id)
		fprintf(stderr, "completion of %llu: %s; expected was one of %llu: %s\n", (unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status), (unsigned long long)wr_id, ibv_wc_status_str(status));
	must(wc.status == status && wc.wr_id == wr_id);
	return wc;
}

static enum ibv_mtu mtu_of(long bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128L << mtu) < bytes)
		mtu++;
	return mtu;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct peer *peer);
	} scenarios[] = {
		{"rc", peer_run_rc}, {"invalidate", peer_run_invalidate}, {"uc", peer_run_uc}, {"ud", peer_run_ud},
		{"errors", peer_run_errors}, {"bulk", peer_run_bulk}, {"cm", peer_run_cm},
	};
	const size_t count = sizeof(scenarios) / sizeof(scenarios[0]);
	static struct peer peer = {.port = "18500", .mtu = IBV_MTU_1024, .depth = PEER_RECEIVES, .count = 1000};
	const char *device = NULL;
	int option;
	size_t i = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt(argc, argv, "d:x:p:m:n:")) != -1) {
		if (option == 'd')
			device = optarg;
		else if (option == 'x')
			peer.gid_index = (uint8_t)atoi(optarg);
		else if (option == 'p')
			peer.port = optarg;
		else if (option == 'm')
			peer.mtu = mtu_of(atol(optarg));
		else if (option == 'n')
			peer.count = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	while (i < count && optind < argc && strcmp(scenarios[i].name, argv[optind]) != 0)
		i++;
	if (i == count || optind >= argc) {
		fprintf(stderr, "usage: peer -d DEVICE -x GID-INDEX -p PORT [-m PATH-MTU] [-n MESSAGES] SCENARIO [SERVER]\n");
		return 2;
	}
	peer.server = argv[optind + 1];
	peer.is_client = peer.server != NULL;
	device_open(&peer, device);
	peer.line = line_open(peer.server, peer.port);
	scenarios[i].run(&peer);
	puts("done");
	return 0;
}
