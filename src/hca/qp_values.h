/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The value rules of a modify, apart from the tables of which attributes may come: one row per attribute of the specification.
 * Pure but for the capability that a privileged qkey asks for. Any thread.
 */
#ifndef HCA_QP_VALUES_H
#define HCA_QP_VALUES_H

#include <stdint.h>

#include "hca/qp.h"

struct hca_qp_values {
	int active_mtu;   /* code of the port */
	uint8_t port_num; /* as given at INIT; 0: none yet */
};

/* 0, BASE_ERR_INVAL, or BASE_ERR_PERM. Explains. */
int hca_qp_values_check(const struct hca_qp_values *limits, const struct hca_qp_attr *attr, uint32_t mask);

#endif
