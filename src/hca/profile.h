/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where adapters and the specification differ and programs notice, one setting of the process says whose way is taken: that of
 * adapters (the default) or that of the specification.
 *
 * Threads: set before the first device is made, read by any.
 */
#ifndef HCA_PROFILE_H
#define HCA_PROFILE_H

#include <stdbool.h>

void hca_profile_set(bool is_spec);
bool hca_profile_is_spec(void);

#endif
