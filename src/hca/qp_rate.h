/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate limit of a queue pair.
 *
 * Errors: BASE_ERR_INVAL: outside HCA_RATE_MIN_KBPS..HCA_RATE_MAX_KBPS and not 0, or before RTR or in error. It holds until the next
 * call, or a reset. Threads: any.
 */
#ifndef HCA_QP_RATE_H
#define HCA_QP_RATE_H

#include <stdint.h>

enum { HCA_RATE_MIN_KBPS = 100, HCA_RATE_MAX_KBPS = 400000000 };

struct hca_qp;

struct hca_qp_rate {
	uint32_t kbps;         /* 0: no limit */
	uint32_t burst_bytes;  /* that may go out at once; 0: what goes out in one piece anyway */
};

int hca_qp_rate_limit(struct hca_qp *qp, const struct hca_qp_rate *rate);

#endif
