/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/qp_ece.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/qp_internal.h"
#include "transport/rc_selective.h"

static uint32_t offered(const struct hca_qp *qp)
{
	return qp->type == HCA_QPT_RC ? qp->context->device->config.ece.options : 0;
}

int hca_qp_ece_query(struct hca_qp *qp, struct hca_ece *out)
{
	uint32_t vendor_id = qp->context->device->config.ece.vendor_id;

	if (vendor_id == 0)
		return BASE_ERR_UNSUPPORTED;
	pthread_mutex_lock(&qp->modify_lock);
	*out = (struct hca_ece){ .vendor_id = vendor_id, .options = qp->ece_set ? qp->ece_options : offered(qp) };
	pthread_mutex_unlock(&qp->modify_lock);
	return 0;
}

int hca_qp_ece_set(struct hca_qp *qp, const struct hca_ece *ece)
{
	const struct hca_ece *ours = &qp->context->device->config.ece;
	int err = 0;

	if (ours->vendor_id == 0)
		return BASE_ERR_UNSUPPORTED;
	if (ece->vendor_id != ours->vendor_id) {
		base_explain("ECE of QP 0x%06x refused: vendor 0x%06x, ours is 0x%06x", qp->flow.qpn, ece->vendor_id, ours->vendor_id);
		return BASE_ERR_INVAL;
	}
	pthread_mutex_lock(&qp->modify_lock);
	uint32_t state = atomic_load(&qp->state);
	if (state > HCA_QPS_RTR) {
		base_explain("ECE of QP 0x%06x refused: its state is %s, what the peer was told holds", qp->flow.qpn,
			     hca_qp_state_text(state));
		err = BASE_ERR_INVAL;
	} else {
		qp->ece_set = true;
		qp->ece_options = ece->options & offered(qp);
	}
	pthread_mutex_unlock(&qp->modify_lock);
	return err;
}

static bool is_selective(const struct hca_qp *qp)
{
	/* A device that plays another vendor's grants that vendor's options, which are nothing here. */
	return qp->ece_set && (qp->ece_options & HCA_ECE_SELECTIVE_REPEAT) &&
	       qp->context->device->config.ece.vendor_id == HCA_ECE_VENDOR;
}

struct rc_selective *hca_qp_ece_selective(const struct hca_qp *qp)
{
	return is_selective(qp) ? qp->selective : NULL;
}

int hca_qp_ece_prepare(struct hca_qp *qp, uint32_t to, uint32_t mtu, enum link_kind kind)
{
	if (to == HCA_QPS_RTR) {
		/* Of an attempt that failed, perhaps with another MTU. */
		free(qp->selective);
		qp->selective = NULL;
	}
	/* Where nothing is lost there is nothing to repeat. */
	if (!is_selective(qp) || qp->selective != NULL || kind == LINK_SHM)
		return 0;
	qp->selective = calloc(1, rc_selective_bytes(mtu));
	return qp->selective == NULL ? BASE_ERR_NOMEM : 0;
}

void hca_qp_ece_forget(struct hca_qp *qp)
{
	free(qp->selective);
	qp->selective = NULL;
	qp->ece_set = false;
	qp->ece_options = 0;
}
