/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection domains: a number that memory regions and queue pairs must share.
 *
 * Errors: BASE_ERR_NOMEM; BASE_ERR_BUSY at free while an MR, QP, SRQ or AH is still on it. Threads: any.
 */
#ifndef HCA_PD_H
#define HCA_PD_H

#include <stdint.h>

struct hca_context;
struct hca_pd; /* opaque */

int hca_pd_alloc(struct hca_context *context, void *user, struct hca_pd **out);
int hca_pd_dealloc(struct hca_pd *pd);
uint32_t hca_pd_number(const struct hca_pd *pd);
void *hca_pd_user(const struct hca_pd *pd);

#endif
