/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs as objects: states, numbers, doorbells and memory that outlive them, and what is left when they go. */
#include "efa/device/test_host.h"

struct fixture {
	struct fabric fabric;
	struct host *h;
	uint16_t pd, uar;
	struct host_cq cq;
};

static int setup_with(void **state, uint32_t max_qp)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct efa_device_profile profile = *efa_device_profile_find("full");

	profile.queue.max_qp = max_qp;
	fabric_init(&f->fabric);
	f->h = host_create(&f->fabric, &profile, 1);
	f->pd = host_pd(f->h);
	f->uar = host_uar(f->h);
	f->cq = host_cq_on(f->h, f->uar, 64, 4, -1);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 256);
}

static int setup_few(void **state)
{
	return setup_with(state, 64);
}

static int setup_one(void **state)
{
	return setup_with(state, 1);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	host_destroy(f->h);
	free(f);
	return 0;
}

static void destroy(struct host *h, const struct host_qp *qp)
{
	assert_int_equal(host_command(h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ qp->info.handle }, NULL), 0);
}

/* What the documents say, written down once more by another hand: required and optional attributes of from -> to. */
static bool oracle(uint8_t type, uint32_t from, uint32_t to, uint32_t mask)
{
	uint32_t need = 0, may = 0;

	if (to == EFA_QPS_RESET || (to == EFA_QPS_ERR && from != EFA_QPS_RESET))
		return mask == 0;
	if (from == EFA_QPS_RESET && to == EFA_QPS_INIT)
		need = EFA_MODIFY_QKEY;
	else if (from == EFA_QPS_INIT && (to == EFA_QPS_INIT || to == EFA_QPS_RTR))
		may = EFA_MODIFY_QKEY;
	else if (from == EFA_QPS_RTR && to == EFA_QPS_RTS) {
		need = EFA_MODIFY_SQ_PSN;
		may = EFA_MODIFY_CUR_STATE | EFA_MODIFY_QKEY | (type == EFA_QP_SRD ? EFA_MODIFY_RNR_RETRY : 0);
	} else if ((from == EFA_QPS_RTS || from == EFA_QPS_SQD || from == EFA_QPS_SQE) && to == EFA_QPS_RTS)
		may = EFA_MODIFY_CUR_STATE | EFA_MODIFY_QKEY;
	else if (from == EFA_QPS_RTS && to == EFA_QPS_SQD)
		may = EFA_MODIFY_SQD_NOTIFY;
	else if (from == EFA_QPS_SQD && to == EFA_QPS_SQD)
		may = EFA_MODIFY_QKEY;
	else
		return false;
	return (mask & need) == need && (mask & ~(need | may)) == 0;
}

static uint32_t state_of(struct host *h, const struct host_qp *qp)
{
	struct efa_abi_query_qp_result out;

	assert_int_equal(host_command(h, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ qp->info.handle }, &out), 0);
	return out.state;
}

static void bring(struct host *h, const struct host_qp *qp, uint32_t to)
{
	host_modify(h, qp, EFA_QPS_RESET, 0, 0);
	if (to >= EFA_QPS_INIT)
		host_modify(h, qp, EFA_QPS_INIT, EFA_MODIFY_QKEY, 0);
	if (to >= EFA_QPS_RTR && to != EFA_QPS_ERR)
		host_modify(h, qp, EFA_QPS_RTR, 0, 0);
	if (to >= EFA_QPS_RTS && to != EFA_QPS_ERR)
		host_modify(h, qp, EFA_QPS_RTS, EFA_MODIFY_SQ_PSN, 0);
	if (to == EFA_QPS_SQD)
		host_modify(h, qp, EFA_QPS_SQD, 0, 0);
	if (to == EFA_QPS_ERR)
		host_modify(h, qp, EFA_QPS_ERR, 0, 0);
	assert_int_equal(state_of(h, qp), to);
}

/* Goal: every (type, from, to, attributes) is answered as the tables say, and a refusal changes nothing. */
static void transitions(void **state)
{
	struct fixture *f = *state;
	uint32_t allowed = 0;

	for (uint8_t type = EFA_QP_UD; type <= EFA_QP_SRD; type++) {
		struct host_qp qp = host_qp_create(f->h, f->uar, f->pd, type, &f->cq, 16, 16, 0);

		for (uint32_t from = 0; from < EFA_QPS_COUNT; from++) {
			if (from == EFA_QPS_SQE)
				continue; /* nothing leads there */
			bring(f->h, &qp, from);
			for (uint32_t to = 0; to < EFA_QPS_COUNT + 2; to++) {
				for (uint32_t mask = 0; mask < 64; mask += 2) {
					struct efa_abi_modify_qp in = { .mask = mask | EFA_MODIFY_STATE, .handle = qp.info.handle,
									.state = to, .cur_state = from };
					bool good = to < EFA_QPS_COUNT && oracle(type, from, to, mask);

					assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL),
							 good ? EFA_ADMIN_OK : EFA_ADMIN_ILLEGAL);
					if (good && to != from)
						bring(f->h, &qp, from);
					allowed += good;
				}
			}
			assert_int_equal(state_of(f->h, &qp), from);
		}
		destroy(f->h, &qp);
	}
	assert_in_range(allowed, 60, 120);
}

/* Goal: values: the state it is in must be that, no unknown attribute, RNR retries up to 7, attributes without a state. */
static void values(void **state)
{
	struct fixture *f = *state;
	struct host_qp qp = host_qp_create(f->h, f->uar, f->pd, EFA_QP_SRD, &f->cq, 16, 16, 0);
	struct efa_abi_modify_qp in = { .mask = EFA_MODIFY_STATE | EFA_MODIFY_CUR_STATE, .handle = qp.info.handle,
					.state = EFA_QPS_RTS, .cur_state = EFA_QPS_RTR };
	struct efa_abi_query_qp_result out;

	bring(f->h, &qp, EFA_QPS_RTS);
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), EFA_ADMIN_ILLEGAL);
	in.cur_state = EFA_QPS_RTS;
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), 0);
	in.mask |= 64;
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), EFA_ADMIN_ILLEGAL);
	in = (struct efa_abi_modify_qp){ .mask = EFA_MODIFY_QKEY, .handle = qp.info.handle, .qkey = 0x80000001 };
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), 0);
	bring(f->h, &qp, EFA_QPS_RTR);
	in = (struct efa_abi_modify_qp){ .mask = EFA_MODIFY_STATE | EFA_MODIFY_SQ_PSN | EFA_MODIFY_RNR_RETRY | EFA_MODIFY_QKEY,
					 .handle = qp.info.handle, .state = EFA_QPS_RTS, .sq_psn = 0x123456, .rnr_retry = 8,
					 .qkey = 0x80000002 };
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), EFA_ADMIN_ILLEGAL);
	in.rnr_retry = 7;
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), 0);
	assert_int_equal(host_command(f->h, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ qp.info.handle }, &out), 0);
	assert_int_equal(out.sq_psn, 0x123456);
	assert_int_equal(out.rnr_retry, 7);
	assert_int_equal(out.qkey, 0x80000002);
	in.handle += 0x10000;
	assert_int_equal(host_command(f->h, EFA_OP_MODIFY_QP, &in, NULL), EFA_ADMIN_ILLEGAL);
	assert_int_equal(host_command(f->h, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ 0xffff }, NULL), EFA_ADMIN_ILLEGAL);
}

/* Goal: numbers index a table of max_qp by their low bits, are never those of nobody, and the same one does not come back soon. */
static void numbers(void **state)
{
	struct fixture *f = *state;
	static uint8_t seen[65536];
	struct host_qp qps[256];
	uint32_t used = f->h->used;
	uint8_t low[256] = { 0 };

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < 255; i++) { /* 510 doorbells, and one of the CQ */
		f->h->used = used;
		qps[i] = host_qp_create(f->h, f->uar, f->pd, EFA_QP_UD, &f->cq, 1, 1, 0);
		assert_int_equal(low[qps[i].info.qp_num & 255]++, 0);
	}
	f->h->used = used;
	{
		struct efa_abi_create_qp in = { .pd = f->pd, .uar = f->uar, .type = EFA_QP_UD, .send_cq = f->cq.info.cq_idx,
						.recv_cq = f->cq.info.cq_idx };

		assert_int_equal(host_command(f->h, EFA_OP_CREATE_QP, &in, NULL), EFA_ADMIN_NO_RESOURCE); /* no doorbell */
		in.uar = host_uar(f->h);
		in.send_cq = in.recv_cq = host_cq_on(f->h, in.uar, 16, 4, -1).info.cq_idx;
		assert_int_equal(host_command(f->h, EFA_OP_CREATE_QP, &in, NULL), 0); /* the 256th, without queues */
		assert_int_equal(host_command(f->h, EFA_OP_CREATE_QP, &in, NULL), EFA_ADMIN_NO_RESOURCE);
	}
	for (uint32_t i = 0; i < 255; i++)
		destroy(f->h, &qps[i]);
	for (uint32_t i = 0; i < 16 * 200; i++) {
		struct host_qp qp;

		f->h->used = used;
		qp = host_qp_create(f->h, f->uar, f->pd, EFA_QP_UD, &f->cq, 1, 1, 0);
		assert_true(qp.info.qp_num != 0 && qp.info.qp_num != 0xffff);
		assert_int_equal(seen[qp.info.qp_num]++, 0);
		destroy(f->h, &qp);
	}
}

/* Goal: the number of nobody is passed over when the generations of the first place wrap. */
static void first_place(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_create_qp in = { .pd = f->pd, .uar = f->uar, .type = EFA_QP_UD, .send_cq = f->cq.info.cq_idx,
					.recv_cq = f->cq.info.cq_idx };
	struct efa_abi_create_qp_result out;

	for (uint32_t i = 0; i < 600; i++) {
		assert_int_equal(host_command(f->h, EFA_OP_CREATE_QP, &in, &out), 0);
		assert_int_equal(out.qp_num & 255, 0);
		assert_true(out.qp_num != 0);
		assert_int_equal(host_command(f->h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ out.handle }, NULL), 0);
	}
}

/* Goal: a program that destroyed its queue pair and kept its mappings scribbles on nobody else's until its UAR is gone. */
static void quarantine(void **state)
{
	struct fixture *f = *state;
	struct host *h = f->h;
	struct host_qp old = host_qp_create(h, f->uar, f->pd, EFA_QP_SRD, &f->cq, 16, 16, 0), mine[40];
	uint16_t uar = host_uar(h);
	struct host_cq cq = host_cq_on(h, uar, 64, 4, -1);
	struct efa_abi_create_qp_result info = old.info;
	uint64_t stale = efa_device_stats(h->device)->stale_doorbells;

	destroy(h, &old);
	for (uint32_t i = 0; i < 40; i++) {
		mine[i] = host_qp_create(h, uar, f->pd, EFA_QP_SRD, &cq, 16, 16, 0);
		assert_true(mine[i].info.llq_offset != info.llq_offset);
		assert_true(mine[i].info.sq_db_offset / 4096 != info.sq_db_offset / 4096);
		memset(mine[i].llq, 0x5a, 16 * 64);
	}
	memset(old.llq, 0xff, 16 * 64);
	for (uint32_t i = 0; i < 512; i++) {
		if (i * 8 != f->cq.info.db_offset % 4096)
			host_doorbell(h, info.sq_db_offset / 4096 * 4096 + i * 8, 0xffff);
	}
	assert_int_equal(efa_device_stats(h->device)->stale_doorbells, stale + 511);
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < 16 * 64; k++)
			assert_int_equal(mine[i].llq[k], 0x5a);
		assert_int_equal(state_of(h, &mine[i]), EFA_QPS_RESET);
	}
	/* His own numbers he gets again; when he is gone, others do. */
	assert_int_equal(host_command(h, EFA_OP_DESTROY_CQ, &(struct efa_abi_cq_idx){ f->cq.info.cq_idx }, NULL), 0);
	assert_int_equal(host_command(h, EFA_OP_DEALLOC_UAR, &(struct efa_abi_uar){ f->uar }, NULL), 0);
	host_doorbell(h, info.sq_db_offset, 1);
	assert_int_equal(efa_device_stats(h->device)->stale_doorbells, stale + 512);
	{
		struct efa_abi_create_qp in = { .pd = f->pd, .uar = uar, .type = EFA_QP_UD, .send_cq = cq.info.cq_idx,
						.recv_cq = cq.info.cq_idx };
		struct efa_abi_create_qp_result out;
		uint32_t got = 0;

		for (uint32_t i = 0; i < 24; i++) {
			assert_int_equal(host_command(h, EFA_OP_CREATE_QP, &in, &out), 0);
			got += out.llq_offset == info.llq_offset;
		}
		assert_int_equal(got, 1);
	}
	/* Doorbells of a page that is no page, between slots, beyond the BAR. */
	host_doorbell(h, 63 * 4096, 1);
	host_doorbell(h, mine[0].info.sq_db_offset + 4, 1);
	h->function.ops->store(h->function.context, EFA_BAR_DOORBELL, UINT64_MAX - 3, 1);
	assert_int_equal(efa_device_stats(h->device)->stale_doorbells, stale + 515);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(transitions, setup, teardown),
		cmocka_unit_test_setup_teardown(values, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(first_place, setup_one, teardown),
		cmocka_unit_test_setup_teardown(quarantine, setup_few, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
