/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What of verbs a device has: one attempt for each kind of object, a line "object TAB call TAB answer" each. run.py holds
 * docs/conformance.md to it. The answer is "works" or the name of the errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char memory[8192] __attribute__((aligned(4096)));

static void tell(const char *object, const char *call, int error)
{
	const char *name = error == 0 ? "works" : strerrorname_np(error);

	printf("%s\t%s\t%s\n", object, call, name != NULL ? name : "?");
}

/* The errno of a call that gave this pointer. */
static int of(const void *made)
{
	return made != NULL ? 0 : errno;
}

static void qp(const char *name, enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = type, .send_cq = cq, .recv_cq = cq, .pd = pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 } };

	if (type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
	}
	if (type == IBV_QPT_XRC_RECV && xrcd == NULL) {
		tell("queue pair", name, EOPNOTSUPP);
		return;
	}
	struct ibv_qp *made = ibv_create_qp_ex(context, &init);
	tell("queue pair", name, of(made));
	if (made != NULL)
		ibv_destroy_qp(made);
}

static void queue_pairs(void)
{
	static const struct {
		const char *name;
		uint64_t flag;
	} ops[] = {
		{ "create_qp_ex, SEND", IBV_QP_EX_WITH_SEND }, { "create_qp_ex, SEND_WITH_IMM", IBV_QP_EX_WITH_SEND_WITH_IMM },
		{ "create_qp_ex, SEND_WITH_INV", IBV_QP_EX_WITH_SEND_WITH_INV },
		{ "create_qp_ex, RDMA_WRITE", IBV_QP_EX_WITH_RDMA_WRITE },
		{ "create_qp_ex, RDMA_WRITE_WITH_IMM", IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM },
		{ "create_qp_ex, RDMA_READ", IBV_QP_EX_WITH_RDMA_READ },
		{ "create_qp_ex, ATOMIC_CMP_AND_SWP", IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
		{ "create_qp_ex, ATOMIC_FETCH_AND_ADD", IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
		{ "create_qp_ex, LOCAL_INV", IBV_QP_EX_WITH_LOCAL_INV }, { "create_qp_ex, BIND_MW", IBV_QP_EX_WITH_BIND_MW },
		{ "create_qp_ex, FLUSH", 1 << 11 }, { "create_qp_ex, ATOMIC_WRITE", 1 << 12 },
		{ "create_qp_ex, TSO", IBV_QP_EX_WITH_TSO },
	};
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &domain);

	tell("XRC domain", "open_xrcd", of(xrcd));
	qp("create_qp, RC", IBV_QPT_RC, NULL);
	qp("create_qp, UC", IBV_QPT_UC, NULL);
	qp("create_qp, UD", IBV_QPT_UD, NULL);
	qp("create_qp, XRC_SEND", IBV_QPT_XRC_SEND, NULL);
	qp("create_qp, XRC_RECV", IBV_QPT_XRC_RECV, xrcd);
	qp("create_qp, RAW_PACKET", IBV_QPT_RAW_PACKET, NULL);
	qp("create_qp, DRIVER", IBV_QPT_DRIVER, NULL);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .pd = pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = ops[i].flag,
			.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 } };
		struct ibv_qp *made = ibv_create_qp_ex(context, &init);

		tell("queue pair", ops[i].name, of(made));
		if (made != NULL)
			ibv_destroy_qp(made);
	}
	struct ibv_srq_init_attr_ex xrc = { .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = xrcd,
		.cq = cq, .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ };
	struct ibv_srq *srq = xrcd != NULL ? ibv_create_srq_ex(context, &xrc) : NULL;
	tell("shared receive queue", "create_srq_ex, XRC", xrcd != NULL ? of(srq) : EOPNOTSUPP);
	if (srq != NULL)
		ibv_destroy_srq(srq);
	struct ibv_srq_init_attr_ex tags = { .attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IBV_SRQT_TM, .pd = pd, .cq = cq,
		.tm_cap = { .max_num_tags = 1, .max_ops = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM };
	tell("shared receive queue", "create_srq_ex, TM", of(ibv_create_srq_ex(context, &tags)));
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 1, .max_sge = 1 } };
	srq = ibv_create_srq(pd, &basic);
	tell("shared receive queue", "create_srq", of(srq));
	if (srq != NULL) {
		struct ibv_srq_attr more = { .max_wr = 8 }, limit = { .srq_limit = 1 };

		tell("shared receive queue", "modify_srq, MAX_WR", ibv_modify_srq(srq, &more, IBV_SRQ_MAX_WR));
		tell("shared receive queue", "modify_srq, LIMIT", ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
		ibv_destroy_srq(srq);
	}
	if (xrcd != NULL)
		ibv_close_xrcd(xrcd);
}

static void completion_queues(void)
{
	static const struct {
		const char *name;
		uint64_t flags;
	} wanted[] = {
		{ "create_cq_ex, standard flags", IBV_WC_STANDARD_FLAGS },
		{ "create_cq_ex, COMPLETION_TIMESTAMP", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP },
		{ "create_cq_ex, COMPLETION_TIMESTAMP_WALLCLOCK", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK },
		{ "create_cq_ex, CVLAN", IBV_WC_EX_WITH_CVLAN }, { "create_cq_ex, FLOW_TAG", IBV_WC_EX_WITH_FLOW_TAG },
		{ "create_cq_ex, TM_INFO", IBV_WC_EX_WITH_TM_INFO },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct ibv_cq_init_attr_ex init = { .cqe = 1, .wc_flags = wanted[i].flags };
		struct ibv_cq_ex *made = ibv_create_cq_ex(context, &init);

		tell("completion queue", wanted[i].name, of(made));
		if (made != NULL)
			ibv_destroy_cq(ibv_cq_ex_to_cq(made));
	}
	struct ibv_cq_init_attr_ex init = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	struct ibv_cq_ex *made = ibv_create_cq_ex(context, &init);
	tell("completion queue", "create_cq_ex, SINGLE_THREADED and IGNORE_OVERRUN", of(made));
	if (made != NULL)
		ibv_destroy_cq(ibv_cq_ex_to_cq(made));
	tell("completion queue", "resize_cq", ibv_resize_cq(cq, 64));
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { .cq_count = 4, .cq_period = 10 } };
	tell("completion queue", "modify_cq, moderation", ibv_modify_cq(cq, &moderate));
}

static void regions(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), *other;

	tell("memory region", "reg_mr", of(mr));
	errno = 0;
	int err = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	tell("memory region", "rereg_mr", err == 0 ? 0 : errno);
	other = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	tell("memory region", "reg_mr, ON_DEMAND", of(other));
	if (other != NULL) {
		struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), other->lkey };

		tell("memory region", "advise_mr", ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
		ibv_dereg_mr(other);
	}
	other = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	tell("memory region", "reg_mr, ON_DEMAND, all of memory", of(other));
	if (other != NULL)
		ibv_dereg_mr(other);
	other = ibv_alloc_null_mr(pd);
	tell("memory region", "alloc_null_mr", of(other));
	if (other != NULL)
		ibv_dereg_mr(other);
	tell("memory region", "reg_dmabuf_mr", of(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, IBV_ACCESS_LOCAL_WRITE)));
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(pd, (enum ibv_mw_type)type);

		tell("memory window", type == IBV_MW_TYPE_1 ? "alloc_mw, type 1" : "alloc_mw, type 2", of(mw));
		if (mw != NULL)
			ibv_dealloc_mw(mw);
	}
	struct ibv_alloc_dm_attr size = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(context, &size);
	tell("device memory", "alloc_dm", of(dm));
	if (dm != NULL) {
		other = ibv_reg_dm_mr(pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
		tell("device memory", "reg_dm_mr", of(other));
		if (other != NULL)
			ibv_dereg_mr(other);
		ibv_free_dm(dm);
	}
	int copy = dup(context->cmd_fd);
	struct ibv_context *imported = ibv_import_device(copy);
	tell("import", "import_device, the same process", of(imported));
	if (imported != NULL) {
		struct ibv_pd *theirs = ibv_import_pd(imported, pd->handle);

		tell("import", "import_pd", of(theirs));
		if (theirs != NULL) {
			other = ibv_import_mr(theirs, mr->handle);
			tell("import", "import_mr", of(other));
			if (other != NULL)
				ibv_unimport_mr(other);
			ibv_unimport_pd(theirs);
		}
		ibv_close_device(imported);
	}
	ibv_dereg_mr(mr);
}

static void *own_alloc(struct ibv_pd *domain, void *mine, size_t size, size_t alignment, uint64_t type)
{
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void own_free(struct ibv_pd *domain, void *mine, void *at, uint64_t type)
{
}

static void domains(void)
{
	struct ibv_td_init_attr init = { 0 };
	struct ibv_td *td = ibv_alloc_td(context, &init);

	tell("thread domain", "alloc_td", of(td));
	struct ibv_parent_domain_init_attr parent = { .pd = pd, .td = td, .alloc = own_alloc, .free = own_free,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS };
	struct ibv_pd *domain = ibv_alloc_parent_domain(context, &parent);
	tell("parent domain", "alloc_parent_domain, allocators", of(domain));
	if (domain != NULL)
		ibv_dealloc_pd(domain);
	if (td != NULL)
		ibv_dealloc_td(td);
}

static void the_rest(void)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_values_ex clock = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1 };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = pd, .cq = cq };
	struct ibv_rwq_ind_table_init_attr spread = { 0 };
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 } };
	struct ibv_qp *ud = ibv_create_qp(pd, &init);
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct ibv_ah *ah;
	struct ibv_qp_rate_limit_attr rate = { 0 };
	struct ibv_ece ece = { 0 };

	/* The first GID to itself: what every port has. */
	ibv_query_gid(context, 1, 0, &to.grh.dgid);
	ah = ibv_create_ah(pd, &to);
	tell("address handle", "create_ah", of(ah));
	if (ah != NULL)
		ibv_destroy_ah(ah);
	tell("device", "query_rt_values_ex, RAW_CLOCK", ibv_query_rt_values_ex(context, &clock));
	tell("device", "get_async_event", context->async_fd >= 0 ? 0 : EBADF);
	tell("queue pair", "attach_mcast", ud != NULL ? ibv_attach_mcast(ud, &group, 0) : EBADF);
	tell("queue pair", "query_ece", ud != NULL ? ibv_query_ece(ud, &ece) : EBADF);
	tell("queue pair", "modify_qp_rate_limit", ud != NULL ? ibv_modify_qp_rate_limit(ud, &rate) : EBADF);
	tell("flow", "create_flow", ud != NULL ? of(ibv_create_flow(ud, &flow)) : EBADF);
	tell("flow", "create_flow_action_esp", of(ibv_create_flow_action_esp(context, &esp)));
	tell("work queue", "create_wq", of(ibv_create_wq(context, &wq)));
	tell("work queue", "create_rwq_ind_table", of(ibv_create_rwq_ind_table(context, &spread)));
	tell("counters", "create_counters", of(ibv_create_counters(context, &counters)));
	if (ud != NULL) {
		ibv_detach_mcast(ud, &group, 0);
		ibv_destroy_qp(ud);
	}
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list != NULL && list[i] != NULL && context == NULL; i++)
		if (argc > 1 && strcmp(list[i]->name, argv[1]) == 0)
			context = ibv_open_device(list[i]);
	if (context == NULL) {
		fprintf(stderr, "usage: objects DEVICE\n");
		return 2;
	}
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	if (pd == NULL || cq == NULL)
		return 1;
	queue_pairs();
	completion_queues();
	regions();
	domains();
	the_rest();
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
