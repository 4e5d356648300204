/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/qp_state.h"

#include <stddef.h>

#include "base/err.h"

/* Short names, as in the specification's table. */
#define PKEY HCA_QP_PKEY_INDEX
#define PORT HCA_QP_PORT
#define QKEY HCA_QP_QKEY
#define ACC HCA_QP_ACCESS_FLAGS
#define AV HCA_QP_AV
#define MTU HCA_QP_PATH_MTU
#define DQPN HCA_QP_DEST_QPN
#define RQPSN HCA_QP_RQ_PSN
#define SQPSN HCA_QP_SQ_PSN
#define DRD HCA_QP_MAX_DEST_RD_ATOMIC
#define RD HCA_QP_MAX_QP_RD_ATOMIC
#define MRNR HCA_QP_MIN_RNR_TIMER
#define TMO HCA_QP_TIMEOUT
#define RTRY HCA_QP_RETRY_CNT
#define RNR HCA_QP_RNR_RETRY
#define CUR HCA_QP_CUR_STATE
#define ALT HCA_QP_ALT_PATH
#define MIG HCA_QP_PATH_MIG_STATE
#define SQDN HCA_QP_EN_SQD_ASYNC_NOTIFY
#define RATE HCA_QP_RATE_LIMIT

enum column { UD, UC, RC, XRC_SEND, XRC_RECV, RAW, COLUMNS };

struct row {
	enum hca_qp_state from, to;
	uint32_t required[COLUMNS], optional[COLUMNS];
};

/* The specification's rows, in its order. Transitions to RESET and ERR take no attributes and are rules, not rows. */
static const struct row rows[] = {
	{ HCA_QPS_RESET, HCA_QPS_INIT,
	  .required = { PKEY | PORT | QKEY, PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | ACC, PORT } },
	{ HCA_QPS_INIT, HCA_QPS_INIT,
	  .optional = { PKEY | PORT | QKEY, PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | ACC, 0 } },
	{ HCA_QPS_INIT, HCA_QPS_RTR,
	  .required = { 0, AV | MTU | DQPN | RQPSN, AV | MTU | DQPN | RQPSN | DRD | MRNR, AV | MTU | DQPN | RQPSN,
			AV | MTU | DQPN | RQPSN | DRD | MRNR, 0 },
	  .optional = { PKEY | QKEY, ALT | ACC | PKEY, ALT | ACC | PKEY, ALT | ACC | PKEY, ALT | ACC | PKEY, 0 } },
	{ HCA_QPS_RTR, HCA_QPS_RTS,
	  .required = { SQPSN, SQPSN, TMO | RTRY | RNR | SQPSN | RD, TMO | RTRY | RNR | SQPSN | RD, TMO | SQPSN, 0 },
	  .optional = { CUR | QKEY, CUR | ALT | ACC | MIG, CUR | ALT | ACC | MRNR | MIG, CUR | ALT | ACC | MIG,
			CUR | ALT | ACC | MRNR | MIG, RATE } },
	{ HCA_QPS_RTS, HCA_QPS_RTS,
	  .optional = { CUR | QKEY, CUR | ACC | ALT | MIG, CUR | ACC | ALT | MIG | MRNR, CUR | ACC | ALT | MIG,
			CUR | ACC | ALT | MIG | MRNR, RATE } },
	{ HCA_QPS_RTS, HCA_QPS_SQD, .optional = { SQDN, SQDN, SQDN, SQDN, SQDN, 0 } },
	{ HCA_QPS_SQD, HCA_QPS_RTS,
	  .optional = { CUR | QKEY, CUR | ALT | ACC | MIG, CUR | ALT | ACC | MRNR | MIG, CUR | ALT | ACC | MIG,
			CUR | ALT | ACC | MRNR | MIG, 0 } },
	{ HCA_QPS_SQD, HCA_QPS_SQD,
	  .optional = { PKEY | QKEY, AV | ALT | ACC | PKEY | MIG,
			PORT | AV | TMO | RTRY | RNR | RD | DRD | ALT | ACC | PKEY | MRNR | MIG,
			PORT | AV | TMO | RTRY | RNR | RD | ALT | ACC | PKEY | MIG,
					PORT | AV | TMO | DRD | ALT | ACC | PKEY | MRNR | MIG, 0 } },
	{ HCA_QPS_SQE, HCA_QPS_RTS, .optional = { CUR | QKEY, CUR | ACC, 0, 0, 0, 0 } },
};

static int column_of(enum hca_qp_type type)
{
	switch (type) {
	case HCA_QPT_UD:
		return UD;
	case HCA_QPT_UC:
		return UC;
	case HCA_QPT_RC:
		return RC;
	case HCA_QPT_XRC_SEND:
		return XRC_SEND;
	case HCA_QPT_XRC_RECV:
		return XRC_RECV;
	case HCA_QPT_RAW_PACKET:
		return RAW;
	}
	return -1;
}

static const struct row *row_of(enum hca_qp_state from, enum hca_qp_state to)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].from == from && rows[i].to == to)
			return &rows[i];
	return NULL;
}

static bool is_bare(enum hca_qp_state from, enum hca_qp_state to)
{
	return to == HCA_QPS_RESET || (to == HCA_QPS_ERR && from != HCA_QPS_RESET);
}

bool hca_qp_transition_exists(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to)
{
	if (column_of(type) < 0 || from >= HCA_QPS_COUNT || to >= HCA_QPS_COUNT)
		return false;
	return is_bare(from, to) || row_of(from, to) != NULL;
}

uint32_t hca_qp_transition_required(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to)
{
	const struct row *row = row_of(from, to);
	int column = column_of(type);

	return row == NULL || column < 0 ? 0 : row->required[column];
}

uint32_t hca_qp_transition_optional(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to)
{
	const struct row *row = row_of(from, to);
	int column = column_of(type);

	return row == NULL || column < 0 ? 0 : row->optional[column];
}

int hca_qp_transition_check(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to, uint32_t mask, uint32_t *missing,
			    uint32_t *refused)
{
	uint32_t required, allowed, lacks, extra;

	if (mask & ~(uint32_t)HCA_QP_KNOWN)
		return BASE_ERR_UNSUPPORTED;
	mask &= ~(uint32_t)HCA_QP_LEGACY;
	/* What the type cannot have is dropped without a word. */
	if (type == HCA_QPT_XRC_SEND)
		mask &= ~(uint32_t)(DRD | MRNR);
	if (type == HCA_QPT_XRC_RECV)
		mask &= ~(uint32_t)(RD | RTRY | RNR);
	if (!hca_qp_transition_exists(type, from, to))
		return BASE_ERR_INVAL;
	required = hca_qp_transition_required(type, from, to);
	allowed = required | hca_qp_transition_optional(type, from, to) | HCA_QP_STATE;
	lacks = required & ~mask;
	extra = mask & ~allowed;
	if (missing != NULL)
		*missing = lacks;
	if (refused != NULL)
		*refused = extra;
	return lacks | extra ? BASE_ERR_INVAL : 0;
}

const char *hca_qp_state_text(uint32_t state)
{
	static const char *const texts[HCA_QPS_COUNT] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < HCA_QPS_COUNT ? texts[state] : "?";
}

const char *hca_qp_attr_text(uint32_t bit)
{
	static const char *const texts[26] = {
		"STATE", "CUR_STATE", "EN_SQD_ASYNC_NOTIFY", "ACCESS_FLAGS", "PKEY_INDEX", "PORT", "QKEY", "AV", "PATH_MTU",
				"TIMEOUT",
		"RETRY_CNT", "RNR_RETRY", "RQ_PSN", "MAX_QP_RD_ATOMIC", "ALT_PATH", "MIN_RNR_TIMER", "SQ_PSN",
				"MAX_DEST_RD_ATOMIC",
		"PATH_MIG_STATE", "CAP", "DEST_QPN", "?", "?", "?", "?", "RATE_LIMIT",
	};

	return bit == 0 || (bit & (bit - 1)) != 0 || bit >= 1u << 26 ? "?" : texts[__builtin_ctz(bit)];
}
