/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One function per admin command: plain structures in, plain structures out. Errors and threads: efa/driver/com.h. Results are
 * written on success only.
 */
#ifndef EFA_DRIVER_COMMAND_H
#define EFA_DRIVER_COMMAND_H

#include "efa/abi/command.h"
#include "efa/abi/feature.h"
#include "efa/driver/com.h"

int efa_com_create_qp(struct efa_com *com, const struct efa_abi_create_qp *in, struct efa_abi_create_qp_result *out);
int efa_com_modify_qp(struct efa_com *com, const struct efa_abi_modify_qp *in);
int efa_com_query_qp(struct efa_com *com, uint32_t handle, struct efa_abi_query_qp_result *out);
int efa_com_destroy_qp(struct efa_com *com, uint32_t handle);
int efa_com_create_ah(struct efa_com *com, uint16_t pd, const uint8_t gid[16], uint16_t *ah);
int efa_com_destroy_ah(struct efa_com *com, uint16_t pd, uint16_t ah);
/* flags: EFA_AQ_FLAG_CTRL_*; see efa/driver/page_list.h. */
int efa_com_reg_mr(struct efa_com *com, const struct efa_abi_reg_mr *in, uint8_t flags, struct efa_abi_reg_mr_result *out);
int efa_com_dereg_mr(struct efa_com *com, uint32_t lkey);
int efa_com_create_cq(struct efa_com *com, const struct efa_abi_create_cq *in, struct efa_abi_create_cq_result *out);
int efa_com_destroy_cq(struct efa_com *com, uint16_t cq_idx);
/* out: the structure of the feature. BASE_ERR_INVAL also: no such feature. */
int efa_com_get_feature(struct efa_com *com, enum efa_abi_feature_id id, void *out);
int efa_com_set_aenq(struct efa_com *com, uint32_t enabled);
int efa_com_set_host_info(struct efa_com *com, const struct efa_abi_host_info *info);
/* out: efa_abi_stats_count(type) counters. */
int efa_com_get_stats(struct efa_com *com, enum efa_abi_stats_type type, uint64_t *out);
int efa_com_alloc_pd(struct efa_com *com, uint16_t *pd);
int efa_com_dealloc_pd(struct efa_com *com, uint16_t pd);
int efa_com_alloc_uar(struct efa_com *com, uint16_t *uar);
int efa_com_dealloc_uar(struct efa_com *com, uint16_t uar);
int efa_com_create_eq(struct efa_com *com, const struct efa_abi_create_eq *in, uint16_t *eqn);
int efa_com_destroy_eq(struct efa_com *com, uint16_t eqn);
/* For the kernel's own use of an adapter; software adapters refuse it. */
int efa_com_alloc_mr(struct efa_com *com, uint16_t pd, uint32_t max_pages, struct efa_abi_reg_mr_result *out);

#endif
