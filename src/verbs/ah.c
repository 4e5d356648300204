/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address attributes and handles. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "verbs/context.h"
#include "verbs/object.h"
#include "verbs/symbol.h"

void verbs_ah_attr_in(struct hca_ah_attr *out, const struct ibv_ah_attr *in)
{
	*out = (struct hca_ah_attr){
		.flow_label = in->grh.flow_label,
		.dlid = in->dlid,
		.sgid_index = in->grh.sgid_index,
		.hop_limit = in->grh.hop_limit,
		.traffic_class = in->grh.traffic_class,
		.sl = in->sl,
		.src_path_bits = in->src_path_bits,
		.static_rate = in->static_rate,
		.port_num = in->port_num,
		.is_global = in->is_global != 0,
	};
	memcpy(out->dgid.raw, in->grh.dgid.raw, sizeof(out->dgid.raw));
}

void verbs_ah_attr_out(struct ibv_ah_attr *out, const struct hca_ah_attr *in)
{
	*out = (struct ibv_ah_attr){
		.grh = { .flow_label = in->flow_label, .sgid_index = in->sgid_index, .hop_limit = in->hop_limit,
			 .traffic_class = in->traffic_class },
		.dlid = in->dlid,
		.sl = in->sl,
		.src_path_bits = in->src_path_bits,
		.static_rate = in->static_rate,
		.is_global = in->is_global,
		.port_num = in->port_num,
	};
	memcpy(out->grh.dgid.raw, in->dgid.raw, sizeof(in->dgid.raw));
}

VERBS_PUBLIC struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	if (verbs_is_inherited(pd->context))
		return verbs_null_inherited();
	struct hca_ah_attr ours;
	struct verbs_ah *ah = calloc(1, sizeof(*ah));

	if (ah == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	verbs_ah_attr_in(&ours, attr);
	int err = hca_ah_create(verbs_pd_of(pd)->hca, &ours, &ah->hca);
	if (err != 0) {
		free(ah);
		return verbs_null(err);
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	return &ah->ibv;
}

VERBS_PUBLIC int ibv_destroy_ah(struct ibv_ah *ah)
{
	hca_ah_destroy(verbs_ah_of(ah)->hca);
	free(ah);
	return 0;
}

VERBS_PUBLIC struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}
