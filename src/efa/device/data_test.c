/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data path between two adapters: messages of both kinds, every status, rings that wrap, events, flushes, RDMA. */
#include "base/random.h"
#include "efa/device/test_host.h"

enum { BUFFER = 12288, DEPTH = 16 };

struct side {
	struct host *h;
	uint16_t pd, uar, ah; /* ah: of the other side */
	struct host_cq cq;
	struct host_qp qp;
	uint8_t *buffer;
	struct efa_abi_reg_mr_result mr;
};

struct fixture {
	struct fabric fabric;
	struct side a, b;
};

static void open_side(struct fixture *f, struct side *s, uint8_t number, uint8_t type, const char *profile)
{
	s->h = host_create(&f->fabric, efa_device_profile_find(profile), number);
	s->pd = host_pd(s->h);
	s->uar = host_uar(s->h);
	s->cq = host_cq_on(s->h, s->uar, 256, EFA_CQ_CAPS_SRC_ADDR | 8, -1);
	s->qp = host_qp_create(s->h, s->uar, s->pd, type, &s->cq, DEPTH, DEPTH, 0);
	s->buffer = host_alloc(s->h, BUFFER);
	for (uint32_t i = 0; i < BUFFER; i++)
		s->buffer[i] = (uint8_t)(i * 7 + number);
	s->mr = host_mr(s->h, s->pd, s->buffer, BUFFER,
			profile[0] == 'v' ? EFA_MR_LOCAL_WRITE : EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_READ | EFA_MR_REMOTE_WRITE);
	host_rts(s->h, &s->qp, 0);
}

static int setup_type(void **state, uint8_t type, const char *profile)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fabric_init(&f->fabric);
	open_side(f, &f->a, 1, type, profile);
	open_side(f, &f->b, 2, type, profile);
	f->a.ah = host_ah(f->a.h, f->a.pd, f->b.h);
	f->b.ah = host_ah(f->b.h, f->b.pd, f->a.h);
	*state = f;
	return 0;
}

static int setup_srd(void **state)
{
	return setup_type(state, EFA_QP_SRD, "full");
}

static int setup_ud(void **state)
{
	return setup_type(state, EFA_QP_UD, "full");
}

static int setup_v1(void **state)
{
	return setup_type(state, EFA_QP_SRD, "v1");
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	host_destroy(f->a.h);
	host_destroy(f->b.h);
	free(f);
	return 0;
}

static struct efa_abi_sge sge_of(const struct side *s, uint32_t at, uint32_t length)
{
	return (struct efa_abi_sge){ length, s->mr.lkey, (uintptr_t)s->buffer + at };
}

/* A send of a's buffer to b's queue pair. */
static struct efa_abi_wqe wqe(const struct fixture *f, uint16_t req_id, uint32_t length)
{
	return (struct efa_abi_wqe){ .req_id = req_id, .dest_qpn = f->b.qp.info.qp_num, .ah = f->a.ah, .qkey = HOST_QKEY, .length = 1,
				     .sge = { sge_of(&f->a, 0, length) } };
}

static void recv(struct side *s, uint16_t req_id, uint32_t at, uint32_t length)
{
	struct efa_abi_sge sge = sge_of(s, at, length);

	host_recv(s->h, &s->qp, req_id, &sge, 1);
}

static struct efa_abi_cqe next(struct side *s)
{
	struct efa_abi_cqe cqe;

	assert_true(host_poll(&s->cq, &cqe));
	return cqe;
}

static void none(struct side *s)
{
	struct efa_abi_cqe cqe;

	assert_false(host_poll(&s->cq, &cqe));
}

/* Sends, runs, and answers the status of the one completion there must be. */
static uint8_t outcome(struct fixture *f, struct efa_abi_wqe w)
{
	struct efa_abi_cqe cqe;

	host_send(f->a.h, &f->a.qp, &w);
	fabric_run(&f->fabric);
	cqe = next(&f->a);
	assert_int_equal(cqe.req_id, w.req_id);
	assert_int_equal(cqe.qp_num, f->a.qp.info.qp_num);
	assert_int_equal(cqe.queue, EFA_CQE_QUEUE_SEND);
	none(&f->a);
	return cqe.status;
}

/* The queue pair still works. */
static void works(struct fixture *f)
{
	struct efa_abi_cqe cqe;

	recv(&f->b, 77, 4096, 64);
	assert_int_equal(outcome(f, wqe(f, 99, 64)), EFA_STATUS_OK);
	cqe = next(&f->b);
	assert_int_equal(cqe.status, EFA_STATUS_OK);
	assert_int_equal(cqe.req_id, 77);
	none(&f->b);
}

/* Goal: bytes, immediate data, both SGE counts, inline, nothing at all; five laps of every ring. */
static void messages(void **state)
{
	struct fixture *f = *state;
	static const uint32_t lengths[] = { 0, 1, 32, 33, 1000, 4096, 8928 };

	for (uint32_t round = 0; round < 5 * 256 / 2; round++) {
		uint32_t length = lengths[round % 7];
		struct efa_abi_wqe w = wqe(f, (uint16_t)round, length);
		struct efa_abi_sge parts[3] = { sge_of(&f->b, 0, 10), sge_of(&f->b, 200, 300), sge_of(&f->b, 1000, 9000) };
		struct efa_abi_cqe cqe;
		uint8_t got[9310];

		if (round % 3 == 1 && length >= 2)
			w.sge[0].length = length / 2, w.sge[1] = sge_of(&f->a, length / 2, length - length / 2), w.length = 2;
		if (round % 5 == 2 && length <= 32) {
			w.ctrl1 = EFA_WQE_INLINE;
			w.length = (uint16_t)length;
			memcpy(w.bytes, f->a.buffer, length);
		}
		if (length == 0)
			w.length = 0;
		if (round & 1) {
			w.ctrl1 |= EFA_WQE_HAS_IMM;
			w.imm = 0x01020304 + round;
		}
		memset(f->b.buffer, 0xcc, BUFFER);
		host_recv(f->b.h, &f->b.qp, (uint16_t)(round ^ 0x5555), parts, 3);
		assert_int_equal(outcome(f, w), EFA_STATUS_OK);
		cqe = next(&f->b);
		assert_int_equal(cqe.status, 0);
		assert_int_equal(cqe.req_id, (uint16_t)(round ^ 0x5555));
		assert_int_equal(cqe.length, length);
		assert_int_equal(cqe.ah, f->b.ah);
		assert_int_equal(cqe.src_qpn, f->a.qp.info.qp_num);
		assert_int_equal(cqe.has_imm, round & 1);
		assert_int_equal(cqe.imm, round & 1 ? 0x01020304 + round : 0);
		memcpy(got, f->b.buffer, 10);
		memcpy(got + 10, f->b.buffer + 200, 300);
		memcpy(got + 310, f->b.buffer + 1000, 9000);
		assert_memory_equal(got, f->a.buffer, length);
		assert_int_equal(got[length], 0xcc);
	}
	assert_int_equal(efa_device_stats(f->a.h->device)->answered[EFA_STATS_MESSAGES][EFA_MESSAGES_SEND_WRS], 640);
	assert_int_equal(efa_device_stats(f->b.h->device)->answered[EFA_STATS_MESSAGES][EFA_MESSAGES_RECV_WRS], 640);
	assert_int_equal(efa_device_stats(f->b.h->device)->answered[EFA_STATS_MESSAGES][EFA_MESSAGES_RECV_BYTES],
			 efa_device_stats(f->a.h->device)->answered[EFA_STATS_MESSAGES][EFA_MESSAGES_SEND_BYTES]);
	assert_int_equal(efa_device_stats(f->b.h->device)->dma_errors + efa_device_stats(f->a.h->device)->dma_errors, 0);
}

/* Goal: a datagram's receive begins with 40 bytes of addresses; what does not fit or match vanishes without an error. */
static void datagrams(void **state)
{
	struct fixture *f = *state;
	struct efa_device_stats *stats = efa_device_stats(f->b.h->device);
	struct efa_abi_wqe w = wqe(f, 1, 100);
	struct efa_abi_cqe cqe;

	recv(&f->b, 1, 0, 140); /* an exact fit */
	assert_int_equal(outcome(f, w), 0);
	cqe = next(&f->b);
	assert_int_equal(cqe.length, 140);
	assert_memory_equal(f->b.buffer, ((const uint8_t[]){ 0x60, 0, 0, 0, 0, 100, 0x1b, 1 }), 8);
	assert_memory_equal(f->b.buffer + 8, efa_device_gid(f->a.h->device), 16);
	assert_memory_equal(f->b.buffer + 24, efa_device_gid(f->b.h->device), 16);
	assert_memory_equal(f->b.buffer + 40, f->a.buffer, 100);
	assert_int_equal(outcome(f, w), 0); /* no receive */
	recv(&f->b, 2, 0, 139);
	assert_int_equal(outcome(f, w), 0); /* a byte short; the receive stays */
	w.qkey++;
	assert_int_equal(outcome(f, w), 0);
	w.qkey--;
	w.dest_qpn ^= 0x100;
	assert_int_equal(outcome(f, w), 0);
	none(&f->b);
	assert_int_equal(stats->answered[EFA_STATS_BASIC][EFA_BASIC_RX_DROPS], 4);
	assert_int_equal(stats->answered[EFA_STATS_BASIC][EFA_BASIC_QKEY_VIOL], 1);
	w = wqe(f, 3, 99);
	assert_int_equal(outcome(f, w), 0);
	assert_int_equal(next(&f->b).req_id, 2);
	w.ctrl1 = EFA_WQE_RDMA_READ;
	w.remote.length = 99;
	assert_int_equal(outcome(f, w), EFA_STATUS_UNSUPPORTED_OP);
}

/* Goal: every refusal has its status, concerns one work request, and the next one succeeds. */
static void statuses(void **state)
{
	struct fixture *f = *state;
	uint16_t lonely = host_pd(f->a.h);
	struct efa_abi_create_ah in = { .gid = { 0xfe, 0x80, 9 }, .pd = f->a.pd };
	struct efa_abi_ah nowhere;
	struct host_qp ud = host_qp_create(f->b.h, f->b.uar, f->b.pd, EFA_QP_UD, &f->b.cq, DEPTH, DEPTH, 0);

	assert_int_equal(host_command(f->a.h, EFA_OP_CREATE_AH, &in, &nowhere), 0);
	host_rts(f->b.h, &ud, 0);
#define EXPECT(status, ...) do { struct efa_abi_wqe w = wqe(f, 5, 64); __VA_ARGS__; \
		assert_int_equal(outcome(f, w), status); none(&f->b); works(f); } while (0)
	EXPECT(EFA_STATUS_UNSUPPORTED_OP, w.ctrl1 = EFA_WQE_FAST_REG);
	EXPECT(EFA_STATUS_UNSUPPORTED_OP, w.ctrl1 = EFA_WQE_FAST_INVALIDATE);
	EXPECT(EFA_STATUS_UNSUPPORTED_OP, w.ctrl1 = 9);
	EXPECT(EFA_STATUS_INVALID_AH, w.ah = 1000);
	EXPECT(EFA_STATUS_INVALID_AH, w.ah = 0xffff);
	EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].lkey ^= 1 << 20);
	EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].lkey = 0);
	EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].addr -= 1);
	EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].addr += BUFFER - 63);
	EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].addr = UINT64_MAX - 3);
	EXPECT(EFA_STATUS_BAD_LENGTH, w.sge[0].length = 8929);
	EXPECT(EFA_STATUS_BAD_LENGTH, w.sge[0].length = UINT32_MAX; w.sge[1].length = 2; w.length = 2);
	EXPECT(EFA_STATUS_REMOTE_QPN, w.dest_qpn ^= 0x100);
	EXPECT(EFA_STATUS_REMOTE_QPN, w.dest_qpn = 200);
	EXPECT(EFA_STATUS_REMOTE_QPN, w.dest_qpn = ud.info.qp_num);
	EXPECT(EFA_STATUS_REMOTE_QPN, w.qkey ^= 0x80000000);
	EXPECT(EFA_STATUS_REMOTE_RNR, (void)0);
	EXPECT(EFA_STATUS_UNREACHABLE, w.ah = nowhere.ah);
	assert_int_equal(efa_device_stats(f->b.h->device)->answered[EFA_STATS_BASIC][EFA_BASIC_QKEY_VIOL], 1);
	/* Too long for the receive, which stays for the next. */
	recv(&f->b, 8, 0, 63);
	assert_int_equal(outcome(f, wqe(f, 6, 64)), EFA_STATUS_REMOTE_LENGTH);
	none(&f->b);
	assert_int_equal(outcome(f, wqe(f, 7, 63)), 0);
	assert_int_equal(next(&f->b).req_id, 8);
	/* The receiver's own key is wrong: both are told. */
	{
		struct efa_abi_sge bad = { 64, f->b.mr.lkey ^ 1 << 21, (uintptr_t)f->b.buffer };

		host_recv(f->b.h, &f->b.qp, 9, &bad, 1);
		assert_int_equal(outcome(f, wqe(f, 8, 64)), EFA_STATUS_REMOTE_LENGTH);
		assert_int_equal(next(&f->b).status, EFA_STATUS_INVALID_LKEY);
		works(f);
	}
	/* A key of another domain of the same program. */
	{
		struct efa_abi_reg_mr_result other = host_mr(f->a.h, lonely, f->a.buffer, 64, 0);

		EXPECT(EFA_STATUS_INVALID_LKEY, w.sge[0].lkey = other.lkey);
	}
}

/* Goal: retries while the receiver is not ready, as many as the queue pair was given. */
static void not_ready(void **state)
{
	struct fixture *f = *state;
	struct host_qp patient = host_qp_create(f->a.h, f->a.uar, f->a.pd, EFA_QP_SRD, &f->a.cq, DEPTH, DEPTH, 0);
	struct efa_abi_wqe w = wqe(f, 1, 64);

	host_rts(f->a.h, &patient, 3);
	host_send(f->a.h, &patient, &w);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(fabric_run(&f->fabric), 1);
		none(&f->a);
	}
	recv(&f->b, 1, 0, 64);
	assert_int_equal(fabric_run(&f->fabric), 0);
	assert_int_equal(next(&f->a).status, 0);
	next(&f->b);
	host_send(f->a.h, &patient, &w);
	for (uint32_t i = 0; i < 4; i++)
		fabric_run(&f->fabric);
	assert_int_equal(next(&f->a).status, EFA_STATUS_REMOTE_RNR);
}

/* Goal: what is no descriptor moves the queue pair to ERR; what was posted after it is flushed, sends and receives. */
static void malformed_sends(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 8; i++) {
		struct host_qp qp = host_qp_create(f->a.h, f->a.uar, f->a.pd, EFA_QP_SRD, &f->a.cq, DEPTH, DEPTH, 0);
		struct efa_abi_wqe good = wqe(f, 2, 8), bad = wqe(f, 1, 8);
		struct efa_abi_sge sge = sge_of(&f->a, 0, 8);
		struct efa_abi_cqe cqe;
		uint8_t *entry = qp.llq;

		host_rts(f->a.h, &qp, 0);
		host_recv(f->a.h, &qp, 3, &sge, 1);
		bad.length = i == 5 ? 3 : i == 6 ? 33 : 1;
		if (i == 6)
			bad.ctrl1 = EFA_WQE_INLINE;
		if (i == 7) {
			bad.ctrl1 = EFA_WQE_RDMA_READ;
			bad.length = 2;
		}
		bad.ctrl1 |= EFA_WQE_META_DESC;
		bad.ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST;
		efa_abi_wqe_store(entry, &bad);
		if (i == 0)
			entry[3] ^= EFA_WQE_PHASE;
		if (i == 1)
			entry[2] ^= EFA_WQE_META_DESC;
		if (i == 2)
			entry[2] |= EFA_WQE_META_EXTENSION;
		if (i == 3)
			entry[3] ^= EFA_WQE_FIRST;
		if (i == 4)
			entry[3] ^= EFA_WQE_LAST;
		qp.sq_count = 1;
		host_send(f->a.h, &qp, &good); /* rings for both */
		cqe = next(&f->a);
		assert_int_equal(cqe.status, EFA_STATUS_QP_INTERNAL);
		assert_int_equal(cqe.req_id, 1);
		for (uint32_t k = 0; k < 2; k++) {
			cqe = next(&f->a);
			assert_int_equal(cqe.status, EFA_STATUS_FLUSHED);
			assert_int_equal(cqe.req_id, cqe.queue == EFA_CQE_QUEUE_SEND ? 2 : 3);
		}
		host_send(f->a.h, &qp, &good); /* and what is posted from now on */
		host_recv(f->a.h, &qp, 4, &sge, 1);
		assert_int_equal(next(&f->a).status, EFA_STATUS_FLUSHED);
		assert_int_equal(next(&f->a).req_id, 4);
		none(&f->a);
		assert_int_equal(host_command(f->a.h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ qp.info.handle }, NULL), 0);
	}
	works(f);
}

/* Goal: receive descriptors that are none: no first, a second first, no last, a ring that is not there. */
static void malformed_receives(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 5; i++) {
		struct host_qp qp = host_qp_create(f->b.h, f->b.uar, f->b.pd, EFA_QP_SRD, &f->b.cq, DEPTH, DEPTH, 0);
		struct efa_abi_wqe w = wqe(f, 1, 8);
		uint32_t marks[3] = { EFA_RQD_FIRST, 0, EFA_RQD_LAST };

		host_rts(f->b.h, &qp, 0);
		if (i == 0)
			marks[0] = 0;
		if (i == 1)
			marks[1] = EFA_RQD_FIRST;
		if (i == 2)
			marks[2] = 0;
		for (uint32_t k = 0; k < (i == 3 ? 4 : 3); k++) {
			struct efa_abi_rqd d = { .addr = (uintptr_t)f->b.buffer, .req_id = 5, .length = 64,
						 .lkey_ctrl = f->b.mr.lkey | (k < 3 && i != 3 ? marks[k] : k == 0 ? EFA_RQD_FIRST : 0) };

			efa_abi_rqd_store(qp.rq + k * 16, &d);
		}
		if (i == 4)
			f->b.h->function.ops->unmap(f->b.h->function.context, f->b.h->base, HOST_MEMORY, EFA_BUS_TO_DEVICE);
		host_doorbell(f->b.h, qp.info.rq_db_offset, i == 3 ? 4 : 3);
		w.dest_qpn = qp.info.qp_num;
		assert_int_equal(outcome(f, w), EFA_STATUS_REMOTE_QPN);
		assert_int_equal(next(&f->b).status, EFA_STATUS_QP_INTERNAL);
		assert_int_equal(outcome(f, w), EFA_STATUS_REMOTE_QPN); /* it is in ERR */
		while (host_poll(&f->b.cq, &(struct efa_abi_cqe){ 0 })) {
		}
	}
}

/* Goal: doorbells out of range are counted and do nothing; the next good one works. */
static void wild_doorbells(void **state)
{
	struct fixture *f = *state;
	struct efa_device_stats *stats = efa_device_stats(f->a.h->device);
	uint64_t before;

	works(f);
	before = stats->bad_doorbells;
	host_doorbell(f->a.h, f->a.qp.info.sq_db_offset, f->a.qp.sq_count + DEPTH + 1);
	host_doorbell(f->a.h, f->a.qp.info.sq_db_offset, f->a.qp.sq_count - 1);
	host_doorbell(f->a.h, f->a.qp.info.rq_db_offset, 0x8000);
	recv(&f->a, 1, 0, 8);
	recv(&f->a, 1, 0, 8);
	host_doorbell(f->a.h, f->a.qp.info.rq_db_offset, 1); /* backwards */
	host_doorbell(f->a.h, f->a.cq.info.db_offset, 60000);
	assert_int_equal(stats->bad_doorbells, before + 5);
	works(f);
}

/* Goal: sends that the engine has no room for wait, in order, and no completion is lost; order may change on the way. */
static void room_and_order(void **state)
{
	struct fixture *f = *state;
	uint32_t sent = 0, got = 0, overtaken = 0;
	uint16_t last = 0;
	uint8_t seen[2000] = { 0 }, done[2000] = { 0 };

	f->fabric.room = 5;
	f->fabric.shuffles = true;
	for (uint32_t round = 0; round < 200; round++) {
		struct efa_abi_cqe cqe;

		while (f->b.qp.rq_count - got < DEPTH)
			recv(&f->b, 0, 0, 64);
		for (uint32_t i = 0; i < 10; i++, sent++) {
			struct efa_abi_wqe w = wqe(f, (uint16_t)sent, 8);

			w.ctrl1 = EFA_WQE_HAS_IMM;
			w.imm = sent;
			host_send(f->a.h, &f->a.qp, &w);
		}
		while (fabric_run(&f->fabric) > 0) {
		}
		while (host_poll(&f->b.cq, &cqe)) {
			assert_int_equal(cqe.status, 0);
			assert_int_equal(seen[cqe.imm]++, 0);
			overtaken += cqe.imm < last;
			last = (uint16_t)cqe.imm;
			got++;
		}
		while (host_poll(&f->a.cq, &cqe)) {
			assert_int_equal(cqe.status, 0);
			assert_int_equal(done[cqe.req_id]++, 0);
		}
	}
	assert_int_equal(got, 2000);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(seen[i] + done[i], 2);
	assert_in_range(overtaken, 100, 2000);
}

/* Goal: more under way than the queue is deep is no honest client: the queue pair fails, the adapter does not. */
static void overrun(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe w = wqe(f, 1, 8);
	uint32_t flushed = 0, failed = 0;
	struct efa_abi_cqe cqe;

	for (uint32_t i = 0; i < DEPTH + 1; i++)
		host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(f->fabric.num_pending, 0);
	while (host_poll(&f->a.cq, &cqe)) {
		flushed += cqe.status == EFA_STATUS_FLUSHED;
		failed += cqe.status == EFA_STATUS_QP_INTERNAL;
	}
	assert_int_equal(failed, 1);
	assert_int_equal(flushed, DEPTH);
}

/* Goal: ERR flushes, RESET and DESTROY forget, SQD holds back and says when it has drained. */
static void stopping(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe w = wqe(f, 1, 8);
	struct efa_abi_query_qp_result q;

	host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(host_modify(f->a.h, &f->a.qp, EFA_QPS_SQD, 0, 0), 0);
	w.req_id = 2;
	host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(f->fabric.num_pending, 1);
	host_command(f->a.h, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ f->a.qp.info.handle }, &q);
	assert_int_equal(q.draining, 1);
	recv(&f->b, 1, 0, 8);
	recv(&f->b, 2, 0, 8);
	fabric_run(&f->fabric);
	assert_int_equal(next(&f->a).req_id, 1);
	host_command(f->a.h, EFA_OP_QUERY_QP, &(struct efa_abi_qp_handle){ f->a.qp.info.handle }, &q);
	assert_int_equal(q.draining, 0);
	assert_int_equal(host_modify(f->a.h, &f->a.qp, EFA_QPS_RTS, 0, 0), 0);
	fabric_run(&f->fabric);
	assert_int_equal(next(&f->a).req_id, 2);
	/* ERR. */
	host_send(f->a.h, &f->a.qp, &w);
	recv(&f->a, 5, 0, 8);
	assert_int_equal(host_modify(f->a.h, &f->a.qp, EFA_QPS_ERR, 0, 0), 0);
	assert_int_equal(f->fabric.num_pending, 0);
	assert_int_equal(next(&f->a).status, EFA_STATUS_FLUSHED);
	assert_int_equal(next(&f->a).req_id, 5);
	none(&f->a);
	/* RESET begins anew. */
	assert_int_equal(host_modify(f->a.h, &f->a.qp, EFA_QPS_RESET, 0, 0), 0);
	f->a.qp.sq_count = f->a.qp.rq_count = 0;
	host_rts(f->a.h, &f->a.qp, 0);
	while (host_poll(&f->b.cq, &(struct efa_abi_cqe){ 0 })) {
	}
	works(f);
	/* DESTROY: no completion after it. */
	host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(host_command(f->a.h, EFA_OP_DESTROY_QP, &(struct efa_abi_qp_handle){ f->a.qp.info.handle }, NULL), 0);
	assert_int_equal(f->fabric.num_pending, 0);
	fabric_run(&f->fabric);
	none(&f->a);
}

/* Goal: a domain's last handle takes its sends with it; another domain's, and another reference, do not. */
static void handle_gone(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe w = wqe(f, 1, 8);
	struct efa_abi_ah in = { f->a.ah, f->a.pd };
	uint16_t other = host_pd(f->a.h);

	assert_int_equal(host_ah(f->a.h, f->a.pd, f->b.h), f->a.ah);
	host_ah(f->a.h, other, f->b.h);
	host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(host_command(f->a.h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ f->a.ah, other }, NULL), 0);
	assert_int_equal(host_command(f->a.h, EFA_OP_DESTROY_AH, &in, NULL), 0);
	none(&f->a);
	assert_int_equal(host_command(f->a.h, EFA_OP_DESTROY_AH, &in, NULL), 0);
	assert_int_equal(next(&f->a).status, EFA_STATUS_FLUSHED);
	assert_int_equal(f->fabric.num_pending, 0);
	assert_int_equal(outcome(f, w), EFA_STATUS_INVALID_AH);
	f->a.ah = host_ah(f->a.h, f->a.pd, f->b.h);
	works(f);
}

/* Goal: memory that is deregistered under way is not touched: the work request fails, at either end. */
static void region_gone(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe w = wqe(f, 1, 8);

	recv(&f->b, 1, 0, 8);
	host_send(f->a.h, &f->a.qp, &w);
	assert_int_equal(host_command(f->a.h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ f->a.mr.lkey }, NULL), 0);
	fabric_run(&f->fabric);
	assert_int_equal(next(&f->a).status, EFA_STATUS_INVALID_LKEY);
	assert_int_equal(next(&f->b).status, EFA_STATUS_REMOTE_ABORT);
	f->a.mr = host_mr(f->a.h, f->a.pd, f->a.buffer, BUFFER, EFA_MR_LOCAL_WRITE);
	works(f);
	/* The bus does not have it any more, though it is registered. */
	recv(&f->b, 1, 0, 8);
	f->b.h->function.ops->unmap(f->b.h->function.context, f->b.h->base, HOST_MEMORY, EFA_BUS_FROM_DEVICE);
	assert_true(efa_device_stats(f->b.h->device)->dma_errors == 0);
	w = wqe(f, 2, 8);
	assert_int_equal(outcome(f, w), EFA_STATUS_REMOTE_LENGTH);
	assert_true(efa_device_stats(f->b.h->device)->dma_errors > 0);
}

/* Goal: who sent is shown by number to a domain that has a handle, else by address; narrow entries show "unknown". */
static void source(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_cqe cqe;
	uint16_t pd = host_pd(f->b.h);
	struct host_cq narrow = host_cq_on(f->b.h, f->b.uar, 16, 4, -1);
	struct host_qp stranger = host_qp_create(f->b.h, f->b.uar, pd, EFA_QP_SRD, &f->b.cq, DEPTH, DEPTH, 0);
	struct host_qp blind = host_qp_create(f->b.h, f->b.uar, pd, EFA_QP_SRD, &narrow, DEPTH, DEPTH, 0);
	struct efa_abi_reg_mr_result mr = host_mr(f->b.h, pd, f->b.buffer, 64, EFA_MR_LOCAL_WRITE);
	struct efa_abi_sge sge = { 64, mr.lkey, (uintptr_t)f->b.buffer };
	struct efa_abi_wqe w = wqe(f, 1, 8);

	host_rts(f->b.h, &stranger, 0);
	host_rts(f->b.h, &blind, 0);
	host_recv(f->b.h, &stranger, 1, &sge, 1);
	w.dest_qpn = stranger.info.qp_num;
	assert_int_equal(outcome(f, w), 0);
	cqe = next(&f->b);
	assert_int_equal(cqe.ah, EFA_AH_UNKNOWN);
	assert_true(cqe.has_gid);
	assert_memory_equal(cqe.gid, efa_device_gid(f->a.h->device), 16);
	host_recv(f->b.h, &blind, 1, &sge, 1);
	w.dest_qpn = blind.info.qp_num;
	assert_int_equal(outcome(f, w), 0);
	assert_true(host_poll(&narrow, &cqe));
	assert_int_equal(cqe.ah, EFA_AH_UNKNOWN);
	assert_false(cqe.has_gid);
	works(f);
}

/* Goal: RDMA both ways, with its rights, lengths, keys and the rule that the target must know who asks. */
static void remote_access(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe read = wqe(f, 1, 3000), write;
	struct efa_device_stats *sa = efa_device_stats(f->a.h->device), *sb = efa_device_stats(f->b.h->device);
	struct efa_abi_reg_mr_result local = host_mr(f->b.h, f->b.pd, f->b.buffer, 4096, EFA_MR_LOCAL_WRITE);
	struct efa_abi_cqe cqe;

	read.ctrl1 = EFA_WQE_RDMA_READ;
	read.remote = (struct efa_abi_remote){ 3000, f->b.mr.rkey, (uintptr_t)f->b.buffer + 50 };
	assert_int_equal(outcome(f, read), 0);
	assert_memory_equal(f->a.buffer, f->b.buffer + 50, 3000);
	assert_int_equal(sa->answered[EFA_STATS_RDMA_READ][EFA_READ_BYTES], 3000);
	assert_int_equal(sb->answered[EFA_STATS_RDMA_READ][EFA_READ_RESP_BYTES], 3000);
	write = read;
	write.ctrl1 = EFA_WQE_RDMA_WRITE;
	memset(f->a.buffer, 0x77, 3000);
	assert_int_equal(outcome(f, write), 0);
	assert_memory_equal(f->a.buffer, f->b.buffer + 50, 3000);
	assert_int_equal(sb->answered[EFA_STATS_RDMA_WRITE][EFA_WRITE_RECV_BYTES], 3000);
	none(&f->b);
	/* With immediate data: takes a receive, or waits for one; a queue pair may do without. */
	write.ctrl1 |= EFA_WQE_HAS_IMM;
	write.imm = 0xabcd;
	assert_int_equal(outcome(f, write), EFA_STATUS_REMOTE_RNR);
	recv(&f->b, 4, 0, 1);
	assert_int_equal(outcome(f, write), 0);
	cqe = next(&f->b);
	assert_true(cqe.op == EFA_WQE_RDMA_WRITE && cqe.imm == 0xabcd && cqe.length == 3000 && cqe.req_id == 4 && !cqe.unsolicited);
	{
		struct host_qp open = host_qp_create(f->b.h, f->b.uar, f->b.pd, EFA_QP_SRD, &f->b.cq, DEPTH, DEPTH,
						     EFA_QP_FLAG_UNSOLICITED);
		struct efa_abi_wqe w = write;

		host_rts(f->b.h, &open, 0);
		w.dest_qpn = open.info.qp_num;
		assert_int_equal(outcome(f, w), 0);
		cqe = next(&f->b);
		assert_true(cqe.unsolicited && cqe.length == 3000 && cqe.imm == 0xabcd);
	}
	write.ctrl1 = EFA_WQE_RDMA_WRITE;
#define REFUSED(base, status, ...) do { struct efa_abi_wqe w = base; __VA_ARGS__; assert_int_equal(outcome(f, w), status); } while (0)
	REFUSED(read, EFA_STATUS_REMOTE_ADDRESS, w.remote.rkey ^= 1 << 20);
	REFUSED(read, EFA_STATUS_REMOTE_ADDRESS, w.remote.addr += BUFFER - 3000 - 49);
	REFUSED(read, EFA_STATUS_REMOTE_ADDRESS, w.remote.addr = UINT64_MAX - 100);
	REFUSED(read, EFA_STATUS_REMOTE_ADDRESS, w.remote.rkey = local.rkey);
	REFUSED(write, EFA_STATUS_REMOTE_ADDRESS, w.remote.rkey = local.rkey);
	REFUSED(read, EFA_STATUS_BAD_LENGTH, w.remote.length = 2999);
	REFUSED(read, EFA_STATUS_BAD_LENGTH, w.remote.length = w.sge[0].length = (1u << 30) + 1);
	REFUSED(read, EFA_STATUS_INVALID_LKEY, w.sge[0].lkey = 0);
	REFUSED(read, EFA_STATUS_UNSUPPORTED_OP, w.ctrl1 |= EFA_WQE_HAS_IMM);
	REFUSED(read, EFA_STATUS_REMOTE_QPN, w.qkey ^= 1);
	assert_int_equal(sa->answered[EFA_STATS_RDMA_READ][EFA_READ_WR_ERR], 9);
	assert_int_equal(host_command(f->b.h, EFA_OP_DESTROY_AH, &(struct efa_abi_ah){ f->b.ah, f->b.pd }, NULL), 0);
	REFUSED(read, EFA_STATUS_REMOTE_NO_AH, (void)0);
	REFUSED(write, EFA_STATUS_REMOTE_NO_AH, (void)0);
	works(f);
}

/* Goal: the first release refuses RDMA in the descriptor. */
static void no_rdma(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_wqe w = wqe(f, 1, 8);

	for (uint8_t op = EFA_WQE_RDMA_READ; op <= EFA_WQE_RDMA_WRITE; op++) {
		w.ctrl1 = op;
		w.remote = (struct efa_abi_remote){ 8, 1, 1 };
		assert_int_equal(outcome(f, w), EFA_STATUS_UNSUPPORTED_OP);
	}
	works(f);
}

/* Goal: arming: one event each, at once when something is there already, never lost, never twice; the queue's own arming too. */
static void completion_events(void **state)
{
	struct fixture *f = *state;
	struct host *h = f->b.h;
	uint8_t *ring = host_alloc(h, 64 * 16);
	struct efa_abi_create_eq in = { .depth = 64, .vector = 5, .caps = 4, .event_mask = 1, .base = host_bus(h, ring) };
	struct efa_abi_eqn eq;
	struct host_cq cq;
	struct host_qp qp;
	struct efa_abi_sge sge = sge_of(&f->b, 0, 64);
	struct base_random random = { 8 };
	uint32_t events = 0, sn = 0;

	assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &in, &eq), 0);
	cq = host_cq_on(h, f->b.uar, 64, 4, eq.eqn);
	qp = host_qp_create(h, f->b.uar, f->b.pd, EFA_QP_SRD, &cq, DEPTH, DEPTH, 0);
	host_rts(h, &qp, 0);
	f->b.qp.info.qp_num = qp.info.qp_num;
	h->function.ops->interrupts(h->function.context);
	host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq.eqn);
	for (uint32_t round = 0; round < 1000; round++) {
		struct efa_abi_cq_db db = { .consumer = (uint16_t)cq.count, .sn = sn & 3, .arm = true };
		bool before = base_random_next(&random) & 1, armed_queue = base_random_next(&random) & 1;
		struct efa_abi_eqe e;

		host_recv(h, &qp, 1, &sge, 1);
		if (before) {
			assert_int_equal(outcome(f, wqe(f, 1, 8)), 0);
			assert_int_equal(h->function.ops->interrupts(h->function.context), 0); /* nobody asked */
		}
		host_doorbell(h, cq.info.db_offset, efa_abi_cq_db_pack(&db));
		if (!before) {
			assert_int_equal(h->function.ops->interrupts(h->function.context), 0);
			assert_int_equal(outcome(f, wqe(f, 1, 8)), 0);
		}
		assert_int_equal(h->function.ops->interrupts(h->function.context), 1u << 5);
		e = efa_abi_eqe_load(ring + events % 64 * 16);
		assert_true(e.phase == (events / 64 % 2 == 0) && e.cqn == cq.info.cq_idx && e.type == EFA_EQE_COMPLETION);
		events++;
		/* Armed under the number of an event that was not taken: the same event is meant. */
		host_doorbell(h, cq.info.db_offset, efa_abi_cq_db_pack(&db));
		if (armed_queue)
			host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq.eqn);
		assert_int_equal(h->function.ops->interrupts(h->function.context), 0);
		sn++;
		while (host_poll(&cq, &(struct efa_abi_cqe){ 0 })) {
		}
		if (!armed_queue)
			host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq.eqn);
	}
}

/* Goal: an interrupt for an event queue that is not armed is owed until it is. */
static void owed_interrupt(void **state)
{
	struct fixture *f = *state;
	struct host *h = f->b.h;
	uint8_t *ring = host_alloc(h, 64 * 16);
	struct efa_abi_create_eq in = { .depth = 64, .vector = 7, .caps = 4, .event_mask = 1, .base = host_bus(h, ring) };
	struct efa_abi_cq_db db = { .arm = true };
	struct efa_abi_eqn eq;
	struct host_cq cq;
	struct host_qp qp;
	struct efa_abi_sge sge = sge_of(&f->b, 0, 64);

	assert_int_equal(host_command(h, EFA_OP_CREATE_EQ, &in, &eq), 0);
	cq = host_cq_on(h, f->b.uar, 64, 4, eq.eqn);
	qp = host_qp_create(h, f->b.uar, f->b.pd, EFA_QP_SRD, &cq, DEPTH, DEPTH, 0);
	host_rts(h, &qp, 0);
	f->b.qp.info.qp_num = qp.info.qp_num;
	h->function.ops->interrupts(h->function.context);
	host_recv(h, &qp, 1, &sge, 1);
	host_doorbell(h, cq.info.db_offset, efa_abi_cq_db_pack(&db));
	assert_int_equal(outcome(f, wqe(f, 1, 8)), 0);
	assert_true(efa_abi_eqe_load(ring).phase);
	assert_int_equal(h->function.ops->interrupts(h->function.context), 0);
	host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq.eqn);
	assert_int_equal(h->function.ops->interrupts(h->function.context), 1u << 7);
	host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq.eqn);
	assert_int_equal(h->function.ops->interrupts(h->function.context), 0);
	host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | 30);
	host_store(h, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | 0xffff);
	assert_int_equal(efa_device_stats(h->device)->bad_stores, 2);
}

/* Goal: a client that uses its doorbell and falls behind by a ring is told once; the adapter goes on. */
static void behind(void **state)
{
	struct fixture *f = *state;
	struct efa_device_stats *stats = efa_device_stats(f->a.h->device);

	f->b.qp.info.qp_num ^= 0x100; /* every send completes with an error at once */
	for (uint32_t i = 0; i < 300; i++) {
		struct efa_abi_wqe w = wqe(f, 1, 8);

		host_send(f->a.h, &f->a.qp, &w);
		fabric_run(&f->fabric);
	}
	assert_int_equal(stats->cq_overruns, 0); /* it never said how far it is */
	host_doorbell(f->a.h, f->a.cq.info.db_offset, 300);
	for (uint32_t i = 0; i < 260; i++) {
		struct efa_abi_wqe w = wqe(f, 1, 8);

		host_send(f->a.h, &f->a.qp, &w);
		fabric_run(&f->fabric);
	}
	assert_int_equal(stats->cq_overruns, 4);
}

#define CASE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(messages, setup_srd), CASE(datagrams, setup_ud), CASE(statuses, setup_srd), CASE(not_ready, setup_srd),
		CASE(malformed_sends, setup_srd), CASE(malformed_receives, setup_srd), CASE(wild_doorbells, setup_srd),
		CASE(room_and_order, setup_srd), CASE(overrun, setup_srd), CASE(stopping, setup_srd), CASE(handle_gone, setup_srd),
		CASE(region_gone, setup_srd), CASE(source, setup_srd), CASE(remote_access, setup_srd), CASE(no_rdma, setup_v1),
		CASE(completion_events, setup_srd), CASE(owed_interrupt, setup_srd), CASE(behind, setup_srd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
