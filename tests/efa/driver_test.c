/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver on a healthy adapter: the order of its start, what it learns, every command, page lists, events, removal. */
#include <sys/mman.h>

#include "efa/abi/event.h"
#include "efa/abi/wqe.h"
#include "rig.h"

static int setup_with(void **state, const char *name)
{
	struct rig *r = malloc(sizeof(*r));

	rig_init(r, efa_device_profile_find(name));
	assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
	*state = r;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, "full");
}

static int setup_v1(void **state)
{
	return setup_with(state, "v1");
}

static int teardown(void **state)
{
	struct rig *r = *state;

	efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
	rig_fini(r);
	free(r);
	return 0;
}

/* Goal: commands leave in the order of the kernel's driver, for an adapter with and without event queues. */
static void order(void **state)
{
	static const uint8_t full[] = { EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE,
					EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE, EFA_OP_SET_FEATURE, EFA_OP_CREATE_EQ,
					EFA_OP_CREATE_EQ, EFA_OP_SET_FEATURE };
	static const uint8_t v1[] = { EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE, EFA_OP_GET_FEATURE,
				      EFA_OP_GET_FEATURE, EFA_OP_SET_FEATURE, EFA_OP_SET_FEATURE };
	/* Features by number, out of the ring: the first ten commands are still there. */
	static const uint8_t ids[] = { 1, 4, 3, 7, 5, 2, 2 };
	struct rig *r = *state;

	if (r->driver.num_eqs == 0) {
		assert_int_equal(r->traced, sizeof(v1));
		assert_memory_equal(r->trace, v1, sizeof(v1));
		return;
	}
	assert_int_equal(r->traced, sizeof(full));
	assert_memory_equal(r->trace, full, sizeof(full));
	for (uint32_t i = 0; i < sizeof(ids); i++)
		assert_int_equal(r->driver.com.sq.bytes[i * 64 + 17], ids[i]);
	assert_int_equal(r->driver.com.sq.bytes[9 * 64 + 17], EFA_FEATURE_HOST_INFO);
	assert_int_equal(efa_device_stats(r->device)->resets, 1);
	assert_int_equal(efa_device_stats(r->device)->reset_reason, EFA_RESET_NORMAL);
	assert_int_equal(r->driver.com.stats.completed, sizeof(full));
	assert_true(r->now < 100 * BASE_MSEC); /* a healthy adapter costs no sleep */
}

/* Goal: what it learned is what the profile says. */
static void learned(void **state)
{
	struct rig *r = *state;
	const struct efa_device_profile *p = efa_device_profile(r->device);

	assert_memory_equal(&r->driver.device, &p->device, sizeof(p->device));
	assert_memory_equal(&r->driver.queue, &p->queue, sizeof(p->queue));
	assert_memory_equal(r->driver.network.gid, efa_device_gid(r->device), 16);
	assert_int_equal(r->driver.network.mtu, p->mtu);
	assert_int_equal(r->driver.com.dma_width, 48);
	assert_true(r->driver.com.admin_timeout == 1500 * BASE_MSEC);
	assert_int_equal(r->driver.num_eqs, RIG_EQS);
}

/* Goal: each command's function, there and back. */
static void commands(void **state)
{
	struct rig *r = *state;
	struct efa_com *com = &r->driver.com;
	uint16_t pd, uar, ah, again, eqn;
	struct efa_driver_memory ring;
	struct efa_abi_create_cq cq_in = { .sub_cq_depth = 64, .num_sub_cqs = 1, .caps2 = 4 };
	struct efa_abi_create_cq_result cq;
	struct efa_abi_create_qp qp_in = { .type = EFA_QP_SRD, .sq_depth = 16, .sq_ring_bytes = 1024, .rq_depth = 16,
					   .rq_ring_bytes = 256 };
	struct efa_abi_create_qp_result qp;
	struct efa_abi_modify_qp modify = { .mask = EFA_MODIFY_STATE | EFA_MODIFY_QKEY, .state = EFA_QPS_INIT, .qkey = 5 };
	struct efa_abi_query_qp_result query;
	struct efa_driver_mr mr;
	uint64_t stats[EFA_STATS_MAX];
	uint8_t buffer[100];
	struct efa_device_usage usage, before = efa_device_usage(r->device);

	assert_int_equal(efa_com_alloc_pd(com, &pd), 0);
	assert_int_equal(efa_com_alloc_uar(com, &uar), 0);
	assert_int_equal(efa_driver_memory_init(&ring, &com->function, 4096, EFA_BUS_BOTH), 0);
	cq_in.base = ring.bus;
	cq_in.uar = uar;
	assert_int_equal(efa_com_create_cq(com, &cq_in, &cq), 0);
	assert_int_equal(cq.actual_depth, 64);
	qp_in.pd = pd;
	qp_in.uar = uar;
	qp_in.send_cq = qp_in.recv_cq = cq.cq_idx;
	qp_in.rq_base = ring.bus;
	assert_int_equal(efa_com_create_qp(com, &qp_in, &qp), 0);
	modify.handle = qp.handle;
	assert_int_equal(efa_com_modify_qp(com, &modify), 0);
	assert_int_equal(efa_com_query_qp(com, qp.handle, &query), 0);
	assert_int_equal(query.state, EFA_QPS_INIT);
	assert_int_equal(query.qkey, 5);
	assert_int_equal(efa_com_create_ah(com, pd, r->driver.network.gid, &ah), 0);
	assert_int_equal(efa_com_create_ah(com, pd, r->driver.network.gid, &again), 0);
	assert_int_equal(ah, again);
	assert_int_equal(efa_driver_reg_mr(&r->driver, pd, buffer, sizeof(buffer), (uintptr_t)buffer, EFA_MR_LOCAL_WRITE, &mr), 0);
	for (uint32_t type = 0; type < EFA_STATS_TYPES; type++)
		assert_int_equal(efa_com_get_stats(com, type, stats), 0);
	assert_int_equal(efa_com_get_stats(com, EFA_STATS_TYPES, stats), BASE_ERR_INVAL);
	assert_int_equal(com->last_extended, 16);
	assert_int_equal(efa_driver_pick_eq(&r->driver, 5, &eqn), 0);
	assert_int_equal(eqn, r->driver.eqs[1].eqn);
	assert_int_equal(efa_com_get_feature(com, EFA_FEATURE_HOST_INFO, stats), BASE_ERR_INVAL);
	assert_int_equal(efa_com_get_feature(com, EFA_FEATURE_QUEUE_ATTR_2, stats), BASE_ERR_UNSUPPORTED);
	assert_int_equal(efa_com_alloc_mr(com, pd, 1, &mr.keys), BASE_ERR_UNSUPPORTED);
	assert_int_equal(efa_com_dealloc_pd(com, pd), BASE_ERR_INVAL); /* in use */
	assert_true(com->running); /* a refusal is no failure of the queue */
	assert_int_equal(efa_driver_dereg_mr(&r->driver, &mr), 0);
	assert_int_equal(efa_com_destroy_ah(com, pd, ah), 0);
	assert_int_equal(efa_com_destroy_ah(com, pd, ah), 0);
	assert_int_equal(efa_com_destroy_ah(com, pd, ah), BASE_ERR_INVAL);
	assert_int_equal(efa_com_destroy_qp(com, qp.handle), 0);
	assert_int_equal(efa_com_destroy_cq(com, cq.cq_idx), 0);
	assert_int_equal(efa_com_dealloc_uar(com, uar), 0);
	assert_int_equal(efa_com_dealloc_pd(com, pd), 0);
	efa_driver_memory_fini(&ring, &com->function);
	usage = efa_device_usage(r->device);
	assert_memory_equal(&usage, &before, sizeof(usage));
	assert_int_equal(com->stats.no_completion + com->stats.strays, 0);
}

static uint64_t scattered(const void *context, uint32_t i)
{
	return *(const uint64_t *)context + (uint64_t)i * 8192;
}

/* Goal: page lists of every form and border size are what the adapter understands. */
static void page_lists(void **state)
{
	static const uint32_t sizes[] = { 1, 4, 5, 511, 512, 513, 510 * 512, 510 * 512 + 1 };
	struct rig *r = *state;
	uint64_t base = 0x7000000000;
	uint16_t pd;

	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct efa_abi_reg_mr in = { .pd = pd, .length = sizes[i] * 4096ull, .iova = 0x4000, .flags = 12 };
		struct efa_abi_reg_mr_result out;
		struct efa_pages pages;
		uint8_t flags;

		assert_int_equal(efa_pages_init(&pages, &r->driver.com.function, sizes[i], scattered, &base, &in, &flags), 0);
		assert_int_equal(flags, sizes[i] <= 4 ? 0 : sizes[i] <= 512 ? EFA_AQ_FLAG_CTRL_DATA
									     : EFA_AQ_FLAG_CTRL_DATA | EFA_AQ_FLAG_CTRL_INDIRECT);
		assert_int_equal(efa_com_reg_mr(&r->driver.com, &in, flags, &out), 0);
		efa_pages_fini(&pages, &r->driver.com.function);
		assert_int_equal(efa_device_usage(r->device).extents, sizes[i]);
		assert_int_equal(efa_com_dereg_mr(&r->driver.com, out.lkey), 0);
	}
}

/* Goal: regions of this process at any place and of any size; addresses that cannot agree are refused. */
static void regions(void **state)
{
	struct rig *r = *state;
	uint64_t bytes = 5ull << 30;
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	static const struct { uint64_t at, length; } places[] = {
		{ 0, 1 }, { 4095, 2 }, { 1, 4096 }, { 4096, 1 << 20 }, { 77, (1 << 21) + 5 }, { 4096 * 3, 600 << 20 },
		{ 123, (4ull << 30) + 9 },
	};
	uint16_t pd;
	struct efa_driver_mr mr;

	assert_true(memory != MAP_FAILED);
	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
	for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint8_t *start = memory + places[i].at;

		assert_int_equal(efa_driver_reg_mr(&r->driver, pd, start, places[i].length, (uintptr_t)start, EFA_MR_LOCAL_WRITE, &mr),
				 0);
		assert_int_equal(efa_device_usage(r->device).extents, 1); /* it is one piece */
		assert_int_equal(efa_driver_dereg_mr(&r->driver, &mr), 0);
		/* Under another address, as far as pages allow. */
		assert_int_equal(efa_driver_reg_mr(&r->driver, pd, start, places[i].length, 0x10000 + ((uintptr_t)start & 4095), 0,
						   &mr), 0);
		assert_int_equal(efa_driver_dereg_mr(&r->driver, &mr), 0);
		assert_int_equal(efa_driver_reg_mr(&r->driver, pd, start, places[i].length, (uintptr_t)start + 1, 0, &mr),
				 BASE_ERR_INVAL);
	}
	assert_int_equal(efa_driver_reg_mr(&r->driver, pd, memory, 0, 0, 0, &mr), BASE_ERR_INVAL);
	assert_int_equal(efa_driver_reg_mr(&r->driver, pd, memory, 97ull << 30, (uintptr_t)memory, 0, &mr), BASE_ERR_INVAL);
	assert_int_equal(efa_pages_shift(0xfffff000, 1, 0), 12);
	assert_int_equal(efa_pages_shift(0xfffff000, 1 << 20, 0), 20);
	assert_int_equal(efa_pages_shift(0xfffff000, 1ull << 40, 0), 21);
	assert_int_equal(efa_pages_shift(0x0000f000, 1ull << 40, 0), 15);
	assert_int_equal(efa_pages_shift(0xfffff000, 1ull << 40, 1 << 16), 16);
	assert_int_equal(efa_pages_shift(0xfffff000, 1ull << 40, 8), 0);
	munmap(memory, bytes);
}

/* Goal: keep-alives are counted, other groups do no harm, the ring goes round; one a second. */
static void async_events(void **state)
{
	struct rig *r = *state;

	for (uint32_t i = 0; i < 40; i++) {
		uint64_t until = r->now + BASE_SEC;

		while (r->now < until)
			rig_wait(r, until);
		efa_device_announce(r->device, EFA_AENQ_FATAL + i % 3, 7);
		efa_driver_interrupts(&r->driver);
	}
	assert_in_range(r->driver.stats.keep_alives, 39, 41);
	assert_int_equal(r->driver.stats.unhandled, 40);
	assert_int_equal(efa_device_stats(r->device)->aenq_dropped, 0);
	assert_true(r->driver.last_keep_alive > r->now - 2 * BASE_SEC);
}

/* Goal: a CQ that was armed has its event delivered to whoever asked, through interrupt, queue and ring. */
static void completion_events(void **state)
{
	struct rig *r = *state;
	struct efa_com *com = &r->driver.com;
	struct efa_abi_create_cq in = { .sub_cq_depth = 64, .num_sub_cqs = 1, .caps1 = EFA_CQ_CAPS_INTERRUPT, .caps2 = 4 };
	struct efa_abi_create_cq_result cq;
	struct efa_abi_create_qp qp_in = { .type = EFA_QP_UD, .sq_depth = 16, .sq_ring_bytes = 1024 };
	struct efa_abi_create_qp_result qp;
	struct efa_abi_modify_qp modify = { .mask = EFA_MODIFY_STATE | EFA_MODIFY_QKEY, .state = EFA_QPS_INIT, .qkey = 5 };
	struct efa_driver_memory ring;
	uint16_t pd, ah;
	uint8_t *llq;

	assert_int_equal(efa_com_alloc_pd(com, &pd), 0);
	assert_int_equal(efa_com_alloc_uar(com, &in.uar), 0);
	assert_int_equal(efa_driver_memory_init(&ring, &com->function, 64 * 16, EFA_BUS_FROM_DEVICE), 0);
	assert_int_equal(efa_driver_pick_eq(&r->driver, 1, &in.eqn), 0);
	in.base = ring.bus;
	assert_int_equal(efa_com_create_cq(com, &in, &cq), 0);
	qp_in.pd = pd;
	qp_in.uar = in.uar;
	qp_in.send_cq = qp_in.recv_cq = cq.cq_idx;
	assert_int_equal(efa_com_create_qp(com, &qp_in, &qp), 0);
	assert_int_equal(efa_com_create_ah(com, pd, r->driver.network.gid, &ah), 0);
	modify.handle = qp.handle;
	assert_int_equal(efa_com_modify_qp(com, &modify), 0);
	modify = (struct efa_abi_modify_qp){ .mask = EFA_MODIFY_STATE, .state = EFA_QPS_RTR, .handle = qp.handle };
	assert_int_equal(efa_com_modify_qp(com, &modify), 0);
	modify = (struct efa_abi_modify_qp){ .mask = EFA_MODIFY_STATE | EFA_MODIFY_SQ_PSN, .state = EFA_QPS_RTS, .handle = qp.handle };
	assert_int_equal(efa_com_modify_qp(com, &modify), 0);
	llq = com->function.ops->memory(com->function.context, EFA_BAR_LLQ, qp.llq_offset, 1024);
	for (uint32_t i = 0; i < 200; i++) {
		struct efa_abi_cq_db db = { .consumer = (uint16_t)i, .sn = i & 3, .arm = true };
		struct efa_abi_wqe w = { .dest_qpn = 77, .ah = ah, .ctrl1 = EFA_WQE_META_DESC | EFA_WQE_INLINE,
					 .ctrl2 = (uint8_t)(EFA_WQE_FIRST | EFA_WQE_LAST | (i >> 4 & 1)) };

		com->function.ops->store(com->function.context, EFA_BAR_DOORBELL, cq.db_offset, efa_abi_cq_db_pack(&db));
		efa_abi_wqe_store(llq + i % 16 * 64, &w);
		com->function.ops->store(com->function.context, EFA_BAR_DOORBELL, qp.sq_db_offset, i + 1);
		assert_int_equal(r->events, i);
		fabric_run(&r->fabric);
		efa_driver_interrupts(&r->driver);
		assert_int_equal(r->events, i + 1);
		assert_int_equal(r->event_cq, cq.cq_idx);
	}
	/* Left in use: removal resets the adapter. Its memory is ours to take away afterwards. */
	efa_driver_memory_fini(&ring, &com->function);
}

static int waited;

static void second_command(struct rig *r)
{
	uint16_t uar;

	assert_int_equal(efa_com_alloc_uar(&r->driver.com, &uar), 0);
	waited++;
}

/* Goal: a command that waits does not hold up another one, which overtakes it. */
static void overtaking(void **state)
{
	struct rig *r = *state;
	struct efa_device_fault late = { .kind = EFA_FAULT_LATE, .opcode = EFA_OP_ALLOC_PD, .count = 1, .delay = BASE_SEC };
	uint64_t before = r->now;
	uint16_t pd;

	efa_device_set_fault(r->device, &late);
	waited = 0;
	r->on_wait = second_command;
	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
	assert_int_equal(waited, 1);
	assert_true(r->now >= before + BASE_SEC);
	assert_int_equal(r->driver.com.stats.strays, 0);
}

/* Goal: as many commands as the ring is deep: the next one waits for room. */
static void full_ring(void **state)
{
	struct rig *r = *state;
	uint16_t pd;

	for (uint32_t i = 0; i < EFA_AQ_DEPTH; i++)
		r->driver.com.contexts[i].state = EFA_COM_SUBMITTED;
	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), BASE_ERR_TIMEDOUT);
	r->driver.com.contexts[17].state = EFA_COM_FREE;
	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
}

/* Goal: probing and removing over and over leaves nothing, and tells the adapter why it is reset. */
static void over_and_over(void **state)
{
	struct rig *r = *state;

	for (uint32_t i = 0; i < 100; i++) {
		uint16_t pd;

		assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
		efa_driver_remove(&r->driver, i & 1 ? EFA_RESET_SHUTDOWN : EFA_RESET_NORMAL);
		assert_int_equal(r->bus.map.count, 0);
		assert_int_equal(efa_device_stats(r->device)->reset_reason, i & 1 ? EFA_RESET_SHUTDOWN : EFA_RESET_NORMAL);
		assert_int_equal(efa_device_usage(r->device).pds, 0);
		assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
	}
}

#define CASE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(order, setup), { "order of v1", order, setup_v1, teardown, NULL }, CASE(learned, setup), CASE(commands, setup),
		CASE(page_lists, setup), CASE(regions, setup), CASE(async_events, setup), CASE(completion_events, setup),
		CASE(overtaking, setup), CASE(full_ring, setup), CASE(over_and_over, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
