/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Thread domains, and parent domains with allocators: whose memory queues lie in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct arena {
	struct ibv_pd *pd;
	unsigned allocated, freed, bytes;
	unsigned of_kind[8];
	bool refuse, leave, skewed;
};

static void *arena_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t kind)
{
	struct arena *arena = context;

	need(pd == arena->pd);
	need(kind > 0 && kind < 8 && (alignment & (alignment - 1)) == 0);
	if (arena->leave)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (arena->refuse)
		return NULL;
	char *block = aligned_alloc(64, (size + 127) & ~(size_t)63);
	need(block != NULL);
	memset(block, 0xee, size);
	arena->allocated++;
	arena->of_kind[kind]++;
	return arena->skewed ? block + 8 : block;
}

static void arena_free(struct ibv_pd *pd, void *context, void *block, uint64_t kind)
{
	struct arena *arena = context;

	need(pd == arena->pd && kind > 0 && kind < 8);
	need(arena->of_kind[kind] > 0);
	arena->of_kind[kind]--;
	arena->freed++;
	free((char *)block - (arena->skewed ? 8 : 0));
}

static struct ibv_pd *parent_of(struct ibv_context *context, struct ibv_pd *pd, struct ibv_td *td, struct arena *arena)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd, .td = td, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = arena_alloc, .free = arena_free, .pd_context = arena,
	};

	arena->pd = ibv_alloc_parent_domain(context, &attr);
	return arena->pd;
}

static void domain_errors(void)
{
	struct ibv_context *context = rc_device_open(), *other = rc_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context), *foreign = ibv_alloc_pd(other);
	struct arena arena = { 0 };

	need(pd != NULL && foreign != NULL);
	need_errno(ibv_alloc_td(context, &(struct ibv_td_init_attr){ .comp_mask = 1 }), EINVAL);
	struct ibv_td *td = ibv_alloc_td(context, &(struct ibv_td_init_attr){ 0 });
	need(td != NULL && td->context == context);
	struct ibv_parent_domain_init_attr attr = { .td = td };
	need_errno(ibv_alloc_parent_domain(context, &attr), EINVAL);
	attr.pd = foreign;
	need_errno(ibv_alloc_parent_domain(context, &attr), EINVAL);
	attr.pd = pd;
	attr.comp_mask = 1u << 8;
	need_errno(ibv_alloc_parent_domain(context, &attr), EINVAL);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = arena_alloc;
	need_errno(ibv_alloc_parent_domain(context, &attr), EINVAL);
	struct ibv_pd *parent = parent_of(context, pd, td, &arena);
	need(parent != NULL && parent != pd && parent->context == context);
	attr = (struct ibv_parent_domain_init_attr){ .pd = parent };
	need_errno(ibv_alloc_parent_domain(context, &attr), EINVAL);
	need_equal(ibv_dealloc_td(td), EBUSY);
	need_equal(ibv_dealloc_pd(pd), EBUSY);
	/* A queue in a domain that is no parent, of another context, or not given. */
	struct ibv_cq_init_attr_ex cq = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	need_errno(ibv_create_cq_ex(context, &cq), EINVAL);
	cq.parent_domain = pd;
	need_errno(ibv_create_cq_ex(context, &cq), EINVAL);
	cq.parent_domain = parent;
	need_errno(ibv_create_cq_ex(other, &cq), EINVAL);
	struct ibv_cq_ex *made = ibv_create_cq_ex(context, &cq);
	need(made != NULL && arena.allocated == 1);
	need_equal(ibv_dealloc_pd(parent), EBUSY);
	need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(made)), 0);
	need_equal(arena.freed, 1);
	/* An allocator that has nothing, or a block that is not aligned. */
	arena.refuse = true;
	need_errno(ibv_create_cq_ex(context, &cq), ENOMEM);
	arena = (struct arena){ .pd = parent, .skewed = true };
	need_errno(ibv_create_cq_ex(context, &cq), ENOMEM);
	need_equal(arena.freed, 1);
	arena.skewed = false;
	need_equal(ibv_dealloc_pd(parent), 0);
	need_equal(ibv_dealloc_td(td), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_dealloc_pd(foreign), 0);
	need_equal(ibv_close_device(other), 0);
	need_equal(ibv_close_device(context), 0);
}

/* Everything of one side lives in the program's memory, and works with the base's registrations. */
static void parent_traffic(void)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct arena arena = { 0 };
	struct rc a, b;

	need(pd != NULL && parent_of(context, pd, NULL, &arena) != NULL);
	for (int round = 0; round < 2; round++) {
		arena.leave = round == 1;
		struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 2 } };
		struct ibv_srq *srq = ibv_create_srq(arena.pd, &srq_attr);
		need(srq != NULL);
		srq_attr.attr.max_wr = 100;
		need_equal(ibv_modify_srq(srq, &srq_attr.attr, IBV_SRQ_MAX_WR), 0);
		struct ibv_cq_init_attr_ex cq_attr = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = arena.pd,
						       .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
		struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &cq_attr);
		need(cq != NULL);
		need_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 30), 0);
		rc_pair(&a, &b, &(struct rc_options){ .context = context, .pd = arena.pd }, &(struct rc_options){ .context = context,
			.pd = pd });
		/* The buffer of the base domain, sent by a QP of the parent's: one domain. */
		struct ibv_mr *mr = ibv_reg_mr(pd, a.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
		need(mr != NULL);
		for (int i = 0; i < 4096; i++)
			a.buf[i] = (unsigned char)(i + round);
		struct ibv_sge sge = { (uintptr_t)a.buf, 4096, mr->lkey };
		struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED }, *bad;
		need_equal(rc_receive(&b, 2, 0, 4096), 0);
		need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
		cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
		cq_expect(b.recv_cq, 2, IBV_WC_SUCCESS, IBV_WC_RECV);
		need(memcmp(a.buf, b.buf, 4096) == 0);
		if (round == 0)
			need(arena.of_kind[1] == 1 && arena.of_kind[2] == 1 && arena.of_kind[3] == 1 && arena.of_kind[4] == 2);
		need_equal(ibv_dereg_mr(mr), 0);
		rc_pair_close(&a, &b);
		need_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
		need_equal(ibv_destroy_srq(srq), 0);
		need_equal(arena.allocated, arena.freed);
	}
	/* An allocator that has nothing left: the QP is refused, and nothing is left over. */
	arena.leave = false;
	arena.refuse = true;
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	need_errno(ibv_create_qp(arena.pd, &init), ENOMEM);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 2 } };
	need_errno(ibv_create_srq(arena.pd, &srq_attr), ENOMEM);
	need_equal(ibv_destroy_cq(cq), 0);
	need_equal(ibv_dealloc_pd(arena.pd), 0);
	need_equal(ibv_dealloc_pd(pd), 0);
	need_equal(ibv_close_device(context), 0);
}

static const struct harness_case cases[] = {
	{ "domain_errors", "errno of thread and parent domains", domain_errors },
	{ "parent_traffic", "queues in memory of the program's own", parent_traffic },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
