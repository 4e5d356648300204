/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The admin queue: protocol, every opcode with its refusals, limits, references, events, faults on purpose. */
#include "base/clock.h"
#include "efa/device/test_host.h"

struct fixture {
	struct fabric fabric;
	struct host *h;
};

static int setup_profile(void **state, const struct efa_device_profile *profile)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fabric_init(&f->fabric);
	f->h = host_create(&f->fabric, profile, 1);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_profile(state, efa_device_profile_find("full"));
}

static int setup_v1(void **state)
{
	return setup_profile(state, efa_device_profile_find("v1"));
}

/* Few of everything. */
static int setup_small(void **state)
{
	struct efa_device_profile p = *efa_device_profile_find("full");

	p.queue.max_pd = 3;
	p.queue.max_mr = 4;
	p.queue.max_ah = 2;
	p.queue.max_cq = 5;
	p.queue.max_qp = 6;
	p.events.max_eq = 2;
	p.max_uar = 3;
	p.max_extents = 10;
	return setup_profile(state, &p);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	host_destroy(f->h);
	free(f);
	return 0;
}

static uint16_t extended(struct host *h)
{
	return efa_abi_acq_head_load(h->acq + ((h->acq_count - 1) & 31) * 64).extended_status;
}

/* Goal: three laps of both rings; ids come back whole, the head moves, phases flip. */
static void laps(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;

	h->next_id = 0xff0; /* 12 bits wrap too */
	for (uint32_t i = 0; i < 100; i++) {
		struct efa_abi_pd pd;

		assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, &pd), 0);
		assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &pd, NULL), 0);
		assert_int_equal(efa_abi_acq_head_load(h->acq + ((h->acq_count - 1) & 31) * 64).sq_head, 2 * i + 2);
	}
	assert_int_equal(efa_device_usage(h->device).pds, 0);
}

/* Goal: several commands by one doorbell, one interrupt; none while it is masked. */
static void batches(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint64_t before = h->bus.stats.interrupts;

	for (uint32_t i = 0; i < 32; i++)
		host_fill(h, EFA_OP_ALLOC_PD, NULL);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(efa_abi_acq_head_load(host_answer(h)).command_id, i);
	assert_null(host_answer(h));
	assert_int_equal(h->bus.stats.interrupts, before + 1);
	host_store(h, EFA_REG_INTR_MASK, 1);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_non_null(host_answer(h));
	assert_int_equal(h->bus.stats.interrupts, before + 1);
}

/* Goal: a wrong phase, a set reserved bit anywhere, and an unknown opcode are told apart. */
static void malformed(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint8_t *entry = host_fill(h, EFA_OP_ALLOC_PD, NULL);

	entry[EFA_AQ_FLAGS_AT] ^= EFA_AQ_FLAG_PHASE;
	assert_int_equal(efa_abi_acq_head_load(host_ring(h)).status, EFA_ADMIN_MALFORMED);
	for (uint32_t op = 0; op < 256; op++) {
		const struct efa_abi_command *row = efa_abi_command_of(op);
		uint8_t status;

		if (row == NULL) {
			h->aq_count++;
			memset(h->aq + ((h->aq_count - 1) & 31) * 64, 0, 64);
			h->aq[((h->aq_count - 1) & 31) * 64 + 2] = (uint8_t)op;
			h->aq[((h->aq_count - 1) & 31) * 64 + 3] = ((h->aq_count - 1) & 32) == 0;
			assert_int_equal(efa_abi_acq_head_load(host_ring(h)).status, EFA_ADMIN_BAD_OPCODE);
			continue;
		}
		for (uint32_t at = 4; at < 64; at++) {
			uint8_t probe[64] = { 0 };

			probe[at] = 0x80;
			if (efa_abi_rest_is_zero(&row->request, probe, 4) || (op == EFA_OP_SET_FEATURE && at >= 20))
				continue;
			entry = host_fill(h, (uint8_t)op, NULL);
			entry[at] = 0x80;
			status = efa_abi_acq_head_load(host_ring(h)).status;
			assert_int_equal(status, EFA_ADMIN_MALFORMED);
		}
	}
	assert_true(efa_device_stats(h->device)->bad_commands > 100);
}

/* Goal: what the profiles say is what GET_FEATURE answers; what they lack is unsupported. */
static void features(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	const struct efa_device_profile *p = efa_device_profile(h->device);
	bool full = strcmp(p->name, "full") == 0;
	struct efa_abi_device_attr attr;
	struct efa_abi_queue_attr queue;
	struct efa_abi_network_attr network;
	struct efa_abi_hw_hints hints;

	for (uint32_t id = 0; id < 256; id++) {
		struct efa_abi_feature in = { .id = (uint8_t)id };
		bool there = (id >= 1 && id <= 5) || (id == 7 && full);
		uint8_t status = host_command(h, EFA_OP_GET_FEATURE, &in, NULL);
		const uint8_t *descriptor = h->acq + ((h->acq_count - 1) & 31) * 64 + EFA_ACQ_RESULT_AT;

		assert_int_equal(status, there ? EFA_ADMIN_OK : EFA_ADMIN_UNSUPPORTED);
		if (id == EFA_FEATURE_DEVICE_ATTR)
			efa_abi_load(efa_abi_feature_layout(id), &attr, descriptor);
		if (id == EFA_FEATURE_QUEUE_ATTR)
			efa_abi_load(efa_abi_feature_layout(id), &queue, descriptor);
		if (id == EFA_FEATURE_NETWORK_ATTR)
			efa_abi_load(efa_abi_feature_layout(id), &network, descriptor);
		if (id == EFA_FEATURE_HW_HINTS)
			efa_abi_load(efa_abi_feature_layout(id), &hints, descriptor);
	}
	assert_int_equal(attr.admin_api_version, 1);
	assert_true(attr.page_size_cap == 0xfffff000);
	assert_int_equal(attr.device_caps, full ? 0x1b : 0);
	assert_true(attr.supported_features == (full ? 0xfe : 0x7e));
	assert_int_equal(queue.max_qp, 256);
	assert_int_equal(queue.max_llq_size, 262144);
	assert_int_equal(queue.max_recv_sges, 3);
	assert_int_equal(network.mtu, 8928);
	assert_memory_equal(network.gid, efa_device_gid(h->device), 16);
	assert_int_equal(hints.admin_timeout | hints.mmio_read_timeout | hints.poll_interval | hints.watchdog, 0);
}

static uint8_t set_feature(struct host *h, uint8_t id, uint8_t flags, uint64_t buffer, uint32_t length, uint32_t enabled)
{
	struct efa_abi_feature in = { .id = id };
	struct efa_abi_buffer where = { .addr = buffer, .length = length };
	struct efa_abi_aenq_config config = { .enabled = enabled };
	uint8_t *entry;

	efa_abi_buffer_store(in.buffer, &where);
	entry = host_fill(h, EFA_OP_SET_FEATURE, &in);
	entry[3] |= flags;
	efa_abi_store(efa_abi_feature_layout(EFA_FEATURE_AENQ_CONFIG), entry + EFA_SET_FEATURE_DATA_AT, &config);
	return efa_abi_acq_head_load(host_ring(h)).status;
}

/* Goal: SET_FEATURE: the groups that exist, and the host's description from a buffer of exactly its size. */
static void setting(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint64_t buffer = host_bus(h, host_alloc(h, EFA_HOST_INFO_BYTES));

	assert_int_equal(set_feature(h, EFA_FEATURE_AENQ_CONFIG, 0, 0, 0, 0x1e), 0);
	assert_int_equal(set_feature(h, EFA_FEATURE_AENQ_CONFIG, 0, 0, 0, 0x3e), EFA_ADMIN_ILLEGAL);
	assert_int_equal(extended(h), 24);
	assert_int_equal(set_feature(h, EFA_FEATURE_HOST_INFO, EFA_AQ_FLAG_CTRL_DATA, buffer, 180, 0), 0);
	assert_int_equal(set_feature(h, EFA_FEATURE_HOST_INFO, EFA_AQ_FLAG_CTRL_DATA, buffer, 181, 0), EFA_ADMIN_MALFORMED);
	assert_int_equal(set_feature(h, EFA_FEATURE_HOST_INFO, 0, buffer, 180, 0), EFA_ADMIN_MALFORMED);
	assert_int_equal(set_feature(h, EFA_FEATURE_HOST_INFO, EFA_AQ_FLAG_CTRL_DATA, 0x1000, 180, 0), EFA_ADMIN_ILLEGAL);
	assert_int_equal(set_feature(h, EFA_FEATURE_DEVICE_ATTR, 0, 0, 0, 0), EFA_ADMIN_UNSUPPORTED);
	assert_int_equal(set_feature(h, 40, 0, 0, 0, 0), EFA_ADMIN_UNSUPPORTED);
	assert_int_equal(host_command(h, EFA_OP_ALLOC_MR, &(struct efa_abi_alloc_mr){ .max_pages = 1 }, NULL), EFA_ADMIN_UNSUPPORTED);
}

/* Goal: the last one of each kind is given, the next is refused, and one given back is given again. */
static void limits(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint16_t pd[3], uar[3], ah;
	struct efa_abi_pd pd_in;
	struct efa_abi_create_ah ah_in = { .gid = { 0xfe, 1 } };
	struct efa_abi_ah ah_out;
	struct efa_abi_reg_mr_result mr;
	struct efa_abi_create_cq cq_in = { .sub_cq_depth = 16, .num_sub_cqs = 1, .caps2 = 4 };
	struct efa_abi_create_cq_result cq_out;
	struct efa_abi_create_eq eq_in = { .depth = 16, .vector = 1, .caps = 4, .event_mask = 1 };
	struct efa_abi_eqn eq_out;

	for (uint32_t i = 0; i < 3; i++) {
		pd[i] = host_pd(h);
		uar[i] = host_uar(h);
	}
	assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, NULL), EFA_ADMIN_NO_RESOURCE);
	assert_int_equal(host_command(h, EFA_OP_ALLOC_UAR, NULL, NULL), EFA_ADMIN_NO_RESOURCE);
	pd_in.pd = pd[1];
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &pd_in, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &pd_in, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_pd(h), pd[1]);
	for (uint32_t i = 0; i < 4; i++)
		mr = host_mr(h, pd[0], h->aq, 64, 0);
	assert_int_equal(host_command(h, EFA_OP_REG_MR,
				      &(struct efa_abi_reg_mr){ .pd = pd[0], .length = 1, .page_num = 1, .flags = 12 }, NULL),
			 EFA_ADMIN_NO_RESOURCE);
	assert_int_equal(host_command(h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ mr.lkey }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ mr.lkey }, NULL), EFA_ADMIN_ILLEGAL);
	assert_true(host_mr(h, pd[0], h->aq, 64, 0).lkey != mr.lkey); /* the place again, under another key */
	ah_in.pd = pd[0];
	for (uint32_t i = 0; i < 2; i++) {
		ah_in.gid[15] = (uint8_t)i;
		assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &ah_in, &ah_out), 0);
	}
	ah = ah_out.ah;
	ah_in.gid[15] = 2;
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &ah_in, &ah_out), EFA_ADMIN_NO_RESOURCE);
	ah_in.gid[15] = 1; /* a known one again is no new one */
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &ah_in, &ah_out), 0);
	assert_int_equal(ah_out.ah, ah);
	cq_in.base = eq_in.base = host_bus(h, host_alloc(h, 4096));
	cq_in.uar = uar[0];
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(host_command(h, EFA_OP_CREATE_CQ, &cq_in, &cq_out), 0);
	assert_int_equal(host_command(h, EFA_OP_CREATE_CQ, &cq_in, &cq_out), EFA_ADMIN_NO_RESOURCE);
	for (uint32_t i = 0; i < 2; i++) /* twice on one vector is allowed */
		assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &eq_in, &eq_out), 0);
	assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &eq_in, &eq_out), EFA_ADMIN_NO_RESOURCE);
}

/* Goal: what others refer to cannot go; when they are gone it can. */
static void references(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint16_t pd = host_pd(h), uar = host_uar(h), ah;
	struct efa_abi_create_eq eq_in = { .depth = 16, .vector = 1, .caps = 4, .event_mask = 1,
					   .base = host_bus(h, host_alloc(h, 4096)) };
	struct efa_abi_eqn eq;
	struct host_cq cq;
	struct host_qp qp;
	struct efa_abi_reg_mr_result mr;
	struct efa_device_usage usage;

	assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &eq_in, &eq), 0);
	cq = host_cq_on(h, uar, 16, 4, eq.eqn);
	qp = host_qp_create(h, uar, pd, EFA_QP_SRD, &cq, 16, 16, 0);
	mr = host_mr(h, pd, h->aq, 64, 0);
	ah = host_ah(h, pd, h);
	assert_int_equal(ah, host_ah(h, pd, h));
	assert_int_equal(host_command(h, EFA_OP_DESTROY_CQ, &(struct efa_abi_cq_idx){ cq.info.cq_idx }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_EQ, &eq, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_UAR, &(struct efa_abi_uar){ uar }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ qp.info.handle }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ qp.info.handle }, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_UAR, &(struct efa_abi_uar){ uar }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_CQ, &(struct efa_abi_cq_idx){ cq.info.cq_idx }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_CQ, &(struct efa_abi_cq_idx){ cq.info.cq_idx }, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_EQ, &eq, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_EQ, &eq, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_UAR, &(struct efa_abi_uar){ uar }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &(struct efa_abi_pd){ pd }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ mr.lkey }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &(struct efa_abi_pd){ pd }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ ah, pd }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &(struct efa_abi_pd){ pd }, NULL), EFA_ADMIN_BUSY);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ ah, pd }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ ah, pd }, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_PD, &(struct efa_abi_pd){ pd }, NULL), 0);
	usage = efa_device_usage(h->device);
	assert_memory_equal(&usage, &(struct efa_device_usage){ 0 }, sizeof(usage));
}

/* Goal: numbers are the adapter's per peer, rights are the domain's; the number is free only when nobody has it. */
static void address_handles(void **state)
{
	struct fixture *f = *state;
	struct host *h = f->h;
	uint16_t pd[4], ah;
	struct efa_abi_create_ah in = { .gid = { 0 } };

	for (uint32_t i = 0; i < 4; i++)
		pd[i] = host_pd(h);
	ah = host_ah(h, pd[0], h);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(host_ah(h, pd[i], h), ah);
	assert_int_equal(efa_device_usage(h->device).ahs, 1);
	assert_int_equal(f->fabric.ports[0].peers, 1);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ ah, pd[3] }, NULL), EFA_ADMIN_ILLEGAL);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(efa_device_usage(h->device).ahs, 1);
		assert_int_equal(host_command(h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ ah, pd[i < 4 ? 0 : i % 2 + 1] }, NULL), 0);
	}
	assert_int_equal(efa_device_usage(h->device).ahs, 0);
	assert_int_equal(f->fabric.ports[0].peers, 0);
	in.pd = pd[0];
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &in, NULL), EFA_ADMIN_ILLEGAL); /* nobody */
	in.gid[0] = 0xff;
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &in, NULL), EFA_ADMIN_ILLEGAL); /* a group */
	in.pd = 999;
	assert_int_equal(host_command(h, EFA_OP_CREATE_AH, &in, NULL), EFA_ADMIN_ILLEGAL);
}

/* Goal: each field of CREATE_CQ, CREATE_EQ and CREATE_QP that is wrong alone is named, and nothing is left behind. */
static void wrong_fields(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint16_t pd = host_pd(h), uar = host_uar(h), other = host_uar(h);
	struct host_cq cq = host_cq_on(h, uar, 16, 4, -1), foreign = host_cq_on(h, other, 16, 4, -1);
	uint64_t base = host_bus(h, host_alloc(h, 4096));
	const struct efa_abi_create_cq cq_good = { .sub_cq_depth = 16, .num_sub_cqs = 1, .caps2 = 4, .uar = uar, .base = base };
	const struct efa_abi_create_eq eq_good = { .depth = 16, .vector = 1, .caps = 4, .event_mask = 1, .base = base };
	const struct efa_abi_create_qp qp_good = { .pd = pd, .uar = uar, .type = EFA_QP_SRD, .send_cq = cq.info.cq_idx,
						   .recv_cq = cq.info.cq_idx, .sq_depth = 16, .sq_ring_bytes = 1024,
						   .rq_depth = 16, .rq_ring_bytes = 256, .rq_base = base };
	struct efa_device_usage before = efa_device_usage(h->device), after;

#define WRONG_CQ(at, ...) do { struct efa_abi_create_cq in = cq_good; __VA_ARGS__; \
		assert_int_equal(host_command(h, EFA_OP_CREATE_CQ, &in, NULL), EFA_ADMIN_ILLEGAL); \
		assert_int_equal(extended(h), at); } while (0)
	WRONG_CQ(4, in.caps1 = EFA_CQ_CAPS_VIRT);
	WRONG_CQ(5, in.caps2 = 5);
	WRONG_CQ(5, in.caps2 = EFA_CQ_CAPS_SRC_ADDR | 4);
	WRONG_CQ(6, in.sub_cq_depth = 0);
	WRONG_CQ(6, in.sub_cq_depth = 24);
	WRONG_CQ(8, in.caps1 = EFA_CQ_CAPS_INTERRUPT; in.eqn = 0);
	WRONG_CQ(12, in.base = 0);
	WRONG_CQ(24, in.num_sub_cqs = 2);
	WRONG_CQ(26, in.uar = 99);
#define WRONG_EQ(at, ...) do { struct efa_abi_create_eq in = eq_good; __VA_ARGS__; \
		assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &in, NULL), EFA_ADMIN_ILLEGAL); \
		assert_int_equal(extended(h), at); } while (0)
	WRONG_EQ(4, in.depth = 0);
	WRONG_EQ(4, in.depth = 2048);
	WRONG_EQ(6, in.vector = 0);
	WRONG_EQ(6, in.vector = 32);
	WRONG_EQ(7, in.caps = 8);
	WRONG_EQ(8, in.base = 0);
	WRONG_EQ(16, in.event_mask = 2);
#define WRONG_QP(at, ...) do { struct efa_abi_create_qp in = qp_good; __VA_ARGS__; \
		assert_int_equal(host_command(h, EFA_OP_CREATE_QP, &in, NULL), EFA_ADMIN_ILLEGAL); \
		assert_int_equal(extended(h), at); } while (0)
	WRONG_QP(4, in.pd = 77);
	WRONG_QP(6, in.type = 0);
	WRONG_QP(6, in.type = 3);
	WRONG_QP(7, in.flags = EFA_QP_FLAG_SQ_VIRT);
	WRONG_QP(7, in.type = EFA_QP_UD; in.flags = EFA_QP_FLAG_UNSOLICITED);
	WRONG_QP(56, in.uar = 63);
	WRONG_QP(24, in.send_cq = 500);
	WRONG_QP(24, in.send_cq = 0x10000u | cq.info.cq_idx);
	WRONG_QP(28, in.recv_cq = foreign.info.cq_idx);
	WRONG_QP(44, in.sq_depth = 15);
	WRONG_QP(44, in.sq_depth = 8192; in.sq_ring_bytes = 8192 * 64);
	WRONG_QP(44, in.sq_ring_bytes = 512);
	WRONG_QP(52, in.rq_depth = 65536; in.rq_ring_bytes = 65536 * 16);
	WRONG_QP(52, in.rq_ring_bytes = 255);
	WRONG_QP(52, in.rq_depth = 0);
	WRONG_QP(16, in.rq_base = 0);
	after = efa_device_usage(h->device);
	assert_memory_equal(&before, &after, sizeof(before));
	{
		struct efa_abi_create_qp in = qp_good; /* a driver may say how many bytes its pages have */

		in.rq_ring_bytes = 4096;
		in.flags = EFA_QP_FLAG_UNSOLICITED;
		assert_int_equal(host_command(h, EFA_OP_CREATE_QP, &in, NULL), 0);
	}
}

/* Goal: the first release has no event queues, no RDMA rights, no RNR retry. */
static void first_release(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint16_t pd = host_pd(h), uar = host_uar(h);
	struct host_cq cq = host_cq_on(h, uar, 16, 4, -1);
	struct host_qp qp = host_qp_create(h, uar, pd, EFA_QP_SRD, &cq, 16, 16, 0);
	struct efa_abi_reg_mr mr = { .pd = pd, .length = 64, .page_num = 1, .flags = 12 };

	assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &(struct efa_abi_create_eq){ .depth = 16, .vector = 1, .caps = 4 }, NULL),
			 EFA_ADMIN_UNSUPPORTED);
	assert_int_equal(host_command(h, EFA_OP_DESTROY_EQ, &(struct efa_abi_eqn){ 0 }, NULL), EFA_ADMIN_UNSUPPORTED);
	mr.perms = EFA_MR_REMOTE_READ;
	assert_int_equal(host_command(h, EFA_OP_REG_MR, &mr, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(extended(h), 49);
	mr.perms = EFA_MR_LOCAL_WRITE;
	assert_int_equal(host_command(h, EFA_OP_REG_MR, &mr, NULL), 0);
	host_modify(h, &qp, EFA_QPS_INIT, EFA_MODIFY_QKEY, 0);
	host_modify(h, &qp, EFA_QPS_RTR, 0, 0);
	assert_int_equal(host_modify(h, &qp, EFA_QPS_RTS, EFA_MODIFY_SQ_PSN | EFA_MODIFY_RNR_RETRY, 3), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_modify(h, &qp, EFA_QPS_RTS, EFA_MODIFY_SQ_PSN, 0), 0);
}

/* Goal: GET_STATS answers each type in its order and nothing else. */
static void statistics(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	struct efa_device_stats *stats = efa_device_stats(h->device);

	for (uint32_t type = 0; type < 8; type++) {
		struct efa_abi_get_stats in = { .type = (uint8_t)type };
		uint32_t count = efa_abi_stats_count(type);
		const uint8_t *entry;

		for (uint32_t i = 0; i < count; i++)
			stats->answered[type][i] = 0x1000000000ull * type + i + 1;
		host_fill(h, EFA_OP_GET_STATS, &in);
		entry = host_ring(h);
		assert_int_equal(efa_abi_acq_head_load(entry).status, count > 0 ? EFA_ADMIN_OK : EFA_ADMIN_ILLEGAL);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(entry[8 + 8 * i], i + 1);
			assert_int_equal(entry[8 + 8 * i + 4], type << 4);
		}
		in.scope = EFA_STATS_SCOPE_QUEUE;
		assert_int_equal(host_command(h, EFA_OP_GET_STATS, &in, NULL), EFA_ADMIN_ILLEGAL);
	}
}

static const uint8_t *event(struct host *h)
{
	const uint8_t *entry = h->aenq + (h->aenq_count & 15) * 64;

	if ((entry[EFA_AENQ_FLAGS_AT] & 1) != ((h->aenq_count & 16) == 0))
		return NULL;
	h->aenq_count++;
	return entry;
}

/* Goal: a keep-alive a second, only when asked for; a full ring drops and counts; the doorbell makes room. */
static void events(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint64_t now = 5 * BASE_SEC, before;

	efa_device_advance(h->device, now);
	assert_null(event(h)); /* no group is enabled */
	set_feature(h, EFA_FEATURE_AENQ_CONFIG, 0, 0, 0, 1u << EFA_AENQ_KEEP_ALIVE);
	efa_device_announce(h->device, EFA_AENQ_WARNING, 1);
	assert_null(event(h));
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(efa_device_deadline(h->device) == now + BASE_SEC);
		efa_device_advance(h->device, now + BASE_SEC - 1);
		assert_null(event(h));
		now += BASE_SEC;
		efa_device_advance(h->device, now);
		assert_int_equal(efa_abi_aenq_load(event(h)).group, EFA_AENQ_KEEP_ALIVE);
	}
	set_feature(h, EFA_FEATURE_AENQ_CONFIG, 0, 0, 0, EFA_AENQ_WANTED);
	before = h->bus.stats.interrupts;
	for (uint32_t i = 0; i < 20; i++)
		efa_device_announce(h->device, EFA_AENQ_NOTIFICATION, (uint16_t)i);
	assert_int_equal(h->bus.stats.interrupts, before + 13);
	assert_int_equal(efa_device_stats(h->device)->aenq_dropped, 7);
	for (uint32_t i = 0; i < 13; i++)
		assert_int_equal(efa_abi_aenq_load(event(h)).syndrome, i);
	host_store(h, EFA_REG_AENQ_CONS_DB, 17); /* more than there ever were */
	assert_int_equal(efa_device_stats(h->device)->bad_stores, 1);
	host_store(h, EFA_REG_AENQ_CONS_DB, h->aenq_count);
	efa_device_announce(h->device, EFA_AENQ_FATAL, 9);
	assert_int_equal(efa_abi_aenq_load(event(h)).syndrome, 9);
	efa_device_announce(h->device, 77, 9);
	assert_null(event(h));
}

/* Goal: each fault on purpose does what its name says, once, and the queue works on. */
static void faults(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	struct efa_device_fault fault = { .kind = EFA_FAULT_LATE, .count = 1, .delay = BASE_MSEC };

	/* Late: overtaken. The same id meanwhile is refused. */
	efa_device_set_fault(h->device, &fault);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	host_fill(h, EFA_OP_ALLOC_UAR, NULL);
	h->next_id = 0;
	host_fill(h, EFA_OP_ALLOC_UAR, NULL);
	h->next_id = 3;
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_int_equal(efa_abi_acq_head_load(host_answer(h)).command_id, 1);
	assert_int_equal(efa_abi_acq_head_load(h->acq + 64).status, EFA_ADMIN_MALFORMED);
	assert_non_null(host_answer(h));
	assert_null(host_answer(h));
	assert_true(efa_device_deadline(h->device) == BASE_MSEC);
	h->function.ops->interrupts(h->function.context);
	efa_device_advance(h->device, BASE_MSEC);
	assert_int_equal(efa_abi_acq_head_load(host_answer(h)).command_id, 0);
	assert_int_equal(h->function.ops->interrupts(h->function.context), 1);
	/* Lost: done, and silent. */
	fault.kind = EFA_FAULT_LOST;
	efa_device_set_fault(h->device, &fault);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_null(host_answer(h));
	assert_int_equal(efa_device_usage(h->device).pds, 2);
	/* Wrong id. */
	fault.kind = EFA_FAULT_WRONG_ID;
	efa_device_set_fault(h->device, &fault);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	assert_int_equal(efa_abi_acq_head_load(host_ring(h)).command_id, 4 ^ 16);
	/* No interrupt, of the second ALLOC_PD only. */
	fault = (struct efa_device_fault){ .kind = EFA_FAULT_NO_INTERRUPT, .opcode = EFA_OP_ALLOC_PD, .skip = 1, .count = 1 };
	efa_device_set_fault(h->device, &fault);
	host_pd(h);
	host_uar(h);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	h->function.ops->interrupts(h->function.context);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_non_null(host_answer(h));
	assert_int_equal(h->function.ops->interrupts(h->function.context), 0);
	/* A status. */
	fault = (struct efa_device_fault){ .kind = EFA_FAULT_STATUS, .count = 1, .status = EFA_ADMIN_UNKNOWN };
	efa_device_set_fault(h->device, &fault);
	assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, NULL), EFA_ADMIN_UNKNOWN);
	/* Hang: nothing is taken until it is over. */
	fault = (struct efa_device_fault){ .kind = EFA_FAULT_HANG, .count = 1 };
	efa_device_set_fault(h->device, &fault);
	host_fill(h, EFA_OP_ALLOC_PD, NULL);
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_null(host_answer(h));
	host_store(h, EFA_REG_AQ_PROD_DB, h->aq_count);
	assert_non_null(host_answer(h));
	/* Registers. */
	fault = (struct efa_device_fault){ .kind = EFA_FAULT_MMIO_SILENT, .count = 1 };
	efa_device_set_fault(h->device, &fault);
	assert_int_equal(host_load(h, EFA_REG_VERSION), EFA_MMIO_BAD);
	assert_int_equal(host_load(h, EFA_REG_VERSION), 1);
	fault.kind = EFA_FAULT_MMIO_WRONG;
	efa_device_set_fault(h->device, &fault);
	assert_int_equal(host_load(h, EFA_REG_VERSION), EFA_MMIO_BAD);
	fault = (struct efa_device_fault){ .kind = EFA_FAULT_RESET_DEAF, .count = 1 };
	efa_device_set_fault(h->device, &fault);
	host_store(h, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
	assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_READY);
	fault.kind = EFA_FAULT_RESET_STUCK;
	efa_device_set_fault(h->device, &fault);
	host_store(h, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
	host_set_answer(h);
	host_store(h, EFA_REG_DEV_CTL, 0);
	assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_RESET_IN_PROGRESS);
	host_store(h, EFA_REG_DEV_CTL, 0);
	assert_true(host_load(h, EFA_REG_DEV_STS) & EFA_DEV_STS_READY);
}

#define CASE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(laps, setup), CASE(batches, setup), CASE(malformed, setup), CASE(features, setup),
		{ "features of v1", features, setup_v1, teardown, NULL },
		CASE(setting, setup), CASE(limits, setup_small), CASE(references, setup), CASE(address_handles, setup),
		CASE(wrong_fields, setup), CASE(first_release, setup_v1), CASE(statistics, setup), CASE(events, setup),
		CASE(faults, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
