/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory as verbs promise it: windows, regions that change, null regions, on-demand paging, device memory, imports. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

enum { LEN = 4096, RIGHTS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };

/* a works through what b gives it: the region of b grants nothing to peers. */
static void pair(struct rc *a, struct rc *b)
{
	rc_pair(a, b, NULL, &(struct rc_options){ .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND });
}

/* Both ends of the connection begin anew after an error. */
static void reconnect(struct rc *a, struct rc *b)
{
	const struct rc_address to_a = rc_address_of(a), to_b = rc_address_of(b);

	need_equal(rc_to_reset(a), 0);
	need_equal(rc_to_reset(b), 0);
	rc_connect(a, &to_b);
	rc_connect(b, &to_a);
}

static enum ibv_wc_status try_rdma(struct rc *a, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.rkey = rkey;
		wr.wr.rdma.remote_addr = addr;
	}
	need_equal(ibv_post_send(a->qp, &wr, &bad), 0);
	struct ibv_wc wc = cq_wait(a->send_cq);
	need_equal(wc.wr_id, 77);
	return wc.status;
}

static void works(struct rc *a, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, uint32_t len)
{
	need_equal(try_rdma(a, opcode, rkey, addr, len), IBV_WC_SUCCESS);
}

static void refused(struct rc *a, struct rc *b, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, uint32_t len)
{
	need_equal(try_rdma(a, opcode, rkey, addr, len), IBV_WC_REM_ACCESS_ERR);
	reconnect(a, b);
}

static struct ibv_mw_bind_info info_of(const struct rc *b, size_t at, size_t len, unsigned access)
{
	return (struct ibv_mw_bind_info){ .mr = b->mr, .addr = (uintptr_t)b->buf + at, .length = len, .mw_access_flags = access };
}

static int post_bind(struct rc *b, struct ibv_mw *mw, uint32_t rkey, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
				  .bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info } }, *bad;

	return ibv_post_send(b->qp, &wr, &bad);
}

static uint32_t bind_2(struct rc *b, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	mw->rkey = ibv_inc_rkey(mw->rkey);
	need_equal(post_bind(b, mw, mw->rkey, info), 0);
	cq_expect(b->send_cq, 5, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	return mw->rkey;
}

static uint32_t bind_1(struct rc *b, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .wr_id = 6, .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	uint32_t before = mw->rkey;

	need_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
	need_equal(mw->rkey, ibv_inc_rkey(before));
	cq_expect(b->send_cq, 6, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	return mw->rkey;
}

static int post_inv(struct rc *rc, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)rc->buf, 8, rc->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = rkey }, *bad;

	if (opcode == IBV_WR_SEND_WITH_INV) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	return ibv_post_send(rc->qp, &wr, &bad);
}

static struct ibv_mw *mw_of(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	need(mw != NULL);
	need_equal(mw->type, type);
	need(mw->context == pd->context && mw->pd == pd && mw->rkey != 0);
	return mw;
}

static void window_type_1(void)
{
	struct rc a, b, c, d;

	pair(&a, &b);
	rc_pair(&c, &d, &(struct rc_options){ .context = a.context },
		&(struct rc_options){ .context = a.context, .pd = b.pd, .mr_access = IBV_ACCESS_LOCAL_WRITE });
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_1);
	uint64_t at = (uintptr_t)b.buf + 64;
	refused(&a, &b, IBV_WR_RDMA_WRITE, mw->rkey, at, 8);
	uint32_t first = bind_1(&b, mw, info_of(&b, 64, LEN, RIGHTS));
	memset(a.buf, 0x31, LEN);
	works(&a, IBV_WR_RDMA_WRITE, first, at, LEN);
	need(b.buf[63] == 0 && b.buf[64] == 0x31 && b.buf[64 + LEN - 1] == 0x31 && b.buf[64 + LEN] == 0);
	works(&a, IBV_WR_RDMA_READ, first, at + LEN - 1, 1);
	works(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, first, at, 8);
	works(&c, IBV_WR_RDMA_WRITE, first, at, 8); /* any QP of the domain */
	refused(&a, &b, IBV_WR_RDMA_WRITE, first, at - 1, 8);
	refused(&a, &b, IBV_WR_RDMA_READ, first, at + LEN - 7, 8);
	/* Moved while valid: the old key is gone, the new one grants less. */
	uint32_t second = bind_1(&b, mw, info_of(&b, 0, 128, IBV_ACCESS_REMOTE_READ));
	works(&a, IBV_WR_RDMA_READ, second, (uintptr_t)b.buf, 128);
	refused(&a, &b, IBV_WR_RDMA_READ, first, at, 8);
	refused(&a, &b, IBV_WR_RDMA_WRITE, second, (uintptr_t)b.buf, 8);
	refused(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, second, (uintptr_t)b.buf, 8);
	/* Neither kind of invalidation is for it. */
	need_equal(post_inv(&b, IBV_WR_LOCAL_INV, second), 0);
	cq_expect(b.send_cq, 9, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOCAL_INV);
	reconnect(&a, &b);
	works(&a, IBV_WR_RDMA_READ, second, (uintptr_t)b.buf, 128);
	need_equal(ibv_dereg_mr(b.mr), EBUSY);
	uint32_t third = bind_1(&b, mw, info_of(&b, 0, 0, 0));
	refused(&a, &b, IBV_WR_RDMA_READ, second, (uintptr_t)b.buf, 8);
	refused(&a, &b, IBV_WR_RDMA_READ, third, (uintptr_t)b.buf, 8);
	need_equal(ibv_dealloc_mw(mw), 0);
	rc_pair_close(&c, &d);
	rc_pair_close(&a, &b);
}

static void window_type_2(void)
{
	struct rc a, b, c, d;

	pair(&a, &b);
	rc_pair(&c, &d, &(struct rc_options){ .context = a.context },
		&(struct rc_options){ .context = a.context, .pd = b.pd, .mr_access = IBV_ACCESS_LOCAL_WRITE });
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2);
	uint64_t at = (uintptr_t)b.buf;
	for (int round = 0; round < 3; round++) {
		uint32_t key = bind_2(&b, mw, info_of(&b, 0, LEN, RIGHTS | IBV_ACCESS_LOCAL_WRITE));

		works(&a, IBV_WR_RDMA_WRITE, key, at, LEN);
		works(&a, IBV_WR_RDMA_READ, key, at, LEN);
		works(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, key, at + 8, 8);
		refused(&c, &d, IBV_WR_RDMA_READ, key, at, 8); /* bound to the other QP */
		need_equal(post_inv(&b, IBV_WR_LOCAL_INV, key), 0);
		cq_expect(b.send_cq, 9, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
		refused(&a, &b, IBV_WR_RDMA_READ, key, at, 8);
	}
	/* From 0 on; LOCAL_WRITE grants nothing to peers. */
	uint32_t key = bind_2(&b, mw, info_of(&b, 256, 64, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED));
	a.buf[0] = 0x77;
	works(&a, IBV_WR_RDMA_WRITE, key, 63, 1);
	need_equal(b.buf[256 + 63], 0x77);
	refused(&a, &b, IBV_WR_RDMA_WRITE, key, 63, 2);
	refused(&a, &b, IBV_WR_RDMA_WRITE, key, at + 256, 1);
	need_equal(post_inv(&b, IBV_WR_LOCAL_INV, key), 0);
	cq_expect(b.send_cq, 9, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
	key = bind_2(&b, mw, info_of(&b, 0, LEN, IBV_ACCESS_LOCAL_WRITE));
	refused(&a, &b, IBV_WR_RDMA_WRITE, key, at, 8);
	/* A bound window holds its region; dealloc_mw lets go of it. */
	need_equal(ibv_dereg_mr(b.mr), EBUSY);
	need_equal(ibv_dealloc_pd(b.pd), EBUSY);
	need_equal(ibv_dealloc_mw(mw), 0);
	refused(&a, &b, IBV_WR_RDMA_WRITE, key, at, 8);
	rc_pair_close(&c, &d);
	rc_pair_close(&a, &b);
}

static void invalidated_by_peer(void)
{
	struct rc a, b;

	pair(&a, &b);
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2), *one = mw_of(b.pd, IBV_MW_TYPE_1);
	uint32_t key = bind_2(&b, mw, info_of(&b, 0, LEN, RIGHTS));
	works(&a, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
	need_equal(rc_receive(&b, 1, 0, 64), 0);
	need_equal(post_inv(&a, IBV_WR_SEND_WITH_INV, key), 0);
	cq_expect(a.send_cq, 9, IBV_WC_SUCCESS, IBV_WC_SEND);
	struct ibv_wc wc = cq_wait(b.recv_cq);
	need_equal(wc.status, IBV_WC_SUCCESS);
	need((wc.wc_flags & IBV_WC_WITH_INV) != 0);
	need_equal(wc.invalidated_rkey, key);
	refused(&a, &b, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
	/* What a peer may not take away: regions, windows of type 1, what is not bound, what was never there. */
	const uint32_t not_these[] = { b.mr->rkey, bind_1(&b, one, info_of(&b, 0, LEN, RIGHTS)), key, key ^ 0x10000 };
	for (size_t i = 0; i < sizeof(not_these) / sizeof(not_these[0]); i++) {
		need_equal(rc_receive(&b, 1, 0, 64), 0);
		need_equal(post_inv(&a, IBV_WR_SEND_WITH_INV, not_these[i]), 0);
		wc = cq_wait(b.recv_cq);
		need_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
		(void)cq_wait(a.send_cq);
		reconnect(&a, &b);
	}
	works(&a, IBV_WR_RDMA_WRITE, one->rkey, (uintptr_t)b.buf, 8);
	need_equal(ibv_dealloc_mw(mw), 0);
	need_equal(ibv_dealloc_mw(one), 0);
	rc_pair_close(&a, &b);
}

static void bind_fails(struct rc *a, struct rc *b, const char *why, struct ibv_mw *mw, uint32_t rkey,
		       struct ibv_mw_bind_info info)
{
	fprintf(stderr, "    %s\n", why);
	need_equal(post_bind(b, mw, rkey, info), 0);
	need_equal(post_inv(b, IBV_WR_LOCAL_INV, 1), 0); /* the one behind it is flushed */
	cq_expect(b->send_cq, 5, IBV_WC_MW_BIND_ERR, IBV_WC_BIND_MW);
	cq_expect(b->send_cq, 9, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOCAL_INV);
	reconnect(a, b);
}

static void bind_errors(void)
{
	struct rc a, b;

	pair(&a, &b);
	struct ibv_pd *other = ibv_alloc_pd(a.context);
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2), *one = mw_of(b.pd, IBV_MW_TYPE_1), *foreign = mw_of(other, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info good = info_of(&b, 0, LEN, RIGHTS), info = good;
	struct ibv_mr *no_bind = ibv_reg_mr(b.pd, b.buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *read_only = ibv_reg_mr(b.pd, b.buf, LEN, IBV_ACCESS_MW_BIND);
	struct ibv_mr *elsewhere = ibv_reg_mr(other, b.buf, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	bind_fails(&a, &b, "the window's number changed", mw, mw->rkey ^ 0x100, good);
	bind_fails(&a, &b, "a window of another domain", foreign, foreign->rkey, good);
	bind_fails(&a, &b, "a window of type 1 by work request", one, one->rkey, good);
	info.length = 0;
	bind_fails(&a, &b, "length 0", mw, mw->rkey, info);
	info.mr = NULL;
	bind_fails(&a, &b, "no region", mw, mw->rkey, info);
	info = info_of(&b, 65536 - 8, 9, RIGHTS);
	bind_fails(&a, &b, "beyond the region", mw, mw->rkey, info);
	info = info_of(&b, 0, 8, IBV_ACCESS_MW_BIND);
	bind_fails(&a, &b, "a right that windows cannot have", mw, mw->rkey, info);
	info = good;
	info.mr = no_bind;
	bind_fails(&a, &b, "a region without MW_BIND", mw, mw->rkey, info);
	info.mr = read_only;
	bind_fails(&a, &b, "writing through a region without LOCAL_WRITE", mw, mw->rkey, info);
	info.mr = elsewhere;
	bind_fails(&a, &b, "a region of another domain", mw, mw->rkey, info);
	bind_2(&b, mw, good);
	bind_fails(&a, &b, "bound already", mw, ibv_inc_rkey(mw->rkey), good);
	works(&a, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)b.buf, 8);

	/* At once. */
	struct ibv_mw_bind bind = { .bind_info = good };
	need_equal(ibv_bind_mw(b.qp, mw, &bind), EINVAL);
	bind.bind_info.mr = elsewhere;
	need_equal(ibv_bind_mw(b.qp, one, &bind), EPERM);
	bind.bind_info.mr = NULL;
	need_equal(ibv_bind_mw(b.qp, one, &bind), EINVAL);
	bind.bind_info = good;
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	need_equal(ibv_bind_mw(b.qp, one, &bind), EINVAL);
	bind.bind_info = good;
	bind.send_flags = IBV_SEND_INLINE;
	need_equal(ibv_bind_mw(b.qp, one, &bind), EINVAL);
	info = good;
	info.mr = NULL;
	need_equal(post_bind(&b, mw, mw->rkey, info), EINVAL);
	need_equal(post_bind(&b, NULL, mw->rkey, good), EINVAL);
	need(ibv_alloc_mw(b.pd, (enum ibv_mw_type)3) == NULL);
	need_equal(errno, EINVAL);
	need_equal(ibv_dealloc_mw(mw), 0);
	need_equal(ibv_dealloc_mw(one), 0);
	need_equal(ibv_dealloc_mw(foreign), 0);
	need_equal(ibv_dereg_mr(no_bind), 0);
	need_equal(ibv_dereg_mr(read_only), 0);
	need_equal(ibv_dereg_mr(elsewhere), 0);
	need_equal(ibv_dealloc_pd(other), 0);
	rc_pair_close(&a, &b);
}

static void bind_by_builder(void)
{
	struct rc a, b;
	const uint64_t ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND;

	rc_pair(&a, &b, NULL, &(struct rc_options){ .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, .send_ops = ops });
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(b.qp);
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2);
	uint32_t first = ibv_inc_rkey(mw->rkey), second = ibv_inc_rkey(first);
	struct ibv_mw_bind_info info = info_of(&b, 0, LEN, RIGHTS);

	need_equal(rc_receive(&a, 1, 0, 64), 0);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, first, &info);
	info.length = 8; /* what was told stays told */
	ibv_wr_local_inv(ex, first);
	ibv_wr_bind_mw(ex, mw, second, &info);
	ibv_wr_send(ex); /* ordered behind the bind: its key may be in it */
	ibv_wr_set_sge(ex, b.mr->lkey, (uintptr_t)b.buf, 8);
	need_equal(ibv_wr_complete(ex), 0);
	cq_expect(b.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	cq_expect(b.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
	cq_expect(b.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	cq_expect(a.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	works(&a, IBV_WR_RDMA_WRITE, second, (uintptr_t)b.buf, 8);
	cq_expect(b.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	refused(&a, &b, IBV_WR_RDMA_WRITE, second, (uintptr_t)b.buf, 9);
	refused(&a, &b, IBV_WR_RDMA_WRITE, first, (uintptr_t)b.buf, 8);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, NULL, second, &info);
	need_equal(ibv_wr_complete(ex), EINVAL);
	need_equal(ibv_dealloc_mw(mw), 0);
	rc_pair_close(&a, &b);
}

/* Goal: what was known of a window that is gone opens nothing, also when its entry and its QP number are used again. */
static void freed_windows(void)
{
	struct rc a, b;

	pair(&a, &b);
	for (int round = 0; round < 8; round++) {
		struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2);
		uint32_t key = bind_2(&b, mw, info_of(&b, 0, LEN, RIGHTS));

		works(&a, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
		need_equal(ibv_dealloc_mw(mw), 0);
		struct ibv_mw *next = mw_of(b.pd, IBV_MW_TYPE_2);
		refused(&a, &b, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
		refused(&a, &b, IBV_WR_RDMA_READ, ibv_inc_rkey(key), (uintptr_t)b.buf, 8);
		need_equal(post_inv(&b, IBV_WR_LOCAL_INV, key), 0);
		cq_expect(b.send_cq, 9, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOCAL_INV);
		reconnect(&a, &b);
		need_equal(ibv_dealloc_mw(next), 0);
	}
	rc_pair_close(&a, &b);
}

static enum ibv_wc_status try_send(struct rc *a, struct rc *b, uint32_t lkey, void *addr)
{
	struct ibv_sge sge = { (uintptr_t)addr, 64, lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	need_equal(ibv_post_recv(b->qp, &wr, &bad), 0);
	need_equal(rc_post(a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 64, NULL, 0), 0);
	enum ibv_wc_status status = cq_wait(a->send_cq).status;
	(void)cq_wait(b->recv_cq);
	return status;
}

static void rereg(void)
{
	struct rc a, b;
	const int all = IBV_ACCESS_LOCAL_WRITE | RIGHTS;

	rc_pair(&a, &b, NULL, NULL);
	unsigned char *other = aligned_alloc(4096, 4096);
	struct ibv_pd *pd = ibv_alloc_pd(a.context);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = mr->rkey;

	refused(&a, &b, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all), 0);
	need_equal(mr->rkey, key); /* peers that hold it need not be told */
	works(&a, IBV_WR_RDMA_WRITE, key, (uintptr_t)b.buf, 8);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	need(mr->pd == pd);
	refused(&a, &b, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)b.buf, 8);
	need_equal(try_send(&a, &b, mr->lkey, b.buf), IBV_WC_REM_OP_ERR);
	reconnect(&a, &b);
	need_equal(ibv_dealloc_pd(pd), EBUSY);
	memset(other, 0, 4096);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION, b.pd, other, 128, 0), 0);
	need(mr->addr == other && mr->length == 128 && mr->pd == b.pd);
	memset(a.buf, 0x5c, 64);
	need_equal(try_send(&a, &b, mr->lkey, other), IBV_WC_SUCCESS);
	need_equal(other[63], 0x5c);
	refused(&a, &b, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)b.buf, 8);
	works(&a, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)other + 120, 8);
	refused(&a, &b, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)other + 121, 8);
	need_equal(ibv_rereg_mr(mr, 7, pd, b.buf, LEN, IBV_ACCESS_LOCAL_WRITE), 0);
	need_equal(ibv_rereg_mr(mr, 5, NULL, b.buf, LEN, all), 0);
	need_equal(ibv_rereg_mr(mr, 6, b.pd, b.buf, LEN, all), 0);
	need_equal(ibv_rereg_mr(mr, 3, b.pd, b.buf, LEN, 0), 0);
	works(&a, IBV_WR_RDMA_READ, mr->rkey, (uintptr_t)b.buf, LEN);

	/* Refused: nothing changed. */
	const struct { int flags; struct ibv_pd *pd; void *addr; size_t length; int access, answer, number; } rows[] = {
		{ 0, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ 8, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 64, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL },
		{ IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE, IBV_REREG_MR_ERR_CMD, EINVAL },
		{ IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 1 << 15, IBV_REREG_MR_ERR_CMD, EINVAL },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)64, 64, 0, IBV_REREG_MR_ERR_CMD, EFAULT },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		need_equal(ibv_rereg_mr(mr, rows[i].flags, rows[i].pd, rows[i].addr, rows[i].length, rows[i].access),
			   rows[i].answer);
		need_equal(errno, rows[i].number);
	}
	works(&a, IBV_WR_RDMA_READ, mr->rkey, (uintptr_t)b.buf, LEN);
	/* With a window on it it stays what it is. */
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all | IBV_ACCESS_MW_BIND), 0);
	struct ibv_mw *mw = mw_of(b.pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = { .mr = mr, .addr = (uintptr_t)b.buf, .length = 8, .mw_access_flags = RIGHTS };
	bind_2(&b, mw, info);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all), IBV_REREG_MR_ERR_CMD);
	need_equal(errno, EBUSY);
	need_equal(ibv_dealloc_mw(mw), 0);
	key = mr->rkey;
	need_equal(ibv_dereg_mr(mr), 0);
	refused(&a, &b, IBV_WR_RDMA_READ, key, (uintptr_t)b.buf, 8);
	need_equal(ibv_dealloc_pd(pd), 0);
	rc_pair_close(&a, &b);
	free(other);
}

static void null_region(void)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, NULL);
	struct ibv_mr *null = ibv_alloc_null_mr(a.pd), *null_b = ibv_alloc_null_mr(b.pd);
	need(null != NULL && null_b != NULL && null->addr == NULL && null->length == SIZE_MAX);
	const struct rc_address to_b = rc_address_of(&b);

	/* Zeroes between data. */
	memset(a.buf, 0x11, 64);
	memset(b.buf, 0x22, 4096);
	struct ibv_sge sge[3] = { { (uintptr_t)a.buf, 8, a.mr->lkey }, { 0xdead0000, 2000, null->lkey },
				  { (uintptr_t)a.buf, 8, a.mr->lkey } };
	struct ibv_send_wr wr = { .wr_id = 3, .sg_list = sge, .num_sge = 3, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED, .wr.rdma = { to_b.addr, to_b.rkey } }, *bad;
	need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	cq_expect(a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(b.buf[7] == 0x11 && b.buf[8] == 0 && b.buf[2007] == 0 && b.buf[2008] == 0x11 && b.buf[2016] == 0x22);
	/* A hole in what comes back, and in what is received. */
	memset(a.buf, 0x33, 4096);
	sge[2].addr = (uintptr_t)a.buf + 8;
	wr.opcode = IBV_WR_RDMA_READ;
	need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	cq_expect(a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	need(a.buf[0] == 0x11 && a.buf[8] == 0x11 && a.buf[16] == 0x33);
	need_equal(try_send(&a, &b, null_b->lkey, NULL), IBV_WC_SUCCESS);
	/* No peer, no other domain, no window, no change. */
	refused(&a, &b, IBV_WR_RDMA_READ, null_b->rkey, 0, 8);
	need_equal(try_send(&a, &b, null->lkey, NULL), IBV_WC_REM_OP_ERR);
	reconnect(&a, &b);
	need_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	need_equal(ibv_dereg_mr(null), 0);
	need_equal(ibv_dereg_mr(null_b), 0);
	rc_pair_close(&a, &b);
}

static void on_demand(void)
{
	struct rc a, b;
	struct ibv_device_attr_ex attr;
	const int all = IBV_ACCESS_LOCAL_WRITE | RIGHTS | IBV_ACCESS_ON_DEMAND;

	rc_pair(&a, &b, NULL, NULL);
	need_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	need_equal(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	need_equal(attr.odp_caps.per_transport_caps.rc_odp_caps, 0x3f);
	need_equal(attr.odp_caps.per_transport_caps.ud_odp_caps,
		   IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV);
	need_equal(attr.xrc_odp_caps, 0x3f);

	/* Registered before it is there: an error while it is not, good as soon as it is. */
	unsigned char *memory = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED);
	need_errno(ibv_reg_mr(b.pd, memory, 65536, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, memory, 65536, all);
	need(mr != NULL);
	refused(&a, &b, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)memory, 8);
	need_equal(try_send(&a, &b, mr->lkey, memory), IBV_WC_REM_OP_ERR);
	reconnect(&a, &b);
	need_equal(mprotect(memory, 65536, PROT_READ | PROT_WRITE), 0);
	works(&a, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)memory, LEN);
	works(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, (uintptr_t)memory + 8192, 8);
	need_equal(try_send(&a, &b, mr->lkey, memory), IBV_WC_SUCCESS);

	/* Everything there is, also what comes later. */
	need_errno(ibv_reg_mr(b.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	struct ibv_mr *whole = ibv_reg_mr(b.pd, NULL, SIZE_MAX, all);
	need(whole != NULL);
	unsigned char *later = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a.buf[0] = 0x66;
	works(&a, IBV_WR_RDMA_WRITE, whole->rkey, (uintptr_t)later, 8);
	need_equal(later[0], 0x66);
	need_equal(try_send(&a, &b, whole->lkey, later + 4096), IBV_WC_SUCCESS);
	refused(&a, &b, IBV_WR_RDMA_READ, whole->rkey, 0, 8);
	refused(&a, &b, IBV_WR_RDMA_WRITE, whole->rkey, UINT64_MAX - 63, 8);
	refused(&a, &b, IBV_WR_RDMA_WRITE, whole->rkey, 1ull << 60, 8);
	munmap(later, 8192);
	refused(&a, &b, IBV_WR_RDMA_WRITE, whole->rkey, (uintptr_t)later, 8);
	need_equal(ibv_dereg_mr(whole), 0);

	/* Pages that are not huge. */
	errno = 0;
	struct ibv_mr *huge = ibv_reg_mr(b.pd, memory, 65536, all | IBV_ACCESS_HUGETLB);
	if (huge != NULL)
		need_equal(ibv_dereg_mr(huge), 0); /* a kernel that does not tell */
	else
		need_equal(errno, EINVAL);
	need_errno(ibv_reg_mr(b.pd, NULL, SIZE_MAX, all | IBV_ACCESS_HUGETLB), EINVAL);
	need_equal(ibv_dereg_mr(mr), 0);
	munmap(memory, 65536);
	rc_pair_close(&a, &b);
}

static void advice(void)
{
	struct rc a;
	enum { PAGES = 8, PAGE = 4096 };
	unsigned char present[PAGES];

	rc_open(&a, NULL);
	unsigned char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(a.pd, memory, PAGES * PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *to_read = ibv_reg_mr(a.pd, memory, PAGES * PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *other = ibv_alloc_pd(a.context);
	struct ibv_mw *mw = mw_of(a.pd, IBV_MW_TYPE_2);
	struct ibv_sge sge = { (uintptr_t)memory, PAGES * PAGE, mr->lkey };

	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
	need_equal(mincore(memory, PAGES * PAGE, present), 0);
	for (int i = 0; i < PAGES; i++)
		need_equal(present[i] & 1, 0);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
	need_equal(mincore(memory, PAGES * PAGE, present), 0);
	for (int i = 0; i < PAGES; i++)
		need_equal(present[i] & 1, 1);

	need_equal(ibv_advise_mr(a.pd, (enum ibv_advise_mr_advice)9, 0, &sge, 1), EOPNOTSUPP);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &sge, 1), EINVAL);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 0), EINVAL);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 1), EINVAL);
	need_equal(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
	sge.lkey = to_read->lkey;
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), EPERM);
	sge.lkey = a.mr->lkey;
	sge.addr = (uintptr_t)a.buf;
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EINVAL); /* not on demand */
	sge.lkey = mw->rkey;
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	sge = (struct ibv_sge){ (uintptr_t)memory + 1, PAGES * PAGE, mr->lkey };
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	munmap(memory + PAGE, PAGE);
	sge.addr--;
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	need_equal(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1), 0);
	need_equal(ibv_dealloc_mw(mw), 0);
	need_equal(ibv_dereg_mr(mr), 0);
	need_equal(ibv_dereg_mr(to_read), 0);
	need_equal(ibv_dealloc_pd(other), 0);
	rc_close(&a);
}

static void device_memory(void)
{
	struct rc a, b;
	struct ibv_device_attr_ex attr;
	struct ibv_alloc_dm_attr want = { .length = 8192, .log_align_req = 12 };
	unsigned char bytes[8192];

	rc_pair(&a, &b, NULL, NULL);
	need_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	need(attr.max_dm_size >= 65536);
	struct ibv_dm *dm = ibv_alloc_dm(b.context, &want);
	need(dm != NULL && dm->context == b.context);
	memset(bytes, 0xee, sizeof(bytes));
	need_equal(ibv_memcpy_from_dm(bytes, dm, 0, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		need_equal(bytes[i], 0);
	memset(bytes, 0x42, sizeof(bytes));
	need_equal(ibv_memcpy_to_dm(dm, 4096, bytes, 128), 0);
	need_equal(ibv_memcpy_to_dm(dm, 2, bytes, 4), EINVAL);
	need_equal(ibv_memcpy_to_dm(dm, 4, bytes, 6), EINVAL);
	need_equal(ibv_memcpy_to_dm(dm, 8192, bytes, 4), EFAULT);
	need_equal(ibv_memcpy_from_dm(bytes, dm, 8, 8188), EFAULT);
	need_equal(ibv_memcpy_from_dm(bytes, dm, UINT64_MAX - 3, 8), EFAULT);
	need_equal(ibv_memcpy_to_dm(dm, 0, (void *)64, 64), EFAULT);

	need_errno(ibv_reg_dm_mr(b.pd, dm, 0, 4096, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	need_errno(ibv_reg_dm_mr(b.pd, dm, 4096, 4097, IBV_ACCESS_ZERO_BASED), EINVAL);
	/* Nothing of it is a part of it: rdma-core's tests ask for that. */
	struct ibv_mr *mr = ibv_reg_dm_mr(b.pd, dm, 0, 0, IBV_ACCESS_ZERO_BASED);
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_dm_mr(b.pd, dm, 4096, 4096, IBV_ACCESS_LOCAL_WRITE | RIGHTS | IBV_ACCESS_ZERO_BASED);
	need(mr != NULL);
	works(&a, IBV_WR_RDMA_READ, mr->rkey, 0, 128);
	need(a.buf[0] == 0x42 && a.buf[127] == 0x42);
	memset(a.buf, 0x24, 64);
	works(&a, IBV_WR_RDMA_WRITE, mr->rkey, 4032, 64);
	works(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, 8, 8);
	need_equal(a.buf[7], 0x42);
	need_equal(ibv_memcpy_from_dm(bytes, dm, 8128, 64), 0);
	need(bytes[0] == 0x24 && bytes[63] == 0x24);
	refused(&a, &b, IBV_WR_RDMA_READ, mr->rkey, 4095, 2);
	need_equal(try_send(&a, &b, mr->lkey, (void *)512), IBV_WC_SUCCESS);
	need_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	need_equal(ibv_free_dm(dm), EBUSY);
	need_equal(ibv_dereg_mr(mr), 0);
	need_equal(ibv_free_dm(dm), 0);

	want.length = attr.max_dm_size + 4;
	need_errno(ibv_alloc_dm(b.context, &want), EINVAL);
	want.length = 0;
	need_errno(ibv_alloc_dm(b.context, &want), EINVAL);
	want.length = attr.max_dm_size;
	want.comp_mask = 1;
	need_errno(ibv_alloc_dm(b.context, &want), EINVAL);
	want.comp_mask = 0;
	want.log_align_req = 40;
	need_errno(ibv_alloc_dm(b.context, &want), EINVAL);
	want.log_align_req = 0;
	dm = ibv_alloc_dm(b.context, &want);
	need(dm != NULL);
	want.length = 4;
	need_errno(ibv_alloc_dm(a.context, &want), ENOMEM);
	need_equal(ibv_free_dm(dm), 0);
	rc_pair_close(&a, &b);
}

static void flags_and_caps(void)
{
	struct rc a;
	struct ibv_device_attr attr;
	const struct { unsigned access; int number; } rows[] = {
		{ IBV_ACCESS_RELAXED_ORDERING | 1, 0 }, { 1u << 29, 0 }, { 1u << 19, EINVAL }, { 1u << 30, EINVAL },
		{ 1u << 31, EINVAL },
		{ IBV_ACCESS_HUGETLB, 0 }, { 0x100, 0 }, { 0x400, EINVAL }, { IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ IBV_ACCESS_REMOTE_ATOMIC, EINVAL }, { IBV_ACCESS_MW_BIND, 0 }, { IBV_ACCESS_ZERO_BASED | 7, 0 },
	};

	rc_open(&a, NULL);
	need_equal(ibv_query_device(a.context, &attr), 0);
	need(attr.max_mw > 0);
	need((attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW) != 0);
	/* One of the two, never both. */
	need_equal(attr.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B),
		   IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		struct ibv_mr *mr = ibv_reg_mr_iova2(a.pd, a.buf, 4096, (uintptr_t)a.buf, rows[i].access);

		if ((mr == NULL) != (rows[i].number != 0) || (mr == NULL && errno != rows[i].number))
			harness_fail(__FILE__, __LINE__, "access 0x%x: %s, errno %d", rows[i].access,
				     mr == NULL ? "refused" : "taken", errno);
		if (mr != NULL)
			need_equal(ibv_dereg_mr(mr), 0);
	}
	need_errno(ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, 0, IBV_ACCESS_LOCAL_WRITE), EOPNOTSUPP);
	rc_close(&a);
}

/* Goal: a region that another context registered is read through the imported handles; both contexts may close first. */
static void imports(void)
{
	struct rc a, b;
	struct ibv_alloc_dm_attr want = { .length = 64 };
	unsigned char bytes[64] = "";

	need_errno(ibv_import_device(-1), EBADF);
	int other = open("/dev/null", O_RDWR);
	need_errno(ibv_import_device(other), EOPNOTSUPP);
	rc_pair(&a, &b, NULL, NULL);
	struct ibv_context *context = ibv_import_device(dup(b.context->cmd_fd));
	need(context != NULL && context != b.context && context->async_fd != b.context->async_fd);
	struct ibv_pd *pd = ibv_import_pd(context, b.pd->handle);
	need(pd != NULL && pd->context == context);
	struct ibv_mr *mr = ibv_import_mr(pd, b.mr->handle);
	need(mr != NULL && mr->pd == pd && mr->addr == NULL && mr->length == b.mr->length);
	need(mr->lkey == b.mr->lkey && mr->rkey == b.mr->rkey);
	works(&a, IBV_WR_RDMA_READ, mr->rkey, (uintptr_t)b.buf, 64);
	need_errno(ibv_import_pd(context, b.pd->handle + 1000), ENOENT);
	need_errno(ibv_import_mr(pd, 0xffffff), ENOENT);
	struct ibv_dm *dm = ibv_alloc_dm(b.context, &want), *again = ibv_import_dm(context, dm->handle);
	need(dm != NULL && again != NULL);
	need_equal(ibv_memcpy_to_dm(dm, 0, "0123456789abcdef", 16), 0);
	need_equal(ibv_memcpy_from_dm(bytes, again, 0, 16), 0);
	need(memcmp(bytes, "0123456789abcdef", 16) == 0);
	/* What the imported domain makes belongs to it as to the first one. */
	struct ibv_mr *own = ibv_reg_mr(pd, b.buf, 64, IBV_ACCESS_LOCAL_WRITE | RIGHTS);
	need(own != NULL);
	works(&a, IBV_WR_RDMA_WRITE, own->rkey, (uintptr_t)b.buf, 64);
	need_equal(ibv_dealloc_pd(pd), EBUSY);
	need_equal(ibv_dereg_mr(own), 0);
	ibv_unimport_mr(mr);
	works(&a, IBV_WR_RDMA_READ, b.mr->rkey, (uintptr_t)b.buf, 64);
	ibv_unimport_dm(dm);
	need_equal(ibv_free_dm(again), 0);
	ibv_unimport_pd(pd);
	need_equal(ibv_close_device(context), 0);
	works(&a, IBV_WR_RDMA_READ, b.mr->rkey, (uintptr_t)b.buf, 64);
	close(other);
	rc_pair_close(&a, &b);
}

static const struct harness_case cases[] = {
	{ "window_type_1", "for every QP of its domain, moved at will, unbound by length 0", window_type_1 },
	{ "window_type_2", "for the QP that bound it, until LOCAL_INV", window_type_2 },
	{ "invalidated_by_peer", "SEND with invalidate takes windows of type 2 and nothing else", invalidated_by_peer },
	{ "bind_errors", "each bind that may not be, at once or as MW_BIND_ERR", bind_errors },
	{ "bind_by_builder", "ibv_wr_bind_mw in a batch, a SEND behind it", bind_by_builder },
	{ "freed_windows", "keys of windows that are gone open nothing", freed_windows },
	{ "rereg", "all combinations of flags, and the answers to bad ones", rereg },
	{ "null_region", "zeroes out, nothing in", null_region },
	{ "on_demand", "memory that is not there yet, or not any more", on_demand },
	{ "advice", "prefetching, and its errors", advice },
	{ "device_memory", "copies, regions, limits", device_memory },
	{ "imports", "second handles of a context, a domain, a region, device memory", imports },
	{ "flags_and_caps", "each access flag; what the device says of windows", flags_and_caps },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
