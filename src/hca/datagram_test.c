/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter's UC and UD from verbs' side, over a fake engine: what differs from RC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hca/fake_engine.h"
#include "hca/grh.h"
#include "wire/ip.h"

enum { QKEY = 0x1234567, GRH = 40 };

struct trio {
	struct fake_world *w;
	struct hca_cq *scq, *rcq;
	struct hca_srq *srq;
	struct hca_qp *a, *b, *c;
	struct hca_ah *ah;
	uint8_t src[8192], dst[8192];
	struct hca_mr *src_mr, *dst_mr;
};

static struct hca_mr *reg(struct fake_world *w, void *addr, size_t len, uint32_t access)
{
	struct hca_mr_attr attr = { .addr = (uintptr_t)addr, .length = len, .iova = (uintptr_t)addr, .access = access };
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_reg(w->pd, &attr, NULL, &mr), 0);
	return mr;
}

static int to_rts(struct hca_qp *qp, enum hca_qp_type type, uint32_t dest_qpn)
{
	const uint32_t init = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT |
			      (type == HCA_QPT_UD ? HCA_QP_QKEY : HCA_QP_ACCESS_FLAGS);
	const uint32_t rtr = type == HCA_QPT_UD ? HCA_QP_STATE :
						  HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN;
	struct hca_qp_attr attr = fake_attr(dest_qpn);
	int err;

	attr.qkey = QKEY;
	attr.state = HCA_QPS_INIT;
	err = hca_qp_modify(qp, &attr, init);
	attr.state = HCA_QPS_RTR;
	if (err == 0)
		err = hca_qp_modify(qp, &attr, rtr);
	attr.state = HCA_QPS_RTS;
	return err != 0 ? err : hca_qp_modify(qp, &attr, HCA_QP_STATE | HCA_QP_SQ_PSN);
}

static struct trio *trio_create(enum hca_qp_type type, bool with_srq)
{
	struct trio *t = calloc(1, sizeof(*t));
	struct hca_srq_attr srq_attr = { .max_wr = 8, .max_sge = 2 };
	struct hca_ah_attr ah_attr = { .is_global = true, .port_num = 1 };

	t->w = fake_world_create();
	t->scq = fake_cq(t->w, 64, NULL);
	t->rcq = fake_cq(t->w, 64, NULL);
	if (with_srq)
		assert_int_equal(hca_srq_create(t->w->pd, &srq_attr, NULL, &t->srq), 0);
	t->a = fake_qp_typed(t->w, type, t->scq, t->rcq, t->srq, true);
	t->b = fake_qp_typed(t->w, type, t->scq, t->rcq, t->srq, true);
	t->c = fake_qp_typed(t->w, type, t->scq, t->rcq, t->srq, true);
	assert_int_equal(to_rts(t->a, type, hca_qp_number(t->b)), 0);
	assert_int_equal(to_rts(t->b, type, hca_qp_number(t->a)), 0);
	assert_int_equal(to_rts(t->c, type, hca_qp_number(t->a)), 0);
	ah_attr.dgid.raw[15] = 1;
	assert_int_equal(hca_ah_create(t->w->pd, &ah_attr, &t->ah), 0);
	for (size_t i = 0; i < sizeof(t->src); i++)
		t->src[i] = (uint8_t)(i * 7 + (i >> 8));
	t->src_mr = reg(t->w, t->src, sizeof(t->src), 0);
	t->dst_mr = reg(t->w, t->dst, sizeof(t->dst), 3);
	return t;
}

static void trio_destroy(struct trio *t)
{
	if (t->ah != NULL)
		hca_ah_destroy(t->ah);
	hca_qp_destroy(t->a);
	hca_qp_destroy(t->b);
	hca_qp_destroy(t->c);
	if (t->srq != NULL)
		assert_int_equal(hca_srq_destroy(t->srq), 0);
	hca_mr_dereg(t->src_mr);
	hca_mr_dereg(t->dst_mr);
	assert_int_equal(hca_cq_destroy(t->scq), 0);
	assert_int_equal(hca_cq_destroy(t->rcq), 0);
	fake_world_destroy(t->w);
	free(t);
}

static int post_send(struct trio *t, uint32_t len, const struct hca_qp *to, uint32_t qkey, uint64_t wr_id)
{
	const struct transport_sge sge = { (uintptr_t)t->src, len, hca_mr_lkey(t->src_mr) };
	const struct hca_send_wr wr = {
		.wr_id = wr_id, .sge = &sge, .num_sge = 1, .opcode = TRANSPORT_OP_SEND_WITH_IMM, .imm_or_inv = (uint32_t)wr_id,
		.ah = t->ah, .remote_qpn = hca_qp_number(to), .remote_qkey = qkey,
	};

	return fake_send(t->a, &wr);
}

static int post_recv(struct trio *t, struct hca_qp *qp, uint32_t at, uint32_t len, uint64_t wr_id)
{
	const struct transport_sge sge = { (uintptr_t)t->dst + at, len, hca_mr_lkey(t->dst_mr) };

	return t->srq != NULL ? hca_srq_post(t->srq, wr_id, &sge, 1) : hca_qp_post_recv(qp, wr_id, &sge, 1);
}

static void expect(struct hca_cq *cq, uint64_t wr_id, uint32_t status, struct hca_wc *wc)
{
	struct hca_wc own;

	wc = wc == NULL ? &own : wc;
	assert_int_equal(hca_cq_poll(cq, 1, wc), 1);
	assert_int_equal(wc->wr_id, wr_id);
	assert_int_equal(wc->status, status);
}

static void expect_nothing(struct hca_cq *cq)
{
	struct hca_wc wc;

	assert_int_equal(hca_cq_poll(cq, 1, &wc), 0);
}

static uint64_t counted(struct trio *t, const char *name)
{
	struct hca_port_attr port;

	hca_device_query_port(t->w->device, &port);
	return strcmp(name, "qkey") == 0 ? port.qkey_viol_cntr : port.bad_pkey_cntr;
}

static void uc_moves_data(void **state)
{
	struct trio *t = trio_create(HCA_QPT_UC, false);
	const struct transport_sge sge = { (uintptr_t)t->src, 4096, hca_mr_lkey(t->src_mr) };
	const struct hca_send_wr write = {
		.wr_id = 2, .sge = &sge, .num_sge = 1, .opcode = TRANSPORT_OP_RDMA_WRITE, .rkey = hca_mr_rkey(t->dst_mr),
		.remote_addr = (uintptr_t)t->dst + 4096,
	};
	struct hca_send_wr read = write;
	struct hca_qp_attr attr;
	struct hca_wc wc;

	assert_int_equal(post_recv(t, t->b, 0, 4096, 9), 0);
	assert_int_equal(post_send(t, 4000, t->b, 0, 1), 0);
	assert_int_equal(fake_send(t->a, &write), 0);
	expect(t->scq, 1, TRANSPORT_SUCCESS, NULL);
	expect(t->scq, 2, TRANSPORT_SUCCESS, NULL);
	expect(t->rcq, 9, TRANSPORT_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 4000);
	assert_int_equal(wc.imm_or_inv, 1);
	assert_memory_equal(t->dst, t->src, 4000);
	assert_memory_equal(t->dst + 4096, t->src, 4096);
	read.opcode = TRANSPORT_OP_RDMA_READ;
	assert_int_equal(fake_send(t->a, &read), BASE_ERR_INVAL);
	hca_qp_query(t->a, &attr, NULL);
	assert_int_equal(attr.state, HCA_QPS_RTS);
	assert_int_equal(attr.sq_psn, (0xfffffe + 4 + 4) & 0xffffff); /* MTU 1024 */
	hca_qp_query(t->b, &attr, NULL);
	assert_int_equal(attr.rq_psn, (0xfffffe + 4 + 4) & 0xffffff);
	/* Somebody else's packets for this QP are no news to it. */
	const struct transport_sge small = { (uintptr_t)t->src, 8, hca_mr_lkey(t->src_mr) };
	struct hca_send_wr stray = write;
	stray.sge = &small;
	memset(t->dst + 4096, 0, 8);
	assert_int_equal(to_rts(t->c, HCA_QPT_UC, 0), BASE_ERR_INVAL); /* already there */
	assert_int_equal(fake_state(t->c, HCA_QPS_RESET), 0);
	assert_int_equal(to_rts(t->c, HCA_QPT_UC, hca_qp_number(t->a)), 0);
	assert_int_equal(fake_send(t->c, &stray), 0);
	trio_destroy(t);
}

/* One QP, several destinations; the address handle may go before the work request is done. */
static void ud_goes_where_each_request_says(void **state)
{
	struct trio *t = trio_create(HCA_QPT_UD, false);
	static const uint8_t zero[16];
	struct hca_wc wc;

	assert_int_equal(post_recv(t, t->b, 0, 1024 + GRH, 11), 0);
	assert_int_equal(post_recv(t, t->c, 4096, 1024 + GRH, 12), 0);
	t->w->engine.stopped = true;
	assert_int_equal(post_send(t, 1024, t->b, QKEY, 1), 0);
	assert_int_equal(post_send(t, 100, t->c, QKEY, 2), 0);
	hca_ah_destroy(t->ah);
	t->ah = NULL;
	t->w->engine.stopped = false;
	expect(t->scq, 1, TRANSPORT_SUCCESS, NULL);
	expect(t->scq, 2, TRANSPORT_SUCCESS, NULL);
	expect(t->rcq, 11, TRANSPORT_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 1024 + GRH);
	assert_int_equal(wc.wc_flags, TRANSPORT_WC_GRH | TRANSPORT_WC_WITH_IMM);
	assert_int_equal(wc.src_qp, hca_qp_number(t->a));
	assert_int_equal(wc.qp_num, hca_qp_number(t->b));
	assert_memory_equal(t->dst + GRH, t->src, 1024);
	/* The GID in fake_engine.h: ::1, v2. */
	assert_int_equal(t->dst[0] >> 4, 6);
	assert_int_equal(t->dst[6], WIRE_PROTOCOL_UDP);
	assert_int_equal(t->dst[4] << 8 | t->dst[5], 8 + 12 + 8 + 4 + 1024 + 4);
	assert_memory_equal(t->dst + 8, zero, 15);
	assert_int_equal(t->dst[39], 1);
	expect(t->rcq, 12, TRANSPORT_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 100 + GRH);
	assert_int_equal(wc.imm_or_inv, 2);
	assert_int_equal(wc.qp_num, hca_qp_number(t->c));
	assert_int_equal(post_send(t, 8, t->b, QKEY, 3), BASE_ERR_INVAL); /* no address */
	trio_destroy(t);
}

static void ud_drops_are_silent_and_counted(void **state)
{
	struct trio *t = trio_create(HCA_QPT_UD, false);

	assert_int_equal(post_recv(t, t->b, 0, 100 + GRH, 11), 0);
	assert_int_equal(post_send(t, 100, t->b, QKEY + 1, 1), 0);
	assert_int_equal(post_send(t, 101, t->b, QKEY, 2), 0);  /* too long for the receive, which serves the next */
	for (uint64_t i = 1; i <= 2; i++)
		expect(t->scq, i, TRANSPORT_SUCCESS, NULL);
	expect_nothing(t->rcq);
	assert_int_equal(counted(t, "qkey"), 1);
	assert_int_equal(t->w->engine.packets, 2);
	assert_int_equal(post_send(t, 100, t->b, QKEY, 4), 0);
	expect(t->rcq, 11, TRANSPORT_SUCCESS, NULL);
	trio_destroy(t);
}

/* A run that finds no receive waits 1 ms for one, but only the first since one was taken. */
static void check_dry(enum hca_qp_type type, bool with_srq)
{
	struct trio *t = trio_create(type, with_srq);
	struct fake_engine *e = &t->w->engine;

	e->may_wait = true;
	assert_int_equal(post_send(t, 10, t->b, QKEY, 1), 0);
	expect(t->scq, 1, TRANSPORT_SUCCESS, NULL);
	expect_nothing(t->rcq);
	assert_true(e->kept && e->kept_until > e->now && e->kept_until <= e->now + 1000000);
	/* Posting is enough, nobody polls. */
	assert_int_equal(post_recv(t, t->b, 0, 1000, 11), 0);
	assert_false(e->kept);
	expect(t->rcq, 11, TRANSPORT_SUCCESS, NULL);

	assert_int_equal(post_send(t, 10, t->b, QKEY, 2), 0);
	assert_true(e->kept);
	e->now += 500000;
	expect_nothing(t->rcq);
	assert_true(e->kept);
	e->now = e->kept_until;
	expect_nothing(t->rcq);
	assert_false(e->kept);
	/* Still dry: no more patience. */
	assert_int_equal(post_send(t, 10, t->b, QKEY, 3), 0);
	assert_false(e->kept);
	assert_int_equal(post_recv(t, t->b, 0, 1000, 12), 0);
	assert_int_equal(post_send(t, 10, t->b, QKEY, 4), 0);
	struct hca_wc wc;
	expect(t->rcq, 12, TRANSPORT_SUCCESS, &wc);
	assert_int_equal(wc.imm_or_inv, 4);
	/* A new spell. */
	assert_int_equal(post_send(t, 10, t->b, QKEY, 5), 0);
	assert_true(e->kept);
	/* On links that cannot wait it is over at once. */
	e->may_wait = false;
	expect_nothing(t->rcq);
	assert_false(e->kept);
	trio_destroy(t);
}

static void uc_waits_for_receives(void **state)
{
	check_dry(HCA_QPT_UC, false);
}

static void ud_waits_for_receives(void **state)
{
	check_dry(HCA_QPT_UD, false);
}

static void srq_ends_the_wait(void **state)
{
	check_dry(HCA_QPT_UC, true);
	check_dry(HCA_QPT_UD, true);
}

/* A QP that waits on an SRQ may go. */
static void waiting_qp_may_go(void **state)
{
	struct trio *t = trio_create(HCA_QPT_UD, true);

	t->w->engine.may_wait = true;
	assert_int_equal(post_send(t, 10, t->b, QKEY, 1), 0);
	assert_true(t->w->engine.kept);
	hca_qp_destroy(t->b);
	assert_int_equal(post_recv(t, NULL, 0, 1000, 11), 0);
	t->b = fake_qp_typed(t->w, HCA_QPT_UD, t->scq, t->rcq, t->srq, true);
	expect_nothing(t->rcq);
	trio_destroy(t);
}

/* A bad send flushes the send queue and nothing else; back to RTS, it goes on. */
static void check_sqe(enum hca_qp_type type)
{
	struct trio *t = trio_create(type, false);
	const struct transport_sge bad = { (uintptr_t)t->src, 8, 0xdead };
	const struct hca_send_wr wr = {
		.wr_id = 1, .sge = &bad, .num_sge = 1, .opcode = TRANSPORT_OP_SEND, .ah = t->ah,
		.remote_qpn = hca_qp_number(t->b), .remote_qkey = QKEY,
	};
	struct hca_qp_attr attr;

	assert_int_equal(post_recv(t, t->a, 0, 1000, 21), 0);
	assert_int_equal(post_recv(t, t->b, 2000, 1000, 22), 0);
	t->w->engine.stopped = true;
	assert_int_equal(fake_send(t->a, &wr), 0);
	assert_int_equal(post_send(t, 8, t->b, QKEY, 2), 0);
	t->w->engine.stopped = false;
	expect(t->scq, 1, TRANSPORT_LOC_PROT_ERR, NULL);
	expect(t->scq, 2, TRANSPORT_WR_FLUSH_ERR, NULL);
	assert_int_equal(hca_qp_state_get(t->a), HCA_QPS_SQE);
	assert_int_equal(post_send(t, 8, t->b, QKEY, 3), 0);
	expect(t->scq, 3, TRANSPORT_WR_FLUSH_ERR, NULL);
	expect_nothing(t->rcq);
	hca_qp_query(t->a, &attr, NULL);
	assert_int_equal(attr.state, HCA_QPS_SQE);
	assert_int_equal(fake_state(t->a, HCA_QPS_RTS), 0);
	assert_int_equal(post_send(t, 8, t->b, QKEY, 4), 0);
	expect(t->scq, 4, TRANSPORT_SUCCESS, NULL);
	expect(t->rcq, 22, TRANSPORT_SUCCESS, NULL);
	assert_int_equal(fake_state(t->a, HCA_QPS_ERR), 0);
	expect(t->rcq, 21, TRANSPORT_WR_FLUSH_ERR, NULL);
	assert_int_equal(post_send(t, 8, t->b, QKEY, 5), 0);
	expect(t->scq, 5, TRANSPORT_WR_FLUSH_ERR, NULL);
	assert_int_equal(post_recv(t, t->a, 0, 1000, 23), 0);
	expect(t->rcq, 23, TRANSPORT_WR_FLUSH_ERR, NULL);
	trio_destroy(t);
}

static void send_errors_lead_to_sqe(void **state)
{
	check_sqe(HCA_QPT_UC);
	check_sqe(HCA_QPT_UD);
}

static void grh_areas_by_gid_type(void **state)
{
	struct link_rx rx = {
		.run = { .head = { .payload_len = 5, .op = wire_opcode_find(WIRE_UD_SEND_ONLY) }, .packets = 1 },
		.gid_type = WIRE_GID_ROCE_V1, .sgid = { { 0xfe, 0x80, [15] = 1 } }, .dgid = { { 0xfe, 0x80, [15] = 2 } },
		.traffic_class = 0x28, .hop_limit = 63,
	};
	uint8_t area[HCA_GRH_BYTES];
	struct wire_grh grh;
	struct wire_ipv4 ipv4;

	hca_grh_build(area, &rx);
	assert_int_equal(wire_grh_decode(&grh, area, sizeof(area)), 40);
	assert_int_equal(grh.next_header, WIRE_PROTOCOL_IBA);
	assert_int_equal(grh.payload_len, 12 + 8 + 8 + 4);
	assert_true(grh.traffic_class == 0x28 && grh.hop_limit == 63 && wire_gid_equal(&grh.sgid, &rx.sgid) &&
		    wire_gid_equal(&grh.dgid, &rx.dgid));

	rx.gid_type = WIRE_GID_ROCE_V2;
	hca_grh_build(area, &rx);
	assert_int_equal(wire_grh_decode(&grh, area, sizeof(area)), 40);
	assert_int_equal(grh.next_header, WIRE_PROTOCOL_UDP);
	assert_int_equal(grh.payload_len, 8 + 12 + 8 + 8 + 4);

	rx.sgid = (struct wire_gid){ { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
	rx.dgid = (struct wire_gid){ { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	memset(area, 0x55, sizeof(area));
	hca_grh_build(area, &rx);
	for (int i = 0; i < 20; i++)
		assert_int_equal(area[i], 0);
	assert_int_equal(area[20], 0x45);
	assert_int_equal(wire_ipv4_decode(&ipv4, area + 20, 20), 20);
	assert_int_equal(ipv4.checksum, wire_ipv4_checksum(area + 20));
	assert_true(ipv4.tos == 0x28 && ipv4.ttl == 63 && ipv4.protocol == WIRE_PROTOCOL_UDP && ipv4.total_len == 20 + 8 + 32);
	assert_true(memcmp(ipv4.src, rx.sgid.raw + 12, 4) == 0 && memcmp(ipv4.dst, rx.dgid.raw + 12, 4) == 0);
	/* The same addresses as v1 travel under a GRH. */
	rx.gid_type = WIRE_GID_ROCE_V1;
	hca_grh_build(area, &rx);
	assert_int_equal(area[0] >> 4, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_moves_data),
		cmocka_unit_test(ud_goes_where_each_request_says),
		cmocka_unit_test(ud_drops_are_silent_and_counted),
		cmocka_unit_test(uc_waits_for_receives),
		cmocka_unit_test(ud_waits_for_receives),
		cmocka_unit_test(srq_ends_the_wait),
		cmocka_unit_test(waiting_qp_may_go),
		cmocka_unit_test(send_errors_lead_to_sqe),
		cmocka_unit_test(grh_areas_by_gid_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
