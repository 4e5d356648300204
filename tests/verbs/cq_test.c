/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues: resizing under load, overrun, moderated events, the extended interface with all its readers and stamps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

/* --- resizing --- */

struct load {
	struct rc a, b;
	struct rc_address to_b;
	_Atomic uint64_t posted, polled;
	_Atomic bool stop;
	uint64_t count;
};

/* Posts as fast as slots come free, signalled all. */
static void *producer(void *arg)
{
	struct load *load = arg;

	for (uint64_t id = 0; id < load->count; id++) {
		int err;

		while ((err = rc_post(&load->a, id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &load->to_b, 0)) == ENOMEM)
			sched_yield();
		need_equal(err, 0);
	}
	return NULL;
}

static void *poller(void *arg)
{
	struct load *load = arg;
	struct ibv_wc wc[4];
	uint64_t next = 0;

	while (next < load->count) {
		int n = ibv_poll_cq(load->a.send_cq, 4, wc);

		need(n >= 0);
		for (int i = 0; i < n; i++) {
			need_equal(wc[i].status, IBV_WC_SUCCESS);
			need_equal(wc[i].wr_id, next);
			next++;
		}
	}
	atomic_store(&load->stop, true);
	return NULL;
}

static void resize_under_load(void)
{
	static const int sizes[] = { 64, 1000, 65, 5000, 128 };
	struct load load = { .count = harness_is_long() ? 200000 : 5000 };
	pthread_t threads[2];
	unsigned i = 0;

	/* Never below what the send queue can have outstanding: nothing overruns. */
	rc_pair(&load.a, &load.b, &(struct rc_options){ .send_wr = 64, .cqe = 64 }, NULL);
	load.to_b = rc_address_of(&load.b);
	need_equal(pthread_create(&threads[0], NULL, producer, &load), 0);
	need_equal(pthread_create(&threads[1], NULL, poller, &load), 0);
	for (; !atomic_load(&load.stop); i++) {
		int size = sizes[i % 5];

		need_equal(ibv_resize_cq(load.a.send_cq, size), 0);
		need(load.a.send_cq->cqe >= size);
	}
	need(i > 0);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	cq_expect_none(load.a.send_cq, 1);
	rc_pair_close(&load.a, &load.b);
}

/* `n` signalled writes of a to b, all completed, none polled. */
static void complete_writes(struct rc *a, struct rc *b, uint64_t first, unsigned n)
{
	const struct rc_address to_b = rc_address_of(b);
	struct ibv_wc wc;

	for (unsigned i = 0; i < n; i++)
		need_equal(rc_post(a, first + i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &to_b, 0), 0);
	/* One that tells: its receive completes after the writes, and its own ACK tells of them. */
	need_equal(rc_receive(b, 0, 0, 8), 0);
	need_equal(rc_post(a, 0, IBV_WR_SEND, 0, 0, 8, NULL, 0), 0);
	wc = cq_wait(b->recv_cq);
	need_equal(wc.status, IBV_WC_SUCCESS);
}

static struct ibv_async_event async_wait(struct ibv_context *context)
{
	struct ibv_async_event event;

	need(fd_is_readable(context->async_fd, 5000));
	need_equal(ibv_get_async_event(context, &event), 0);
	return event;
}

/* Until everything that was posted is acknowledged. */
static void drain(struct rc *rc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	need_equal(ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	struct ibv_async_event event = async_wait(rc->context);
	need_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	attr.qp_state = IBV_QPS_RTS;
	need_equal(ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE), 0);
}

static void resize_keeps(void)
{
	struct rc a, b;
	struct ibv_device_attr device;

	rc_pair(&a, &b, &(struct rc_options){ .cqe = 16 }, NULL);
	need_equal(ibv_query_device(a.context, &device), 0);
	complete_writes(&a, &b, 100, 10);
	drain(&a);
	cq_expect(a.send_cq, 100, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need_equal(ibv_resize_cq(a.send_cq, 8), EINVAL);
	need(a.send_cq->cqe >= 8);
	need_equal(ibv_resize_cq(a.send_cq, 0), EINVAL);
	need_equal(ibv_resize_cq(a.send_cq, -1), EINVAL);
	need_equal(ibv_resize_cq(a.send_cq, device.max_cqe + 1), EINVAL);
	need_equal(ibv_resize_cq(a.send_cq, 9), 0);
	need_equal(ibv_resize_cq(a.send_cq, 4000), 0);
	for (uint64_t id = 101; id < 110; id++)
		cq_expect(a.send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	cq_expect_none(a.send_cq, 1);
	rc_pair_close(&a, &b);
}

/* --- overrun --- */

/* A QP more on the CQs of `rc`. */
static void second_qp(struct rc *second, const struct rc *first, struct rc *peer)
{
	*second = *first;
	struct ibv_qp_init_attr init = { .send_cq = first->send_cq, .recv_cq = first->recv_cq, .qp_type = IBV_QPT_RC,
					 .cap = { 64, 64, 4, 4, 0 } };

	need((second->qp = ibv_create_qp(first->pd, &init)) != NULL);
	rc_open(peer, &(struct rc_options){ .context = first->context });
	const struct rc_address to_second = rc_address_of(second), to_peer = rc_address_of(peer);
	rc_connect(second, &to_peer);
	rc_connect(peer, &to_second);
}

static void overrun(void)
{
	struct rc a, b, c, d;
	struct ibv_wc wc;
	unsigned fatal_a = 0, fatal_c = 0, cq_err = 0;

	rc_pair(&a, &b, &(struct rc_options){ .cqe = 4 }, NULL);
	second_qp(&c, &a, &d);
	const struct rc_address to_b = rc_address_of(&b), to_d = rc_address_of(&d);
	int room = a.send_cq->cqe;
	for (int i = 0; i <= room; i++)
		need_equal(rc_post(&a, (uint64_t)i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &to_b, 0), 0);
	/* The queue is told, and the QP that met the overrun; the other one when it has something to report. */
	while (fatal_a == 0 || cq_err == 0) {
		struct ibv_async_event event = async_wait(a.context);

		if (event.event_type == IBV_EVENT_CQ_ERR) {
			need(event.element.cq == a.send_cq);
			cq_err++;
		} else {
			need_equal(event.event_type, IBV_EVENT_QP_FATAL);
			need(event.element.qp == a.qp);
			fatal_a++;
		}
		ibv_ack_async_event(&event);
	}
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_ERR);
	need_equal(ibv_query_qp(c.qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.qp_state, IBV_QPS_RTS);
	/* What fitted is there, then an error and nothing more, however much room there is. */
	for (int i = 0; i < room; i++) {
		need_equal(ibv_poll_cq(a.send_cq, 1, &wc), 1);
		need_equal(wc.wr_id, i);
	}
	need(ibv_poll_cq(a.send_cq, 1, &wc) < 0);
	need_equal(rc_post(&c, 0, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &to_d, 0), 0);
	while (fatal_c == 0) {
		struct ibv_async_event event = async_wait(a.context);

		need_equal(event.event_type, IBV_EVENT_QP_FATAL);
		need(event.element.qp == c.qp);
		fatal_c++;
		ibv_ack_async_event(&event);
	}
	need(ibv_poll_cq(a.send_cq, 1, &wc) < 0);
	need(fatal_a == 1 && cq_err == 1);
	need_equal(ibv_destroy_qp(c.qp), 0);
	rc_close(&d);
	rc_pair_close(&a, &b);
}

static void overrun_ignored(void)
{
	struct rc a, b;
	struct ibv_wc wc;

	rc_pair(&a, &b, NULL, NULL);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					       .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	struct ibv_cq_ex *small = ibv_create_cq_ex(a.context, &cq_attr);
	need(small != NULL);
	need_equal(ibv_destroy_qp(a.qp), 0);
	struct ibv_qp_init_attr init = { .send_cq = ibv_cq_ex_to_cq(small), .recv_cq = a.recv_cq, .qp_type = IBV_QPT_RC,
					 .cap = { 64, 64, 4, 4, 0 } };
	need((a.qp = ibv_create_qp(a.pd, &init)) != NULL);
	need_equal(rc_to_reset(&b), 0);
	const struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);
	rc_connect(&a, &to_b);
	rc_connect(&b, &to_a);
	complete_writes(&a, &b, 0, 20);
	/* The last four are there sooner or later: until the youngest has come, the oldest may be another one. */
	uint64_t last = 0;
	for (uint64_t end = harness_now_ms() + 5000; last != 19;) {
		if (ibv_poll_cq(ibv_cq_ex_to_cq(small), 1, &wc) == 1) {
			need(wc.status == IBV_WC_SUCCESS && (last == 0 || wc.wr_id > last));
			last = wc.wr_id;
		}
		need(harness_now_ms() < end);
	}
	need(!fd_is_readable(a.context->async_fd, 0));
	/* The slots of what was overwritten are free; that of the unsignalled SEND behind them is not. */
	for (uint64_t id = 0; id < 63; id++)
		need_equal(rc_post(&a, id, IBV_WR_RDMA_WRITE, 0, 0, 8, &to_b, 0), 0);
	need_equal(rc_post(&a, 63, IBV_WR_RDMA_WRITE, 0, 0, 8, &to_b, 0), ENOMEM);
	need_equal(ibv_destroy_qp(a.qp), 0);
	need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(small)), 0);
	init.send_cq = a.send_cq;
	need((a.qp = ibv_create_qp(a.pd, &init)) != NULL);
	rc_pair_close(&a, &b);
}

/* --- moderation --- */

static void write_one(struct rc *a, const struct rc_address *to_b, uint64_t id)
{
	need_equal(rc_post(a, id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, to_b, 0), 0);
	cq_expect(a->send_cq, id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void moderation(void)
{
	struct rc a, b;
	struct ibv_cq *cq;
	void *context;
	struct ibv_device_attr_ex device;

	rc_pair(&a, &b, &(struct rc_options){ .channel = true }, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(ibv_query_device_ex(a.context, NULL, &device), 0);
	need(device.cq_mod_caps.max_cq_count >= 8 && device.cq_mod_caps.max_cq_period >= 60000);
	need_equal(ibv_modify_cq(a.send_cq, &(struct ibv_modify_cq_attr){ .attr_mask = 2 }), EINVAL);
	need_equal(ibv_modify_cq(a.send_cq, &(struct ibv_modify_cq_attr){ .attr_mask = 0 }), 0);
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 8, 60000 } };
	need_equal(ibv_modify_cq(a.send_cq, &attr), 0);

	/* Eight make an event, seven do not until their time is over. */
	for (int round = 0; round < 3; round++) {
		need_equal(ibv_req_notify_cq(a.send_cq, 0), 0);
		uint64_t start = now_ns();
		for (uint64_t id = 0; id < 7; id++)
			write_one(&a, &to_b, id);
		bool early = fd_is_readable(a.channel->fd, 0);
		/* Unless this machine stood still for so long. */
		need(!early || now_ns() - start >= 60000000u);
		write_one(&a, &to_b, 7);
		need(fd_is_readable(a.channel->fd, 1000));
		need_equal(ibv_get_cq_event(a.channel, &cq, &context), 0);
		need(cq == a.send_cq && context == &a);
		ibv_ack_cq_events(cq, 1);
		need(early || now_ns() - start < 1000000000u);
	}
	/* Alone it comes after the period, without anybody polling, and not before. */
	attr.moderate.cq_period = 50000;
	need_equal(ibv_modify_cq(a.send_cq, &attr), 0);
	need_equal(ibv_req_notify_cq(a.send_cq, 0), 0);
	uint64_t start = now_ns();
	need_equal(rc_post(&a, 9, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8, &to_b, 0), 0);
	need(fd_is_readable(a.channel->fd, 5000));
	uint64_t took = now_ns() - start;
	need(took >= 50000000u);
	need_equal(ibv_get_cq_event(a.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	cq_expect(a.send_cq, 9, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(!fd_is_readable(a.channel->fd, 60));
	/* Off again. */
	attr.moderate = (struct ibv_moderate_cq){ 0, 0 };
	need_equal(ibv_modify_cq(a.send_cq, &attr), 0);
	need_equal(ibv_req_notify_cq(a.send_cq, 0), 0);
	write_one(&a, &to_b, 10);
	need(fd_is_readable(a.channel->fd, 1000));
	need_equal(ibv_get_cq_event(a.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	rc_pair_close(&a, &b);
}

/* --- the extended interface --- */

static void ex_flags(void)
{
	struct ibv_context *context = rc_device_open();
	static const uint64_t unsupported[] = { IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO, 1ull << 12,
						1ull << 63 };

	for (unsigned i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++) {
		struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | unsupported[i] };

		need_errno(ibv_create_cq_ex(context, &attr), EOPNOTSUPP);
	}
	/* The inline refuses masks it does not know itself; the flags are the device's to refuse. */
	need_errno(ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 4, .comp_mask = 4 }), EINVAL);
	need_errno(ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
									    .flags = 1u << 9 }), EOPNOTSUPP);
	need_errno(ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 0 }), EINVAL);
	need_errno(ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 0xffffffff }), EINVAL);
	need_errno(ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_vector = 1u << 31 }), EINVAL);
	/* Readers that were not asked for are not there; the three of every queue are. */
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &(struct ibv_cq_init_attr_ex){ .cqe = 4 });
	need(cq != NULL && cq->read_opcode != NULL && cq->read_vendor_err != NULL && cq->read_wc_flags != NULL);
	need(cq->read_byte_len == NULL && cq->read_imm_data == NULL && cq->read_qp_num == NULL && cq->read_src_qp == NULL &&
	     cq->read_slid == NULL && cq->read_sl == NULL && cq->read_dlid_path_bits == NULL && cq->read_completion_ts == NULL &&
	     cq->read_completion_wallclock_ns == NULL);
	struct ibv_poll_cq_attr poll = { 0 };
	need_equal(ibv_start_poll(cq, &poll), ENOENT);
	need_equal(ibv_start_poll(cq, &poll), ENOENT); /* no end_poll in between: none is due */
	poll.comp_mask = 1;
	need_equal(ibv_start_poll(cq, &poll), EINVAL);
	need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	need_equal(ibv_close_device(context), 0);
}

/* As rc_pair(), with extended queues for everything of both sides. */
struct ex_pair {
	struct rc a, b;
	struct ibv_cq_ex *cq_a, *cq_b;
};

static struct ibv_cq_ex *replace(struct rc *rc, uint64_t wc_flags, uint32_t flags, enum ibv_qp_type type)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1024, .wc_flags = wc_flags, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = flags };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(rc->context, &attr);

	need(cq != NULL);
	struct ibv_qp_init_attr init = { .send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = ibv_cq_ex_to_cq(cq), .qp_type = type,
					 .cap = { 64, 64, 4, 4, 0 } };
	need_equal(ibv_destroy_qp(rc->qp), 0);
	need((rc->qp = ibv_create_qp(rc->pd, &init)) != NULL);
	return cq;
}

static void ex_open(struct ex_pair *p, uint64_t wc_flags, uint32_t flags)
{
	rc_open(&p->a, NULL);
	rc_open(&p->b, &(struct rc_options){ .context = p->a.context });
	p->cq_a = replace(&p->a, wc_flags, flags, IBV_QPT_RC);
	p->cq_b = replace(&p->b, wc_flags, flags, IBV_QPT_RC);
	const struct rc_address to_a = rc_address_of(&p->a), to_b = rc_address_of(&p->b);
	rc_connect(&p->a, &to_b);
	rc_connect(&p->b, &to_a);
}

static void ex_close(struct ex_pair *p)
{
	struct rc *ends[] = { &p->b, &p->a };

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = { .send_cq = ends[i]->send_cq, .recv_cq = ends[i]->recv_cq, .qp_type = IBV_QPT_RC,
						 .cap = { 1, 1, 1, 1, 0 } };

		need_equal(ibv_destroy_qp(ends[i]->qp), 0);
		need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(i == 0 ? p->cq_b : p->cq_a)), 0);
		need((ends[i]->qp = ibv_create_qp(ends[i]->pd, &init)) != NULL);
		rc_close(ends[i]);
	}
}

/* Until there is one: start_poll has succeeded. */
static void ex_start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	for (uint64_t end = harness_now_ms() + 10000;;) {
		int err = ibv_start_poll(cq, &attr);

		if (err == 0)
			return;
		need_equal(err, ENOENT);
		need(harness_now_ms() < end);
	}
}

static uint64_t raw_clock(struct ibv_context *context)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	need_equal(ibv_query_rt_values_ex(context, &values), 0);
	need_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u + (uint64_t)values.raw_clock.tv_nsec;
}

static uint64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void ex_readers(void)
{
	const uint64_t all = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct ex_pair p;
	struct ibv_wc wc;

	ex_open(&p, all, 0);
	const struct rc_address to_b = rc_address_of(&p.b);
	uint64_t raw_before = raw_clock(p.a.context), wall_before = wall_clock();

	need_equal(rc_receive(&p.b, 70, 0, 512), 0);
	need_equal(rc_receive(&p.b, 71, 0, 512), 0);
	need_equal(rc_receive(&p.b, 72, 0, 512), 0);
	need_equal(rc_post(&p.a, 0x12345, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, 0, 300, NULL, 0), 0);
	need_equal(rc_post(&p.a, 2, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, 0, 200, &to_b, 0), 0);
	need_equal(rc_post(&p.a, 3, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 0, 100, &to_b, 0), 0);

	ex_start(p.cq_b);
	need_equal(p.cq_b->wr_id, 70);
	need_equal(p.cq_b->status, IBV_WC_SUCCESS);
	need_equal(ibv_wc_read_opcode(p.cq_b), IBV_WC_RECV);
	need_equal(ibv_wc_read_vendor_err(p.cq_b), 0);
	need_equal(ibv_wc_read_byte_len(p.cq_b), 300);
	need_equal(ibv_wc_read_imm_data(p.cq_b), htonl(0x12345));
	need_equal(ibv_wc_read_qp_num(p.cq_b), p.b.qp->qp_num);
	need_equal(ibv_wc_read_wc_flags(p.cq_b), IBV_WC_WITH_IMM);
	need_equal(ibv_wc_read_slid(p.cq_b), 0);
	need_equal(ibv_wc_read_sl(p.cq_b), 0);
	need_equal(ibv_wc_read_dlid_path_bits(p.cq_b), 0);
	uint64_t first_raw = ibv_wc_read_completion_ts(p.cq_b), first_wall = ibv_wc_read_completion_wallclock_ns(p.cq_b);
	int err;
	for (uint64_t end = harness_now_ms() + 5000; (err = ibv_next_poll(p.cq_b)) == ENOENT;)
		need(harness_now_ms() < end); /* ENOENT is no end: it may be asked again */
	need_equal(err, 0);
	need_equal(p.cq_b->wr_id, 71);
	need_equal(ibv_wc_read_opcode(p.cq_b), IBV_WC_RECV_RDMA_WITH_IMM);
	need_equal(ibv_wc_read_byte_len(p.cq_b), 200);
	need_equal(ibv_wc_read_imm_data(p.cq_b), htonl(2));
	need(ibv_wc_read_completion_ts(p.cq_b) >= first_raw && ibv_wc_read_completion_wallclock_ns(p.cq_b) >= first_wall);
	need_equal(ibv_next_poll(p.cq_b), ENOENT);
	ibv_end_poll(p.cq_b);
	need(first_raw >= raw_before && first_raw <= raw_clock(p.a.context));
	need(first_wall >= wall_before && first_wall <= wall_clock());

	/* Both interfaces on one queue; an entry that was started is not there for the other. */
	ex_start(p.cq_a);
	need_equal(p.cq_a->wr_id, 0x12345);
	need_equal(ibv_wc_read_opcode(p.cq_a), IBV_WC_SEND);
	wc = cq_wait(ibv_cq_ex_to_cq(p.cq_a));
	need_equal(wc.wr_id, 2);
	ibv_end_poll(p.cq_a);
	ex_start(p.cq_a);
	need_equal(p.cq_a->wr_id, 3);
	need_equal(ibv_wc_read_opcode(p.cq_a), IBV_WC_RDMA_READ);
	need_equal(ibv_wc_read_byte_len(p.cq_a), 100);
	ibv_end_poll(p.cq_a);

	/* The key that a message took away. */
	struct ibv_mr *mr = ibv_reg_mr(p.b.pd, p.b.buf, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr != NULL);
	struct ibv_sge sge = { (uintptr_t)p.a.buf, 4, p.a.mr->lkey };
	struct ibv_send_wr inv = { .wr_id = 4, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV,
				   .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = mr->rkey }, *bad;
	need_equal(ibv_post_send(p.a.qp, &inv, &bad), 0);
	ex_start(p.cq_b);
	if (p.cq_b->status == IBV_WC_SUCCESS) {
		need_equal(ibv_wc_read_wc_flags(p.cq_b), IBV_WC_WITH_INV);
		need_equal(ibv_wc_read_invalidated_rkey(p.cq_b), mr->rkey);
	}
	ibv_end_poll(p.cq_b);
	need_equal(ibv_dereg_mr(mr), 0);
	/* A failure: status, the id, the number and the vendor's code are valid. */
	need_equal(rc_to_error(&p.a), 0);
	need_equal(rc_receive(&p.a, 80, 0, 16), 0);
	do {
		ex_start(p.cq_a);
		err = (int)p.cq_a->wr_id;
		if (err == 80) {
			need_equal(p.cq_a->status, IBV_WC_WR_FLUSH_ERR);
			need_equal(ibv_wc_read_qp_num(p.cq_a), p.a.qp->qp_num);
		}
		ibv_end_poll(p.cq_a);
	} while (err != 80);
	ex_close(&p);
}

/* Several threads share a queue: each completion is read whole, by one. */
struct crowd {
	struct ibv_cq_ex *cq;
	_Atomic unsigned seen, *times;
	unsigned count;
};

static void *crowd_poll(void *arg)
{
	struct crowd *crowd = arg;
	struct ibv_poll_cq_attr attr = { 0 };

	while (atomic_load(&crowd->seen) < crowd->count) {
		int err = ibv_start_poll(crowd->cq, &attr), more = 0;

		need(err == 0 || err == ENOENT);
		if (err != 0)
			continue;
		do {
			uint64_t id = crowd->cq->wr_id;

			sched_yield();
			/* Still the same entry, whoever else polls. */
			need_equal(crowd->cq->wr_id, id);
			need_equal(ibv_wc_read_imm_data(crowd->cq), htonl((uint32_t)id));
			need(id < crowd->count);
			atomic_fetch_add(&crowd->times[id], 1);
			atomic_fetch_add(&crowd->seen, 1);
		} while (++more < 3 && ibv_next_poll(crowd->cq) == 0);
		ibv_end_poll(crowd->cq);
	}
	return NULL;
}

static void ex_threads(void)
{
	enum { COUNT = 600, THREADS = 3 };
	static _Atomic unsigned times[COUNT];
	struct ex_pair p;
	pthread_t threads[THREADS];

	ex_open(&p, IBV_WC_STANDARD_FLAGS, 0);
	struct crowd crowd = { .cq = p.cq_b, .times = times, .count = COUNT };
	for (int i = 0; i < THREADS; i++)
		need_equal(pthread_create(&threads[i], NULL, crowd_poll, &crowd), 0);
	struct ibv_poll_cq_attr attr = { 0 };
	for (uint64_t id = 0; id < COUNT;) {
		/* The receive's id and the message's number are the same: they are posted in one order. */
		if (rc_receive(&p.b, id, 0, 8) != 0)
			continue;
		while (rc_post(&p.a, id, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, 0, 8, NULL, 0) == ENOMEM)
			if (ibv_start_poll(p.cq_a, &attr) == 0)
				ibv_end_poll(p.cq_a);
		id++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < COUNT; i++)
		need_equal(times[i], 1);
	ex_close(&p);
}

static void ex_single_threaded(void)
{
	struct ex_pair p;
	struct ibv_poll_cq_attr attr = { 0 };

	ex_open(&p, IBV_WC_EX_WITH_BYTE_LEN, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	need_equal(rc_receive(&p.b, 1, 0, 64), 0);
	need_equal(rc_post(&p.a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 33, NULL, 0), 0);
	ex_start(p.cq_b);
	need_equal(ibv_wc_read_byte_len(p.cq_b), 33);
	/* Without a lock a second start does not hang; the promise is the program's to keep, so this is only for the test. */
	need_equal(ibv_start_poll(p.cq_b, &attr), ENOENT);
	ibv_end_poll(p.cq_b);
	ex_close(&p);
}

/* What a datagram's receiver learns. */
static void ex_datagram(void)
{
	struct rc a, b;

	rc_open(&a, NULL);
	rc_open(&b, &(struct rc_options){ .context = a.context });
	struct ibv_cq_ex *cq_a = replace(&a, IBV_WC_STANDARD_FLAGS, 0, IBV_QPT_UD);
	struct ibv_cq_ex *cq_b = replace(&b, IBV_WC_STANDARD_FLAGS, 0, IBV_QPT_UD);
	struct rc *ends[] = { &a, &b };
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234 };

		need_equal(ibv_modify_qp(ends[i]->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
		attr.qp_state = IBV_QPS_RTR;
		need_equal(ibv_modify_qp(ends[i]->qp, &attr, IBV_QP_STATE), 0);
		attr.qp_state = IBV_QPS_RTS;
		need_equal(ibv_modify_qp(ends[i]->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	}
	struct ibv_ah_attr ah_attr = { .is_global = 1, .port_num = 1,
				       .grh = { .dgid = b.gid, .sgid_index = (uint8_t)a.gid_index, .hop_limit = 1 } };
	struct ibv_ah *ah = ibv_create_ah(a.pd, &ah_attr);
	need(ah != NULL);
	need_equal(rc_receive(&b, 5, 0, 256), 0);
	struct ibv_sge sge = { (uintptr_t)a.buf, 60, a.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 6, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(77),
				  .send_flags = IBV_SEND_SIGNALED, .wr.ud = { ah, b.qp->qp_num, 0x1234 } }, *bad;
	need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	ex_start(cq_b);
	need_equal(cq_b->wr_id, 5);
	need_equal(ibv_wc_read_byte_len(cq_b), 100);
	need_equal(ibv_wc_read_src_qp(cq_b), a.qp->qp_num);
	need_equal(ibv_wc_read_wc_flags(cq_b), IBV_WC_GRH | IBV_WC_WITH_IMM);
	need_equal(ibv_wc_read_imm_data(cq_b), htonl(77));
	ibv_end_poll(cq_b);
	need_equal(ibv_destroy_ah(ah), 0);
	struct ex_pair p = { a, b, cq_a, cq_b };
	ex_close(&p);
}

static void clocks(void)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_device_attr_ex device;

	need_equal(ibv_query_device_ex(context, NULL, &device), 0);
	need_equal(device.completion_timestamp_mask, UINT64_MAX);
	need(device.hca_core_clock > 0);
	/* The clock runs at the rate that the device tells: in kHz. */
	uint64_t raw = raw_clock(context), ns = now_ns();
	do
		sched_yield();
	while (now_ns() - ns < 20000000);
	uint64_t ticks = raw_clock(context) - raw, passed = now_ns() - ns;
	double rate = (double)ticks / (double)passed * 1e6;
	need(rate > 0.5 * (double)device.hca_core_clock && rate < 1.5 * (double)device.hca_core_clock);
	struct ibv_values_ex values = { .comp_mask = 1u << 7 };
	need_equal(ibv_query_rt_values_ex(context, &values), 0);
	need_equal(values.comp_mask, 0);
	need_equal(ibv_close_device(context), 0);
}

static const struct harness_case cases[] = {
	{ "resize_under_load", "resized while a thread posts and another polls: nothing lost, order kept", resize_under_load },
	{ "resize_keeps", "too small is refused, what waits stays in order", resize_keeps },
	{ "overrun", "the queue is in error for good, and so is each QP that reports to it", overrun },
	{ "overrun_ignored", "without an error the youngest completions are there", overrun_ignored },
	{ "moderation", "count and period decide when the channel's event comes", moderation },
	{ "ex_flags", "errno of creating extended queues, readers by flags, ENOENT", ex_flags },
	{ "ex_readers", "every reader, stamps by real clocks, both interfaces on one queue", ex_readers },
	{ "ex_threads", "threads share an extended queue", ex_threads },
	{ "ex_single_threaded", "a queue without a poll lock", ex_single_threaded },
	{ "ex_datagram", "what the receiver of a datagram reads", ex_datagram },
	{ "clocks", "the adapter's clock runs at the rate it tells", clocks },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
