/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The interface itself: errno of every misuse, tables of modify, calls that carry a size, and the traps that real programs
 * step into. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- creation and destruction --- */

static void create_errors(void)
{
	struct rc rc;
	struct ibv_device_attr device;

	rc_open(&rc, &(struct rc_options){ .channel = true });
	need_equal(ibv_query_device(rc.context, &device), 0);

	const struct ibv_qp_init_attr good = { .send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = IBV_QPT_RC, .cap = {
			4, 4, 1, 1, 0 } };
#define BAD_QP(number, change) \
	do { \
		struct ibv_qp_init_attr attr = good; \
		change; \
		need_errno(ibv_create_qp(rc.pd, &attr), number); \
	} while (0)
	BAD_QP(EOPNOTSUPP, attr.qp_type = IBV_QPT_RAW_PACKET);
	BAD_QP(EINVAL, attr.qp_type = (enum ibv_qp_type)77);
	BAD_QP(EINVAL, attr.send_cq = NULL);
	BAD_QP(EINVAL, attr.recv_cq = NULL);
	BAD_QP(EINVAL, attr.cap.max_send_wr = (uint32_t)device.max_qp_wr + 1);
	BAD_QP(EINVAL, attr.cap.max_recv_wr = (uint32_t)device.max_qp_wr + 1);
	BAD_QP(EINVAL, attr.cap.max_send_sge = (uint32_t)device.max_sge + 1);
	BAD_QP(EINVAL, attr.cap.max_recv_sge = (uint32_t)device.max_sge + 1);
	BAD_QP(EINVAL, attr.cap.max_inline_data = 1 << 20);
	BAD_QP(EINVAL, attr.cap.max_send_wr = 0xffffffff);
	need_errno(ibv_create_qp(NULL, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC }), EINVAL);
	struct ibv_qp_init_attr_ex ex = { .send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = IBV_QPT_RC, .pd = rc.pd,
					  .cap = { 4, 4, 1, 1, 0 } };
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 20;
	need_errno(ibv_create_qp_ex(rc.context, &ex), EOPNOTSUPP);
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ex.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	need_errno(ibv_create_qp_ex(rc.context, &ex), EOPNOTSUPP);
	ex.create_flags = 0;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.send_ops_flags = IBV_QP_EX_WITH_TSO;
	need_errno(ibv_create_qp_ex(rc.context, &ex), EOPNOTSUPP);
	ex.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	need_errno(ibv_create_qp_ex(rc.context, &ex), EINVAL);

	need_errno(ibv_create_cq(rc.context, 0, NULL, NULL, 0), EINVAL);
	need_errno(ibv_create_cq(rc.context, -1, NULL, NULL, 0), EINVAL);
	need_errno(ibv_create_cq(rc.context, device.max_cqe + 1, NULL, NULL, 0), EINVAL);
	need_errno(ibv_create_cq(rc.context, 1, NULL, NULL, rc.context->num_comp_vectors), EINVAL);
	need_errno(ibv_create_cq(rc.context, 1, NULL, NULL, -1), EINVAL);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 0, .max_sge = 1 } };
	need_errno(ibv_create_srq(rc.pd, &srq), EINVAL);
	srq.attr.max_wr = (uint32_t)device.max_srq_wr + 1;
	need_errno(ibv_create_srq(rc.pd, &srq), EINVAL);
	srq.attr = (struct ibv_srq_attr){ .max_wr = 1, .max_sge = (uint32_t)device.max_srq_sge + 1 };
	need_errno(ibv_create_srq(rc.pd, &srq), EINVAL);
	struct ibv_srq_init_attr_ex xrc = { .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = rc.pd,
					    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD };
	need_errno(ibv_create_srq_ex(rc.context, &xrc), EINVAL); /* no domain, no CQ */

	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1, .grh = { .dgid = rc.gid, .sgid_index = (uint8_t)rc.gid_index } };
	struct ibv_ah *made = ibv_create_ah(rc.pd, &ah);
	need(made != NULL);
	need_equal(ibv_dealloc_pd(rc.pd), EBUSY);
	need_equal(ibv_destroy_ah(made), 0);
	ah.port_num = 2;
	need_errno(ibv_create_ah(rc.pd, &ah), EINVAL);
	ah.port_num = 1;
	ah.is_global = 0;
	need_errno(ibv_create_ah(rc.pd, &ah), EINVAL);
	ah.is_global = 1;
	ah.grh.sgid_index = 250;
	need_errno(ibv_create_ah(rc.pd, &ah), EINVAL);

	/* In use. */
	need_equal(ibv_destroy_cq(rc.send_cq), EBUSY);
	need_equal(ibv_destroy_comp_channel(rc.channel), EBUSY);
	need_equal(ibv_dealloc_pd(rc.pd), EBUSY);

	need_equal(ibv_resize_cq(rc.send_cq, device.max_cqe + 1), EINVAL);
	need_equal(ibv_resize_cq(rc.send_cq, 0), EINVAL);
	need_equal(ibv_resize_cq(rc.send_cq, -5), EINVAL);
	need_equal(ibv_resize_cq(rc.send_cq, 1000), 0);
	need(rc.send_cq->cqe >= 1000);

	/* Slots that nobody fills answer through the inlines. */
	need_errno(ibv_open_xrcd(rc.context, &(struct ibv_xrcd_init_attr){ 0 }), EINVAL); /* neither descriptor nor flags */
	need_errno(ibv_create_flow(rc.qp, &(struct ibv_flow_attr){ 0 }), EOPNOTSUPP);
	need_errno(ibv_reg_dmabuf_mr(rc.pd, 0, 1, 0, 0, 0), EOPNOTSUPP);
	rc_close(&rc);
}

/* --- modify --- */

struct transition {
	enum ibv_qp_state from, to;
	int required;
};

static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC },
};

static struct ibv_qp_attr attr_for(const struct rc *rc, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to, .cur_qp_state = rc->qp->state, .port_num = 1, .path_mtu = IBV_MTU_256, .dest_qp_num =
				rc->qp->qp_num,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = rc->gid, .sgid_index = (uint8_t)rc->gid_index } },
	};
}

static void modify_tables(void)
{
	/* Which states can be reached from which; rows and columns RESET, INIT, RTR, RTS, SQD, SQE, ERR. */
	static const char reachable[7][8] = { "11.....", "111...1", "1..1..1", "1..11.1", "1..11.1", ".......", "1.....1" };
	struct rc rc;

	rc_open(&rc, NULL);
	const struct rc_address self = rc_address_of(&rc);
	for (unsigned t = 0; t < sizeof(transitions) / sizeof(transitions[0]); t++) {
		struct ibv_qp_attr attr = attr_for(&rc, transitions[t].to);
		int mask = transitions[t].required | IBV_QP_STATE;

		/* One missing, or one that has no business here. */
		for (int bit = 1; bit != 0 && bit <= transitions[t].required; bit <<= 1)
			if ((transitions[t].required & bit) != 0)
				need_equal(ibv_modify_qp(rc.qp, &attr, mask & ~bit), EINVAL);
		need_equal(ibv_modify_qp(rc.qp, &attr, mask | IBV_QP_CAP), EINVAL);
		need_equal(ibv_modify_qp(rc.qp, &attr, mask | IBV_QP_QKEY), EINVAL);
		need_equal(ibv_modify_qp(rc.qp, &attr, mask | IBV_QP_RATE_LIMIT), EINVAL);
		need_equal(ibv_modify_qp(rc.qp, &attr, mask | 1 << 27), EOPNOTSUPP);
		need_equal(rc.qp->state, transitions[t].from);
		need_equal(ibv_modify_qp(rc.qp, &attr, mask), 0);
		need_equal(rc.qp->state, transitions[t].to);
	}
	for (enum ibv_qp_state from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
		for (enum ibv_qp_state to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
			struct ibv_qp_attr attr;
			int mask = IBV_QP_STATE;

			if (from == IBV_QPS_SQE)
				continue; /* RC never gets there */
			need_equal(rc_to_reset(&rc), 0);
			if (from >= IBV_QPS_INIT)
				need_equal(rc_to_init(&rc), 0);
			if (from >= IBV_QPS_RTR && from != IBV_QPS_ERR)
				need_equal(rc_to_rtr(&rc, &self), 0);
			if (from >= IBV_QPS_RTS && from != IBV_QPS_ERR)
				need_equal(rc_to_rts(&rc), 0);
			attr = attr_for(&rc, from);
			if (from == IBV_QPS_SQD || from == IBV_QPS_ERR)
				need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE), 0);
			need_equal(rc.qp->state, from);
			for (unsigned t = 0; t < sizeof(transitions) / sizeof(transitions[0]); t++)
				if (transitions[t].from == from && transitions[t].to == to)
					mask |= transitions[t].required;
			attr = attr_for(&rc, to);
			need_equal(ibv_modify_qp(rc.qp, &attr, mask), reachable[from][to] == '1' ? 0 : EINVAL);
			need_equal(rc.qp->state, reachable[from][to] == '1' ? to : from);
		}
	rc_close(&rc);
}

static void modify_values(void)
{
	struct rc rc;
	struct ibv_port_attr port;

	rc_open(&rc, NULL);
	need_equal(ibv_query_port(rc.context, 1, &port), 0);
#define BAD(number, to, bits, change) \
	do { \
		struct ibv_qp_attr attr = attr_for(&rc, to); \
		change; \
		need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE | (bits)), number); \
	} while (0)
	BAD(EINVAL, IBV_QPS_INIT, transitions[0].required, attr.port_num = 0);
	BAD(EINVAL, IBV_QPS_INIT, transitions[0].required, attr.port_num = 2);
	BAD(EINVAL, IBV_QPS_INIT, transitions[0].required, attr.pkey_index = 1);
	BAD(EINVAL, (enum ibv_qp_state)9, 0, (void)0);
	need_equal(rc_to_init(&rc), 0);
	const int rtr = transitions[1].required;
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.path_mtu = (enum ibv_mtu)0);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.path_mtu = (enum ibv_mtu)6);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.dest_qp_num = 1 << 24);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.max_dest_rd_atomic = 200);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.min_rnr_timer = 32);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.ah_attr.is_global = 0);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.ah_attr.port_num = 2);
	BAD(EINVAL, IBV_QPS_RTR, rtr, attr.ah_attr.grh.sgid_index = 250);
	BAD(EINVAL, IBV_QPS_RTR, rtr | IBV_QP_ALT_PATH, attr.alt_port_num = 1);
	BAD(0, IBV_QPS_RTR, rtr, attr.rq_psn = 0xff000001); /* 24 bits count */
	struct ibv_qp_attr got;
	struct ibv_qp_init_attr init;
	need_equal(ibv_query_qp(rc.qp, &got, IBV_QP_RQ_PSN, &init), 0);
	need_equal(got.rq_psn, 1);
	const int rts = transitions[2].required;
	BAD(EINVAL, IBV_QPS_RTS, rts, attr.timeout = 32);
	BAD(EINVAL, IBV_QPS_RTS, rts, attr.retry_cnt = 8);
	BAD(EINVAL, IBV_QPS_RTS, rts, attr.rnr_retry = 8);
	BAD(EINVAL, IBV_QPS_RTS, rts, attr.max_rd_atomic = 200);
	BAD(EINVAL, IBV_QPS_RTS, rts | IBV_QP_CUR_STATE, attr.cur_qp_state = IBV_QPS_INIT);
	BAD(0, IBV_QPS_RTS, rts | IBV_QP_CUR_STATE, attr.cur_qp_state = IBV_QPS_RTR);
	rc_close(&rc);
}

/* --- posting --- */

static void post_errors(void)
{
	struct rc a, b;
	struct ibv_send_wr *bad;
	struct ibv_recv_wr *bad_recv;

	need_equal(setenv("SOFTVERBS_PROFILE", "spec", 1), 0); /* before RTS; profile_test.c has the other profile */
	rc_open(&a, &(struct rc_options){ .send_wr = 8, .recv_wr = 8, .sge = 2 });
	rc_open(&b, &(struct rc_options){ .context = a.context });
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, 0, 0, 1, NULL, 0), EINVAL); /* RESET */
	need_equal(rc_receive(&a, 1, 0, 1), EINVAL);
	need_equal(rc_to_init(&a), 0);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, 0, 0, 1, NULL, 0), EINVAL);
	need_equal(rc_receive(&a, 1, 0, 1), 0);
	need_equal(rc_to_rtr(&a, &to_b), 0);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, 0, 0, 1, NULL, 0), EINVAL);
	need_equal(rc_to_rts(&a), 0);

	struct ibv_sge sge[40] = { { (uintptr_t)a.buf, 1, a.mr->lkey } };
	for (int i = 1; i < 40; i++)
		sge[i] = sge[0];
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
#define BAD_SEND(number, ...) \
	do { \
		struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND, __VA_ARGS__ }; \
		bad = NULL; \
		need_equal(ibv_post_send(a.qp, &wr, &bad), number); \
		need(bad == &wr); \
	} while (0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
	BAD_SEND(EINVAL, .num_sge = (int)init.cap.max_send_sge + 1);
	BAD_SEND(EINVAL, .num_sge = -1);
	BAD_SEND(EINVAL, .opcode = (enum ibv_wr_opcode)99);
	BAD_SEND(EINVAL, .opcode = IBV_WR_TSO);
	BAD_SEND(EINVAL, .opcode = IBV_WR_BIND_MW);
	BAD_SEND(EINVAL, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_INLINE);
	BAD_SEND(EINVAL, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD); /* one byte of room */
#pragma GCC diagnostic pop
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = (int)init.cap.max_recv_sge + 1 };
	bad_recv = NULL;
	need_equal(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL);
	need(bad_recv == &recv);

	/* Full queues; a list keeps what came before the first bad one. */
	uint32_t posted = 1;
	while (rc_receive(&a, posted, 0, 1) == 0)
		posted++;
	need_equal(rc_receive(&a, 0, 0, 1), ENOMEM);
	need_equal(posted, init.cap.max_recv_wr);
	struct ibv_send_wr list[4];
	for (int i = 0; i < 4; i++)
		list[i] = (struct ibv_send_wr){ .wr_id = (uint64_t)i, .next = i < 3 ? &list[i + 1] : NULL, .sg_list = sge,
				.num_sge = i == 2 ? 40 : 1,
						.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
						.wr.rdma = { to_b.addr, to_b.rkey } };
	const struct rc_address to_a = rc_address_of(&a);
	rc_connect(&b, &to_a);
	need_equal(ibv_post_send(a.qp, list, &bad), EINVAL);
	need(bad == &list[2]);
	cq_expect(a.send_cq, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	cq_expect_none(a.send_cq, 5);
	/* Completed but not polled is not free. */
	uint32_t sent = 0;
	int err;
	while ((err = rc_post(&a, sent, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 1, &to_b, 0)) == 0)
		sent++;
	need_equal(err, ENOMEM);
	need_equal(sent, init.cap.max_send_wr);
	rc_pair_close(&a, &b);
}

/* --- memory regions --- */

static void registration(void)
{
	struct rc rc;
	const size_t page = 4096;

	rc_open(&rc, NULL);
	need_errno(ibv_reg_mr(rc.pd, rc.buf, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	need_errno(ibv_reg_mr(rc.pd, rc.buf, 64, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	volatile unsigned unknown = 1 << 12, optional = 0x3ff00000;
	need_errno(ibv_reg_mr(rc.pd, rc.buf, 64, unknown), EINVAL);
	/* Optional bits are ignored, known or not, by each of the three symbols. */
	struct ibv_mr *mr = ibv_reg_mr(rc.pd, rc.buf, 64, optional | IBV_ACCESS_LOCAL_WRITE);
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(rc.pd, rc.buf, 64, 0x1234000, optional | IBV_ACCESS_LOCAL_WRITE);
	need(mr != NULL && mr->addr == rc.buf && mr->length == 64 && mr->pd == rc.pd && mr->context == rc.context);
	need_equal(ibv_dereg_mr(mr), 0);
	mr = (ibv_reg_mr)(rc.pd, rc.buf, 64, (int)(optional | IBV_ACCESS_LOCAL_WRITE));
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);

	unsigned char *map = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(map != MAP_FAILED && munmap(map + page, page) == 0 && mprotect(map + 2 * page, page, PROT_READ) == 0);
	need_errno(ibv_reg_mr(rc.pd, map, 2 * page, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	need_errno(ibv_reg_mr(rc.pd, map + page, 1, 0), EFAULT);
	need_errno(ibv_reg_mr(rc.pd, map + 2 * page, page, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	mr = ibv_reg_mr(rc.pd, map + 2 * page, page, IBV_ACCESS_REMOTE_READ);
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);
	void *volatile wild = (void *)(uintptr_t)-4096;
	need(ibv_reg_mr(rc.pd, wild, 8192, 0) == NULL);

	/* Keys are neither reused nor dense. */
	uint32_t last = 0;
	for (int i = 0; i < 100; i++) {
		mr = ibv_reg_mr(rc.pd, rc.buf, 64, IBV_ACCESS_LOCAL_WRITE);
		need(mr != NULL && mr->lkey != last && mr->lkey != last + 1 && mr->lkey != last + 256);
		last = mr->lkey;
		need_equal(ibv_dereg_mr(mr), 0);
	}
	mr = ibv_reg_mr(rc.pd, rc.buf, 64, IBV_ACCESS_LOCAL_WRITE);
	need_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	need_equal(errno, EINVAL);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, rc.buf + 64, 128, 0), 0);
	need(mr->addr == rc.buf + 64 && mr->length == 128);
	need_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(rc.pd, rc.buf, 0, IBV_ACCESS_LOCAL_WRITE); /* allowed here */
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);
	munmap(map, page);
	munmap(map + 2 * page, page);
	rc_close(&rc);
}

/* Addresses of ibv_reg_mr_iova and ZERO_BASED regions, and a key that is stale. */
static void addresses(void)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, NULL);
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *iova = ibv_reg_mr_iova(b.pd, b.buf, 4096, 0xabc0000000, access);
	struct ibv_mr *zero = ibv_reg_mr(b.pd, b.buf, 4096, access | IBV_ACCESS_ZERO_BASED);
	need(iova != NULL && zero != NULL);
	struct rc_address at = { .addr = 0xabc0000000, .rkey = iova->rkey };
	memset(a.buf, 7, 100);
	need_equal(rc_post(&a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &at, 10), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(b.buf[9] == 0 && b.buf[10] == 7 && b.buf[109] == 7 && b.buf[110] == 0);
	at = (struct rc_address){ .addr = 0, .rkey = zero->rkey };
	need_equal(rc_post(&a, 2, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &at, 1000), 0);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(b.buf[999] == 0 && b.buf[1000] == 7 && b.buf[1100] == 0);
	need_equal(ibv_dereg_mr(zero), 0);
	need_equal(ibv_dereg_mr(iova), 0);
	need_equal(rc_post(&a, 3, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &at, 0), 0);
	cq_expect(a.send_cq, 3, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
	rc_pair_close(&a, &b);
}

/* --- calls that carry a size --- */

/* The exported name, without the inline of the header. */
#undef ibv_query_port
static int (*volatile old_query_port)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *) = ibv_query_port;

static void query_port_sizes(void)
{
	struct ibv_context *context = rc_device_open();
	struct verbs_context *ex = verbs_get_ctx(context);
	unsigned char area[256];
	struct ibv_port_attr attr;

	need(ex != NULL && ex->query_port != NULL);
	memset(area, 0xa5, sizeof(area));
	need_equal(old_query_port(context, 1, (struct _compat_ibv_port_attr *)(void *)area), 0);
	const size_t old_size = offsetof(struct ibv_port_attr, flags) + 1;
	for (size_t i = (old_size + 3) & ~3ul; i < sizeof(area); i++)
		need_equal(area[i], 0xa5);
	memcpy(&attr, area, old_size);
	need_equal(attr.state, IBV_PORT_ACTIVE);
	need_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);

	static const size_t sizes[] = { 48, 52, 56, 80 };
	for (unsigned s = 0; s < 4; s++) {
		memset(area, 0xa5, sizeof(area));
		need_equal(ex->query_port(context, 1, (struct ibv_port_attr *)(void *)area, sizes[s]), 0);
		for (size_t i = sizes[s]; i < sizeof(area); i++)
			need_equal(area[i], 0xa5);
		for (size_t i = sizeof(struct ibv_port_attr); i < sizes[s]; i++)
			need_equal(area[i], 0);
	}
	need_equal(ex->query_port(context, 0, &attr, sizeof(attr)), EINVAL);
	need_equal(ex->query_port(context, 2, &attr, sizeof(attr)), EINVAL);
	need_equal(ex->query_port(context, 1, &attr, sizeof(attr)), 0);
	need_equal(attr.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
	need(attr.pkey_tbl_len == 1 && attr.gid_tbl_len > 0 && attr.max_msg_sz > 0 && attr.active_mtu >= IBV_MTU_256);

	/* query_device_ex with more and less room than it knows, and with the input refused. */
	unsigned char big[sizeof(struct ibv_device_attr_ex) + 64];
	memset(big, 0xa5, sizeof(big));
	need_equal(ex->query_device_ex(context, NULL, (struct ibv_device_attr_ex *)(void *)big, sizeof(big) - 16), 0);
	for (size_t i = sizeof(struct ibv_device_attr_ex); i < sizeof(big) - 16; i++)
		need_equal(big[i], 0);
	for (size_t i = sizeof(big) - 16; i < sizeof(big); i++)
		need_equal(big[i], 0xa5);
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex device;
	need_equal(ibv_query_device_ex(context, &input, &device), EINVAL);
	need_equal(ibv_query_device_ex(context, NULL, &device), 0);
	need_equal(device.phys_port_cnt_ex, 1);
	need_equal(ibv_close_device(context), 0);
}

static void gid_queries(void)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_gid_entry entries[300];
	struct ibv_port_attr port;
	union ibv_gid gid;
	unsigned char area[128];
	__be16 pkey;

	need_equal(verbs_get_ctx(context)->query_port(context, 1, &port, sizeof(port)), 0);
	ssize_t count = ibv_query_gid_table(context, entries, 300, 0);
	need(count > 1);
	need_equal(ibv_query_gid_table(context, entries, 0, 0), -EINVAL);
	need_equal(ibv_query_gid_table(context, entries, (size_t)count - 1, 0), -EINVAL);
	need(ibv_query_gid_table(context, entries, 300, 1) < 0);
	/* A stride of 48: the tail of each entry is zeroed, nothing behind the last. */
	unsigned char *wide = malloc((size_t)count * 48 + 16);
	need(wide != NULL);
	memset(wide, 0xa5, (size_t)count * 48 + 16);
	need_equal(_ibv_query_gid_table(context, (struct ibv_gid_entry *)(void *)wide, (size_t)count, 0, 48), count);
	for (ssize_t i = 0; i < count; i++) {
		need(memcmp(wide + i * 48, &entries[i], sizeof(entries[i])) == 0);
		for (int k = 32; k < 48; k++)
			need_equal(wide[i * 48 + k], 0);
	}
	for (int k = 0; k < 16; k++)
		need_equal(wide[count * 48 + k], 0xa5);
	free(wide);
	for (ssize_t i = 0; i < count; i++) {
		struct ibv_gid_entry one;

		need(i == 0 || entries[i].gid_index > entries[i - 1].gid_index);
		need_equal(entries[i].port_num, 1);
		need(entries[i].ndev_ifindex != 0);
		need(entries[i].gid_type == IBV_GID_TYPE_ROCE_V1 || entries[i].gid_type == IBV_GID_TYPE_ROCE_V2);
		need_equal(ibv_query_gid_ex(context, 1, entries[i].gid_index, &one, 0), 0);
		need(memcmp(&one, &entries[i], sizeof(one)) == 0);
		need_equal(ibv_query_gid(context, 1, (int)entries[i].gid_index, &gid), 0);
		need(memcmp(&gid, &one.gid, 16) == 0);
	}
	memset(area, 0xa5, sizeof(area));
	need_equal(_ibv_query_gid_ex(context, 1, entries[0].gid_index, (struct ibv_gid_entry *)(void *)area, 0, 64), 0);
	for (int i = 32; i < 64; i++)
		need_equal(area[i], 0);
	need_equal(area[64], 0xa5);
	need(_ibv_query_gid_ex(context, 1, 0, (struct ibv_gid_entry *)(void *)area, 1, 32) != 0);
	need_equal(ibv_query_gid_ex(context, 2, 0, &entries[0], 0), EINVAL);
	need_equal(ibv_query_gid_ex(context, 1, (uint32_t)port.gid_tbl_len, &entries[0], 0), EINVAL);
	need_equal(ibv_query_gid_ex(context, 1, (uint32_t)port.gid_tbl_len - 1, &entries[0], 0), ENODATA);
	memset(&gid, 1, sizeof(gid));
	need_equal(ibv_query_gid(context, 1, port.gid_tbl_len - 1, &gid), 0);
	need_equal(gid.global.interface_id, 0);
	need_equal(ibv_query_gid(context, 1, -1, &gid), -1);
	need_equal(ibv_query_gid(context, 3, 0, &gid), -1);
	need_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
	need_equal(pkey, 0xffff);
	need_equal(ibv_query_pkey(context, 1, 1, &pkey), -1);
	need_equal(ibv_get_pkey_index(context, 1, pkey), 0);
	need_equal(ibv_get_pkey_index(context, 1, 0x1234), -1);
	need_equal(ibv_close_device(context), 0);
}

/* --- what programs do --- */

static void device_lists(void)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);

	need(list != NULL && count >= 1 && list[count] == NULL);
	need(ibv_get_device_guid(list[0]) != 0);
	struct ibv_context *context[64];
	struct ibv_device *device = list[0];
	for (int i = 0; i < 64; i++) {
		context[i] = ibv_open_device(device);
		need(context[i] != NULL && context[i]->device == device);
		need(context[i]->async_fd >= 0 && (fcntl(context[i]->async_fd, F_GETFD) & FD_CLOEXEC) != 0);
		need(context[i]->cmd_fd >= 0 && (fcntl(context[i]->cmd_fd, F_GETFD) & FD_CLOEXEC) != 0);
	}
	ibv_free_device_list(list);
	need(strlen(context[0]->device->name) > 0 && strcmp(ibv_get_device_name(device), context[0]->device->name) == 0);
	/* The same device has the same address in a later list. */
	list = ibv_get_device_list(NULL);
	need(list != NULL && list[0] == device);
	ibv_free_device_list(list);
	ibv_free_device_list(NULL);
	for (int i = 0; i < 64; i++)
		need_equal(ibv_close_device(context[i]), 0);
	int fds = dup(0);
	need(fds >= 0 && fds < 60); /* descriptors come back */
	for (int round = 0; round < 100; round++) {
		struct ibv_context *again = rc_device_open();

		need_equal(ibv_close_device(again), 0);
	}
}

static int counted_posts, counted_polls;
static int (*real_post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*real_poll_cq)(struct ibv_cq *, int, struct ibv_wc *);

static int counting_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	counted_posts++;
	return real_post_send(qp, wr, bad);
}

static int counting_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	counted_polls++;
	return real_poll_cq(cq, n, wc);
}

/* Tracers put themselves into a context's table. */
static void replaced_operations(void)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, &(struct rc_options){ .context = NULL });
	const struct rc_address to_b = rc_address_of(&b);
	real_post_send = a.context->ops.post_send;
	real_poll_cq = a.context->ops.poll_cq;
	a.context->ops.post_send = counting_post;
	a.context->ops.poll_cq = counting_poll;
	need_equal(rc_post(&a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &to_b, 0), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need_equal(counted_posts, 1);
	need(counted_polls > 0);
	rc_pair_close(&a, &b);
}

static void many_objects(void)
{
	enum { QPS = 1000 };
	struct rc rc;
	static struct ibv_qp *qp[QPS];
	uint32_t slot;

	rc_open(&rc, NULL);
	slot = rc.qp->qp_num >> 16;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < QPS; i++) {
			struct ibv_qp_init_attr attr = { .send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = IBV_QPT_RC,
							 .cap = { 1, 1, 1, 1, 0 } };

			qp[i] = ibv_create_qp(rc.pd, &attr);
			need(qp[i] != NULL && qp[i]->qp_num >> 16 == slot); /* index 0 comes up once in 65536 */
			for (int k = i > 3 ? i - 3 : 0; k < i; k++)
				need(qp[k]->qp_num != qp[i]->qp_num);
		}
		for (int i = 0; i < QPS; i++)
			need_equal(ibv_destroy_qp(qp[(i * 7) % QPS]), 0);
	}
	rc_close(&rc);
}

static void ece(void)
{
	struct rc rc;
	struct ibv_ece options = { 0 };

	rc_open(&rc, NULL);
	need_equal(ibv_set_ece(rc.qp, &options), EOPNOTSUPP); /* vendor 0 */
	need_equal(errno, EOPNOTSUPP);
	int err = ibv_query_ece(rc.qp, &options);
	need(err == 0 || err == EOPNOTSUPP);
	rc_close(&rc);
}

static const struct harness_case cases[] = {
	{ "create_errors", "errno of creating and destroying wrongly", create_errors },
	{ "modify_tables", "transitions, required and refused attributes", modify_tables },
	{ "modify_values", "values that modify refuses", modify_values },
	{ "post_errors", "errno and bad_wr of posting wrongly, full queues", post_errors },
	{ "registration", "access flags, optional bits, unmapped and read-only memory, re-registration", registration },
	{ "addresses", "iova and zero-based regions, stale keys", addresses },
	{ "query_port_sizes", "callers of every release get as many bytes as they have room for", query_port_sizes },
	{ "gid_queries", "GID and P_Key tables by every call, with strides", gid_queries },
	{ "device_lists", "lists freed while contexts live, many contexts", device_lists },
	{ "replaced_operations", "a context's operations table is what the inlines use", replaced_operations },
	{ "many_objects", "a thousand QPs, twice", many_objects },
	{ "ece", "conventions of ibv_set_ece and ibv_query_ece", ece },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
