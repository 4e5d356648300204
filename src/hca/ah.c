/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/ah.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/device_internal.h"
#include "hca/limits.h"
#include "hca/pd_internal.h"

struct hca_ah {
	struct hca_pd *pd;
	struct link_path path;
};

int hca_ah_attr_check(const struct hca_ah_attr *attr)
{
	if (attr->port_num < 1 || attr->port_num > HCA_PORTS) {
		base_explain("address refused: port %u, there is only port 1", attr->port_num);
		return BASE_ERR_INVAL;
	}
	if (!attr->is_global) {
		base_explain("address refused: Ethernet ports need a GRH (is_global = 1, dgid, sgid_index); with perftest: -x INDEX");
		return BASE_ERR_INVAL;
	}
	return 0;
}

int hca_ah_create(struct hca_pd *pd, const struct hca_ah_attr *attr, struct hca_ah **out)
{
	const struct hca_device_config *config = &pd->context->device->config;
	int err = hca_device_is_lost(pd->context->device) ? BASE_ERR_IO : hca_ah_attr_check(attr);

	if (err != 0)
		return err;
	struct hca_ah *ah = calloc(1, sizeof(*ah));
	if (ah == NULL)
		return BASE_ERR_NOMEM;
	err = config->ops->resolve_path(config->ops_context, attr, 0, &ah->path);
	if (err != 0) {
		free(ah);
		return err;
	}
	ah->path.unacked = true;
	ah->pd = pd;
	hca_pd_get(pd);
	*out = ah;
	return 0;
}

void hca_ah_destroy(struct hca_ah *ah)
{
	hca_pd_put(ah->pd);
	free(ah);
}

const struct link_path *hca_ah_path(const struct hca_ah *ah)
{
	return &ah->path;
}
