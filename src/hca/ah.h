/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address attributes and address handles. The AH holds the resolved path; UD work requests copy what they need at post time.
 *
 * Errors: BASE_ERR_INVAL (port, no GRH, empty sgid_index) and those of resolve_path. Threads: any; the AH itself never changes.
 */
#ifndef HCA_AH_H
#define HCA_AH_H

#include <stdbool.h>
#include <stdint.h>

#include "node/flow.h"
#include "wire/gid.h"

struct hca_context;
struct hca_pd;
struct hca_ah; /* opaque */

/* Names as in ibv_ah_attr. dlid, src_path_bits and static_rate are kept for queries only. */
struct hca_ah_attr {
	struct wire_gid dgid;
	uint32_t flow_label;
	uint16_t dlid;
	uint8_t sgid_index, hop_limit, traffic_class, sl, src_path_bits, static_rate, port_num;
	bool is_global;
};

/* May wait: not with the progress lock held. */
int hca_ah_create(struct hca_pd *pd, const struct hca_ah_attr *attr, struct hca_ah **out);
void hca_ah_destroy(struct hca_ah *ah);
const struct link_path *hca_ah_path(const struct hca_ah *ah);
/* The port and GRH rules alone: what both AHs and RTR check first. */
int hca_ah_attr_check(const struct hca_ah_attr *attr);

#endif
