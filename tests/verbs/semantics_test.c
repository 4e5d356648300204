/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RC as the verbs promise it: completions on both sides, in the good cases and in each kind of error. */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_wc(struct rc *rc, struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = cq_wait(cq);

	if (wc.wr_id != id || wc.status != status || wc.opcode != opcode || wc.qp_num != rc->qp->qp_num)
		harness_fail(__FILE__, __LINE__, "completion %llu %s opcode %d qp %x; expected %llu %s opcode %d qp %x",
			     (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.opcode, wc.qp_num, (unsigned long
					long)id,
			     ibv_wc_status_str(status), opcode, rc->qp->qp_num);
}

/* Else an RNR ends: errors_test.c. */
static void late_receive(void)
{
	struct rc a, b;

	rc_pair(&a, &b, &(struct rc_options){ .rnr_retry = 7 }, NULL);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	cq_expect_none(a.send_cq, 50);
	need_equal(rc_receive(&b, 3, 0, 100), 0);
	expect_wc(&b, b.recv_cq, 3, IBV_WC_SUCCESS, IBV_WC_RECV);
	expect_wc(&a, a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_SEND);
	rc_pair_close(&a, &b);
}

/* --- data --- */

static void fill(struct rc *rc, unsigned seed)
{
	for (size_t i = 0; i < rc->o.size; i++)
		rc->buf[i] = (unsigned char)(i * 31 + i / 251 + seed);
}

static void sizes(void)
{
	static const uint32_t lengths[] = { 0, 1, 3, 4, 5, 255, 256, 1023, 1024, 1025, 2048, 4095, 16384, 16385, 65536, 1000003 };
	struct rc a, b;

	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu = (enum ibv_mtu)(mtu + 2)) {
		rc_pair(&a, &b, &(struct rc_options){ .size = 1 << 20, .mtu = mtu }, &(struct rc_options){ .size = 1 << 20,
				.mtu = mtu });
		const struct rc_address to_b = rc_address_of(&b);
		for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			uint32_t n = lengths[i];

			fill(&a, i);
			memset(b.buf, 0xee, b.o.size);
			need_equal(rc_receive(&b, i, 0, 1 << 20), 0);
			need_equal(rc_post(&a, i, IBV_WR_SEND, IBV_SEND_SIGNALED, 7, n, NULL, 0), 0);
			struct ibv_wc wc = cq_wait(b.recv_cq);
			need_equal(wc.status, IBV_WC_SUCCESS);
			need_equal(wc.opcode, IBV_WC_RECV);
			need_equal(wc.byte_len, n);
			need_equal(wc.wc_flags & ~(unsigned)IBV_WC_GRH, 0);
			need(memcmp(b.buf, a.buf + 7, n) == 0 && b.buf[n] == 0xee);
			expect_wc(&a, a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_SEND);

			memset(b.buf, 0xee, b.o.size);
			need_equal(rc_post(&a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 3, n, &to_b, 5), 0);
			expect_wc(&a, a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
			need(memcmp(b.buf + 5, a.buf + 3, n) == 0 && b.buf[4] == 0xee && b.buf[5 + n] == 0xee);

			need_equal(rc_receive(&b, i, 1 << 19, 16), 0);
			need_equal(rc_post(&a, i, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, 3, n, &to_b, 5), 0);
			wc = cq_wait(b.recv_cq);
			need_equal(wc.status, IBV_WC_SUCCESS);
			need_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
			need_equal(wc.byte_len, n);
			need_equal(wc.wc_flags & (unsigned)IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
			need_equal(ntohl(wc.imm_data), i);
			expect_wc(&a, a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);

			need_equal(rc_receive(&b, i, 0, 1 << 20), 0);
			need_equal(rc_post(&a, 0x80000000u + i, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, 3, n, NULL, 0), 0);
			wc = cq_wait(b.recv_cq);
			need_equal(wc.opcode, IBV_WC_RECV);
			need_equal(wc.byte_len, n);
			need_equal(wc.wc_flags & (unsigned)IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
			need_equal(ntohl(wc.imm_data), 0x80000000u + i);
			expect_wc(&a, a.send_cq, 0x80000000u + i, IBV_WC_SUCCESS, IBV_WC_SEND);
		}
		rc_pair_close(&a, &b);
	}
}

/* num_sge 0, a zero-length WRITE to nowhere with no key: legal. */
static void nothing_at_all(void)
{
	struct rc a, b;
	struct ibv_send_wr *bad;

	rc_pair(&a, &b, NULL, NULL);
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr write = { .wr_id = 2, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr recv = { .wr_id = 3 }, *bad_recv;
	need_equal(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
	need_equal(ibv_post_send(a.qp, &send, &bad), 0);
	need_equal(ibv_post_send(a.qp, &write, &bad), 0);
	expect_wc(&a, a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect_wc(&a, a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	struct ibv_wc wc = cq_wait(b.recv_cq);
	need_equal(wc.byte_len, 0);
	need_equal(wc.wr_id, 3);
	/* An empty list is no error. */
	need_equal(ibv_post_send(a.qp, NULL, &bad), 0);
	rc_pair_close(&a, &b);
}

static void scatter_gather(void)
{
	struct rc a, b;
	struct ibv_sge from[4], into[4];
	struct ibv_send_wr *bad;
	struct ibv_recv_wr *bad_recv;

	rc_pair(&a, &b, NULL, NULL);
	fill(&a, 9);
	memset(b.buf, 0xee, b.o.size);
	from[0] = (struct ibv_sge){ (uintptr_t)a.buf + 10000, 1, a.mr->lkey };
	from[1] = (struct ibv_sge){ (uintptr_t)a.buf, 0, 0xdead }; /* length 0: its key is not looked at */
	from[2] = (struct ibv_sge){ (uintptr_t)a.buf + 3, 5000, a.mr->lkey };
	from[3] = (struct ibv_sge){ (uintptr_t)a.buf + 20000, 333, a.mr->lkey };
	into[0] = (struct ibv_sge){ (uintptr_t)b.buf + 40000, 2000, b.mr->lkey };
	into[1] = (struct ibv_sge){ (uintptr_t)b.buf + 100, 7, b.mr->lkey };
	into[2] = (struct ibv_sge){ (uintptr_t)b.buf + 5000, 0, b.mr->lkey };
	into[3] = (struct ibv_sge){ (uintptr_t)b.buf + 10000, 20000, b.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = into, .num_sge = 4 };
	struct ibv_send_wr send = { .wr_id = 1, .sg_list = from, .num_sge = 4, .opcode = IBV_WR_SEND, .send_flags =
			IBV_SEND_SIGNALED };
	need_equal(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
	need_equal(ibv_post_send(a.qp, &send, &bad), 0);
	struct ibv_wc wc = cq_wait(b.recv_cq);
	need_equal(wc.status, IBV_WC_SUCCESS);
	need_equal(wc.byte_len, 5334);
	unsigned char all[5334];
	all[0] = a.buf[10000];
	memcpy(all + 1, a.buf + 3, 5000);
	memcpy(all + 5001, a.buf + 20000, 333);
	need(memcmp(b.buf + 40000, all, 2000) == 0 && b.buf[42000] == 0xee);
	need(memcmp(b.buf + 100, all + 2000, 7) == 0 && b.buf[107] == 0xee);
	need(memcmp(b.buf + 10000, all + 2007, 3327) == 0 && b.buf[13327] == 0xee);
	expect_wc(&a, a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	rc_pair_close(&a, &b);
}

static void inline_data(void)
{
	struct rc a, b;
	struct ibv_send_wr *bad;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	rc_pair(&a, &b, &(struct rc_options){ .inline_max = 200 }, NULL);
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	uint32_t most = init.cap.max_inline_data;
	need(most >= 200 && attr.cap.max_inline_data == most);
	for (uint32_t n = 0; n <= most; n += n < 70 ? 1 : 13) {
		unsigned char local[1024]; /* not registered */
		struct ibv_sge sge[2] = { { (uintptr_t)local, n / 3, 0 }, { (uintptr_t)local + n / 3, n - n / 3, 0xbad } };
		struct ibv_send_wr wr = { .wr_id = n, .sg_list = sge, .num_sge = 2, .opcode = n % 2 ? IBV_WR_SEND :
				IBV_WR_RDMA_WRITE,
					  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
					  .wr.rdma = { (uintptr_t)b.buf, b.mr->rkey } };

		need_equal(rc_receive(&b, n, 0, 1024), 0);
		memset(local, (int)n + 1, sizeof(local));
		memset(b.buf, 0, 1024);
		need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
		memset(local, 0xff, sizeof(local)); /* ours again at return */
		expect_wc(&a, a.send_cq, n, IBV_WC_SUCCESS, n % 2 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
		if (n % 2)
			expect_wc(&b, b.recv_cq, n, IBV_WC_SUCCESS, IBV_WC_RECV);
		for (uint32_t i = 0; i < n; i++)
			need_equal(b.buf[i], (n + 1) & 0xff);
		need_equal(b.buf[n], 0);
		if (n % 2 == 0) { /* the receive is still there */
			need_equal(rc_post(&a, 999, IBV_WR_SEND, 0, 0, 0, NULL, 0), 0);
			expect_wc(&b, b.recv_cq, n, IBV_WC_SUCCESS, IBV_WC_RECV);
		}
	}
	unsigned char local[1024] = { 0 };
	struct ibv_sge sge = { (uintptr_t)local, most + 1, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE };
	bad = NULL;
	need_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	need(bad == &wr);
	rc_pair_close(&a, &b);
}

static void signalling(void)
{
	struct rc a, b;

	rc_pair(&a, &b, &(struct rc_options){ .send_wr = 16 }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	/* Unsignaled ones say nothing; their slots are free once a later one was seen. */
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 15; i++)
			need_equal(rc_post(&a, 100 + i, IBV_WR_RDMA_WRITE, 0, 0, 64, &to_b, 0), 0);
		need_equal(rc_post(&a, round, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 64, &to_b, 0), 0);
		expect_wc(&a, a.send_cq, round, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	cq_expect_none(a.send_cq, 5);
	rc_pair_close(&a, &b);

	rc_pair(&a, &b, &(struct rc_options){ .sig_all = true }, NULL);
	const struct rc_address again = rc_address_of(&b);
	for (unsigned i = 0; i < 10; i++)
		need_equal(rc_post(&a, i, IBV_WR_RDMA_WRITE, 0, 0, 64, &again, 0), 0);
	for (unsigned i = 0; i < 10; i++)
		expect_wc(&a, a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	rc_pair_close(&a, &b);
}

/* ERR -> RESET -> INIT -> ... again and again, with what was lost along the way. */
static void reuse(void)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, NULL);
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	for (unsigned round = 0; round < 10; round++) {
		need_equal(rc_receive(&b, 1, 0, 4096), 0);
		need_equal(rc_receive(&b, 2, 0, 4096), 0);
		need_equal(rc_post(&a, 3, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 4000, NULL, 0), 0);
		expect_wc(&b, b.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
		expect_wc(&a, a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_SEND);
		if (round % 2) {
			need_equal(rc_to_error(&a), 0);
			need_equal(rc_to_error(&b), 0);
			expect_wc(&b, b.recv_cq, 2, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		}
		/* What is not polled vanishes without completions. */
		need_equal(rc_to_reset(&a), 0);
		need_equal(rc_to_reset(&b), 0);
		cq_expect_none(b.recv_cq, 2);
		need_equal(rc_post(&a, 9, IBV_WR_SEND, 0, 0, 1, NULL, 0), EINVAL);
		need_equal(rc_receive(&a, 9, 0, 1), EINVAL);
		rc_connect(&a, &to_b);
		rc_connect(&b, &to_a);
	}
	rc_pair_close(&a, &b);
}

static void query(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	const int all = 0x1fffff;
	struct rc a, b;

	rc_open(&a, &(struct rc_options){ .timeout = 13, .retry = 5, .rnr_retry = 6, .min_rnr = 9, .sig_all = true });
	rc_open(&b, &(struct rc_options){ .context = a.context });
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(ibv_query_qp(a.qp, &attr, all, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_RESET);
	need(init.send_cq == a.send_cq && init.recv_cq == a.recv_cq && init.srq == NULL && init.qp_context == NULL);
	need_equal(init.qp_type, IBV_QPT_RC);
	need_equal(init.sq_sig_all, 1);
	need(init.cap.max_send_wr >= 64 && init.cap.max_recv_wr >= 64 && init.cap.max_send_sge >= 4 && init.cap.max_recv_sge
			>= 4);
	rc_connect(&a, &to_b);
	need_equal(ibv_query_qp(a.qp, &attr, all, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_RTS);
	need_equal(attr.cur_qp_state, IBV_QPS_RTS);
	need_equal(attr.path_mtu, IBV_MTU_1024);
	need_equal(attr.dest_qp_num, to_b.qpn);
	need_equal(attr.rq_psn, to_b.psn);
	need_equal(attr.sq_psn, rc_address_of(&a).psn);
	need_equal(attr.timeout, 13);
	need_equal(attr.retry_cnt, 5);
	need_equal(attr.rnr_retry, 6);
	need_equal(attr.min_rnr_timer, 9);
	need_equal(attr.port_num, 1);
	need_equal(attr.max_rd_atomic, 4);
	need_equal(attr.max_dest_rd_atomic, 4);
	need_equal(attr.ah_attr.is_global, 1);
	need_equal(attr.ah_attr.grh.sgid_index, a.gid_index);
	need(memcmp(attr.ah_attr.grh.dgid.raw, to_b.gid.raw, 16) == 0);
	need_equal(attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
	need_equal(attr.sq_draining, 0);
	rc_pair_close(&a, &b);
}

/* Builders of ibv_wr_*: all or nothing. */
static void builders(void)
{
	struct rc a, b;

	rc_pair(&a, &b, &(struct rc_options){ .inline_max = 64, .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_IMM }, NULL);
	need(ibv_qp_to_qp_ex(b.qp) == NULL);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);
	need(ex != NULL);
	fill(&a, 1);
	need_equal(rc_receive(&b, 1, 0, 4096), 0);
	need_equal(rc_receive(&b, 2, 8192, 4096), 0);
	ibv_wr_start(ex);
	ex->wr_id = 11;
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 2000);
	ex->wr_id = 12;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(ex, b.mr->rkey, (uintptr_t)b.buf + 20000, htonl(77));
	unsigned char bytes[40];
	memset(bytes, 5, sizeof(bytes));
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	memset(bytes, 6, sizeof(bytes));
	need_equal(ibv_wr_complete(ex), 0);
	expect_wc(&a, a.send_cq, 12, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	expect_wc(&b, b.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	struct ibv_wc wc = cq_wait(b.recv_cq);
	need_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	need_equal(ntohl(wc.imm_data), 77);
	need(memcmp(b.buf, a.buf, 2000) == 0 && b.buf[20039] == 5 && b.buf[20040] == 0);

	/* An error in the middle: nothing is posted. An abort: the same. */
	need_equal(rc_receive(&b, 3, 0, 4096), 0);
	need_equal(rc_receive(&b, 4, 0, 4096), 0);
	ibv_wr_start(ex);
	ex->wr_id = 13;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 10);
	ibv_wr_send(ex);
	unsigned char much[4096] = { 0 };
	ibv_wr_set_inline_data(ex, much, sizeof(much));
	need_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 10);
	ibv_wr_abort(ex);
	cq_expect_none(a.send_cq, 5);
	cq_expect_none(b.recv_cq, 5);
	rc_pair_close(&a, &b);

	rc_open(&a, &(struct rc_options){ .send_ops = IBV_QP_EX_WITH_SEND });
	ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 10);
	need_equal(ibv_wr_complete(ex), EINVAL); /* in RESET */
	rc_close(&a);
}

static void shared_receives(void)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 10, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct rc a[2], b[2];
	struct ibv_srq_attr attr;
	struct ibv_recv_wr *bad;

	need(srq != NULL && init.attr.max_wr >= 10 && init.attr.max_sge >= 2);
	for (int i = 0; i < 2; i++)
		rc_pair(&a[i], &b[i], &(struct rc_options){ .context = context, .pd = pd }, &(struct rc_options){ .context =
				context, .pd = pd,
			.srq = srq });
	need_equal(ibv_destroy_srq(srq), EBUSY);
	need_equal(rc_receive(&b[0], 1, 0, 1), EINVAL);
	for (uint64_t i = 0; i < 10; i++) {
		struct ibv_sge sge = { (uintptr_t)b[0].buf + i * 1000, 1000, b[0].mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		need_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
	attr.srq_limit = 7;
	need_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	need_equal(ibv_query_srq(srq, &attr), 0);
	need_equal(attr.srq_limit, 7);
	attr.srq_limit = 10000000;
	need_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	struct ibv_async_event event;
	for (uint64_t i = 0; i < 4; i++) {
		int q = (int)(i % 2);

		need_equal(rc_post(&a[q], i, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 500, NULL, 0), 0);
		expect_wc(&b[q], b[q].recv_cq, i, IBV_WC_SUCCESS, IBV_WC_RECV);
		expect_wc(&a[q], a[q].send_cq, i, IBV_WC_SUCCESS, IBV_WC_SEND);
		need(fd_is_readable(context->async_fd, 0) == (i == 3));
	}
	need_equal(ibv_get_async_event(context, &event), 0);
	need_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	need(event.element.srq == srq);
	ibv_ack_async_event(&event);
	need_equal(ibv_query_srq(srq, &attr), 0);
	need_equal(attr.srq_limit, 0);
	/* A QP in error leaves the SRQ's receives alone and says when it holds none. */
	need_equal(rc_to_error(&b[1]), 0);
	cq_expect_none(b[1].recv_cq, 5);
	need(fd_is_readable(context->async_fd, 1000));
	need_equal(ibv_get_async_event(context, &event), 0);
	need_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	need(event.element.qp == b[1].qp);
	ibv_ack_async_event(&event);
	need_equal(rc_post(&a[0], 5, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 500, NULL, 0), 0);
	expect_wc(&b[0], b[0].recv_cq, 4, IBV_WC_SUCCESS, IBV_WC_RECV);
	for (int i = 0; i < 2; i++)
		rc_pair_close(&a[i], &b[i]);
	need_equal(ibv_destroy_srq(srq), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_close_device(context), 0);
}

static const struct harness_case cases[] = {
	{ "late_receive", "with rnr_retry 7 a receive that comes late gets the message", late_receive },
	{ "sizes", "SEND and WRITE, with and without immediate, 0 bytes to 1 MB, several MTUs", sizes },
	{ "nothing_at_all", "no elements, no keys, no list", nothing_at_all },
	{ "scatter_gather", "several elements on both sides, empty ones among them", scatter_gather },
	{ "inline_data", "0 to max_inline_data bytes without a key, the buffer free at return", inline_data },
	{ "signalling", "unsignaled, signaled, sq_sig_all", signalling },
	{ "reuse", "a QP goes through RESET and carries data again", reuse },
	{ "query", "ibv_query_qp tells what was set", query },
	{ "builders", "ibv_wr_* posts all or nothing", builders },
	{ "shared_receives", "an SRQ under two QPs, its limit, a dead QP on it", shared_receives },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
