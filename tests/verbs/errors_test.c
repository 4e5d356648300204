/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every completion error on purpose, for each operation that can meet it: status, QP number and vendor_err on both sides, what
 * is flushed and in which order, the asynchronous event, the state that both queue pairs end in.
 *
 * A fault is one row; it is tried with every operation that it names, as one packet and as several.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, SWAP, ADD, OPS };
#define BIT(op) (1u << (op))
enum {
	SENDS = BIT(SEND) | BIT(SEND_IMM) | BIT(SEND_INV),
	WRITES = BIT(WRITE) | BIT(WRITE_IMM),
	ATOMICS = BIT(SWAP) | BIT(ADD),
	REMOTE = WRITES | BIT(READ) | ATOMICS, /* names remote memory */
	TAKES = SENDS | BIT(WRITE_IMM),        /* a receive */
	ALL = SENDS | REMOTE,
	UC_OPS = BIT(SEND) | BIT(SEND_IMM) | WRITES,
	UD_OPS = BIT(SEND) | BIT(SEND_IMM),
};

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode wc;
	int right; /* that the remote region and QP must give */
} ops[OPS] = {
	[SEND] = { "SEND", IBV_WR_SEND, IBV_WC_SEND, 0 },
	[SEND_IMM] = { "SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, 0 },
	[SEND_INV] = { "SEND_WITH_INV", IBV_WR_SEND_WITH_INV, IBV_WC_SEND, 0 },
	[WRITE] = { "WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
	[WRITE_IMM] = { "WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
	[READ] = { "READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, IBV_ACCESS_REMOTE_READ },
	[SWAP] = { "CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, IBV_ACCESS_REMOTE_ATOMIC },
	[ADD] = { "FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, IBV_ACCESS_REMOTE_ATOMIC },
};

enum fault {
	NO_KEY, OTHER_PD, PAST_REGION, READ_ONLY, ATOMIC_OF_16,
	NO_RKEY, RKEY_OF_OTHER_PD, RKEY_STALE, PAST_REMOTE, BEFORE_REMOTE, NO_RIGHT, QP_RIGHT, MISALIGNED, NO_SLOTS,
	TOO_LONG, RECEIVE_READ_ONLY, RECEIVE_NO_KEY, RECEIVE_STALE, INVALIDATE_NOTHING,
	NOT_READY, PEER_GONE, PEER_RESET, PEER_IN_ERROR, OWN_ERROR,
};

#define LIVES IBV_WC_SUCCESS
enum { NO_EVENT = -1, ANY_EVENT = -2 };

struct row {
	const char *name;
	enum fault fault;
	unsigned ops;
	enum ibv_wc_status requester;
	/* Of the first receive of the responder: LIVES when nothing happens to the QP there. */
	enum ibv_wc_status responder;
	int event;
};

static const struct row rc_rows[] = {
	{ "unknown lkey", NO_KEY, ALL, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "lkey of another PD", OTHER_PD, ALL, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "past the end of the local region", PAST_REGION, ALL, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "answer into a region without LOCAL_WRITE", READ_ONLY, BIT(READ) | ATOMICS, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "atomic with 16 bytes", ATOMIC_OF_16, ATOMICS, IBV_WC_LOC_LEN_ERR, LIVES, NO_EVENT },
	{ "unknown rkey", NO_RKEY, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "rkey of another PD", RKEY_OF_OTHER_PD, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "rkey of a region that is gone", RKEY_STALE, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "past the end of the remote region", PAST_REMOTE, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "before the remote region", BEFORE_REMOTE, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "remote region without the right", NO_RIGHT, REMOTE, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "remote QP without the right", QP_RIGHT, REMOTE, IBV_WC_REM_INV_REQ_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_REQ_ERR },
	{ "misaligned atomic", MISALIGNED, ATOMICS, IBV_WC_REM_INV_REQ_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_REQ_ERR },
	{ "max_dest_rd_atomic of 0", NO_SLOTS, BIT(READ) | ATOMICS, IBV_WC_REM_INV_REQ_ERR, IBV_WC_WR_FLUSH_ERR,
	  IBV_EVENT_QP_REQ_ERR },
	{ "longer than the receive", TOO_LONG, SENDS, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_EVENT_QP_REQ_ERR },
	{ "receive in a region without LOCAL_WRITE", RECEIVE_READ_ONLY, SENDS, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT },
	{ "receive with an unknown lkey", RECEIVE_NO_KEY, SENDS, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT },
	{ "receive in a region that is gone", RECEIVE_STALE, SENDS, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT },
	{ "nothing to invalidate", INVALIDATE_NOTHING, BIT(SEND_INV), IBV_WC_SUCCESS, IBV_WC_REM_INV_REQ_ERR, ANY_EVENT },
	{ "no receive", NOT_READY, TAKES, IBV_WC_RNR_RETRY_EXC_ERR, LIVES, NO_EVENT },
	{ "the peer's QP is gone", PEER_GONE, ALL, IBV_WC_RETRY_EXC_ERR, LIVES, NO_EVENT },
	{ "the peer's QP was reset", PEER_RESET, ALL, IBV_WC_RETRY_EXC_ERR, LIVES, NO_EVENT },
	{ "the peer's QP is in error", PEER_IN_ERROR, ALL, IBV_WC_RETRY_EXC_ERR, LIVES, NO_EVENT },
	{ "the own QP is put in error", OWN_ERROR, ALL, IBV_WC_WR_FLUSH_ERR, LIVES, NO_EVENT },
};

enum { RECEIVES = 3, SMALL = 2000, LARGE = 8192 };

/* All that one trial needs; each fault changes a detail of it. */
struct trial {
	const struct row *row;
	enum op op;
	uint32_t length;
	struct rc a, b;
	struct ibv_srq *srq;
	struct ibv_pd *other_pd;
	struct ibv_mr *read_only_a, *read_only_b, *other_pd_mr, *stale;
	struct ibv_sge from, into;
	uint64_t remote_addr;
	uint32_t rkey;
	bool b_gone;
};

static uint32_t unknown(uint32_t key)
{
	return key ^ 0x5a00;
}

static void expect_wc(const struct trial *t, const struct rc *rc, struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status,
		      enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = cq_wait(cq);

	if (wc.wr_id != id || wc.status != status || wc.opcode != opcode || wc.qp_num != rc->qp->qp_num)
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: completion %llu, %s, opcode %d, QP %x; expected %llu, %s, %d, %x",
			     ops[t->op].name, t->length, t->row->name, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
			     wc.opcode, wc.qp_num, (unsigned long long)id, ibv_wc_status_str(status), opcode, rc->qp->qp_num);
	/* The first to fail has a reason, those that are flushed have none. */
	bool has_reason = status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR;
	if ((wc.vendor_err != 0) != has_reason)
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: vendor_err 0x%x with %s", ops[t->op].name, t->length, t->row->name,
			     wc.vendor_err, ibv_wc_status_str(status));
}

static void expect_state(const struct trial *t, struct rc *rc, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	need_equal(ibv_query_qp(rc->qp, &attr, IBV_QP_STATE, &init), 0);
	if (attr.qp_state != state || rc->qp->state != state)
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: state %d (%d), not %d", ops[t->op].name, t->length, t->row->name,
			     attr.qp_state, rc->qp->state, state);
}

static void expect_event(const struct trial *t, int type, const void *element)
{
	struct ibv_async_event event;

	if (!fd_is_readable(t->b.context->async_fd, 3000))
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: no event %s", ops[t->op].name, t->length, t->row->name,
			     ibv_event_type_str((enum ibv_event_type)type));
	need_equal(ibv_get_async_event(t->b.context, &event), 0);
	if ((int)event.event_type != type)
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: event %s, not %s", ops[t->op].name, t->length, t->row->name,
			     ibv_event_type_str(event.event_type), ibv_event_type_str((enum ibv_event_type)type));
	need((const void *)event.element.qp == element);
	ibv_ack_async_event(&event);
}

static void expect_no_event(const struct trial *t)
{
	struct ibv_async_event event;

	if (fd_is_readable(t->b.context->async_fd, 0)) {
		need_equal(ibv_get_async_event(t->b.context, &event), 0);
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: event %s too many", ops[t->op].name, t->length, t->row->name,
			     ibv_event_type_str(event.event_type));
	}
}

static void trial_receive(struct trial *t, uint64_t id)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &t->into, .num_sge = 1 }, *bad;

	need_equal(t->srq ? ibv_post_srq_recv(t->srq, &wr, &bad) : ibv_post_recv(t->b.qp, &wr, &bad), 0);
}

static void to_state(struct rc *rc, struct ibv_qp_attr attr, int mask)
{
	need_equal(ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | mask), 0);
}

/* The detail that is wrong. What concerns the peer's QP is done last, all else is in place. */
static void fault_apply(struct trial *t)
{
	switch (t->row->fault) {
	case NO_KEY:
		t->from.lkey = unknown(t->from.lkey);
		break;
	case OTHER_PD:
		t->from.lkey = t->other_pd_mr->lkey;
		break;
	case PAST_REGION:
		t->from.addr = (uintptr_t)t->a.buf + t->a.o.size - t->length + 1;
		break;
	case READ_ONLY:
		t->from.lkey = t->read_only_a->lkey;
		break;
	case ATOMIC_OF_16:
		t->from.length = 16;
		break;
	case NO_RKEY:
		t->rkey = unknown(t->rkey);
		break;
	case RKEY_OF_OTHER_PD:
		t->rkey = t->other_pd_mr->rkey;
		break;
	case RKEY_STALE:
		t->rkey = t->stale->rkey;
		need_equal(ibv_dereg_mr(t->stale), 0);
		t->stale = NULL;
		break;
	case PAST_REMOTE:
		/* An atomic stays aligned. */
		t->remote_addr = (uintptr_t)t->b.buf + t->b.o.size - t->length + (t->length == 8 ? 8 : 1);
		break;
	case BEFORE_REMOTE:
		t->remote_addr = (uintptr_t)t->b.buf - 8;
		break;
	case NO_RIGHT:
	case QP_RIGHT:
		break; /* was given to rc_open() */
	case MISALIGNED:
		t->remote_addr += 4;
		break;
	case NO_SLOTS:
		to_state(&t->b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD }, 0);
		to_state(&t->b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD }, IBV_QP_MAX_DEST_RD_ATOMIC);
		to_state(&t->b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, 0);
		break;
	case TOO_LONG:
		t->into.length = t->length - 1;
		break;
	case RECEIVE_READ_ONLY:
		t->into.lkey = t->read_only_b->lkey;
		break;
	case RECEIVE_NO_KEY:
		t->into.lkey = unknown(t->into.lkey);
		break;
	case RECEIVE_STALE:
		t->into.lkey = t->stale->lkey;
		need_equal(ibv_dereg_mr(t->stale), 0);
		t->stale = NULL;
		break;
	case INVALIDATE_NOTHING:
	case NOT_READY:
	case PEER_GONE:
	case PEER_RESET:
	case PEER_IN_ERROR:
	case OWN_ERROR:
		break;
	}
}

static void peer_fault_apply(struct trial *t)
{
	switch (t->row->fault) {
	case PEER_GONE:
		need_equal(ibv_destroy_qp(t->b.qp), 0);
		t->b_gone = true;
		break;
	case PEER_RESET:
		need_equal(rc_to_reset(&t->b), 0);
		break;
	case PEER_IN_ERROR:
		need_equal(rc_to_error(&t->b), 0);
		break;
	case OWN_ERROR:
		to_state(&t->a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD }, 0); /* so that what is posted stays */
		break;
	default:
		break;
	}
}

/* Nobody answers: not to wait for long. All else is answered, and a busy machine may take its time. */
static bool is_silent(enum fault fault)
{
	return fault == PEER_GONE || fault == PEER_RESET || fault == PEER_IN_ERROR;
}

static void trial_open(struct trial *t, enum ibv_qp_type type, bool with_srq)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct rc_options oa = { .type = type, .rnr_retry = 1 };
	struct rc_options ob = { .type = type };
	int without = all & ~ops[t->op].right;

	if (is_silent(t->row->fault)) {
		oa.timeout = 5;
		oa.retry = 1;
	} else if (t->row->fault == INVALIDATE_NOTHING) {
		oa.timeout = 8; /* the first is answered */
		oa.retry = 2;
	}
	if (t->row->fault == NO_RIGHT)
		ob.mr_access = without;
	if (t->row->fault == QP_RIGHT)
		ob.qp_access = without & ~IBV_ACCESS_LOCAL_WRITE;
	oa.context = rc_device_open();
	oa.pd = ibv_alloc_pd(oa.context);
	need(oa.pd != NULL);
	ob.context = oa.context;
	ob.pd = oa.pd;
	if (with_srq) {
		struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };

		t->srq = ob.srq = ibv_create_srq(ob.pd, &init);
		need(ob.srq != NULL);
	}
	rc_pair(&t->a, &t->b, &oa, &ob);
	t->other_pd = ibv_alloc_pd(oa.context);
	need(t->other_pd != NULL);
	t->read_only_a = ibv_reg_mr(oa.pd, t->a.buf, t->a.o.size, 0);
	t->read_only_b = ibv_reg_mr(oa.pd, t->b.buf, t->b.o.size, IBV_ACCESS_REMOTE_READ);
	t->stale = ibv_reg_mr(oa.pd, t->b.buf, t->b.o.size, all);
	/* One region that would do for either side, but for its domain. */
	t->other_pd_mr = ibv_reg_mr(t->other_pd, t->row->fault == OTHER_PD ? t->a.buf : t->b.buf, t->a.o.size, all);
	need(t->read_only_a != NULL && t->read_only_b != NULL && t->stale != NULL && t->other_pd_mr != NULL);
	t->from = (struct ibv_sge){ (uintptr_t)t->a.buf, t->length, t->a.mr->lkey };
	t->into = (struct ibv_sge){ (uintptr_t)t->b.buf, LARGE, t->b.mr->lkey };
	t->remote_addr = (uintptr_t)t->b.buf;
	t->rkey = t->b.mr->rkey;
	memset(t->b.buf, 0x11, t->b.o.size);
	memset(t->a.buf, 0x22, t->a.o.size);
	fault_apply(t);
	for (uint64_t i = 0; i < RECEIVES; i++) {
		if (t->row->fault != NOT_READY)
			trial_receive(t, 100 + i);
		need_equal(rc_receive(&t->a, 200 + i, 0, 100), 0);
	}
	peer_fault_apply(t);
}

static void trial_close(struct trial *t)
{
	struct ibv_context *context = t->a.context;
	struct ibv_pd *pd = t->a.pd;

	need_equal(ibv_dereg_mr(t->read_only_a), 0);
	need_equal(ibv_dereg_mr(t->read_only_b), 0);
	need_equal(ibv_dereg_mr(t->other_pd_mr), 0);
	if (t->stale != NULL)
		need_equal(ibv_dereg_mr(t->stale), 0);
	need_equal(ibv_dealloc_pd(t->other_pd), 0);
	if (t->b_gone) {
		struct ibv_qp_init_attr init = { .send_cq = t->b.send_cq, .recv_cq = t->b.recv_cq, .qp_type = IBV_QPT_RC,
						 .cap = { 1, 1, 1, 1, 0 } };

		need((t->b.qp = ibv_create_qp(pd, &init)) != NULL);
	}
	rc_pair_close(&t->a, &t->b);
	if (t->srq != NULL)
		need_equal(ibv_destroy_srq(t->srq), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_close_device(context), 0);
}

static struct ibv_send_wr trial_wr(struct trial *t, uint64_t id)
{
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &t->from, .num_sge = 1, .opcode = ops[t->op].opcode };

	if (t->a.o.type == IBV_QPT_UD) {
		wr.wr.ud.ah = t->a.ah;
		wr.wr.ud.remote_qpn = t->a.remote_qpn;
		wr.wr.ud.remote_qkey = RC_QKEY;
	} else if (BIT(t->op) & ATOMICS) {
		wr.wr.atomic.remote_addr = t->remote_addr;
		wr.wr.atomic.rkey = t->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (t->op == SEND_INV) {
		wr.invalidate_rkey = unknown(t->rkey);
	} else {
		wr.wr.rdma.remote_addr = t->remote_addr;
		wr.wr.rdma.rkey = t->rkey;
	}
	return wr;
}

/* Three in one list, the first unsignalled: errors are told all the same. */
static void trial_post(struct trial *t)
{
	struct ibv_send_wr wr[3], *bad;

	for (unsigned i = 0; i < 3; i++)
		wr[i] = trial_wr(t, i);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	wr[0].send_flags = t->row->requester == IBV_WC_SUCCESS ? IBV_SEND_SIGNALED : 0;
	wr[1].send_flags = IBV_SEND_SIGNALED;
	need_equal(ibv_post_send(t->a.qp, wr, &bad), 0);
	if (t->row->fault == OWN_ERROR) {
		cq_expect_none(t->a.send_cq, 2);
		need_equal(rc_to_error(&t->a), 0);
	}
}

static void requester_check(struct trial *t)
{
	enum ibv_wc_opcode wc = ops[t->op].wc;

	expect_wc(t, &t->a, t->a.send_cq, 0, t->row->requester, wc);
	if (t->row->requester == IBV_WC_SUCCESS) {
		/* Whoever went to error behind the first answers the others with silence. */
		expect_wc(t, &t->a, t->a.send_cq, 1, IBV_WC_RETRY_EXC_ERR, wc);
	} else {
		expect_wc(t, &t->a, t->a.send_cq, 1, IBV_WC_WR_FLUSH_ERR, wc);
	}
	expect_wc(t, &t->a, t->a.send_cq, 2, IBV_WC_WR_FLUSH_ERR, wc);
	for (uint64_t i = 0; i < RECEIVES; i++)
		expect_wc(t, &t->a, t->a.recv_cq, 200 + i, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
	expect_state(t, &t->a, IBV_QPS_ERR);
	/* Posting goes on, and is flushed. */
	need_equal(rc_post(&t->a, 9, IBV_WR_SEND, 0, 0, 10, NULL, 0), 0);
	need_equal(rc_receive(&t->a, 10, 0, 10), 0);
	expect_wc(t, &t->a, t->a.send_cq, 9, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	expect_wc(t, &t->a, t->a.recv_cq, 10, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
}

/* A WRITE with immediate of one packet has a receive in its hands when its key turns out to be bad. */
static enum ibv_wc_status first_receive(const struct trial *t)
{
	if (t->op == WRITE_IMM && t->row->requester == IBV_WC_REM_ACCESS_ERR && t->length <= 1024)
		return IBV_WC_LOC_ACCESS_ERR;
	return t->row->responder;
}

static void responder_check(struct trial *t)
{
	enum ibv_wc_status first = first_receive(t);
	uint64_t left = 0;

	if (t->b_gone || t->row->fault == PEER_RESET) {
		cq_expect_none(t->b.recv_cq, 1);
		return;
	}
	if (t->row->fault == PEER_IN_ERROR) {
		for (uint64_t i = 0; i < RECEIVES && t->srq == NULL; i++)
			expect_wc(t, &t->b, t->b.recv_cq, 100 + i, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		expect_state(t, &t->b, IBV_QPS_ERR);
	} else if (first == LIVES) {
		cq_expect_none(t->b.recv_cq, 1);
		expect_state(t, &t->b, IBV_QPS_RTS);
	} else {
		/* An SRQ is not flushed: what the QP had not taken stays. */
		if (t->srq == NULL || first != IBV_WC_WR_FLUSH_ERR)
			expect_wc(t, &t->b, t->b.recv_cq, 100 + left++, first, IBV_WC_RECV);
		while (t->srq == NULL && left < RECEIVES)
			expect_wc(t, &t->b, t->b.recv_cq, 100 + left++, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		expect_state(t, &t->b, IBV_QPS_ERR);
	}
	cq_expect_none(t->b.recv_cq, 0);
}

/* In which order the two of a QP on an SRQ come is not promised. */
static void events_check(struct trial *t)
{
	int first = t->row->event;
	bool last_wqe = t->srq != NULL && (first_receive(t) != LIVES || t->row->fault == PEER_IN_ERROR) && !t->b_gone &&
			t->row->fault != PEER_RESET;

	if (first == ANY_EVENT)
		return;
	if (last_wqe && first == NO_EVENT) {
		expect_event(t, IBV_EVENT_QP_LAST_WQE_REACHED, t->b.qp);
	} else if (last_wqe) {
		int types[2] = { 0, 0 };

		for (int i = 0; i < 2; i++) {
			struct ibv_async_event event;

			need(fd_is_readable(t->b.context->async_fd, 3000));
			need_equal(ibv_get_async_event(t->b.context, &event), 0);
			need(event.element.qp == t->b.qp);
			types[i] = event.event_type;
			ibv_ack_async_event(&event);
		}
		need((types[0] == first && types[1] == IBV_EVENT_QP_LAST_WQE_REACHED) ||
		     (types[1] == first && types[0] == IBV_EVENT_QP_LAST_WQE_REACHED));
	} else if (first != NO_EVENT) {
		expect_event(t, first, t->b.qp);
	}
	expect_no_event(t);
}

/* Nothing outside of what was named has changed. */
static void memory_check(struct trial *t)
{
	/* (A WRITE that lacks only the receive for its immediate has written.) */
	if ((BIT(t->op) & (WRITES | ATOMICS)) && t->row->fault != NOT_READY)
		for (size_t i = 0; i < t->b.o.size; i++)
			need_equal(t->b.buf[i], 0x11);
	if (BIT(t->op) & (BIT(READ) | ATOMICS))
		need_equal(t->a.buf[t->a.o.size - 1], 0x22);
}

static void trial_run(const struct row *row, enum op op, uint32_t length, bool with_srq)
{
	struct trial t = { .row = row, .op = op, .length = length };

	trial_open(&t, IBV_QPT_RC, with_srq);
	trial_post(&t);
	requester_check(&t);
	responder_check(&t);
	events_check(&t);
	memory_check(&t);
	trial_close(&t);
}

static void rows_run(unsigned which, bool with_srq)
{
	for (size_t i = 0; i < sizeof(rc_rows) / sizeof(rc_rows[0]); i++)
		for (enum op op = 0; op < OPS; op++) {
			if (!(rc_rows[i].ops & BIT(op) & which))
				continue;
			trial_run(&rc_rows[i], op, BIT(op) & ATOMICS ? 8 : 100, with_srq);
			if (!(BIT(op) & ATOMICS))
				trial_run(&rc_rows[i], op, 3000, with_srq);
		}
}

static void sends(void)
{
	rows_run(SENDS, false);
}

static void writes(void)
{
	rows_run(WRITES, false);
}

static void reads_and_atomics(void)
{
	rows_run(BIT(READ) | ATOMICS, false);
}

static void on_srq(void)
{
	rows_run(TAKES, true);
}

/* --- a peer that is killed --- */

static void to_be_killed(struct peer *peer)
{
	struct rc rc;

	rc_open(&rc, &(struct rc_options){ .recv_wr = 1 });
	rc_meet(&rc, peer);
	peer_await(peer); /* for ever */
}

static void killed(void)
{
	static const enum op tried[] = { SEND, WRITE, READ, ADD };

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		static const struct row row = { "the peer is killed", PEER_GONE, ALL, IBV_WC_RETRY_EXC_ERR, LIVES, NO_EVENT };
		struct trial t = { .row = &row, .op = tried[i], .length = 8 };
		struct peer peer = peer_start(to_be_killed);

		rc_open(&t.a, &(struct rc_options){ .timeout = 8, .retry = 2 });
		const struct rc_address theirs = rc_meet(&t.a, &peer);
		t.from = (struct ibv_sge){ (uintptr_t)t.a.buf, t.length, t.a.mr->lkey };
		t.remote_addr = theirs.addr;
		t.rkey = theirs.rkey;
		for (uint64_t n = 0; n < RECEIVES; n++)
			need_equal(rc_receive(&t.a, 200 + n, 0, 100), 0);
		peer_kill(&peer);
		trial_post(&t);
		requester_check(&t);
		rc_close(&t.a);
	}
}

/* --- UC and UD: the sender's own faults lead to SQE, the receiver drops what it cannot take --- */

static const struct row lossy_rows[] = {
	{ "unknown lkey", NO_KEY, UC_OPS, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "lkey of another PD", OTHER_PD, UC_OPS, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "past the end of the local region", PAST_REGION, UC_OPS, IBV_WC_LOC_PROT_ERR, LIVES, NO_EVENT },
	{ "unknown rkey", NO_RKEY, WRITES, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "rkey of another PD", RKEY_OF_OTHER_PD, WRITES, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "past the end of the remote region", PAST_REMOTE, WRITES, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "remote region without the right", NO_RIGHT, WRITES, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "remote QP without the right", QP_RIGHT, WRITES, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "longer than the receive", TOO_LONG, UD_OPS, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "receive in a region without LOCAL_WRITE", RECEIVE_READ_ONLY, UD_OPS, IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, NO_EVENT },
	{ "receive with an unknown lkey", RECEIVE_NO_KEY, UD_OPS, IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, NO_EVENT },
	{ "no receive", NOT_READY, UC_OPS, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "the peer's QP is gone", PEER_GONE, UC_OPS, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "the peer's QP was reset", PEER_RESET, UC_OPS, IBV_WC_SUCCESS, LIVES, NO_EVENT },
	{ "the own QP is put in error", OWN_ERROR, UC_OPS, IBV_WC_WR_FLUSH_ERR, LIVES, NO_EVENT },
};

/* What is wrong with the address or the receive is set right, and a message goes through: to the first receive. */
static void goes_on(struct trial *t, uint64_t receive)
{
	uint32_t grh = t->a.o.type == IBV_QPT_UD ? 40 : 0;

	need_equal(rc_post(&t->a, 50, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	expect_wc(t, &t->a, t->a.send_cq, 50, IBV_WC_SUCCESS, IBV_WC_SEND);
	struct ibv_wc wc = cq_wait(t->b.recv_cq);
	if (wc.wr_id != receive || wc.status != IBV_WC_SUCCESS || wc.byte_len != 10 + grh)
		harness_fail(__FILE__, __LINE__, "%s of %u, %s: receive %llu, %s, %u bytes, expected %llu", ops[t->op].name,
			     t->length, t->row->name, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.byte_len,
			     (unsigned long long)receive);
}

static void lossy_sender_fails(struct trial *t)
{
	enum ibv_wc_opcode wc = ops[t->op].wc;
	bool own_error = t->row->fault == OWN_ERROR;

	expect_wc(t, &t->a, t->a.send_cq, 0, t->row->requester, wc);
	expect_wc(t, &t->a, t->a.send_cq, 1, IBV_WC_WR_FLUSH_ERR, wc);
	expect_wc(t, &t->a, t->a.send_cq, 2, IBV_WC_WR_FLUSH_ERR, wc);
	expect_state(t, &t->a, own_error ? IBV_QPS_ERR : IBV_QPS_SQE);
	need_equal(rc_post(&t->a, 9, IBV_WR_SEND, 0, 0, 10, NULL, 0), 0);
	expect_wc(t, &t->a, t->a.send_cq, 9, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	if (own_error) {
		for (uint64_t i = 0; i < RECEIVES; i++)
			expect_wc(t, &t->a, t->a.recv_cq, 200 + i, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		return;
	}
	/* Receiving goes on, and so does sending after a modify. */
	need_equal(rc_post(&t->b, 60, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	expect_wc(t, &t->b, t->b.send_cq, 60, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect_wc(t, &t->a, t->a.recv_cq, 200, IBV_WC_SUCCESS, IBV_WC_RECV);
	to_state(&t->a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, 0);
	goes_on(t, 100);
}

static void lossy_receiver_drops(struct trial *t)
{
	uint64_t next = 100;

	for (uint64_t i = 0; i < 3; i++)
		if (i > 0 && t->row->responder != LIVES)
			break;
		else
			expect_wc(t, &t->a, t->a.send_cq, i, IBV_WC_SUCCESS, ops[t->op].wc);
	if (t->row->responder != LIVES) {
		expect_wc(t, &t->b, t->b.recv_cq, 100, t->row->responder, IBV_WC_RECV);
		for (uint64_t i = 1; i < RECEIVES && t->srq == NULL; i++)
			expect_wc(t, &t->b, t->b.recv_cq, 100 + i, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
		expect_state(t, &t->b, IBV_QPS_ERR);
		return;
	}
	expect_state(t, &t->a, IBV_QPS_RTS);
	if (t->b_gone || t->row->fault == PEER_RESET)
		return;
	if (t->row->fault == TOO_LONG && t->srq != NULL)
		/* An SRQ cannot have it back, so it ends with an error; the QP does not. */
		for (; next < 100 + RECEIVES; next++)
			expect_wc(t, &t->b, t->b.recv_cq, next, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV);
	cq_expect_none(t->b.recv_cq, t->row->fault == NOT_READY ? 20 : 2);
	expect_state(t, &t->b, IBV_QPS_RTS);
	/* (On a machine that is slow enough the last one is still held for a receive, and would get it.) */
	if (t->row->fault == NOT_READY)
		return;
	if (next > 100) {
		t->into.length = LARGE;
		next = 300;
		trial_receive(t, next);
	}
	if (t->row->fault != QP_RIGHT)
		goes_on(t, next);
}

static void lossy_trial(const struct row *row, enum ibv_qp_type type, enum op op, uint32_t length, bool with_srq)
{
	struct trial t = { .row = row, .op = op, .length = length };

	trial_open(&t, type, with_srq);
	struct ibv_send_wr wr[3], *bad;
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = trial_wr(&t, i);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	need_equal(ibv_post_send(t.a.qp, wr, &bad), 0);
	if (row->fault == OWN_ERROR)
		need_equal(rc_to_error(&t.a), 0);
	if (row->requester != IBV_WC_SUCCESS)
		lossy_sender_fails(&t);
	else
		lossy_receiver_drops(&t);
	if (t.srq == NULL)
		expect_no_event(&t);
	else
		while (fd_is_readable(t.b.context->async_fd, 0)) {
			struct ibv_async_event event;

			need_equal(ibv_get_async_event(t.b.context, &event), 0);
			ibv_ack_async_event(&event);
		}
	trial_close(&t);
}

static void lossy_rows_run(enum ibv_qp_type type, unsigned which, bool with_srq)
{
	for (size_t i = 0; i < sizeof(lossy_rows) / sizeof(lossy_rows[0]); i++)
		for (enum op op = 0; op < OPS; op++) {
			if (!(lossy_rows[i].ops & which & BIT(op)))
				continue;
			lossy_trial(&lossy_rows[i], type, op, 100, with_srq);
			if (type == IBV_QPT_UC)
				lossy_trial(&lossy_rows[i], type, op, 3000, with_srq);
		}
}

static void uc(void)
{
	lossy_rows_run(IBV_QPT_UC, UC_OPS, false);
}

static void ud(void)
{
	lossy_rows_run(IBV_QPT_UD, UD_OPS, false);
	lossy_rows_run(IBV_QPT_UD, UD_OPS, true);
}

static const struct harness_case cases[] = {
	{ "sends", "RC: each fault that a SEND, with immediate and invalidate, can meet", sends },
	{ "writes", "RC: each fault that a WRITE, with immediate, can meet", writes },
	{ "reads_and_atomics", "RC: each fault that a READ, CMP_SWAP and FETCH_ADD can meet", reads_and_atomics },
	{ "on_srq", "the same with an SRQ at the responder: it is not flushed", on_srq },
	{ "killed", "RC: the responder is killed", killed },
	{ "uc", "UC: local faults lead to SQE and back, remote ones cost the message", uc },
	{ "ud", "UD: the same; an SRQ's receive that is too short ends with an error", ud },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
