/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state machine as programs see it: every type, state from, state to and attribute mask, against the specification's table,
 * which is written here once more as text. A mask is what the transition requires with up to two attributes added or left out,
 * all that is allowed, and random ones; with SOFTVERBS_LONG with up to three.
 *
 * A modify that is refused changes nothing, one that is not leads where it says.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum column { UD, UC, RC, COLUMNS };
static const enum ibv_qp_type types[COLUMNS] = { IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC };

static const struct {
	const char *name;
	int mask;
} attributes[] = {
	{ "CUR", IBV_QP_CUR_STATE }, { "SQDN", IBV_QP_EN_SQD_ASYNC_NOTIFY }, { "ACC", IBV_QP_ACCESS_FLAGS },
	{ "PKEY", IBV_QP_PKEY_INDEX }, { "PORT", IBV_QP_PORT }, { "QKEY", IBV_QP_QKEY }, { "AV", IBV_QP_AV },
	{ "MTU", IBV_QP_PATH_MTU }, { "TMO", IBV_QP_TIMEOUT }, { "RTRY", IBV_QP_RETRY_CNT }, { "RNR", IBV_QP_RNR_RETRY },
	{ "RQPSN", IBV_QP_RQ_PSN }, { "RD", IBV_QP_MAX_QP_RD_ATOMIC }, { "ALT", IBV_QP_ALT_PATH },
	{ "MRNR", IBV_QP_MIN_RNR_TIMER }, { "SQPSN", IBV_QP_SQ_PSN }, { "DRD", IBV_QP_MAX_DEST_RD_ATOMIC },
	{ "MIG", IBV_QP_PATH_MIG_STATE }, { "CAP", IBV_QP_CAP }, { "DQPN", IBV_QP_DEST_QPN }, { "RATE", IBV_QP_RATE_LIMIT },
};
enum { ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0]) };

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
enum { STATES = 7 };

/* Per transition and type "required | optional". To RESET and ERR nothing but the state itself may be given. */
static const struct {
	const char *from, *to, *cells[COLUMNS];
} table[] = {
	{ "RESET", "INIT", { "PKEY PORT QKEY |", "PKEY PORT ACC |", "PKEY PORT ACC |" } },
	{ "INIT", "INIT", { "| PKEY PORT QKEY", "| PKEY PORT ACC", "| PKEY PORT ACC" } },
	{ "INIT", "RTR", { "| PKEY QKEY", "AV MTU DQPN RQPSN | ALT ACC PKEY", "AV MTU DQPN RQPSN DRD MRNR | ALT ACC PKEY" } },
	{ "RTR", "RTS", { "SQPSN | CUR QKEY", "SQPSN | CUR ALT ACC MIG", "TMO RTRY RNR SQPSN RD | CUR ALT ACC MRNR MIG" } },
	{ "RTS", "RTS", { "| CUR QKEY", "| CUR ACC ALT MIG", "| CUR ACC ALT MIG MRNR" } },
	{ "RTS", "SQD", { "| SQDN", "| SQDN", "| SQDN" } },
	{ "SQD", "RTS", { "| CUR QKEY", "| CUR ALT ACC MIG", "| CUR ALT ACC MRNR MIG" } },
	{ "SQD", "SQD", { "| PKEY QKEY", "| AV ALT ACC PKEY MIG", "| PORT AV TMO RTRY RNR RD DRD ALT ACC PKEY MRNR MIG" } },
	{ "SQE", "RTS", { "| CUR QKEY", "| CUR ACC", "|" } },
	{ "RESET", "RESET", { "|", "|", "|" } }, { "INIT", "RESET", { "|", "|", "|" } }, { "RTR", "RESET", { "|", "|", "|" } },
	{ "RTS", "RESET", { "|", "|", "|" } }, { "SQD", "RESET", { "|", "|", "|" } }, { "SQE", "RESET", { "|", "|", "|" } },
	{ "ERR", "RESET", { "|", "|", "|" } }, { "INIT", "ERR", { "|", "|", "|" } }, { "RTR", "ERR", { "|", "|", "|" } },
	{ "RTS", "ERR", { "|", "|", "|" } }, { "SQD", "ERR", { "|", "|", "|" } }, { "SQE", "ERR", { "|", "|", "|" } },
	{ "ERR", "ERR", { "|", "|", "|" } },
};

struct rule {
	bool exists;
	int required, allowed;
};

static struct rule rule_of(enum column column, int from, int to)
{
	struct rule rule = { false, 0, 0 };
	char copy[128], *save = NULL;
	bool optional = false;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].from, states[from]) != 0 || strcmp(table[i].to, states[to]) != 0)
			continue;
		rule.exists = true;
		strcpy(copy, table[i].cells[column]);
		for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
			int mask = 0;

			if (strcmp(word, "|") == 0) {
				optional = true;
				continue;
			}
			for (size_t a = 0; a < ATTRIBUTES; a++)
				if (strcmp(attributes[a].name, word) == 0)
					mask = attributes[a].mask;
			need(mask != 0);
			rule.allowed |= mask;
			if (!optional)
				rule.required |= mask;
		}
	}
	return rule;
}

/* Every value is a good one: what is refused is refused for its place. */
static struct ibv_qp_attr good_values(const struct rc *rc, int from, int to)
{
	const struct rc_address self = rc_address_of(rc);

	return (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)to, .cur_qp_state = (enum ibv_qp_state)from, .path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_MIGRATED, .qkey = RC_QKEY, .rq_psn = self.psn, .sq_psn = self.psn,
		.dest_qp_num = self.qpn, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .port_num = 1, .max_rd_atomic = 1,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = self.gid, .sgid_index = (uint8_t)rc->gid_index, .hop_limit = 64 } },
	};
}

/* False: the type does not get there. */
static bool bring_to(struct rc *rc, int state)
{
	const struct rc_address self = rc_address_of(rc);
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)state };

	if (state == IBV_QPS_SQE && rc->o.type == IBV_QPT_RC)
		return false;
	need_equal(rc_to_reset(rc), 0);
	if (state >= IBV_QPS_INIT)
		need_equal(rc_to_init(rc), 0);
	if (state >= IBV_QPS_RTR && state != IBV_QPS_ERR)
		need_equal(rc_to_rtr(rc, &self), 0);
	if (state >= IBV_QPS_RTS && state != IBV_QPS_ERR)
		need_equal(rc_to_rts(rc), 0);
	if (state == IBV_QPS_SQD || state == IBV_QPS_ERR)
		need_equal(ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE), 0);
	if (state == IBV_QPS_SQE) {
		struct ibv_sge sge = { (uintptr_t)rc->buf, 10, rc->mr->lkey ^ 0x5a00 };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

		wr.wr.ud.ah = rc->ah;
		need_equal(ibv_post_send(rc->qp, &wr, &bad), 0);
		need_equal(cq_wait(rc->send_cq).status, IBV_WC_LOC_PROT_ERR);
		struct ibv_qp_init_attr init;
		need_equal(ibv_query_qp(rc->qp, &attr, IBV_QP_STATE, &init), 0);
	}
	need_equal(rc->qp->state, state);
	return true;
}

static void one_mask(struct rc *rc, enum column column, int from, int to, const struct rule *rule, int mask)
{
	struct ibv_qp_attr attr = good_values(rc, from, to);
	int given = mask & ~IBV_QP_STATE;
	bool good = rule->exists && (given & rule->required) == rule->required && (given & ~rule->allowed) == 0;

	/* RoCE has no alternate paths; SQE is left, never entered. */
	if (given & IBV_QP_ALT_PATH)
		good = false;
	int err = ibv_modify_qp(rc->qp, &attr, mask);
	if (err != (good ? 0 : EINVAL))
		harness_fail(__FILE__, __LINE__, "type %d, %s to %s, mask 0x%x: %d (%s), expected %s", types[column], states[from],
			     states[to], (unsigned)mask, err, strerror(err), good ? "success" : "EINVAL");
	need_equal(rc->qp->state, good ? to : from);
	if (!good)
		return;
	struct ibv_qp_init_attr init;
	need_equal(ibv_query_qp(rc->qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(attr.qp_state, to);
	if (from != to)
		need(bring_to(rc, from));
}

static uint32_t seed = 1;

static uint32_t any(void)
{
	return (seed = seed * 1664525 + 1013904223) >> 8;
}

static void all_masks(struct rc *rc, enum column column, int from, int to)
{
	const struct rule rule = rule_of(column, from, to);
	int base = rule.required | IBV_QP_STATE;

	one_mask(rc, column, from, to, &rule, base);
	if (from == to)
		one_mask(rc, column, from, to, &rule, rule.required);
	one_mask(rc, column, from, to, &rule, (rule.allowed & ~IBV_QP_ALT_PATH) | IBV_QP_STATE);
	for (unsigned i = 0; i < ATTRIBUTES; i++) {
		one_mask(rc, column, from, to, &rule, base ^ attributes[i].mask);
		if (from == to)
			one_mask(rc, column, from, to, &rule, rule.required ^ attributes[i].mask);
		for (unsigned j = i + 1; j < ATTRIBUTES; j++) {
			one_mask(rc, column, from, to, &rule, base ^ attributes[i].mask ^ attributes[j].mask);
			for (unsigned k = j + 1; k < ATTRIBUTES && harness_is_long(); k++)
				one_mask(rc, column, from, to, &rule,
					 base ^ attributes[i].mask ^ attributes[j].mask ^ attributes[k].mask);
		}
	}
	for (int n = 0; n < 50; n++) {
		int mask = base;

		for (unsigned i = 0; i < ATTRIBUTES; i++)
			if (any() & 1)
				mask ^= attributes[i].mask;
		one_mask(rc, column, from, to, &rule, mask);
	}
	/* Bits that nobody knows, and those that were the kernel's own once. */
	struct ibv_qp_attr attr = good_values(rc, from, to);
	need_equal(ibv_modify_qp(rc->qp, &attr, base | 1 << 26), EOPNOTSUPP);
	need_equal(rc->qp->state, from);
	one_mask(rc, column, from, to, &rule, base);
}

static void walk(enum column column)
{
	struct rc rc;

	rc_open(&rc, &(struct rc_options){ .type = types[column] });
	for (int from = 0; from < STATES; from++)
		for (int to = 0; to < STATES; to++)
			if (bring_to(&rc, from))
				all_masks(&rc, column, from, to);
	rc_close(&rc);
}

static void rc_walk(void)
{
	walk(RC);
}

static void uc_walk(void)
{
	walk(UC);
}

static void ud_walk(void)
{
	walk(UD);
}

/* --- values: in a place that allows them, each with its errno --- */

struct value {
	const char *name;
	int from, mask;
	int error;
	void (*set)(struct ibv_qp_attr *attr);
};

#define SETTER(name, statement) static void name(struct ibv_qp_attr *attr) { statement; }
SETTER(port_0, attr->port_num = 0)
SETTER(port_2, attr->port_num = 2)
SETTER(pkey_1, attr->pkey_index = 1)
SETTER(mtu_0, attr->path_mtu = (enum ibv_mtu)0)
SETTER(mtu_6, attr->path_mtu = (enum ibv_mtu)6)
SETTER(av_port_2, attr->ah_attr.port_num = 2)
SETTER(av_no_grh, attr->ah_attr.is_global = 0)
SETTER(av_no_gid, attr->ah_attr.grh.sgid_index = 250)
SETTER(dest_25_bits, attr->dest_qp_num = 1 << 24)
SETTER(dest_rd_many, attr->max_dest_rd_atomic = 255)
SETTER(rnr_timer_32, attr->min_rnr_timer = 32)
SETTER(timeout_32, attr->timeout = 32)
SETTER(retry_8, attr->retry_cnt = 8)
SETTER(rnr_retry_8, attr->rnr_retry = 8)
SETTER(rd_many, attr->max_rd_atomic = 255)
SETTER(cur_init, attr->cur_qp_state = IBV_QPS_INIT)
SETTER(cur_other, attr->cur_qp_state = IBV_QPS_SQD)
SETTER(state_7, attr->qp_state = (enum ibv_qp_state)7)
SETTER(psn_32_bits, attr->rq_psn |= 0xff000000)

static const struct value values[] = {
	{ "port_num 0", IBV_QPS_RESET, 0, EINVAL, port_0 },
	{ "port_num 2", IBV_QPS_RESET, 0, EINVAL, port_2 },
	{ "pkey_index 1", IBV_QPS_RESET, 0, EINVAL, pkey_1 },
	{ "path_mtu 0", IBV_QPS_INIT, 0, EINVAL, mtu_0 },
	{ "path_mtu 6", IBV_QPS_INIT, 0, EINVAL, mtu_6 },
	{ "ah_attr.port_num 2", IBV_QPS_INIT, 0, EINVAL, av_port_2 },
	{ "ah_attr without GRH", IBV_QPS_INIT, 0, EINVAL, av_no_grh },
	{ "sgid_index without a GID", IBV_QPS_INIT, 0, EINVAL, av_no_gid },
	{ "dest_qp_num of 25 bits", IBV_QPS_INIT, 0, EINVAL, dest_25_bits },
	{ "max_dest_rd_atomic beyond the device's", IBV_QPS_INIT, 0, EINVAL, dest_rd_many },
	{ "min_rnr_timer 32", IBV_QPS_INIT, 0, EINVAL, rnr_timer_32 },
	{ "rq_psn of 32 bits is masked", IBV_QPS_INIT, 0, 0, psn_32_bits },
	{ "timeout 32", IBV_QPS_RTR, 0, EINVAL, timeout_32 },
	{ "retry_cnt 8", IBV_QPS_RTR, 0, EINVAL, retry_8 },
	{ "rnr_retry 8", IBV_QPS_RTR, 0, EINVAL, rnr_retry_8 },
	{ "max_rd_atomic beyond the device's", IBV_QPS_RTR, 0, EINVAL, rd_many },
	{ "cur_qp_state INIT", IBV_QPS_RTR, IBV_QP_CUR_STATE, EINVAL, cur_init },
	{ "cur_qp_state that is not", IBV_QPS_RTR, IBV_QP_CUR_STATE, EINVAL, cur_other },
	{ "qp_state 7", IBV_QPS_RTR, 0, EINVAL, state_7 },
};

static void refused_values(void)
{
	struct rc rc;

	rc_open(&rc, NULL);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		int from = values[i].from, to = from + 1; /* RESET, INIT, RTR, RTS follow each other */
		struct ibv_qp_attr attr = good_values(&rc, from, to);

		need(bring_to(&rc, from));
		values[i].set(&attr);
		int err = ibv_modify_qp(rc.qp, &attr, rule_of(RC, from, to).required | IBV_QP_STATE | values[i].mask);
		if (err != values[i].error)
			harness_fail(__FILE__, __LINE__, "%s: %d, not %d", values[i].name, err, values[i].error);
		need_equal(rc.qp->state, err == 0 ? to : from);
	}
	rc_close(&rc);

	rc_open(&rc, &(struct rc_options){ .type = IBV_QPT_UD });
	struct ibv_qp_attr attr = good_values(&rc, IBV_QPS_RESET, IBV_QPS_INIT);
	attr.qkey = 0x80010000;
	need_equal(ibv_modify_qp(rc.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		   geteuid() == 0 ? 0 : EPERM);
	rc_close(&rc);
}

/* --- what may be posted in which state --- */

static void posting(void)
{
	static const int send[STATES] = { EINVAL, EINVAL, EINVAL, 0, 0, 0, 0 };

	/* Adapters keep what is posted before RTS. */
	need_equal(setenv("SOFTVERBS_PROFILE", "spec", 1), 0);
	for (enum column column = 0; column < COLUMNS; column++) {
		struct rc rc;

		rc_open(&rc, &(struct rc_options){ .type = types[column] });
		for (int state = 0; state < STATES; state++) {
			if (!bring_to(&rc, state))
				continue;
			need_equal(rc_receive(&rc, 2, 100, 100), state == IBV_QPS_RESET ? EINVAL : 0);
			need_equal(rc_post(&rc, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 10, NULL, 0),
				   rc.o.type == IBV_QPT_UD && rc.ah == NULL ? EINVAL : send[state]);
			if (state == IBV_QPS_SQE || state == IBV_QPS_ERR)
				need_equal(cq_wait(rc.send_cq).status, IBV_WC_WR_FLUSH_ERR);
			if (state == IBV_QPS_ERR)
				need_equal(cq_wait(rc.recv_cq).status, IBV_WC_WR_FLUSH_ERR);
			/* It is connected to itself. */
			if (state == IBV_QPS_RTS) {
				need_equal(cq_wait(rc.send_cq).status, IBV_WC_SUCCESS);
				need_equal(cq_wait(rc.recv_cq).status, IBV_WC_SUCCESS);
			}
			if (state == IBV_QPS_SQD)
				cq_expect_none(rc.send_cq, 2);
			cq_expect_none(rc.recv_cq, 1);
		}
		rc_close(&rc);
	}
}

static const struct harness_case cases[] = {
	{ "rc_walk", "RC: every transition with every mask", rc_walk },
	{ "uc_walk", "UC: every transition with every mask", uc_walk },
	{ "ud_walk", "UD: every transition with every mask", ud_walk },
	{ "refused_values", "values, each with its errno", refused_values },
	{ "posting", "what may be posted in which state, and what becomes of it", posting },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
