/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Short names of the drop causes, for counters. Pure. */
#ifndef LINK_DROP_H
#define LINK_DROP_H

#include "link/link.h"

/* "icrc", "send_full", ...: one word, never NULL. */
const char *link_drop_name(enum link_drop drop);

#endif
