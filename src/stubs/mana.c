/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libmana.so.1: Azure MANA adapters. Only DPDK links it. */
#include "stubs/answers.h"

/* MANA_1.0 */
STUBS_ERRNO(manadv_init_obj)
STUBS_ERRNO(manadv_set_context_attr)

/* MANA_1.1 */
STUBS_POINTER(manadv_alloc_pd)
