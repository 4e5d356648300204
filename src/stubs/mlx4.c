/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libmlx4.so.1: ConnectX-3 adapters. */
#include "stubs/answers.h"

/* MLX4_1.0 */
STUBS_POINTER(mlx4dv_create_qp)
STUBS_ERRNO(mlx4dv_init_obj)
STUBS_ERRNO(mlx4dv_query_device)
STUBS_ERRNO(mlx4dv_set_context_attr)
