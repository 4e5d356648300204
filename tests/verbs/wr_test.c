/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The builders of ibv_wr_*: batches that are posted whole or not at all, each operation with each way to give it data, what is
 * refused and when.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static const uint64_t rc_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV |
			       IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
			       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
static const struct rc_options with_ops = { .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, .send_wr = 16, .inline_max = 64 };

static struct ibv_qp_ex *begin(struct rc *rc)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(rc->qp);

	need(ex != NULL);
	ibv_wr_start(ex);
	return ex;
}

static void write_of(struct ibv_qp_ex *ex, struct rc *from, const struct rc_address *to, uint64_t id, uint32_t at)
{
	ex->wr_id = id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, to->rkey, to->addr + at);
	ibv_wr_set_sge(ex, from->mr->lkey, (uintptr_t)from->buf + at, 8);
}

static void batches(void)
{
	struct rc a, b;

	rc_pair(&a, &b, &with_ops, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	for (int i = 0; i < 64; i++)
		a.buf[i] = (unsigned char)(i + 1);
	/* Nothing before complete. */
	struct ibv_qp_ex *ex = begin(&a);
	for (uint32_t i = 0; i < 8; i++)
		write_of(ex, &a, &to_b, i, i * 8);
	cq_expect_none(a.send_cq, 10);
	need_equal(b.buf[0], 0);
	need_equal(ibv_wr_complete(ex), 0);
	for (uint64_t id = 0; id < 8; id++)
		cq_expect(a.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(memcmp(a.buf, b.buf, 64) == 0);
	/* An empty batch is one. */
	ex = begin(&a);
	need_equal(ibv_wr_complete(ex), 0);
	/* Abort leaves no trace: not in the queue, not in memory, and no slot is lost. */
	memset(b.buf, 0, 64);
	for (int round = 0; round < 100; round++) {
		ex = begin(&a);
		for (uint32_t i = 0; i < 7; i++)
			write_of(ex, &a, &to_b, i, i * 8);
		ibv_wr_abort(ex);
	}
	cq_expect_none(a.send_cq, 10);
	need_equal(b.buf[0], 0);
	ex = begin(&a);
	for (uint32_t i = 0; i < 16; i++)
		write_of(ex, &a, &to_b, 100 + i, 8 * (i % 8));
	need_equal(ibv_wr_complete(ex), 0);
	for (uint64_t id = 100; id < 116; id++)
		cq_expect(a.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	rc_pair_close(&a, &b);
}

/* The first error is what complete returns, and nothing of the batch is posted, whatever came before and after. */
static void errors(void)
{
	struct rc a, b;
	struct ibv_sge list[40] = { 0 };
	static char data[256];
	struct ibv_data_buf bufs[2] = { { data, 40 }, { data, 40 } };

	rc_pair(&a, &b, &with_ops, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	for (int what = 0; what < 7; what++) {
		int expected = EINVAL;
		struct ibv_qp_ex *ex = begin(&a);

		write_of(ex, &a, &to_b, 1, 0);
		ex->wr_id = 2;
		switch (what) {
		case 0: /* too many elements */
			ibv_wr_send(ex);
			ibv_wr_set_sge_list(ex, 40, list);
			break;
		case 1: /* too long to be inline */
			ibv_wr_send(ex);
			ibv_wr_set_inline_data(ex, data, 65);
			break;
		case 2:
			ibv_wr_send(ex);
			ibv_wr_set_inline_data_list(ex, 2, bufs);
			break;
		case 3: /* inline, of an operation that brings data back */
			ibv_wr_rdma_read(ex, to_b.rkey, to_b.addr);
			ibv_wr_set_inline_data(ex, data, 8);
			break;
		case 4: /* no room for 8 bytes */
			ibv_wr_atomic_fetch_add(ex, to_b.rkey, to_b.addr, 1);
			ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 4);
			break;
		case 5: /* more than the queue holds; the write before is one of them */
			for (uint32_t i = 0; i < 16; i++)
				write_of(ex, &a, &to_b, 3, 0);
			expected = ENOMEM;
			break;
		case 6: /* two errors: the first counts */
			for (uint32_t i = 0; i < 17; i++)
				write_of(ex, &a, &to_b, 3, 0);
			ibv_wr_send(ex);
			ibv_wr_set_inline_data(ex, data, 65);
			expected = ENOMEM;
			break;
		}
		write_of(ex, &a, &to_b, 4, 0);
		need_equal(ibv_wr_complete(ex), expected);
		cq_expect_none(a.send_cq, 2);
		/* And the queue is as it was. */
		ex = begin(&a);
		write_of(ex, &a, &to_b, 5, 0);
		need_equal(ibv_wr_complete(ex), 0);
		cq_expect(a.send_cq, 5, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	/* In RESET nothing is taken, whatever the profile. */
	need_equal(rc_to_reset(&a), 0);
	struct ibv_qp_ex *ex = begin(&a);
	write_of(ex, &a, &to_b, 1, 0);
	need_equal(ibv_wr_complete(ex), EINVAL);
	rc_connect(&a, &to_b);
	/* In error what is posted is flushed. */
	need_equal(rc_to_error(&a), 0);
	ex = begin(&a);
	write_of(ex, &a, &to_b, 9, 0);
	need_equal(ibv_wr_complete(ex), 0);
	need_equal(cq_wait(a.send_cq).status, IBV_WC_WR_FLUSH_ERR);
	rc_pair_close(&a, &b);
}

static void operations(void)
{
	struct rc a, b;
	struct ibv_wc wc;
	uint64_t word;

	rc_pair(&a, &b, &with_ops, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	char text[64] = "the caller's own";
	struct ibv_data_buf bufs[3] = { { text, 4 }, { NULL, 0 }, { text + 4, 5 } };
	struct ibv_sge list[3] = { { (uintptr_t)a.buf, 10, a.mr->lkey }, { 0 }, { (uintptr_t)a.buf + 20, 5, a.mr->lkey } };

	for (int i = 0; i < 100; i++)
		a.buf[i] = (unsigned char)('A' + i % 26);
	for (uint64_t id = 0; id < 4; id++)
		need_equal(rc_receive(&b, id, 1024 + id * 64, 64), 0);
	/* wr_id and flags stay until they are changed; what is given is copied at once. */
	struct ibv_qp_ex *ex = begin(&a);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, text, 16);
	memset(text, '#', 9);
	ibv_wr_send_imm(ex, htonl(0xabcd));
	ibv_wr_set_sge_list(ex, 3, list);
	list[0].length = 99;
	ibv_wr_rdma_write_imm(ex, to_b.rkey, to_b.addr + 4096, htonl(0xef));
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	memset(text, '?', 9);
	ibv_wr_rdma_write(ex, to_b.rkey, to_b.addr + 4200);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf + 26, 26);
	need_equal(ibv_wr_complete(ex), 0);
	cq_expect(a.send_cq, 7, IBV_WC_SUCCESS, IBV_WC_SEND);
	cq_expect(a.send_cq, 7, IBV_WC_SUCCESS, IBV_WC_SEND);
	cq_expect(a.send_cq, 7, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	cq_expect(a.send_cq, 7, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	wc = cq_wait(b.recv_cq);
	need(wc.wr_id == 0 && wc.byte_len == 16 && memcmp(b.buf + 1024, "the caller's own", 16) == 0);
	wc = cq_wait(b.recv_cq);
	need(wc.wr_id == 1 && wc.byte_len == 15 && wc.imm_data == htonl(0xabcd) && memcmp(b.buf + 1088, "ABCDEFGHIJUVWXY", 15) == 0);
	wc = cq_wait(b.recv_cq);
	need(wc.wr_id == 2 && wc.byte_len == 9 && wc.imm_data == htonl(0xef) && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	need(memcmp(b.buf + 4096, "#########", 9) == 0 && b.buf[4105] == 0);
	need(memcmp(b.buf + 4200, a.buf + 26, 26) == 0);

	/* READ and atomics; nothing given is nothing read. */
	memcpy(b.buf + 512, "what b has to tell", 18);
	word = 41;
	memcpy(b.buf + 800, &word, 8);
	ex = begin(&a);
	ex->wr_id = 10;
	ibv_wr_rdma_read(ex, to_b.rkey, to_b.addr + 512);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf + 200, 18);
	ex->wr_id = 11;
	ibv_wr_atomic_fetch_add(ex, to_b.rkey, to_b.addr + 800, 1);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf + 240, 8);
	ex->wr_id = 12;
	ibv_wr_atomic_cmp_swp(ex, to_b.rkey, to_b.addr + 800, 42, 4711);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf + 248, 8);
	ex->wr_id = 13;
	ibv_wr_rdma_write(ex, to_b.rkey, to_b.addr);
	need_equal(ibv_wr_complete(ex), 0);
	cq_expect(a.send_cq, 10, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	cq_expect(a.send_cq, 11, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	cq_expect(a.send_cq, 12, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP);
	cq_expect(a.send_cq, 13, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(memcmp(a.buf + 200, "what b has to tell", 18) == 0);
	memcpy(&word, a.buf + 240, 8);
	need_equal(word, 41);
	memcpy(&word, a.buf + 248, 8);
	need_equal(word, 42);
	memcpy(&word, b.buf + 800, 8);
	need_equal(word, 4711);

	/* A message that takes a key away; the plain interface on the same queue in between. */
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.buf + 8192, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr != NULL);
	need_equal(rc_post(&a, 20, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &to_b, 0), 0);
	ex = begin(&a);
	ex->wr_id = 21;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	ibv_wr_send_inv(ex, mr->rkey);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 8);
	need_equal(ibv_wr_complete(ex), 0);
	cq_expect(a.send_cq, 20, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	wc = cq_wait(a.send_cq);
	need_equal(wc.wr_id, 21);
	need_equal(ibv_dereg_mr(mr), 0);
	rc_pair_close(&a, &b);
}

/* What a type can be asked for, and what it has then. */
static void by_flags(void)
{
	const uint64_t messages = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t writes = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const struct {
		enum ibv_qp_type type;
		uint64_t can, cannot;
	} rows[] = {
		{ IBV_QPT_RC, rc_ops, IBV_QP_EX_WITH_TSO },
		{ IBV_QPT_UC, messages | writes, IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_TSO },
		{ IBV_QPT_UD, messages, writes | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |
		  IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_TSO },
	};
	struct rc rc;

	rc_open(&rc, NULL);
	need(ibv_qp_to_qp_ex(rc.qp) == NULL);
	for (unsigned r = 0; r < 3; r++) {
		struct ibv_qp_init_attr_ex attr = {
			.send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = rows[r].type, .cap = { 4, 4, 1, 1, 0 },
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = rc.pd,
		};

		for (int bit = 0; bit < 64; bit++) {
			attr.send_ops_flags = 1ull << bit;
			if ((rows[r].cannot >> bit & 1) != 0 || bit > 20)
				need_errno(ibv_create_qp_ex(rc.context, &attr), EOPNOTSUPP);
			if ((rows[r].can >> bit & 1) == 0)
				continue;
			struct ibv_qp *qp = ibv_create_qp_ex(rc.context, &attr);
			need(qp != NULL);
			struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
			need(ex != NULL && ibv_qp_to_qp_ex(&ex->qp_base) == ex);
			need(ex->wr_start != NULL && ex->wr_complete != NULL && ex->wr_abort != NULL && ex->wr_set_sge != NULL &&
			     ex->wr_set_sge_list != NULL && ex->wr_set_inline_data != NULL && ex->wr_set_inline_data_list != NULL);
			need_equal(ex->wr_send != NULL, attr.send_ops_flags == IBV_QP_EX_WITH_SEND);
			need_equal(ex->wr_rdma_write != NULL, attr.send_ops_flags == IBV_QP_EX_WITH_RDMA_WRITE);
			need_equal(ex->wr_rdma_read != NULL, attr.send_ops_flags == IBV_QP_EX_WITH_RDMA_READ);
			need_equal(ex->wr_atomic_fetch_add != NULL, attr.send_ops_flags == IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
			need(ex->wr_send_tso == NULL);
			need_equal(ibv_destroy_qp(qp), 0);
		}
		/* None asked for is an extended QP without builders. */
		attr.send_ops_flags = 0;
		struct ibv_qp *qp = ibv_create_qp_ex(rc.context, &attr);
		need(qp != NULL && ibv_qp_to_qp_ex(qp) != NULL);
		need_equal(ibv_destroy_qp(qp), 0);
	}
	rc_close(&rc);
}

static void datagrams(void)
{
	struct rc rc;
	struct ibv_wc wc;

	rc_open(&rc, NULL);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = IBV_QPT_UD, .cap = { 8, 8, 2, 2, 32 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = rc.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	need_equal(ibv_destroy_qp(rc.qp), 0);
	need((rc.qp = ibv_create_qp_ex(rc.context, &init)) != NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x77 };
	need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	attr.qp_state = IBV_QPS_RTR;
	need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	struct ibv_ah_attr ah_attr = { .is_global = 1, .port_num = 1,
				       .grh = { .dgid = rc.gid, .sgid_index = (uint8_t)rc.gid_index, .hop_limit = 1 } };
	struct ibv_ah *ah = ibv_create_ah(rc.pd, &ah_attr);
	need(ah != NULL);
	for (uint64_t id = 0; id < 2; id++)
		need_equal(rc_receive(&rc, id, 1024 * (id + 1), 512), 0);
	struct ibv_qp_ex *ex = begin(&rc);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, htonl(5));
	ibv_wr_set_ud_addr(ex, ah, rc.qp->qp_num, 0x77);
	ibv_wr_set_inline_data(ex, (char[]){ "to myself" }, 10);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, rc.qp->qp_num, 0x77);
	ibv_wr_set_sge(ex, rc.mr->lkey, (uintptr_t)rc.buf, 100);
	need_equal(ibv_wr_complete(ex), 0);
	need_equal(ibv_destroy_ah(ah), 0); /* each has its own copy of the address */
	wc = cq_wait(rc.recv_cq);
	need(wc.wr_id == 0 && wc.byte_len == 50 && wc.imm_data == htonl(5) && wc.src_qp == rc.qp->qp_num);
	need_equal(strcmp((char *)rc.buf + 1024 + 40, "to myself"), 0);
	wc = cq_wait(rc.recv_cq);
	need(wc.wr_id == 1 && wc.byte_len == 140);
	/* Without an address, or with none. */
	for (int none = 0; none < 2; none++) {
		ex = begin(&rc);
		ibv_wr_send(ex);
		if (none)
			ibv_wr_set_ud_addr(ex, NULL, rc.qp->qp_num, 0x77);
		ibv_wr_set_sge(ex, rc.mr->lkey, (uintptr_t)rc.buf, 8);
		need_equal(ibv_wr_complete(ex), EINVAL);
	}
	rc_close(&rc);
}

/* Threads that build on one queue take turns, a batch at a time. */
static struct rc *shared_a;
static struct rc_address shared_to;

static void *batcher(void *arg)
{
	uint64_t thread = (uintptr_t)arg;

	for (int round = 0; round < 200;) {
		struct ibv_qp_ex *ex = begin(shared_a);

		for (uint64_t i = 0; i < 4; i++) {
			ex->wr_id = thread << 8 | i;
			ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(ex, shared_to.rkey, shared_to.addr);
			ibv_wr_set_inline_data(ex, (char[]){ "12345678" }, 8);
		}
		if (round % 5 == 4) {
			ibv_wr_abort(ex);
			round++;
			continue;
		}
		int err = ibv_wr_complete(ex);
		need(err == 0 || err == ENOMEM);
		round += err == 0;
	}
	return NULL;
}

static void threads(void)
{
	enum { THREADS = 3, WHOLE = THREADS * 160 };
	struct rc a, b;
	pthread_t ids[THREADS];

	rc_pair(&a, &b, &with_ops, NULL);
	shared_a = &a;
	shared_to = rc_address_of(&b);
	for (uintptr_t i = 0; i < THREADS; i++)
		need_equal(pthread_create(&ids[i], NULL, batcher, (void *)i), 0);
	/* No batch is mixed with another. */
	for (int n = 0; n < WHOLE; n++) {
		uint64_t first = cq_wait(a.send_cq).wr_id;

		need_equal(first & 0xff, 0);
		for (uint64_t i = 1; i < 4; i++)
			need_equal(cq_wait(a.send_cq).wr_id, first + i);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	cq_expect_none(a.send_cq, 2);
	rc_pair_close(&a, &b);
}

/* 8 Mbit/s are a megabyte in a second. What it sends is held, not what it answers. */
static void rate_limit(void)
{
	enum { MESSAGES = 12, BYTES = 10000, KBPS = 8000 };
	struct rc a, b;
	struct ibv_device_attr_ex device;
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = KBPS };

	rc_pair(&a, &b, NULL, NULL);
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	need_equal(ibv_query_device_ex(a.context, NULL, &device), 0);
	need((device.packet_pacing_caps.supported_qpts >> IBV_QPT_RC & 1) == 1);
	need(device.packet_pacing_caps.qp_rate_limit_min <= KBPS && device.packet_pacing_caps.qp_rate_limit_max >= KBPS);
	attr.rate_limit = device.packet_pacing_caps.qp_rate_limit_max + 1;
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	attr.rate_limit = device.packet_pacing_caps.qp_rate_limit_min - 1;
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	attr = (struct ibv_qp_rate_limit_attr){ .rate_limit = KBPS, .comp_mask = 1 };
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	attr = (struct ibv_qp_rate_limit_attr){ .rate_limit = KBPS, .max_burst_sz = 4000 };
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), 0);
	for (int i = 0; i < BYTES; i++)
		a.buf[i] = (unsigned char)(i * 3);
	uint64_t start = harness_now_ms();
	for (uint64_t id = 0; id < MESSAGES; id++)
		need_equal(rc_post(&a, id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, BYTES, &to_b, 0), 0);
	/* Meanwhile it reads from b, and b from it, as fast as ever: only requests are held. */
	for (uint64_t id = 100; id < 104; id++)
		need_equal(rc_post(&b, id, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 32768, 20000, &to_a, 0), 0);
	for (uint64_t id = 100; id < 104; id++)
		cq_expect(b.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	uint64_t read = harness_now_ms() - start;
	for (uint64_t id = 0; id < MESSAGES; id++)
		cq_expect(a.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	uint64_t took = harness_now_ms() - start;
	need(took >= MESSAGES * BYTES / KBPS * 8 * 8 / 10);
	need(read < took);
	need(memcmp(a.buf, b.buf, BYTES) == 0);
	/* No limit: what is held goes at once. */
	for (uint64_t id = 0; id < MESSAGES; id++)
		need_equal(rc_post(&a, id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, BYTES, &to_b, 0), 0);
	attr = (struct ibv_qp_rate_limit_attr){ 0 };
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), 0);
	start = harness_now_ms();
	for (uint64_t id = 0; id < MESSAGES; id++)
		cq_expect(a.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(harness_now_ms() - start < took);
	/* Not before RTR. */
	need_equal(rc_to_reset(&a), 0);
	attr.rate_limit = KBPS;
	need_equal(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	rc_pair_close(&a, &b);
}

static const struct harness_case cases[] = {
	{ "batches", "nothing is posted before complete, abort leaves no trace", batches },
	{ "errors", "the first error is what complete returns, and nothing is posted", errors },
	{ "operations", "each operation with each way to give data", operations },
	{ "by_flags", "builders by type and flags; EOPNOTSUPP for the others", by_flags },
	{ "datagrams", "addresses of datagrams", datagrams },
	{ "rate_limit", "a limit on what a queue sends, and on nothing else", rate_limit },
	{ "threads", "threads that build on one queue take turns", threads },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
