/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An engine for tests: one mutex as the progress lock, flows wired back to back by QPN through a buffer, a clock that the test
 * moves. Read by the x_test.c files of hca alone. A world is a device with an engine, its table, its export, one context
 * and one PD.
 */
#ifndef HCA_FAKE_ENGINE_H
#define HCA_FAKE_ENGINE_H

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hca/channel.h"
#include "hca/cq.h"
#include "hca/device.h"
#include "hca/mr.h"
#include "hca/pd.h"
#include "hca/qp.h"
#include "hca/srq.h"

enum { FAKE_FLOWS = 8, FAKE_ROOM = 16384, FAKE_SLOT = 5, FAKE_EPOCH = 1000000 };

struct fake_engine {
	pthread_mutex_t lock;
	struct node_flow *flows[FAKE_FLOWS];
	struct node_flow *groups; /* of one device */
	uint64_t now;
	uint32_t next_index;
	bool cut;             /* the cable: runs are lost */
	bool publish_paused;  /* receive, next and tick go on, completions wait */
	bool stopped;         /* nothing moves */
	bool may_wait;        /* receivers may keep a run waiting: then nothing else moves either */
	bool kept;
	struct link_rx kept_rx;
	uint64_t kept_until;
	uint8_t kept_payload[16384];
	unsigned polls, wakeups_expected, packets;
	uint8_t buf[FAKE_ROOM];
};

struct fake_world {
	struct fake_engine engine;
	struct export_writer *export;
	struct dma_table *memory;
	struct hca_device *device;
	struct hca_context *context;
	struct hca_pd *pd;
	int resolve_error;
};

static inline struct node_flow *fake_find(struct fake_engine *e, uint32_t qpn)
{
	for (int i = 0; i < FAKE_FLOWS; i++)
		if (e->flows[i] != NULL && e->flows[i]->qpn == qpn)
			return e->flows[i];
	return NULL;
}

/* A run that has to wait is kept, with its payload. True: it has arrived, or is lost. */
static inline bool fake_offer(struct fake_engine *e, const struct link_rx *rx)
{
	struct node_flow *to = fake_find(e, rx->run.head.bth.dest_qpn);
	uint64_t until = to == NULL || e->cut ? 0 : to->ops->receive(to, e->now, rx, e->may_wait);

	if (until != 0 && !e->kept) {
		e->kept_rx = *rx;
		memcpy(e->kept_payload, rx->run.head.payload, rx->run.head.payload_len);
		e->kept_rx.run.head.payload = e->kept_payload;
	}
	e->kept = until != 0;
	e->kept_until = until;
	return until == 0;
}

static inline void fake_deliver(struct fake_engine *e, struct node_flow *from, const struct link_path *path,
				const struct transport_run *run)
{
	struct link_rx rx = {
		.run = *run, .kind = path->kind, .gid_type = path->gid_type, .sgid = path->sgid, .dgid = path->dgid,
		.ifindex = path->dest_ifindex, .hop_limit = 64, .source_slot = (uint8_t)(from->qpn >> 16),
	};

	e->packets += run->packets;
	fake_offer(e, &rx);
}

/* Until nothing moves any more. Lock held. */
static inline void fake_run(struct fake_engine *e)
{
	bool moved = true;

	if (e->stopped)
		return;
	while (moved) {
		moved = false;
		e->now += 1000;
		if (e->kept)
			moved = fake_offer(e, &e->kept_rx);
		for (int i = 0; i < FAKE_FLOWS && !e->kept; i++) {
			struct node_flow *flow = e->flows[i];
			struct transport_run run;
			size_t used;

			if (flow == NULL)
				continue;
			if (flow->ops->deadline(flow) <= e->now)
				flow->ops->tick(flow, e->now, 0);
			for (int n = 0; n < 16 && !e->kept && flow->ops->wants_room(flow, e->now); n++) {
				const struct link_path *path = &flow->path;
				struct transport_room room = { .buf = e->buf, .bytes = FAKE_ROOM, .packets = 64 };

				if (flow->ops->next_path != NULL)
					path = flow->ops->next_path(flow, e->now);
				if (path == NULL)
					break;
				memset(&run, 0, sizeof(run));
				if (flow->ops->next(flow, e->now, &room, &run, &used) == 0)
					break;
				fake_deliver(e, flow, path, &run);
				moved = true;
			}
		}
		for (int i = 0; !e->publish_paused && i < FAKE_FLOWS; i++)
			if (e->flows[i] != NULL)
				e->flows[i]->ops->publish(e->flows[i]);
	}
}

static inline void fake_lock(void *engine)
{
	pthread_mutex_lock(&((struct fake_engine *)engine)->lock);
}

static inline void fake_unlock(void *engine)
{
	fake_run(engine);
	pthread_mutex_unlock(&((struct fake_engine *)engine)->lock);
}

static inline void fake_kick(void *engine, struct node_flow *flow)
{
	fake_lock(engine);
	fake_unlock(engine);
}

static inline void fake_schedule(void *engine, struct node_flow *flow)
{
}

static inline bool fake_poll(void *engine)
{
	struct fake_engine *e = engine;

	if (pthread_mutex_trylock(&e->lock) != 0)
		return true;
	e->polls++;
	fake_unlock(e);
	return false;
}

static inline int fake_flow_add(void *engine, struct node_flow *flow)
{
	struct fake_engine *e = engine;
	int err = BASE_ERR_NOMEM;

	fake_lock(e);
	for (int i = 0; i < FAKE_FLOWS && err != 0; i++)
		if (e->flows[i] == NULL) {
			e->flows[i] = flow;
			flow->qpn = FAKE_SLOT << 16 | ++e->next_index;
			err = 0;
		}
	pthread_mutex_unlock(&e->lock);
	return err;
}

static inline void fake_flow_remove(void *engine, struct node_flow *flow, bool linger)
{
	struct fake_engine *e = engine;

	fake_lock(e);
	for (int i = 0; i < FAKE_FLOWS; i++)
		if (e->flows[i] == flow)
			e->flows[i] = NULL;
	fake_unlock(e);
}

static inline void fake_flow_path(void *engine, struct node_flow *flow, const struct link_path *path)
{
	flow->path = *path;
}

static inline int fake_timer_add(void *engine, struct node_flow *timer)
{
	struct fake_engine *e = engine;
	int err = BASE_ERR_NOMEM;

	fake_lock(e);
	for (int i = 0; i < FAKE_FLOWS && err != 0; i++)
		if (e->flows[i] == NULL) {
			e->flows[i] = timer;
			err = 0;
		}
	pthread_mutex_unlock(&e->lock);
	return err;
}

static inline void fake_timer_remove(void *engine, struct node_flow *timer)
{
	fake_flow_remove(engine, timer, false);
}

static inline void fake_timer_changed(void *engine, struct node_flow *timer)
{
}

static inline void fake_group_add(void *engine, struct node_flow *groups)
{
	((struct fake_engine *)engine)->groups = groups;
}

static inline void fake_group_remove(void *engine, struct node_flow *groups)
{
	((struct fake_engine *)engine)->groups = NULL;
}

static inline void fake_clock(void *engine, struct hca_stamp *out)
{
	uint64_t now = ((struct fake_engine *)engine)->now;

	*out = (struct hca_stamp){ now, now + FAKE_EPOCH };
}

static inline void fake_expect_wakeups(void *engine)
{
	__atomic_fetch_add(&((struct fake_engine *)engine)->wakeups_expected, 1, __ATOMIC_RELAXED);
}

static const struct hca_engine_ops fake_engine_ops = {
	.kick = fake_kick, .schedule = fake_schedule, .lock = fake_lock, .unlock = fake_unlock, .poll = fake_poll,
	.flow_add = fake_flow_add, .flow_remove = fake_flow_remove, .flow_path = fake_flow_path,
	.timer_add = fake_timer_add, .timer_remove = fake_timer_remove, .timer_changed = fake_timer_changed, .clock = fake_clock,
	.expect_wakeups = fake_expect_wakeups, .group_add = fake_group_add, .group_remove = fake_group_remove,
};

static inline int fake_resolve(void *context, const struct hca_ah_attr *ah, uint32_t dest_qpn, struct link_path *out)
{
	struct fake_world *w = context;

	/* Never with the progress lock: it could not be had here then. */
	assert(pthread_mutex_trylock(&w->engine.lock) == 0);
	pthread_mutex_unlock(&w->engine.lock);
	*out = (struct link_path){ .kind = LINK_SHM, .gid_type = WIRE_GID_ROCE_V2, .sgid = ah->dgid, .dgid = ah->dgid, .ifindex = 1,
				   .dest_ifindex = 1 };
	return w->resolve_error;
}

static const struct hca_device_ops fake_device_ops = { .resolve_path = fake_resolve };

static inline struct fake_world *fake_world_create(void)
{
	struct fake_world *w = calloc(1, sizeof(*w));
	struct hca_device_config config = { .name = "sv_fake", .active_mtu = 3, .port_active = true };

	pthread_mutex_init(&w->engine.lock, NULL);
	w->engine.now = 1000000000;
	if (export_writer_create(FAKE_SLOT, &w->export) != 0)
		abort();
	w->memory = dma_table_create((struct dma_entry *)export_writer_mrs(w->export), EXPORT_MRS);
	config.engine = (struct hca_engine){ &fake_engine_ops, &w->engine };
	config.ops = &fake_device_ops;
	config.ops_context = w;
	config.memory = w->memory;
	config.export = w->export;
	hca_identity_default(&config.identity);
	if (hca_device_create(&config, &w->device) != 0 || hca_context_open(w->device, w, &w->context) != 0 ||
	    hca_pd_alloc(w->context, NULL, &w->pd) != 0)
		abort();
	return w;
}

static inline void fake_world_destroy(struct fake_world *w)
{
	int err = hca_pd_dealloc(w->pd);

	err |= hca_context_close(w->context);
	err |= hca_device_destroy(w->device);
	if (err != 0)
		abort();
	dma_table_destroy(w->memory);
	export_writer_destroy(w->export);
	pthread_mutex_destroy(&w->engine.lock);
	free(w);
}

static inline struct hca_cq *fake_cq(struct fake_world *w, uint32_t cqe, struct hca_channel *channel)
{
	struct hca_cq_attr attr = { .cqe = cqe, .channel = channel };
	struct hca_cq *cq;

	if (hca_cq_create(w->context, &attr, &cq) != 0)
		abort();
	return cq;
}

static inline struct hca_qp *fake_qp_typed(struct fake_world *w, enum hca_qp_type type, struct hca_cq *send, struct hca_cq *recv,
					   struct hca_srq *srq, bool sig_all)
{
	struct hca_qp_init init = {
		.type = type, .send_cq = send, .recv_cq = recv, .srq = srq, .sq_sig_all = sig_all,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline = 64 },
	};
	struct hca_qp *qp;

	if (hca_qp_create(w->pd, &init, &qp) != 0)
		abort();
	init.user = qp;
	return qp;
}

static inline struct hca_qp *fake_qp(struct fake_world *w, struct hca_cq *send, struct hca_cq *recv, struct hca_srq *srq,
		bool sig_all)
{
	return fake_qp_typed(w, HCA_QPT_RC, send, recv, srq, sig_all);
}

enum {
	FAKE_INIT_MASK = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
	FAKE_RTR_MASK = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_DEST_RD_ATOMIC |
			HCA_QP_MIN_RNR_TIMER,
	FAKE_RTS_MASK = HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN |
			HCA_QP_MAX_QP_RD_ATOMIC,
};

static inline struct hca_qp_attr fake_attr(uint32_t dest_qpn)
{
	struct hca_qp_attr attr = {
		.port_num = 1, .access = 0xf, .path_mtu = 3, .dest_qpn = dest_qpn, .rq_psn = 0xfffffe, .sq_psn = 0xfffffe,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1, .min_rnr_timer = 1, .timeout = 14, .retry_cnt = 2, .rnr_retry = 2,
		.ah = { .is_global = true, .port_num = 1 },
	};

	attr.ah.dgid.raw[15] = 1;
	return attr;
}

static inline int fake_connect(struct hca_qp *qp, uint32_t dest_qpn)
{
	struct hca_qp_attr attr = fake_attr(dest_qpn);
	int err;

	attr.state = HCA_QPS_INIT;
	err = hca_qp_modify(qp, &attr, FAKE_INIT_MASK);
	attr.state = HCA_QPS_RTR;
	if (err == 0)
		err = hca_qp_modify(qp, &attr, FAKE_RTR_MASK);
	attr.state = HCA_QPS_RTS;
	if (err == 0)
		err = hca_qp_modify(qp, &attr, FAKE_RTS_MASK);
	return err;
}

static inline int fake_state(struct hca_qp *qp, enum hca_qp_state state)
{
	struct hca_qp_attr attr = { .state = state };

	return hca_qp_modify(qp, &attr, HCA_QP_STATE);
}

static inline int fake_send(struct hca_qp *qp, const struct hca_send_wr *wr)
{
	hca_qp_post_begin(qp);
	int err = hca_qp_post_send(qp, wr);
	hca_qp_post_end(qp, true);
	return err;
}

#endif
