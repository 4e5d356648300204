/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast: who is given a datagram to a group. Groups are joined by address (librdmacm), queue pairs attached by verbs; the case
 * "attach" needs neither a group nor a wire. That nothing came is known when a later datagram has come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { QKEY = 0x01234567, GRH = 40, SLOT = 256, SLOTS = 32, GROUP_QPN = 0xffffff, WORD = 8 };

/* A member: an id bound to 127.0.0.1 with a UD QP of the Q_Key that groups have. */
struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	unsigned char *buf; /* slot 0 is sent from */
	uint32_t qkey;
};

static struct sockaddr_in group_of(uint8_t last)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef4d0000u | last) };

	return group;
}

static union ibv_gid mgid_of(uint8_t last)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 77, [15] = last } };

	return gid;
}

static void receive_post(struct member *m, struct ibv_qp *qp, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)m->buf + slot * SLOT, SLOT, m->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	need_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* To RTS, with receives of slots [first, first + count). */
static void qp_ready(struct member *m, struct ibv_qp *qp, uint32_t qkey, uint64_t first, uint64_t count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR };
	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	for (uint64_t slot = first; slot < first + count; slot++)
		receive_post(m, qp, slot);
}

static struct ibv_qp *qp_make(struct member *m, uint32_t qkey, uint64_t first, uint64_t count)
{
	struct ibv_qp_init_attr init = {
		.send_cq = m->cq, .recv_cq = m->cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(m->pd, &init);

	need(qp != NULL);
	qp_ready(m, qp, qkey, first, count);
	return qp;
}

static void member_open(struct member *m)
{
	struct sockaddr_in lo = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memset(m, 0, sizeof(*m));
	need((m->channel = rdma_create_event_channel()) != NULL);
	need_equal(rdma_create_id(m->channel, &m->id, NULL, RDMA_PS_UDP), 0);
	need_equal(rdma_bind_addr(m->id, (struct sockaddr *)&lo), 0);
	need((m->pd = ibv_alloc_pd(m->id->verbs)) != NULL);
	need((m->cq = ibv_create_cq(m->id->verbs, 128, NULL, NULL, 0)) != NULL);
	need((m->buf = calloc(SLOTS, SLOT)) != NULL);
	need((m->mr = ibv_reg_mr(m->pd, m->buf, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE)) != NULL);
	m->qp = qp_make(m, QKEY, 1, 8);
	m->qkey = QKEY;
}

/* Its QPs are in no group any more. */
static void member_close(struct member *m)
{
	if (m->ah != NULL)
		need_equal(ibv_destroy_ah(m->ah), 0);
	need_equal(ibv_destroy_qp(m->qp), 0);
	need_equal(ibv_dereg_mr(m->mr), 0);
	need_equal(ibv_destroy_cq(m->cq), 0);
	need_equal(ibv_dealloc_pd(m->pd), 0);
	need_equal(rdma_destroy_id(m->id), 0);
	rdma_destroy_event_channel(m->channel);
	free(m->buf);
}

static struct rdma_cm_event *event_wait(struct member *m, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need_equal(rdma_get_cm_event(m->channel, &event), 0);
	need_equal(event->event, type);
	return event;
}

/* The address handle that the event tells of, for the first group. Skips where there is no wire. */
static void member_join(struct member *m, uint8_t last, int flags)
{
	static int context;
	struct sockaddr_in group = group_of(last);
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = (uint32_t)flags, .addr = (struct sockaddr *)&group };
	union ibv_gid mgid = mgid_of(last);

	if (rdma_join_multicast_ex(m->id, &attr, &context) != 0) {
		if (errno == ENODEV)
			harness_skip("no wire: port 4791 is another's");
		harness_fail(__FILE__, __LINE__, "join: %s", strerror(errno));
	}
	struct rdma_cm_event *event = event_wait(m, RDMA_CM_EVENT_MULTICAST_JOIN);
	need_equal(event->status, 0);
	need(event->param.ud.private_data == &context);
	need_equal(event->param.ud.qp_num, GROUP_QPN);
	need_equal(event->param.ud.qkey, QKEY);
	need_equal(event->param.ud.ah_attr.is_global, 1);
	need_equal(event->param.ud.ah_attr.grh.hop_limit, 64);
	need(memcmp(&event->param.ud.ah_attr.grh.dgid, &mgid, sizeof(mgid)) == 0);
	if (m->ah == NULL)
		need((m->ah = ibv_create_ah(m->pd, &event->param.ud.ah_attr)) != NULL);
	need_equal(rdma_ack_cm_event(event), 0);
}

static void member_send(struct member *m, uint64_t word)
{
	struct ibv_sge sge = { (uintptr_t)m->buf, WORD, m->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 0, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	memcpy(m->buf, &word, WORD);
	wr.wr.ud.ah = m->ah;
	wr.wr.ud.remote_qpn = GROUP_QPN;
	wr.wr.ud.remote_qkey = m->qkey;
	need_equal(ibv_post_send(m->qp, &wr, &bad), 0);
	/* Its own copy may come first: then it waits at the end of the queue of receives that the caller counts. */
	do
		wc = cq_wait(m->cq);
	while (wc.opcode != IBV_WC_SEND);
	need_equal(wc.status, IBV_WC_SUCCESS);
}

/* The next datagram is this word, to this QP, with the group in its first 40 bytes. */
static void member_hears(struct member *m, const struct ibv_qp *qp, uint8_t last, uint64_t word)
{
	struct ibv_wc wc = cq_wait(m->cq);
	union ibv_gid mgid = mgid_of(last);
	uint64_t got;

	need_equal(wc.status, IBV_WC_SUCCESS);
	need_equal(wc.opcode, IBV_WC_RECV);
	need_equal(wc.byte_len, GRH + WORD);
	need(wc.wc_flags & IBV_WC_GRH);
	need_equal(wc.qp_num, qp->qp_num);
	memcpy(&got, m->buf + wc.wr_id * SLOT + GRH, WORD);
	need_equal(got, word);
	/* An IPv4 header at the end of the area: its destination is the group. */
	need(memcmp(m->buf + wc.wr_id * SLOT + GRH - 4, mgid.raw + 12, 4) == 0);
}

static void run_attach(void)
{
	struct rc rc;
	struct member m = { 0 };
	union ibv_gid group = mgid_of(1), other = mgid_of(2), six = { .raw = { 0xff, 0x0e, [15] = 1 } }, plain;

	rc_open(&rc, NULL);
	need_equal(ibv_attach_mcast(rc.qp, &group, 0), EINVAL);
	need_equal(ibv_detach_mcast(rc.qp, &group, 0), EINVAL);
	m.pd = rc.pd;
	m.cq = rc.recv_cq;
	m.qp = qp_make(&m, QKEY, 0, 0);
	memcpy(&plain, &rc.gid, sizeof(plain));
	need_equal(ibv_attach_mcast(m.qp, &plain, 0), EINVAL);
	need_equal(ibv_detach_mcast(m.qp, &group, 0), EINVAL);
	need_equal(ibv_attach_mcast(m.qp, &group, 0), 0);
	need_equal(ibv_attach_mcast(m.qp, &group, 0), 0);
	need_equal(ibv_attach_mcast(m.qp, &six, 0), 0);
	need_equal(ibv_detach_mcast(m.qp, &other, 0), EINVAL);
	need_equal(ibv_destroy_qp(m.qp), EBUSY);
	need_equal(ibv_detach_mcast(m.qp, &group, 0), 0);
	need_equal(ibv_detach_mcast(m.qp, &group, 0), EINVAL);
	need_equal(ibv_destroy_qp(m.qp), EBUSY);
	need_equal(ibv_detach_mcast(m.qp, &six, 0), 0);
	need_equal(ibv_destroy_qp(m.qp), 0);
	rc_close(&rc);
}

/* In one process: two QPs in the group each get one copy; one that left, one with another Q_Key and one of another group none. */
static void run_qps(void)
{
	struct member m;
	union ibv_gid one = mgid_of(1), two = mgid_of(2);

	member_open(&m);
	member_join(&m, 1, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	member_join(&m, 2, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	struct ibv_qp *second = qp_make(&m, QKEY, 9, 4), *foreign = qp_make(&m, QKEY + 1, 13, 2), *elsewhere = qp_make(&m, QKEY, 15, 2);
	need_equal(ibv_attach_mcast(second, &one, 0), 0);
	need_equal(ibv_attach_mcast(foreign, &one, 0), 0);
	need_equal(ibv_attach_mcast(elsewhere, &two, 0), 0);

	struct ibv_port_attr before, after;
	need_equal(ibv_query_port(m.id->verbs, 1, &before), 0);
	member_send(&m, 41);
	member_hears(&m, second, 1, 41);
	need_equal(ibv_query_port(m.id->verbs, 1, &after), 0);
	need_equal(after.qkey_viol_cntr, before.qkey_viol_cntr + 1);

	/* The sender's own QP hears itself if it is attached; the newest member is the last to get its copy. */
	need_equal(ibv_detach_mcast(second, &one, 0), 0);
	need_equal(ibv_attach_mcast(m.qp, &one, 0), 0);
	need_equal(ibv_detach_mcast(foreign, &one, 0), 0);
	need_equal(ibv_attach_mcast(second, &one, 0), 0);
	for (int round = 0; round < 2; round++) {
		struct ibv_sge sge = { (uintptr_t)m.buf, WORD, m.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
		unsigned sent = 0, own = 0, others = 0;

		wr.wr.ud.ah = m.ah;
		wr.wr.ud.remote_qpn = GROUP_QPN;
		wr.wr.ud.remote_qkey = QKEY;
		need_equal(ibv_post_send(m.qp, &wr, &bad), 0);
		for (int i = 0; i < 3; i++) {
			struct ibv_wc wc = cq_wait(m.cq);

			need_equal(wc.status, IBV_WC_SUCCESS);
			sent += wc.opcode == IBV_WC_SEND;
			own += wc.opcode == IBV_WC_RECV && wc.qp_num == m.qp->qp_num;
			others += wc.opcode == IBV_WC_RECV && wc.qp_num == second->qp_num;
		}
		need_equal(sent * 100 + own * 10 + others, 111);
	}
	cq_expect_none(m.cq, 50);
	need_equal(ibv_detach_mcast(second, &one, 0), 0);
	need_equal(ibv_detach_mcast(m.qp, &one, 0), 0);
	need_equal(ibv_detach_mcast(elsewhere, &two, 0), 0);
	need_equal(ibv_destroy_qp(second), 0);
	need_equal(ibv_destroy_qp(foreign), 0);
	need_equal(ibv_destroy_qp(elsewhere), 0);
	member_close(&m);
}

enum { COUNT = 6 };

/* Joins and hears COUNT words, then those after each rendezvous. */
/* Made so that it does not hear itself: others' datagrams come, its own do not; and for datagrams alone. */
static void run_own(void)
{
	struct member m;
	union ibv_gid one = mgid_of(1);

	member_open(&m);
	member_join(&m, 1, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_UD, .send_cq = m.cq, .recv_cq = m.cq, .pd = m.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *deaf = ibv_create_qp_ex(m.id->verbs, &init);
	need(deaf != NULL);
	qp_ready(&m, deaf, QKEY, 9, 4);
	need_equal(ibv_attach_mcast(deaf, &one, 0), 0);
	struct ibv_sge sge = { (uintptr_t)m.buf, WORD, m.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	wr.wr.ud.ah = m.ah;
	wr.wr.ud.remote_qpn = GROUP_QPN;
	wr.wr.ud.remote_qkey = QKEY;
	need_equal(ibv_post_send(deaf, &wr, &bad), 0);
	need_equal(cq_wait(m.cq).opcode, IBV_WC_SEND);
	cq_expect_none(m.cq, 50);
	member_send(&m, 42);
	member_hears(&m, deaf, 1, 42);
	need_equal(ibv_detach_mcast(deaf, &one, 0), 0);
	need_equal(ibv_destroy_qp(deaf), 0);
	init.qp_type = IBV_QPT_RC;
	need(ibv_create_qp_ex(m.id->verbs, &init) == NULL);
	need_equal(errno, EOPNOTSUPP);
	member_close(&m);
}

static void listener(struct peer *peer)
{
	struct member m;
	union ibv_gid mgid = mgid_of(3);
	struct sockaddr_in group = group_of(3);

	member_open(&m);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	need_equal(ibv_attach_mcast(m.qp, &mgid, 0), 0);
	peer_tell(peer);
	/* One copy each, in order: a second copy of one would be where the next one should be. */
	for (uint64_t word = 1; word <= COUNT; word++)
		member_hears(&m, m.qp, 3, word);
	need_equal(rdma_leave_multicast(m.id, (struct sockaddr *)&group), 0);
	need_equal(rdma_leave_multicast(m.id, (struct sockaddr *)&group), -1);
	need_equal(errno, EADDRNOTAVAIL);
	peer_tell(peer);
	peer_await(peer);
	/* Still attached, no longer joined: nothing comes. */
	cq_expect_none(m.cq, 100);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	peer_tell(peer);
	member_hears(&m, m.qp, 3, 200);
	need_equal(ibv_detach_mcast(m.qp, &mgid, 0), 0);
	peer_tell(peer);
	peer_await(peer);
	member_close(&m);
}

static void run_members(void)
{
	struct peer a = peer_start(listener), b = peer_start(listener);
	struct member m;

	member_open(&m);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
	peer_await(&a);
	peer_await(&b);
	for (uint64_t word = 1; word <= COUNT; word++)
		member_send(&m, word);
	peer_await(&a);
	peer_await(&b);
	member_send(&m, 100);
	peer_tell(&a);
	peer_await(&a);
	peer_tell(&b);
	peer_await(&b);
	member_send(&m, 200);
	peer_await(&a);
	peer_await(&b);
	peer_tell(&a);
	peer_tell(&b);
	peer_join(&a);
	peer_join(&b);
	member_close(&m);
}

/* How many sockets of the namespace are in the group 239.77.0.3. */
static int users(void)
{
	FILE *f = fopen("/proc/net/igmp", "r");
	char line[256];
	unsigned group;
	int count, sum = 0;

	need(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " %8x %d", &group, &count) == 2 && group == htonl(0xef4d0003u))
			sum += count;
	fclose(f);
	return sum;
}

static void holder(struct peer *peer)
{
	struct member m;

	member_open(&m);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	peer_tell(peer);
	peer_await(peer);
}

/* A process in a group dies: its socket, which lives on, leaves; the same at the destruction of an id. */
static void run_death(void)
{
	struct peer peer = peer_start(holder);
	struct member m;
	uint64_t until;

	member_open(&m);
	member_join(&m, 3, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	peer_await(&peer);
	need_equal(users(), 2);
	peer_kill(&peer);
	for (until = harness_now_ms() + 5000; users() != 1 && harness_now_ms() < until;)
		usleep(1000); /* the broker's pidfd tells it, nothing tells us */
	need_equal(users(), 1);
	member_close(&m);
	need_equal(users(), 0);
}

static void run_refused(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in lo = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, group = group_of(1), no = lo;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0xff, 0x0e, [15] = 1 } };
	struct rdma_cm_id *id, *rc;

	need(channel != NULL);
	need_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	need_equal(rdma_create_id(channel, &rc, NULL, RDMA_PS_TCP), 0);
	need_equal(rdma_join_multicast(id, (struct sockaddr *)&group, NULL), -1); /* not bound */
	need_equal(errno, EINVAL);
	need_equal(rdma_bind_addr(id, (struct sockaddr *)&lo), 0);
	need_equal(rdma_bind_addr(rc, (struct sockaddr *)&lo), 0);
	need_equal(rdma_join_multicast(rc, (struct sockaddr *)&group, NULL), -1); /* not UD */
	need_equal(errno, EINVAL);
	need_equal(rdma_join_multicast(id, (struct sockaddr *)&no, NULL), -1); /* not a group */
	need_equal(errno, EINVAL);
	need_equal(rdma_join_multicast(id, (struct sockaddr *)&six, NULL), -1); /* of the other family */
	need_equal(errno, EINVAL);
	need_equal(rdma_destroy_id(id), 0);
	need_equal(rdma_destroy_id(rc), 0);
	rdma_destroy_event_channel(channel);
}

static const struct harness_case cases[] = {
	{ "attach", "attaching: UD and groups alone, once is enough, what is not attached is not detached, EBUSY", run_attach },
	{ "qps", "in one process every attached QP gets one copy, judged by its own Q_Key, the sender's own among them", run_qps },
	{ "own", "a queue pair that was made so does not hear itself, but others", run_own },
	{ "members", "two other processes get one copy each, none after they left, and again when they joined again", run_members },
	{ "death", "a process that dies, and an id that goes, is out of its groups", run_death },
	{ "refused", "joins that Linux refuses", run_refused },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
