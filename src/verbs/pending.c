/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs that are not built yet. Each refuses by its own convention, so that a program ends with a message of its own. A verb
 * leaves this file when its object gets one.
 */
#include "verbs/driver.h"
#include "verbs/symbol.h"

#include <infiniband/verbs.h>

#include <errno.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static void *no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

static int minus_one(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

/* device and context */

VERBS_PUBLIC int ibv_get_device_index(struct ibv_device *device)
{
	return -1;
}

VERBS_PUBLIC __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return 0;
}

VERBS_PUBLIC struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return no_object();
}

VERBS_PUBLIC int ibv_close_device(struct ibv_context *context)
{
	return minus_one();
}

VERBS_PUBLIC struct ibv_context *ibv_import_device(int cmd_fd)
{
	return no_object();
}

VERBS_PUBLIC int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	return minus_one();
}

VERBS_PUBLIC int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
	uint32_t flags, size_t entry_size)
{
	return -EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
	enum verbs_gid_type_sysfs *type)
{
	return minus_one();
}

VERBS_PUBLIC int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	return minus_one();
}

VERBS_PUBLIC int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	return minus_one();
}

/* events */

VERBS_PUBLIC int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	return minus_one();
}

VERBS_PUBLIC void ibv_ack_async_event(struct ibv_async_event *event)
{
}

VERBS_PUBLIC struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	return no_object();
}

VERBS_PUBLIC int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	return minus_one();
}

VERBS_PUBLIC void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
}

/* protection domains and memory */

VERBS_PUBLIC struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return no_object();
}

VERBS_PUBLIC int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_pd(struct ibv_pd *pd)
{
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return no_object();
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return no_object();
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return no_object();
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
	int access)
{
	return no_object();
}

VERBS_PUBLIC int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

VERBS_PUBLIC int ibv_dereg_mr(struct ibv_mr *mr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_mr(struct ibv_mr *mr)
{
}

VERBS_PUBLIC struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	return no_object();
}

VERBS_PUBLIC void ibv_unimport_dm(struct ibv_dm *dm)
{
}

/* completion queues */

VERBS_PUBLIC struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	struct ibv_comp_channel *channel, int comp_vector)
{
	return no_object();
}

VERBS_PUBLIC int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_destroy_cq(struct ibv_cq *cq)
{
	return EOPNOTSUPP;
}

/* shared receive queues */

VERBS_PUBLIC struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_destroy_srq(struct ibv_srq *srq)
{
	return EOPNOTSUPP;
}

/* queue pairs */

VERBS_PUBLIC struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_destroy_qp(struct ibv_qp *qp)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return NULL;
}

VERBS_PUBLIC int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

VERBS_PUBLIC int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	errno = EOPNOTSUPP;
	return errno;
}

VERBS_PUBLIC int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

/* address handles */

VERBS_PUBLIC struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC int ibv_destroy_ah(struct ibv_ah *ah)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
	uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	return EOPNOTSUPP;
}
