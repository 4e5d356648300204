/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/qp_rate.h"

#include "base/err.h"
#include "base/log.h"
#include "hca/qp_internal.h"

enum { BYTES_PER_KBIT = 125 };

int hca_qp_rate_limit(struct hca_qp *qp, const struct hca_qp_rate *rate)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	int err = 0;

	if (rate->kbps != 0 && (rate->kbps < HCA_RATE_MIN_KBPS || rate->kbps > HCA_RATE_MAX_KBPS)) {
		base_explain("rate limit of QP 0x%06x refused: %u kbit/s (%d to %d)", qp->flow.qpn, rate->kbps, HCA_RATE_MIN_KBPS,
			     HCA_RATE_MAX_KBPS);
		return BASE_ERR_INVAL;
	}
	engine->ops->lock(engine->context);
	enum transport_state state = transport_qp_state(&qp->transport);
	if (state < TRANSPORT_RTR || state > TRANSPORT_SQE) {
		err = BASE_ERR_INVAL;
	} else {
		qp->transport.pace = (struct transport_pace){ .rate = (uint64_t)rate->kbps * BYTES_PER_KBIT, .burst = rate->burst_bytes };
		/* What an old limit held may go. */
		engine->ops->schedule(engine->context, &qp->flow);
	}
	engine->ops->unlock(engine->context);
	return err;
}
