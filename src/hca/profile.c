/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/profile.h"

#include <stdatomic.h>

static _Atomic bool spec;

void hca_profile_set(bool is_spec)
{
	atomic_store_explicit(&spec, is_spec, memory_order_relaxed);
}

bool hca_profile_is_spec(void)
{
	return atomic_load_explicit(&spec, memory_order_relaxed);
}
