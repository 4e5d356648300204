/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libhns.so.1: HiSilicon adapters. perftest of rdma-core 50 and later links it. */
#include "stubs/answers.h"

/* HNS_1.0 */
STUBS_POINTER(hnsdv_create_qp)
STUBS_FALSE(hnsdv_is_supported)
STUBS_ERRNO(hnsdv_query_device)
