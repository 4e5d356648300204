/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A host of the simulator: memory regions behind keys, a send queue, a receive queue. Written apart from dma and hca on
 * purpose, so that a mistake there cannot hide one in the transport. Single-threaded; aborts when memory runs out.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/memory.h"
#include "transport/queue.h"

enum { SIM_SGE_MAX = 6, SIM_INLINE_MAX = 96, SIM_REGIONS = 12, SIM_SRQS = 5 };

struct sim_region {
	uint32_t key;
	uint32_t access;
	uint64_t base; /* the address that programs know; has nothing to do with `bytes` */
	uint64_t length;
	uint8_t *bytes;
	uint8_t *flushed; /* what FLUSH found in `bytes`; NULL without the right to it */
	uint32_t srqn;    /* XRC: only requests for this SRQ may come near; 0: all */
	bool revoked;
	bool invalidatable;
	bool immortal; /* being invalidated is only counted */
	uint32_t invalidated;
};

struct sim_recv {
	struct transport_recv recv; /* srqn: of which SRQ; 0 without XRC */
	struct transport_sge sge[SIM_SGE_MAX];
};

struct sim_host {
	struct sim_region regions[SIM_REGIONS];
	uint32_t num_regions;
	struct transport_sq sq;
	struct sim_recv *recvs; /* all that are ever posted, in order */
	uint32_t recvs_max, recvs_posted, recvs_taken;
	uint32_t recvs_next[SIM_SRQS]; /* per SRQ: the receives before it are taken, or others' */
	uint32_t srqs, selected; /* XRC: numbers 1..srqs exist */
	uint64_t placed_calls;
};

void sim_host_init(struct sim_host *host, uint32_t sq_depth, uint32_t recvs_max);
void sim_host_fini(struct sim_host *host);
struct sim_region *sim_host_region(struct sim_host *host, uint64_t base, uint64_t length, uint32_t access, uint32_t key);
/* The bytes of an address under a key, NULL when they are not all there. */
uint8_t *sim_host_bytes(struct sim_host *host, uint32_t key, uint64_t addr, uint64_t length);
/* False when the queue is full. wqe's sge (or inline bytes) come separately. */
bool sim_host_post_send(struct sim_host *host, const struct transport_wqe *wqe, const void *tail, uint32_t tail_bytes);
void sim_host_post_recv(struct sim_host *host, uint64_t wr_id, const struct transport_sge *sge, uint32_t num_sge);
void sim_host_post_srq_recv(struct sim_host *host, uint32_t srqn, uint64_t wr_id, const struct transport_sge *sge, uint32_t num_sge);
/* Takes what is left, as a host does when its QP went to error. 1 or 0. */
int sim_host_flush_recv(struct sim_host *host, uint64_t *wr_id);

extern const struct transport_memory_ops sim_host_memory_ops;
extern const struct transport_recv_ops sim_host_recv_ops;

#endif
