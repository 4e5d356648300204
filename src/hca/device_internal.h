/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inside of devices and contexts, and the sources of asynchronous events. Read by hca/ alone. */
#ifndef HCA_DEVICE_INTERNAL_H
#define HCA_DEVICE_INTERNAL_H

#include <pthread.h>

#include "hca/async.h"
#include "hca/device.h"
#include "hca/mcast_internal.h"

/* Port counters of the adapter, in the order of hca_port_counter_names. */
enum hca_port_counter {
	HCA_PORT_SENT_PACKETS,
	HCA_PORT_SENT_BYTES,
	HCA_PORT_RECEIVED_PACKETS,
	HCA_PORT_RECEIVED_BYTES,
	HCA_PORT_TOOK_RUNS,
	HCA_PORT_DUPLICATE,
	HCA_PORT_OUT_OF_ORDER,
	HCA_PORT_RNR,
	HCA_PORT_NAKED,
	HCA_PORT_DROP_STATE,
	HCA_PORT_DROP_OPCODE,
	HCA_PORT_DROP_PSN,
	HCA_PORT_DROP_PKEY,    /* what ibv_port_attr calls bad_pkey_cntr */
	HCA_PORT_DROP_QKEY,    /* qkey_viol_cntr */
	HCA_PORT_DROP_NO_RECV, /* UC, UD: nothing was posted for it */
	HCA_PORT_DROP_GAP,     /* UC: belongs to a message of which a packet was lost */
	HCA_PORT_DROP_LENGTH,  /* UC, UD: longer than its receive, or than the MTU */
	HCA_PORT_DROP_ACCESS,  /* UC: may not be written there */
	HCA_PORT_RECV_FAILED,  /* UC, UD: the memory of its receive was bad */
	HCA_PORT_DROP_ADDRESS, /* from somebody who is not the QP's peer */
	HCA_PORT_CQ_OVERRUN,
	HCA_PORT_COUNTERS
};

/* What can have events: a QP, CQ, SRQ, or the context itself. Guarded by the context's async_lock. */
struct hca_async_source {
	struct hca_context *context;
	void *user;
	struct hca_async_source *next, *prev;
	uint32_t pending; /* bits of enum hca_async_type */
	uint32_t taken, acked;
	int port;
	bool counted; /* events need an acknowledgement */
};

struct hca_device {
	struct hca_device_config config;
	uint32_t port_group;
	uint32_t qp_group; /* only the names count: the values are in the entries of the QPs */
	_Atomic uint64_t *counters; /* enum hca_port_counter; progress lock */
	_Atomic uint64_t dm_used; /* bytes of device memory */
	_Atomic int active_mtu;
	_Atomic uint32_t speed;
	_Atomic bool active;
	_Atomic bool lost; /* set once, before the walk over `qps` */
	struct hca_qp *qps; /* progress lock */
	pthread_mutex_t lock; /* of the list of contexts; before any async_lock */
	struct hca_context *contexts;
	struct hca_xrc_domain *xrc_domains; /* lock */
	struct hca_mcast mcast; /* progress lock */
};

struct hca_context {
	struct hca_device *device;
	void *user;
	struct hca_context *next;
	_Atomic uint32_t objects; /* PDs, CQs, channels */
	int async_fd;
	pthread_mutex_t async_lock; /* a leaf: nothing is taken under it */
	pthread_cond_t async_acked;
	struct hca_async_source *first, *last; /* sources with something pending */
	struct hca_async_source self;
};

void hca_async_source_init(struct hca_async_source *source, struct hca_context *context, void *user);
/* Any lock may be held. */
void hca_async_raise(struct hca_async_source *source, enum hca_async_type type);
/* Forgets what is pending and waits until what was taken is acknowledged. No lock held. */
void hca_async_source_fini(struct hca_async_source *source);

static inline const struct hca_engine *hca_context_engine(const struct hca_context *context)
{
	return &context->device->config.engine;
}

static inline void hca_count(struct hca_device *device, enum hca_port_counter counter, uint64_t n)
{
	export_counter_add(&device->counters[counter], n);
}

#endif
