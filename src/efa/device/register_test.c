/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The register file: readless reads, reset as a driver does it, and what misuse of registers leads to. */
#include "efa/device/test_host.h"

struct fixture {
	struct fabric fabric;
	struct host *h;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fabric_init(&f->fabric);
	f->h = host_create(&f->fabric, efa_device_profile_find("full"), 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	host_destroy(f->h);
	free(f);
	return 0;
}

/* Goal: the bytes that a read leaves in memory are the documented ones, and id and value appear together. */
static void reads(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;

	host_store(h, EFA_REG_MMIO_REG_READ, 0x00580001);
	assert_memory_equal((const void *)h->answer, ((const uint8_t[]){ 1, 0, 0x58, 0, 1, 0, 0, 0 }), 8);
	host_store(h, EFA_REG_MMIO_REG_READ, 0x00080002);
	assert_memory_equal((const void *)h->answer, ((const uint8_t[]){ 2, 0, 8, 0, 0x14, 0x30, 0x0f, 0 }), 8);
	assert_int_equal(host_load(h, EFA_REG_VERSION), 1);
	assert_int_equal(host_load(h, EFA_REG_CONTROLLER_VERSION), 0x53000001);
	assert_int_equal(host_load(h, 0x30), 0);
	assert_int_equal(host_load(h, EFA_REG_AQ_CAPS), 0); /* what can only be written */
	for (uint32_t i = 0; i < 70000; i++) /* the number wraps */
		assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_READY);
	/* At an odd place it still works; without a place nothing happens. */
	h->answer += 2;
	host_set_answer(h);
	assert_int_equal(host_load(h, EFA_REG_VERSION), 1);
	host_store64(h, EFA_REG_MMIO_RESP_LO, EFA_REG_MMIO_RESP_HI, 0);
	assert_int_equal(host_load(h, EFA_REG_VERSION), EFA_MMIO_BAD);
	host_store64(h, EFA_REG_MMIO_RESP_LO, EFA_REG_MMIO_RESP_HI, 0xdead0000);
	assert_int_equal(host_load(h, EFA_REG_VERSION), EFA_MMIO_BAD);
	assert_int_equal(efa_device_stats(h->device)->dma_errors, 1);
}

/* Goal: stores to no register are counted and change nothing. */
static void unknown_registers(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	uint64_t known = 0;

	for (uint32_t offset = 0; offset < 0x2000; offset++) {
		if (offset % 4 == 0 && efa_abi_reg_text(offset) != NULL && offset >= EFA_REG_AQ_BASE_LO && offset != EFA_REG_DEV_STS)
			known++;
		else
			h->function.ops->store(h->function.context, EFA_BAR_REGS, offset, 0x12345678);
	}
	assert_int_equal(known, 17);
	assert_int_equal(efa_device_stats(h->device)->bad_stores, 0x2000 - known);
	h->function.ops->store(h->function.context, 1, 0, 1);
	h->function.ops->store(h->function.context, EFA_BAR_LLQ, 0, 1);
	assert_int_equal(efa_device_stats(h->device)->bad_stores, 0x2002 - known);
	assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_READY);
	assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, NULL), 0);
	assert_null(h->function.ops->memory(h->function.context, EFA_BAR_LLQ, 64 << 20, 1));
	assert_null(h->function.ops->memory(h->function.context, EFA_BAR_LLQ, UINT64_MAX, 64));
	assert_null(h->function.ops->memory(h->function.context, EFA_BAR_REGS, 0, 64));
}

/* Goal: reset drops every object, stays in progress until the driver lets go, and keeps the reason. */
static void reset(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	struct efa_device_usage usage;

	for (uint32_t reason = 0; reason < EFA_RESET_REASONS; reason++) {
		uint16_t pd = host_pd(h), uar = host_uar(h);
		struct host_cq cq = host_cq_on(h, uar, 16, 4, -1);
		struct host_qp qp = host_qp_create(h, uar, pd, EFA_QP_SRD, &cq, 16, 16, 0);

		host_mr(h, pd, qp.rq, 256, EFA_MR_LOCAL_WRITE);
		host_ah(h, pd, h);
		usage = efa_device_usage(h->device);
		assert_int_equal(usage.pds + usage.uars + usage.cqs + usage.qps + usage.mrs + usage.ahs, 6);
		host_store(h, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET | reason << EFA_DEV_CTL_REASON_SHIFT);
		/* Where to answer is forgotten as well. */
		assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_MMIO_BAD);
		host_set_answer(h);
		assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_RESET_IN_PROGRESS);
		host_store(h, EFA_REG_AQ_PROD_DB, 1); /* nothing else is listened to */
		assert_int_equal(host_load(h, EFA_REG_DEV_STS), EFA_DEV_STS_RESET_IN_PROGRESS);
		host_store(h, EFA_REG_DEV_CTL, 0);
		assert_int_equal(host_load(h, EFA_REG_DEV_STS) & (EFA_DEV_STS_READY | EFA_DEV_STS_RESET_IN_PROGRESS),
				 EFA_DEV_STS_READY);
		usage = efa_device_usage(h->device);
		assert_memory_equal(&usage, &(struct efa_device_usage){ 0 }, sizeof(usage));
		assert_int_equal(efa_device_stats(h->device)->reset_reason, reason);
		h->used = 4 * 4096;
		host_start(h);
	}
	assert_int_equal(efa_device_stats(h->device)->resets, EFA_RESET_REASONS);
}

/* Goal: rings that cannot be are fatal, and reset brings the adapter back. */
static void fatal_rings(void **state)
{
	struct host *h = ((struct fixture *)*state)->h;
	static const struct { uint32_t reg, value; } bad[] = {
		{ EFA_REG_AQ_CAPS, 0x00400000 }, { EFA_REG_AQ_CAPS, 0x00400003 }, { EFA_REG_AQ_CAPS, 0x00200020 },
		{ EFA_REG_AQ_CAPS, 0x01400020 }, { EFA_REG_AQ_CAPS, 0x00408000 },
		{ EFA_REG_ACQ_CAPS, 0x00400021 }, { EFA_REG_ACQ_CAPS, 0x00410020 }, { EFA_REG_ACQ_CAPS, 0x20400020 },
		{ EFA_REG_AENQ_CAPS, 0x00400000 }, { EFA_REG_AENQ_CAPS, 0x00100010 }, { EFA_REG_AENQ_CAPS, 0xff400010 },
		{ EFA_REG_AQ_PROD_DB, 34 }, { EFA_REG_AQ_PROD_DB, 0 }, { EFA_REG_AQ_PROD_DB, 0xffff },
	};

	assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, NULL), 0); /* each round begins with one command taken */
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]) + 3; i++) {
		if (i < sizeof(bad) / sizeof(bad[0])) {
			host_store(h, bad[i].reg, bad[i].value);
		} else if (i == sizeof(bad) / sizeof(bad[0])) { /* a ring that is not mapped */
			host_store64(h, EFA_REG_AQ_BASE_LO, EFA_REG_AQ_BASE_HI, 0x1234000);
			host_store(h, EFA_REG_AQ_PROD_DB, 2);
		} else if (i == sizeof(bad) / sizeof(bad[0]) + 1) {
			host_fill(h, EFA_OP_ALLOC_PD, NULL);
			host_store64(h, EFA_REG_ACQ_BASE_LO, EFA_REG_ACQ_BASE_HI, 0x1234000);
			host_store(h, EFA_REG_AQ_PROD_DB, 2);
		} else { /* work before there is a ring */
			host_store(h, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
			host_store(h, EFA_REG_DEV_CTL, 0);
			host_set_answer(h);
			host_store(h, EFA_REG_AQ_PROD_DB, 1);
		}
		assert_true(host_load(h, EFA_REG_DEV_STS) & EFA_DEV_STS_FATAL);
		host_store(h, EFA_REG_AQ_PROD_DB, 1); /* and nothing happens any more */
		assert_null(host_answer(h));
		host_store(h, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
		host_store(h, EFA_REG_DEV_CTL, 0);
		host_set_answer(h);
		assert_int_equal(host_load(h, EFA_REG_DEV_STS) & (EFA_DEV_STS_READY | EFA_DEV_STS_FATAL), EFA_DEV_STS_READY);
		host_start(h);
		assert_int_equal(host_command(h, EFA_OP_ALLOC_PD, NULL, NULL), 0);
	}
}

/* Goal: doorbells in the BAR of the registers work like those in their own. */
static void shared_bar(void **state)
{
	struct fixture *f = *state;
	struct efa_device_profile profile = *efa_device_profile_find("full");
	struct host *h;
	struct host_cq cq;
	struct host_qp qp;
	uint16_t uar;

	profile.device.db_bar = EFA_BAR_REGS;
	h = host_create(&f->fabric, &profile, 2);
	host_uar(h);
	uar = host_uar(h);
	cq = host_cq_on(h, uar, 16, 4, -1);
	qp = host_qp_create(h, uar, host_pd(h), EFA_QP_UD, &cq, 16, 16, 0);
	assert_int_equal(cq.info.db_offset, 0x4000 + 4096);
	assert_int_equal(qp.info.sq_db_offset, 0x4000 + 4096 + 8);
	assert_int_equal(qp.info.rq_db_offset, 0x4000 + 4096 + 16);
	host_store(h, qp.info.rq_db_offset, 17); /* more than there is room for: it was heard */
	assert_int_equal(efa_device_stats(h->device)->bad_doorbells, 1);
	host_store(h, 0x4000 + 8, 1);
	assert_int_equal(efa_device_stats(h->device)->stale_doorbells, 1);
	host_destroy(h);
	f->fabric.ports[1].device = NULL;
}

/* Goal: profiles that contradict themselves are refused. */
static void bad_profiles(void **state)
{
	struct efa_device_profile p;

	(void)state;
	assert_null(efa_device_profile_find("v0"));
	for (uint32_t i = 0; i < 12; i++) {
		p = *efa_device_profile_find("full");
		switch (i) {
		case 0: p.device.supported_features &= ~(1ull << EFA_FEATURE_HW_HINTS); break;
		case 1: p.queue.max_qp = 257; break;
		case 2: p.queue.max_sq_depth = 3; break;
		case 3: p.queue.max_rq_depth = 65536; break;
		case 4: p.queue.max_send_sges = 3; break;
		case 5: p.queue.max_recv_sges = 0; break;
		case 6: p.queue.sub_cqs_per_cq = 9; break;
		case 7: p.events.max_eq_depth = 256; break; /* less than there are CQs */
		case 8: p.vectors = 8; break;
		case 9: p.device.db_bar = EFA_BAR_LLQ; break;
		case 10: p.queue.max_llq_size = 32; break;
		case 11: p.mtu = 0; break;
		}
		assert_int_equal(efa_device_profile_check(&p), BASE_ERR_INVAL);
	}
	assert_int_equal(efa_device_profile_check(efa_device_profile_find("full")), 0);
	assert_int_equal(efa_device_profile_check(efa_device_profile_find("v1")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(reset, setup, teardown),
		cmocka_unit_test_setup_teardown(fatal_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(shared_bar, setup, teardown),
		cmocka_unit_test(bad_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
