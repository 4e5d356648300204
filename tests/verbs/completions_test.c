/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * No completion is lost and none comes twice. Pairs of queue pairs share one completion queue that two threads poll, while they
 * are posted to, put in error, reset, destroyed and made anew, and the queue is resized. Each wr_id is used once:
 *
 *   it completes exactly once, in the order of its queue, whatever becomes of its QP,
 *   unless that QP is reset or destroyed first: then it has completed once or not at all when the call returns, and
 *   nothing is heard of it afterwards.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 2, ENDS = 2 * PAIRS, DEPTH = 16, POLLERS = 2, IDS = 1 << 20, CQE_MIN = ENDS * 2 * DEPTH, CQE_MAX = 2048 };
enum { SEND_QUEUE, RECEIVE_QUEUE, QUEUES };

struct end {
	struct rc rc;
	uint64_t posted[QUEUES][DEPTH]; /* ids that may still complete, oldest first */
	unsigned count[QUEUES];
	uint64_t last_heard[QUEUES];
};

static struct end ends[ENDS];
static struct ibv_cq *cq;
static uint8_t heard[IDS];      /* completions of each id; under the lock */
static uint64_t heard_at[IDS];  /* the how-manieth of all it was */
static uint64_t heard_in_all;
static uint64_t next_id = 1;
static _Atomic bool ended;
static uint32_t seed;
/* A poller polls and notes under it, so that whoever has it knows all that was polled. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void poll_some(void)
{
	struct ibv_wc wc[7];

	pthread_mutex_lock(&lock);
	int n = ibv_poll_cq(cq, 7, wc);
	need(n >= 0);
	for (int i = 0; i < n; i++) {
		need(wc[i].wr_id != 0 && wc[i].wr_id < next_id);
		if (heard[wc[i].wr_id]++ != 0)
			harness_fail(__FILE__, __LINE__, "%llu completed twice (%s)", (unsigned long long)wc[i].wr_id,
				     ibv_wc_status_str(wc[i].status));
		heard_at[wc[i].wr_id] = ++heard_in_all;
	}
	pthread_mutex_unlock(&lock);
}

static void *poller(void *unused)
{
	while (!ended) {
		poll_some();
		sched_yield();
	}
	return NULL;
}

static void settle_queue(struct end *end, int queue)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < end->count[queue]; i++) {
		uint64_t id = end->posted[queue][i];

		if (!heard[id]) {
			end->posted[queue][kept++] = id;
			continue;
		}
		if (kept != 0 || heard_at[id] < end->last_heard[queue])
			harness_fail(__FILE__, __LINE__, "%llu did not complete in the order of its queue", (unsigned long long)id);
		end->last_heard[queue] = heard_at[id];
	}
	end->count[queue] = kept;
}

static void settle(struct end *end)
{
	pthread_mutex_lock(&lock);
	for (int queue = 0; queue < QUEUES; queue++)
		settle_queue(end, queue);
	pthread_mutex_unlock(&lock);
}

static void post(struct end *end, const struct rc_address *remote)
{
	for (uint32_t n = any(6); n > 0; n--) {
		int queue = any(2) ? SEND_QUEUE : RECEIVE_QUEUE;

		settle(end);
		if (end->count[queue] == DEPTH)
			continue;
		pthread_mutex_lock(&lock);
		uint64_t id = next_id++;
		pthread_mutex_unlock(&lock);
		need(id < IDS);
		int err;
		if (queue == RECEIVE_QUEUE)
			err = rc_receive(&end->rc, id, 0, 4096);
		else if (any(2))
			err = rc_post(&end->rc, id, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, any(4000), NULL, 0);
		else
			err = rc_post(&end->rc, id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 8192, any(9000), remote, 8192);
		/* A slot is free when its completion was polled; the poller may still be about to note it. */
		need_equal(err, 0);
		end->posted[queue][end->count[queue]++] = id;
	}
}

/* Everything that was posted to it completes. */
static void await_all(struct end *end)
{
	uint64_t until = harness_now_ms() + 20000;

	for (;;) {
		settle(end);
		if (end->count[SEND_QUEUE] + end->count[RECEIVE_QUEUE] == 0)
			return;
		if (harness_now_ms() > until)
			harness_fail(__FILE__, __LINE__, "%u sends and %u receives never completed, the first %llu; seed %u",
				     end->count[SEND_QUEUE], end->count[RECEIVE_QUEUE],
				     (unsigned long long)end->posted[end->count[SEND_QUEUE] ? SEND_QUEUE : RECEIVE_QUEUE][0], seed);
		poll_some();
	}
}

/* Its QP was reset or destroyed: what has not been heard of now is never heard of. */
static void forget(struct end *end)
{
	settle(end);
	pthread_mutex_lock(&lock);
	for (int queue = 0; queue < QUEUES; queue++) {
		/* The next one to complete would be its second: poll_some() fails. */
		for (unsigned i = 0; i < end->count[queue]; i++)
			heard[end->posted[queue][i]]++;
		end->count[queue] = 0;
	}
	pthread_mutex_unlock(&lock);
}

static void qp_create(struct end *end)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = end->rc.o.type,
					 .cap = { DEPTH, DEPTH, 1, 1, 0 } };

	need((end->rc.qp = ibv_create_qp(end->rc.pd, &init)) != NULL);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	need_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void connect_pair(struct end *pair)
{
	const struct rc_address to[2] = { rc_address_of(&pair[0].rc), rc_address_of(&pair[1].rc) };

	/*
	 * A packet of the pair's last life may still be on its way, with PSNs that come again, and put an end in error before it is
	 * ready to send.
	 */
	for (int i = 0, tries = 0; i < 2; i++) {
		struct rc *rc = &pair[i].rc;

		need_equal(rc_to_init(rc), 0);
		need_equal(rc_to_rtr(rc, &to[1 - i]), 0);
		if (rc_to_rts(rc) == 0)
			continue;
		need_equal(state_of(rc->qp), IBV_QPS_ERR);
		need(++tries < 20);
		need_equal(rc_to_reset(&pair[0].rc), 0);
		need_equal(rc_to_reset(&pair[1].rc), 0);
		i = -1;
	}
}

/* One end comes to its end in one of three ways, then the other; both begin anew. */
static void renew(struct end *pair)
{
	uint32_t first = any(2);

	for (uint32_t i = 0; i < 2; i++) {
		struct end *end = &pair[i ^ first];

		switch (any(4)) {
		case 0:
			need_equal(rc_to_error(&end->rc), 0);
			post(end, &(struct rc_address){ 0 });
			await_all(end);
			break;
		case 1:
			need_equal(rc_to_error(&end->rc), 0);
			break; /* the reset comes amid the flush */
		case 2:
			need_equal(ibv_destroy_qp(end->rc.qp), 0);
			forget(end);
			qp_create(end);
			break;
		case 3:
			need_equal(rc_to_reset(&end->rc), 0);
			forget(end);
			break;
		}
	}
	for (int i = 0; i < 2; i++) {
		need_equal(rc_to_reset(&pair[i].rc), 0);
		forget(&pair[i]);
	}
	connect_pair(pair);
}

static void resize(void)
{
	int cqe = CQE_MIN + (int)any(CQE_MAX - CQE_MIN);

	/* Never fewer than there can be, so it must succeed. */
	need_equal(ibv_resize_cq(cq, cqe), 0);
	need(cq->cqe >= cqe);
}

static void storm(enum ibv_qp_type type)
{
	uint64_t until = harness_now_ms() + (harness_is_long() ? 20000 : 1000);
	struct ibv_context *context = rc_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	pthread_t threads[POLLERS];
	unsigned renewals = 0;

	seed = (uint32_t)until;
	fprintf(stderr, "    seed %u\n", seed);
	need(pd != NULL && (cq = ibv_create_cq(context, CQE_MIN, NULL, NULL, 0)) != NULL);
	for (int i = 0; i < ENDS; i++)
		rc_open(&ends[i].rc, &(struct rc_options){ .context = context, .pd = pd, .cq = cq, .type = type, .send_wr = DEPTH,
				.recv_wr = DEPTH, .sge = 1, .timeout = 8, .retry = 2, .rnr_retry = 2 });
	for (int i = 0; i < PAIRS; i++)
		connect_pair(&ends[2 * i]);
	for (int i = 0; i < POLLERS; i++)
		need_equal(pthread_create(&threads[i], NULL, poller, NULL), 0);
	while ((harness_now_ms() < until || renewals == 0) && next_id < IDS - 100) {
		uint32_t which = any(ENDS);
		const struct rc_address remote = rc_address_of(&ends[which ^ 1].rc);

		if (any(20) == 0) {
			renew(&ends[which & ~1u]);
			renewals++;
		} else if (any(20) == 0) {
			resize();
		} else {
			post(&ends[which], &remote);
		}
	}
	/* In error everything comes back. */
	for (int i = 0; i < ENDS; i++)
		need_equal(rc_to_error(&ends[i].rc), 0);
	for (int i = 0; i < ENDS; i++)
		await_all(&ends[i]);
	ended = true;
	for (int i = 0; i < POLLERS; i++)
		pthread_join(threads[i], NULL);
	cq_expect_none(cq, 5);
	need(renewals > 0);
	for (int i = 0; i < ENDS; i++)
		rc_close(&ends[i].rc);
	need_equal(ibv_destroy_cq(cq), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_close_device(context), 0);
}

static void rc_storm(void)
{
	storm(IBV_QPT_RC);
}

static void uc_storm(void)
{
	storm(IBV_QPT_UC);
}

static const struct harness_case cases[] = {
	{ "rc_storm", "RC: each work request completes exactly once, over errors, resets, destruction, resizing", rc_storm },
	{ "uc_storm", "UC: the same", uc_storm },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
