/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transition tables, walked over every type, pair of states and attribute. The expectation is a second writing of the
 * specification's table, as text, so that a slip in one of the two shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "hca/qp_state.h"
#include "hca/qp_values.h"

static const enum hca_qp_type types[6] = { HCA_QPT_UD, HCA_QPT_UC, HCA_QPT_RC, HCA_QPT_XRC_SEND, HCA_QPT_XRC_RECV,
		HCA_QPT_RAW_PACKET };

/* Which transitions exist: a row per state from, a letter per state to (RESET INIT RTR RTS SQD SQE ERR). */
static const char *const exists[HCA_QPS_COUNT] = {
	"vv.....", "vvv...v", "v..v..v", "v..vv.v", "v..vv.v", "v..v..v", "v.....v",
};

struct line {
	const char *name;
	const char *cells[6]; /* UD, UC, RC, XRC_SEND, XRC_RECV, RAW */
};
static const struct line required[] = {
	{ "RESET>INIT", { "PKEY PORT QKEY", "PKEY PORT ACC", "PKEY PORT ACC", "PKEY PORT ACC", "PKEY PORT ACC", "PORT" } },
	{ "INIT>RTR", { "", "AV MTU DQPN RQPSN", "AV MTU DQPN RQPSN DRD MRNR", "AV MTU DQPN RQPSN",
			"AV MTU DQPN RQPSN DRD MRNR", "" } },
	{ "RTR>RTS", { "SQPSN", "SQPSN", "TMO RTRY RNR SQPSN RD", "TMO RTRY RNR SQPSN RD", "TMO SQPSN", "" } },
};
static const struct line optional[] = {
	{ "INIT>INIT", { "PKEY PORT QKEY", "PKEY PORT ACC", "PKEY PORT ACC", "PKEY PORT ACC", "PKEY PORT ACC", "" } },
	{ "INIT>RTR", { "PKEY QKEY", "ALT ACC PKEY", "ALT ACC PKEY", "ALT ACC PKEY", "ALT ACC PKEY", "" } },
	{ "RTR>RTS", { "CUR QKEY", "CUR ALT ACC MIG", "CUR ALT ACC MRNR MIG", "CUR ALT ACC MIG", "CUR ALT ACC MRNR MIG",
			"RATE" } },
	{ "RTS>RTS", { "CUR QKEY", "CUR ACC ALT MIG", "CUR ACC ALT MIG MRNR", "CUR ACC ALT MIG", "CUR ACC ALT MIG MRNR",
			"RATE" } },
	{ "RTS>SQD", { "SQDN", "SQDN", "SQDN", "SQDN", "SQDN", "" } },
	{ "SQD>RTS", { "CUR QKEY", "CUR ALT ACC MIG", "CUR ALT ACC MRNR MIG", "CUR ALT ACC MIG", "CUR ALT ACC MRNR MIG", "" } },
	{ "SQD>SQD", { "PKEY QKEY", "AV ALT ACC PKEY MIG", "PORT AV TMO RTRY RNR RD DRD ALT ACC PKEY MRNR MIG",
		       "PORT AV TMO RTRY RNR RD ALT ACC PKEY MIG", "PORT AV TMO DRD ALT ACC PKEY MRNR MIG", "" } },
	{ "SQE>RTS", { "CUR QKEY", "CUR ACC", "", "", "", "" } },
};

static const struct {
	const char *name;
	int bit;
} bits[] = {
	{ "STATE", 0 }, { "CUR", 1 }, { "SQDN", 2 }, { "ACC", 3 }, { "PKEY", 4 }, { "PORT", 5 }, { "QKEY", 6 }, { "AV", 7 },
			{ "MTU", 8 },
	{ "TMO", 9 }, { "RTRY", 10 }, { "RNR", 11 }, { "RQPSN", 12 }, { "RD", 13 }, { "ALT", 14 }, { "MRNR", 15 }, { "SQPSN",
			16 },
	{ "DRD", 17 }, { "MIG", 18 }, { "CAP", 19 }, { "DQPN", 20 }, { "RATE", 25 },
};

static uint32_t cell_bits(const char *cell)
{
	uint32_t mask = 0;
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", cell);
	for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		size_t i = 0;

		while (strcmp(bits[i].name, word) != 0)
			i++;
		mask |= 1u << bits[i].bit;
	}
	return mask;
}

static uint32_t expected(const struct line *lines, size_t count, int column, int from, int to)
{
	char name[32];

	snprintf(name, sizeof(name), "%s>%s", hca_qp_state_text((uint32_t)from), hca_qp_state_text((uint32_t)to));
	for (size_t i = 0; i < count; i++)
		if (strcmp(lines[i].name, name) == 0)
			return cell_bits(lines[i].cells[column]);
	return 0;
}

#define COUNT_OF(x) (sizeof(x) / sizeof((x)[0]))

static void every_combination_has_one_answer(void **state)
{
	for (int t = 0; t < 6; t++)
		for (int from = 0; from < HCA_QPS_COUNT; from++)
			for (int to = 0; to < HCA_QPS_COUNT; to++) {
				enum hca_qp_state f = (enum hca_qp_state)from, o = (enum hca_qp_state)to;
				uint32_t need = expected(required, COUNT_OF(required), t, from, to);
				uint32_t may = expected(optional, COUNT_OF(optional), t, from, to);
				bool there = exists[from][to] == 'v';
				uint32_t dropped = types[t] == HCA_QPT_XRC_SEND ? cell_bits("DRD MRNR") :
						   types[t] == HCA_QPT_XRC_RECV ? cell_bits("RD RTRY RNR") : 0;

				assert_int_equal(hca_qp_transition_exists(types[t], f, o), there);
				assert_int_equal(hca_qp_transition_required(types[t], f, o), need);
				assert_int_equal(hca_qp_transition_optional(types[t], f, o), may);
				assert_int_equal(hca_qp_transition_check(types[t], f, o, HCA_QP_STATE | need, NULL, NULL),
						 there ? 0 : BASE_ERR_INVAL);
				assert_int_equal(hca_qp_transition_check(types[t], f, o, HCA_QP_STATE | need | may, NULL, NULL),
						 there ? 0 : BASE_ERR_INVAL);
				for (size_t i = 1; there && i < COUNT_OF(bits); i++) {
					uint32_t bit = 1u << bits[i].bit, lacks = 0, extra = 0;
					bool good = (need | may) & bit || dropped & bit;

					assert_int_equal(hca_qp_transition_check(types[t], f, o, HCA_QP_STATE | need | bit,
							&lacks,
										 &extra), good ? 0 : BASE_ERR_INVAL);
					assert_int_equal(extra, good ? 0 : bit);
					if (need & bit) {
						assert_int_equal(hca_qp_transition_check(types[t], f, o,
								HCA_QP_STATE | (need & ~bit),
											 &lacks, &extra), BASE_ERR_INVAL);
						assert_int_equal(lacks, bit);
					}
				}
			}
}

static void unknown_bits_types_and_states(void **state)
{
	assert_int_equal(hca_qp_transition_check(HCA_QPT_RC, HCA_QPS_RTS, HCA_QPS_RTS, 1u << 26, NULL, NULL),
			BASE_ERR_UNSUPPORTED);
	assert_int_equal(hca_qp_transition_check(HCA_QPT_RC, HCA_QPS_RTS, HCA_QPS_RTS, 1u << 31, NULL, NULL),
			BASE_ERR_UNSUPPORTED);
	assert_int_equal(hca_qp_transition_check(HCA_QPT_RC, HCA_QPS_RTS, HCA_QPS_RTS, HCA_QP_LEGACY, NULL, NULL), 0);
	assert_false(hca_qp_transition_exists((enum hca_qp_type)0xff, HCA_QPS_RESET, HCA_QPS_INIT));
	assert_false(hca_qp_transition_exists(HCA_QPT_RC, HCA_QPS_RESET, (enum hca_qp_state)7));
	assert_false(hca_qp_transition_exists(HCA_QPT_RC, (enum hca_qp_state)99, HCA_QPS_RESET));
}

static void value_rules(void **state)
{
	const struct hca_qp_values limits = { .active_mtu = 3, .port_num = 1 };
	const struct hca_qp_attr good = {
		.state = HCA_QPS_RTS, .cur_state = HCA_QPS_RTR, .path_mtu = 3, .port_num = 1, .timeout = 31, .min_rnr_timer = 31,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16, .max_dest_rd_atomic = 16, .dest_qpn = 0xffffff,
				.rq_psn = 0xffffffff,
		.sq_psn = 0xffffffff, .qkey = 0x7fffffff, .ah = { .is_global = true, .port_num = 1 },
	};
	const uint32_t all = HCA_QP_KNOWN & ~(uint32_t)(HCA_QP_ALT_PATH | HCA_QP_LEGACY);
	struct hca_qp_attr attr;

	assert_int_equal(hca_qp_values_check(&limits, &good, all), 0);
#define BAD(bit, field, value) do { \
		attr = good; \
		attr.field = (value); \
		assert_int_equal(hca_qp_values_check(&limits, &attr, all), BASE_ERR_INVAL); \
		assert_int_equal(hca_qp_values_check(&limits, &attr, all & ~(uint32_t)(bit)), 0); \
	} while (0)
	BAD(HCA_QP_STATE, state, 7);
	BAD(HCA_QP_STATE, state, UINT32_MAX);
	BAD(HCA_QP_CUR_STATE, cur_state, HCA_QPS_RESET);
	BAD(HCA_QP_CUR_STATE, cur_state, HCA_QPS_INIT);
	BAD(HCA_QP_CUR_STATE, cur_state, HCA_QPS_ERR);
	BAD(HCA_QP_PATH_MTU, path_mtu, 0);
	BAD(HCA_QP_PATH_MTU, path_mtu, 4);
	BAD(HCA_QP_PORT, port_num, 0);
	BAD(HCA_QP_PORT, port_num, 2);
	BAD(HCA_QP_PKEY_INDEX, pkey_index, 1);
	BAD(HCA_QP_TIMEOUT, timeout, 32);
	BAD(HCA_QP_MIN_RNR_TIMER, min_rnr_timer, 32);
	BAD(HCA_QP_RETRY_CNT, retry_cnt, 8);
	BAD(HCA_QP_RNR_RETRY, rnr_retry, 8);
	BAD(HCA_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, 17);
	BAD(HCA_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 17);
	BAD(HCA_QP_DEST_QPN, dest_qpn, 0x1000000);
	BAD(HCA_QP_AV, ah.is_global, false);
	BAD(HCA_QP_AV, ah.port_num, 2);
	assert_int_equal(hca_qp_values_check(&limits, &good, HCA_QP_ALT_PATH), BASE_ERR_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_combination_has_one_answer),
		cmocka_unit_test(unknown_bits_types_and_states),
		cmocka_unit_test(value_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
