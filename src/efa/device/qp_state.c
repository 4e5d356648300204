/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/qp_state.h"

#define Q EFA_MODIFY_QKEY
#define CQ (EFA_MODIFY_CUR_STATE | EFA_MODIFY_QKEY)

struct row {
	uint8_t exists, required, optional;
};

#define YES(required, optional) { 1, required, optional }

/* [from][to]; UD's are the specification's for datagrams, SRD's differ by RNR_RETRY. */
static const struct row table[EFA_QPS_COUNT][EFA_QPS_COUNT] = {
	[EFA_QPS_RESET] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_INIT] = YES(Q, 0) },
	[EFA_QPS_INIT] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0), [EFA_QPS_INIT] = YES(0, Q),
			   [EFA_QPS_RTR] = YES(0, Q) },
	[EFA_QPS_RTR] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0),
			  [EFA_QPS_RTS] = YES(EFA_MODIFY_SQ_PSN, CQ | EFA_MODIFY_RNR_RETRY) },
	[EFA_QPS_RTS] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0), [EFA_QPS_RTS] = YES(0, CQ),
			  [EFA_QPS_SQD] = YES(0, EFA_MODIFY_SQD_NOTIFY) },
	[EFA_QPS_SQD] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0), [EFA_QPS_RTS] = YES(0, CQ),
			  [EFA_QPS_SQD] = YES(0, Q) },
	[EFA_QPS_SQE] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0), [EFA_QPS_RTS] = YES(0, CQ) },
	[EFA_QPS_ERR] = { [EFA_QPS_RESET] = YES(0, 0), [EFA_QPS_ERR] = YES(0, 0) },
};

bool efa_qp_transition(enum efa_abi_qp_type type, uint32_t from, uint32_t to, uint32_t *required, uint32_t *optional)
{
	const struct row *row;

	if (from >= EFA_QPS_COUNT || to >= EFA_QPS_COUNT)
		return false;
	row = &table[from][to];
	*required = row->required;
	*optional = type == EFA_QP_SRD ? row->optional : row->optional & ~EFA_MODIFY_RNR_RETRY;
	return row->exists != 0;
}

bool efa_qp_state_receives(uint32_t state)
{
	return state == EFA_QPS_RTR || state == EFA_QPS_RTS || state == EFA_QPS_SQD || state == EFA_QPS_SQE;
}

bool efa_qp_state_sends(uint32_t state)
{
	return state == EFA_QPS_RTS;
}
