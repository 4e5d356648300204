/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random sequences of calls, sensible and not, in several threads with a context each. What must hold: nothing crashes (this test
 * is for sanitizers first of all), each call answers by its convention with an errno that its man page or specification knows, an
 * object is busy exactly while another one stands on it, and in the end everything can be taken down.
 *
 * SOFTVERBS_SEED repeats a run, as far as the threads and the clock allow; SOFTVERBS_CHECK=full is the long form.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"

enum { THREADS = 2, EACH = 8, BUF_BYTES = 1 << 20, PAGE = 4096, SGES = 64, QUICK_MS = 1500, LONG_MS = 20000 };

/* Objects of one kind; users[i] counts those that stand on items[i]. */
struct set {
	void *items[EACH];
	int users[EACH];
	int count;
};

struct fuzz {
	uint64_t random;
	struct ibv_context *context;
	union ibv_gid gid;
	int gid_index;
	unsigned char *buf; /* with pages that cannot be touched on both sides */
	struct set tds, pds, mrs, channels, cqs, srqs, qps, ahs, mws;
	uint32_t stale_lkey, stale_rkey;
	uint64_t calls, refused, completed; /* of all contexts so far */
};

static uint32_t below(struct fuzz *f, uint32_t n)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (uint32_t)(f->random >> 33) % n;
}

static bool one_in(struct fuzz *f, uint32_t n)
{
	return below(f, n) == 0;
}

static uint32_t pick32(struct fuzz *f, const uint32_t *from, uint32_t n)
{
	return from[below(f, n)];
}
#define PICK(f, ...) pick32(f, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static bool is_one_of(int value, const int *list)
{
	for (; *list != 0; list++)
		if (value == *list)
			return true;
	return false;
}

/* Success, or one of these. */
#define answers(f, result, ...) \
	do { \
		int answer_ = (result); \
		(f)->calls++; \
		(f)->refused += answer_ != 0; \
		if (answer_ != 0 && !is_one_of(answer_, (const int[]){ __VA_ARGS__, 0 })) \
			harness_fail(__FILE__, __LINE__, "%s: %s", #result, strerror(answer_)); \
	} while (0)
#define makes(f, set, object, ...) \
	do { \
		errno = 0; \
		void *made_ = (object); \
		int errno_ = errno; \
		(f)->calls++; \
		if (made_ != NULL) \
			add(set, made_); \
		else \
			answers(f, errno_, __VA_ARGS__); \
		if (made_ == NULL) \
			need(errno_ != 0); \
	} while (0)

static void add(struct set *set, void *item)
{
	need(set->count < EACH);
	set->items[set->count] = item;
	set->users[set->count++] = 0;
}

static int index_of(const struct set *set, const void *item)
{
	for (int i = 0; i < set->count; i++)
		if (set->items[i] == item)
			return i;
	return -1;
}

static void use(struct set *set, const void *item, int change)
{
	int i = item == NULL ? -1 : index_of(set, item);

	if (i >= 0)
		set->users[i] += change;
}

static void *any(struct fuzz *f, const struct set *set)
{
	return set->count == 0 ? NULL : set->items[below(f, (uint32_t)set->count)];
}

static bool is_full(const struct set *set)
{
	return set->count == EACH;
}

/* Busy exactly while in use. True: it is gone. */
static bool remove_checked(struct set *set, const void *item, int answer)
{
	int i = index_of(set, item);

	need(i >= 0);
	if (set->users[i] != 0) {
		need_equal(answer, EBUSY);
		return false;
	}
	need_equal(answer, 0);
	set->items[i] = set->items[--set->count];
	set->users[i] = set->users[set->count];
	return true;
}

/* What an object stands on that does not say so itself. */
struct under {
	void *item, *on[4];
};
static _Thread_local struct under unders[6 * EACH];

static void stand(void *item, void *a, void *b, void *c, void *d)
{
	for (unsigned i = 0; i < 6 * EACH; i++)
		if (unders[i].item == NULL) {
			unders[i] = (struct under){ item, { a, b, c, d } };
			return;
		}
	need(!"room for all objects");
}

static struct under leave(const void *item)
{
	for (unsigned i = 0; i < 6 * EACH; i++)
		if (unders[i].item == item) {
			struct under was = unders[i];

			unders[i].item = NULL;
			return was;
		}
	return (struct under){ 0 };
}

/* --- making --- */

static void *default_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t kind)
{
	struct fuzz *f = context;

	if (one_in(f, 3))
		return IBV_ALLOCATOR_USE_DEFAULT;
	return one_in(f, 8) ? NULL : aligned_alloc(alignment, size);
}

static void default_free(struct ibv_pd *pd, void *context, void *block, uint64_t kind)
{
	free(block);
}

static void make_pd(struct fuzz *f)
{
	if (is_full(&f->pds))
		return;
	if (one_in(f, 2) || f->pds.count == 0) {
		makes(f, &f->pds, ibv_alloc_pd(f->context), ENOMEM);
		return;
	}
	struct ibv_parent_domain_init_attr attr = {
		.pd = one_in(f, 8) ? NULL : any(f, &f->pds), .td = any(f, &f->tds), .comp_mask = below(f, 5), .alloc = default_alloc,
		.free = one_in(f, 8) ? NULL : default_free, .pd_context = f,
	};
	/* Without a context the allocator has no state: that is the program's to know. */
	if ((attr.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0)
		attr.comp_mask |= IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	int before = f->pds.count;
	makes(f, &f->pds, ibv_alloc_parent_domain(f->context, &attr), EINVAL, ENOMEM);
	if (f->pds.count > before) {
		use(&f->pds, attr.pd, 1);
		use(&f->tds, attr.td, 1);
		stand(f->pds.items[before], attr.pd, attr.td, NULL, NULL);
	}
}

static void *wild_address(struct fuzz *f, size_t *length)
{
	*length = PICK(f, 0, 1, 7, 8, 64, PAGE, 65536, BUF_BYTES);
	switch (below(f, 8)) {
	case 0:
		return NULL;
	case 1:
		return f->buf + BUF_BYTES; /* a page that is not there for us */
	case 2:
		return (void *)(uintptr_t)-4096;
	default: {
		size_t at = below(f, BUF_BYTES);

		if (*length > BUF_BYTES - at && !one_in(f, 4))
			*length = BUF_BYTES - at;
		return f->buf + at;
	}
	}
}

static void make_mr(struct fuzz *f)
{
	struct ibv_pd *pd = any(f, &f->pds);
	size_t length;

	if (is_full(&f->mrs) || pd == NULL)
		return;
	void *addr = wild_address(f, &length);
	volatile unsigned access = one_in(f, 3) ? below(f, 1024) : IBV_ACCESS_LOCAL_WRITE | below(f, 16);
	/* Implicit and on-demand regions would let a remote write into this test's own variables. */
	access &= ~(unsigned)IBV_ACCESS_ON_DEMAND;
	int before = f->mrs.count;
	if (one_in(f, 3))
		makes(f, &f->mrs, ibv_reg_mr_iova(pd, addr, length, below(f, 1u << 30), access), EINVAL, EFAULT, EOPNOTSUPP, ENOMEM);
	else
		makes(f, &f->mrs, ibv_reg_mr(pd, addr, length, access), EINVAL, EFAULT, EOPNOTSUPP, ENOMEM);
	if (f->mrs.count > before)
		use(&f->pds, pd, 1);
}

static void rereg(struct fuzz *f)
{
	struct ibv_mr *mr = any(f, &f->mrs);
	struct ibv_pd *pd = one_in(f, 4) ? NULL : any(f, &f->pds);
	size_t length;

	if (mr == NULL)
		return;
	void *addr = wild_address(f, &length);
	struct ibv_pd *before = mr->pd;
	f->stale_lkey = mr->lkey;
	f->stale_rkey = mr->rkey;
	int answer = ibv_rereg_mr(mr, (int)below(f, 9), pd, addr, length, (int)(IBV_ACCESS_LOCAL_WRITE | below(f, 32)));
	f->calls++;
	need(answer <= 0 && answer >= -5);
	use(&f->pds, before, -1);
	use(&f->pds, mr->pd, 1);
}

static void make_cq(struct fuzz *f)
{
	struct ibv_comp_channel *channel = one_in(f, 2) ? NULL : any(f, &f->channels);
	int cqe = (int)PICK(f, 1, 2, 4, 16, 100, 1000, 0, 0xffffffff, 0x7fffffff), vector = one_in(f, 6) ? (int)below(f, 20) - 4 : 0;
	int before = f->cqs.count;
	struct ibv_pd *parent = NULL;

	if (is_full(&f->cqs))
		return;
	if (one_in(f, 2)) {
		makes(f, &f->cqs, ibv_create_cq(f->context, cqe, f, channel, vector), EINVAL, ENOMEM);
	} else {
		struct ibv_cq_init_attr_ex attr = {
			.cqe = (uint32_t)cqe, .cq_context = f, .channel = channel, .comp_vector = (uint32_t)vector,
			.wc_flags = one_in(f, 4) ? below(f, 1 << 13) : IBV_WC_STANDARD_FLAGS | (below(f, 2) << 7) | (below(f, 2) << 11),
			.comp_mask = below(f, one_in(f, 8) ? 16 : 4), .flags = below(f, one_in(f, 8) ? 8 : 4),
			.parent_domain = any(f, &f->pds),
		};

		makes(f, &f->cqs, ibv_create_cq_ex(f->context, &attr), EINVAL, EOPNOTSUPP, ENOMEM);
		if ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0)
			parent = attr.parent_domain;
	}
	if (f->cqs.count > before) {
		use(&f->channels, channel, 1);
		use(&f->pds, parent, 1);
		stand(f->cqs.items[before], channel, parent, NULL, NULL);
	}
}

static void make_srq(struct fuzz *f)
{
	struct ibv_pd *pd = any(f, &f->pds);
	int before = f->srqs.count;

	if (is_full(&f->srqs) || pd == NULL)
		return;
	struct ibv_srq_init_attr attr = { .attr = { PICK(f, 1, 4, 30, 0, 1 << 16, 1 << 17), PICK(f, 0, 1, 4, 32, 33, 0xffffffff),
						    below(f, 9) } };
	makes(f, &f->srqs, ibv_create_srq(pd, &attr), EINVAL, ENOMEM);
	if (f->srqs.count > before)
		use(&f->pds, pd, 1);
}

static void make_qp(struct fuzz *f)
{
	struct ibv_pd *pd = any(f, &f->pds);
	struct ibv_cq *cqs[2] = { any(f, &f->cqs), any(f, &f->cqs) };
	int before = f->qps.count;

	if (is_full(&f->qps) || pd == NULL)
		return;
	uint32_t wr = PICK(f, 0, 1, 5, 16, 64, 64), sge = PICK(f, 0, 1, 2, 8, 32);
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = f, .send_cq = one_in(f, 16) ? NULL : cqs[0], .recv_cq = one_in(f, 16) ? NULL : cqs[1],
		.srq = one_in(f, 3) ? any(f, &f->srqs) : NULL,
		.cap = { one_in(f, 10) ? 0xfffffff0 : wr, one_in(f, 10) ? 70000 : wr, one_in(f, 10) ? 33 : sge,
			 sge, PICK(f, 0, 64, 512, 513) },
		.qp_type = (enum ibv_qp_type)(one_in(f, 8) ? below(f, 300) : 2 + below(f, 3)), .sq_sig_all = (int)below(f, 2),
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
	/* XRC has its own test. */
	if (attr.qp_type == IBV_QPT_XRC_SEND || attr.qp_type == IBV_QPT_XRC_RECV)
		return;
	if (one_in(f, 2)) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = one_in(f, 6) ? below(f, 1 << 14) : attr.qp_type == IBV_QPT_RC ? 0x7f : 0x0c;
	}
	if (one_in(f, 12))
		attr.comp_mask |= 1u << below(f, 32);
	makes(f, &f->qps, ibv_create_qp_ex(f->context, &attr), EINVAL, EOPNOTSUPP, ENOMEM, EPERM);
	if (f->qps.count > before) {
		use(&f->pds, pd, 1);
		use(&f->cqs, attr.send_cq, 1);
		use(&f->cqs, attr.recv_cq, 1);
		use(&f->srqs, attr.srq, 1);
		stand(f->qps.items[before], attr.send_cq, attr.recv_cq, attr.srq, pd);
	}
}

static struct ibv_ah_attr ah_attr(struct fuzz *f)
{
	return (struct ibv_ah_attr){
		.is_global = !one_in(f, 60), .port_num = one_in(f, 60) ? (uint8_t)below(f, 256) : 1,
		.grh = { .dgid = f->gid, .sgid_index = one_in(f, 60) ? 200 : (uint8_t)f->gid_index, .hop_limit = (uint8_t)below(f, 256) },
	};
}

static void make_ah(struct fuzz *f)
{
	struct ibv_pd *pd = any(f, &f->pds);
	struct ibv_ah_attr attr = ah_attr(f);
	int before = f->ahs.count;

	if (is_full(&f->ahs) || pd == NULL)
		return;
	makes(f, &f->ahs, ibv_create_ah(pd, &attr), EINVAL, ENOMEM, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH);
	if (f->ahs.count > before)
		use(&f->pds, pd, 1);
}

static void make_small(struct fuzz *f)
{
	if (one_in(f, 2) && !is_full(&f->channels))
		makes(f, &f->channels, ibv_create_comp_channel(f->context), ENOMEM, EMFILE);
	else if (!is_full(&f->tds))
		makes(f, &f->tds, ibv_alloc_td(f->context, &(struct ibv_td_init_attr){ .comp_mask = one_in(f, 4) }), EINVAL, ENOMEM);
	if (f->channels.count > 0) {
		struct ibv_comp_channel *last = f->channels.items[f->channels.count - 1];

		need(fcntl(last->fd, F_SETFL, O_NONBLOCK) == 0);
	}
}

static void make_mw(struct fuzz *f)
{
	struct ibv_pd *pd = any(f, &f->pds);
	int before = f->mws.count;

	if (is_full(&f->mws) || pd == NULL)
		return;
	makes(f, &f->mws, ibv_alloc_mw(pd, (enum ibv_mw_type)below(f, 4)), EINVAL, EOPNOTSUPP, ENOMEM);
	if (f->mws.count > before)
		use(&f->pds, pd, 1);
}

/* --- changing --- */

static void modify_qp(struct fuzz *f)
{
	struct ibv_qp *qp = any(f, &f->qps), *peer = any(f, &f->qps);
	static const int to_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp == NULL)
		return;
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)(one_in(f, 8) ? below(f, 12) : qp->state < IBV_QPS_RTS ? qp->state + 1 : below(f, 7)),
		.cur_qp_state = qp->state, .port_num = one_in(f, 120) ? (uint8_t)below(f, 256) : 1, .qkey = 0x1234,
		.pkey_index = one_in(f, 120) ? (uint16_t)below(f, 65536) : 0, .qp_access_flags = below(f, 16), .ah_attr = ah_attr(f),
		.path_mtu = (enum ibv_mtu)(one_in(f, 60) ? below(f, 300) : 1 + below(f, 5)), .dest_qp_num = peer->qp_num,
		.timeout = one_in(f, 120) ? 77 : (uint8_t)(1 + below(f, 6)), .retry_cnt = (uint8_t)below(f, one_in(f, 120) ? 256 : 3),
		.rnr_retry = (uint8_t)below(f, 3), .min_rnr_timer = 1, .max_rd_atomic = (uint8_t)below(f, one_in(f, 60) ? 256 : 5),
		.max_dest_rd_atomic = (uint8_t)below(f, one_in(f, 60) ? 256 : 5), .en_sqd_async_notify = 1,
	};
	int mask = IBV_QP_STATE;
	switch (attr.qp_state) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
		break;
	case IBV_QPS_RTR:
		mask |= qp->qp_type == IBV_QPT_UD ? 0 : to_rtr;
		mask |= qp->qp_type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
		break;
	case IBV_QPS_RTS:
		mask |= qp->state == IBV_QPS_RTR ? IBV_QP_SQ_PSN : 0;
		mask |= qp->state == IBV_QPS_RTR && qp->qp_type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC : 0;
		break;
	default:
		break;
	}
	if (one_in(f, 8))
		mask ^= 1 << below(f, 31);
	enum ibv_qp_state before = qp->state;
	int err = ibv_modify_qp(qp, &attr, mask);
	if (err == 0 && (mask & IBV_QP_STATE) != 0)
		need_equal(qp->state, attr.qp_state);
	else
		need_equal(qp->state, before);
	answers(f, err, EINVAL, EOPNOTSUPP, EPERM, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENOMEM);
}

static void query(struct fuzz *f)
{
	struct ibv_qp *qp = any(f, &f->qps);
	struct ibv_srq *srq = any(f, &f->srqs);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_srq_attr srq_attr;

	if (qp != NULL) {
		answers(f, ibv_query_qp(qp, &attr, (int)below(f, 1 << 21), &init), EOPNOTSUPP);
		need(ibv_query_qp_data_in_order(qp, (enum ibv_wr_opcode)below(f, 20), below(f, 3)) >= 0);
		struct ibv_qp_rate_limit_attr rate = { .rate_limit = below(f, 3) * 1000000, .max_burst_sz = below(f, 2) * 10000 };
		answers(f, ibv_modify_qp_rate_limit(qp, &rate), EINVAL, EOPNOTSUPP);
	}
	if (srq != NULL) {
		srq_attr = (struct ibv_srq_attr){ PICK(f, 1, 5, 100, 1000, 0, 0xffffffff), 0, below(f, 20) };
		answers(f, ibv_modify_srq(srq, &srq_attr, (int)below(f, 5)), EINVAL, ENOMEM);
		need_equal(ibv_query_srq(srq, &srq_attr), 0);
		need(srq_attr.max_wr > 0 && srq_attr.srq_limit <= srq_attr.max_wr);
	}
}

static void change_cq(struct fuzz *f)
{
	struct ibv_cq *cq = any(f, &f->cqs);

	if (cq == NULL)
		return;
	int size = (int)PICK(f, 0, 1, 2, 17, 100, 3000, 0xffffffff, 0x7fffffff);
	int err = ibv_resize_cq(cq, size);
	need(err != 0 || cq->cqe >= size);
	answers(f, err, EINVAL, ENOMEM);
	struct ibv_modify_cq_attr attr = { .attr_mask = below(f, 3), .moderate = { (uint16_t)below(f, 4), (uint16_t)below(f, 3000) } };
	answers(f, ibv_modify_cq(cq, &attr), EINVAL, ENOMEM);
	answers(f, ibv_req_notify_cq(cq, (int)below(f, 2)), EINVAL);
}

/* --- posting --- */

static int elements(struct fuzz *f, struct ibv_sge *sge, bool is_inline)
{
	int n = (int)PICK(f, 0, 1, 1, 2, 4, 32, 33, 40);
	uint32_t each = is_inline ? 40 : PICK(f, 0, 1, 8, 100, 5000, 70000);

	for (int i = 0; i < n; i++) {
		struct ibv_mr *mr = any(f, &f->mrs);

		sge[i] = (struct ibv_sge){ (uintptr_t)f->buf + below(f, BUF_BYTES - 100), each, mr == NULL ? 0 : mr->lkey };
		if (mr != NULL && mr->length > 0 && !is_inline && !one_in(f, 4)) {
			sge[i].addr = (uintptr_t)mr->addr + below(f, (uint32_t)mr->length);
			sge[i].length = below(f, (uint32_t)((uintptr_t)mr->addr + mr->length - sge[i].addr) + 1);
		}
		if (is_inline)
			continue;
		if (one_in(f, 16))
			sge[i].lkey = one_in(f, 2) ? f->stale_lkey : below(f, 0x7fffffff);
		if (one_in(f, 32))
			sge[i].length = 0xffffffff;
		if (one_in(f, 32))
			sge[i].addr = one_in(f, 2) ? 0 : UINT64_MAX - 10;
	}
	return one_in(f, 64) ? -1 : n;
}

static void aim(struct fuzz *f, uint64_t *addr, uint32_t *rkey)
{
	struct ibv_mr *mr = any(f, &f->mrs);

	*rkey = mr == NULL || one_in(f, 16) ? f->stale_rkey : mr->rkey;
	*addr = mr == NULL || one_in(f, 16) ? below(f, 0x7fffffff) : (uintptr_t)mr->addr + below(f, 1000) * 8;
}

static void post_send(struct fuzz *f)
{
	struct ibv_qp *qp = any(f, &f->qps), *peer = any(f, &f->qps);
	struct ibv_send_wr wrs[4], *bad = NULL;
	static _Thread_local struct ibv_sge sges[4][SGES];
	int count = 1 + (int)below(f, 4);

	if (qp == NULL)
		return;
	for (int i = 0; i < count; i++) {
		struct ibv_send_wr *wr = &wrs[i];

		memset(wr, 0, sizeof(*wr));
		wr->wr_id = f->calls;
		wr->next = i + 1 < count ? wr + 1 : NULL;
		wr->opcode = (enum ibv_wr_opcode)(one_in(f, 10) ? PICK(f, 7, 9, 10, 11, 12, 16, 255, 0x7fffffff) : below(f, 7));
		wr->send_flags = below(f, one_in(f, 8) ? 64 : 8);
		wr->num_sge = elements(f, sges[i], (wr->send_flags & IBV_SEND_INLINE) != 0);
		wr->sg_list = sges[i];
		wr->imm_data = below(f, 1000);
		if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
			wr->invalidate_rkey = f->stale_rkey; /* a region that is in use would leave the others nothing to do */
		if (qp->qp_type == IBV_QPT_UD) {
			wr->wr.ud.ah = any(f, &f->ahs);
			wr->wr.ud.remote_qpn = peer->qp_num;
			wr->wr.ud.remote_qkey = one_in(f, 8) ? below(f, 100) : 0x1234;
		} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			aim(f, &wr->wr.atomic.remote_addr, &wr->wr.atomic.rkey);
		} else {
			aim(f, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
		}
	}
	int err = ibv_post_send(qp, wrs, &bad);
	need(err == 0 || (bad >= wrs && bad < wrs + count));
	answers(f, err, EINVAL, ENOMEM);
}

static void build(struct fuzz *f)
{
	struct ibv_qp *qp = any(f, &f->qps);
	struct ibv_qp_ex *ex = qp == NULL ? NULL : ibv_qp_to_qp_ex(qp);
	static _Thread_local struct ibv_sge sge[SGES];
	uint64_t addr;
	uint32_t rkey;

	if (ex == NULL)
		return;
	ibv_wr_start(ex);
	for (uint32_t n = below(f, 6); n > 0; n--) {
		ex->wr_id = f->calls;
		ex->wr_flags = below(f, 8);
		aim(f, &addr, &rkey);
		if (one_in(f, 2) && ex->wr_rdma_write != NULL)
			ibv_wr_rdma_write(ex, rkey, addr);
		else if (one_in(f, 2) && ex->wr_atomic_fetch_add != NULL)
			ibv_wr_atomic_fetch_add(ex, rkey, addr, 1);
		else if (ex->wr_send != NULL)
			ibv_wr_send(ex);
		else
			continue;
		int elems = elements(f, sge, false);
		if (qp->qp_type == IBV_QPT_UD && !one_in(f, 8))
			ibv_wr_set_ud_addr(ex, any(f, &f->ahs), qp->qp_num, 0x1234);
		if (one_in(f, 3))
			ibv_wr_set_inline_data(ex, f->buf, PICK(f, 0, 1, 40, 64, 512, 600));
		else
			ibv_wr_set_sge_list(ex, elems < 0 ? SGES : (size_t)elems, sge);
	}
	if (one_in(f, 4))
		ibv_wr_abort(ex);
	else
		answers(f, ibv_wr_complete(ex), EINVAL, ENOMEM);
}

static void post_recv(struct fuzz *f)
{
	static _Thread_local struct ibv_sge sge[SGES];
	struct ibv_qp *qp = any(f, &f->qps);
	struct ibv_srq *srq = any(f, &f->srqs);
	struct ibv_recv_wr second = { .wr_id = 2, .sg_list = sge }, wr = { .wr_id = 1, .next = one_in(f, 2) ? &second : NULL,
									  .sg_list = sge }, *bad = NULL;

	wr.num_sge = elements(f, sge, false);
	second.num_sge = wr.num_sge < 1 ? 0 : 1;
	int err = one_in(f, 2) && srq != NULL ? ibv_post_srq_recv(srq, &wr, &bad) : qp != NULL ? ibv_post_recv(qp, &wr, &bad) : 0;
	need(err == 0 || bad == &wr || bad == &second);
	answers(f, err, EINVAL, ENOMEM);
}

static void bind(struct fuzz *f)
{
	struct ibv_mw *mw = any(f, &f->mws);
	struct ibv_qp *qp = any(f, &f->qps);
	struct ibv_mr *mr = any(f, &f->mrs);

	if (mw == NULL || qp == NULL || mr == NULL)
		return;
	struct ibv_mw_bind attr = { .wr_id = f->calls, .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = one_in(f, 8) ? NULL : mr, .addr = (uintptr_t)mr->addr + below(f, 100),
						   .length = below(f, 200), .mw_access_flags = below(f, 64) } };
	answers(f, ibv_bind_mw(qp, mw, &attr), EINVAL, EPERM, EOPNOTSUPP, ENOMEM);
}

/* --- looking --- */

static void poll(struct fuzz *f)
{
	struct ibv_cq *cq = any(f, &f->cqs);
	struct ibv_wc wc[8];

	if (cq == NULL)
		return;
	int n = ibv_poll_cq(cq, (int)below(f, 9), wc);
	f->completed += n > 0 ? (uint64_t)n : 0;
	for (int i = 0; i < n; i++)
		need(wc[i].status <= IBV_WC_TM_RNDV_INCOMPLETE);
}

static void events(struct fuzz *f)
{
	struct ibv_comp_channel *channel = any(f, &f->channels);
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_async_event(f->context, &event) == 0)
		ibv_ack_async_event(&event);
	need_equal(errno, EAGAIN);
	while (channel != NULL && ibv_get_cq_event(channel, &cq, &context) == 0) {
		need(index_of(&f->cqs, cq) >= 0 && context == f);
		ibv_ack_cq_events(cq, 1);
	}
}

/* --- taking down --- */

static void destroy_qp(struct fuzz *f, struct ibv_qp *qp)
{
	if (!remove_checked(&f->qps, qp, ibv_destroy_qp(qp)))
		return;
	struct under was = leave(qp);
	use(&f->cqs, was.on[0], -1);
	use(&f->cqs, was.on[1], -1);
	use(&f->srqs, was.on[2], -1);
	use(&f->pds, was.on[3], -1);
}

static void destroy_cq(struct fuzz *f, struct ibv_cq *cq)
{
	if (!remove_checked(&f->cqs, cq, ibv_destroy_cq(cq)))
		return;
	struct under was = leave(cq);
	use(&f->channels, was.on[0], -1);
	use(&f->pds, was.on[1], -1);
}

static void destroy_pd(struct fuzz *f, struct ibv_pd *pd)
{
	if (remove_checked(&f->pds, pd, ibv_dealloc_pd(pd))) {
		struct under was = leave(pd);

		use(&f->pds, was.on[0], -1);
		use(&f->tds, was.on[1], -1);
	}
}

static void destroy_mr(struct fuzz *f, struct ibv_mr *mr)
{
	struct ibv_pd *pd = mr->pd;
	uint32_t lkey = mr->lkey, rkey = mr->rkey;
	int err = ibv_dereg_mr(mr);

	/* A window may be bound to it. */
	if (err != 0 && f->mws.count > 0 && (err == EBUSY || err == EINVAL))
		return;
	remove_checked(&f->mrs, mr, err);
	use(&f->pds, pd, -1);
	f->stale_lkey = lkey;
	f->stale_rkey = rkey;
}

static void destroy_on_pd(struct fuzz *f, struct set *set, void *item, struct ibv_pd *pd, int answer)
{
	if (remove_checked(set, item, answer))
		use(&f->pds, pd, -1);
}

static void destroy_some(struct fuzz *f, uint32_t kind)
{
	struct set *sets[] = { &f->qps, &f->cqs, &f->mws, &f->mrs, &f->ahs, &f->srqs, &f->channels, &f->pds, &f->tds };
	void *item = any(f, sets[kind]);

	if (item == NULL)
		return;
	f->calls++;
	switch (kind) {
	case 0:
		destroy_qp(f, item);
		break;
	case 1:
		destroy_cq(f, item);
		break;
	case 2: {
		struct ibv_pd *pd = ((struct ibv_mw *)item)->pd;

		destroy_on_pd(f, &f->mws, item, pd, ibv_dealloc_mw(item));
		break;
	}
	case 3:
		destroy_mr(f, item);
		break;
	case 4: {
		struct ibv_pd *pd = ((struct ibv_ah *)item)->pd;

		destroy_on_pd(f, &f->ahs, item, pd, ibv_destroy_ah(item));
		break;
	}
	case 5: {
		struct ibv_pd *pd = ((struct ibv_srq *)item)->pd;

		destroy_on_pd(f, &f->srqs, item, pd, ibv_destroy_srq(item));
		break;
	}
	case 6:
		remove_checked(&f->channels, item, ibv_destroy_comp_channel(item));
		break;
	case 7:
		destroy_pd(f, item);
		break;
	default:
		remove_checked(&f->tds, item, ibv_dealloc_td(item));
		break;
	}
}

static void take_down(struct fuzz *f)
{
	events(f);
	for (uint32_t kind = 0; kind < 9; kind++) {
		struct set *sets[] = { &f->qps, &f->cqs, &f->mws, &f->mrs, &f->ahs, &f->srqs, &f->channels, &f->pds, &f->tds };

		for (int tries = 0; sets[kind]->count > 0; tries++) {
			need(tries < 10000);
			destroy_some(f, kind);
		}
	}
}

static void fuzz_open(struct fuzz *f, uint64_t seed)
{
	*f = (struct fuzz){ .calls = f->calls, .refused = f->refused, .completed = f->completed };
	memset(unders, 0, sizeof(unders));
	f->random = seed * 0x9e3779b97f4a7c15u + 1;
	f->context = rc_device_open();
	f->gid_index = rc_gid_find(f->context, &f->gid);
	need(fcntl(f->context->async_fd, F_SETFL, O_NONBLOCK) == 0);
	unsigned char *map = mmap(NULL, BUF_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(map != MAP_FAILED);
	f->buf = map + PAGE;
	need(mprotect(f->buf, BUF_BYTES, PROT_READ | PROT_WRITE) == 0);
}

static void fuzz_close(struct fuzz *f)
{
	take_down(f);
	need_equal(ibv_close_device(f->context), 0);
	need(munmap(f->buf - PAGE, BUF_BYTES + 2 * PAGE) == 0);
}

static void (*const steps[])(struct fuzz *) = {
	make_pd, make_mr, rereg, make_cq, make_srq, make_qp, make_ah, make_small, make_mw, modify_qp, modify_qp, modify_qp, query,
	change_cq, post_send, post_send, post_send, build, build, post_recv, post_recv, bind, poll, poll, poll, events,
};

static uint64_t run_seed, run_ms;

static void *fuzzer(void *arg)
{
	struct fuzz *f = calloc(1, sizeof(*f));
	uint64_t seed = run_seed + (uintptr_t)arg, end = harness_now_ms() + run_ms;

	need(f != NULL);
	/* A new context now and then: taking down is part of it. */
	do {
		fuzz_open(f, seed++);
		for (int n = 0; n < 3000 && harness_now_ms() < end; n++) {
			if (one_in(f, 25))
				destroy_some(f, below(f, 9));
			else
				steps[below(f, sizeof(steps) / sizeof(steps[0]))](f);
		}
		fuzz_close(f);
	} while (harness_now_ms() < end);
	printf("  %llu calls, %llu refused, %llu completions\n", (unsigned long long)f->calls, (unsigned long long)f->refused,
	       (unsigned long long)f->completed);
	/* Else the mixture has gone wrong and this test tests nothing. */
	need(f->refused > f->calls / 50 && f->refused < f->calls * 49 / 50 && f->completed > 0);
	free(f);
	return NULL;
}

static void sequences(void)
{
	const char *seed = getenv("SOFTVERBS_SEED"), *check = getenv("SOFTVERBS_CHECK");
	pthread_t threads[THREADS];

	run_seed = seed != NULL ? strtoull(seed, NULL, 0) : harness_now_ms() * 1000;
	run_ms = check != NULL && strcmp(check, "full") == 0 ? LONG_MS : QUICK_MS;
	printf("  SOFTVERBS_SEED=%llu\n", (unsigned long long)run_seed);
	for (uintptr_t i = 0; i < THREADS; i++)
		need_equal(pthread_create(&threads[i], NULL, fuzzer, (void *)(i * 1000)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* What a software adapter has not: by the conventions of each call, and without touching anything. */
static void unsupported(void)
{
	struct rc rc;

	rc_open(&rc, NULL);
	struct ibv_qp_init_attr raw = { .send_cq = rc.send_cq, .recv_cq = rc.recv_cq, .qp_type = IBV_QPT_RAW_PACKET,
					 .cap = { 1, 1, 1, 1, 0 } };
	need_errno(ibv_create_qp(rc.pd, &raw), EOPNOTSUPP);
	struct ibv_qp_init_attr_ex rss = { .qp_type = IBV_QPT_UD, .pd = rc.pd, .send_cq = rc.send_cq, .recv_cq = rc.recv_cq,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH };
	need_errno(ibv_create_qp_ex(rc.context, &rss), EOPNOTSUPP);
	need_errno(ibv_create_flow(rc.qp, &(struct ibv_flow_attr){ 0 }), EOPNOTSUPP);
	need_errno(ibv_create_flow_action_esp(rc.context, &(struct ibv_flow_action_esp_attr){ 0 }), EOPNOTSUPP);
	need_errno(ibv_create_wq(rc.context, &(struct ibv_wq_init_attr){ 0 }), EOPNOTSUPP);
	need_errno(ibv_create_rwq_ind_table(rc.context, &(struct ibv_rwq_ind_table_init_attr){ 0 }), EOPNOTSUPP);
	need_errno(ibv_create_counters(rc.context, &(struct ibv_counters_init_attr){ 0 }), EOPNOTSUPP);
	struct ibv_srq_init_attr_ex tm = { .attr = { .max_wr = 1, .max_sge = 1 }, .pd = rc.pd, .srq_type = IBV_SRQT_TM,
					   .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM };
	need_errno(ibv_create_srq_ex(rc.context, &tm), EOPNOTSUPP);
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(rc.pd, &plain);
	need(srq != NULL);
	struct ibv_ops_wr op = { 0 }, *bad;
	need_equal(ibv_post_srq_ops(srq, &op, &bad), EOPNOTSUPP);
	uint32_t number;
	need(ibv_get_srq_num(srq, &number) != 0);
	need_equal(ibv_destroy_srq(srq), 0);
	struct ibv_srq_init_attr_ex basic = { .attr = { .max_wr = 3, .max_sge = 2, .srq_limit = 2 }, .pd = rc.pd,
					      .srq_type = IBV_SRQT_BASIC,
					      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD };
	srq = ibv_create_srq_ex(rc.context, &basic);
	need(srq != NULL && basic.attr.max_wr >= 3 && basic.attr.max_sge >= 2 && srq->pd == rc.pd);
	need_equal(ibv_destroy_srq(srq), 0);
	basic.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	need_errno(ibv_create_srq_ex(rc.context, &basic), EINVAL);
	rc_close(&rc);
}

static const struct harness_case cases[] = {
	{ "sequences", "random calls at several contexts: conventions, errnos, busy objects, and an end", sequences },
	{ "unsupported", "what a software adapter has not, each call by its convention", unsupported },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
