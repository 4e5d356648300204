/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libmlx5.so.1: ConnectX and BlueField adapters. UCX, perftest and pyverbs ask mlx5dv_is_supported() and go the common way. */
#include "stubs/answers.h"

/* MLX5_1.0 */
STUBS_ERRNO(mlx5dv_query_device)

/* MLX5_1.1 */
STUBS_POINTER(mlx5dv_create_cq)

/* MLX5_1.2 */
STUBS_ERRNO(mlx5dv_init_obj)
STUBS_ERRNO(mlx5dv_set_context_attr)

/* MLX5_1.3 */
STUBS_POINTER(mlx5dv_create_qp)
STUBS_POINTER(mlx5dv_create_wq)

/* MLX5_1.4 */
STUBS_ERRNO(mlx5dv_get_clock_info)

/* MLX5_1.5 */
STUBS_POINTER(mlx5dv_create_flow_action_esp)

/* MLX5_1.6 */
STUBS_POINTER(mlx5dv_create_flow)
STUBS_POINTER(mlx5dv_create_flow_matcher)
STUBS_ERRNO(mlx5dv_destroy_flow_matcher)

/* MLX5_1.7 */
STUBS_POINTER(mlx5dv_create_flow_action_modify_header)
STUBS_POINTER(mlx5dv_create_flow_action_packet_reformat)
STUBS_POINTER(mlx5dv_devx_alloc_uar)
STUBS_VOID(mlx5dv_devx_free_uar)
STUBS_ERRNO(mlx5dv_devx_general_cmd)
STUBS_POINTER(mlx5dv_devx_obj_create)
STUBS_ERRNO(mlx5dv_devx_obj_destroy)
STUBS_ERRNO(mlx5dv_devx_obj_modify)
STUBS_ERRNO(mlx5dv_devx_obj_query)
STUBS_ERRNO(mlx5dv_devx_query_eqn)
STUBS_ERRNO(mlx5dv_devx_umem_dereg)
STUBS_POINTER(mlx5dv_devx_umem_reg)
STUBS_POINTER(mlx5dv_open_device)

/* MLX5_1.8 */
STUBS_ERRNO(mlx5dv_devx_cq_modify)
STUBS_ERRNO(mlx5dv_devx_cq_query)
STUBS_ERRNO(mlx5dv_devx_ind_tbl_modify)
STUBS_ERRNO(mlx5dv_devx_ind_tbl_query)
STUBS_ERRNO(mlx5dv_devx_qp_modify)
STUBS_ERRNO(mlx5dv_devx_qp_query)
STUBS_ERRNO(mlx5dv_devx_srq_modify)
STUBS_ERRNO(mlx5dv_devx_srq_query)
STUBS_ERRNO(mlx5dv_devx_wq_modify)
STUBS_ERRNO(mlx5dv_devx_wq_query)
STUBS_FALSE(mlx5dv_is_supported)

/* MLX5_1.9 */
STUBS_POINTER(mlx5dv_devx_create_cmd_comp)
STUBS_VOID(mlx5dv_devx_destroy_cmd_comp)
STUBS_ERRNO(mlx5dv_devx_get_async_cmd_comp)
STUBS_ERRNO(mlx5dv_devx_obj_query_async)

/* MLX5_1.10 */
STUBS_POINTER(mlx5dv_alloc_dm)
STUBS_POINTER(mlx5dv_create_mkey)
STUBS_ERRNO(mlx5dv_destroy_mkey)
STUBS_POINTER(mlx5dv_dr_action_create_dest_ibv_qp)
STUBS_POINTER(mlx5dv_dr_action_create_dest_table)
STUBS_POINTER(mlx5dv_dr_action_create_dest_vport)
STUBS_POINTER(mlx5dv_dr_action_create_drop)
STUBS_POINTER(mlx5dv_dr_action_create_flow_counter)
STUBS_POINTER(mlx5dv_dr_action_create_modify_header)
STUBS_POINTER(mlx5dv_dr_action_create_packet_reformat)
STUBS_POINTER(mlx5dv_dr_action_create_tag)
STUBS_ERRNO(mlx5dv_dr_action_destroy)
STUBS_POINTER(mlx5dv_dr_domain_create)
STUBS_ERRNO(mlx5dv_dr_domain_destroy)
STUBS_ERRNO(mlx5dv_dr_domain_sync)
STUBS_POINTER(mlx5dv_dr_matcher_create)
STUBS_ERRNO(mlx5dv_dr_matcher_destroy)
STUBS_POINTER(mlx5dv_dr_rule_create)
STUBS_ERRNO(mlx5dv_dr_rule_destroy)
STUBS_POINTER(mlx5dv_dr_table_create)
STUBS_ERRNO(mlx5dv_dr_table_destroy)
STUBS_POINTER(mlx5dv_qp_ex_from_ibv_qp_ex)

/* MLX5_1.11 */
STUBS_POINTER(mlx5dv_devx_create_event_channel)
STUBS_VOID(mlx5dv_devx_destroy_event_channel)
STUBS_MINUS_ONE(mlx5dv_devx_get_event)
STUBS_ERRNO(mlx5dv_devx_subscribe_devx_event)
STUBS_ERRNO(mlx5dv_devx_subscribe_devx_event_fd)

/* MLX5_1.12 */
STUBS_POINTER(mlx5dv_alloc_var)
STUBS_POINTER(mlx5dv_dr_action_create_flow_meter)
STUBS_ERRNO(mlx5dv_dr_action_modify_flow_meter)
STUBS_ERRNO(mlx5dv_dump_dr_domain)
STUBS_ERRNO(mlx5dv_dump_dr_matcher)
STUBS_ERRNO(mlx5dv_dump_dr_rule)
STUBS_ERRNO(mlx5dv_dump_dr_table)
STUBS_VOID(mlx5dv_free_var)

/* MLX5_1.13 */
STUBS_POINTER(mlx5dv_pp_alloc)
STUBS_VOID(mlx5dv_pp_free)

/* MLX5_1.14 */
STUBS_POINTER(mlx5dv_dr_action_create_default_miss)
STUBS_VOID(mlx5dv_dr_domain_set_reclaim_device_memory)
STUBS_ERRNO(mlx5dv_modify_qp_lag_port)
STUBS_ERRNO(mlx5dv_query_qp_lag_port)

/* MLX5_1.15 */
STUBS_POINTER(mlx5dv_dr_action_create_dest_devx_tir)

/* MLX5_1.16 */
STUBS_POINTER(mlx5dv_dr_action_create_dest_array)
STUBS_POINTER(mlx5dv_dr_action_create_flow_sampler)

/* MLX5_1.17 */
STUBS_POINTER(mlx5dv_dr_action_create_aso)
STUBS_POINTER(mlx5dv_dr_action_create_pop_vlan)
STUBS_POINTER(mlx5dv_dr_action_create_push_vlan)
STUBS_ERRNO(mlx5dv_dr_action_modify_aso)
STUBS_ERRNO(mlx5dv_modify_qp_sched_elem)
STUBS_ERRNO(mlx5dv_modify_qp_udp_sport)
STUBS_POINTER(mlx5dv_sched_leaf_create)
STUBS_ERRNO(mlx5dv_sched_leaf_destroy)
STUBS_ERRNO(mlx5dv_sched_leaf_modify)
STUBS_POINTER(mlx5dv_sched_node_create)
STUBS_ERRNO(mlx5dv_sched_node_destroy)
STUBS_ERRNO(mlx5dv_sched_node_modify)

/* MLX5_1.18 */
STUBS_ERRNO(mlx5dv_reserved_qpn_alloc)
STUBS_ERRNO(mlx5dv_reserved_qpn_dealloc)

/* MLX5_1.19 */
STUBS_ERRNO(_mlx5dv_query_port)
STUBS_POINTER(mlx5dv_devx_umem_reg_ex)
STUBS_POINTER(mlx5dv_dm_map_op_addr)

/* MLX5_1.20 */
STUBS_ERRNO(_mlx5dv_mkey_check)
STUBS_VOID(mlx5dv_dr_domain_allow_duplicate_rules)
STUBS_ERRNO(mlx5dv_map_ah_to_qp)
STUBS_ERRNO(mlx5dv_qp_cancel_posted_send_wrs)

/* MLX5_1.21 */
STUBS_ERRNO(mlx5dv_crypto_login)
STUBS_ERRNO(mlx5dv_crypto_login_query_state)
STUBS_ERRNO(mlx5dv_crypto_logout)
STUBS_ERRNO(mlx5dv_dci_stream_id_reset)
STUBS_POINTER(mlx5dv_dek_create)
STUBS_ERRNO(mlx5dv_dek_destroy)
STUBS_ERRNO(mlx5dv_dek_query)
STUBS_POINTER(mlx5dv_dr_action_create_dest_ib_port)
STUBS_ERRNO(mlx5dv_dr_matcher_set_layout)
STUBS_POINTER(mlx5dv_get_vfio_device_list)
STUBS_MINUS_ONE(mlx5dv_vfio_get_events_fd)
STUBS_ERRNO(mlx5dv_vfio_process_events)

/* MLX5_1.22 */
STUBS_ERRNO(mlx5dv_dr_aso_other_domain_link)
STUBS_ERRNO(mlx5dv_dr_aso_other_domain_unlink)

/* MLX5_1.23 */
STUBS_POINTER(mlx5dv_devx_alloc_msi_vector)
STUBS_POINTER(mlx5dv_devx_create_eq)
STUBS_ERRNO(mlx5dv_devx_destroy_eq)
STUBS_ERRNO(mlx5dv_devx_free_msi_vector)

/* MLX5_1.24 */
STUBS_POINTER(mlx5dv_create_steering_anchor)
STUBS_POINTER(mlx5dv_crypto_login_create)
STUBS_ERRNO(mlx5dv_crypto_login_destroy)
STUBS_ERRNO(mlx5dv_crypto_login_query)
STUBS_ERRNO(mlx5dv_destroy_steering_anchor)
STUBS_POINTER(mlx5dv_dr_action_create_dest_root_table)

/* MLX5_1.25 */
STUBS_ERRNO(mlx5dv_get_data_direct_sysfs_path)
STUBS_POINTER(mlx5dv_reg_dmabuf_mr)

/* MLX5_1.25.1 */
STUBS_POINTER(__mlx5dv_create_flow)

/* MLX5_1.26 */
STUBS_MINUS_ONE(mlx5dv_devx_uar_export_dmabuf_fd)

/* MLX5_1.27 */
STUBS_ERRNO(_mlx5dv_get_export_sizes)
STUBS_ERRNO(mlx5dv_devx_obj_export)
STUBS_POINTER(mlx5dv_devx_obj_import)
STUBS_VOID(mlx5dv_devx_obj_unimport)
STUBS_ERRNO(mlx5dv_devx_umem_export)
STUBS_POINTER(mlx5dv_devx_umem_import)
STUBS_VOID(mlx5dv_devx_umem_unimport)
STUBS_ERRNO(mlx5dv_var_export)
STUBS_POINTER(mlx5dv_var_import)
STUBS_VOID(mlx5dv_var_unimport)

STUBS_ERRNO(mlx5dv_init_obj_1_0)
VERBS_COMPAT(mlx5dv_init_obj_1_0, mlx5dv_init_obj, MLX5_1.0);
