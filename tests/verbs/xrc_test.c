/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extended reliable connections as a program sees them: domains by file, SRQs by number, targets that several openers share, and
 * the errors of each. And FLUSH and ATOMIC WRITE, which need the builders.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { PSN = 0x1234, SRQ_WR = 16, BYTES = 32768 };

static struct ibv_xrcd *xrcd_open(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = oflags };

	return ibv_open_xrcd(context, &attr);
}

static int file_open(void)
{
	FILE *file = tmpfile();

	need(file != NULL);
	return dup(fileno(file));
}

/* One side of the receiving end: a domain with an SRQ of its own protection domain. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint32_t srqn;
	uint8_t *buf;
};

static struct ibv_srq *srq_create(const struct end *e)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = SRQ_WR, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = e->pd, .xrcd = e->xrcd, .cq = e->cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
	};

	return ibv_create_srq_ex(e->context, &attr);
}

static void end_open(struct end *e, struct ibv_context *context, struct ibv_xrcd *xrcd)
{
	*e = (struct end){ .context = context, .xrcd = xrcd };
	need((e->pd = ibv_alloc_pd(context)) != NULL);
	need((e->cq = ibv_create_cq(context, 64, NULL, NULL, 0)) != NULL);
	need((e->srq = srq_create(e)) != NULL);
	need_equal(ibv_get_srq_num(e->srq, &e->srqn), 0);
	need(e->srqn != 0 && e->srqn < 1 << 24);
	need((e->buf = calloc(1, BYTES)) != NULL);
	e->mr = ibv_reg_mr(e->pd, e->buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC);
	need(e->mr != NULL);
}

static void end_close(struct end *e)
{
	if (e->srq != NULL)
		need_equal(ibv_destroy_srq(e->srq), 0);
	need_equal(ibv_dereg_mr(e->mr), 0);
	need_equal(ibv_destroy_cq(e->cq), 0);
	need_equal(ibv_dealloc_pd(e->pd), 0);
	free(e->buf);
}

static void end_receive(struct end *e, uint64_t id, size_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + at, len, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	need_equal(ibv_post_srq_recv(e->srq, &wr, &bad), 0);
}

static struct ibv_qp *target_create(struct ibv_context *context, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd };
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	need(qp != NULL && qp->qp_type == IBV_QPT_XRC_RECV);
	return qp;
}

static int target_share(struct ibv_context *context, struct ibv_xrcd *xrcd, uint32_t qpn, struct ibv_qp **out)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE | IBV_QP_OPEN_ATTR_CONTEXT,
		.qp_num = qpn, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV, .qp_context = out,
	};

	errno = 0;
	*out = ibv_open_qp(context, &attr);
	return *out == NULL ? errno : 0;
}

static void connect_one(struct ibv_qp *qp, uint32_t remote_qpn)
{
	bool initiates = qp->qp_type == IBV_QPT_XRC_SEND;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	union ibv_gid gid;

	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = remote_qpn, .rq_psn = PSN, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 1, .ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};
	attr.ah_attr.grh.sgid_index = (uint8_t)rc_gid_find(qp->context, &gid);
	attr.ah_attr.grh.dgid = gid;
	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				 (initiates ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)), 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = PSN, .max_rd_atomic = 4,
	};
	need_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN |
				 (initiates ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0)), 0);
}

/* The sending end: an initiator with memory of its own. */
static void initiator_open(struct rc *a, struct ibv_context *context, uint64_t send_ops)
{
	rc_open(a, &(struct rc_options){ .type = IBV_QPT_XRC_SEND, .context = context, .send_ops = send_ops });
	need(a->qp->qp_type == IBV_QPT_XRC_SEND);
}

static void post_to(struct rc *a, uint64_t id, enum ibv_wr_opcode opcode, const struct end *to, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
				  .qp_type.xrc.remote_srqn = to->srqn, .imm_data = htonl(77) }, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->buf;
		wr.wr.atomic.rkey = to->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) {
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	need_equal(ibv_post_send(a->qp, &wr, &bad), 0);
}

/* ---- domains ---- */

static void domains_by_file(void)
{
	struct ibv_context *context = rc_device_open(), *other;
	struct ibv_xrcd_init_attr half = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };
	struct ibv_xrcd *a, *b, *c;
	int fd = file_open();

	need_errno(ibv_open_xrcd(context, &half), EINVAL);
	half.comp_mask = 7;
	need_errno(ibv_open_xrcd(context, &half), EOPNOTSUPP);
	need_errno(xrcd_open(context, 4711, O_CREAT), EBADF);
	need_errno(xrcd_open(context, fd, 0), EAGAIN);
	need((a = xrcd_open(context, fd, O_CREAT | O_EXCL)) != NULL);
	need_errno(xrcd_open(context, fd, O_CREAT | O_EXCL), EINVAL);
	need((b = xrcd_open(context, fd, 0)) != NULL);
	/* Another context of the device finds it as well. */
	need((other = ibv_open_device(context->device)) != NULL);
	need((c = xrcd_open(other, fd, O_CREAT)) != NULL);
	struct ibv_qp *target = target_create(context, a), *shared;
	need_equal(target_share(other, c, target->qp_num, &shared), 0);
	need_equal(ibv_destroy_qp(shared), 0);
	need_equal(ibv_destroy_qp(target), 0);
	need_equal(ibv_close_xrcd(a), 0);
	need_equal(ibv_close_xrcd(b), 0);
	need_equal(ibv_close_xrcd(c), 0);
	/* With its last user it is gone. */
	need_errno(xrcd_open(context, fd, 0), EAGAIN);
	/* Without a file each is another one. */
	need((a = xrcd_open(context, -1, 0)) != NULL && (b = xrcd_open(context, -1, O_CREAT)) != NULL);
	target = target_create(context, a);
	need_equal(target_share(context, b, target->qp_num, &shared), EINVAL);
	need_equal(ibv_destroy_qp(target), 0);
	need_equal(ibv_close_xrcd(a), 0);
	need_equal(ibv_close_xrcd(b), 0);
	need_equal(ibv_close_device(other), 0);
	need_equal(ibv_close_device(context), 0);
	close(fd);
}

static int shared_fd;

static void stranger(struct peer *peer)
{
	struct ibv_context *context = rc_device_open();

	struct ibv_qp *own, *shared;
	uint32_t qpn;

	peer_receive(peer, &qpn, sizeof(qpn));
	/* A domain of its own, though the file is the same. */
	struct ibv_xrcd *xrcd = xrcd_open(context, shared_fd, O_CREAT | O_EXCL);
	need(xrcd != NULL);
	own = target_create(context, xrcd);
	need_equal(target_share(context, xrcd, qpn, &shared), EOPNOTSUPP);
	need_equal(target_share(context, xrcd, own->qp_num, &shared), 0);
	need_equal(ibv_destroy_qp(shared), 0);
	need_equal(ibv_destroy_qp(own), 0);
	need_equal(ibv_close_xrcd(xrcd), 0);
	need_equal(ibv_close_device(context), 0);
}

static void domains_stay_in_their_process(void)
{
	shared_fd = file_open();
	struct peer peer = peer_start(stranger);
	struct ibv_context *context = rc_device_open();
	struct ibv_xrcd *xrcd = xrcd_open(context, shared_fd, O_CREAT);

	need(xrcd != NULL);
	struct ibv_qp *target = target_create(context, xrcd);
	peer_send(&peer, &target->qp_num, sizeof(target->qp_num));
	peer_join(&peer);
	need_equal(ibv_destroy_qp(target), 0);
	need_equal(ibv_close_xrcd(xrcd), 0);
	need_equal(ibv_close_device(context), 0);
}

static void busy_and_wrong(void)
{
	struct ibv_context *context = rc_device_open(), *other = ibv_open_device(context->device);
	struct ibv_xrcd *xrcd = xrcd_open(context, -1, O_CREAT);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp *target, *shared;
	struct ibv_srq *basic;
	struct end e;
	struct rc a;
	uint32_t number;

	need(xrcd != NULL && other != NULL);
	end_open(&e, context, xrcd);
	need_equal(ibv_close_xrcd(xrcd), EBUSY);
	need_equal(ibv_destroy_cq(e.cq), EBUSY);
	need_equal(ibv_dealloc_pd(e.pd), EBUSY);
	/* A target needs a domain, of its context; an SRQ too. */
	attr.pd = e.pd;
	need_errno(ibv_create_qp_ex(context, &attr), EINVAL);
	attr = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd };
	need_errno(ibv_create_qp_ex(other, &attr), EINVAL);
	need_errno(ibv_create_qp(e.pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_XRC_RECV }), EINVAL);
	struct ibv_srq_init_attr_ex half = { .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = e.pd,
					     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD };
	need_errno(ibv_create_srq_ex(context, &half), EINVAL);
	need((basic = ibv_create_srq(e.pd, &(struct ibv_srq_init_attr){ .attr = { .max_wr = 1, .max_sge = 1 } })) != NULL);
	need_equal(ibv_get_srq_num(basic, &number), EINVAL);
	need_equal(ibv_destroy_srq(basic), 0);
	/* No other type takes from an SRQ of this kind. */
	need_errno(ibv_create_qp(e.pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = e.cq, .recv_cq = e.cq, .srq = e.srq,
								    .cap = { .max_send_wr = 1 } }), EINVAL);

	target = target_create(context, xrcd);
	need_equal(target_share(context, xrcd, target->qp_num + 1, &shared), EINVAL);
	need_equal(ibv_post_recv(target, &wr, &bad_recv), EINVAL);
	need_equal(ibv_post_send(target, &send, &bad), EINVAL);
	initiator_open(&a, context, 0);
	need_equal(ibv_post_recv(a.qp, &wr, &bad_recv), EINVAL);
	connect_one(target, a.qp->qp_num);
	need_equal(ibv_post_send(target, &send, &bad), EINVAL);
	rc_close(&a);
	need_equal(ibv_destroy_qp(target), 0);
	end_close(&e);
	need_equal(ibv_close_xrcd(xrcd), 0);
	need_equal(ibv_close_device(other), 0);
	need_equal(ibv_close_device(context), 0);
}

/* ---- traffic ---- */

struct world {
	struct ibv_context *context;
	struct ibv_xrcd *xrcd;
	struct end one, two;
	struct ibv_qp *target;
	struct rc a;
};

static void world_open(struct world *w, uint64_t send_ops)
{
	w->context = rc_device_open();
	need((w->xrcd = xrcd_open(w->context, -1, O_CREAT)) != NULL);
	end_open(&w->one, w->context, w->xrcd);
	end_open(&w->two, w->context, w->xrcd);
	need(w->one.srqn != w->two.srqn);
	w->target = target_create(w->context, w->xrcd);
	initiator_open(&w->a, w->context, send_ops);
	connect_one(w->target, w->a.qp->qp_num);
	connect_one(w->a.qp, w->target->qp_num);
}

static void world_close(struct world *w)
{
	rc_close(&w->a);
	if (w->target != NULL)
		need_equal(ibv_destroy_qp(w->target), 0);
	end_close(&w->one);
	end_close(&w->two);
	need_equal(ibv_close_xrcd(w->xrcd), 0);
	need_equal(ibv_close_device(w->context), 0);
}

static void messages_find_their_srq(void)
{
	struct world w;

	world_open(&w, 0);
	memset(w.a.buf, 0x5a, 20000);
	for (uint64_t i = 0; i < 8; i++) {
		struct end *to = i & 1 ? &w.two : &w.one;

		end_receive(to, 100 + i, 0, 20000);
		memset(to->buf, 0, BYTES);
		post_to(&w.a, i, i & 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, to, 10000 + (uint32_t)i);
		struct ibv_wc wc = cq_wait(to->cq);
		need_equal(wc.wr_id, 100 + i);
		need_equal(wc.status, IBV_WC_SUCCESS);
		need_equal(wc.byte_len, 10000 + i);
		need_equal(wc.qp_num, w.target->qp_num);
		need_equal(wc.wc_flags & IBV_WC_WITH_IMM, i & 2 ? IBV_WC_WITH_IMM : 0);
		need(to->buf[0] == 0x5a && to->buf[9999 + i] == 0x5a && to->buf[10000 + i] == 0);
		cq_expect(w.a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_SEND);
	}
	/* A message for an SRQ that is dry waits until there is a receive for it. */
	post_to(&w.a, 50, IBV_WR_SEND, &w.two, 5);
	cq_expect_none(w.two.cq, 20);
	end_receive(&w.one, 200, 0, 100);
	cq_expect_none(w.two.cq, 20);
	end_receive(&w.two, 201, 0, 100);
	cq_expect(w.two.cq, 201, IBV_WC_SUCCESS, IBV_WC_RECV);
	cq_expect(w.a.send_cq, 50, IBV_WC_SUCCESS, IBV_WC_SEND);
	world_close(&w);
}

static void memory_is_the_srqs(void)
{
	struct world w;
	struct end lie;

	world_open(&w, 0);
	memset(w.a.buf, 0x11, 8);
	post_to(&w.a, 1, IBV_WR_RDMA_WRITE, &w.one, 5000);
	cq_expect(w.a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(w.one.buf[7] == 0x11);
	memset(w.two.buf, 0x22, 5000);
	post_to(&w.a, 2, IBV_WR_RDMA_READ, &w.two, 5000);
	cq_expect(w.a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	need(w.a.buf[4999] == 0x22);
	post_to(&w.a, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, &w.two, 8);
	cq_expect(w.a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	need(w.two.buf[0] == 0x23);
	/* The memory of one under the number of the other: another protection domain. */
	lie = w.one;
	lie.srqn = w.two.srqn;
	post_to(&w.a, 4, IBV_WR_RDMA_WRITE, &lie, 8);
	cq_expect(w.a.send_cq, 4, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
	world_close(&w);
}

static void unknown_srq(void)
{
	struct ibv_async_event event;
	struct world w;
	struct end lie;

	world_open(&w, 0);
	lie = w.one;
	lie.srqn ^= 0x800000;
	post_to(&w.a, 1, IBV_WR_SEND, &lie, 8);
	cq_expect(w.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SEND);
	do {
		need_equal(ibv_get_async_event(w.context, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	need_equal(event.event_type, IBV_EVENT_QP_REQ_ERR);
	need(event.element.qp == w.target);
	world_close(&w);
}

static void events_of_until(struct ibv_context *context, enum ibv_event_type wanted, struct ibv_qp *of, struct ibv_qp *and_of)
{
	struct ibv_async_event event;
	unsigned seen = 0;

	while (seen != (and_of == NULL ? 1u : 3u)) {
		need(fd_is_readable(context->async_fd, 5000));
		need_equal(ibv_get_async_event(context, &event), 0);
		if (event.event_type == wanted) {
			need(event.element.qp == of || event.element.qp == and_of);
			seen |= event.element.qp == of ? 1 : 2;
		}
		ibv_ack_async_event(&event);
	}
}

static void openers_share_a_target(void)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init;
	struct ibv_qp *shared, *late;
	struct world w;

	world_open(&w, 0);
	need_equal(target_share(w.context, w.xrcd, w.target->qp_num, &shared), 0);
	need(shared != w.target && shared->qp_num == w.target->qp_num && shared->state == IBV_QPS_RTS);
	need(shared->qp_context == &shared);
	need_equal(ibv_query_qp(shared, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_RTS);
	/* Who made it leaves: it lives, and takes messages. */
	uint32_t qpn = w.target->qp_num;
	need_equal(ibv_destroy_qp(w.target), 0);
	end_receive(&w.one, 1, 0, 100);
	post_to(&w.a, 1, IBV_WR_SEND, &w.one, 8);
	cq_expect(w.one.cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	cq_expect(w.a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	/* An event is everybody's. */
	need_equal(target_share(w.context, w.xrcd, qpn, &w.target), 0);
	attr.qp_state = IBV_QPS_ERR;
	need_equal(ibv_modify_qp(shared, &attr, IBV_QP_STATE), 0);
	events_of_until(w.context, IBV_EVENT_QP_LAST_WQE_REACHED, shared, w.target);
	need_equal(ibv_close_xrcd(w.xrcd), EBUSY);
	need_equal(ibv_destroy_qp(shared), 0);
	need_equal(ibv_destroy_qp(w.target), 0);
	need_equal(target_share(w.context, w.xrcd, qpn, &late), EINVAL);
	w.target = NULL;
	world_close(&w);
}

static void an_srq_dies_in_mid_message(void)
{
	struct world w;

	world_open(&w, 0);
	/* Half of it arrives (the other half waits for a READ that its fence holds up): destroying the SRQ does not hang. */
	for (int i = 0; i < 20; i++) {
		end_receive(&w.one, (uint64_t)i % SRQ_WR, 0, BYTES);
		post_to(&w.a, (uint64_t)i, IBV_WR_SEND, &w.one, 30000);
		if (i >= SRQ_WR - 2)
			break;
	}
	need_equal(ibv_destroy_srq(w.one.srq), 0);
	w.one.srq = NULL;
	for (;;) {
		struct ibv_wc wc = cq_wait(w.a.send_cq);

		if (wc.wr_id == SRQ_WR - 2 || wc.status != IBV_WC_SUCCESS)
			break;
	}
	world_close(&w);
}

/* ---- FLUSH and ATOMIC WRITE ---- */

/* What headers of rdma-core 44 do not have yet: the last member of the struct, and numbers. */
struct qp_ex_newer {
	unsigned char known[352];
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type, uint8_t level);
};
enum { QP_EX_WITH_FLUSH = 1 << 11, WC_FLUSH = 8, ACCESS_FLUSH_GLOBAL = 1 << 8, ACCESS_FLUSH_PERSISTENT = 1 << 9, GLOBAL = 1,
       PERSISTENT = 2, RANGE = 0, REGION = 1, ALL_ACCESS = 0xf };

static void flush(struct rc *a, uint64_t id, const struct rc_address *to, size_t len, uint8_t type, uint8_t level)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a->qp);

	need(ex != NULL);
	ibv_wr_start(ex);
	ex->wr_id = id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	((struct qp_ex_newer *)(void *)ex)->wr_flush(ex, to->rkey, to->addr, len, type, level);
	need_equal(ibv_wr_complete(ex), 0);
}

static int atomic_write(struct rc *a, uint64_t id, const struct rc_address *to, uint64_t at, uint64_t value)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a->qp);

	need(ex != NULL);
	ibv_wr_start(ex);
	ex->wr_id = id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, to->rkey, to->addr + at, &value);
	value = 0; /* it has been taken */
	return ibv_wr_complete(ex);
}

static struct rc_options flush_options(int mr_access)
{
	return (struct rc_options){
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE | QP_EX_WITH_FLUSH,
		.qp_access = ALL_ACCESS | ACCESS_FLUSH_GLOBAL | ACCESS_FLUSH_PERSISTENT, .mr_access = ALL_ACCESS | mr_access,
	};
}

static void flush_and_atomic_write(void)
{
	const struct rc_options o = flush_options(ACCESS_FLUSH_GLOBAL | ACCESS_FLUSH_PERSISTENT);
	struct ibv_device_attr_ex attr;
	struct rc a, b;
	struct rc_address to;
	uint64_t value;

	rc_pair(&a, &b, &o, &o);
	to = rc_address_of(&b);
	need_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	need_equal(attr.device_cap_flags_ex >> 38 & 7, 7);
	need(attr.orig_attr.device_cap_flags & IBV_DEVICE_XRC);
	need_equal(atomic_write(&a, 1, &to, 64, 0x0102030405060708), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_ATOMIC_WRITE);
	memcpy(&value, b.buf + 64, 8);
	need_equal(value, 0x0102030405060708);
	/* In a list, from memory. */
	value = 99;
	memcpy(a.buf, &value, 8);
	need_equal(rc_post(&a, 2, IBV_WR_ATOMIC_WRITE, IBV_SEND_SIGNALED, 0, 8, &to, 8), 0);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_ATOMIC_WRITE);
	memcpy(&value, b.buf + 8, 8);
	need_equal(value, 99);
	need_equal(rc_post(&a, 3, IBV_WR_ATOMIC_WRITE, IBV_SEND_SIGNALED, 0, 16, &to, 8), EINVAL);
	need_equal(rc_post(&a, 3, (enum ibv_wr_opcode)14, IBV_SEND_SIGNALED, 0, 0, &to, 8), EINVAL);
	/* Behind a WRITE, in all its ways; the last is all of the region, whatever is said of a range. */
	need_equal(rc_post(&a, 4, IBV_WR_RDMA_WRITE, 0, 0, 5000, &to, 0), 0);
	flush(&a, 5, &to, 5000, GLOBAL, RANGE);
	cq_expect(a.send_cq, 5, IBV_WC_SUCCESS, (enum ibv_wc_opcode)WC_FLUSH);
	flush(&a, 6, &to, b.o.size, GLOBAL | PERSISTENT, RANGE);
	cq_expect(a.send_cq, 6, IBV_WC_SUCCESS, (enum ibv_wc_opcode)WC_FLUSH);
	flush(&a, 7, &to, (size_t)1 << 40, PERSISTENT, REGION);
	cq_expect(a.send_cq, 7, IBV_WC_SUCCESS, (enum ibv_wc_opcode)WC_FLUSH);
	/* A builder that was told nonsense fails as a whole. */
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	((struct qp_ex_newer *)(void *)ex)->wr_flush(ex, to.rkey, to.addr, 8, 4, RANGE);
	need_equal(ibv_wr_complete(ex), EINVAL);
	/* And out of bounds it is an error of access. */
	flush(&a, 8, &to, b.o.size + 1, GLOBAL, RANGE);
	cq_expect(a.send_cq, 8, IBV_WC_REM_ACCESS_ERR, (enum ibv_wc_opcode)WC_FLUSH);
	rc_pair_close(&a, &b);
}

static void flush_needs_its_right(void)
{
	struct rc_options ours = flush_options(0), theirs = flush_options(ACCESS_FLUSH_GLOBAL);
	struct rc a, b;
	struct rc_address to;

	rc_pair(&a, &b, &ours, &theirs);
	to = rc_address_of(&b);
	flush(&a, 1, &to, 8, GLOBAL, RANGE);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, (enum ibv_wc_opcode)WC_FLUSH);
	flush(&a, 2, &to, 8, PERSISTENT, RANGE);
	cq_expect(a.send_cq, 2, IBV_WC_REM_ACCESS_ERR, (enum ibv_wc_opcode)WC_FLUSH);
	rc_pair_close(&a, &b);
	theirs.qp_access = ALL_ACCESS;
	rc_pair(&a, &b, &ours, &theirs);
	to = rc_address_of(&b);
	flush(&a, 1, &to, 8, GLOBAL, RANGE);
	cq_expect(a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR, (enum ibv_wc_opcode)WC_FLUSH);
	rc_pair_close(&a, &b);
	rc_pair(&a, &b, &ours, &ours);
	to = rc_address_of(&b);
	need_equal(atomic_write(&a, 1, &to, 4, 1), 0);
	cq_expect(a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR, IBV_WC_ATOMIC_WRITE);
	rc_pair_close(&a, &b);
}

static void builders_reach_an_srq(void)
{
	struct world w;

	world_open(&w, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_WRITE);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(w.a.qp);
	const uint64_t value = 7;
	end_receive(&w.two, 9, 0, 100);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, w.two.srqn);
	ibv_wr_set_sge(ex, w.a.mr->lkey, (uintptr_t)w.a.buf, 8);
	ex->wr_id = 2;
	ibv_wr_atomic_write(ex, w.one.mr->rkey, (uintptr_t)w.one.buf + 16, &value);
	ibv_wr_set_xrc_srqn(ex, w.one.srqn);
	need_equal(ibv_wr_complete(ex), 0);
	cq_expect(w.two.cq, 9, IBV_WC_SUCCESS, IBV_WC_RECV);
	cq_expect(w.a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	cq_expect(w.a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_ATOMIC_WRITE);
	need(w.one.buf[16] == 7);
	world_close(&w);
}

int main(int argc, char **argv)
{
	static const struct harness_case cases[] = {
		{ "domains_by_file", "O_CREAT, O_EXCL, no file; contexts share", domains_by_file },
		{ "domains_stay", "another process has one of its own; a target of the other is EOPNOTSUPP", domains_stay_in_their_process },
		{ "busy_and_wrong", "EBUSY while something is on it; EINVAL for what does not fit", busy_and_wrong },
		{ "messages", "each message goes where its number says", messages_find_their_srq },
		{ "memory", "WRITE, READ and atomics count in the SRQ's protection domain", memory_is_the_srqs },
		{ "unknown_srq", "a number that nobody has is an invalid request", unknown_srq },
		{ "openers", "a target lives by references; its events are everybody's", openers_share_a_target },
		{ "srq_dies", "an SRQ goes while messages come", an_srq_dies_in_mid_message },
		{ "flush", "FLUSH and ATOMIC WRITE", flush_and_atomic_write },
		{ "flush_rights", "and what they are refused for", flush_needs_its_right },
		{ "builders", "ibv_wr_set_xrc_srqn", builders_reach_an_srq },
	};

	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
