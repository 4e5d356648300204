/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Enhanced Connection Establishment: options of a queue pair that both ends must know of, so that they are agreed upon when a
 * connection is made. Here is what this adapter offers, and what a queue pair was granted.
 *
 * Before hca_qp_ece_set() a query tells what could be granted; after it, until the next RESET, what was. What was granted
 * takes effect when the QP goes to RTR, or from RTR to RTS; without a set nothing takes effect. Options are RC's: other types
 * have none.
 *
 * Errors: BASE_ERR_UNSUPPORTED: the device has no ECE (hca_device_config.ece). hca_qp_ece_set(): BASE_ERR_INVAL: of another
 * vendor, or the QP is beyond RTR. Threads: any.
 */
#ifndef HCA_QP_ECE_H
#define HCA_QP_ECE_H

#include <stdint.h>

/*
 * Whose options these are: 24 bits in the form of an OUI. The bit 0x020000 makes it locally administered, so nobody's by
 * registration; the rest spells "SV". This is the one place that says so.
 */
#define HCA_ECE_VENDOR 0x025356u

enum hca_ece_option {
	HCA_ECE_SELECTIVE_REPEAT = 1 << 0, /* docs/protocol/selective-repeat.md */
	HCA_ECE_OPTIONS = HCA_ECE_SELECTIVE_REPEAT, /* all that there are */
};

struct hca_ece {
	uint32_t vendor_id; /* 24 bits; 0: no ECE */
	uint32_t options;   /* enum hca_ece_option, as far as the vendor is ours */
};

struct hca_qp;

int hca_qp_ece_query(struct hca_qp *qp, struct hca_ece *out);
/* Bits that this adapter does not know are masked. */
int hca_qp_ece_set(struct hca_qp *qp, const struct hca_ece *ece);

#endif
