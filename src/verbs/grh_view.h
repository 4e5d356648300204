/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the first 40 bytes of a UD receive buffer say about the sender. Over RoCE v1 and RoCE v2 on IPv6 they hold the network
 * header; over RoCE v2 on IPv4 the IPv4 header fills the last 20 and the first 20 mean nothing. Pure functions.
 */
#ifndef VERBS_GRH_VIEW_H
#define VERBS_GRH_VIEW_H

#include <infiniband/verbs.h>

struct verbs_grh_view {
	union ibv_gid source;      /* an IPv4 address appears as ::ffff:a.b.c.d */
	union ibv_gid destination;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
	enum ibv_gid_type gid_type; /* IBV_GID_TYPE_ROCE_V1 or IBV_GID_TYPE_ROCE_V2 */
};

/* 0, or BASE_ERR_MALFORMED when the area holds neither header; `view` is written on success only. */
int verbs_grh_view(struct verbs_grh_view *view, const struct ibv_grh *grh);

#endif
