/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels, asynchronous events, completion queues under pressure, several threads on one object. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void set_nonblocking(int fd)
{
	need(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

/* --- channels --- */

static void event_take(struct rc *rc, struct ibv_cq *expected)
{
	struct ibv_cq *cq;
	void *context;

	need_equal(ibv_get_cq_event(rc->channel, &cq, &context), 0);
	need(cq == expected && context == rc);
	ibv_ack_cq_events(cq, 1);
}

static void channel_events(void)
{
	struct rc a, b;
	struct ibv_cq *cq;
	void *context;

	rc_pair(&a, &b, NULL, &(struct rc_options){ .channel = true });
	need((fcntl(b.channel->fd, F_GETFD) & FD_CLOEXEC) != 0);
	/* Unarmed: no event. */
	for (uint64_t i = 0; i < 8; i++)
		need_equal(rc_receive(&b, i, 0, 100), 0);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	cq_expect(b.recv_cq, 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	need(!fd_is_readable(b.channel->fd, 20));
	set_nonblocking(b.channel->fd);
	need_equal(ibv_get_cq_event(b.channel, &cq, &context), -1);
	need_equal(errno, EAGAIN);
	/* Armed for any: one event, then none. */
	need_equal(ibv_req_notify_cq(b.recv_cq, 0), 0);
	need_equal(ibv_req_notify_cq(b.recv_cq, 1), 0); /* does not weaken it */
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	need_equal(rc_post(&a, 3, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	need(fd_is_readable(b.channel->fd, 5000));
	event_take(&b, b.recv_cq);
	need(!fd_is_readable(b.channel->fd, 20));
	cq_expect(b.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	cq_expect(b.recv_cq, 2, IBV_WC_SUCCESS, IBV_WC_RECV);
	/* Solicited alone: a plain SEND is silent, a solicited one is not. */
	need_equal(ibv_req_notify_cq(b.recv_cq, 1), 0);
	need_equal(rc_post(&a, 4, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
	cq_expect(b.recv_cq, 3, IBV_WC_SUCCESS, IBV_WC_RECV);
	need(!fd_is_readable(b.channel->fd, 20));
	need_equal(rc_post(&a, 5, IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED, 0, 5000, NULL, 0), 0);
	need(fd_is_readable(b.channel->fd, 5000)); /* too long for the receive: an error, which counts as well */
	event_take(&b, b.recv_cq);
	struct ibv_wc wc = cq_wait(b.recv_cq);
	need_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	rc_pair_close(&a, &b);

	rc_pair(&a, &b, NULL, &(struct rc_options){ .channel = true });
	need_equal(rc_receive(&b, 1, 0, 100), 0);
	need_equal(ibv_req_notify_cq(b.recv_cq, 1), 0);
	need_equal(rc_post(&a, 5, IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED, 0, 100, NULL, 0), 0);
	event_take(&b, b.recv_cq); /* blocks */
	cq_expect(b.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	rc_pair_close(&a, &b);
}

static struct rc waiting;
static _Atomic bool destroyed;

static void *destroyer(void *unused)
{
	need_equal(ibv_destroy_qp(waiting.qp), 0);
	need_equal(ibv_destroy_cq(waiting.recv_cq), 0);
	destroyed = true;
	return NULL;
}

static void destroy_waits(void)
{
	struct rc a;
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	rc_pair(&a, &waiting, NULL, &(struct rc_options){ .channel = true });
	need_equal(rc_receive(&waiting, 1, 0, 100), 0);
	need_equal(ibv_req_notify_cq(waiting.recv_cq, 0), 0);
	need_equal(rc_post(&a, 5, IBV_WR_SEND, 0, 0, 100, NULL, 0), 0);
	need_equal(ibv_get_cq_event(waiting.channel, &cq, &context), 0);
	need_equal(pthread_create(&thread, NULL, destroyer, NULL), 0);
	struct timespec moment = { 0, 50000000 };
	nanosleep(&moment, NULL); /* nothing can tell us that it does not happen */
	need(!destroyed);
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, NULL);
	need(destroyed);
	need_equal(ibv_destroy_cq(waiting.send_cq), 0);
	need_equal(ibv_destroy_comp_channel(waiting.channel), 0);
	need_equal(ibv_dereg_mr(waiting.mr), 0);
	need_equal(ibv_dealloc_pd(waiting.pd), 0);
	free(waiting.buf);
	rc_close(&a);
}

/* --- asynchronous events --- */

static void async_events(void)
{
	struct rc a, b;
	struct ibv_async_event event;

	rc_open(&a, NULL);
	rc_open(&b, NULL); /* a context of its own: events go to the one that owns the object */
	set_nonblocking(b.context->async_fd);
	need_equal(ibv_get_async_event(b.context, &event), -1);
	need_equal(errno, EAGAIN);
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	need_equal(rc_to_init(&b), 0);
	need_equal(rc_receive(&b, 1, 0, 100), 0);
	need_equal(rc_to_rtr(&b, &to_a), 0);
	rc_connect(&a, &to_b);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	need(fd_is_readable(b.context->async_fd, 2000));
	need_equal(ibv_get_async_event(b.context, &event), 0);
	need_equal(event.event_type, IBV_EVENT_COMM_EST);
	need(event.element.qp == b.qp);
	ibv_ack_async_event(&event);
	need(!fd_is_readable(b.context->async_fd, 0));
	need_equal(rc_to_rts(&b), 0);

	/* SQ_DRAINED only when asked for. */
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	need_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	need(fd_is_readable(b.context->async_fd, 2000));
	need_equal(ibv_get_async_event(b.context, &event), 0);
	need_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	/* Posts wait in SQD, and go on in RTS. */
	need_equal(rc_receive(&a, 7, 0, 100), 0);
	need_equal(rc_post(&b, 8, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 50, NULL, 0), 0);
	cq_expect_none(b.send_cq, 10);
	attr.qp_state = IBV_QPS_RTS;
	need_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	cq_expect(b.send_cq, 8, IBV_WC_SUCCESS, IBV_WC_SEND);
	cq_expect(a.recv_cq, 7, IBV_WC_SUCCESS, IBV_WC_RECV);
	need(!fd_is_readable(a.context->async_fd, 0));
	rc_pair_close(&a, &b);
}

/* A queue with work under way drains when that is answered, not before; until then there is no way but to error. */
static void draining(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct rc a, b;

	rc_pair(&a, &b, &(struct rc_options){ .rnr_retry = 7 }, NULL);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	/* It is under way once the other side has refused it for lack of a receive: nothing else can happen to it. */
	cq_expect_none(a.send_cq, 20);
	need_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	cq_expect_none(a.send_cq, 20);
	need(!fd_is_readable(a.context->async_fd, 0));
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_SQD);
	need_equal(attr.sq_draining, 1);
	attr.qp_state = IBV_QPS_RTS;
	need_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	need_equal(rc_receive(&b, 10, 0, 100), 0);
	need_equal(rc_receive(&b, 11, 0, 100), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
	need(fd_is_readable(a.context->async_fd, 5000));
	need_equal(ibv_get_async_event(a.context, &event), 0);
	need_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	need(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	cq_expect_none(a.send_cq, 20); /* the second is held */
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.sq_draining, 0);
	attr.qp_state = IBV_QPS_RTS;
	need_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_SEND);
	need(!fd_is_readable(a.context->async_fd, 0));
	/* Not asked for: no event. What is held is flushed by an error. */
	attr.qp_state = IBV_QPS_SQD;
	need_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	need_equal(rc_post(&a, 3, IBV_WR_SEND, 0, 0, 100, NULL, 0), 0);
	cq_expect_none(a.send_cq, 5);
	need_equal(rc_to_error(&a), 0);
	cq_expect(a.send_cq, 3, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	need(!fd_is_readable(a.context->async_fd, 0));
	rc_pair_close(&a, &b);
}

/* --- arming against arrival --- */

enum { RACES = 2000 };
static struct rc racer;
static _Atomic uint64_t raced;

/* Arms, looks once more, sleeps: whatever arrives in between is either found or wakes. */
static void *race_receiver(void *solicited_only)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	while (raced < RACES) {
		int n = ibv_poll_cq(racer.recv_cq, 1, &wc);

		if (n == 0) {
			need_equal(ibv_req_notify_cq(racer.recv_cq, solicited_only != NULL), 0);
			n = ibv_poll_cq(racer.recv_cq, 1, &wc);
		}
		need(n >= 0);
		if (n == 0) {
			/* The case is killed when this never ends. */
			need_equal(ibv_get_cq_event(racer.channel, &cq, &context), 0);
			ibv_ack_cq_events(cq, 1);
			continue;
		}
		need_equal(wc.status, IBV_WC_SUCCESS);
		need_equal(wc.wr_id, raced);
		need_equal(rc_receive(&racer, wc.wr_id + 64, 0, 100), 0);
		raced++;
	}
	return NULL;
}

static void races_run(bool solicited)
{
	struct rc a;
	pthread_t thread;

	raced = 0;
	rc_pair(&a, &racer, NULL, &(struct rc_options){ .channel = true });
	for (uint64_t i = 0; i < 64; i++)
		need_equal(rc_receive(&racer, i, 0, 100), 0);
	need_equal(pthread_create(&thread, NULL, race_receiver, solicited ? &a : NULL), 0);
	for (uint64_t i = 0; i < RACES; i++) {
		need_equal(rc_post(&a, i, IBV_WR_SEND, IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0), 0, 10, NULL, 0), 0);
		cq_expect(a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_SEND);
		/* From back to back to far enough apart that the other side sleeps. */
		for (unsigned spin = 0; spin < i % 64 * 50; spin++)
			atomic_signal_fence(memory_order_seq_cst);
	}
	pthread_join(thread, NULL);
	need_equal(raced, RACES);
	rc_pair_close(&a, &racer);
}

static void arming_races(void)
{
	races_run(false);
	races_run(true);
}

/* --- limits of an SRQ --- */

static struct ibv_srq_attr srq_ask(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	need_equal(ibv_query_srq(srq, &attr), 0);
	return attr;
}

/* Armed when there are fewer already: at the next that is taken. One event per arming. */
static void srq_limits(void)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1, .srq_limit = 5 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_async_event event;
	struct rc a, b;

	need(srq != NULL && srq_ask(srq).srq_limit == 0); /* creation arms nothing */
	rc_pair(&a, &b, &(struct rc_options){ .context = context, .pd = pd },
		&(struct rc_options){ .context = context, .pd = pd, .srq = srq });
	for (uint64_t i = 0; i < 4; i++) {
		struct ibv_sge sge = { (uintptr_t)b.buf, 100, b.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		need_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
	for (uint64_t i = 0; i < 4; i++) {
		bool armed = i % 2 == 0;

		if (armed)
			need_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
		need_equal(rc_post(&a, i, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0), 0);
		cq_expect(b.recv_cq, i, IBV_WC_SUCCESS, IBV_WC_RECV);
		cq_expect(a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_SEND);
		need(fd_is_readable(context->async_fd, 0) == armed);
		need_equal(srq_ask(srq).srq_limit, 0);
		if (!armed)
			continue;
		need_equal(ibv_get_async_event(context, &event), 0);
		need_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		need(event.element.srq == srq);
		ibv_ack_async_event(&event);
	}
	attr.srq_limit = 17;
	need_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	rc_pair_close(&a, &b);
	need_equal(ibv_destroy_srq(srq), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_close_device(context), 0);
}

/* --- completion queues --- */

static void overrun(void)
{
	struct rc a, b;
	struct ibv_async_event event;
	bool cq_err = false, qp_fatal = false;

	rc_pair(&a, &b, &(struct rc_options){ .cqe = 4, .send_wr = 64 }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	for (int i = 0; i < a.send_cq->cqe + 1; i++)
		need_equal(rc_post(&a, (uint64_t)i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 10, &to_b, 0), 0);
	while (!cq_err || !qp_fatal) {
		need(fd_is_readable(a.context->async_fd, 5000));
		need_equal(ibv_get_async_event(a.context, &event), 0);
		if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == a.send_cq)
			cq_err = true;
		else if (event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == a.qp)
			qp_fatal = true;
		else
			harness_fail(__FILE__, __LINE__, "%s", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
	struct ibv_wc wc[8];
	need_equal(ibv_poll_cq(a.send_cq, 8, wc), a.send_cq->cqe);
	need(ibv_poll_cq(a.send_cq, 8, wc) < 0);
	rc_pair_close(&a, &b);
}

static void resize(void)
{
	struct rc a, b;

	rc_pair(&a, &b, &(struct rc_options){ .cqe = 16, .send_wr = 64 }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	for (uint64_t i = 0; i < 10; i++)
		need_equal(rc_post(&a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 10, &to_b, 0), 0);
	cq_expect(a.send_cq, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	/* All ten are there when the last is; polling one by one does not tell, so a second QP's worth of patience. */
	struct timespec moment = { 0, 30000000 };
	nanosleep(&moment, NULL);
	need_equal(ibv_resize_cq(a.send_cq, 4), EINVAL);
	need_equal(ibv_resize_cq(a.send_cq, 200), 0);
	need(a.send_cq->cqe >= 200);
	for (uint64_t i = 1; i < 10; i++)
		cq_expect(a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need_equal(ibv_resize_cq(a.send_cq, 2), 0);
	rc_pair_close(&a, &b);
}

static void extended(void)
{
	struct rc a, b;
	struct ibv_cq_init_attr_ex attr = { .cqe = 32, .wc_flags = IBV_WC_STANDARD_FLAGS, .cq_context = &a };
	struct ibv_poll_cq_attr poll = { 0 };

	rc_open(&a, NULL);
	attr.wc_flags |= IBV_WC_EX_WITH_FLOW_TAG;
	need_errno(ibv_create_cq_ex(a.context, &attr), EOPNOTSUPP);
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	attr.comp_mask = 1u << 15;
	need_errno(ibv_create_cq_ex(a.context, &attr), EINVAL);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1u << 15;
	need_errno(ibv_create_cq_ex(a.context, &attr), EOPNOTSUPP);
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	attr.cqe = 0;
	need_errno(ibv_create_cq_ex(a.context, &attr), EINVAL);
	attr.cqe = 32;
	attr.flags = 0;
	struct ibv_cq_ex *ex = ibv_create_cq_ex(a.context, &attr);
	need(ex != NULL && ex->cqe >= 32 && ex->cq_context == &a && ex->context == a.context);
	need_equal(ibv_destroy_qp(a.qp), 0);
	struct ibv_qp_init_attr init = { .send_cq = a.send_cq, .recv_cq = ibv_cq_ex_to_cq(ex), .qp_type = IBV_QPT_RC,
					 .cap = { 8, 8, 1, 1, 0 } };
	a.qp = ibv_create_qp(a.pd, &init);
	need(a.qp != NULL);
	rc_open(&b, &(struct rc_options){ .context = a.context });
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	rc_connect(&a, &to_b);
	rc_connect(&b, &to_a);
	poll.comp_mask = 1;
	need_equal(ibv_start_poll(ex, &poll), EINVAL);
	poll.comp_mask = 0;
	need_equal(ibv_start_poll(ex, &poll), ENOENT);
	for (uint64_t i = 0; i < 3; i++)
		need_equal(rc_receive(&a, 100 + i, 0, 64), 0);
	need_equal(rc_post(&b, 0x01020304, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, 0, 33, NULL, 0), 0);
	need_equal(rc_post(&b, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 44, NULL, 0), 0);
	need_equal(rc_post(&b, 3, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 65, NULL, 0), 0); /* too long */
	cq_wait(b.send_cq);
	cq_wait(b.send_cq);
	cq_expect(b.send_cq, 3, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SEND);
	need_equal(ibv_start_poll(ex, &poll), 0);
	need_equal(ex->wr_id, 100);
	need_equal(ex->status, IBV_WC_SUCCESS);
	need_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	need_equal(ibv_wc_read_byte_len(ex), 33);
	need_equal(ibv_wc_read_wc_flags(ex) & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	const unsigned char wire[4] = { 1, 2, 3, 4 };
	__be32 imm = ibv_wc_read_imm_data(ex);
	need(memcmp(&imm, wire, 4) == 0);
	need_equal(ibv_wc_read_qp_num(ex), a.qp->qp_num);
	need_equal(ibv_wc_read_slid(ex), 0);
	need_equal(ibv_wc_read_sl(ex), 0);
	need_equal(ibv_wc_read_dlid_path_bits(ex), 0);
	need_equal(ibv_next_poll(ex), 0);
	need_equal(ex->wr_id, 101);
	need_equal(ibv_wc_read_byte_len(ex), 44);
	ibv_end_poll(ex);
	/* The plain poll works on it, too. */
	cq_expect(ibv_cq_ex_to_cq(ex), 102, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV);
	need_equal(ibv_start_poll(ex, &poll), ENOENT);
	need_equal(ibv_destroy_qp(a.qp), 0);
	need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	attr.wc_flags = 0;
	attr.comp_mask = 0;
	ex = ibv_create_cq_ex(a.context, &attr);
	need(ex != NULL && ex->read_byte_len == NULL && ex->read_opcode != NULL && ex->read_completion_ts == NULL);
	need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	init.recv_cq = a.recv_cq;
	a.qp = ibv_create_qp(a.pd, &init);
	need(a.qp != NULL);
	rc_pair_close(&a, &b);
}

/* --- threads --- */

enum { POSTERS = 2, POLLERS = 2, EACH = 3000 };
static struct rc shared_a, shared_b;
static struct rc_address shared_to_b;
static _Atomic unsigned polled, received, seen[POSTERS];
static _Atomic bool ready_to_end;

static void *poster(void *argument)
{
	uint64_t who = (uintptr_t)argument;

	for (uint64_t i = 0; i < EACH; i++) {
		int err;

		while ((err = rc_post(&shared_a, who << 32 | i, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED,
				who * 4096, 700,
				      i % 2 ? NULL : &shared_to_b, who * 4096)) == ENOMEM)
			sched_yield();
		need_equal(err, 0);
	}
	return NULL;
}

static void *poller(void *argument)
{
	struct ibv_wc wc[8];

	while (polled < POSTERS * EACH) {
		int n = ibv_poll_cq(shared_a.send_cq, 8, wc);

		need(n >= 0);
		for (int i = 0; i < n; i++) {
			need_equal(wc[i].status, IBV_WC_SUCCESS);
			seen[wc[i].wr_id >> 32]++;
			polled++;
		}
	}
	return NULL;
}

static void *receiver(void *argument)
{
	struct ibv_wc wc[8];

	while (received < POSTERS * EACH / 2) {
		int n = ibv_poll_cq(shared_b.recv_cq, 8, wc);

		need(n >= 0);
		for (int i = 0; i < n; i++) {
			need_equal(wc[i].status, IBV_WC_SUCCESS);
			received++;
			need_equal(rc_receive(&shared_b, 1, 16384, 1024), 0);
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[POSTERS + POLLERS + 2];
	int count = 0;

	rc_pair(&shared_a, &shared_b, NULL, NULL);
	shared_to_b = rc_address_of(&shared_b);
	for (int i = 0; i < 64; i++)
		need_equal(rc_receive(&shared_b, 1, 16384, 1024), 0);
	for (uintptr_t i = 0; i < POSTERS; i++)
		need_equal(pthread_create(&thread[count++], NULL, poster, (void *)i), 0);
	for (int i = 0; i < POLLERS; i++)
		need_equal(pthread_create(&thread[count++], NULL, poller, NULL), 0);
	for (int i = 0; i < 2; i++)
		need_equal(pthread_create(&thread[count++], NULL, receiver, NULL), 0);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	need_equal(polled, POSTERS * EACH);
	need_equal(seen[0], EACH);
	need_equal(seen[1], EACH);
	cq_expect_none(shared_a.send_cq, 5);
	rc_pair_close(&shared_a, &shared_b);
}

/* Objects come and go in one thread while another carries data. */
static void *churn(void *argument)
{
	while (!ready_to_end) {
		struct rc a, b;

		rc_pair(&a, &b, &(struct rc_options){ .context = shared_a.context, .channel = true },
			&(struct rc_options){ .context = shared_a.context });
		need_equal(rc_receive(&b, 1, 0, 100), 0);
		need_equal(ibv_req_notify_cq(a.send_cq, 0), 0);
		need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
		struct ibv_cq *cq;
		void *context;
		need_equal(ibv_get_cq_event(a.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		rc_pair_close(&a, &b);
	}
	return NULL;
}

static void churning(void)
{
	pthread_t thread[2];

	rc_pair(&shared_a, &shared_b, NULL, NULL);
	shared_to_b = rc_address_of(&shared_b);
	for (int i = 0; i < 2; i++)
		need_equal(pthread_create(&thread[i], NULL, churn, NULL), 0);
	for (uint64_t i = 0; i < 3000; i++) {
		need_equal(rc_post(&shared_a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 3000, &shared_to_b, 0), 0);
		cq_expect(shared_a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	ready_to_end = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	rc_pair_close(&shared_a, &shared_b);
}

static const struct harness_case cases[] = {
	{ "channel_events", "arming, solicited, blocking and not, descriptors readable exactly while events wait",
			channel_events },
	{ "destroy_waits", "ibv_destroy_cq waits for acknowledgements", destroy_waits },
	{ "async_events", "COMM_EST and SQ_DRAINED, to the context that owns the object", async_events },
	{ "draining", "SQD with work under way: SQ_DRAINED when it is answered, no way back before, posts held", draining },
	{ "arming_races", "a thread that arms, looks and sleeps misses nothing", arming_races },
	{ "srq_limits", "one event for each arming, below the limit or not", srq_limits },
	{ "overrun", "one completion too many: CQ_ERR, QP_FATAL", overrun },
	{ "resize", "entries survive a resize, and it refuses to lose them", resize },
	{ "extended", "start_poll, next_poll, end_poll and the readers", extended },
	{ "threads", "two threads post to a QP, two poll its CQ, two serve the other side", threads },
	{ "churning", "objects come and go while others carry data", churning },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
