/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Newer than our oldest headers and without a counterpart in a software adapter: each says so. */
#include "verbs/newer.h"

#include "verbs/symbol.h"

#include <errno.h>

static void *no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

static int no_descriptor(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

VERBS_PUBLIC struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	return no_object();
}

VERBS_PUBLIC void ibv_free_buf(struct ibv_buf *buf)
{
}

VERBS_PUBLIC struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	return no_object();
}

VERBS_PUBLIC int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	return no_descriptor();
}

VERBS_PUBLIC int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	return no_descriptor();
}

VERBS_PUBLIC int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t size)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr)
{
	return no_object();
}

VERBS_PUBLIC int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
	struct ibv_qp_attach_comp_cntr_attr *attr)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value)
{
	return EOPNOTSUPP;
}

VERBS_PUBLIC int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value)
{
	return EOPNOTSUPP;
}
