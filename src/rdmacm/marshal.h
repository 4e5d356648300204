/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the kernel's layouts to those of the libraries: public functions of libibverbs.so.1 that no installed header declares any
 * more. They clear *dst first. Stateless.
 */
#ifndef RDMACM_MARSHAL_H
#define RDMACM_MARSHAL_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);

#endif
