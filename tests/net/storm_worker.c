/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One of the processes of storm.py: for as long as it lives it makes queue pairs of all types, connects them with those of the
 * others (found in a directory of address files), sends and receives, destroys, and starts again.
 *
 *   storm_worker DIRECTORY NUMBER WORKERS SEED MILLISECONDS
 *
 * Nothing that happens to the others may be its error: completions may fail, peers may be dead, addresses may be stale. Errors
 * are calls that fail although nothing forbids them, and completions for what was not posted. Exits with 0, or with 1 and a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QPS 6
#define DEPTH 16
#define BYTES 65536
#define QKEY 0x1234

struct address { /* in the file DIRECTORY/NUMBER, replaced as a whole */
	uint32_t qpn[QPS], type[QPS], rkey;
	uint64_t addr;
};

struct end {
	struct ibv_qp *qp;
	enum ibv_qp_type type;
	unsigned sends, recvs; /* posted and not completed */
	bool connected, failed;
};

static struct {
	const char *directory;
	unsigned number, workers;
	uint64_t random;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	uint8_t *buf;
	struct end ends[QPS];
	union ibv_gid gid;
	int gid_index;
	struct address self;
	uint64_t completions, failures, connections;
} w;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("worker %u: ", w.number);
	vprintf(format, args);
	printf(" (%s)\n", strerror(errno));
	va_end(args);
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static unsigned pick(unsigned below)
{
	uint64_t z = w.random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ (z >> 31)) % below);
}

static void open_all(void)
{
	static const uint8_t wanted[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	struct ibv_gid_entry entries[64];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 64, .max_sge = 1}};
	ssize_t count;

	for (int i = 0; list != NULL && list[i] != NULL && w.context == NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), "sv_lo") == 0)
			w.context = ibv_open_device(list[i]);
	if (w.context == NULL)
		die("no device");
	ibv_free_device_list(list);
	count = ibv_query_gid_table(w.context, entries, 64, 0);
	w.gid_index = -1;
	for (ssize_t i = 0; i < count; i++)
		if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(entries[i].gid.raw, wanted, 16) == 0) {
			w.gid = entries[i].gid;
			w.gid_index = (int)entries[i].gid_index;
		}
	w.buf = aligned_alloc(4096, BYTES);
	w.pd = ibv_alloc_pd(w.context);
	w.channel = ibv_create_comp_channel(w.context);
	if (w.gid_index < 0 || w.buf == NULL || w.pd == NULL || w.channel == NULL)
		die("no GID, memory, PD or channel");
	memset(w.buf, (int)w.number, BYTES);
	w.mr = ibv_reg_mr(w.pd, w.buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC);
	w.cq = ibv_create_cq(w.context, 1024, NULL, w.channel, 0);
	w.srq = ibv_create_srq(w.pd, &srq);
	if (w.mr == NULL || w.cq == NULL || w.srq == NULL)
		die("no MR, CQ or SRQ");
}

static struct ibv_sge somewhere(unsigned most)
{
	unsigned length = 1 + pick(most);

	return (struct ibv_sge){(uintptr_t)w.buf + pick(BYTES - length), length, w.mr->lkey};
}

static void post_recv(unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)w.buf, BYTES, w.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 0x100 | i, .sg_list = &sge, .num_sge = 1}, *bad;
	struct end *e = &w.ends[i];

	while (e->recvs < DEPTH) {
		int err = ibv_post_recv(e->qp, &wr, &bad);

		if (err != 0) {
			errno = err;
			die("post_recv");
		}
		e->recvs++;
	}
}

static void create(unsigned i)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct end *e = &w.ends[i];
	struct ibv_qp_init_attr attr = {
		.send_cq = w.cq, .recv_cq = w.cq, .qp_type = types[pick(4)], .cap = {DEPTH, DEPTH, 1, 1, 0},
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	bool datagram = attr.qp_type == IBV_QPT_UD;

	*e = (struct end){.type = attr.qp_type, .qp = ibv_create_qp(w.pd, &attr)};
	if (e->qp == NULL)
		die("create_qp");
	if (attr.qp_type == IBV_QPT_UC)
		init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	errno = ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	if (errno != 0)
		die("to INIT");
	w.self.qpn[i] = e->qp->qp_num;
	w.self.type[i] = e->type;
}

static void destroy(unsigned i)
{
	struct end *e = &w.ends[i];

	if (e->qp == NULL)
		return;
	w.self.qpn[i] = 0;
	errno = ibv_destroy_qp(e->qp);
	if (errno != 0)
		die("destroy_qp");
	*e = (struct end){0};
}

static void publish(void)
{
	char path[512], temporary[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%u", w.directory, w.number);
	snprintf(temporary, sizeof(temporary), "%s/.%u", w.directory, w.number);
	w.self.rkey = w.mr->rkey;
	w.self.addr = (uintptr_t)w.buf;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, &w.self, sizeof(w.self)) != sizeof(w.self) || rename(temporary, path) != 0)
		die("%s", path);
	close(fd);
}

/* Mostly the partner, so that connections have two ends; else anybody, who knows nothing of us. */
static bool other(struct address *out)
{
	unsigned number = pick(5) != 0 ? w.number ^ 1 : pick(w.workers);
	char path[512];
	int fd;
	bool whole;

	snprintf(path, sizeof(path), "%s/%u", w.directory, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	whole = read(fd, out, sizeof(*out)) == sizeof(*out);
	close(fd);
	return whole;
}

static bool is_in_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR;
}

/* To the end of that number of somebody else: he does the same when he meets our address, or not at all. */
static void connect_to(unsigned i, const struct address *peer)
{
	struct end *e = &w.ends[i];
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn[i], .rq_psn = peer->qpn[i],
		.max_dest_rd_atomic = 4, .min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = w.gid, .sgid_index = (uint8_t)w.gid_index, .hop_limit = 64}},
	};
	int mask = IBV_QP_STATE;

	if (e->type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (e->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	errno = ibv_modify_qp(e->qp, &attr, mask);
	if (errno != 0)
		die("to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = e->qp->qp_num, .timeout = 8, .retry_cnt = 3, .rnr_retry = 3, .max_rd_atomic = 4,
	};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (e->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	errno = ibv_modify_qp(e->qp, &attr, mask);
	if (errno == EINVAL && is_in_error(e->qp)) {
		/* The peer was faster, and wrong: it used a key that we no longer have, while we were in RTR. */
		e->connected = e->failed = true;
		return;
	}
	if (errno != 0)
		die("to RTS");
	e->connected = true;
	w.connections++;
	post_recv(i);
}

static void send_some(unsigned i, const struct address *peer)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct end *e = &w.ends[i];
	struct ibv_send_wr *bad;

	for (unsigned n = pick(8); n > 0 && e->sends < DEPTH; n--) {
		struct ibv_sge sge = somewhere(e->type == IBV_QPT_UD ? 1024 : 20000);
		struct ibv_send_wr wr = {
			.wr_id = i, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
			.opcode = opcodes[e->type == IBV_QPT_RC ? pick(4) : e->type == IBV_QPT_UC ? pick(2) : 0],
		};

		wr.wr.rdma.remote_addr = peer->addr;
		wr.wr.rdma.rkey = peer->rkey;
		if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			sge.length = 8;
			sge.addr = (uintptr_t)w.buf;
			wr.wr.atomic.remote_addr = peer->addr;
			wr.wr.atomic.rkey = peer->rkey;
			wr.wr.atomic.compare_add = 1;
		}
		if (e->type == IBV_QPT_UD) {
			wr.wr.ud.ah = w.ah;
			wr.wr.ud.remote_qpn = peer->qpn[i];
			wr.wr.ud.remote_qkey = QKEY;
		}
		errno = ibv_post_send(e->qp, &wr, &bad);
		if (errno != 0)
			die("post_send");
		e->sends++;
	}
}

static void drain(void)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = ibv_poll_cq(w.cq, 16, wc)) > 0)
		for (int k = 0; k < n; k++) {
			unsigned i = wc[k].wr_id & 0xff;
			bool is_recv = wc[k].wr_id & 0x100;
			struct end *e = &w.ends[i % QPS];

			w.completions++;
			if (i >= QPS || e->qp == NULL || e->qp->qp_num != wc[k].qp_num)
				die("a completion of a queue pair that is destroyed: wr_id %llx", (unsigned long long)wc[k].wr_id);
			unsigned *posted = is_recv ? &e->recvs : &e->sends;

			if ((*posted)-- == 0)
				die("a completion too many: wr_id %llx", (unsigned long long)wc[k].wr_id);
			if (wc[k].status != IBV_WC_SUCCESS) {
				w.failures++;
				e->failed = true;
			}
		}
	if (n < 0)
		die("poll_cq");
}

static void step(void)
{
	unsigned i = pick(QPS);
	struct end *e = &w.ends[i];
	struct address peer;

	if (e->qp == NULL) {
		create(i);
		publish();
	} else if (pick(e->failed ? 3 : 200) == 0) {
		destroy(i);
		publish();
	} else if (other(&peer) && peer.qpn[i] != 0 && peer.type[i] == e->type) {
		if (!e->connected) {
			connect_to(i, &peer);
		} else {
			post_recv(i);
			send_some(i, &peer);
		}
	}
	drain();
	if (pick(20) == 0)
		usleep(pick(3000)); /* lets others find what is there; their traffic is the progress thread's meanwhile */
}

static void close_all(void)
{
	for (unsigned i = 0; i < QPS; i++)
		destroy(i);
	if (ibv_destroy_ah(w.ah) || ibv_destroy_srq(w.srq) || ibv_destroy_cq(w.cq) || ibv_dereg_mr(w.mr) ||
	    ibv_destroy_comp_channel(w.channel) || ibv_dealloc_pd(w.pd) || ibv_close_device(w.context))
		die("close");
	free(w.buf);
}

int main(int argc, char **argv)
{
	uint64_t end;

	if (argc != 6)
		return 2;
	w.directory = argv[1];
	w.number = (unsigned)atoi(argv[2]);
	w.workers = (unsigned)atoi(argv[3]);
	w.random = strtoull(argv[4], NULL, 0);
	end = now_ms() + strtoull(argv[5], NULL, 0);
	open_all();

	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = w.gid, .sgid_index = (uint8_t)w.gid_index, .hop_limit = 64}};

	w.ah = ibv_create_ah(w.pd, &ah);
	if (w.ah == NULL)
		die("create_ah");
	while (now_ms() < end)
		step();
	if (pick(3) == 0) /* most programs leave everything to exit */
		close_all();
	printf("%llu completions, %llu failed, %llu connections\n", (unsigned long long)w.completions,
	       (unsigned long long)w.failures, (unsigned long long)w.connections);
	return 0;
}
