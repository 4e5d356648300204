/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RC adapter from verbs' side: two QPs of one process, back to back, over a fake engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "export/reader.h"
#include "hca/async.h"
#include "hca/fake_engine.h"

struct pair {
	struct fake_world *w;
	struct hca_cq *scq, *rcq;
	struct hca_qp *a, *b;
	uint8_t src[65536], dst[65536];
	struct hca_mr *src_mr, *dst_mr;
};

static struct hca_mr *reg(struct fake_world *w, void *addr, size_t len, uint32_t access)
{
	struct hca_mr_attr attr = { .addr = (uintptr_t)addr, .length = len, .iova = (uintptr_t)addr, .access = access };
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_reg(w->pd, &attr, NULL, &mr), 0);
	return mr;
}

static struct pair *pair_create(bool sig_all)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->w = fake_world_create();
	p->scq = fake_cq(p->w, 64, NULL);
	p->rcq = fake_cq(p->w, 64, NULL);
	p->a = fake_qp(p->w, p->scq, p->rcq, NULL, sig_all);
	p->b = fake_qp(p->w, p->scq, p->rcq, NULL, sig_all);
	assert_int_equal(fake_connect(p->a, hca_qp_number(p->b)), 0);
	assert_int_equal(fake_connect(p->b, hca_qp_number(p->a)), 0);
	for (size_t i = 0; i < sizeof(p->src); i++)
		p->src[i] = (uint8_t)(i * 7 + (i >> 8));
	p->src_mr = reg(p->w, p->src, sizeof(p->src), 0);
	p->dst_mr = reg(p->w, p->dst, sizeof(p->dst), 7);
	return p;
}

static void pair_destroy(struct pair *p)
{
	hca_qp_destroy(p->a);
	hca_qp_destroy(p->b);
	hca_mr_dereg(p->src_mr);
	hca_mr_dereg(p->dst_mr);
	assert_int_equal(hca_cq_destroy(p->scq), 0);
	assert_int_equal(hca_cq_destroy(p->rcq), 0);
	fake_world_destroy(p->w);
	free(p);
}

static struct hca_send_wr write_wr(struct pair *p, const struct transport_sge *sge, int n)
{
	return (struct hca_send_wr){
		.wr_id = 42, .sge = sge, .num_sge = n, .opcode = TRANSPORT_OP_RDMA_WRITE, .flags = TRANSPORT_WQE_SIGNALED,
		.rkey = hca_mr_rkey(p->dst_mr), .remote_addr = (uintptr_t)p->dst,
	};
}

static void send_moves_data(void **state)
{
	struct pair *p = pair_create(false);
	/* Three elements in, two out, none of them at the packets' borders. */
	const struct transport_sge out[3] = {
		{ (uintptr_t)p->src, 1, hca_mr_lkey(p->src_mr) },
		{ (uintptr_t)p->src + 1, 5000, hca_mr_lkey(p->src_mr) },
		{ (uintptr_t)p->src + 5001, 2, hca_mr_lkey(p->src_mr) },
	};
	const struct transport_sge in[2] = {
		{ (uintptr_t)p->dst, 4097, hca_mr_lkey(p->dst_mr) }, { (uintptr_t)p->dst + 8192, 4096, hca_mr_lkey(p->dst_mr) },
	};
	struct hca_send_wr wr = {
		.wr_id = 7, .sge = out, .num_sge = 3, .opcode = TRANSPORT_OP_SEND_WITH_IMM, .flags = TRANSPORT_WQE_SIGNALED,
		.imm_or_inv = 0x11223344,
	};
	struct hca_wc wc;

	assert_int_equal(hca_qp_post_recv(p->b, 99, in, 2), 0);
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->rcq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 99);
	assert_int_equal(wc.status, TRANSPORT_SUCCESS);
	assert_int_equal(wc.opcode, TRANSPORT_WC_RECV);
	assert_int_equal(wc.byte_len, 5003);
	assert_int_equal(wc.imm_or_inv, 0x11223344);
	assert_int_equal(wc.wc_flags, TRANSPORT_WC_WITH_IMM);
	assert_int_equal(wc.qp_num, hca_qp_number(p->b));
	assert_memory_equal(p->dst, p->src, 4097);
	assert_memory_equal(p->dst + 8192, p->src + 4097, 5003 - 4097);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.opcode, TRANSPORT_WC_SEND);
	assert_int_equal(wc.qp_num, hca_qp_number(p->a));
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 0);
	pair_destroy(p);
}

static void write_moves_data(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, sizeof(p->src), hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc;

	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	assert_int_equal(wc.status, TRANSPORT_SUCCESS);
	assert_int_equal(wc.opcode, TRANSPORT_WC_RDMA_WRITE);
	assert_memory_equal(p->dst, p->src, sizeof(p->src));
	pair_destroy(p);
}

static void inline_data_is_copied_at_post(void **state)
{
	struct pair *p = pair_create(false);
	uint8_t small[2][24];
	const struct transport_sge sge[2] = { { (uintptr_t)small[0], 24, 0xdead }, { (uintptr_t)small[1], 24, 0xbeef } };
	struct hca_send_wr wr = write_wr(p, sge, 2);
	struct hca_wc wc;

	wr.flags |= TRANSPORT_WQE_INLINE;
	memset(small[0], 1, 24);
	memset(small[1], 2, 24);
	hca_qp_post_begin(p->a);
	assert_int_equal(hca_qp_post_send(p->a, &wr), 0);
	memset(small, 9, sizeof(small)); /* the buffer is ours again */
	hca_qp_post_end(p->a, true);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	assert_int_equal(wc.status, TRANSPORT_SUCCESS);
	assert_int_equal(p->dst[0], 1);
	assert_int_equal(p->dst[23], 1);
	assert_int_equal(p->dst[24], 2);
	assert_int_equal(p->dst[47], 2);
	assert_int_equal(p->dst[48], 0);
	pair_destroy(p);
}

static void slots_are_freed_by_polling_a_later_signalled_one(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, 8, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc;

	wr.flags = 0;
	for (int i = 0; i < 15; i++)
		assert_int_equal(fake_send(p->a, &wr), 0);
	wr.flags = TRANSPORT_WQE_SIGNALED;
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_NOMEM);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	for (int i = 0; i < 16; i++)
		assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_NOMEM);
	pair_destroy(p);
}

static void signal_all(void **state)
{
	struct pair *p = pair_create(true);
	const struct transport_sge sge = { (uintptr_t)p->src, 8, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc[4];

	wr.flags = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->scq, 4, wc), 3);
	pair_destroy(p);
}

static void builders_commit_all_or_nothing(void **state)
{
	struct pair *p = pair_create(true);
	const struct transport_sge sge = { (uintptr_t)p->src, 8, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc[4];

	hca_qp_post_begin(p->a);
	assert_int_equal(hca_qp_post_send(p->a, &wr), 0);
	assert_int_equal(hca_qp_post_send(p->a, &wr), 0);
	hca_qp_post_end(p->a, false);
	assert_int_equal(hca_cq_poll(p->scq, 4, wc), 0);
	hca_qp_post_begin(p->a);
	assert_int_equal(hca_qp_post_send(p->a, &wr), 0);
	hca_qp_post_end(p->a, true);
	assert_int_equal(hca_cq_poll(p->scq, 4, wc), 1);
	pair_destroy(p);
}

static void post_refusals(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge[5] = { { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) } };
	struct hca_send_wr good = write_wr(p, sge, 1), wr;
	struct hca_qp *fresh = fake_qp(p->w, p->scq, p->rcq, NULL, false);

	assert_int_equal(fake_send(fresh, &good), BASE_ERR_INVAL);
	assert_int_equal(hca_qp_post_recv(fresh, 1, sge, 1), BASE_ERR_INVAL);
	wr = good, wr.num_sge = 5;
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	wr = good, wr.num_sge = -1;
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	for (uint32_t opcode = TRANSPORT_OP_COUNT; opcode < 20; opcode++) {
		wr = good, wr.opcode = opcode;
		assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	}
	wr = good, wr.opcode = UINT32_MAX;
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	wr = good, wr.flags = TRANSPORT_WQE_INLINE; /* 100 bytes, the limit is 64 */
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	wr = good, wr.flags = TRANSPORT_WQE_INLINE, wr.opcode = TRANSPORT_OP_RDMA_READ, wr.num_sge = 0;
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	wr = good, wr.opcode = TRANSPORT_OP_FETCH_ADD, wr.num_sge = 0;
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	assert_int_equal(hca_qp_post_recv(p->a, 1, sge, 5), BASE_ERR_INVAL);
	assert_int_equal(hca_qp_post_recv(p->a, 1, sge, -1), BASE_ERR_INVAL);
	for (int i = 0; i < 16; i++)
		assert_int_equal(hca_qp_post_recv(p->a, 1, sge, 1), 0);
	assert_int_equal(hca_qp_post_recv(p->a, 1, sge, 1), BASE_ERR_NOMEM);
	hca_qp_destroy(fresh);
	pair_destroy(p);
}

static void bad_rkey_fails_both_ends(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_async_event event;
	struct hca_wc wc;

	wr.rkey ^= 0x100;
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	assert_int_equal(wc.status, TRANSPORT_REM_ACCESS_ERR);
	assert_int_equal(wc.opcode, TRANSPORT_WC_RDMA_WRITE);
	assert_int_equal(wc.qp_num, hca_qp_number(p->a));
	assert_int_equal(hca_qp_state_get(p->a), HCA_QPS_ERR);
	assert_int_equal(hca_qp_state_get(p->b), HCA_QPS_ERR);
	fcntl(hca_async_fd(p->w->context), F_SETFL, O_NONBLOCK);
	assert_int_equal(hca_async_get(p->w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_QP_ACCESS_ERR);
	hca_async_ack(event.token);
	assert_int_equal(hca_async_get(p->w->context, &event), BASE_ERR_AGAIN);
	pair_destroy(p);
}

static void bad_lkey_is_a_local_error(void **state)
{
	struct pair *p = pair_create(false);
	struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) ^ 0x5500 };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc;

	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);
	assert_int_equal(wc.status, TRANSPORT_LOC_PROT_ERR);
	assert_int_equal(hca_qp_state_get(p->b), HCA_QPS_RTS);
	pair_destroy(p);
}

/* Goal: each queue flushes in posting order, signalled or not, also what is posted later; RESET then forgets. */
static void flush_in_order(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc[32];

	p->w->engine.cut = true;
	for (int i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		wr.flags = i & 1 ? TRANSPORT_WQE_SIGNALED : 0;
		assert_int_equal(fake_send(p->a, &wr), 0);
		assert_int_equal(hca_qp_post_recv(p->a, 200 + i, &sge, 1), 0);
	}
	assert_int_equal(fake_state(p->a, HCA_QPS_ERR), 0);
	wr.wr_id = 104;
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_qp_post_recv(p->a, 204, &sge, 1), 0);
	assert_int_equal(hca_cq_poll(p->scq, 32, wc), 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(wc[i].wr_id, 100 + i);
		assert_int_equal(wc[i].status, TRANSPORT_WR_FLUSH_ERR);
		assert_int_equal(wc[i].qp_num, hca_qp_number(p->a));
	}
	assert_int_equal(hca_cq_poll(p->rcq, 32, wc), 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(wc[i].wr_id, 200 + i);
		assert_int_equal(wc[i].status, TRANSPORT_WR_FLUSH_ERR);
		assert_int_equal(wc[i].opcode, TRANSPORT_WC_RECV);
	}
	/* Not polled before the reset: gone. */
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(fake_state(p->a, HCA_QPS_RESET), 0);
	assert_int_equal(hca_cq_poll(p->scq, 32, wc), 0);
	assert_int_equal(fake_send(p->a, &wr), BASE_ERR_INVAL);
	/* And it works again. */
	p->w->engine.cut = false;
	assert_int_equal(fake_state(p->b, HCA_QPS_RESET), 0);
	assert_int_equal(fake_connect(p->a, hca_qp_number(p->b)), 0);
	assert_int_equal(fake_connect(p->b, hca_qp_number(p->a)), 0);
	for (int i = 0; i < 40; i++) {
		wr.flags = TRANSPORT_WQE_SIGNALED;
		assert_int_equal(fake_send(p->a, &wr), 0);
		assert_int_equal(hca_cq_poll(p->scq, 1, wc), 1);
		assert_int_equal(wc[0].status, TRANSPORT_SUCCESS);
	}
	pair_destroy(p);
}

static void silence_ends_in_retry_exceeded(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct hca_wc wc = { 0 };

	p->w->engine.cut = true;
	assert_int_equal(fake_send(p->a, &wr), 0);
	int rounds = 0;
	while (hca_cq_poll(p->scq, 1, &wc) == 0 && rounds++ < 1000)
		p->w->engine.now += 50000000;
	assert_int_equal(wc.status, TRANSPORT_RETRY_EXC_ERR);
	pair_destroy(p);
}

/* Goal: a CQE is not seen before its round's publish, and the peer's address is checked. */
static void order_and_addresses(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge in = { (uintptr_t)p->dst, 100, hca_mr_lkey(p->dst_mr) };
	const struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = { .sge = &sge, .num_sge = 1, .opcode = TRANSPORT_OP_SEND, .flags = TRANSPORT_WQE_SIGNALED };
	struct hca_wc wc;

	assert_int_equal(hca_qp_post_recv(p->b, 1, &in, 1), 0);
	p->w->engine.publish_paused = true;
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_memory_equal(p->dst, p->src, 100); /* placed */
	assert_int_equal(hca_cq_poll(p->rcq, 1, &wc), 0);
	p->w->engine.publish_paused = false;
	assert_int_equal(hca_cq_poll(p->rcq, 1, &wc), 1);
	assert_int_equal(hca_cq_poll(p->scq, 1, &wc), 1);

	/* A stranger who knows the QPN. */
	assert_int_equal(hca_qp_post_recv(p->b, 2, &in, 1), 0);
	fake_find(&p->w->engine, hca_qp_number(p->a))->path.sgid.raw[0] = 0x77;
	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(hca_cq_poll(p->rcq, 1, &wc), 0);
	pair_destroy(p);
}

static void overrun_breaks_cq_and_qp(void **state)
{
	struct fake_world *w = fake_world_create();
	struct hca_cq *cq = fake_cq(w, 4, NULL), *rcq = fake_cq(w, 4, NULL);
	struct hca_qp *a = fake_qp(w, cq, rcq, NULL, true), *b = fake_qp(w, rcq, rcq, NULL, true);
	static uint8_t bytes[16];
	struct hca_mr *mr = reg(w, bytes, sizeof(bytes), 7);
	const struct transport_sge sge = { (uintptr_t)bytes, 8, hca_mr_lkey(mr) };
	struct hca_send_wr wr = {
		.sge = &sge, .num_sge = 1, .opcode = TRANSPORT_OP_RDMA_WRITE, .rkey = hca_mr_rkey(mr),
				.remote_addr = (uintptr_t)bytes,
	};
	struct hca_async_event event;
	struct hca_wc wc[8];

	assert_int_equal(fake_connect(a, hca_qp_number(b)), 0);
	assert_int_equal(fake_connect(b, hca_qp_number(a)), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(fake_send(a, &wr), 0);
	assert_int_equal(hca_qp_state_get(a), HCA_QPS_RTS);
	assert_int_equal(fake_send(a, &wr), 0);
	assert_int_equal(hca_qp_state_get(a), HCA_QPS_ERR);
	assert_int_equal(hca_cq_poll(cq, 8, wc), 4);
	assert_int_equal(hca_cq_poll(cq, 8, wc), BASE_ERR_IO);
	assert_int_equal(hca_async_get(w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_CQ_ERR);
	hca_async_ack(event.token);
	assert_int_equal(hca_async_get(w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_QP_FATAL);
	hca_async_ack(event.token);
	hca_qp_destroy(a);
	hca_qp_destroy(b);
	hca_mr_dereg(mr);
	assert_int_equal(hca_cq_destroy(cq), 0);
	assert_int_equal(hca_cq_destroy(rcq), 0);
	fake_world_destroy(w);
}

static void srq_serves_and_limits(void **state)
{
	struct fake_world *w = fake_world_create();
	struct hca_srq_attr attr = { .max_wr = 16, .max_sge = 1 };
	struct hca_srq *srq;
	struct hca_cq *cq = fake_cq(w, 64, NULL);
	static uint8_t bytes[64];
	struct hca_mr *mr = reg(w, bytes, sizeof(bytes), 1);
	const struct transport_sge sge = { (uintptr_t)bytes, 8, hca_mr_lkey(mr) };
	struct hca_send_wr wr = { .sge = &sge, .num_sge = 1, .opcode = TRANSPORT_OP_SEND, .flags = 0 };
	struct hca_async_event event;
	struct hca_wc wc[16];

	assert_int_equal(hca_srq_create(w->pd, &attr, NULL, &srq), 0);
	struct hca_qp *a = fake_qp(w, cq, cq, NULL, false), *b = fake_qp(w, cq, cq, srq, false);
	assert_int_equal(hca_srq_destroy(srq), BASE_ERR_BUSY);
	assert_int_equal(hca_qp_post_recv(b, 1, &sge, 1), BASE_ERR_INVAL);
	assert_int_equal(fake_connect(a, hca_qp_number(b)), 0);
	assert_int_equal(fake_connect(b, hca_qp_number(a)), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(hca_srq_post(srq, i, &sge, 1), 0);
	attr.limit = 17;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_LIMIT), BASE_ERR_INVAL);
	attr.limit = 7;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_LIMIT), 0);
	fcntl(hca_async_fd(w->context), F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_send(a, &wr), 0);
	/* COMM_EST comes with nothing here: both were in RTS. Seven are left: not less than seven. */
	assert_int_equal(hca_async_get(w->context, &event), BASE_ERR_AGAIN);
	assert_int_equal(fake_send(a, &wr), 0);
	assert_int_equal(hca_async_get(w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_SRQ_LIMIT_REACHED);
	hca_async_ack(event.token);
	hca_srq_query(srq, &attr);
	assert_int_equal(attr.limit, 0);
	assert_int_equal(hca_cq_poll(cq, 16, wc), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, i);
		assert_int_equal(wc[i].qp_num, hca_qp_number(b));
	}
	attr.max_wr = 5;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), BASE_ERR_INVAL);
	attr.max_wr = 32;
	assert_int_equal(hca_srq_modify(srq, &attr, HCA_SRQ_MAX_WR), 0);
	assert_int_equal(fake_send(a, &wr), 0);
	assert_int_equal(hca_cq_poll(cq, 16, wc), 1);
	assert_int_equal(wc[0].wr_id, 4);
	/* In error the SRQ is left alone; the QP says when it holds none. */
	assert_int_equal(fake_state(b, HCA_QPS_ERR), 0);
	assert_int_equal(hca_async_get(w->context, &event), 0);
	assert_int_equal(event.type, HCA_ASYNC_QP_LAST_WQE_REACHED);
	hca_async_ack(event.token);
	assert_int_equal(hca_cq_poll(cq, 16, wc), 0);
	hca_qp_destroy(a);
	hca_qp_destroy(b);
	assert_int_equal(hca_srq_destroy(srq), 0);
	hca_mr_dereg(mr);
	assert_int_equal(hca_cq_destroy(cq), 0);
	fake_world_destroy(w);
}

static void objects_in_use_are_busy(void **state)
{
	struct pair *p = pair_create(false);

	assert_int_equal(hca_cq_destroy(p->scq), BASE_ERR_BUSY);
	assert_int_equal(hca_pd_dealloc(p->w->pd), BASE_ERR_BUSY);
	assert_int_equal(hca_context_close(p->w->context), BASE_ERR_BUSY);
	assert_int_equal(hca_device_destroy(p->w->device), BASE_ERR_BUSY);
	pair_destroy(p);
}

static void query_tells_what_was_set(void **state)
{
	struct pair *p = pair_create(false);
	struct hca_qp_attr attr;
	struct hca_qp_init init;

	hca_qp_query(p->a, &attr, &init);
	assert_int_equal(attr.state, HCA_QPS_RTS);
	assert_int_equal(attr.sq_psn, 0xfffffe);
	assert_int_equal(attr.rq_psn, 0xfffffe);
	assert_int_equal(attr.dest_qpn, hca_qp_number(p->b));
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(init.cap.max_send_wr, 16);
	assert_true(init.send_cq == p->scq);
	pair_destroy(p);
}

static void modify_failures_change_nothing(void **state)
{
	struct fake_world *w = fake_world_create();
	struct hca_cq *cq = fake_cq(w, 4, NULL);
	struct hca_qp *qp = fake_qp(w, cq, cq, NULL, false);
	struct hca_qp_attr attr = fake_attr(5), got;

	attr.state = HCA_QPS_RTR;
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK), BASE_ERR_INVAL);
	attr.state = HCA_QPS_ERR;
	assert_int_equal(hca_qp_modify(qp, &attr, HCA_QP_STATE), BASE_ERR_INVAL);
	attr.state = HCA_QPS_INIT;
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_INIT_MASK), 0);
	attr.state = HCA_QPS_RTR;
	w->resolve_error = BASE_ERR_TIMEDOUT;
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK), BASE_ERR_TIMEDOUT);
	w->resolve_error = 0;
	attr.ah.is_global = false;
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK), BASE_ERR_INVAL);
	attr.ah.is_global = true;
	attr.path_mtu = 4; /* the port has 3 */
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK), BASE_ERR_INVAL);
	attr.path_mtu = 3;
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK | 1u << 30), BASE_ERR_UNSUPPORTED);
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK | HCA_QP_CAP), BASE_ERR_INVAL);
	hca_qp_query(qp, &got, NULL);
	assert_int_equal(got.state, HCA_QPS_INIT);
	assert_int_equal(got.dest_qpn, 0);
	assert_int_equal(hca_qp_modify(qp, &attr, FAKE_RTR_MASK), 0);
	hca_qp_destroy(qp);
	assert_int_equal(hca_cq_destroy(cq), 0);
	fake_world_destroy(w);
}

static void create_refusals(void **state)
{
	struct fake_world *w = fake_world_create();
	struct hca_cq *cq = fake_cq(w, 4, NULL);
	const struct hca_qp_init good = { .type = HCA_QPT_RC, .send_cq = cq, .recv_cq = cq };
	struct hca_qp_init init;
	struct hca_qp *qp = NULL;

	init = good, init.type = HCA_QPT_RAW_PACKET;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_UNSUPPORTED);
	init = good, init.type = (enum hca_qp_type)77;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_INVAL);
	init = good, init.send_cq = NULL;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_INVAL);
	init = good, init.cap.max_send_wr = 65537;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_INVAL);
	init = good, init.cap.max_recv_sge = 33;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_INVAL);
	init = good, init.cap.max_inline = 513;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), BASE_ERR_INVAL);
	assert_null(qp);
	init = good;
	assert_int_equal(hca_qp_create(w->pd, &init, &qp), 0);
	hca_qp_destroy(qp);
	assert_int_equal(hca_cq_destroy(cq), 0);
	fake_world_destroy(w);
}

static void stat_sees_it(void **state)
{
	struct pair *p = pair_create(false);
	const struct transport_sge sge = { (uintptr_t)p->src, 100, hca_mr_lkey(p->src_mr) };
	struct hca_send_wr wr = write_wr(p, &sge, 1);
	struct export_reader *reader;
	struct export_qp_view qp;
	struct export_group_view group;
	uint32_t index = 0, count;
	uint64_t bytes, value = 0;
	char name[EXPORT_NAME_BYTES];

	assert_int_equal(fake_send(p->a, &wr), 0);
	assert_int_equal(export_reader_open(export_writer_fd(p->w->export), &reader), 0);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), 0);
	assert_int_equal(qp.qpn, hca_qp_number(p->a));
	assert_int_equal(qp.dest_qpn, hca_qp_number(p->b));
	assert_int_equal(qp.state, HCA_QPS_RTS);
	assert_int_equal(qp.counters[0], 1);
	assert_int_equal(qp.counters[1], 100);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), 0);
	assert_int_equal(export_reader_qp_next(reader, &index, &qp), BASE_ERR_NOENT);
	assert_int_equal(export_reader_group(reader, 0, &group), 0);
	assert_string_equal(group.kind, "port");
	assert_string_equal(group.instance, "sv_fake");
	assert_int_equal(export_reader_counter(reader, &group, 0, name, &value), 0);
	assert_string_equal(name, "sent_packets");
	assert_int_equal(value, 2); /* the write and its ACK */
	export_reader_mrs(reader, &count, &bytes);
	assert_int_equal(count, 2);
	assert_int_equal(bytes, sizeof(p->src) + sizeof(p->dst));
	export_reader_close(reader);
	pair_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_moves_data),
		cmocka_unit_test(write_moves_data),
		cmocka_unit_test(inline_data_is_copied_at_post),
		cmocka_unit_test(slots_are_freed_by_polling_a_later_signalled_one),
		cmocka_unit_test(signal_all),
		cmocka_unit_test(builders_commit_all_or_nothing),
		cmocka_unit_test(post_refusals),
		cmocka_unit_test(bad_rkey_fails_both_ends),
		cmocka_unit_test(bad_lkey_is_a_local_error),
		cmocka_unit_test(flush_in_order),
		cmocka_unit_test(silence_ends_in_retry_exceeded),
		cmocka_unit_test(order_and_addresses),
		cmocka_unit_test(overrun_breaks_cq_and_qp),
		cmocka_unit_test(srq_serves_and_limits),
		cmocka_unit_test(objects_in_use_are_busy),
		cmocka_unit_test(query_tells_what_was_set),
		cmocka_unit_test(modify_failures_change_nothing),
		cmocka_unit_test(create_refusals),
		cmocka_unit_test(stat_sees_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
