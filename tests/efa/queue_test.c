/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program's half of the driver: queues, posting, polling, events, on the model. Two queue pairs of one function send to each other,
 * by the function's own address, in several configurations of hardware.
 */
#include "base/random.h"
#include "efa/driver/queue_pair.h"
#include "rig.h"

enum { QKEY = 0x11111111, BYTES = 16384 };

struct program {
	struct rig rig;
	struct efa_queue_pairs pairs;
	struct efa_completion_queue cq;
	struct efa_queue_pair a, b;
	struct efa_driver_mr mr;
	uint16_t pd, uar, ah;
	uint8_t memory[BYTES];
};

static void to_rts(struct efa_queue_pair *qp)
{
	struct efa_abi_modify_qp init = { .mask = EFA_MODIFY_STATE | EFA_MODIFY_QKEY, .state = EFA_QPS_INIT, .qkey = QKEY };
	struct efa_abi_modify_qp rtr = { .mask = EFA_MODIFY_STATE, .state = EFA_QPS_RTR };
	struct efa_abi_modify_qp rts = { .mask = EFA_MODIFY_STATE | EFA_MODIFY_SQ_PSN, .state = EFA_QPS_RTS };

	assert_int_equal(efa_queue_pair_modify(qp, &init), 0);
	assert_int_equal(efa_queue_pair_modify(qp, &rtr), 0);
	assert_int_equal(efa_queue_pair_modify(qp, &rts), 0);
}

static struct efa_queue_pair_attr attr_of(struct program *p, uint8_t type)
{
	return (struct efa_queue_pair_attr){ .type = type, .pd = p->pd, .uar = p->uar, .max_send_wr = 20, .max_recv_wr = 20,
					     .max_send_sge = 2, .max_recv_sge = 3, .max_inline = 32, .send_cq = &p->cq,
					     .recv_cq = &p->cq };
}

static int setup_with(void **state, const struct efa_device_profile *profile, uint8_t type)
{
	struct program *p = calloc(1, sizeof(*p));
	struct efa_completion_queue_attr cq = { .entries = 200, .wants_gid = true, .has_events = true, .vector = 1 };
	struct efa_queue_pair_attr a, b;
	uint8_t rights = EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_READ | EFA_MR_REMOTE_WRITE;

	rig_init(&p->rig, profile);
	assert_int_equal(efa_driver_probe(&p->rig.driver, &p->rig.config), 0);
	assert_int_equal(efa_queue_pairs_init(&p->pairs, &p->rig.driver), 0);
	assert_int_equal(efa_com_alloc_pd(&p->rig.driver.com, &p->pd), 0);
	assert_int_equal(efa_com_alloc_uar(&p->rig.driver.com, &p->uar), 0);
	assert_int_equal(efa_com_create_ah(&p->rig.driver.com, p->pd, p->rig.driver.network.gid, &p->ah), 0);
	cq.uar = p->uar;
	assert_int_equal(efa_completion_queue_init(&p->cq, &p->rig.driver, &p->pairs, &cq), 0);
	a = b = attr_of(p, type);
	assert_int_equal(efa_queue_pair_init(&p->a, &p->rig.driver, &p->pairs, &a), 0);
	assert_int_equal(efa_queue_pair_init(&p->b, &p->rig.driver, &p->pairs, &b), 0);
	assert_int_equal(a.max_send_wr, 32);
	assert_int_equal(a.max_recv_wr, 21); /* 64 descriptors of which each receive may take three */
	to_rts(&p->a);
	to_rts(&p->b);
	assert_int_equal(efa_driver_reg_mr(&p->rig.driver, p->pd, p->memory, BYTES, (uintptr_t)p->memory, rights, &p->mr), 0);
	for (uint32_t i = 0; i < BYTES; i++)
		p->memory[i] = (uint8_t)(i * 3 + i / 256);
	*state = p;
	return 0;
}

static int setup_srd(void **state)
{
	return setup_with(state, efa_device_profile_find("full"), EFA_QP_SRD);
}

static int setup_ud(void **state)
{
	return setup_with(state, efa_device_profile_find("full"), EFA_QP_UD);
}

/* Several rings to a CQ, batches of sixteen, a least depth, doorbells beside the registers: each once in real hardware. */
static int setup_odd(void **state)
{
	struct efa_device_profile p = *efa_device_profile_find("full");

	p.queue.sub_cqs_per_cq = 4;
	p.queue.min_sq_depth = 32;
	p.queue.max_tx_batch = 16;
	p.device.db_bar = EFA_BAR_REGS;
	return setup_with(state, &p, EFA_QP_SRD);
}

static int teardown(void **state)
{
	struct program *p = *state;

	efa_driver_dereg_mr(&p->rig.driver, &p->mr);
	assert_int_equal(efa_queue_pair_fini(&p->a), 0);
	assert_int_equal(efa_queue_pair_fini(&p->b), 0);
	assert_int_equal(efa_completion_queue_fini(&p->cq), 0);
	efa_queue_pairs_fini(&p->pairs);
	assert_int_equal(efa_com_dealloc_uar(&p->rig.driver.com, p->uar), 0);
	efa_driver_remove(&p->rig.driver, EFA_RESET_NORMAL);
	rig_fini(&p->rig);
	free(p);
	return 0;
}

static struct efa_abi_sge sge(const struct program *p, uint32_t at, uint32_t length)
{
	return (struct efa_abi_sge){ length, p->mr.keys.lkey, (uintptr_t)p->memory + at };
}

static struct efa_send_work send_to(const struct program *p, const struct efa_queue_pair *to, uint64_t wr_id,
				    const struct efa_abi_sge *list, uint32_t num)
{
	return (struct efa_send_work){ .wr_id = wr_id, .ah = p->ah, .dest_qpn = to->qpn, .qkey = QKEY, .sge = list, .num_sge = num };
}

static void run(struct program *p)
{
	while (fabric_run(&p->rig.fabric) > 0) {
	}
}

static struct efa_completion next(struct program *p)
{
	struct efa_completion c;

	assert_int_equal(efa_completion_queue_poll(&p->cq, &c), 0);
	return c;
}

static void none(struct program *p)
{
	struct efa_completion c;

	assert_int_equal(efa_completion_queue_poll(&p->cq, &c), BASE_ERR_AGAIN);
}

/* Goal: work requests keep their ids over many laps of all rings, though completions come in any order. */
static void traffic(void **state)
{
	struct program *p = *state;
	struct base_random random = { 12 };
	uint32_t prefix = p->a.type == EFA_QP_UD ? 40 : 0;
	uint64_t sent = 0, received = 0, done = 0, got = 0, sum_sent = 0, sum_received = 0, sum_done = 0, sum_got = 0;

	p->rig.fabric.shuffles = true;
	for (uint32_t round = 0; round < 300; round++) {
		struct efa_abi_sge in[3] = { sge(p, 8192, 50), sge(p, 9000, 60), sge(p, 10000, 300) }, out[2];
		struct efa_completion c;

		while (received - got < 21) {
			assert_int_equal(efa_queue_pair_receive(&p->b, received, in, 1 + 2 * (received & 1) + (received & 1 ? 0 : 1)), 0);
			sum_received += received++;
		}
		for (uint64_t n = base_random_below(&random, 21); n > 0; n--, sent++) {
			uint32_t length = (uint32_t)base_random_below(&random, 60);
			struct efa_send_work work;

			out[0] = sge(p, 0, length / 2);
			out[1] = sge(p, 100, length - length / 2);
			work = send_to(p, &p->b, sent << 32, out, 2);
			work.is_inline = length <= 32 && (sent & 1);
			work.has_imm = true;
			work.imm = length;
			assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
			sum_sent += sent;
		}
		efa_queue_pair_ring(&p->b);
		efa_queue_pair_ring(&p->a);
		run(p);
		while (efa_completion_queue_poll(&p->cq, &c) == 0) {
			assert_int_equal(c.cqe.status, 0);
			if (c.is_send) {
				assert_ptr_equal(c.qp, &p->a);
				sum_done += c.wr_id >> 32;
				done++;
				continue;
			}
			assert_ptr_equal(c.qp, &p->b);
			assert_int_equal(c.cqe.length, c.cqe.imm + prefix);
			assert_int_equal(c.cqe.ah, p->ah);
			sum_got += c.wr_id;
			got++;
		}
		efa_completion_queue_advance(&p->cq);
	}
	assert_true(sent > 2700 && done == sent && got == sent);
	assert_true(sum_done == sum_sent && sum_got <= sum_received);
	assert_int_equal(efa_device_stats(p->rig.device)->cq_overruns + efa_device_stats(p->rig.device)->bad_doorbells, 0);
	assert_int_equal(efa_device_stats(p->rig.device)->dma_errors, 0);
}

/* Goal: what is refused before the adapter sees it. */
static void refusals(void **state)
{
	struct program *p = *state;
	struct efa_abi_sge list[4] = { sge(p, 0, 8), sge(p, 8, 8), sge(p, 16, 8), sge(p, 24, 32) };
	struct efa_send_work work = send_to(p, &p->b, 1, list, 3);
	struct efa_queue_pair idle;
	struct efa_queue_pair_attr attr = attr_of(p, EFA_QP_SRD);
	struct efa_abi_modify_qp err = { .mask = EFA_MODIFY_STATE, .state = EFA_QPS_ERR };
	uint32_t fits = 0;

	assert_int_equal(efa_queue_pair_send(&p->a, &work), BASE_ERR_INVAL); /* elements */
	work.is_inline = true;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
	work.num_sge = 4; /* 56 bytes */
	assert_int_equal(efa_queue_pair_send(&p->a, &work), BASE_ERR_INVAL);
	work.num_sge = 1;
	work.op = EFA_WQE_RDMA_READ;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), BASE_ERR_INVAL);
	work.op = EFA_WQE_FAST_REG;
	work.is_inline = false;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), BASE_ERR_INVAL);
	assert_int_equal(efa_queue_pair_receive(&p->a, 1, list, 4), BASE_ERR_INVAL);
	assert_int_equal(efa_queue_pair_receive(&p->a, 1, list, 0), BASE_ERR_INVAL);
	efa_queue_pair_abort(&p->a); /* the one that was good is taken back */
	work.op = EFA_WQE_SEND;
	while (efa_queue_pair_send(&p->a, &work) == 0)
		fits++;
	assert_int_equal(fits, 32);
	assert_int_equal(efa_queue_pair_send(&p->a, &work), BASE_ERR_NOMEM);
	for (fits = 0; efa_queue_pair_receive(&p->a, fits, list, 3) == 0; fits++) {
	}
	assert_int_equal(fits, 21);
	efa_queue_pair_abort(&p->a);
	efa_queue_pair_ring(&p->a);
	run(p);
	/* Batches that were rung on the way have been sent; the others never were. */
	for (struct efa_completion c; efa_completion_queue_poll(&p->cq, &c) == 0;)
		assert_int_equal(c.cqe.status, EFA_STATUS_REMOTE_RNR);
	assert_int_equal(efa_queue_pair_init(&idle, &p->rig.driver, &p->pairs, &attr), 0);
	assert_int_equal(efa_queue_pair_send(&idle, &work), BASE_ERR_INVAL);
	assert_int_equal(efa_queue_pair_receive(&idle, 1, list, 1), BASE_ERR_INVAL);
	assert_int_equal(efa_queue_pair_modify(&idle, &err), BASE_ERR_INVAL); /* RESET to ERR */
	assert_int_equal(efa_queue_pair_fini(&idle), 0);
#define TOO_MUCH(...) do { struct efa_queue_pair_attr much = attr_of(p, EFA_QP_SRD); __VA_ARGS__; \
		assert_int_equal(efa_queue_pair_init(&idle, &p->rig.driver, &p->pairs, &much), BASE_ERR_INVAL); } while (0)
	TOO_MUCH(much.max_send_wr = 4097);
	TOO_MUCH(much.max_recv_wr = 10923);
	TOO_MUCH(much.max_send_sge = 3);
	TOO_MUCH(much.max_recv_sge = 4);
	TOO_MUCH(much.max_inline = 33);
	TOO_MUCH(much.type = 5);
	TOO_MUCH(much.pd = 99);
	assert_int_equal(efa_completion_queue_fini(&p->cq), BASE_ERR_INVAL); /* in use */
}

/* Goal: RDMA from one queue pair of the program to the other's memory, by key and address. */
static void remote_access(void **state)
{
	struct program *p = *state;
	struct efa_abi_sge local = sge(p, 0, 1000);
	struct efa_send_work work = send_to(p, &p->b, 7, &local, 1);

	work.op = EFA_WQE_RDMA_WRITE;
	work.remote = (struct efa_abi_remote){ .rkey = p->mr.keys.rkey, .addr = (uintptr_t)p->memory + 8000 };
	assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
	efa_queue_pair_ring(&p->a);
	run(p);
	assert_int_equal(next(p).cqe.status, 0);
	assert_memory_equal(p->memory, p->memory + 8000, 1000);
	memset(p->memory + 8000, 9, 1000);
	work.op = EFA_WQE_RDMA_READ;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
	efa_queue_pair_ring(&p->a);
	run(p);
	assert_int_equal(next(p).cqe.status, 0);
	assert_int_equal(p->memory[999], 9);
	work.remote.rkey ^= 1u << 25;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
	efa_queue_pair_ring(&p->a);
	run(p);
	assert_int_equal(next(p).cqe.status, EFA_STATUS_REMOTE_ADDRESS);
	none(p);
}

/* Goal: what a destroyed queue pair left in the ring is passed over, also when its place has a new one; RESET begins anew. */
static void leftovers(void **state)
{
	struct program *p = *state;
	struct efa_abi_sge list = sge(p, 0, 8);
	struct efa_send_work work = send_to(p, &p->b, 5, &list, 1);
	struct efa_queue_pair_attr attr = attr_of(p, p->b.type);
	struct efa_abi_modify_qp reset = { .mask = EFA_MODIFY_STATE, .state = EFA_QPS_RESET };

	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(efa_queue_pair_receive(&p->b, 6, &list, 1), 0);
		efa_queue_pair_ring(&p->b);
		work.dest_qpn = p->b.qpn;
		assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
		efa_queue_pair_ring(&p->a);
		run(p);
		assert_int_equal(efa_queue_pair_fini(&p->b), 0);
		assert_int_equal(efa_queue_pair_init(&p->b, &p->rig.driver, &p->pairs, &attr), 0);
		attr = attr_of(p, p->b.type);
		to_rts(&p->b);
		assert_int_equal(next(p).wr_id, 5);
		none(p);
	}
	assert_int_equal(efa_queue_pair_receive(&p->b, 6, &list, 1), 0);
	efa_queue_pair_ring(&p->b);
	assert_int_equal(efa_queue_pair_modify(&p->b, &reset), 0);
	to_rts(&p->b);
	work.dest_qpn = p->b.qpn;
	assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
	efa_queue_pair_ring(&p->a);
	run(p);
	assert_int_equal(next(p).cqe.status, EFA_STATUS_REMOTE_RNR);
}

/* Goal: waiting for events loses none, whichever comes first, the completion or the arming. */
static void events(void **state)
{
	struct program *p = *state;
	struct base_random random = { 21 };
	struct efa_abi_sge list = sge(p, 0, 8);
	struct efa_send_work work = send_to(p, &p->b, 5, &list, 1);

	for (uint32_t i = 0; i < 400; i++) {
		uint32_t before = p->rig.events;
		bool first = base_random_next(&random) & 1;

		work.dest_qpn = 0x7f00; /* nobody: one completion, an error */
		if (first)
			assert_int_equal(efa_completion_queue_arm(&p->cq), 0);
		assert_int_equal(efa_queue_pair_send(&p->a, &work), 0);
		efa_queue_pair_ring(&p->a);
		run(p);
		if (!first)
			assert_int_equal(efa_completion_queue_arm(&p->cq), 0);
		efa_driver_interrupts(&p->rig.driver);
		assert_int_equal(p->rig.events, before + 1);
		assert_int_equal(p->rig.event_cq, p->cq.index);
		efa_completion_queue_event_taken(&p->cq);
		assert_int_equal(next(p).cqe.status, EFA_STATUS_REMOTE_QPN);
		none(p);
		efa_completion_queue_advance(&p->cq);
	}
}

/* Goal: a completion that names no request corrupts nothing. */
static void invented(void **state)
{
	struct program *p = *state;
	struct efa_abi_cqe cqe = { .req_id = 31, .qp_num = p->a.qpn, .queue = EFA_CQE_QUEUE_SEND, .phase = true };
	struct efa_completion c;

	efa_abi_cqe_store(p->cq.ring.bytes, &cqe, EFA_CQE_WIDE_BYTES);
	assert_int_equal(efa_completion_queue_poll(&p->cq, &c), BASE_ERR_MALFORMED);
	none(p);
	p->cq.taken[0] = p->cq.all_taken = 0;
	memset(p->cq.ring.bytes, 0, EFA_CQE_WIDE_BYTES);
}

#define CASE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(traffic, setup_srd), { "traffic of datagrams", traffic, setup_ud, teardown, NULL },
		{ "traffic on odd hardware", traffic, setup_odd, teardown, NULL }, CASE(refusals, setup_srd),
		{ "refusals on odd hardware", refusals, setup_odd, teardown, NULL }, CASE(remote_access, setup_srd),
		CASE(leftovers, setup_srd), { "leftovers on odd hardware", leftovers, setup_odd, teardown, NULL },
		CASE(events, setup_srd), { "events on odd hardware", events, setup_odd, teardown, NULL }, CASE(invented, setup_srd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
