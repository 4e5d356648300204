/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Thread domains and parent domains. A thread domain is a promise of the program that needs no keeping here: the locks of a queue
 * that one thread uses cost next to nothing, and the progress thread takes part in any case. It exists so that it can be named,
 * and is busy while a parent domain names it.
 *
 * For memory.c, which ends domains of both kinds, and for the calls that take a parent domain by name.
 */
#ifndef VERBS_DOMAIN_H
#define VERBS_DOMAIN_H

#include "verbs/object.h"

/* A parent domain was freed in the adapter: gives back what it held. The memory of pd itself is the caller's. */
void verbs_parent_end(struct ibv_pd *pd);

#endif
