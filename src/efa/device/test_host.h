/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A host for tests: the barest driver there is, that does what it is told, rightly or wrongly, and shares no code with the real
 * one. One host is one function of an adapter on a fabric.
 */
#ifndef EFA_DEVICE_TEST_HOST_H
#define EFA_DEVICE_TEST_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "efa/abi/command.h"
#include "efa/abi/cqe.h"
#include "efa/abi/event.h"
#include "efa/abi/feature.h"
#include "efa/abi/regs.h"
#include "efa/bus/local.h"
#include "efa/device/fake_fabric.h"

enum { HOST_MEMORY = 1 << 20, HOST_QKEY = 0x11111111 };

struct host {
	struct efa_bus_local bus;
	struct efa_bus_function function;
	struct efa_device *device;
	uint8_t *memory;            /* page aligned, all of it mapped both ways */
	uint64_t base;              /* its bus address */
	uint32_t used;              /* by host_alloc() */
	uint8_t *aq, *acq, *aenq;
	uint16_t aq_count, acq_count, aenq_count, next_id;
	volatile uint8_t *answer;
	uint16_t read_seq;
};

static inline void *host_alloc(struct host *h, uint32_t bytes)
{
	void *p = h->memory + h->used;

	h->used += (bytes + 4095) & ~4095u;
	assert_true(h->used <= HOST_MEMORY);
	return p;
}

static inline uint64_t host_bus(const struct host *h, const void *p)
{
	return h->base + (uint64_t)((const uint8_t *)p - h->memory);
}

static inline void host_store(struct host *h, uint32_t reg, uint32_t value)
{
	h->function.ops->store(h->function.context, EFA_BAR_REGS, reg, value);
}

static inline void host_store64(struct host *h, uint32_t low, uint32_t high, uint64_t value)
{
	host_store(h, high, (uint32_t)(value >> 32));
	host_store(h, low, (uint32_t)value);
}

/* Readless: ask, then look. EFA_MMIO_BAD: no answer, or of another register. */
static inline uint32_t host_load(struct host *h, uint16_t reg)
{
	uint8_t bytes[EFA_MMIO_ANSWER_BYTES];

	h->read_seq++;
	memset((void *)h->answer, 0xee, EFA_MMIO_ANSWER_BYTES);
	host_store(h, EFA_REG_MMIO_REG_READ, efa_abi_reg_read_pack(h->read_seq, reg));
	memcpy(bytes, (const void *)h->answer, sizeof(bytes));
	if ((bytes[0] | bytes[1] << 8) != h->read_seq || (bytes[2] | bytes[3] << 8) != reg)
		return EFA_MMIO_BAD;
	return bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
}

/* Admin rings of the usual sizes, interrupts on. */
static inline void host_start(struct host *h)
{
	h->aq_count = h->acq_count = h->aenq_count = h->next_id = 0;
	memset(h->aq, 0, 4096);
	memset(h->acq, 0, 4096);
	memset(h->aenq, 0, 4096);
	host_store(h, EFA_REG_INTR_MASK, 1);
	host_store64(h, EFA_REG_AQ_BASE_LO, EFA_REG_AQ_BASE_HI, host_bus(h, h->aq));
	host_store(h, EFA_REG_AQ_CAPS, 0x00400020);
	host_store64(h, EFA_REG_ACQ_BASE_LO, EFA_REG_ACQ_BASE_HI, host_bus(h, h->acq));
	host_store(h, EFA_REG_ACQ_CAPS, 0x00400020);
	host_store64(h, EFA_REG_AENQ_BASE_LO, EFA_REG_AENQ_BASE_HI, host_bus(h, h->aenq));
	host_store(h, EFA_REG_AENQ_CAPS, 0x00400010);
	host_store(h, EFA_REG_AENQ_CONS_DB, 0);
	host_store(h, EFA_REG_INTR_MASK, 0);
}

static inline void host_set_answer(struct host *h)
{
	host_store64(h, EFA_REG_MMIO_RESP_LO, EFA_REG_MMIO_RESP_HI, host_bus(h, (void *)h->answer));
}

/* number: the last byte of its GID. */
static inline struct host *host_create(struct fabric *f, const struct efa_device_profile *profile, uint8_t number)
{
	struct host *h = calloc(1, sizeof(*h));
	struct efa_device_config config = { .profile = profile, .gid = { 0xfe, 0x80 }, .seed = number };

	efa_bus_local_init(&h->bus);
	config.host = efa_bus_local_host(&h->bus);
	config.engine = fabric_engine(f);
	config.gid[15] = number;
	assert_int_equal(efa_device_create(&config, &h->device), 0);
	fabric_attach(config.engine, h->device);
	efa_bus_local_attach(&h->bus, efa_device_bus(h->device));
	h->function = efa_bus_local_function(&h->bus);
	h->memory = aligned_alloc(4096, HOST_MEMORY);
	memset(h->memory, 0, HOST_MEMORY);
	assert_int_equal(h->function.ops->map(h->function.context, h->memory, HOST_MEMORY, EFA_BUS_BOTH, &h->base), 0);
	h->answer = host_alloc(h, 8);
	h->aq = host_alloc(h, 4096);
	h->acq = host_alloc(h, 4096);
	h->aenq = host_alloc(h, 4096);
	host_set_answer(h);
	host_start(h);
	return h;
}

static inline void host_destroy(struct host *h)
{
	efa_device_destroy(h->device);
	efa_bus_local_fini(&h->bus);
	free(h->memory);
	free(h);
}

/* Writes an entry into the submission ring, with the phase of its place; no doorbell. */
static inline uint8_t *host_fill(struct host *h, uint8_t opcode, const void *in)
{
	uint8_t *entry = h->aq + (h->aq_count & 31) * 64;
	struct efa_abi_aq_head head = { .command_id = h->next_id++ & EFA_AQ_ID_MASK, .opcode = opcode,
					.flags = (h->aq_count & 32) == 0 ? EFA_AQ_FLAG_PHASE : 0 };

	memset(entry, 0, 64);
	efa_abi_aq_head_store(entry, &head);
	if (in != NULL)
		efa_abi_store(&efa_abi_command_of(opcode)->request, entry, in);
	h->aq_count++;
	return entry;
}

/* The next answer, if there is one. */
static inline const uint8_t *host_answer(struct host *h)
{
	const uint8_t *entry = h->acq + (h->acq_count & 31) * 64;

	if ((entry[EFA_AQ_FLAGS_AT] & 1) != ((h->acq_count & 32) == 0))
		return NULL;
	h->acq_count++;
	return entry;
}

static inline const uint8_t *host_ring(struct host *h)
{
	const uint8_t *entry;

	h->function.ops->interrupts(h->function.context);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	entry = host_answer(h);
	assert_non_null(entry);
	assert_int_equal(h->function.ops->interrupts(h->function.context) & 1, 1);
	return entry;
}

/* A whole command; the status. */
static inline uint8_t host_command(struct host *h, uint8_t opcode, const void *in, void *out)
{
	uint16_t id = h->next_id & EFA_AQ_ID_MASK;
	const uint8_t *entry;
	struct efa_abi_acq_head head;

	host_fill(h, opcode, in);
	entry = host_ring(h);
	head = efa_abi_acq_head_load(entry);
	assert_int_equal(head.command_id, id);
	if (head.status == 0 && out != NULL)
		efa_abi_load(&efa_abi_command_of(opcode)->result, out, entry);
	return head.status;
}

/* What programs need: each asserts that it works. */
static inline uint16_t host_pd(struct host *h)
{
	struct efa_abi_pd pd;

	assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, &pd), 0);
	return pd.pd;
}

static inline uint16_t host_uar(struct host *h)
{
	struct efa_abi_uar uar;

	assert_int_equal(host_command(h, EFA_OP_ALLOC_UAR, NULL, &uar), 0);
	return uar.uar;
}

static inline uint16_t host_ah(struct host *h, uint16_t pd, const struct host *peer)
{
	struct efa_abi_create_ah in = { .pd = pd };
	struct efa_abi_ah out;

	memcpy(in.gid, efa_device_gid(peer->device), 16);
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &in, &out), 0);
	return out.ah;
}

/* Host memory as a region, by one page entry per 4 KiB; the address in it is the pointer itself. */
static inline struct efa_abi_reg_mr_result host_mr(struct host *h, uint16_t pd, void *start, uint32_t bytes, uint8_t perms)
{
	struct efa_abi_reg_mr in = { .pd = pd, .length = bytes, .iova = (uintptr_t)start, .perms = perms, .flags = 12 };
	struct efa_abi_reg_mr_result out;
	uint64_t first = (uintptr_t)start & 4095, page = host_bus(h, start) - first;

	in.page_num = (uint32_t)((first + bytes + 4095) / 4096);
	assert_true(in.page_num <= 4);
	for (uint32_t i = 0; i < in.page_num; i++)
		for (uint32_t k = 0; k < 8; k++)
			in.pages[i * 8 + k] = (uint8_t)((page + i * 4096) >> 8 * k);
	assert_int_equal(host_command(h, EFA_OP_REG_MR, &in, &out), 0);
	return out;
}

struct host_cq {
	uint8_t *ring;
	uint32_t depth, entry_bytes, count;
	struct efa_abi_create_cq_result info;
};

static inline struct host_cq host_cq_on(struct host *h, uint16_t uar, uint16_t depth, uint8_t caps2, int eqn)
{
	struct host_cq cq = { .depth = depth, .entry_bytes = (caps2 & EFA_CQ_CAPS_WORDS) * 4 };
	struct efa_abi_create_cq in = { .sub_cq_depth = depth, .num_sub_cqs = 1, .uar = uar, .caps2 = caps2 };

	cq.ring = host_alloc(h, depth * cq.entry_bytes);
	in.base = host_bus(h, cq.ring);
	if (eqn >= 0) {
		in.caps1 = EFA_CQ_CAPS_INTERRUPT;
		in.eqn = (uint16_t)eqn;
	}
	assert_int_equal(host_command(h, EFA_OP_CREATE_CQ, &in, &cq.info), 0);
	assert_int_equal(cq.info.actual_depth, depth);
	return cq;
}

static inline bool host_poll(struct host_cq *cq, struct efa_abi_cqe *out)
{
	const uint8_t *entry = cq->ring + (cq->count & (cq->depth - 1)) * cq->entry_bytes;

	if ((entry[EFA_CQE_FLAGS_AT] & 1) != ((cq->count & cq->depth) == 0))
		return false;
	efa_abi_cqe_load(out, entry, cq->entry_bytes);
	cq->count++;
	return true;
}

static inline void host_doorbell(struct host *h, uint32_t offset, uint32_t value)
{
	h->function.ops->store(h->function.context, EFA_BAR_DOORBELL, offset, value);
}

struct host_qp {
	struct efa_abi_create_qp_result info;
	uint8_t *llq, *rq;
	uint32_t sq_depth, rq_depth;
	uint16_t sq_count, rq_count, pd;
};

static inline struct host_qp host_qp_create(struct host *h, uint16_t uar, uint16_t pd, uint8_t type, const struct host_cq *cq,
					    uint32_t sq_depth, uint32_t rq_depth, uint8_t flags)
{
	struct host_qp qp = { .sq_depth = sq_depth, .rq_depth = rq_depth, .pd = pd };
	struct efa_abi_create_qp in = { .pd = pd, .uar = uar, .type = type, .flags = flags, .send_cq = cq->info.cq_idx,
					.recv_cq = cq->info.cq_idx, .sq_depth = sq_depth, .sq_ring_bytes = sq_depth * 64,
					.rq_depth = rq_depth, .rq_ring_bytes = rq_depth * 16 };

	qp.rq = host_alloc(h, rq_depth * 16);
	in.rq_base = host_bus(h, qp.rq);
	assert_int_equal(host_command(h, EFA_OP_CREATE_QP, &in, &qp.info), 0);
	qp.llq = h->function.ops->memory(h->function.context, EFA_BAR_LLQ, qp.info.llq_offset, sq_depth * 64);
	assert_non_null(qp.llq);
	return qp;
}

static inline uint8_t host_modify(struct host *h, const struct host_qp *qp, uint32_t state, uint32_t mask, uint8_t rnr_retry)
{
	struct efa_abi_modify_qp in = { .mask = mask | EFA_MODIFY_STATE, .handle = qp->info.handle, .state = state,
					.qkey = (mask & EFA_MODIFY_QKEY) != 0 ? HOST_QKEY : 0, .rnr_retry = rnr_retry };

	return host_command(h, EFA_OP_MODIFY_QP, &in, NULL);
}

static inline void host_rts(struct host *h, const struct host_qp *qp, int rnr_retry)
{
	assert_int_equal(host_modify(h, qp, EFA_QPS_INIT, EFA_MODIFY_QKEY, 0), 0);
	assert_int_equal(host_modify(h, qp, EFA_QPS_RTR, 0, 0), 0);
	assert_int_equal(host_modify(h, qp, EFA_QPS_RTS, EFA_MODIFY_SQ_PSN | (rnr_retry > 0 ? EFA_MODIFY_RNR_RETRY : 0),
				     (uint8_t)(rnr_retry > 0 ? rnr_retry : 0)), 0);
}

/* Sets phase and marks; rings. */
static inline void host_send(struct host *h, struct host_qp *qp, struct efa_abi_wqe *w)
{
	w->ctrl1 |= EFA_WQE_META_DESC;
	w->ctrl2 |= EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ;
	w->ctrl2 = (uint8_t)((w->ctrl2 & ~EFA_WQE_PHASE) | ((qp->sq_count / qp->sq_depth & 1) != 0 ? EFA_WQE_PHASE : 0));
	efa_abi_wqe_store(qp->llq + (qp->sq_count & (qp->sq_depth - 1)) * 64, w);
	qp->sq_count++;
	host_doorbell(h, qp->info.sq_db_offset, qp->sq_count);
}

static inline void host_recv(struct host *h, struct host_qp *qp, uint16_t req_id, const struct efa_abi_sge *sge, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		struct efa_abi_rqd d = { .addr = sge[i].addr, .req_id = i == 0 ? req_id : 0, .length = (uint16_t)sge[i].length,
					 .lkey_ctrl = sge[i].lkey | (i == 0 ? EFA_RQD_FIRST : 0) | (i == num - 1 ? EFA_RQD_LAST : 0) };

		efa_abi_rqd_store(qp->rq + (qp->rq_count++ & (qp->rq_depth - 1)) * 16, &d);
	}
	host_doorbell(h, qp->info.rq_db_offset, qp->rq_count);
}

#endif
