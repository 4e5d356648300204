/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Enhanced Connection Establishment: options of the two providers, exchanged in REQ and REP. For QPs of rdma_create_qp() all of
 * it happens here; for QPs that the program makes itself it reads and sets the options by the public calls.
 */
#include "rdmacm/id.h"
#include "rdmacm/symbol.h"

#include <errno.h>

/* A provider without ECE is no error: the connection goes without. */
static int tolerated(int err)
{
	return err == 0 || err == EOPNOTSUPP ? 0 : rdmacm_fail(err);
}

static int provider_query(struct rdmacm_id *id)
{
	struct ibv_ece ece = { 0 };
	int err = ibv_query_ece(id->id.qp, &ece);

	if (err == 0)
		id->local_ece = (struct ibv_ece){ .vendor_id = ece.vendor_id, .options = ece.options };
	else if (err == EOPNOTSUPP)
		id->local_ece = (struct ibv_ece){ 0 };
	return tolerated(err);
}

int rdmacm_ece_of_new_qp(struct rdmacm_id *id)
{
	struct ibv_ece ece;

	if (provider_query(id) != 0)
		return -1;
	if (!id->passive || id->remote_ece.vendor_id == 0 || id->local_ece.vendor_id == 0)
		return 0;
	/* A client of another vendor: nothing of its options means anything here. */
	ece = id->remote_ece.vendor_id == id->local_ece.vendor_id ? id->remote_ece :
								  (struct ibv_ece){ .vendor_id = id->local_ece.vendor_id };
	return tolerated(ibv_set_ece(id->id.qp, &ece));
}

int rdmacm_ece_granted(struct rdmacm_id *id)
{
	return id->remote_ece.vendor_id == 0 ? 0 : provider_query(id);
}

int rdmacm_ece_of_reply(struct rdmacm_id *id)
{
	struct ibv_ece ece = { .vendor_id = id->local_ece.vendor_id };

	if (id->local_ece.vendor_id == 0)
		return 0; /* none was offered: what stands in the reply is no answer to us */
	if (id->remote_ece.vendor_id != 0) {
		/* A server echoes the vendor of the request. */
		if (id->remote_ece.vendor_id != id->local_ece.vendor_id)
			return rdmacm_fail(EINVAL);
		ece.options = id->remote_ece.options;
	}
	return tolerated(ibv_set_ece(id->id.qp, &ece));
}

RDMACM_PUBLIC int rdma_set_local_ece(struct rdma_cm_id *public, struct ibv_ece *ece)
{
	if (public == NULL || public->qp != NULL || ece == NULL || ece->vendor_id == 0 || ece->comp_mask != 0)
		return rdmacm_fail(EINVAL);
	rdmacm_id_of(public)->local_ece = *ece;
	return 0;
}

RDMACM_PUBLIC int rdma_get_remote_ece(struct rdma_cm_id *public, struct ibv_ece *ece)
{
	if (public == NULL || public->qp != NULL || ece == NULL)
		return rdmacm_fail(EINVAL);
	*ece = rdmacm_id_of(public)->remote_ece;
	ece->comp_mask = 0;
	return 0;
}
